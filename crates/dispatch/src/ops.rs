//! Declared operators: a row of the lowering table bound to one overload's schema.

use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};

use tnrs_lowering::{table, Row};

/// Type of an argument in the schema, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "named after the schema types")]
pub enum ArgKind {
    Tensor,
    TensorList,
    Scalar,
    Float,
    Int,
    Bool,
    DType,
    IntList,
    Generator,
    Other,
    ScalarList,
}

impl ArgKind {
    /// From the C ABI's number.
    pub fn from_code(code: u8) -> ArgKind {
        use ArgKind::*;
        [Tensor, TensorList, Scalar, Float, Int, Bool, DType, IntList, Generator, Other, ScalarList]
            .get(code as usize)
            .copied()
            .unwrap_or(Other)
    }
}

/// How an overload relates to its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// It is the row's own overload.
    Own,
    /// Its first argument is written with the row's result.
    InPlace,
    /// Its `out=` arguments are written with the row's results.
    Out,
}

/// An overload's schema.
#[derive(Clone, Debug)]
pub struct Schema {
    /// Full name, such as `aten::add.out`.
    pub name: String,
    /// Type per argument.
    pub kinds: Vec<ArgKind>,
    /// Whether the schema says that the argument is written.
    pub writes: Vec<bool>,
    /// Whether the argument is an `out=` argument.
    pub out_args: Vec<bool>,
    /// Name per argument.
    pub arg_names: Vec<String>,
    /// Whether each return aliases an argument.
    pub ret_aliases: Vec<bool>,
}

/// How a numeric argument enters the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Policy {
    /// By value.
    Static,
    /// By class only; the value is an operand.
    Operand,
    /// By value for 0 and 1, by class otherwise.
    Unit,
}

/// A declared operator.
pub(crate) struct OpState {
    pub id: u32,
    pub row: &'static Row,
    pub variant: Variant,
    pub schema: Schema,
    pub policies: Vec<Policy>,
    pub has_writes: bool,
    /// Host tensors of any rank may take part (copies).
    pub host_tensors: bool,
    pub executed: AtomicU64,
}

/// More overloads than the lowering table can yield; the table is a flat array so that a call reads it without a lock.
pub(crate) const CAPACITY: usize = 8192;
static TABLE: [AtomicPtr<OpState>; CAPACITY] = [const { AtomicPtr::new(std::ptr::null_mut()) }; CAPACITY];
static COUNT: Mutex<u32> = Mutex::new(0);

pub(crate) fn rows() -> &'static [&'static Row] {
    static ROWS: OnceLock<Vec<&'static Row>> = OnceLock::new();
    ROWS.get_or_init(table)
}

/// Number of rows in the lowering table.
pub fn row_count() -> usize {
    rows().len()
}

/// Full overload name of a row.
pub fn row_name(row: usize) -> &'static str {
    rows()[row].op
}

/// Declares an overload; the id is what [`crate::call()`] takes. Called once per overload, at registration.
pub fn declare(row: usize, variant: Variant, schema: Schema) -> u32 {
    // A row may itself be an `out=` overload (`aten::arange.start_out`).
    let variant = if schema.out_args.iter().any(|&o| o) { Variant::Out } else { variant };
    make(rows()[row], variant, schema, false).id
}

pub(crate) fn make(
    row: &'static Row,
    variant: Variant,
    schema: Schema,
    host_tensors: bool,
) -> &'static OpState {
    let policies = schema
        .kinds
        .iter()
        .zip(&schema.arg_names)
        .map(|(kind, name)| {
            let named = |list: &[&str]| list.contains(&name.as_str());
            match kind {
                ArgKind::Scalar | ArgKind::ScalarList if named(row.stat) => Policy::Static,
                ArgKind::Scalar | ArgKind::ScalarList if named(row.unit) => Policy::Unit,
                ArgKind::Scalar | ArgKind::ScalarList => Policy::Operand,
                ArgKind::Float if named(row.dynamic) => Policy::Operand,
                _ => Policy::Static,
            }
        })
        .collect();
    let has_writes = schema.writes.iter().any(|&w| w);
    let mut count = COUNT.lock().expect("operator table poisoned");
    let id = *count;
    assert!((id as usize) < CAPACITY, "more than {CAPACITY} operator overloads");
    // Operators live as long as the process, like the registrations that name them.
    let op: &'static OpState = Box::leak(Box::new(OpState {
        id,
        row,
        variant,
        schema,
        policies,
        has_writes,
        host_tensors,
        executed: AtomicU64::new(0),
    }));
    TABLE[id as usize].store(std::ptr::from_ref(op).cast_mut(), Ordering::Release);
    *count += 1;
    op
}

/// The operator with this id.
#[inline]
pub(crate) fn op(id: u32) -> &'static OpState {
    let op = TABLE[id as usize].load(Ordering::Acquire);
    assert!(!op.is_null(), "operator {id} was not declared");
    // SAFETY: entries are set once, from leaked boxes.
    unsafe { &*op }
}

pub(crate) fn all() -> Vec<&'static OpState> {
    (0..*COUNT.lock().expect("operator table poisoned")).map(op).collect()
}
