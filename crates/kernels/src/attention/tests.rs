//! Blocked attention on every instruction set against the f64 definition, and that one's gradients against
//! differences.

use crate::testing::{decode, encode};
use proptest::prelude::*;
use tnrs_types::DType;

use super::{backward, forward, plain, AttentionDesc, BackwardDesc, BackwardPtrs, ForwardPtrs, Strides4};
use crate::gemm::kernel::Core;
use crate::isa::Isa;
use crate::pool::Pool;

/// Absolute error allowed for operands in [-1, 1): results are means of values, gradients sums of a few.
fn tolerance(dtype: DType) -> f64 {
    match dtype {
        DType::F32 => 1e-5,
        DType::F16 => 1e-2,
        _ => 6e-2,
    }
}

#[derive(Clone, Copy, Debug)]
struct Sizes {
    batch: usize,
    heads: usize,
    kv_heads: usize,
    queries: usize,
    keys: usize,
    dim: usize,
    value: usize,
}

/// (B, T, H, D) memory seen as (B, H, T, D).
fn turned(heads: usize, rows: usize, dim: usize) -> Strides4 {
    Strides4 { b: (rows * heads * dim) as isize, h: dim as isize, r: (heads * dim) as isize, d: 1 }
}

fn dense(heads: usize, rows: usize, dim: usize) -> Strides4 {
    Strides4 { b: (heads * rows * dim) as isize, h: (rows * dim) as isize, r: dim as isize, d: 1 }
}

fn random(n: usize, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (0..n)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 40) as f64 / (1u64 << 23) as f64 - 1.0
        })
        .collect()
}

/// Operands in f64 (already rounded to the type under test), and what is to be computed.
struct Case {
    desc: BackwardDesc,
    q: Vec<f64>,
    k: Vec<f64>,
    v: Vec<f64>,
    dout: Vec<f64>,
    bias: Vec<f64>,
}

/// out, lse, dq, dk, dv, dbias.
type Results = [Vec<f64>; 6];

impl Case {
    fn new(dtype: DType, s: Sizes, causal: bool, bias: usize, dropout: f64) -> Case {
        let Sizes { batch, heads, kv_heads, queries, keys, dim, value } = s;
        let q = turned(heads, queries, dim);
        let forward = AttentionDesc {
            dtype,
            batch,
            heads,
            kv_heads,
            queries,
            keys,
            head_dim: dim,
            value_dim: value,
            q,
            k: turned(kv_heads, keys, dim),
            v: turned(kv_heads, keys, value),
            out: turned(heads, queries, value),
            scale: 1.0 / (dim as f64).sqrt(),
            causal,
            bias: match bias {
                0 => None,
                1 => Some((DType::F32, dense(heads, queries, keys))),
                _ => Some((DType::F32, Strides4 { b: keys as isize, h: 0, r: 0, d: 1 })),
            },
            dropout,
        };
        let desc = BackwardDesc {
            dout: dense(heads, queries, value),
            dq: dense(heads, queries, dim),
            dk: turned(kv_heads, keys, dim),
            dv: dense(kv_heads, keys, value),
            dbias: (bias != 0).then(|| (DType::F32, dense(heads, queries, keys))),
            forward,
        };
        let round = |n, seed| decode(dtype, &encode(dtype, &random(n, seed)));
        let mut biases = decode(DType::F32, &encode(DType::F32, &random(batch * heads * queries * keys, 5)));
        // A whole row masked by the bias, and scattered places.
        for (i, b) in biases.iter_mut().enumerate() {
            if (bias == 1 && i / keys % queries == 1) || i % 7 == 3 {
                *b = f64::NEG_INFINITY;
            }
        }
        Case {
            q: round(batch * heads * queries * dim, 1),
            k: round(batch * kv_heads * keys * dim, 2),
            v: round(batch * kv_heads * keys * value, 3),
            dout: round(batch * heads * queries * value, 4),
            bias: biases,
            desc,
        }
    }

    /// Runs forward and backward in `dtype`: the definition for F64, else the blocked form.
    fn run(&self, pool: &Pool, core: Option<&Core>) -> Results {
        let dtype = core.map_or(DType::F64, |c| c.dtype);
        let stats = if dtype == DType::F64 { DType::F64 } else { DType::F32 };
        let mut desc = self.desc.clone();
        desc.forward.dtype = dtype;
        let d = &desc.forward;
        let bias_type = if dtype == DType::F64 { DType::F64 } else { DType::F32 };
        let desc = BackwardDesc {
            dbias: desc.dbias.map(|(_, s)| (bias_type, s)),
            forward: AttentionDesc { bias: d.bias.map(|(_, s)| (bias_type, s)), ..d.clone() },
            ..desc
        };
        let d = &desc.forward;
        let rows = d.batch * d.heads * d.queries;
        let [q, k, v, dout] = [&self.q, &self.k, &self.v, &self.dout].map(|x| encode(dtype, x));
        let bias = encode(bias_type, &self.bias);
        let space = |n: usize, t: DType| encode(t, &vec![f64::NAN; n]);
        let mut out = space(rows * d.value_dim, dtype);
        let mut lse = space(rows, stats);
        let mut dq = space(self.q.len(), dtype);
        let mut dk = space(self.k.len(), dtype);
        let mut dv = space(self.v.len(), dtype);
        let mut dbias = space(self.bias.len(), bias_type);
        let ptrs = BackwardPtrs {
            forward: ForwardPtrs {
                q: q.as_ptr(),
                k: k.as_ptr(),
                v: v.as_ptr(),
                bias: bias.as_ptr(),
                out: out.as_mut_ptr(),
                lse: lse.as_mut_ptr(),
                seed: 0x1234_5678_9abc,
                offset: 77,
            },
            dout: dout.as_ptr(),
            dq: dq.as_mut_ptr(),
            dk: dk.as_mut_ptr(),
            dv: dv.as_mut_ptr(),
            dbias: dbias.as_mut_ptr(),
        };
        // SAFETY: the buffers have the sizes that the strides reach.
        unsafe {
            match core {
                Some(core) => {
                    forward::run(pool, core, d, &ptrs.forward);
                    backward::run(pool, core, &desc, &ptrs);
                }
                None => {
                    plain::forward(pool, d, &ptrs.forward);
                    plain::backward(pool, &desc, &ptrs);
                }
            }
        }
        [
            decode(dtype, &out),
            decode(stats, &lse),
            decode(dtype, &dq),
            decode(dtype, &dk),
            decode(dtype, &dv),
            if desc.dbias.is_some() { decode(bias_type, &dbias) } else { Vec::new() },
        ]
    }

    /// Compares the blocked form with the definition.
    fn check(&self, core: &Core, threads: usize) {
        let pool = Pool::new(threads);
        let (got, want) = (self.run(&pool, Some(core)), self.run(&pool, None));
        let names = ["out", "lse", "dq", "dk", "dv", "dbias"];
        for ((name, got), want) in names.iter().zip(&got).zip(&want) {
            for (i, (&g, &w)) in got.iter().zip(want).enumerate() {
                let bound = tolerance(core.dtype) * (1.0 + w.abs());
                assert!(
                    (g - w).abs() <= bound || g == w,
                    "{name}[{i}]: {g} {w} on {:?} {:?}",
                    core.isa,
                    self.desc
                );
            }
        }
    }
}

fn cores() -> Vec<Core> {
    let mut cores = Vec::new();
    for isa in Isa::available() {
        for dtype in [DType::F32, DType::BF16, DType::F16] {
            cores.push(Core::new(isa, dtype, true));
        }
        cores.push(Core::new(isa, DType::BF16, false));
    }
    cores
}

fn sizes(queries: usize, keys: usize, dim: usize, value: usize) -> Sizes {
    Sizes { batch: 2, heads: 2, kv_heads: 1, queries, keys, dim, value }
}

#[test]
fn several_blocks_of_queries_and_keys() {
    for core in cores() {
        for causal in [false, true] {
            Case::new(core.dtype, sizes(300, 530, 16, 24), causal, 0, 0.0).check(&core, 2);
        }
        Case::new(core.dtype, sizes(301, 257, 17, 5), true, 1, 0.3).check(&core, 1);
    }
}

#[test]
fn definition_has_the_gradients_of_its_differences() {
    let s = Sizes { batch: 1, heads: 2, kv_heads: 1, queries: 4, keys: 5, dim: 3, value: 2 };
    let case = Case::new(DType::F64, s, false, 2, 0.25);
    let pool = Pool::new(1);
    let loss = |c: &Case| -> f64 {
        let out = &c.run(&pool, None)[0];
        let d = &c.desc.forward;
        // dout is dense (B,H,M,Dv), out lies as (B,M,H,Dv).
        let mut sum = 0.0;
        for h in 0..d.heads {
            for i in 0..d.queries {
                for e in 0..d.value_dim {
                    let o = out[(i * d.heads + h) * d.value_dim + e];
                    sum += o * c.dout[(h * d.queries + i) * d.value_dim + e];
                }
            }
        }
        sum
    };
    let results = case.run(&pool, None);
    let step = 1e-5;
    type Field = fn(&mut Case) -> &mut Vec<f64>;
    let fields: [(Field, &Vec<f64>, Strides4, Strides4); 3] = [
        (|c| &mut c.q, &results[2], case.desc.forward.q, case.desc.dq),
        (|c| &mut c.k, &results[3], case.desc.forward.k, case.desc.dk),
        (|c| &mut c.v, &results[4], case.desc.forward.v, case.desc.dv),
    ];
    for (n, (field, grad, from, to)) in fields.into_iter().enumerate() {
        let (heads, rows, dims) = [(2, 4, 3), (1, 5, 3), (1, 5, 2)][n];
        for (h, r, d) in (0..heads * rows * dims).map(|i| (i / (rows * dims), i / dims % rows, i % dims)) {
            let place = |s: &Strides4| h * s.h as usize + r * s.r as usize + d * s.d as usize;
            let mut moved = Case::new(DType::F64, s, false, 2, 0.25);
            field(&mut moved)[place(&from)] += step;
            let up = loss(&moved);
            field(&mut moved)[place(&from)] -= 2.0 * step;
            let slope = (up - loss(&moved)) / (2.0 * step);
            assert!((slope - grad[place(&to)]).abs() < 1e-6, "operand {n} {h} {r} {d}");
        }
    }
}

#[test]
fn gradients_do_not_depend_on_threads() {
    let core = Core::new(crate::isa::current(), DType::F32, true);
    let case = Case::new(DType::F32, sizes(140, 150, 32, 32), true, 0, 0.1);
    let one = case.run(&Pool::new(1), Some(&core));
    let four = case.run(&Pool::new(4), Some(&core));
    assert_eq!(one, four);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, failure_persistence: None, ..Default::default() })]
    #[test]
    fn any_case(
        which in 0..cores().len(),
        batch in 1usize..3,
        (kv_heads, group) in (1usize..3, 1usize..3),
        (queries, keys) in (1usize..80, 1usize..90),
        (dim, value) in (1usize..40, 1usize..40),
        causal in any::<bool>(),
        bias in 0usize..3,
        dropout in prop::sample::select(vec![0.0, 0.4]),
    ) {
        let s = Sizes { batch, heads: kv_heads * group, kv_heads, queries, keys, dim, value };
        let core = cores()[which];
        Case::new(core.dtype, s, causal, bias, dropout).check(&core, 2);
    }
}
