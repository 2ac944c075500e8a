//! Operators: declaration and calls.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::{c_char, c_int, c_void, CStr, CString};
use std::sync::OnceLock;

use tnrs_dispatch::raw::{RawArg, RawRet, RawTensor};
use tnrs_dispatch::{ArgKind, CallError, Host, OutMeta, Schema, TensorType, Variant};
use tnrs_types::{DType, Dims};

use crate::error::{guard, Code, Error};
use crate::memory::{is_pinned, record_copy};

/// `NSchema` of csrc/neuron.h.
#[repr(C)]
pub struct NSchema {
    name: *const c_char,
    overload: *const c_char,
    nargs: u32,
    nrets: u32,
    kinds: *const u8,
    writes: *const u8,
    kwarg_out: *const u8,
    arg_names: *const *const c_char,
    ret_aliases: *const u8,
}

/// `NMeta` of csrc/neuron.h.
#[repr(C)]
struct NMeta {
    dtype: u8,
    ndim: i32,
    sizes: *const i64,
    strides: *const i64,
}

extern "C" {
    fn nshim_meta(frame: *mut c_void, functional: c_int, metas: *mut *const NMeta, count: *mut u32) -> c_int;
    fn nshim_empty(
        sizes: *const i64,
        strides: *const i64,
        ndim: i32,
        dtype: u8,
        device: i8,
        out: *mut RawTensor,
    ) -> c_int;
    fn nshim_drop(handle: *mut c_void);
    fn nshim_retain(handle: *mut c_void);
    fn nshim_shrink(handle: *mut c_void, sizes: *const i64, ndim: i32, out: *mut RawTensor) -> c_int;
    fn nshim_resize(
        frame: *mut c_void,
        arg: u32,
        elem: i32,
        sizes: *const i64,
        ndim: i32,
        out: *mut RawTensor,
    ) -> c_int;
    fn nshim_philox(
        generator: *mut c_void,
        device: i8,
        count: u64,
        seed: *mut u64,
        offset: *mut u64,
    ) -> c_int;
}

/// The shim, as the host of one call. The frame may be null where no operator asks for it.
pub(crate) struct Shim {
    pub frame: *mut c_void,
}

impl Shim {
    /// Outside of a call.
    pub fn frameless() -> Shim {
        Shim { frame: std::ptr::null_mut() }
    }
}

/// A reference to a tensor of the framework.
struct Retained(*mut c_void);
// SAFETY: a tensor's reference count is atomic, and nothing else of it is touched.
unsafe impl Send for Retained {}
// SAFETY: as above.
unsafe impl Sync for Retained {}

impl Drop for Retained {
    fn drop(&mut self) {
        // SAFETY: the reference was taken in `retain` and is given back once.
        unsafe { nshim_drop(self.0) }
    }
}

fn host_result(code: c_int) -> Result<(), CallError> {
    if code == 0 {
        Ok(())
    } else {
        Err(CallError::Host)
    }
}

fn slice<'a, T>(data: *const T, len: usize) -> &'a [T] {
    if len == 0 {
        return &[];
    }
    // SAFETY: every caller passes an address and a length that the C ABI lends for the duration of the call.
    unsafe { std::slice::from_raw_parts(data, len) }
}

impl Host for Shim {
    fn meta(&mut self, functional: bool) -> Result<Option<Vec<Option<OutMeta>>>, CallError> {
        let (mut metas, mut count) = (std::ptr::null(), 0u32);
        // SAFETY: `frame` is the one that the shim passed to this call.
        host_result(unsafe { nshim_meta(self.frame, c_int::from(functional), &mut metas, &mut count) })?;
        if count == u32::MAX {
            return Ok(None);
        }
        let metas = slice(metas, count as usize).iter().map(|m| {
            if m.ndim < 0 {
                return Ok(None);
            }
            let dtype = *DType::ALL.get(usize::from(m.dtype)).ok_or_else(|| {
                CallError::Unsupported("a result's dtype has no counterpart on the device".to_owned())
            })?;
            let dims = slice(m.sizes, m.ndim as usize);
            let strides = Dims::from_slice(slice(m.strides, m.ndim as usize));
            Ok(Some(OutMeta { ty: TensorType::new(dtype, dims), strides }))
        });
        metas.collect::<Result<Vec<_>, CallError>>().map(Some)
    }

    fn empty(
        &mut self,
        dims: &[i64],
        strides: Option<&[i64]>,
        dtype: DType,
        device: i8,
    ) -> Result<RawTensor, CallError> {
        let mut out = std::mem::MaybeUninit::uninit();
        let strides = strides.map_or(std::ptr::null(), <[i64]>::as_ptr);
        // SAFETY: sizes and strides are valid for `ndim`; on success the shim fills `out`.
        unsafe {
            host_result(nshim_empty(
                dims.as_ptr(),
                strides,
                dims.len() as i32,
                dtype as u8,
                device,
                out.as_mut_ptr(),
            ))?;
            Ok(out.assume_init())
        }
    }

    fn discard(&mut self, tensor: RawTensor) {
        // SAFETY: the handle came from `nshim_empty` and is dropped once.
        unsafe { nshim_drop(tensor.handle) }
    }

    fn shrink(&mut self, tensor: &RawTensor, dims: &[i64]) -> Result<RawTensor, CallError> {
        let mut out = std::mem::MaybeUninit::uninit();
        // SAFETY: the handle came from `nshim_empty` and is alive; on success the shim fills `out`.
        unsafe {
            host_result(nshim_shrink(tensor.handle, dims.as_ptr(), dims.len() as i32, out.as_mut_ptr()))?;
            Ok(out.assume_init())
        }
    }

    fn resize(&mut self, arg: usize, elem: Option<usize>, dims: &[i64]) -> Result<RawTensor, CallError> {
        let mut out = std::mem::MaybeUninit::uninit();
        let elem = elem.map_or(-1, |e| e as i32);
        // SAFETY: as for `empty`, with the frame of this call.
        unsafe {
            host_result(nshim_resize(
                self.frame,
                arg as u32,
                elem,
                dims.as_ptr(),
                dims.len() as i32,
                out.as_mut_ptr(),
            ))?;
            Ok(out.assume_init())
        }
    }

    fn philox(&mut self, generator: *mut c_void, device: i8, blocks: u64) -> Result<(u64, u64), CallError> {
        let (mut seed, mut offset) = (0, 0);
        // SAFETY: the generator is the call's argument or null.
        host_result(unsafe { nshim_philox(generator, device, blocks, &mut seed, &mut offset) })?;
        Ok((seed, offset))
    }

    fn retain(&mut self, tensor: &RawTensor) -> Box<dyn Any + Send + Sync> {
        // SAFETY: the handle is that of a living tensor.
        unsafe { nshim_retain(tensor.handle) };
        Box::new(Retained(tensor.handle))
    }

    fn python_stack(&mut self) -> Option<String> {
        crate::python::stack()
    }
}

/// Number of rows in the lowering table.
#[no_mangle]
pub extern "C" fn nrn_row_count() -> u32 {
    tnrs_dispatch::row_count() as u32
}

/// Name of a row, valid for the life of the process.
#[no_mangle]
pub extern "C" fn nrn_row_name(row: u32) -> *const c_char {
    static NAMES: OnceLock<Vec<CString>> = OnceLock::new();
    let names = NAMES.get_or_init(|| {
        let names = (0..tnrs_dispatch::row_count()).map(tnrs_dispatch::row_name);
        names.map(|n| CString::new(n).expect("operator names hold no NUL")).collect()
    });
    names[row as usize].as_ptr()
}

/// Declares an overload of a row; returns its id.
///
/// # Safety
/// `schema` and what it points at are valid for the call.
#[no_mangle]
pub unsafe extern "C" fn nrn_declare(row: u32, variant: c_int, schema: *const NSchema) -> u32 {
    // SAFETY: the caller's promise.
    let s = unsafe { &*schema };
    let n = s.nargs as usize;
    let flags = |p: *const u8, len: usize| slice(p, len).iter().map(|&b| b != 0).collect::<Vec<bool>>();
    // SAFETY: the caller's promise: every string is NUL-terminated.
    let text = |p: *const c_char| unsafe { CStr::from_ptr(p) }.to_string_lossy().into_owned();
    let (base, overload) = (text(s.name), text(s.overload));
    let schema = Schema {
        name: if overload.is_empty() { base } else { format!("{base}.{overload}") },
        kinds: slice(s.kinds, n).iter().map(|&k| ArgKind::from_code(k)).collect(),
        writes: flags(s.writes, n),
        out_args: flags(s.kwarg_out, n),
        arg_names: slice(s.arg_names, n).iter().map(|&p| text(p)).collect(),
        ret_aliases: flags(s.ret_aliases, s.nrets as usize),
    };
    let variant = [Variant::Own, Variant::InPlace, Variant::Out][variant as usize];
    tnrs_dispatch::declare(row as usize, variant, schema)
}

/// Returns that fit into the caller's room, `NRN_ROOM` of csrc/neuron.h.
const ROOM: usize = 8;

thread_local! {
    static RETS: RefCell<Vec<RawRet>> = const { RefCell::new(Vec::new()) };
}

/// Calls an operator.
///
/// # Safety
/// `args` holds `nargs` arguments whose addresses and lengths are valid for the call; `frame` is the shim's; `room` has
/// space for [`ROOM`] returns. The returns are there, or, when they are more, valid until the next call on this thread.
#[no_mangle]
pub unsafe extern "C" fn nrn_call(
    op: u32,
    frame: *mut c_void,
    args: *const RawArg,
    nargs: u32,
    room: *mut RawRet,
    rets: *mut *const RawRet,
    nrets: *mut u32,
) -> c_int {
    guard(|| {
        // SAFETY: the caller's promise.
        let result = unsafe { tnrs_dispatch::call(op, slice(args, nargs as usize), &mut Shim { frame })? };
        // SAFETY: the caller lends the addresses; the thread's buffer lives until its next call.
        unsafe {
            *nrets = result.len() as u32;
            if result.len() <= ROOM {
                for (i, ret) in result.iter().enumerate() {
                    room.add(i).write(*ret);
                }
                *rets = room;
            } else {
                *rets = RETS.with_borrow_mut(|buffer| {
                    buffer.clear();
                    buffer.extend_from_slice(&result);
                    buffer.as_ptr()
                });
            }
        }
        Ok::<_, Error>(Code::Ok)
    })
}

/// Strided copy with element conversion.
///
/// # Safety
/// Both tensors are valid for the call; a pinned host side until the stream has passed the copy.
#[no_mangle]
pub unsafe extern "C" fn nrn_copy(
    dst: *const RawTensor,
    src: *const RawTensor,
    non_blocking: c_int,
) -> c_int {
    guard(|| {
        // SAFETY: the caller's promise.
        let (dst, src) = unsafe { (&*dst, &*src) };
        let host = if dst.on_device() { src } else { dst };
        let pinned = non_blocking != 0 && !host.on_device() && is_pinned(host.data);
        // SAFETY: the caller's promise; with `pinned`, the block is kept until the stream passes the copy.
        unsafe { tnrs_dispatch::copy(dst, src, pinned, &mut Shim::frameless())? };
        if pinned {
            let device = if dst.on_device() { dst } else { src };
            record_copy(host.data, device.device_index as usize);
        }
        Ok::<_, Error>(Code::Ok)
    })
}
