//! Products against a triple loop in f64, on every instruction set.

use half::{bf16, f16};
use proptest::prelude::*;
use tnrs_types::{DType, Dims};

use super::kernel::Core;
use super::{gemm_with, Activation, Bias, GemmDesc, GemmPtrs, MatStrides, Residual};
use crate::isa::Isa;
use crate::pool::Pool;

/// Relative error allowed per unit of `|A|·|B|`: one rounding of C, and accumulation in the type's opmath.
fn tolerance(out: DType) -> f64 {
    match out {
        DType::F64 | DType::C128 => 1e-14,
        DType::F32 | DType::C64 => 2e-6,
        DType::BF16 => 4e-3,
        DType::F16 => 6e-4,
        _ => 0.0,
    }
}

fn write(dtype: DType, p: &mut [u8], i: usize, x: f64) {
    let at = i * dtype.size();
    match dtype {
        DType::F64 => p[at..at + 8].copy_from_slice(&x.to_ne_bytes()),
        DType::F32 => p[at..at + 4].copy_from_slice(&(x as f32).to_ne_bytes()),
        DType::BF16 => p[at..at + 2].copy_from_slice(&bf16::from_f64(x).to_ne_bytes()),
        DType::F16 => p[at..at + 2].copy_from_slice(&f16::from_f64(x).to_ne_bytes()),
        DType::C64 => p[at..at + 4].copy_from_slice(&(x as f32).to_ne_bytes()),
        DType::C128 => p[at..at + 8].copy_from_slice(&x.to_ne_bytes()),
        DType::I32 => p[at..at + 4].copy_from_slice(&(x as i32).to_ne_bytes()),
        DType::I64 => p[at..at + 8].copy_from_slice(&(x as i64).to_ne_bytes()),
        DType::U8 => p[at] = x as i64 as u8,
        other => panic!("{other:?}"),
    }
}

fn read(dtype: DType, p: &[u8], i: usize) -> f64 {
    let at = i * dtype.size();
    let b = &p[at..at + dtype.size()];
    match dtype {
        DType::F64 => f64::from_ne_bytes(b.try_into().unwrap()),
        DType::F32 => f32::from_ne_bytes(b.try_into().unwrap()).into(),
        DType::BF16 => bf16::from_ne_bytes(b.try_into().unwrap()).into(),
        DType::F16 => f16::from_ne_bytes(b.try_into().unwrap()).into(),
        DType::C64 => f32::from_ne_bytes(b[..4].try_into().unwrap()).into(),
        DType::C128 => f64::from_ne_bytes(b[..8].try_into().unwrap()),
        DType::I32 => i32::from_ne_bytes(b.try_into().unwrap()).into(),
        DType::I64 => i64::from_ne_bytes(b.try_into().unwrap()) as f64,
        DType::U8 => b[0].into(),
        other => panic!("{other:?}"),
    }
}

/// A buffer for a strided matrix batch, filled with small pseudo-random numbers.
fn filled(dtype: DType, s: &MatStrides, rows: usize, cols: usize, batch: &[i64], seed: u64) -> Vec<u8> {
    let reach = |n: usize, s: isize| (n.max(1) - 1) * s as usize;
    let mut last = reach(rows, s.row) + reach(cols, s.col);
    for (&n, &s) in batch.iter().zip(&s.batch) {
        last += reach(n as usize, s as isize);
    }
    let mut bytes = vec![0u8; (last + 1) * dtype.size()];
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    for i in 0..=last {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let x = if dtype.is_float() || dtype.is_complex() {
            (state >> 40) as f64 / (1u64 << 23) as f64 - 1.0
        } else {
            ((state >> 40) % 15) as f64 - 7.0
        };
        write(dtype, &mut bytes, i, x);
    }
    bytes
}

fn index(s: &MatStrides, i: usize, j: usize, batch: &[usize]) -> usize {
    let b: isize = batch.iter().zip(&s.batch).map(|(&i, &s)| i as isize * s as isize).sum();
    (b + i as isize * s.row + j as isize * s.col) as usize
}

/// The textbook function in f64; erf by its Maclaurin series.
fn activate(a: Activation, x: f64) -> f64 {
    match a {
        Activation::None => x,
        Activation::Relu => x.max(0.0),
        Activation::Silu => x / (1.0 + (-x).exp()),
        Activation::GeluTanh => {
            let t = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x * x * x);
            0.5 * x * (1.0 + t.tanh())
        }
        Activation::Gelu => {
            let z = x / std::f64::consts::SQRT_2;
            let (mut term, mut sum) = (z, z);
            for n in 1..200 {
                term *= -z * z / n as f64;
                sum += term / (2 * n + 1) as f64;
            }
            let erf = if z.abs() > 4.0 { z.signum() } else { sum * 2.0 / std::f64::consts::PI.sqrt() };
            0.5 * x * (1.0 + erf)
        }
    }
}

/// Runs `desc` and compares every element of C.
fn check(pool: &Pool, core: Option<&Core>, desc: &GemmDesc) {
    let GemmDesc { m, n, k, .. } = *desc;
    let a = filled(desc.dtype, &desc.a, m, k, &desc.batch, 1);
    let b = filled(desc.dtype, &desc.b, k, n, &desc.batch, 2);
    let mut c = filled(desc.out, &desc.c, m, n, &desc.batch, 3);
    let vector = |b: &Option<Bias>, len: usize, seed| {
        b.map(|b| {
            let s = MatStrides { row: b.stride, col: 0, batch: Dims::new() };
            filled(b.dtype, &s, len, 1, &[], seed)
        })
    };
    let (bias_cols, bias_rows) = (vector(&desc.bias_cols, n, 4), vector(&desc.bias_rows, m, 5));
    let r = desc.residual.as_ref();
    let in_place = r.is_some_and(|r| r.strides == desc.c && r.dtype == desc.out);
    let res = r.map(|r| if in_place { c.clone() } else { filled(r.dtype, &r.strides, m, n, &desc.batch, 6) });
    let opt = |v: &Option<Vec<u8>>| v.as_ref().map_or(std::ptr::null(), |v| v.as_ptr());
    let cp = c.as_mut_ptr();
    let ptrs = GemmPtrs {
        a: a.as_ptr(),
        b: b.as_ptr(),
        c: cp,
        bias_cols: opt(&bias_cols),
        bias_rows: opt(&bias_rows),
        residual: if in_place { cp } else { opt(&res) },
    };
    // SAFETY: the buffers reach as far as the strides.
    unsafe { gemm_with(pool, core, desc, &ptrs) }
    let count = desc.batch.iter().product::<i64>() as usize;
    for flat in 0..count {
        let mut rest = flat;
        let mut batch = vec![0; desc.batch.len()];
        for (d, &size) in desc.batch.iter().enumerate().rev() {
            batch[d] = rest % size as usize;
            rest /= size as usize;
        }
        for i in 0..m {
            for j in 0..n {
                let (mut sum, mut size) = (0.0, 0.0);
                for d in 0..k {
                    let x = read(desc.dtype, &a, index(&desc.a, i, d, &batch));
                    let y = read(desc.dtype, &b, index(&desc.b, d, j, &batch));
                    sum += x * y;
                    size += (x * y).abs();
                }
                let mut want = desc.alpha * sum;
                if let (Some(v), Some(s)) = (&bias_cols, desc.bias_cols) {
                    want += read(s.dtype, v, j * s.stride as usize);
                }
                if let (Some(v), Some(s)) = (&bias_rows, desc.bias_rows) {
                    want += read(s.dtype, v, i * s.stride as usize);
                }
                want = activate(desc.activation, want);
                if let (Some(v), Some(r)) = (&res, r) {
                    want += r.beta * read(r.dtype, v, index(&r.strides, i, j, &batch));
                }
                let got = read(desc.out, &c, index(&desc.c, i, j, &batch));
                let want = if desc.out == DType::U8 { want as i64 as u8 as f64 } else { want };
                let bound = tolerance(desc.out) * (want.abs() + 1.0)
                    + tolerance(desc.dtype.opmath()) * size * desc.alpha.abs();
                assert!((got - want).abs() <= bound, "{desc:?} [{batch:?} {i} {j}]: {got} {want}");
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

/// Strides of a rows×cols matrix: form 0 row-major, 1 column-major, 2 with gaps everywhere.
fn layout(form: usize, rows: usize, cols: usize, batch: &[i64]) -> MatStrides {
    let (row, col, size) = match form {
        0 => (cols as isize, 1, rows * cols),
        1 => (1, rows as isize, rows * cols),
        _ => (3 * cols as isize + 1, 3, rows * (3 * cols + 1)),
    };
    let mut strides = Dims::from_elem(0, batch.len());
    let mut step = size as i64;
    for d in (0..batch.len()).rev() {
        strides[d] = step;
        step *= batch[d].max(1);
    }
    MatStrides { row, col, batch: strides }
}

#[test]
fn sizes_around_every_block_boundary() {
    let pool = Pool::new(2);
    for core in cores() {
        for (m, n, k) in [
            (1, 1, 1),
            (12, 32, 16),
            (13, 33, 17),
            (97, 65, 300),
            (25, 1100, 270),
            (200, 31, 515),
            (3, 700, 33),
            (40, 5, 64),
        ] {
            for forms in [[0, 0, 0], [0, 1, 0], [1, 0, 0], [2, 2, 2], [0, 1, 1]] {
                let mut desc = GemmDesc::dense(core.dtype, m, n, k);
                desc.a = layout(forms[0], m, k, &[]);
                desc.b = layout(forms[1], k, n, &[]);
                desc.c = layout(forms[2], m, n, &[]);
                check(&pool, Some(&core), &desc);
            }
        }
    }
}

#[test]
fn no_terms_is_zero_plus_the_epilogue() {
    let pool = Pool::new(1);
    for core in cores() {
        let mut desc = GemmDesc::dense(core.dtype, 14, 40, 0);
        desc.bias_cols = Some(Bias { dtype: DType::F32, stride: 1 });
        check(&pool, Some(&core), &desc);
    }
    check(&pool, None, &GemmDesc::dense(DType::F64, 5, 6, 0));
}

#[test]
fn sums_of_many_blocks() {
    let pool = Pool::new(2);
    for dtype in [DType::F32, DType::BF16] {
        let core = Core::new(crate::isa::current(), dtype, true);
        let mut desc = GemmDesc::dense(dtype, 18, 20, 70_001);
        desc.activation = Activation::Relu;
        check(&pool, Some(&core), &desc);
    }
}

#[test]
fn more_rows_and_columns_than_are_kept_at_a_time() {
    let pool = Pool::new(2);
    for (dtype, m, n, k) in [
        (DType::BF16, 2060, 17, 516),
        (DType::BF16, 17, 2060, 516),
        (DType::F16, 17, 2060, 260),
        (DType::F32, 17, 4100, 3),
    ] {
        let core = Core::new(crate::isa::current(), dtype, true);
        check(&pool, Some(&core), &GemmDesc::dense(dtype, m, n, k));
    }
}

#[test]
fn thread_count_does_not_change_bits() {
    let core = Core::new(crate::isa::current(), DType::F32, true);
    for (m, n, k) in [(150, 140, 700), (5, 900, 300)] {
        let desc = GemmDesc::dense(DType::F32, m, n, k);
        let a = filled(DType::F32, &desc.a, m, k, &[], 1);
        let b = filled(DType::F32, &desc.b, k, n, &[], 2);
        let results: Vec<Vec<u8>> = [1, 2, 5]
            .map(|threads| {
                let mut c = vec![0u8; m * n * 4];
                let ptrs = GemmPtrs::new(a.as_ptr(), b.as_ptr(), c.as_mut_ptr());
                // SAFETY: dense buffers of these sizes.
                unsafe { gemm_with(&Pool::new(threads), Some(&core), &desc, &ptrs) }
                c
            })
            .into();
        assert!(results[0] == results[1] && results[0] == results[2]);
    }
}

fn wide_types() -> impl Strategy<Value = DType> {
    prop::sample::select(vec![DType::F64, DType::C64, DType::C128, DType::I32, DType::I64, DType::U8])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..Default::default() })]
    #[test]
    fn any_float_product(
        which in 0..cores().len(),
        (m, n, k) in (1usize..70, 1usize..150, 0usize..100),
        forms in prop::array::uniform4(0usize..3),
        batch in prop::collection::vec(1i64..4, 0..3),
        wide_out in any::<bool>(),
        alpha in prop::sample::select(vec![1.0, -0.5]),
        (cols, rows) in (prop::option::of(0isize..3), prop::option::of(0isize..3)),
        activation in prop::sample::select(vec![Activation::None, Activation::Relu, Activation::Gelu, Activation::GeluTanh, Activation::Silu]),
        residual in prop::option::of((any::<bool>(), prop::sample::select(vec![1.0, 0.25]))),
        shared_b in any::<bool>(),
        threads in 1usize..4,
    ) {
        let core = cores()[which];
        let mut desc = GemmDesc::dense(core.dtype, m, n, k);
        desc.batch = Dims::from_slice(&batch);
        desc.a = layout(forms[0], m, k, &batch);
        desc.b = layout(forms[1], k, n, &batch);
        desc.c = layout(forms[2], m, n, &batch);
        if shared_b {
            desc.b.batch = Dims::from_elem(0, batch.len());
        }
        if wide_out {
            desc.out = DType::F32;
        }
        desc.alpha = alpha;
        desc.bias_cols = cols.map(|stride| Bias { dtype: DType::F32, stride });
        desc.bias_rows = rows.map(|stride| Bias { dtype: desc.out, stride });
        desc.activation = activation;
        desc.residual = residual.map(|(in_place, beta)| Residual {
            dtype: desc.out,
            strides: if in_place { desc.c.clone() } else { layout(forms[3], m, n, &batch) },
            beta,
        });
        check(&Pool::new(threads), Some(&core), &desc);
    }

    #[test]
    fn any_wide_product(
        dtype in wide_types(),
        (m, n, k) in (1usize..40, 1usize..40, 0usize..50),
        forms in prop::array::uniform3(0usize..3),
        batch in prop::collection::vec(1i64..4, 0..3),
        residual in any::<bool>(),
        threads in 1usize..3,
    ) {
        let mut desc = GemmDesc::dense(dtype, m, n, k);
        desc.batch = Dims::from_slice(&batch);
        desc.a = layout(forms[0], m, k, &batch);
        desc.b = layout(forms[1], k, n, &batch);
        desc.c = layout(forms[2], m, n, &batch);
        desc.residual = residual.then(|| Residual { dtype, strides: desc.c.clone(), beta: 2.0 });
        check(&Pool::new(threads), None, &desc);
    }
}
