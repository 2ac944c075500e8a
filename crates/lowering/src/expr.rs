//! Arithmetic notation for rules: [`Ctx::math`] lends the builder to a closure in which hlo values are [`Expr`]s with
//! operators, so that a rule reads as its formula.
//!
//! Operands of different sizes broadcast as in numpy; element types never convert by themselves. A plain `f64` beside
//! an `Expr` is a constant of its element type. The first error is kept and returned by [`Ctx::math`].

use std::cell::RefCell;
use std::ops;

use tnrs_hlo::{Builder, Composite, HloError, TensorType, Value};
use tnrs_types::{BinaryKind, CompareDir, DType, Dims, ReduceKind, Scalar, UnaryKind};

use crate::{Ctx, LowerError};

/// A builder shared by the expressions made from it.
#[derive(Debug)]
pub struct Math {
    pub(crate) b: RefCell<Builder>,
    error: RefCell<Option<HloError>>,
}

/// A value of the function being built.
#[derive(Clone, Copy, Debug)]
pub struct Expr<'m> {
    m: &'m Math,
    v: Value,
}

/// An operand: an expression, or a number that takes the element type of its partner.
pub trait Operand<'m>: Copy {
    /// The expression, unless it is a number.
    fn expr(self) -> Option<Expr<'m>>;
    /// The operand as an expression; a number becomes a constant of `like`'s type.
    fn like(self, like: Expr<'m>) -> Expr<'m>;
}

impl<'m> Operand<'m> for Expr<'m> {
    fn expr(self) -> Option<Expr<'m>> {
        Some(self)
    }
    fn like(self, _: Expr<'m>) -> Expr<'m> {
        self
    }
}

impl<'m> Operand<'m> for f64 {
    fn expr(self) -> Option<Expr<'m>> {
        None
    }
    fn like(self, like: Expr<'m>) -> Expr<'m> {
        like.constant(Scalar::Float(self))
    }
}

impl Ctx {
    /// Runs `f` with the builder in expression notation; an error of any step is the result.
    pub fn math<R>(&mut self, f: impl for<'m> FnOnce(&'m Math) -> R) -> Result<R, LowerError> {
        let math = Math { b: RefCell::new(std::mem::take(&mut self.b)), error: RefCell::new(None) };
        let r = f(&math);
        self.b = math.b.into_inner();
        match math.error.into_inner() {
            Some(e) => Err(e.into()),
            None => Ok(r),
        }
    }
}

impl Math {
    /// A value as an expression.
    pub fn expr(&self, v: Value) -> Expr<'_> {
        Expr { m: self, v }
    }
    /// Several values as expressions.
    pub fn exprs<const N: usize>(&self, values: [Value; N]) -> [Expr<'_>; N] {
        values.map(|v| self.expr(v))
    }
    /// Indices along `dim`.
    pub fn iota(&self, dtype: DType, dims: &[i64], dim: i64) -> Expr<'_> {
        let r = self.b.borrow_mut().iota(dtype, dims, dim);
        self.keep(r, || self.zero(dtype, dims))
    }
    /// A tensor of one number.
    pub fn splat(&self, dtype: DType, dims: &[i64], value: Scalar) -> Expr<'_> {
        let r = self.b.borrow_mut().splat(dtype, dims, value);
        self.keep(r, || self.zero(dtype, dims))
    }
    /// Joins along `dim`.
    pub fn concatenate<'m>(&'m self, parts: &[Expr<'m>], dim: i64) -> Expr<'m> {
        let values: Vec<Value> = parts.iter().map(|p| p.v).collect();
        let r = self.b.borrow_mut().concatenate(&values, dim);
        self.keep(r, || parts[0])
    }
    /// A composite; `None` after an error.
    pub fn composite(
        &self,
        op: Composite,
        operands: &[Expr<'_>],
        types: &[TensorType],
    ) -> Option<Vec<Expr<'_>>> {
        let values: Vec<Value> = operands.iter().map(|p| p.v).collect();
        let r = self.b.borrow_mut().composite(op, &values, types);
        match r {
            Ok(vs) => Some(vs.iter().map(|&v| self.expr(v)).collect()),
            Err(e) => {
                self.fail(e);
                None
            }
        }
    }
    /// An elementwise routine (a custom call) of operands that broadcast together; the result has the element type of
    /// the first operand.
    pub fn elementwise<'m>(&'m self, name: &str, attrs: &[Scalar], operands: &[Expr<'m>]) -> Expr<'m> {
        let sizes = operands.iter().fold(Dims::new(), |d, x| broadcast_sizes(&d, &x.dims()));
        let values: Vec<Value> = operands.iter().map(|x| x.broadcast(&sizes).v).collect();
        let ty = TensorType::new(operands[0].dtype(), &sizes);
        let r = self.b.borrow_mut().custom_call(name, attrs, &values, &[ty]);
        self.keep(r.map(|v| v[0]), || operands[0])
    }
    /// Sorts all by the first along `dim`, stably; the operands after an error.
    pub fn sort<'m>(&'m self, xs: &[Expr<'m>], dim: i64, descending: bool) -> Vec<Expr<'m>> {
        let values: Vec<Value> = xs.iter().map(|p| p.v).collect();
        let r = self.b.borrow_mut().sort(&values, dim, descending);
        match r {
            Ok(vs) => vs.iter().map(|&v| self.expr(v)).collect(),
            Err(e) => {
                self.fail(e);
                xs.to_vec()
            }
        }
    }
    fn fail(&self, e: HloError) {
        self.error.borrow_mut().get_or_insert(e);
    }
    /// The value, or after an error any expression: the result is discarded with the function.
    pub(crate) fn keep<'m>(
        &'m self,
        r: Result<Value, HloError>,
        instead: impl FnOnce() -> Expr<'m>,
    ) -> Expr<'m> {
        match r {
            Ok(v) => self.expr(v),
            Err(e) => {
                self.fail(e);
                instead()
            }
        }
    }
    fn zero(&self, dtype: DType, dims: &[i64]) -> Expr<'_> {
        self.expr(self.b.borrow_mut().param(TensorType::new(dtype, dims)))
    }
}

/// Sizes that both broadcast to; the left's where they do not fit (the builder then reports it).
fn broadcast_sizes(a: &[i64], b: &[i64]) -> Dims {
    let rank = a.len().max(b.len());
    let at = |d: &[i64], i: usize| {
        let pad = rank - d.len();
        if i < pad {
            1
        } else {
            d[i - pad]
        }
    };
    (0..rank)
        .map(|i| match (at(a, i), at(b, i)) {
            (1, n) => n,
            (n, _) => n,
        })
        .collect()
}

impl<'m> Expr<'m> {
    /// The value.
    pub fn value(self) -> Value {
        self.v
    }
    /// Its type.
    pub fn ty(self) -> TensorType {
        self.m.b.borrow().ty(self.v).clone()
    }
    /// Its element type.
    pub fn dtype(self) -> DType {
        self.m.b.borrow().ty(self.v).dtype
    }
    /// Its sizes.
    pub fn dims(self) -> Dims {
        self.m.b.borrow().ty(self.v).dims.clone()
    }
    /// The notation it belongs to.
    pub fn math(self) -> &'m Math {
        self.m
    }
    /// A constant of this expression's type.
    pub fn constant(self, value: Scalar) -> Expr<'m> {
        let ty = self.ty();
        self.m.splat(ty.dtype, &ty.dims, value)
    }
    /// An integer constant of this expression's type.
    pub fn int(self, value: i64) -> Expr<'m> {
        self.constant(Scalar::Int(value))
    }
    pub(crate) fn with(self, f: impl FnOnce(&mut Builder, Value) -> Result<Value, HloError>) -> Expr<'m> {
        let r = f(&mut self.m.b.borrow_mut(), self.v);
        self.m.keep(r, || self)
    }
    /// Broadcasts to these sizes.
    pub fn broadcast(self, dims: &[i64]) -> Expr<'m> {
        self.with(|b, v| b.broadcast_to(v, dims))
    }
    /// Broadcasts operand dim `i` to result dim `map[i]`.
    pub fn broadcast_in_dim(self, map: &[i64], dims: &[i64]) -> Expr<'m> {
        self.with(|b, v| b.broadcast_in_dim(v, map, dims))
    }
    /// Reshapes.
    pub fn reshape(self, dims: &[i64]) -> Expr<'m> {
        self.with(|b, v| b.reshape(v, dims))
    }
    /// Elements `start..limit` of one dim.
    pub fn slice(self, dim: usize, start: i64, limit: i64) -> Expr<'m> {
        let end = self.dims();
        let mut lo: Dims = smallvec::smallvec![0; end.len()];
        let mut hi = end.clone();
        lo[dim] = start;
        hi[dim] = limit;
        let step: Dims = smallvec::smallvec![1; end.len()];
        self.with(|b, v| b.slice(v, &lo, &hi, &step))
    }
    /// Converts the element type.
    pub fn cast(self, dtype: DType) -> Expr<'m> {
        self.with(|b, v| b.convert(v, dtype))
    }
    /// Reinterprets the bits.
    pub fn bitcast(self, dtype: DType) -> Expr<'m> {
        self.with(|b, v| b.bitcast(v, dtype))
    }
    /// Reduces and removes dims; the identity for no dims.
    pub fn reduce(self, kind: ReduceKind, dims: &[i64]) -> Expr<'m> {
        if dims.is_empty() {
            return self;
        }
        self.with(|b, v| b.reduce(kind, v, dims))
    }
    /// Reduces, keeping the reduced dims with size 1.
    pub fn reduce_keep(self, kind: ReduceKind, dims: &[i64]) -> Expr<'m> {
        let mut kept = self.dims();
        for &d in dims {
            kept[d as usize] = 1;
        }
        self.reduce(kind, dims).reshape(&kept)
    }
    /// Sum over dims, which are removed.
    pub fn sum(self, dims: &[i64]) -> Expr<'m> {
        self.reduce(ReduceKind::Add, dims)
    }
    /// `self` where the predicate holds: `pred.select(on_true, on_false)`.
    pub fn select(self, t: impl Operand<'m>, f: impl Operand<'m>) -> Expr<'m> {
        let Some(like) = t.expr().or(f.expr()) else {
            self.m.fail(HloError::Unsupported { op: "select", detail: "two numbers".into() });
            return self;
        };
        let (t, f) = (t.like(like), f.like(like));
        let dims = broadcast_sizes(&self.dims(), &broadcast_sizes(&t.dims(), &f.dims()));
        let (p, t, f) = (self.broadcast(&dims), t.broadcast(&dims), f.broadcast(&dims));
        t.with(|b, _| b.select(p.v, t.v, f.v))
    }
    /// Elementwise function.
    pub fn unary(self, kind: UnaryKind) -> Expr<'m> {
        self.with(|b, v| b.unary(kind, v))
    }
    /// Elementwise function of two; bool sums are `or` and products `and`.
    pub fn binary(self, kind: BinaryKind, other: impl Operand<'m>) -> Expr<'m> {
        let (x, y) = self.pair(other.like(self));
        let kind = match (x.dtype(), kind) {
            (DType::Bool, BinaryKind::Add | BinaryKind::Maximum) => BinaryKind::Or,
            (DType::Bool, BinaryKind::Multiply | BinaryKind::Minimum) => BinaryKind::And,
            (DType::Bool, BinaryKind::Subtract) => BinaryKind::Xor,
            (_, k) => k,
        };
        x.with(|b, v| b.binary(kind, v, y.v))
    }
    fn pair(self, other: Expr<'m>) -> (Expr<'m>, Expr<'m>) {
        let (a, b) = (self.dims(), other.dims());
        if a == b {
            return (self, other);
        }
        let dims = broadcast_sizes(&a, &b);
        (self.broadcast(&dims), other.broadcast(&dims))
    }
    /// Comparison, a bool.
    pub fn compare(self, dir: CompareDir, other: impl Operand<'m>) -> Expr<'m> {
        let (x, y) = self.pair(other.like(self));
        x.with(|b, v| b.compare(dir, v, y.v))
    }
}

macro_rules! unaries {
    ($($(#[$doc:meta])* $name:ident = $kind:ident;)*) => {
        #[allow(clippy::should_implement_trait, reason = "named as in StableHLO, like those without an operator")]
        impl<'m> Expr<'m> {
            $($(#[$doc])* pub fn $name(self) -> Expr<'m> { self.unary(UnaryKind::$kind) })*
        }
    };
}
unaries! {
    /// Magnitude; real for complex operands.
    abs = Abs;
    /// Smallest integer not below.
    ceil = Ceil;
    /// Largest integer not above.
    floor = Floor;
    /// Toward zero.
    trunc = Trunc;
    /// Nearest integer, ties to even.
    round = RoundNearestEven;
    /// eˣ.
    exp = Exponential;
    /// eˣ − 1.
    expm1 = ExponentialMinusOne;
    /// ln x.
    log = Log;
    /// ln (1 + x).
    log1p = LogPlusOne;
    /// 1 / (1 + e⁻ˣ).
    sigmoid = Logistic;
    /// √x.
    sqrt = Sqrt;
    /// 1/√x.
    rsqrt = Rsqrt;
    /// Sine.
    sin = Sine;
    /// Cosine.
    cos = Cosine;
    /// Tangent.
    tan = Tan;
    /// Hyperbolic tangent.
    tanh = Tanh;
    /// Hyperbolic sine.
    sinh = Sinh;
    /// Hyperbolic cosine.
    cosh = Cosh;
    /// Arc cosine.
    acos = Acos;
    /// Inverse hyperbolic cosine.
    acosh = Acosh;
    /// Arc sine.
    asin = Asin;
    /// Inverse hyperbolic sine.
    asinh = Asinh;
    /// Arc tangent.
    atan = Atan;
    /// Inverse hyperbolic tangent.
    atanh = Atanh;
    /// Error function.
    erf = Erf;
    /// 1 − erf x.
    erfc = Erfc;
    /// Inverse of erf.
    erfinv = ErfInv;
    /// ln |Γ(x)|.
    lgamma = Lgamma;
    /// Γ′/Γ.
    digamma = Digamma;
    /// −1, 0 or 1; x/|x| for complex.
    sign = Sign;
    /// Complex conjugate.
    conj = Conj;
    /// Real part.
    real = Real;
    /// Imaginary part.
    imag = Imag;
    /// Neither infinite nor NaN.
    is_finite = IsFinite;
    /// ±∞.
    is_inf = IsInf;
    /// Not a number.
    is_nan = IsNan;
    /// Bitwise or logical complement.
    not = Not;
}

macro_rules! binaries {
    ($($(#[$doc:meta])* $name:ident = $kind:ident;)*) => {
        #[allow(clippy::should_implement_trait, reason = "named as in StableHLO, like those without an operator")]
        impl<'m> Expr<'m> {
            $($(#[$doc])* pub fn $name(self, y: impl Operand<'m>) -> Expr<'m> { self.binary(BinaryKind::$kind, y) })*
        }
    };
}
binaries! {
    /// The larger; NaN if either is.
    max = Maximum;
    /// The smaller; NaN if either is.
    min = Minimum;
    /// Power.
    pow = Power;
    /// Angle of (y, x).
    atan2 = Atan2;
    /// Conjunction.
    and = And;
    /// Disjunction.
    or = Or;
    /// Exclusive or.
    xor = Xor;
    /// Bits to the left.
    shl = ShiftLeft;
    /// Bits to the right, sign filled.
    shr = ShiftRightArithmetic;
    /// Bits to the right, zero filled.
    shr_logical = ShiftRightLogical;
    /// Complex number from its parts.
    complex = Complex;
}

macro_rules! compares {
    ($($name:ident = $dir:ident, $doc:literal;)*) => {
        impl<'m> Expr<'m> {
            $(#[doc = $doc] pub fn $name(self, y: impl Operand<'m>) -> Expr<'m> { self.compare(CompareDir::$dir, y) })*
        }
    };
}
compares! {
    eq = Eq, "Equal.";
    ne = Ne, "Not equal.";
    lt = Lt, "Less.";
    le = Le, "Less or equal.";
    gt = Gt, "Greater.";
    ge = Ge, "Greater or equal.";
}

macro_rules! operators {
    ($($trait:ident :: $name:ident = $kind:ident;)*) => {
        $(
        impl<'m, O: Operand<'m>> ops::$trait<O> for Expr<'m> {
            type Output = Expr<'m>;
            fn $name(self, y: O) -> Expr<'m> { self.binary(BinaryKind::$kind, y) }
        }
        impl<'m> ops::$trait<Expr<'m>> for f64 {
            type Output = Expr<'m>;
            fn $name(self, y: Expr<'m>) -> Expr<'m> { self.like(y).binary(BinaryKind::$kind, y) }
        }
        )*
    };
}
operators! {
    Add::add = Add;
    Sub::sub = Subtract;
    Mul::mul = Multiply;
    Div::div = Divide;
    Rem::rem = Remainder;
}

impl<'m> ops::Neg for Expr<'m> {
    type Output = Expr<'m>;
    fn neg(self) -> Expr<'m> {
        self.unary(UnaryKind::Negate)
    }
}
