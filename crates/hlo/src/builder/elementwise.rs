//! Constants and elementwise methods.

use tnrs_types::{BinaryKind, CompareDir, DType, Scalar, UnaryKind};

use crate::{Builder, HloError, Literal, Op, TensorType, Value};

macro_rules! unary {
    ($($name:ident = $kind:ident;)*) => {$(
        #[doc = concat!("[`UnaryKind::", stringify!($kind), "`] of `x`.")]
        pub fn $name(&mut self, x: Value) -> Result<Value, HloError> {
            self.unary(UnaryKind::$kind, x)
        }
    )*};
}

macro_rules! binary {
    ($($name:ident = $kind:ident;)*) => {$(
        #[doc = concat!("[`BinaryKind::", stringify!($kind), "`] of `x` and `y`, which have equal types.")]
        pub fn $name(&mut self, x: Value, y: Value) -> Result<Value, HloError> {
            self.binary(BinaryKind::$kind, x, y)
        }
    )*};
}

#[allow(
    clippy::should_implement_trait,
    reason = "the methods add instructions and can fail; operator traits cannot"
)]
impl Builder {
    /// `constant`.
    pub fn constant(&mut self, literal: Literal) -> Result<Value, HloError> {
        self.one(Op::Constant(literal), &[], &[])
    }

    /// `constant` whose elements all equal `value`, converted to `dtype`.
    pub fn splat(&mut self, dtype: DType, dims: &[i64], value: Scalar) -> Result<Value, HloError> {
        self.constant(Literal::Splat(TensorType::new(dtype, dims), value))
    }

    /// `constant` of the type of `like` whose elements all equal `value`, converted to its element type.
    pub fn splat_like(&mut self, like: Value, value: f64) -> Result<Value, HloError> {
        let ty = self.ty(like).clone();
        self.constant(Literal::Splat(ty, Scalar::Float(value)))
    }

    /// `iota`: the index along `dim`.
    pub fn iota(&mut self, dtype: DType, dims: &[i64], dim: i64) -> Result<Value, HloError> {
        self.one(Op::Iota { dim }, &[], &[TensorType::new(dtype, dims)])
    }

    /// An elementwise function of one operand.
    pub fn unary(&mut self, kind: UnaryKind, x: Value) -> Result<Value, HloError> {
        self.one(Op::Unary(kind), &[x], &[])
    }

    /// An elementwise function of two operands of equal type.
    pub fn binary(&mut self, kind: BinaryKind, x: Value, y: Value) -> Result<Value, HloError> {
        self.one(Op::Binary(kind), &[x, y], &[])
    }

    unary! {
        not = Not;
        neg = Negate;
        exp = Exponential;
        log = Log;
        sqrt = Sqrt;
        rsqrt = Rsqrt;
        tanh = Tanh;
        abs = Abs;
    }

    binary! {
        add = Add;
        sub = Subtract;
        mul = Multiply;
        div = Divide;
        max = Maximum;
        min = Minimum;
        pow = Power;
        rem = Remainder;
        and = And;
        or = Or;
        xor = Xor;
    }

    /// `compare` → bool.
    pub fn compare(&mut self, dir: CompareDir, x: Value, y: Value) -> Result<Value, HloError> {
        self.one(Op::Compare(dir), &[x, y], &[])
    }

    /// `select`: `t` where `p` (bool, of rank 0 or their sizes) holds, else `f`.
    pub fn select(&mut self, p: Value, t: Value, f: Value) -> Result<Value, HloError> {
        self.one(Op::Select, &[p, t, f], &[])
    }

    /// `clamp`: `min(max(x, lo), hi)`; `lo` and `hi` have rank 0 or the sizes of `x`.
    pub fn clamp(&mut self, lo: Value, x: Value, hi: Value) -> Result<Value, HloError> {
        self.one(Op::Clamp, &[lo, x, hi], &[])
    }

    /// `convert` to an element type; `x` itself when it has that type.
    pub fn convert(&mut self, x: Value, dtype: DType) -> Result<Value, HloError> {
        if self.ty(x).dtype == dtype {
            return Ok(x);
        }
        let want = TensorType { dtype, dims: self.ty(x).dims.clone() };
        self.one(Op::Convert, &[x], &[want])
    }

    /// `bitcast_convert` to an element type of equal size; `x` itself when it has that type.
    pub fn bitcast(&mut self, x: Value, dtype: DType) -> Result<Value, HloError> {
        if self.ty(x).dtype == dtype {
            return Ok(x);
        }
        let want = TensorType { dtype, dims: self.ty(x).dims.clone() };
        self.one(Op::BitcastConvert, &[x], &[want])
    }
}
