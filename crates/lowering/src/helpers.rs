//! What most rules share: operands brought to one type and size, results brought to the type PyTorch expects, dims.
//!
//! - [`map`] is a whole elementwise rule: it promotes and broadcasts the arguments, applies a formula, converts the
//!   result: `map(cx, [0, 1], Domain::Promoted, |[x, y]| x + y)`. Arguments may be tensors or numbers alike.
//! - [`Ctx::common`] and [`Ctx::operand`] do the first half piecewise; [`Ctx::finish`] the second.
//! - [`dim`], [`Ctx::reduced_dims`], [`keep_dims`] normalise dims.

use tnrs_hlo::{TensorType, Value};
use tnrs_types::{Class, DType, Dims, Scalar};

use crate::{result_type, Arg, Ctx, Expr, LowerError, Outcome, Tensor};

/// What a rule returns.
pub type Lowered = Result<Outcome, LowerError>;

/// The element type an elementwise rule computes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Domain {
    /// The promoted type of the operands; reduced floats compute in f32 and round once, at the end.
    Promoted,
    /// As `Promoted`, but integers and bool become f32 (PyTorch's default float).
    Float,
    /// The promoted type itself, also for reduced floats: comparisons and moves of values.
    Exact,
    /// Truth values: operands are compared with zero.
    Truth,
}

impl Domain {
    /// The type operands promote to before computing, from their promoted type.
    pub fn common(self, promoted: DType) -> DType {
        match (self, promoted.class()) {
            (Domain::Truth, _) => DType::Bool,
            (Domain::Float, Class::Bool | Class::Int) => DType::F32,
            _ => promoted,
        }
    }
    /// The type the formula computes in, from the common type.
    pub fn compute(self, common: DType) -> DType {
        match self {
            Domain::Promoted | Domain::Float => common.opmath(),
            Domain::Exact | Domain::Truth => common,
        }
    }
}

impl Ctx {
    /// PyTorch's promoted type of the tensor and number arguments at these positions (absent ones do not count).
    pub fn promoted(&self, args: &[usize]) -> Result<DType, LowerError> {
        let entry = |t: &Tensor| (t.ty.dtype, t.ty.dims.is_empty(), t.wrapped);
        let mut entries: Vec<(DType, bool, bool)> = Vec::with_capacity(args.len());
        for &i in args {
            match self.args.get(i) {
                Some(Arg::Tensor(t)) => entries.push(entry(t)),
                Some(Arg::Tensors(ts)) => entries.extend(ts.iter().flatten().map(entry)),
                Some(Arg::Scalar(s)) => entries.push((s.natural, true, true)),
                Some(Arg::Float(_)) => entries.push((DType::F64, true, true)),
                Some(Arg::Int(_)) => entries.push((DType::I64, true, true)),
                Some(Arg::Bool(_)) => entries.push((DType::Bool, true, true)),
                _ => {}
            }
        }
        result_type(entries)
            .ok_or_else(|| LowerError::runtime(format!("{}: no operand decides the type", self.op)))
    }

    /// Sizes that the tensor arguments at these positions broadcast to together.
    pub fn broadcast_sizes(&self, args: &[usize]) -> Result<Dims, LowerError> {
        let mut dims = Dims::new();
        for &i in args {
            if let Some(Arg::Tensor(t)) = self.args.get(i) {
                dims = broadcast_dims(&dims, &t.ty.dims)?;
            }
        }
        Ok(dims)
    }

    /// The tensor or number at a position, promoted to `common` and then in `compute`, with its own sizes (rank 0 for
    /// numbers). Numbers convert straight to `compute`, so that a Python number is not rounded to bf16 first.
    pub fn operand(&mut self, i: usize, common: DType, compute: DType) -> Result<Value, LowerError> {
        match self.args.get(i) {
            Some(Arg::Tensor(t)) => {
                let t = t.clone();
                self.tensor_operand(&t, common, compute)
            }
            _ => self.scalar(i, compute),
        }
    }

    /// As [`Ctx::operand`], for a tensor.
    pub fn tensor_operand(&mut self, t: &Tensor, common: DType, compute: DType) -> Result<Value, LowerError> {
        let v = if t.wrapped { t.value } else { self.cast(t.value, common)? };
        self.cast(v, compute)
    }

    /// Converts the element type as PyTorch does: from complex to real keeps the real part.
    pub fn cast(&mut self, v: Value, dtype: DType) -> Result<Value, LowerError> {
        let from = self.b.ty(v).dtype;
        if from == dtype {
            return Ok(v);
        }
        if from.is_complex() && !dtype.is_complex() && dtype != DType::Bool {
            let re = self.b.unary(tnrs_hlo::UnaryKind::Real, v)?;
            return Ok(self.b.convert(re, dtype)?);
        }
        Ok(self.b.convert(v, dtype)?)
    }

    /// Brings a computed value to a result type: converts, and broadcasts when it is smaller.
    pub fn fit(&mut self, v: Value, ty: &TensorType) -> Result<Value, LowerError> {
        let v = self.cast(v, ty.dtype)?;
        Ok(self.b.broadcast_to(v, &ty.dims)?)
    }

    /// The outcome of one tensor, brought to the expected type of result 0.
    pub fn finish(&mut self, v: Value) -> Lowered {
        let ty = self.out(0)?;
        Ok(self.fit(v, &ty)?.into())
    }

    /// The outcome of several tensors, each brought to its expected type.
    pub fn finish_all(&mut self, values: &[Value]) -> Lowered {
        let mut fitted = Vec::with_capacity(values.len());
        for (i, &v) in values.iter().enumerate() {
            let ty = self.out(i)?;
            fitted.push(self.fit(v, &ty)?);
        }
        Ok(Outcome::tensors(&fitted))
    }

    /// As [`Ctx::finish_all`] for reductions: each value is reshaped, so that reduced dims may be kept with size 1.
    pub fn finish_reshaped(&mut self, values: &[Value]) -> Lowered {
        let mut fitted = Vec::with_capacity(values.len());
        for (i, &v) in values.iter().enumerate() {
            let ty = self.out(i)?;
            let v = self.cast(v, ty.dtype)?;
            fitted.push(self.b.reshape(v, &ty.dims)?);
        }
        Ok(Outcome::tensors(&fitted))
    }

    /// A multiplier such as `alpha` as a rank-0 value, or `None` when it is absent or known to be 1.
    pub fn factor(&mut self, i: usize, dtype: DType) -> Result<Option<Value>, LowerError> {
        match self.args.get(i) {
            None | Some(Arg::None) => Ok(None),
            Some(Arg::Scalar(s)) if s.known.is_some_and(|k| k.is(1)) => Ok(None),
            Some(Arg::Int(1)) => Ok(None),
            _ => self.scalar(i, dtype).map(Some),
        }
    }

    /// The value of a number that is in the key (declared with [`crate::Row::stat`]).
    pub fn known(&self, i: usize) -> Result<Scalar, LowerError> {
        match self.args.get(i) {
            Some(Arg::Scalar(s)) => {
                s.known.ok_or_else(|| LowerError::runtime(format!("{}: argument {i} not static", self.op)))
            }
            Some(Arg::Int(v)) => Ok(Scalar::Int(*v)),
            Some(Arg::Float(v)) => Ok(Scalar::Float(*v)),
            Some(Arg::Bool(v)) => Ok(Scalar::Bool(*v)),
            other => {
                Err(LowerError::runtime(format!("{}: argument {i} must be a number, got {other:?}", self.op)))
            }
        }
    }

    /// Whether the argument at a position is absent.
    pub fn is_absent(&self, i: usize) -> bool {
        matches!(self.args.get(i), None | Some(Arg::None))
    }

    /// Text argument, if present.
    pub fn text(&self, i: usize) -> Option<&str> {
        match self.args.get(i) {
            Some(Arg::Str(s)) => Some(s),
            _ => None,
        }
    }

    /// The dims that a reduction removes, ascending: of the dim list (or single dim) at a position; all when it is
    /// absent or empty.
    pub fn reduced_dims(&self, i: usize, rank: usize) -> Result<Dims, LowerError> {
        match self.ints(i) {
            Some(list) if !list.is_empty() => {
                let mut dims = Dims::new();
                for d in list {
                    let d = dim(d, rank)?;
                    if rank > 0 && !dims.contains(&d) {
                        dims.push(d);
                    }
                }
                dims.sort_unstable();
                Ok(dims)
            }
            _ => Ok((0..rank as i64).collect()),
        }
    }
}

impl Ctx {
    /// `Unsupported` unless the CPU backend has a kernel for the element type of the tensor at a position, in its words.
    pub fn require(&self, i: usize, kernel: &str, supported: fn(DType) -> bool) -> Result<(), LowerError> {
        let dtype = self.tensor(i)?.ty.dtype;
        if supported(dtype) {
            return Ok(());
        }
        Err(LowerError::no_kernel(kernel, dtype))
    }
}

/// Refuses a known number that does not fit an element type.
pub fn in_range(s: Scalar, dtype: DType) -> Result<(), LowerError> {
    if s.fits(dtype) {
        return Ok(());
    }
    Err(LowerError::Runtime(Scalar::misfit(dtype)))
}

/// Real floats of at least 16 bits.
pub fn is_plain_float(dtype: DType) -> bool {
    dtype.is_float() && dtype.size() > 1
}

/// A dim counted from the end if negative, checked; 0 and -1 are legal for rank 0.
pub fn dim(d: i64, rank: usize) -> Result<i64, LowerError> {
    let n = rank.max(1) as i64;
    if (-n..n).contains(&d) {
        Ok(if d < 0 { d + n } else { d })
    } else {
        Err(LowerError::Index(format!(
            "Dimension out of range (expected to be in range of [{}, {}], but got {d})",
            -n,
            n - 1
        )))
    }
}

/// Sizes with the given dims set to 1.
pub fn keep_dims(sizes: &[i64], dims: &[i64]) -> Dims {
    let mut kept = Dims::from_slice(sizes);
    for &d in dims {
        kept[d as usize] = 1;
    }
    kept
}

/// Sizes that both broadcast to, or PyTorch's error.
pub fn broadcast_dims(a: &[i64], b: &[i64]) -> Result<Dims, LowerError> {
    let rank = a.len().max(b.len());
    let at = |d: &[i64], i: usize| (i + d.len()).checked_sub(rank).map_or(1, |k| d[k]);
    let mut out = Dims::with_capacity(rank);
    for i in 0..rank {
        let (x, y) = (at(a, i), at(b, i));
        if x != y && x != 1 && y != 1 {
            return Err(LowerError::runtime(format!(
                "The size of tensor a ({x}) must match the size of tensor b ({y}) at non-singleton dimension {i}"
            )));
        }
        out.push(if x == 1 { y } else { x });
    }
    Ok(out)
}

/// An elementwise rule: `f` of the arguments at `args` (tensors or numbers), in `domain`, as result 0.
pub fn map<const N: usize>(
    cx: &mut Ctx,
    args: [usize; N],
    domain: Domain,
    f: impl for<'m> FnOnce([Expr<'m>; N]) -> Expr<'m>,
) -> Lowered {
    let v = apply(cx, args, domain, f)?;
    cx.finish(v)
}

/// As [`map`], without the final conversion.
pub fn apply<const N: usize>(
    cx: &mut Ctx,
    args: [usize; N],
    domain: Domain,
    f: impl for<'m> FnOnce([Expr<'m>; N]) -> Expr<'m>,
) -> Result<Value, LowerError> {
    let common = domain.common(cx.promoted(&args)?);
    apply_as(cx, args, common, domain.compute(common), f)
}

/// As [`apply`], with the common and the computing type given.
pub fn apply_as<const N: usize>(
    cx: &mut Ctx,
    args: [usize; N],
    common: DType,
    compute: DType,
    f: impl for<'m> FnOnce([Expr<'m>; N]) -> Expr<'m>,
) -> Result<Value, LowerError> {
    let mut values = [Value(0); N];
    for (v, &i) in values.iter_mut().zip(&args) {
        *v = cx.operand(i, common, compute)?;
    }
    cx.math(|m| f(m.exprs(values)).value())
}
