//! The row type.

use tnrs_types::DType;

use crate::{Ctx, LowerError, Outcome};

/// Where output sizes, dtypes and strides come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Infer {
    /// PyTorch's own meta kernel (which also raises PyTorch's errors for bad operands).
    Meta,
    /// PyTorch has no meta kernel: the types of the rule's results, contiguous.
    Rule,
}

/// Which element types `out=` arguments may have beside those of the results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutTypes {
    /// As the overload's meta kernel says; without one, as for `Castable`.
    Meta,
    /// None. PyTorch's message for another type, in which `{want}` and `{got}` stand for names such as `Float`, and
    /// `{want_cpp}` and `{got_cpp}` for `float`.
    Exact(&'static str),
    /// Those that PyTorch's casting rules allow.
    Castable,
    /// All.
    Any,
}

/// What of a call is checked before its results are inferred.
pub type Check = fn(&Ctx) -> Result<(), LowerError>;

/// One ATen overload.
pub struct Row {
    /// Full overload name, such as `aten::add.Tensor`. From the functional overload the in-place and `out=` ones
    /// are derived by schema; an op that only exists in place (`aten::normal_`) has its own row.
    pub op: &'static str,
    /// The lowering.
    pub rule: fn(&mut Ctx) -> Result<Outcome, LowerError>,
    /// Output inference.
    pub infer: Infer,
    /// Arguments of schema type `Scalar` whose value is part of the key (so the rule may branch on it). The others
    /// are run-time operands.
    pub stat: &'static [&'static str],
    /// Arguments of schema type `float` that are run-time operands (a learning rate). The others are in the key.
    pub dynamic: &'static [&'static str],
    /// Arguments whose channels-last order new results of their rank take over, and for which element types and
    /// ranks they do; beyond what [`Row::infer`] says.
    pub format: Option<Format>,
    /// Arguments of type `Scalar` of which only the values 0 and 1 are in the key, others run-time operands (`alpha`).
    pub unit: &'static [&'static str],
    /// Which element types `out=` arguments may have.
    pub out_types: OutTypes,
    /// What PyTorch's CPU kernel refuses before its meta kernel is asked, whose message is another.
    pub check: Option<Check>,
    /// Arguments of type `Scalar` that must fit the result's element type, where the rule computes in a wider one. The
    /// others must fit the type they are carried in, but for those that PyTorch makes a tensor of (`other`, `self`).
    pub narrow: &'static [&'static str],
    /// More arguments that PyTorch makes a tensor of: of these any number will do.
    pub free: &'static [&'static str],
}

/// See [`Row::format`].
#[derive(Clone, Copy)]
pub struct Format {
    /// Positions of the arguments.
    pub args: &'static [usize],
    /// Whether results of an element type and rank do.
    pub holds: fn(DType, usize) -> bool,
}

impl Row {
    /// A row with the common settings.
    pub const fn new(op: &'static str, rule: fn(&mut Ctx) -> Result<Outcome, LowerError>) -> Row {
        Row {
            op,
            rule,
            infer: Infer::Meta,
            stat: &[],
            dynamic: &[],
            unit: &[],
            format: None,
            out_types: OutTypes::Meta,
            check: None,
            narrow: &[],
            free: &["other", "self"],
        }
    }
    /// Output types come from the rule.
    pub const fn infer_by_rule(mut self) -> Row {
        self.infer = Infer::Rule;
        self
    }
    /// `out=` arguments must have the results' element types, as PyTorch's kernel does not convert.
    pub const fn exact(self) -> Row {
        self.exact_as("Expected out tensor to have dtype {want_cpp}, but got {got_cpp} instead")
    }
    /// As [`Row::exact`], with another message: see [`OutTypes::Exact`].
    pub const fn exact_as(mut self, message: &'static str) -> Row {
        self.out_types = OutTypes::Exact(message);
        self
    }
    /// Sets [`Row::check`].
    pub const fn check(mut self, check: fn(&Ctx) -> Result<(), LowerError>) -> Row {
        self.check = Some(check);
        self
    }
    /// `out=` arguments may have the types that results can be cast to, whatever the meta kernel says.
    pub const fn castable(mut self) -> Row {
        self.out_types = OutTypes::Castable;
        self
    }
    /// `out=` arguments may have any element type.
    pub const fn any_out(mut self) -> Row {
        self.out_types = OutTypes::Any;
        self
    }
    /// Sets [`Row::stat`].
    pub const fn stat(mut self, args: &'static [&'static str]) -> Row {
        self.stat = args;
        self
    }
    /// Sets [`Row::dynamic`].
    pub const fn dynamic(mut self, args: &'static [&'static str]) -> Row {
        self.dynamic = args;
        self
    }
    /// Sets [`Row::format`].
    pub const fn format(mut self, args: &'static [usize], holds: fn(DType, usize) -> bool) -> Row {
        self.format = Some(Format { args, holds });
        self
    }
    /// Sets [`Row::unit`].
    pub const fn unit(mut self, args: &'static [&'static str]) -> Row {
        self.unit = args;
        self
    }
    /// Sets [`Row::narrow`].
    pub const fn narrow(mut self, args: &'static [&'static str]) -> Row {
        self.narrow = args;
        self
    }
    /// Sets [`Row::free`].
    pub const fn free(mut self, args: &'static [&'static str]) -> Row {
        self.free = args;
        self
    }
}
