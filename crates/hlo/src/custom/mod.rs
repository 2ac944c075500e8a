//! Custom calls: library routines that have no decomposition into plain ops (StableHLO's `custom_call`).
//!
//! An executor runs a custom call by a routine of its own or refuses the program. A [`Target`] is one row of a
//! family's table: its name, its attributes and the check of its types. Text forms, inference and verification
//! follow from the row; softcore finds its routine by the name.
//!
//! A routine reads its operands and writes its results as dense row-major memory, and every result has the type
//! that the instruction states.

mod linalg;
mod loss;
mod segment;

pub use linalg::InfoSite;

use smallvec::SmallVec;
use tnrs_types::Scalar;

use crate::{HloError, TensorType};

mod sample;
mod scan;
mod special;

/// The check of a call's operands against the results that it states; the error says what is wrong.
pub type Check = fn(&CustomCall, &[&TensorType], &[TensorType]) -> Result<(), String>;

/// One routine.
#[derive(Debug)]
pub struct Target {
    /// Its name in texts, such as `cholesky`.
    pub name: &'static str,
    /// Names of its attributes, in order. Each is a Bool, an Int or a Float.
    pub attrs: &'static [&'static str],
    /// The check of its types.
    pub check: Check,
}

/// Every family of routines.
static FAMILIES: &[&[Target]] =
    &[linalg::TARGETS, loss::TARGETS, sample::TARGETS, scan::TARGETS, segment::TARGETS, special::TARGETS];

impl Target {
    /// Every routine.
    pub fn all() -> impl Iterator<Item = &'static Target> {
        FAMILIES.iter().flat_map(|family| family.iter())
    }

    /// The routine of a name.
    pub fn find(name: &str) -> Option<&'static Target> {
        Target::all().find(|t| t.name == name)
    }
}

impl PartialEq for Target {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// A routine with its attributes.
#[derive(Clone, Debug, PartialEq)]
pub struct CustomCall {
    target: &'static Target,
    attrs: SmallVec<[Scalar; 4]>,
}

impl CustomCall {
    /// The routine `name` with its attributes in the order of [`Target::attrs`].
    ///
    /// Errors: a [`HloError::Constraint`] for an unknown name or another number of attributes.
    pub fn new(name: &str, attrs: &[Scalar]) -> Result<CustomCall, HloError> {
        let wrong = |detail| HloError::Constraint { op: "custom_call", label: "target", detail };
        let target = Target::find(name).ok_or_else(|| wrong(format!("no routine is called '{name}'")))?;
        if attrs.len() != target.attrs.len() {
            return Err(wrong(format!(
                "{name} has {} attributes, {} given",
                target.attrs.len(),
                attrs.len()
            )));
        }
        Ok(CustomCall { target, attrs: SmallVec::from_slice(attrs) })
    }

    /// The routine's name.
    pub fn name(&self) -> &'static str {
        self.target.name
    }

    /// Attributes with their names.
    pub fn attrs(&self) -> impl Iterator<Item = (&'static str, Scalar)> + '_ {
        self.target.attrs.iter().copied().zip(self.attrs.iter().copied())
    }

    /// The attribute of a name.
    ///
    /// # Panics
    /// If the routine's row names no such attribute.
    pub fn attr(&self, name: &str) -> Scalar {
        let at = self.target.attrs.iter().position(|a| *a == name);
        self.attrs[at.unwrap_or_else(|| panic!("{} has no attribute '{name}'", self.target.name))]
    }

    /// An attribute as an integer; see [`CustomCall::attr`].
    pub fn int(&self, name: &str) -> i64 {
        match self.attr(name) {
            Scalar::Int(i) => i,
            other => other.to_f64() as i64,
        }
    }

    /// An attribute as a truth value; see [`CustomCall::attr`].
    pub fn flag(&self, name: &str) -> bool {
        self.int(name) != 0
    }

    /// An attribute as a number; see [`CustomCall::attr`].
    pub fn float(&self, name: &str) -> f64 {
        self.attr(name).to_f64()
    }

    pub(crate) fn check(&self, x: &[&TensorType], results: &[TensorType]) -> Result<(), HloError> {
        (self.target.check)(self, x, results).map_err(|detail| HloError::Constraint {
            op: "custom_call",
            label: self.target.name,
            detail,
        })
    }
}

/// Fails unless the number of operands and of results is right.
fn arity(x: &[&TensorType], operands: usize, r: &[TensorType], results: usize) -> Result<(), String> {
    if x.len() != operands {
        return Err(format!("{} operands given, {operands} needed", x.len()));
    }
    if r.len() != results {
        return Err(format!("{} results stated, {results} needed", r.len()));
    }
    Ok(())
}

/// Fails with the types in words unless the condition holds.
fn ensure(cond: bool, rule: &str, x: &[&TensorType], r: &[TensorType]) -> Result<(), String> {
    if cond {
        return Ok(());
    }
    let words = |types: Vec<String>| types.join(", ");
    let operands = words(x.iter().map(|t| t.to_string()).collect());
    let results = words(r.iter().map(|t| t.to_string()).collect());
    Err(format!("{rule}; operands: {operands}; results: {results}"))
}
