//! What a call needs from the framework.

use std::any::Any;

use tnrs_hlo::TensorType;
use tnrs_types::{DType, Dims};

use crate::raw::RawTensor;
use crate::CallError;

/// An output as PyTorch's meta kernel describes it.
#[derive(Clone, Debug)]
pub struct OutMeta {
    /// Element type and sizes.
    pub ty: TensorType,
    /// Strides in elements.
    pub strides: Dims,
}

/// The framework's side of a call. An `Err(CallError::Host)` means that the host keeps an exception to raise.
pub trait Host {
    /// Runs the operator's meta kernel on the call's arguments: one entry per tensor returned (lists flattened,
    /// `None` for undefined), or `None` when there is no meta kernel. `functional`: that of the overload without `out=`
    /// arguments, which have no say in the results' types.
    fn meta(&mut self, functional: bool) -> Result<Option<Vec<Option<OutMeta>>>, CallError>;
    /// A new tensor on a device; contiguous without strides.
    fn empty(
        &mut self,
        dims: &[i64],
        strides: Option<&[i64]>,
        dtype: DType,
        device: i8,
    ) -> Result<RawTensor, CallError>;
    /// Drops a tensor from [`Host::empty`] that will not be returned.
    fn discard(&mut self, tensor: RawTensor);
    /// Makes a tensor from [`Host::empty`] smaller; it keeps its strides and memory.
    fn shrink(&mut self, tensor: &RawTensor, dims: &[i64]) -> Result<RawTensor, CallError>;
    /// Resizes an `out=` argument and describes it anew; the view is valid until the next call.
    fn resize(&mut self, arg: usize, elem: Option<usize>, dims: &[i64]) -> Result<RawTensor, CallError>;
    /// Reserves Philox blocks of the call's generator (null: the device's default): seed and offset before.
    fn philox(
        &mut self,
        generator: *mut std::ffi::c_void,
        device: i8,
        blocks: u64,
    ) -> Result<(u64, u64), CallError>;
    /// Keeps a tensor alive as long as the result is.
    fn retain(&mut self, tensor: &RawTensor) -> Box<dyn Any + Send + Sync>;
    /// The current Python stack, when there is one.
    fn python_stack(&mut self) -> Option<String>;
}
