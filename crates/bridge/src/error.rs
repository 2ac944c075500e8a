//! Results of the C ABI: codes, and the message that the calling thread reads next.

use std::cell::{Cell, RefCell};
use std::ffi::{c_char, c_int, c_void, CStr, CString};
use std::panic::{catch_unwind, AssertUnwindSafe};

use pyo3::exceptions::{PyIndexError, PyNotImplementedError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use tnrs_dispatch::CallError;
use tnrs_runtime::{ElapsedError, OutOfMemory, StreamFault};

/// `NCode` of csrc/neuron.h.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Code {
    /// Done.
    Ok = 0,
    /// The thread's last error says what to raise.
    Error = 1,
    /// No native rule for these operands.
    Unsupported = 2,
    /// The shim holds a C++ exception.
    Rethrow = 3,
}

/// `NErrorKind` of csrc/neuron.h: which Python exception an error becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Kind {
    /// `RuntimeError`.
    Runtime = 0,
    /// `IndexError`.
    Index = 1,
    /// `ValueError`.
    Value = 2,
    /// `TypeError`.
    Type = 3,
    /// `NotImplementedError`.
    NotImplemented = 4,
    /// `torch.OutOfMemoryError`.
    OutOfMemory = 5,
    /// `torch.linalg.LinAlgError`.
    LinAlg = 6,
}

/// An error on its way to Python.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    code: Code,
    kind: Kind,
    message: String,
}

impl Error {
    /// An error that raises.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Error { code: Code::Error, kind, message: message.into() }
    }
}

impl From<CallError> for Error {
    fn from(e: CallError) -> Self {
        let (code, kind) = match &e {
            CallError::Runtime(_) => (Code::Error, Kind::Runtime),
            CallError::Index(_) => (Code::Error, Kind::Index),
            CallError::LinAlg(_) => (Code::Error, Kind::LinAlg),
            CallError::Value(_) => (Code::Error, Kind::Value),
            CallError::Type(_) => (Code::Error, Kind::Type),
            CallError::OutOfMemory(_) => (Code::Error, Kind::OutOfMemory),
            CallError::Unsupported(_) => (Code::Unsupported, Kind::NotImplemented),
            CallError::Host => (Code::Rethrow, Kind::Runtime),
        };
        Error { code, kind, message: e.to_string() }
    }
}

impl From<StreamFault> for Error {
    fn from(e: StreamFault) -> Self {
        CallError::from_fault(e).into()
    }
}

impl From<OutOfMemory> for Error {
    fn from(e: OutOfMemory) -> Self {
        Error::new(Kind::OutOfMemory, e.to_string())
    }
}

impl From<ElapsedError> for Error {
    fn from(e: ElapsedError) -> Self {
        Error::new(Kind::Runtime, e.to_string())
    }
}

thread_local! {
    static MESSAGE: RefCell<CString> = RefCell::new(CString::default());
    static KIND: Cell<Kind> = const { Cell::new(Kind::Runtime) };
}

fn remember(kind: Kind, message: String) {
    KIND.set(kind);
    MESSAGE.set(CString::new(message.replace('\0', "\\0")).unwrap_or_default());
}

fn panic_text(payload: &(dyn std::any::Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("unknown panic")
}

/// Runs an entry point of the C ABI: an error or a panic becomes a code and the thread's last error.
pub fn guard<E: Into<Error>>(f: impl FnOnce() -> Result<Code, E>) -> c_int {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(Ok(code)) => code as c_int,
        Ok(Err(e)) => {
            let e = e.into();
            remember(e.kind, e.message);
            e.code as c_int
        }
        Err(payload) => {
            remember(
                Kind::Runtime,
                format!("internal error in the neuron backend: {}", panic_text(&*payload)),
            );
            Code::Error as c_int
        }
    }
}

extern "C" {
    fn nshim_stashed(message: extern "C" fn(*const c_char, *mut c_void), to: *mut c_void) -> c_int;
}

extern "C" fn keep(text: *const c_char, to: *mut c_void) {
    // SAFETY: `to` is the string that `python` lends; the text is NUL-terminated.
    unsafe { *to.cast::<String>() = CStr::from_ptr(text).to_string_lossy().into_owned() };
}

/// The Python exception that an error of a call becomes.
pub fn python(e: CallError) -> PyErr {
    if e == CallError::Host {
        let mut text = String::new();
        // SAFETY: the shim stashed an exception; it calls back during this call only.
        let kind = unsafe { nshim_stashed(keep, std::ptr::from_mut(&mut text).cast()) };
        return raised(kind, text);
    }
    let e = Error::from(e);
    raised(e.kind as c_int, e.message)
}

fn raised(kind: c_int, text: String) -> PyErr {
    let of_torch = |module: &str, name: &str| {
        Python::try_attach(|py| match py.import(module).and_then(|m| m.getattr(name)) {
            Ok(class) => class.call1((text.as_str(),)).map_or_else(|e| e, PyErr::from_value),
            Err(e) => e,
        })
        .unwrap_or_else(|| PyRuntimeError::new_err(text.clone()))
    };
    match kind {
        k if k == Kind::Index as c_int => PyIndexError::new_err(text),
        k if k == Kind::Value as c_int => PyValueError::new_err(text),
        k if k == Kind::Type as c_int => PyTypeError::new_err(text),
        k if k == Kind::NotImplemented as c_int => PyNotImplementedError::new_err(text),
        k if k == Kind::OutOfMemory as c_int => of_torch("torch", "OutOfMemoryError"),
        k if k == Kind::LinAlg as c_int => of_torch("torch.linalg", "LinAlgError"),
        _ => PyRuntimeError::new_err(text),
    }
}

/// Runs an entry point that has no way to report: after a panic, `default`.
pub fn quiet<T>(default: T, f: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(f)).unwrap_or(default)
}

/// Message of the calling thread's last error; valid until its next call.
#[no_mangle]
pub extern "C" fn nrn_last_error() -> *const c_char {
    MESSAGE.with_borrow(|m| m.as_ptr())
}

/// Kind of the calling thread's last error.
#[no_mangle]
pub extern "C" fn nrn_last_error_kind() -> c_int {
    KIND.get() as c_int
}
