//! Contractions, reductions, indexing, sorting and composites.

use smallvec::SmallVec;
use tnrs_types::{DType, Dims, FftKind, ReduceKind, Scalar, ScatterKind};

use crate::{
    Builder, Composite, ConvAttrs, CustomCall, DotDims, GatherDims, HloError, Op, ScatterDims, TensorType,
    Value,
};

impl Builder {
    /// `dot_general` with a result of element type `out`: the operands' type, or f32 for reduced floats.
    pub fn dot_general(&mut self, x: Value, y: Value, dims: DotDims, out: DType) -> Result<Value, HloError> {
        let want = TensorType::new(out, &[]);
        self.one(Op::DotGeneral(dims), &[x, y], &[want])
    }

    /// `convolution` with a result of element type `out`: the operands' type, or f32 for reduced floats.
    pub fn convolution(
        &mut self,
        x: Value,
        w: Value,
        attrs: ConvAttrs,
        out: DType,
    ) -> Result<Value, HloError> {
        let want = TensorType::new(out, &[]);
        self.one(Op::Convolution(Box::new(attrs)), &[x, w], &[want])
    }

    /// `reduce` over `dims` (in any order), which the result does not have.
    pub fn reduce(&mut self, kind: ReduceKind, x: Value, dims: &[i64]) -> Result<Value, HloError> {
        let mut dims = Dims::from_slice(dims);
        dims.sort_unstable();
        self.one(Op::Reduce { kind, dims }, &[x], &[])
    }

    /// `gather`; start indices are clamped.
    pub fn gather(&mut self, x: Value, indices: Value, dims: GatherDims) -> Result<Value, HloError> {
        self.one(Op::Gather(Box::new(dims)), &[x, indices], &[])
    }

    /// `scatter`; updates out of range are dropped.
    pub fn scatter(
        &mut self,
        kind: ScatterKind,
        x: Value,
        indices: Value,
        updates: Value,
        dims: ScatterDims,
    ) -> Result<Value, HloError> {
        let dims = Box::new(dims);
        self.one(Op::Scatter { kind, dims }, &[x, indices, updates], &[])
    }

    /// `fft` over the last dims, `length` of them.
    pub fn fft(&mut self, kind: FftKind, x: Value, length: &[i64]) -> Result<Value, HloError> {
        self.one(Op::Fft { kind, length: Dims::from_slice(length) }, &[x], &[])
    }

    /// `sort` of values of equal sizes by the first, stable, NaN greatest.
    pub fn sort(
        &mut self,
        xs: &[Value],
        dim: i64,
        descending: bool,
    ) -> Result<SmallVec<[Value; 2]>, HloError> {
        self.add_op(Op::Sort { dim, descending }, xs, &[])
    }

    /// A composite with its result types.
    pub fn composite(
        &mut self,
        composite: Composite,
        operands: &[Value],
        results: &[TensorType],
    ) -> Result<SmallVec<[Value; 2]>, HloError> {
        self.add_op(Op::Composite(composite), operands, results)
    }

    /// `custom_call`: the routine `name` with its attributes in the order of its row.
    pub fn custom_call(
        &mut self,
        name: &str,
        attrs: &[Scalar],
        operands: &[Value],
        results: &[TensorType],
    ) -> Result<SmallVec<[Value; 2]>, HloError> {
        let call = CustomCall::new(name, attrs)?;
        self.add_op(Op::CustomCall(Box::new(call)), operands, results)
    }

    /// [`Composite::Philox`] words (u32) of these sizes, from the u64 scalars `seed` and `offset`.
    pub fn philox(&mut self, seed: Value, offset: Value, dims: &[i64]) -> Result<Value, HloError> {
        let want = TensorType::new(DType::U32, dims);
        self.one(Op::Composite(Composite::Philox), &[seed, offset], &[want])
    }
}
