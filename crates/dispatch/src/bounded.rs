//! Results whose sizes the data decides.
//!
//! The program writes into room for the most there can be, and a count. Once it has run, the count is read and the
//! result becomes the used front of that room.

use tnrs_runtime::Runtime;
use tnrs_types::Dims;

use crate::call::{device_number, Outs};
use crate::copy::copy;
use crate::entry::{BoundedSpec, Entry};
use crate::host::Host;
use crate::raw::RawTensor;
use crate::CallError;

/// Blocks of this many bytes are not worth a smaller one: the allocator has none.
const SMALL: usize = 512;

/// Waits for the program, then cuts the bounded results among `outs` to size, or moves them to their `out=` arguments.
/// Outputs that are not returned are dropped; after an error, all are.
pub(crate) fn settle(entry: &Entry, host: &mut dyn Host, outs: &mut Outs) -> Result<(), CallError> {
    let device = device_number(entry.device);
    let stream = tnrs_runtime::current_stream(device);
    let synced = Runtime::get().sync_stream(device, stream).map_err(CallError::from_fault);
    let result = synced.and_then(|()| entry.bounded.iter().try_for_each(|b| cut(entry, b, host, outs)));
    let returned = |k: u16| {
        result.is_ok() && entry.bounded.iter().all(|b| b.count != k && (b.out != k || b.target.is_none()))
    };
    for (k, t) in outs.iter().enumerate().filter(|(k, _)| !returned(*k as u16)) {
        debug_assert!(k < entry.outs.len(), "outputs are those of the entry");
        host.discard(*t);
    }
    result
}

fn cut(entry: &Entry, b: &BoundedSpec, host: &mut dyn Host, outs: &mut Outs) -> Result<(), CallError> {
    let spec = &entry.outs[usize::from(b.out)];
    // SAFETY: the count is a rank-0 i64 output; the stream has been waited for, and device memory is host-visible.
    let count = unsafe { outs[usize::from(b.count)].data.cast::<i64>().read() };
    let room = spec.dims[usize::from(b.dim)];
    if !(0..=room).contains(&count) {
        return Err(CallError::Runtime(format!("internal error: {count} results where {room} are the most")));
    }
    let mut dims: Dims = spec.dims.clone();
    dims[usize::from(b.dim)] = count;
    let whole = outs[usize::from(b.out)];
    if let Some((arg, elem)) = b.target {
        let part = host.shrink(&whole, &dims)?;
        let to = host.resize(usize::from(arg), elem.map(usize::from), &dims)?;
        return copied(&to, &part, host);
    }
    let bytes = |d: &[i64]| tnrs_types::numel(d) as usize * spec.dtype.size();
    if bytes(&spec.dims) <= SMALL || 2 * bytes(&dims) >= bytes(&spec.dims) {
        outs[usize::from(b.out)] = host.shrink(&whole, &dims)?;
        return Ok(());
    }
    let exact = host.empty(&dims, spec.strides.as_deref(), spec.dtype, entry.device)?;
    outs[usize::from(b.out)] = exact;
    let result = host.shrink(&whole, &dims).and_then(|part| copied(&exact, &part, host));
    host.discard(whole);
    result
}

fn copied(to: &RawTensor, from: &RawTensor, host: &mut dyn Host) -> Result<(), CallError> {
    // SAFETY: both are device tensors of the same sizes; `from` is dropped in stream order, behind the copy.
    unsafe { copy(to, from, false, host) }
}
