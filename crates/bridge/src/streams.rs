//! Devices, streams and events.

use std::ffi::{c_int, c_void};

use tnrs_runtime::{current_device, current_stream, exchange_device, exchange_stream, Event, Runtime};

use crate::error::{guard, quiet, Code, Error};

/// Number of devices; 0 before the runtime is up.
#[no_mangle]
pub extern "C" fn nrn_device_count() -> c_int {
    quiet(0, || Runtime::try_get().map_or(0, |r| r.device_count() as c_int))
}

/// The calling thread's current device.
#[no_mangle]
pub extern "C" fn nrn_get_device() -> c_int {
    current_device() as c_int
}

/// Makes a device current and returns the previous one; devices that do not exist change nothing.
#[no_mangle]
pub extern "C" fn nrn_exchange_device(device: c_int) -> c_int {
    if (0..nrn_device_count()).contains(&device) {
        exchange_device(device as usize) as c_int
    } else {
        current_device() as c_int
    }
}

/// The calling thread's current stream on a device.
#[no_mangle]
pub extern "C" fn nrn_current_stream(device: c_int) -> i64 {
    current_stream(device as usize)
}

/// Makes a stream current and returns the previous one; streams that do not exist change nothing.
#[no_mangle]
pub extern "C" fn nrn_exchange_stream(device: c_int, stream: i64) -> i64 {
    exchange_stream(device as usize, stream).unwrap_or_else(|| current_stream(device as usize))
}

/// A stream of a device's pool.
#[no_mangle]
pub extern "C" fn nrn_new_stream(device: c_int, priority: c_int) -> i64 {
    quiet(0, || Runtime::get().new_stream(device as usize, priority))
}

/// Whether a stream has no work left.
#[no_mangle]
pub extern "C" fn nrn_stream_query(device: c_int, stream: i64) -> c_int {
    quiet(1, || Runtime::get().query_stream(device as usize, stream).map_or(1, c_int::from))
}

/// Waits for a stream; raises what it recorded.
#[no_mangle]
pub extern "C" fn nrn_stream_sync(device: c_int, stream: i64) -> c_int {
    guard(|| {
        Runtime::get().sync_stream(device as usize, stream)?;
        Ok::<_, Error>(Code::Ok)
    })
}

/// Waits for all streams of a device; raises what they recorded.
#[no_mangle]
pub extern "C" fn nrn_device_sync(device: c_int) -> c_int {
    guard(|| {
        Runtime::get().sync_device(device as usize)?;
        Ok::<_, Error>(Code::Ok)
    })
}

/// Borrows an event.
///
/// # Safety
/// `event` came from [`nrn_event_record`] and is not destroyed before `'a` ends.
unsafe fn borrow<'a>(event: *mut c_void) -> &'a Event {
    // SAFETY: the caller's promise.
    unsafe { &*event.cast::<Event>() }
}

/// Records an event, which is made when null.
///
/// # Safety
/// `event` is readable and writable; what it holds is null or came from here.
#[no_mangle]
pub unsafe extern "C" fn nrn_event_record(
    event: *mut *mut c_void,
    device: c_int,
    stream: i64,
    timing: c_int,
) -> c_int {
    guard(|| {
        // SAFETY: the caller's promise.
        let event = unsafe {
            if (*event).is_null() {
                *event = Box::into_raw(Box::new(Event::new(timing != 0))).cast();
            }
            borrow(*event)
        };
        Runtime::get().record_event(event, device as usize, stream)?;
        Ok::<_, Error>(Code::Ok)
    })
}

/// Destroys an event.
///
/// # Safety
/// `event` came from [`nrn_event_record`] and is destroyed once.
#[no_mangle]
pub unsafe extern "C" fn nrn_event_destroy(event: *mut c_void) {
    // SAFETY: the caller's promise.
    quiet((), || drop(unsafe { Box::from_raw(event.cast::<Event>()) }));
}

/// Work submitted to a stream from now on waits for an event.
///
/// # Safety
/// `event` came from [`nrn_event_record`].
#[no_mangle]
pub unsafe extern "C" fn nrn_event_block(event: *mut c_void, device: c_int, stream: i64) -> c_int {
    guard(|| {
        // SAFETY: the caller's promise.
        let event = unsafe { borrow(event) };
        Runtime::get().block_on_event(event, device as usize, stream)?;
        Ok::<_, Error>(Code::Ok)
    })
}

/// Whether an event has been reached.
///
/// # Safety
/// `event` came from [`nrn_event_record`].
#[no_mangle]
pub unsafe extern "C" fn nrn_event_query(event: *mut c_void) -> c_int {
    // SAFETY: the caller's promise.
    quiet(1, || c_int::from(unsafe { borrow(event) }.is_complete()))
}

/// Waits for an event; raises what its stream recorded.
///
/// # Safety
/// `event` came from [`nrn_event_record`].
#[no_mangle]
pub unsafe extern "C" fn nrn_event_sync(event: *mut c_void) -> c_int {
    guard(|| {
        // SAFETY: the caller's promise.
        Runtime::get().sync_event(unsafe { borrow(event) })?;
        Ok::<_, Error>(Code::Ok)
    })
}

/// Milliseconds between two events.
///
/// # Safety
/// Both events came from [`nrn_event_record`]; `milliseconds` is writable.
#[no_mangle]
pub unsafe extern "C" fn nrn_event_elapsed(
    start: *mut c_void,
    end: *mut c_void,
    milliseconds: *mut f64,
) -> c_int {
    guard(|| {
        // SAFETY: the caller's promise.
        unsafe { *milliseconds = borrow(start).elapsed_ms(borrow(end))? };
        Ok::<_, Error>(Code::Ok)
    })
}

/// The device of an event, or -1.
///
/// # Safety
/// `event` came from [`nrn_event_record`].
#[no_mangle]
pub unsafe extern "C" fn nrn_event_device(event: *mut c_void) -> c_int {
    // SAFETY: the caller's promise.
    quiet(-1, || unsafe { borrow(event) }.device().map_or(-1, |d| d as c_int))
}
