//! The calling thread's current device, and its current stream on each device.
use std::cell::Cell;

/// Devices a process can have. A NeuronCore index fits PyTorch's signed 8-bit device index.
pub const MAX_DEVICES: usize = 128;

/// Streams per priority and device that [`crate::Runtime::new_stream`] hands out in turn, as CUDA's pool has.
pub const STREAMS_PER_PRIORITY: usize = 32;

/// Streams of a device: the default stream (0) and two priorities.
pub(crate) const STREAMS: usize = 1 + 2 * STREAMS_PER_PRIORITY;

thread_local! {
    static DEVICE: Cell<usize> = const { Cell::new(0) };
    static STREAM: [Cell<u8>; MAX_DEVICES] = const { [const { Cell::new(0) }; MAX_DEVICES] };
}

/// The calling thread's current device; 0 at first.
#[inline]
pub fn current_device() -> usize {
    DEVICE.get()
}

/// Makes `device` the calling thread's current one and returns the previous one.
///
/// # Panics
/// When `device >= MAX_DEVICES`; whether the device exists is the caller's to check.
#[inline]
pub fn exchange_device(device: usize) -> usize {
    assert!(device < MAX_DEVICES, "there is no device {device}");
    DEVICE.replace(device)
}

/// The calling thread's current stream on a device; the default stream (0) at first, and where no device can be.
#[inline]
pub fn current_stream(device: usize) -> i64 {
    STREAM.with(|streams| streams.get(device).map_or(0, |s| i64::from(s.get())))
}

/// Makes `stream` the calling thread's current one on a device and returns the previous one; `None`, and no change,
/// when no device has such a stream.
#[inline]
pub fn exchange_stream(device: usize, stream: i64) -> Option<i64> {
    let id = stream_index(stream)?;
    STREAM.with(|streams| Some(i64::from(streams.get(device)?.replace(id as u8))))
}

/// A stream id as an index into a device's table.
#[inline]
pub(crate) fn stream_index(stream: i64) -> Option<usize> {
    usize::try_from(stream).ok().filter(|&s| s < STREAMS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn current_is_per_thread_and_per_device() {
        assert_eq!(exchange_device(1), 0);
        assert_eq!(exchange_stream(1, 7), Some(0));
        assert_eq!(exchange_stream(1, 65), None);
        assert_eq!(exchange_stream(1, -1), None);
        assert_eq!(exchange_stream(MAX_DEVICES, 1), None);
        assert_eq!((current_stream(0), current_stream(1)), (0, 7));
        let other = std::thread::spawn(|| (current_device(), current_stream(1)));
        assert_eq!(other.join().unwrap(), (0, 0));
        assert_eq!(current_device(), 1);
    }
}
