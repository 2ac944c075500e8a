//! What the cache remembers of a call: the program and how to feed it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use smallvec::SmallVec;
use tnrs_hal::Executable;
use tnrs_types::{DType, Dims};

use crate::host::Host;
use crate::raw::{RawRet, RawTensor};
use crate::CallError;

/// Where one argument of the executable comes from at a launch.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bind {
    /// Address of a tensor argument (argument, element of a list).
    Tensor(u16, u16),
    /// The element of a 0-dim host tensor.
    HostNumber(u16, u16),
    /// A numeric argument, converted; it has to fit the second type.
    Scalar(u16, u16, DType, Option<DType>),
    /// The generator's seed.
    Seed,
    /// The generator's offset.
    Offset,
    /// A new output.
    Output(u16),
}

/// A new output tensor.
#[derive(Clone, Debug)]
pub(crate) struct OutSpec {
    pub dtype: DType,
    pub dims: Dims,
    /// `None` for contiguous.
    pub strides: Option<Dims>,
}

impl OutSpec {
    /// The tensor, on a device (-1: the current one).
    #[inline]
    pub fn alloc(&self, device: i8, host: &mut dyn Host) -> Result<RawTensor, CallError> {
        host.empty(&self.dims, self.strides.as_deref(), self.dtype, device)
    }
}

/// A return that is not an alias of an argument.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RetSpec {
    Undefined,
    Int(i64),
    Output(u16),
    List(u32),
}

impl RetSpec {
    /// The return, of a call with these outputs.
    #[inline]
    pub fn of(&self, outs: &[RawTensor]) -> RawRet {
        let (tag, bits) = match *self {
            RetSpec::Undefined => (0, 0),
            RetSpec::Output(k) => (1, outs[usize::from(k)].handle as u64),
            RetSpec::Int(i) => (2, i as u64),
            RetSpec::List(n) => (3, u64::from(n)),
        };
        RawRet { tag, pad: 0, bits }
    }
}

/// An `out=` argument that must be resized first: argument, element of a list, sizes.
pub(crate) type Resize = (u16, Option<u16>, Dims);

/// A result whose size along a dim the data decides: a part of an output.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BoundedSpec {
    /// The output with room for the most there can be, its outermost dim in memory being `dim`.
    pub out: u16,
    pub dim: u16,
    /// The output that holds the size.
    pub count: u16,
    /// The `out=` argument (argument, element of a list) that gets the result, if it is not returned.
    pub target: Option<(u16, Option<u16>)>,
}

/// A compiled call.
pub(crate) struct Entry {
    pub exe: Arc<dyn Executable>,
    pub workspace: usize,
    /// Parameters, then results.
    pub binds: SmallVec<[Bind; 6]>,
    pub outs: SmallVec<[OutSpec; 1]>,
    pub rets: SmallVec<[RetSpec; 2]>,
    /// Results to be cut to size once the program has run.
    pub bounded: Vec<BoundedSpec>,
    pub resizes: Vec<Resize>,
    pub philox_blocks: u64,
    /// Argument of schema type Generator.
    pub generator: Option<u16>,
    /// Device of the call.
    pub device: i8,
}

/// A remembered call: a program, or the reason why there is none.
pub(crate) struct Slot {
    pub key: Box<[u64]>,
    pub hash: u64,
    pub outcome: Result<Entry, String>,
    /// Cache time of the last use.
    pub used: AtomicU64,
}

impl Slot {
    pub fn touch(&self, now: u64) {
        self.used.store(now, Ordering::Relaxed);
    }
}
