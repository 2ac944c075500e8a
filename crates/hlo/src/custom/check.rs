//! Conditions on data that only the run can check: a broken one fails the run, and is raised where the host waits.

use super::special::is_real;
use super::{arity, ensure, CustomCall, Target};
use crate::TensorType;
use tnrs_types::DType;

/// A condition; its number is the attribute `rule` of the target `require`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is its message")]
pub enum Rule {
    PoissonRate,
    Probability,
    NormalDeviation,
    Weights,
    WeightsSum,
    WeightsCount,
}

impl Rule {
    const ALL: [Rule; 6] = [
        Rule::PoissonRate,
        Rule::Probability,
        Rule::NormalDeviation,
        Rule::Weights,
        Rule::WeightsSum,
        Rule::WeightsCount,
    ];

    /// The message of its violation, PyTorch's.
    pub fn message(self) -> &'static str {
        match self {
            Rule::PoissonRate => "invalid Poisson rate, expected rate to be non-negative",
            Rule::Probability => "Expected p_in >= 0 && p_in <= 1 to be true, but got false.",
            Rule::NormalDeviation => "normal expects all elements of std >= 0.0",
            Rule::Weights => "probability tensor contains either `inf`, `nan` or element < 0",
            Rule::WeightsSum => "invalid multinomial distribution (sum of probabilities <= 0)",
            Rule::WeightsCount => {
                "invalid multinomial distribution (with replacement=False, not enough non-negative category to \
                 sample)"
            }
        }
    }

    /// The rule of a call of `require`.
    pub fn of(call: &CustomCall) -> Option<Rule> {
        Rule::ALL.into_iter().find(|r| *r as i64 == call.int("rule"))
    }
}

fn require(c: &CustomCall, x: &[&TensorType], r: &[TensorType]) -> Result<(), String> {
    arity(x, 2, r, 1)?;
    if Rule::of(c).is_none() {
        return Err(format!("there is no rule {}", c.int("rule")));
    }
    ensure(x[1].dtype == DType::Bool, "the second operand is a truth value", x, r)?;
    ensure(is_real(x[0]) && *x[0] == r[0], "the result is the first operand, f32 or f64", x, r)
}

/// Targets of this family.
pub(super) const TARGETS: &[Target] = &[
    // The first operand; fails unless every element of the second is true.
    Target { name: "require", attrs: &["rule"], check: require },
];
