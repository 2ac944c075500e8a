//! The gate of the CPU fallback.

use std::ffi::{c_char, c_int, CStr};

use tnrs_dispatch::CallError;

use crate::error::{guard, Code, Error, Kind};

/// Called before a CPU fallback runs: counts it, or refuses it with `NotImplementedError`. `reason` says why there
/// is no native execution (empty: no rule at all); `*warn` becomes 1 when the one warning is due.
///
/// # Safety
/// Every string is NUL-terminated; `warn` is writable.
#[no_mangle]
pub unsafe extern "C" fn nrn_fallback(
    name: *const c_char,
    overload: *const c_char,
    operands: *const c_char,
    reason: *const c_char,
    warn: *mut c_int,
) -> c_int {
    guard(|| {
        // SAFETY: the caller's promise.
        let text = |p: *const c_char| unsafe { CStr::from_ptr(p) }.to_string_lossy();
        let (name, overload) = (text(name), text(overload));
        let full = if overload.is_empty() { name.into_owned() } else { format!("{name}.{overload}") };
        tnrs_dispatch::graph::refuse(&format!("{full}, which runs on the CPU,"))?;
        let due = match tnrs_dispatch::fallback(&full, &text(operands), &text(reason)) {
            Ok(due) => due,
            // Refused for good: not a request to fall back once more.
            Err(CallError::Unsupported(message)) => return Err(Error::new(Kind::NotImplemented, message)),
            Err(other) => return Err(other.into()),
        };
        // SAFETY: the caller's promise.
        unsafe { *warn = c_int::from(due) };
        Ok(Code::Ok)
    })
}
