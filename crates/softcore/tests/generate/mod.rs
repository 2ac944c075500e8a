//! Random functions, arguments and layouts.
#![allow(dead_code, reason = "each test binary uses a part")]

mod ops;

use tnrs_hlo::{Builder, Func, Literal, TensorType, Value};
use tnrs_softcore::{CompileSpec, ParamSpec, ResultSpec};
use tnrs_types::{contiguous_strides, DType, Dims, Scalar};

/// A xorshift generator: the same programs on every machine.
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Self {
        Rng(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0xD1B5_4A32_D192_ED03)
    }
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 16
    }
    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
    pub fn chance(&mut self, one_in: usize) -> bool {
        self.below(one_in) == 0
    }
    pub fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())].clone()
    }
}

const SIZES: &[i64] = &[1, 1, 2, 3, 4, 5, 8, 17, 33, 70];
const TYPES: &[DType] = &[
    DType::F32,
    DType::F32,
    DType::F32,
    DType::BF16,
    DType::F16,
    DType::F64,
    DType::I32,
    DType::I64,
    DType::U8,
    DType::Bool,
    DType::C64,
    DType::I8,
    DType::U32,
    DType::F8E4M3FN,
    DType::F8E5M2,
];

/// Sizes of at most 3000 elements.
pub fn sizes(rng: &mut Rng) -> Dims {
    loop {
        let rank = rng.below(5);
        let dims: Dims = (0..rank).map(|_| if rng.chance(60) { 0 } else { rng.pick(SIZES) }).collect();
        if tnrs_types::numel(&dims) <= 3000 {
            return dims;
        }
    }
}

/// A value during generation.
#[derive(Clone)]
pub struct Made {
    pub value: Value,
    pub ty: TensorType,
    /// Every executor gives these bits: no transcendental function, no sum of floats.
    pub exact: bool,
}

/// A function of about `instructions` instructions, and for each result whether it has to be exact.
pub fn program(rng: &mut Rng, instructions: usize) -> (Func, Vec<bool>) {
    let mut b = Builder::new("random");
    let mut made: Vec<Made> = Vec::new();
    let common = sizes(rng);
    let dtype = rng.pick(TYPES);
    for _ in 0..2 + rng.below(3) {
        let dims = if rng.chance(3) { sizes(rng) } else { common.clone() };
        let d = if rng.chance(3) { rng.pick(TYPES) } else { dtype };
        let ty = TensorType::new(d, &dims);
        made.push(Made { value: b.param(ty.clone()), ty, exact: true });
    }
    let mut done = 0;
    for _ in 0..instructions * 60 {
        if done == instructions {
            break;
        }
        let before = made.len();
        ops::add(rng, &mut b, &mut made);
        done += usize::from(made.len() > before);
    }
    // The last value and a few others are results.
    let mut results = vec![made.last().cloned().expect("there are parameters")];
    for m in &made {
        if rng.chance(instructions + 1) && results.len() < 4 {
            results.push(m.clone());
        }
    }
    let values: Vec<Value> = results.iter().map(|m| m.value).collect();
    (b.finish(&values), results.iter().map(|m| m.exact).collect())
}

pub fn number(rng: &mut Rng, dtype: DType) -> Scalar {
    let small = rng.below(4001) as f64 / 1000.0 - 2.0;
    match dtype {
        DType::Bool => Scalar::Bool(rng.chance(2)),
        d if d.is_complex() => Scalar::Complex(small, rng.below(4001) as f64 / 1000.0 - 2.0),
        d if d.is_float() => Scalar::Float(if rng.chance(40) {
            rng.pick(&[0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY])
        } else {
            small
        }),
        d if d.is_unsigned() => Scalar::Int(rng.below(7) as i64),
        _ => Scalar::Int(rng.below(11) as i64 - 5),
    }
}

pub fn arguments(rng: &mut Rng, f: &Func) -> Vec<Literal> {
    f.params
        .iter()
        .map(|&p| {
            let ty = f.ty(p);
            let n: Vec<Scalar> = (0..ty.numel()).map(|_| number(rng, ty.dtype)).collect();
            Literal::from_scalars(ty, &n).expect("as many numbers as elements")
        })
        .collect()
}

/// Strides of a random layout: dense, permuted, with gaps, or (for parameters) with repeated elements.
pub fn layout(rng: &mut Rng, dims: &[i64], repeats: bool) -> Dims {
    let rank = dims.len();
    let mut order: Vec<usize> = (0..rank).collect();
    if rng.chance(3) {
        for i in (1..rank).rev() {
            order.swap(i, rng.below(i + 1));
        }
    } else if !rng.chance(3) {
        return contiguous_strides(dims);
    }
    let mut strides = Dims::from_elem(0, rank);
    let mut step = if rng.chance(4) { 2 } else { 1 };
    for &d in order.iter().rev() {
        if repeats && rng.chance(5) {
            continue;
        }
        strides[d] = step;
        step *= dims[d].max(1) + i64::from(rng.chance(5));
    }
    strides
}

pub fn specification(rng: &mut Rng, f: &Func) -> CompileSpec {
    let params: Vec<ParamSpec> = f
        .params
        .iter()
        .map(|&p| {
            let ty = f.ty(p);
            if ty.rank() == 0 && rng.chance(2) {
                ParamSpec::Scalar
            } else {
                ParamSpec::Tensor { strides: layout(rng, &ty.dims, true) }
            }
        })
        .collect();
    let mut free: Vec<usize> = (0..params.len()).collect();
    let mut overlapped = false;
    let results = f
        .results
        .iter()
        .map(|&v| {
            let ty = f.ty(v);
            let alias = free.iter().copied().find(|&p| {
                let injective = |s: &Dims| ty.dims.iter().zip(s).all(|(&d, &s)| d <= 1 || s != 0);
                !overlapped
                    && f.ty(f.params[p]) == ty
                    && matches!(&params[p], ParamSpec::Tensor { strides } if injective(strides))
            });
            if let (Some(p), true) = (alias, rng.chance(2)) {
                free.retain(|&q| q != p);
                let ParamSpec::Tensor { strides } = &params[p] else {
                    unreachable!("an aliased parameter is a tensor")
                };
                return ResultSpec { strides: strides.clone(), alias: Some(p), overlap: rng.chance(4) };
            }
            let overlap = f.results.len() == 1 && rng.chance(4);
            overlapped |= overlap;
            ResultSpec { strides: layout(rng, &ty.dims, false), alias: None, overlap }
        })
        .collect();
    CompileSpec { params, results }
}
