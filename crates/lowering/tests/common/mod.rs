#![allow(dead_code, reason = "each test file uses a part")]
//! Runs one row on the reference interpreter.

use std::collections::BTreeMap;
use std::sync::Arc;

use tnrs_hlo::{try_interpret, verify, Builder, Fault, Literal, Op, TensorType, Value};
use tnrs_lowering::{table, Arg, Ctx, Ret, Row, ScalarArg, Source};
use tnrs_types::{DType, Scalar};

/// A call of one overload, built argument by argument.
pub struct Call {
    row: &'static Row,
    cx: Ctx,
    tensors: BTreeMap<(usize, usize), Literal>,
    scalars: BTreeMap<(usize, usize), Scalar>,
}

/// An index tensor: element type, sizes, elements.
pub type Index<'a> = Option<(DType, &'a [i64], &'a [f64])>;

/// What a rule returned and wrote, as numbers.
pub struct Results {
    /// Every return as the rule gave it.
    pub returns: Vec<Ret>,
    /// The tensors among them.
    pub rets: Vec<Vec<f64>>,
    /// Argument, element of the list, new value.
    pub writes: Vec<(usize, usize, Vec<f64>)>,
}

pub fn literal(dtype: DType, dims: &[i64], values: &[f64]) -> Literal {
    let mut bytes = Vec::new();
    for &v in values {
        match dtype {
            DType::Bool => bytes.push(u8::from(v != 0.0)),
            DType::I32 => bytes.extend((v as i32).to_ne_bytes()),
            DType::I64 => bytes.extend((v as i64).to_ne_bytes()),
            DType::F32 => bytes.extend((v as f32).to_ne_bytes()),
            DType::F64 => bytes.extend(v.to_ne_bytes()),
            // Exact for the values that the tests use: the low half of the f32 is zero.
            DType::BF16 => bytes.extend(((((v as f32).to_bits()) >> 16) as u16).to_ne_bytes()),
            other => panic!("no literal of {other:?}"),
        }
    }
    Literal::Dense(TensorType::new(dtype, dims), Arc::from(bytes))
}

pub fn numbers(l: &Literal) -> Vec<f64> {
    let (ty, bytes) = match l {
        Literal::Dense(ty, bytes) => (ty, bytes),
        Literal::Splat(ty, s) => return vec![s.to_f64(); ty.numel() as usize],
    };
    let read = |c: &[u8]| match ty.dtype {
        DType::Bool => f64::from(c[0]),
        DType::I32 => f64::from(i32::from_ne_bytes(c.try_into().unwrap())),
        DType::I64 => i64::from_ne_bytes(c.try_into().unwrap()) as f64,
        DType::F32 => f64::from(f32::from_ne_bytes(c.try_into().unwrap())),
        DType::F64 => f64::from_ne_bytes(c.try_into().unwrap()),
        DType::BF16 => f64::from(f32::from_bits(u32::from(u16::from_ne_bytes(c.try_into().unwrap())) << 16)),
        other => panic!("no numbers of {other:?}"),
    };
    bytes.chunks(ty.dtype.size()).map(read).collect()
}

impl Call {
    pub fn new(op: &str) -> Self {
        let row = table().into_iter().find(|r| r.op == op).unwrap_or_else(|| panic!("no row {op}"));
        Call {
            row,
            cx: Ctx::new(row.op, Builder::new(row.op)),
            tensors: BTreeMap::new(),
            scalars: BTreeMap::new(),
        }
    }
    pub fn tensor(mut self, dtype: DType, dims: &[i64], values: &[f64]) -> Self {
        let i = self.cx.args.len();
        let t = self.cx.tensor_param(i, 0, TensorType::new(dtype, dims), false);
        self.tensors.insert((i, 0), literal(dtype, dims, values));
        self.cx.args.push(Arg::Tensor(t));
        self
    }
    pub fn f32(self, dims: &[i64], values: &[f64]) -> Self {
        self.tensor(DType::F32, dims, values)
    }
    pub fn list(mut self, tensors: &[(DType, &[i64], &[f64])]) -> Self {
        let i = self.cx.args.len();
        let mut list = Vec::new();
        for (k, (dtype, dims, values)) in tensors.iter().enumerate() {
            list.push(Some(self.cx.tensor_param(i, k, TensorType::new(*dtype, dims), false)));
            self.tensors.insert((i, k), literal(*dtype, dims, values));
        }
        self.cx.args.push(Arg::Tensors(list));
        self
    }
    /// A run-time number.
    pub fn scalar(self, v: Scalar) -> Self {
        self.number(v, None)
    }
    /// A number in the key.
    pub fn known(self, v: Scalar) -> Self {
        self.number(v, Some(v))
    }
    fn number(mut self, v: Scalar, known: Option<Scalar>) -> Self {
        let index = self.cx.args.len();
        self.scalars.insert((index, 0), v);
        self.cx.args.push(Arg::Scalar(ScalarArg { index, known, natural: v.natural_dtype() }));
        self
    }
    pub fn arg(mut self, a: Arg) -> Self {
        self.cx.args.push(a);
        self
    }
    /// A list of index tensors, some absent.
    pub fn indices(mut self, tensors: &[Index]) -> Self {
        let i = self.cx.args.len();
        let mut list = Vec::new();
        for (k, t) in tensors.iter().enumerate() {
            list.push(t.map(|(dtype, dims, values)| {
                self.tensors.insert((i, k), literal(dtype, dims, values));
                self.cx.tensor_param(i, k, TensorType::new(dtype, dims), false)
            }));
        }
        self.cx.args.push(Arg::Tensors(list));
        self
    }
    pub fn ints(self, list: &[i64]) -> Self {
        self.arg(Arg::Ints(list.into()))
    }
    pub fn int(self, v: i64) -> Self {
        self.arg(Arg::Int(v))
    }
    pub fn flag(self, v: bool) -> Self {
        self.arg(Arg::Bool(v))
    }
    pub fn none(self) -> Self {
        self.arg(Arg::None)
    }
    /// Runs the rule; `outs` are the types that PyTorch's meta kernel would give.
    pub fn run(self, outs: &[(DType, &[i64])]) -> Results {
        self.try_run(outs).unwrap_or_else(|fault| panic!("{fault}"))
    }
    /// As `run`, where the data may be illegal.
    pub fn try_run(mut self, outs: &[(DType, &[i64])]) -> Result<Results, Fault> {
        self.cx.outs = outs.iter().map(|(d, s)| TensorType::new(*d, s)).collect();
        let outcome = (self.row.rule)(&mut self.cx).unwrap_or_else(|e| panic!("{e}"));
        let mut values: Vec<Value> = Vec::new();
        for r in &outcome.rets {
            match r {
                Ret::Tensor(v) | Ret::Bounded { value: v, .. } => values.push(*v),
                Ret::List(vs) => values.extend(vs),
                Ret::Undefined | Ret::Int(_) => {}
            }
        }
        let rets = values.len();
        values.extend(outcome.writes.iter().map(|w| w.2));
        let sources = self.cx.sources;
        let func = self.cx.b.finish(&values);
        verify(&func).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(sources.len(), func.params.len());
        let args: Vec<Literal> = sources
            .iter()
            .zip(&func.params)
            .map(|(s, p)| match s {
                Source::Tensor(a, e) => self.tensors[&(*a, *e)].clone(),
                Source::Scalar(a, e) => Literal::Splat(func.ty(*p).clone(), self.scalars[&(*a, *e)]),
                Source::Seed => Literal::Splat(func.ty(*p).clone(), Scalar::Int(1234)),
                Source::Offset => Literal::Splat(func.ty(*p).clone(), Scalar::Int(0)),
            })
            .collect();
        let got = try_interpret(&func, &args)?;
        for (g, (d, s)) in got.iter().zip(outs) {
            assert_eq!(*g.ty(), TensorType::new(*d, s));
        }
        let all: Vec<Vec<f64>> = got.iter().map(numbers).collect();
        Ok(Results {
            rets: all[..rets].to_vec(),
            writes: outcome.writes.iter().zip(&all[rets..]).map(|(w, v)| (w.0, w.1, v.clone())).collect(),
            returns: outcome.rets,
        })
    }
    /// The instructions that the rule emits.
    pub fn ops(mut self, outs: &[(DType, &[i64])]) -> Vec<Op> {
        self.cx.outs = outs.iter().map(|(d, s)| TensorType::new(*d, s)).collect();
        (self.row.rule)(&mut self.cx).unwrap_or_else(|e| panic!("{e}"));
        self.cx.b.finish(&[]).instrs.into_iter().map(|i| i.op).collect()
    }
    /// The only result of a call whose result has this type.
    pub fn one(self, dtype: DType, dims: &[i64]) -> Vec<f64> {
        self.run(&[(dtype, dims)]).rets.remove(0)
    }
}

/// Relative tolerance of each element type, with the same absolute one.
fn tolerance(dtype: DType) -> f64 {
    match dtype {
        DType::F64 => 1e-12,
        DType::F32 => 1e-6,
        DType::BF16 => 8e-3,
        _ => 0.0,
    }
}

pub fn assert_close(dtype: DType, got: &[f64], want: &[f64]) {
    let t = tolerance(dtype);
    assert_eq!(got.len(), want.len(), "got {got:?}, want {want:?}");
    for (g, w) in got.iter().zip(want) {
        let same = g == w || (g.is_nan() && w.is_nan()) || (g - w).abs() <= t + t * w.abs();
        assert!(same, "got {got:?}, want {want:?}");
    }
}
