//! Copies between device and host, and between devices, with element conversion.
//!
//! The program is the `aten::copy_` row's; here is only the ordering. Device memory is host-visible on the software
//! core, so a program may read or write host memory directly; what differs from any launch is when the host side may
//! be touched again.

use std::sync::OnceLock;

use tnrs_runtime::Runtime;

use crate::call;
use crate::graph;
use crate::host::Host;
use crate::ops::{make, rows, ArgKind, OpState, Schema, Variant};
use crate::raw::{RawArg, RawTensor, Tag};
use crate::CallError;

/// Copies `src` into `dst` (sizes broadcast), at least one of them on a device, in order on the current stream of the
/// device (of `dst` when both are). Returns when the host side may be reused: at once when both sides are on one
/// device, or when `pinned` says that the host side is pinned memory and the copy may go on in the background.
///
/// # Safety
/// As [`crate::call()`]; with `pinned`, the host memory stays valid until the stream has passed the copy.
pub unsafe fn copy(
    dst: &RawTensor,
    src: &RawTensor,
    pinned: bool,
    host: &mut dyn Host,
) -> Result<(), CallError> {
    if graph::is_recording() {
        if !dst.on_device() {
            return graph::refuse("a copy to the host");
        }
        // Bytes of a storage that grows: there is no tensor to keep alive.
        if dst.handle == dst.data.cast() && !(graph::knows(dst) && graph::knows(src)) {
            return graph::refuse("the growth of a storage");
        }
        let args = [tensor_arg(dst), tensor_arg(src), RawArg { tag: Tag::Bool as u32, len: 0, bits: 0 }];
        return graph::record(operator(), &args, host).map(|_| ());
    }
    let runtime = Runtime::get();
    let side = if dst.on_device() { dst } else { src };
    let device = usize::try_from(side.device_index).unwrap_or(0);
    let across = dst.on_device() && src.on_device() && dst.device_index != src.device_index;
    if across {
        let other = usize::try_from(src.device_index).unwrap_or(0);
        runtime.sync_stream(other, tnrs_runtime::current_stream(other)).map_err(CallError::from_fault)?;
    }
    // The key lives on the device of the launch, so the host side is a guest in its argument list.
    let args = [tensor_arg(dst), tensor_arg(src), RawArg { tag: Tag::Bool as u32, len: 0, bits: 0 }];
    // SAFETY: the caller's promise.
    unsafe { call::run(operator(), &args, host)? };
    let host_side = !dst.on_device() || !src.on_device();
    if across || (host_side && !pinned) {
        runtime.sync_stream(device, tnrs_runtime::current_stream(device)).map_err(CallError::from_fault)?;
    }
    Ok(())
}

fn tensor_arg(t: &RawTensor) -> RawArg {
    RawArg { tag: Tag::Tensor as u32, len: 0, bits: std::ptr::from_ref(t) as u64 }
}

fn operator() -> &'static OpState {
    static OP: OnceLock<&'static OpState> = OnceLock::new();
    OP.get_or_init(|| {
        let row = rows().iter().find(|r| r.op == "aten::copy_").expect("the table has a row for aten::copy_");
        let names = ["self", "src", "non_blocking"];
        let schema = Schema {
            name: "aten::copy_".to_owned(),
            kinds: vec![ArgKind::Tensor, ArgKind::Tensor, ArgKind::Bool],
            writes: vec![true, false, false],
            out_args: vec![false; 3],
            arg_names: names.iter().map(|n| (*n).to_owned()).collect(),
            ret_aliases: vec![true],
        };
        make(row, Variant::Own, schema, true)
    })
}
