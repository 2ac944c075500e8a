//! Data movement in expression notation: transposes, strided slices, pads, rows taken and put by index, products.

use std::sync::Arc;

use smallvec::smallvec;
use tnrs_hlo::{Composite, DotDims, GatherDims, Literal, ScatterDims, ScatterKind, TensorType};
use tnrs_types::{DType, Dims, Raises, Scalar};

use crate::expr::{Expr, Math};

/// All dims except `dim`.
pub(crate) fn others(dim: usize, rank: usize) -> Dims {
    (0..rank as i64).filter(|&d| d != dim as i64).collect()
}

/// `dims` with one entry replaced.
pub(crate) fn with_dim(dims: &[i64], dim: usize, size: i64) -> Dims {
    let mut out = Dims::from_slice(dims);
    out[dim] = size;
    out
}

/// The sizes before `dim`, then `middle`, then the sizes after `dim`.
pub(crate) fn splice(dims: &[i64], dim: usize, middle: &[i64]) -> Dims {
    let mut out = Dims::from_slice(&dims[..dim]);
    out.extend_from_slice(middle);
    out.extend_from_slice(&dims[dim + 1..]);
    out
}

/// The permutation that moves dim `from` to position `to` and keeps the order of the others.
pub(crate) fn moved(rank: usize, from: usize, to: usize) -> Dims {
    let mut perm = others(from, rank);
    perm.insert(to, from as i64);
    perm
}

impl Math {
    /// A rank-1 i64 constant.
    pub(crate) fn ints(&self, values: &[i64]) -> Expr<'_> {
        let bytes: Arc<[u8]> = values.iter().flat_map(|v| v.to_ne_bytes()).collect();
        let ty = TensorType::new(DType::I64, &[values.len() as i64]);
        self.dense(Literal::Dense(ty, bytes))
    }
    /// A rank-1 constant of a float type.
    pub(crate) fn floats(&self, dtype: DType, values: &[f64]) -> Expr<'_> {
        let dims = [values.len() as i64];
        if dtype == DType::F64 {
            let bytes: Arc<[u8]> = values.iter().flat_map(|v| v.to_ne_bytes()).collect();
            return self.dense(Literal::Dense(TensorType::new(DType::F64, &dims), bytes));
        }
        let bytes: Arc<[u8]> = values.iter().flat_map(|&v| (v as f32).to_ne_bytes()).collect();
        self.dense(Literal::Dense(TensorType::new(DType::F32, &dims), bytes)).cast(dtype)
    }
    fn dense(&self, literal: Literal) -> Expr<'_> {
        let ty = literal.ty().clone();
        let r = self.b.borrow_mut().constant(literal);
        self.keep(r, || self.splat(ty.dtype, &ty.dims, Scalar::Int(0)))
    }
}

impl<'m> Expr<'m> {
    /// Number of dims.
    pub(crate) fn rank(self) -> usize {
        self.dims().len()
    }
    /// Result dim `i` is operand dim `perm[i]`; the operand itself for the identity.
    pub(crate) fn transpose(self, perm: &[i64]) -> Expr<'m> {
        if perm.iter().enumerate().all(|(i, &p)| i as i64 == p) {
            return self;
        }
        self.with(|b, v| b.transpose(v, perm))
    }
    /// Elements `start, start + step, …` below `limit` of one dim.
    pub(crate) fn steps(self, dim: usize, start: i64, limit: i64, step: i64) -> Expr<'m> {
        let sizes = self.dims();
        if start == 0 && step == 1 && limit == sizes[dim] {
            return self;
        }
        let lo: Dims = smallvec![0; sizes.len()];
        let one: Dims = smallvec![1; sizes.len()];
        let (lo, hi) = (with_dim(&lo, dim, start), with_dim(&sizes, dim, limit));
        self.with(|b, v| b.slice(v, &lo, &hi, &with_dim(&one, dim, step)))
    }
    /// One element of a dim, which is removed.
    pub(crate) fn at(self, dim: usize, index: i64) -> Expr<'m> {
        let rest = splice(&self.dims(), dim, &[]);
        self.steps(dim, index, index + 1, 1).reshape(&rest)
    }
    /// Pads with a number; negative amounts cut.
    pub(crate) fn pad(self, value: Scalar, low: &[i64], high: &[i64]) -> Expr<'m> {
        let interior: Dims = smallvec![0; low.len()];
        self.pad_interior(value, low, high, &interior)
    }
    /// As [`Expr::pad`], with elements between neighbours as well.
    pub(crate) fn pad_interior(self, value: Scalar, low: &[i64], high: &[i64], interior: &[i64]) -> Expr<'m> {
        if low.iter().chain(high).chain(interior).all(|&n| n == 0) {
            return self;
        }
        let fill = self.math().splat(self.dtype(), &[], value).value();
        self.with(|b, v| b.pad(v, fill, low, high, interior))
    }
    /// Pads one dim.
    pub(crate) fn pad_dim(self, value: Scalar, dim: usize, low: i64, high: i64, interior: i64) -> Expr<'m> {
        let zero: Dims = smallvec![0; self.rank()];
        self.pad_interior(
            value,
            &with_dim(&zero, dim, low),
            &with_dim(&zero, dim, high),
            &with_dim(&zero, dim, interior),
        )
    }
    /// Reverses dims.
    pub(crate) fn reverse(self, dims: &[i64]) -> Expr<'m> {
        if dims.is_empty() {
            return self;
        }
        self.with(|b, v| b.reverse(v, dims))
    }
    /// A dim of size 1 at `at`.
    pub(crate) fn unsqueeze(self, at: usize) -> Expr<'m> {
        let mut dims = self.dims();
        dims.insert(at, 1);
        self.reshape(&dims)
    }
    /// One dim.
    pub(crate) fn flatten(self) -> Expr<'m> {
        let n = self.ty().numel();
        self.reshape(&[n])
    }
    /// Puts a rank-1 (or scalar) value along dim `dim` of these sizes.
    pub(crate) fn along(self, dim: usize, dims: &[i64]) -> Expr<'m> {
        let map: Dims = if self.rank() == 0 { Dims::new() } else { smallvec![dim as i64] };
        self.broadcast_in_dim(&map, dims)
    }
    /// General matrix product.
    pub(crate) fn dot(self, other: Expr<'m>, dims: DotDims, out: DType) -> Expr<'m> {
        self.with(|b, v| b.dot_general(v, other.value(), dims, out))
    }
    /// `self[…, index, …]` along `dim`: the dim is replaced by the dims of `index`, which must be in range.
    pub(crate) fn take_rows(self, dim: usize, index: Expr<'m>) -> Expr<'m> {
        let (rank, index_rank) = (self.rank() as i64, index.rank() as i64);
        let d = dim as i64;
        let dims = GatherDims {
            offset_dims: (0..d).chain(d + index_rank..rank - 1 + index_rank).collect(),
            collapsed_slice_dims: smallvec![d],
            start_index_map: smallvec![d],
            index_vector_dim: index_rank,
            slice_sizes: with_dim(&self.dims(), dim, self.dims()[dim].min(1)),
        };
        self.with(|b, v| b.gather(v, index.value(), dims))
    }
    /// Scatters `updates`, sized as [`Expr::take_rows`]'s result, into `self` along `dim`. Rows whose index is out of
    /// range are dropped.
    pub(crate) fn put_rows(
        self,
        kind: ScatterKind,
        dim: usize,
        index: Expr<'m>,
        updates: Expr<'m>,
    ) -> Expr<'m> {
        let (rank, index_rank) = (self.rank() as i64, index.rank() as i64);
        let d = dim as i64;
        let dims = ScatterDims {
            update_window_dims: (0..d).chain(d + index_rank..rank - 1 + index_rank).collect(),
            inserted_window_dims: smallvec![d],
            scatter_dims_to_operand_dims: smallvec![d],
            index_vector_dim: index_rank,
        };
        self.with(|b, v| b.scatter(kind, v, index.value(), updates.value(), dims))
    }
    /// Scatters single elements into `self` seen as one dim; the result has `self`'s sizes.
    pub(crate) fn put_flat(self, kind: ScatterKind, index: Expr<'m>, updates: Expr<'m>) -> Expr<'m> {
        let dims = self.dims();
        self.flatten().put_rows(kind, 0, index.flatten(), updates.flatten()).reshape(&dims)
    }
    /// The indices as i64, with a fault unless all are in `lo..hi`.
    pub(crate) fn checked(self, lo: i64, hi: i64, site: &'static str, dim: usize) -> Expr<'m> {
        self.checked_as(Raises::Index, lo, hi, site, dim)
    }
    /// As [`Expr::checked`], with the exception that the fault becomes.
    pub(crate) fn checked_as(
        self,
        raises: Raises,
        lo: i64,
        hi: i64,
        site: &'static str,
        dim: usize,
    ) -> Expr<'m> {
        let index = self.cast(DType::I64);
        let op = Composite::CheckIndex { lo, hi, site, dim: dim as i64, raises };
        let ty = index.ty();
        match self.math().composite(op, &[index], &[ty]) {
            Some(results) => results[0],
            None => index,
        }
    }
    /// A fault with this message, a `RuntimeError`, unless all truth values hold.
    pub(crate) fn assert(self, message: &'static str) {
        let _ = self.math().composite(Composite::Assert { message }, &[self], &[self.ty()]);
    }
    /// The indices as i64 in `0..size`, negative ones counted from the end, with a fault for any other.
    pub(crate) fn wrapped(self, size: i64, site: &'static str, dim: usize) -> Expr<'m> {
        let index = self.checked(-size, size, site, dim);
        index.lt(index.int(0)).select(index + index.int(size), index)
    }
    /// The position of every element of `self` along all dims but `dim`, as an offset into a dense tensor of sizes
    /// `dims`, plus `self` as the position along `dim`; 32 bits while they suffice.
    pub(crate) fn flat_index(self, dims: &[i64], dim: usize) -> Expr<'m> {
        let strides = tnrs_types::contiguous_strides(dims);
        let sizes = self.dims();
        let fits = tnrs_types::numel(dims) <= i64::from(i32::MAX);
        let dtype = if fits { DType::I32 } else { DType::I64 };
        let mut flat = self.cast(dtype);
        if strides[dim] != 1 {
            flat = flat * flat.int(strides[dim]);
        }
        for d in (0..sizes.len()).filter(|&d| d != dim && sizes[d] > 1) {
            let i = self.math().iota(dtype, &sizes, d as i64);
            flat = flat + if strides[d] == 1 { i } else { i * i.int(strides[d]) };
        }
        flat
    }
}

impl Math {
    /// `values` of a float type along dim `dim` of these sizes.
    pub(crate) fn floats_along(&self, dtype: DType, values: &[f64], dim: usize, sizes: &[i64]) -> Expr<'_> {
        match values {
            [first, rest @ ..] if rest.iter().all(|v| v == first) => {
                self.splat(dtype, sizes, Scalar::Float(*first))
            }
            _ => self.floats(dtype, values).along(dim, sizes),
        }
    }
}
