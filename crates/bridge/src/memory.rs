//! Device memory and pinned host memory.

use std::ffi::{c_int, c_void};

use tnrs_runtime::{current_stream, Runtime};

use crate::abi::{NBlock, NMemoryStats, NStat};
use crate::error::{guard, quiet, Code, Error};

/// Allocates device memory in the order of `stream`.
///
/// # Safety
/// `out` is writable.
#[no_mangle]
pub unsafe extern "C" fn nrn_alloc(bytes: usize, device: c_int, stream: i64, out: *mut NBlock) -> c_int {
    guard(|| {
        let block = match tnrs_dispatch::graph::allocate(bytes) {
            // Without a context it is never freed.
            Some(ptr) => NBlock { ptr, ctx: std::ptr::null_mut() },
            None => Runtime::get().alloc(device as usize, stream, bytes)?,
        };
        // SAFETY: the caller's promise.
        unsafe { *out = block };
        Ok::<_, Error>(Code::Ok)
    })
}

/// Frees device memory.
///
/// # Safety
/// `ctx` came from [`nrn_alloc`], or is null, and is freed once.
#[no_mangle]
pub unsafe extern "C" fn nrn_free(ctx: *mut c_void) {
    // SAFETY: the caller's promise; the framework frees a tensor after it has submitted the work that uses it.
    quiet((), || unsafe { Runtime::get().free(ctx) });
}

/// Tells that a stream uses a block too.
///
/// # Safety
/// `ctx` came from [`nrn_alloc`] and is not freed.
#[no_mangle]
pub unsafe extern "C" fn nrn_record_stream(ctx: *mut c_void, stream: i64) {
    // SAFETY: the caller's promise.
    quiet((), || unsafe { Runtime::get().record_stream(ctx, stream) });
}

/// Gives cached device memory back to the system.
#[no_mangle]
pub extern "C" fn nrn_empty_cache() -> c_int {
    guard(|| {
        Runtime::get().empty_cache();
        Ok::<_, Error>(Code::Ok)
    })
}

/// Statistics of a device's allocator.
///
/// # Safety
/// `out` is writable.
#[no_mangle]
pub unsafe extern "C" fn nrn_memory_stats(device: c_int, out: *mut NMemoryStats) {
    quiet((), || {
        let stats = Runtime::get().stats(device as usize);
        // SAFETY: the caller's promise.
        unsafe { *out = stats };
    });
}

/// Resets the peaks (`peak` != 0) or the totals of a device's statistics.
#[no_mangle]
pub extern "C" fn nrn_reset_stats(device: c_int, peak: c_int) {
    quiet((), || match peak {
        0 => Runtime::get().reset_accumulated_stats(device as usize),
        _ => Runtime::get().reset_peak_stats(device as usize),
    });
}

/// Free and total bytes of a device.
///
/// # Safety
/// Both addresses are writable.
#[no_mangle]
pub unsafe extern "C" fn nrn_memory_info(device: c_int, free: *mut usize, total: *mut usize) {
    quiet((), || {
        let (f, t) = Runtime::get().memory_info(device as usize);
        // SAFETY: the caller's promise.
        unsafe { (*free, *total) = (f, t) };
    });
}

/// Allocates pinned host memory.
///
/// # Safety
/// `out` is writable.
#[no_mangle]
pub unsafe extern "C" fn nrn_host_alloc(bytes: usize, out: *mut NBlock) -> c_int {
    guard(|| {
        let block = Runtime::get().pinned_alloc(bytes)?;
        // SAFETY: the caller's promise.
        unsafe { *out = block };
        Ok::<_, Error>(Code::Ok)
    })
}

/// Frees pinned host memory, once the copies that use it are done.
#[no_mangle]
pub extern "C" fn nrn_host_free(ctx: *mut c_void) {
    quiet((), || Runtime::get().pinned_free(ctx));
}

/// Keeps a pinned block until a stream has passed this point.
#[no_mangle]
pub extern "C" fn nrn_host_record(ctx: *mut c_void, device: c_int, stream: i64) -> c_int {
    guard(|| {
        Runtime::get().pinned_record(ctx.cast(), device as usize, stream);
        Ok::<_, Error>(Code::Ok)
    })
}

/// Whether an address is in pinned host memory.
#[no_mangle]
pub extern "C" fn nrn_host_is_pinned(p: *const c_void) -> c_int {
    quiet(0, || c_int::from(Runtime::get().is_pinned(p.cast())))
}

/// Gives cached pinned memory back to the system.
#[no_mangle]
pub extern "C" fn nrn_host_empty_cache() {
    quiet((), || Runtime::get().pinned_empty_cache());
}

/// Statistics of pinned memory: blocks and bytes.
///
/// # Safety
/// Both addresses are writable.
#[no_mangle]
pub unsafe extern "C" fn nrn_host_stats(allocation: *mut NStat, bytes: *mut NStat) {
    quiet((), || {
        let (a, b) = Runtime::get().pinned_stats();
        // SAFETY: the caller's promise.
        unsafe { (*allocation, *bytes) = (a, b) };
    });
}

/// Resets the peaks (`peak` != 0) or the totals of the statistics of pinned memory.
#[no_mangle]
pub extern "C" fn nrn_host_reset_stats(peak: c_int) {
    quiet((), || match peak {
        0 => Runtime::get().reset_accumulated_pinned_stats(),
        _ => Runtime::get().reset_peak_pinned_stats(),
    });
}

/// The device whose memory holds an address, or -1.
#[no_mangle]
pub extern "C" fn nrn_pointer_device(p: *const c_void) -> c_int {
    quiet(-1, || Runtime::get().pointer_device(p.cast()).map_or(-1, |d| d as c_int))
}

/// Waits for the device's current stream, after which the host may touch device memory.
#[no_mangle]
pub extern "C" fn nrn_host_access(device: c_int) -> c_int {
    guard(|| {
        tnrs_dispatch::graph::refuse("a number read by the host")?;
        Runtime::get().host_access(device as usize)?;
        Ok::<_, Error>(Code::Ok)
    })
}

/// Whether host memory is pinned, so that a copy of it may go on in the background.
pub fn is_pinned(data: *const u8) -> bool {
    Runtime::get().is_pinned(data)
}

/// A copy that uses pinned memory was submitted to a device's current stream: keeps the memory until it is done.
pub fn record_copy(data: *const u8, device: usize) {
    Runtime::get().pinned_record(data, device, current_stream(device));
}
