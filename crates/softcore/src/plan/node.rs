//! Values during planning: in memory, or still to be computed by whoever needs them.

use smallvec::SmallVec;
use tnrs_kernels::tile::Fused;
use tnrs_types::{BinaryKind, CompareDir, DType, Dims, UnaryKind};

use super::dot::PendingDot;
use crate::view::View;

/// Index of a [`Node`].
pub(crate) type NodeId = u32;

/// Operands of random words.
#[derive(Clone, Debug)]
pub(crate) struct Random {
    pub seed: View,
    pub offset: View,
    /// Gives the linear index.
    pub index: View,
}

/// How a node's elements come to be.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// They are in memory.
    Leaf(View),
    /// `view.off` plus the index times the strides.
    Iota(View),
    /// Random words; see [`Random`].
    Philox(Box<Random>),
    Unary(UnaryKind),
    Binary(BinaryKind),
    Compare(CompareDir),
    Select,
    Clamp,
    Convert,
    Bitcast,
    Fused(Fused),
    /// A product that may still absorb an epilogue.
    Dot(Box<PendingDot>),
}

impl Kind {
    /// Computed element by element from nodes of the same sizes.
    pub fn is_pointwise(&self) -> bool {
        !matches!(self, Kind::Leaf(_) | Kind::Dot(_))
    }
}

/// A value, or an intermediate that planning introduced.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub kind: Kind,
    pub dtype: DType,
    pub dims: Dims,
    pub args: SmallVec<[NodeId; 3]>,
    /// Uses by instructions and results that have not been planned yet.
    pub uses: i32,
    /// Primitives needed to compute it from memory.
    pub weight: u32,
    /// Where it has to be in the end, if anywhere.
    pub target: Option<View>,
}

/// Nanoseconds per element of a function on f32 with 512-bit vectors, roughly; decides who works and where.
pub(crate) fn function_cost(kind: &Kind, dtype: DType) -> f64 {
    let scale = match dtype.size() {
        8 => 4.0,
        16 => 8.0,
        _ => 1.0,
    };
    scale
        * match kind {
            Kind::Unary(u) => match u {
                UnaryKind::Abs
                | UnaryKind::Negate
                | UnaryKind::Not
                | UnaryKind::Ceil
                | UnaryKind::Floor
                | UnaryKind::Trunc
                | UnaryKind::Sign
                | UnaryKind::IsFinite
                | UnaryKind::IsInf
                | UnaryKind::IsNan
                | UnaryKind::Real
                | UnaryKind::Imag
                | UnaryKind::Conj
                | UnaryKind::RoundNearestEven
                | UnaryKind::RoundNearestAfz => 0.05,
                UnaryKind::Sqrt | UnaryKind::Rsqrt => 0.1,
                UnaryKind::Digamma | UnaryKind::Lgamma | UnaryKind::ErfInv => 3.0,
                _ => 0.3,
            },
            Kind::Binary(BinaryKind::Power | BinaryKind::Atan2 | BinaryKind::Remainder) => 1.0,
            Kind::Binary(BinaryKind::Divide) => 0.15,
            Kind::Fused(_) => 0.3,
            Kind::Philox(_) => 0.6,
            _ => 0.05,
        }
}
