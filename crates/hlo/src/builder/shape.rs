//! Methods that move elements without computing.

use smallvec::SmallVec;
use tnrs_types::Dims;

use crate::{Builder, HloError, Op, TensorType, Value};

impl Builder {
    /// `broadcast_in_dim` to `sizes`: dim `i` of `x` becomes dim `dims[i]`; size-1 dims expand.
    pub fn broadcast_in_dim(&mut self, x: Value, dims: &[i64], sizes: &[i64]) -> Result<Value, HloError> {
        let want = TensorType::new(self.ty(x).dtype, sizes);
        let dims = Dims::from_slice(dims);
        self.one(Op::BroadcastInDim { dims }, &[x], &[want])
    }

    /// Broadcast to `sizes` with dims aligned at the right; `x` itself when it has those sizes.
    pub fn broadcast_to(&mut self, x: Value, sizes: &[i64]) -> Result<Value, HloError> {
        if self.ty(x).dims.as_slice() == sizes {
            return Ok(x);
        }
        let shift = sizes.len() as i64 - self.ty(x).rank() as i64;
        let dims: Dims = (0..self.ty(x).rank() as i64).map(|d| d + shift).collect();
        self.broadcast_in_dim(x, &dims, sizes)
    }

    /// `reshape`; `x` itself when it has those sizes.
    pub fn reshape(&mut self, x: Value, sizes: &[i64]) -> Result<Value, HloError> {
        if self.ty(x).dims.as_slice() == sizes {
            return Ok(x);
        }
        let want = TensorType::new(self.ty(x).dtype, sizes);
        self.one(Op::Reshape, &[x], &[want])
    }

    /// `transpose`: dim `i` of the result is dim `perm[i]` of `x`.
    pub fn transpose(&mut self, x: Value, perm: &[i64]) -> Result<Value, HloError> {
        let perm = Dims::from_slice(perm);
        self.one(Op::Transpose { perm }, &[x], &[])
    }

    /// `slice` from `start` to before `limit` by `stride`, per dim.
    pub fn slice(
        &mut self,
        x: Value,
        start: &[i64],
        limit: &[i64],
        stride: &[i64],
    ) -> Result<Value, HloError> {
        let op = Op::Slice {
            start: Dims::from_slice(start),
            limit: Dims::from_slice(limit),
            stride: Dims::from_slice(stride),
        };
        self.one(op, &[x], &[])
    }

    /// `dynamic_slice` of `sizes` at `starts` (rank-0 integers of one type, one a dim), clamped to fit.
    pub fn dynamic_slice(&mut self, x: Value, starts: &[Value], sizes: &[i64]) -> Result<Value, HloError> {
        let want = TensorType::new(self.ty(x).dtype, sizes);
        let mut operands: SmallVec<[Value; 8]> = SmallVec::from_slice(&[x]);
        operands.extend_from_slice(starts);
        self.one(Op::DynamicSlice, &operands, &[want])
    }

    /// `dynamic_update_slice`: `x` with `update` written at `starts`, clamped to fit.
    pub fn dynamic_update_slice(
        &mut self,
        x: Value,
        update: Value,
        starts: &[Value],
    ) -> Result<Value, HloError> {
        let mut operands: SmallVec<[Value; 8]> = SmallVec::from_slice(&[x, update]);
        operands.extend_from_slice(starts);
        self.one(Op::DynamicUpdateSlice, &operands, &[])
    }

    /// `pad` with the rank-0 `value`; `low` and `high` may be negative, `interior` is not.
    pub fn pad(
        &mut self,
        x: Value,
        value: Value,
        low: &[i64],
        high: &[i64],
        interior: &[i64],
    ) -> Result<Value, HloError> {
        let op = Op::Pad {
            low: Dims::from_slice(low),
            high: Dims::from_slice(high),
            interior: Dims::from_slice(interior),
        };
        self.one(op, &[x, value], &[])
    }

    /// `concatenate` along `dim`.
    pub fn concatenate(&mut self, xs: &[Value], dim: i64) -> Result<Value, HloError> {
        self.one(Op::Concatenate { dim }, xs, &[])
    }

    /// `reverse` along `dims`.
    pub fn reverse(&mut self, x: Value, dims: &[i64]) -> Result<Value, HloError> {
        let dims = Dims::from_slice(dims);
        self.one(Op::Reverse { dims }, &[x], &[])
    }
}
