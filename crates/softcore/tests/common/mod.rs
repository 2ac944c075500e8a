//! Runs a function on softcore in memory laid out as a specification says, and compares with the oracle.
#![allow(dead_code, reason = "each test binary uses a part")]

use tnrs_hal::{Arg, Fault};
use tnrs_hlo::{Func, Literal};
use tnrs_softcore::{compile, CompileSpec, ParamSpec};
use tnrs_types::{DType, Scalar};

/// Memory of 16-byte words.
pub struct Block(Vec<u128>);

impl Block {
    pub fn new(bytes: usize) -> Self {
        Block(vec![u128::from_ne_bytes([0xA5; 16]); bytes.div_ceil(16) + 4])
    }
    pub fn ptr(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }
}

/// Elements that strides reach.
fn reach(dims: &[i64], strides: &[i64]) -> usize {
    if dims.contains(&0) {
        return 0;
    }
    1 + dims.iter().zip(strides).map(|(d, s)| (d - 1) * s).sum::<i64>() as usize
}

/// Calls `f(linear index, element offset)` for every element.
fn each(dims: &[i64], strides: &[i64], mut f: impl FnMut(usize, usize)) {
    let n: i64 = dims.iter().product();
    for i in 0..n {
        let (mut rest, mut at) = (i, 0);
        for d in (0..dims.len()).rev() {
            at += rest % dims[d] * strides[d];
            rest /= dims[d];
        }
        f(i as usize, at as usize);
    }
}

fn bytes(l: &Literal) -> Vec<u8> {
    match l.to_dense() {
        Literal::Dense(_, b) => b.to_vec(),
        Literal::Splat(..) => unreachable!("to_dense writes elements out"),
    }
}

/// Compiles and runs. Aliased results share their parameter's memory; results with `overlap` lie across the first
/// tensor parameter's memory, a few elements in.
pub fn run(f: &Func, spec: &CompileSpec, args: &[Literal]) -> Result<Vec<Literal>, Fault> {
    let exe = compile(f, spec).unwrap_or_else(|e| panic!("{e}\n{}", tnrs_hlo::text::print(f)));
    let mut blocks: Vec<Block> = Vec::new();
    let mut launch: Vec<Arg> = Vec::new();
    let mut first_tensor = None;
    // Room in every parameter's block for a result that overlaps it.
    let room: usize = f
        .results
        .iter()
        .zip(&spec.results)
        .map(|(&v, r)| (reach(&f.ty(v).dims, &r.strides) + 8) * f.ty(v).dtype.size())
        .max()
        .unwrap_or(0);
    for (i, (l, p)) in args.iter().zip(&spec.params).enumerate() {
        let ty = l.ty();
        let (size, data) = (ty.dtype.size(), bytes(l));
        match p {
            ParamSpec::Scalar => {
                let mut number = [0; 16];
                number[..size].copy_from_slice(&data);
                launch.push(Arg::Scalar(number));
            }
            ParamSpec::Tensor { strides } => {
                let mut block = Block::new((reach(&ty.dims, strides) * size).max(room + 64));
                let base = block.ptr();
                each(&ty.dims, strides, |k, at| {
                    // SAFETY: `at` is within the block's reach.
                    unsafe {
                        std::ptr::copy_nonoverlapping(data[k * size..].as_ptr(), base.add(at * size), size)
                    }
                });
                launch.push(Arg::Memory(base));
                blocks.push(block);
                first_tensor.get_or_insert(i);
            }
        }
    }
    for (&v, r) in f.results.iter().zip(&spec.results) {
        let ty = f.ty(v);
        let place = match (r.alias, r.overlap, first_tensor) {
            (Some(p), _, _) => launch[p],
            (None, true, Some(t)) => match launch[t] {
                Arg::Memory(p) => Arg::Memory(p.wrapping_add(2 * ty.dtype.size().max(8))),
                other => other,
            },
            _ => {
                let mut block = Block::new(reach(&ty.dims, &r.strides) * ty.dtype.size());
                let p = block.ptr();
                blocks.push(block);
                Arg::Memory(p)
            }
        };
        launch.push(place);
    }
    let mut workspace = Block::new(exe.workspace_bytes() + 64);
    let w = workspace.ptr();
    let w = w.wrapping_add(w.align_offset(64));
    // SAFETY: every block has the extent that the specification's strides reach, and lives on.
    unsafe { exe.run(&launch, w)? };
    let results = f.results.iter().zip(&spec.results).enumerate();
    Ok(results
        .map(|(i, (&v, r))| {
            let ty = f.ty(v);
            let size = ty.dtype.size();
            let Arg::Memory(base) = launch[args.len() + i] else { unreachable!("results are memory") };
            let mut out = vec![0u8; ty.numel() as usize * size];
            each(&ty.dims, &r.strides, |k, at| {
                // SAFETY: `at` is within the block's reach.
                unsafe {
                    std::ptr::copy_nonoverlapping(base.add(at * size), out[k * size..].as_mut_ptr(), size)
                }
            });
            Literal::Dense(ty.clone(), out.into())
        })
        .collect())
}

/// Allowed error, relative to the greatest magnitude of the result, for results of several roundings.
pub fn tolerance(dtype: DType) -> f64 {
    match dtype {
        DType::F64 | DType::C128 => 1e-10,
        DType::F32 | DType::C64 => 1e-4,
        DType::F16 => 1e-2,
        DType::BF16 => 6e-2,
        DType::F8E4M3FN | DType::F8E4M3FNUZ => 0.26,
        DType::F8E5M2 | DType::F8E5M2FNUZ => 0.5,
        _ => 0.0,
    }
}

fn parts(s: &Scalar) -> [f64; 2] {
    match *s {
        Scalar::Complex(re, im) => [re, im],
        other => [other.to_f64(), 0.0],
    }
}

/// Where two literals differ by more than `tol` times the greatest wanted magnitude (at least 1).
pub fn difference(found: &Literal, wanted: &Literal, tol: f64) -> Option<String> {
    if found.ty() != wanted.ty() {
        return Some(format!("type {:?} instead of {:?}", found.ty(), wanted.ty()));
    }
    let (f, w) = (found.scalars(), wanted.scalars());
    let float = found.ty().dtype.is_float() || found.ty().dtype.is_complex();
    let scale = w.iter().flat_map(parts).filter(|x| x.is_finite()).fold(1.0f64, |m, x| m.max(x.abs()));
    f.iter().zip(&w).enumerate().find_map(|(i, (a, b))| {
        let finite = |s: &Scalar| parts(s).iter().all(|x| x.is_finite());
        // Which part of a complex product with infinities is NaN is nobody's promise.
        let same = if found.ty().dtype.is_complex() && !finite(b) {
            !finite(a)
        } else if float {
            parts(a)
                .iter()
                .zip(parts(b))
                .all(|(&x, y)| x == y || (x.is_nan() && y.is_nan()) || (x - y).abs() <= tol * scale)
        } else {
            a == b
        };
        (!same).then(|| format!("element {i}: {a:?} instead of {b:?}"))
    })
}

/// The arguments as memory of the specification holds them: elements at one address are one element.
pub fn stored(spec: &CompileSpec, args: &[Literal]) -> Vec<Literal> {
    args.iter()
        .zip(&spec.params)
        .map(|(l, p)| {
            let ParamSpec::Tensor { strides } = p else {
                return l.clone();
            };
            let (ty, mut data) = (l.ty(), bytes(l));
            let size = ty.dtype.size();
            let mut owner = vec![usize::MAX; reach(&ty.dims, strides)];
            each(&ty.dims, strides, |k, at| {
                if owner[at] == usize::MAX {
                    owner[at] = k;
                }
                data.copy_within(owner[at] * size..(owner[at] + 1) * size, k * size);
            });
            Literal::Dense(ty.clone(), data.into())
        })
        .collect()
}
