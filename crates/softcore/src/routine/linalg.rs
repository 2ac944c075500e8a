//! Dense linear algebra: batches of the routines of `tnrs_linalg`, one matrix a thread.

use tnrs_hal::Fault;
use tnrs_hlo::custom::InfoSite;
use tnrs_linalg::{self as la, Complex, Num, Op, Triangle, Vectors};
use tnrs_types::DType;

use super::linalg_info::check;
use super::{Args, Routine, Slab};

macro_rules! routine {
    ($name:literal, $f:ident, $cost:expr) => {
        Routine {
            name: $name,
            run: |a| match a.ins[0].dtype {
                DType::F32 => $f::<f32>(a),
                DType::F64 => $f::<f64>(a),
                DType::C64 => $f::<Complex<f32>>(a),
                DType::C128 => $f::<Complex<f64>>(a),
                other => Err(Fault::Device(format!("{} of {}", $name, other.hlo_name()))),
            },
            cost: |a| cost(a, $cost),
        }
    };
}

/// Routines of this family, with their operations in n³ of the larger size.
pub(super) static ROUTINES: &[Routine] = &[
    routine!("cholesky", cholesky, 0.33),
    routine!("lu", lu, 0.67),
    Routine { name: "row_order", run: row_order, cost: |a| 50 + 2 * a.outs[0].len() as u64 },
    routine!("lu_solve", lu_solve, 2.0),
    routine!("triangular_solve", triangular_solve, 1.0),
    routine!("geqrf", geqrf, 1.33),
    routine!("householder_product", householder_product, 1.33),
    routine!("ormqr", ormqr, 2.0),
    routine!("svd", svd, 20.0),
    routine!("eigh", eigh, 9.0),
    routine!("eig", eig, 25.0),
    routine!("ldl", ldl, 1.0),
    routine!("ldl_solve", ldl_solve, 2.0),
    routine!("lstsq_full_rank", lstsq_full_rank, 2.0),
    routine!("lstsq", lstsq, 20.0),
    routine!("matrix_exp", matrix_exp, 20.0),
    Routine { name: "check_info", run: check_info, cost: |a| 50 + a.ins[0].len() as u64 },
];

/// Operations in a nanosecond, about: small matrices run far below the peak.
const RATE: f64 = 8.0;

/// Of one matrix: fixed overhead and operations.
fn each(a: &Args, cubes: f64) -> f64 {
    let d = &a.ins[0].dims;
    let n = d[d.len().saturating_sub(2)..].iter().copied().max().unwrap_or(1) as f64;
    let complex = if a.ins[0].dtype.is_complex() { 4.0 } else { 1.0 };
    300.0 + cubes * complex * n * n * n / RATE
}

fn cost(a: &Args, cubes: f64) -> u64 {
    (50.0 + batch(&a.ins[0], 2) as f64 * each(a, cubes)) as u64
}

/// Number of matrices (or of vectors, for `k` 1).
fn batch(s: &Slab, k: usize) -> usize {
    s.dims[..s.dims.len() - k].iter().product::<i64>() as usize
}

/// Rows and columns.
fn sizes(s: &Slab) -> (usize, usize) {
    let k = s.dims.len();
    (s.dims[k - 2] as usize, s.dims[k - 1] as usize)
}

/// An operand of a batch.
struct Ins<'a, T> {
    all: &'a [T],
    each: usize,
}

impl<T> Ins<'_, T> {
    /// Element `i` of the batch.
    fn of(&self, i: usize) -> &[T] {
        &self.all[i * self.each..][..self.each]
    }
}

fn ins<T: Copy>(s: &Slab, batch: usize) -> Ins<'_, T> {
    let all = s.read::<T>();
    Ins { all, each: all.len().checked_div(batch).unwrap_or(0) }
}

/// A result of a batch, written by several threads.
struct Outs<T> {
    data: *mut T,
    each: usize,
    batch: usize,
}

// SAFETY: the elements are plain numbers, and `of` gives every element of the batch to one thread.
unsafe impl<T: Send> Sync for Outs<T> {}

impl<T> Outs<T> {
    /// Element `i` of the batch.
    ///
    /// # Safety
    /// No two calls for the same `i` have their slices in use at one time.
    #[allow(clippy::mut_from_ref, reason = "a place shared among threads; see above")]
    unsafe fn of(&self, i: usize) -> &mut [T] {
        assert!(i < self.batch);
        // SAFETY: `outs` made `batch` parts of `each` elements of one slice; the caller promises that this one is free.
        unsafe { std::slice::from_raw_parts_mut(self.data.add(i * self.each), self.each) }
    }
}

fn outs<T: Copy>(s: &Slab, batch: usize) -> Outs<T> {
    let all = s.write::<T>();
    Outs { each: all.len().checked_div(batch).unwrap_or(0), batch, data: all.as_mut_ptr() }
}

/// Nanoseconds that a chunk of a batch should take at least.
const CHUNK: f64 = 10_000.0;

/// Runs `f` for each matrix, on several threads if it pays.
fn for_each(batch: usize, nanoseconds: f64, f: impl Fn(usize) + Sync) {
    let together = ((CHUNK / nanoseconds) as usize).clamp(1, batch.max(1));
    let run = |chunk: usize, _: usize| {
        (chunk * together..((chunk + 1) * together).min(batch)).for_each(&f);
    };
    let chunks = batch.div_ceil(together);
    if chunks <= 1 {
        (0..chunks).for_each(|c| run(c, 0));
    } else {
        tnrs_kernels::pool::global().run(chunks, &run);
    }
}

/// Runs the body for each matrix `i`; inside it, `out!(results, i)` is the part of a result that belongs to `i`.
macro_rules! matrices {
    ($a:ident, $cubes:expr, $k:ident, |$i:ident| $body:expr) => {
        for_each($k, each($a, $cubes), |$i| $body)
    };
}
macro_rules! out {
    ($o:ident, $i:ident) => {
        // SAFETY: `for_each` calls its body once for each matrix, and a body takes its part of a result once.
        unsafe { $o.of($i) }
    };
}

fn cholesky<T: Num>(a: &Args) -> Result<(), Fault> {
    let (k, (n, _), upper) = (batch(&a.ins[0], 2), sizes(&a.ins[0]), a.call.flag("upper"));
    let (x, l, info) = (ins::<T>(&a.ins[0], k), outs::<T>(&a.outs[0], k), outs::<i32>(&a.outs[1], k));
    matrices!(a, 0.33, k, |i| out!(info, i)[0] = la::cholesky(x.of(i), n, upper, out!(l, i)));
    Ok(())
}

fn lu<T: Num>(a: &Args) -> Result<(), Fault> {
    let (k, (m, n), pivot) = (batch(&a.ins[0], 2), sizes(&a.ins[0]), a.call.flag("pivot"));
    let x = ins::<T>(&a.ins[0], k);
    let (f, p, info) = (outs::<T>(&a.outs[0], k), outs::<i32>(&a.outs[1], k), outs::<i32>(&a.outs[2], k));
    matrices!(a, 0.67, k, |i| out!(info, i)[0] = la::lu(x.of(i), m, n, pivot, out!(f, i), out!(p, i)));
    Ok(())
}

fn row_order(a: &Args) -> Result<(), Fault> {
    let k = batch(&a.ins[0], 1);
    let (p, order) = (ins::<i32>(&a.ins[0], k), outs::<i32>(&a.outs[0], k));
    for i in 0..k {
        la::row_order(p.of(i), out!(order, i));
    }
    Ok(())
}

fn lu_solve<T: Num>(a: &Args) -> Result<(), Fault> {
    let (k, (n, r)) = (batch(&a.ins[0], 2), sizes(&a.ins[2]));
    let op = if a.call.flag("adjoint") { Op::Adjoint } else { Op::None };
    let (f, p, b) = (ins::<T>(&a.ins[0], k), ins::<i32>(&a.ins[1], k), ins::<T>(&a.ins[2], k));
    let x = outs::<T>(&a.outs[0], k);
    matrices!(a, 2.0, k, |i| la::lu_solve(f.of(i), p.of(i), b.of(i), n, r, op, out!(x, i)));
    Ok(())
}

fn triangular_solve<T: Num>(a: &Args) -> Result<(), Fault> {
    let (k, (n, _), left) = (batch(&a.ins[0], 2), sizes(&a.ins[0]), a.call.flag("left"));
    let (rows, columns) = sizes(&a.ins[1]);
    let r = if left { columns } else { rows };
    let op = [Op::None, Op::Transpose, Op::Adjoint][a.call.int("op").clamp(0, 2) as usize];
    let t = Triangle { upper: a.call.flag("upper"), unit: a.call.flag("unit"), op };
    let (m, b, x) = (ins::<T>(&a.ins[0], k), ins::<T>(&a.ins[1], k), outs::<T>(&a.outs[0], k));
    matrices!(a, 1.0, k, |i| la::solve_triangular(m.of(i), b.of(i), n, r, t, left, out!(x, i)));
    Ok(())
}

fn geqrf<T: Num>(a: &Args) -> Result<(), Fault> {
    let (k, (m, n)) = (batch(&a.ins[0], 2), sizes(&a.ins[0]));
    let (x, f, tau) = (ins::<T>(&a.ins[0], k), outs::<T>(&a.outs[0], k), outs::<T>(&a.outs[1], k));
    matrices!(a, 1.33, k, |i| la::geqrf(x.of(i), m, n, out!(f, i), out!(tau, i)));
    Ok(())
}

fn householder_product<T: Num>(a: &Args) -> Result<(), Fault> {
    let (k, (m, n)) = (batch(&a.ins[0], 2), sizes(&a.ins[0]));
    let columns = sizes(&a.outs[0]).1;
    let (x, tau, q) = (ins::<T>(&a.ins[0], k), ins::<T>(&a.ins[1], k), outs::<T>(&a.outs[0], k));
    matrices!(a, 1.33, k, |i| la::form_q(x.of(i), tau.of(i), m, n, columns, out!(q, i)));
    Ok(())
}

fn ormqr<T: Num>(a: &Args) -> Result<(), Fault> {
    let (k, (_, n), rs) = (batch(&a.ins[0], 2), sizes(&a.ins[0]), sizes(&a.ins[2]));
    let (left, op) = (a.call.flag("left"), if a.call.flag("adjoint") { Op::Adjoint } else { Op::None });
    let (x, tau, c) = (ins::<T>(&a.ins[0], k), ins::<T>(&a.ins[1], k), ins::<T>(&a.ins[2], k));
    let y = outs::<T>(&a.outs[0], k);
    matrices!(a, 2.0, k, |i| la::ormqr(x.of(i), n, tau.of(i), c.of(i), rs, left, op, out!(y, i)));
    Ok(())
}

/// Info codes that no result holds: one a matrix, then the fault.
struct Codes(Vec<std::sync::atomic::AtomicI32>);

impl Codes {
    fn new(batch: usize) -> Codes {
        Codes((0..batch).map(|_| Default::default()).collect())
    }
    fn set(&self, i: usize, info: i32) {
        self.0[i].store(info, std::sync::atomic::Ordering::Relaxed);
    }
    fn check(self, site: InfoSite, matrix: &Slab) -> Result<(), Fault> {
        let codes: Vec<i32> = self.0.into_iter().map(|c| c.into_inner()).collect();
        check(site, &codes, matrix.dims.len() > 2)
    }
}

fn svd<T: Num>(a: &Args) -> Result<(), Fault> {
    let (k, (m, n)) = (batch(&a.ins[0], 2), sizes(&a.ins[0]));
    let (x, codes) = (ins::<T>(&a.ins[0], k), Codes::new(k));
    if let [s] = a.outs {
        let s = outs::<T::Part>(s, k);
        matrices!(a, 3.0, k, |i| {
            codes.set(i, la::svd(x.of(i), (m, n), Vectors::No, &mut [], out!(s, i), &mut []));
        });
    } else {
        let (_, columns) = sizes(&a.outs[0]);
        let (rows, _) = sizes(&a.outs[2]);
        let vectors = if (columns, rows) == (m.min(n), m.min(n)) { Vectors::Thin } else { Vectors::Full };
        let (u, s, vh) = (outs::<T>(&a.outs[0], k), outs::<T::Part>(&a.outs[1], k), outs::<T>(&a.outs[2], k));
        matrices!(a, 20.0, k, |i| {
            codes.set(i, la::svd(x.of(i), (m, n), vectors, out!(u, i), out!(s, i), out!(vh, i)));
        });
    }
    let finite = codes.0.iter().all(|c| c.load(std::sync::atomic::Ordering::Relaxed) >= 0);
    codes.check(if finite { InfoSite::Svd } else { InfoSite::SvdNotFinite }, &a.ins[0])
}

fn eigh<T: Num>(a: &Args) -> Result<(), Fault> {
    let (k, (n, _), upper) = (batch(&a.ins[0], 2), sizes(&a.ins[0]), a.call.flag("upper"));
    let (x, codes, w) = (ins::<T>(&a.ins[0], k), Codes::new(k), outs::<T::Part>(&a.outs[0], k));
    if a.outs.len() == 1 {
        matrices!(a, 2.0, k, |i| codes.set(i, la::eigh(x.of(i), n, upper, out!(w, i), &mut [])));
    } else {
        let v = outs::<T>(&a.outs[1], k);
        matrices!(a, 9.0, k, |i| codes.set(i, la::eigh(x.of(i), n, upper, out!(w, i), out!(v, i))));
    }
    codes.check(InfoSite::Eigh, &a.ins[0])
}

fn eig<T: la::Eigen>(a: &Args) -> Result<(), Fault>
where
    Complex<T::Part>: Num<Part = T::Part>,
{
    let (k, (n, _)) = (batch(&a.ins[0], 2), sizes(&a.ins[0]));
    let (x, codes, w) = (ins::<T>(&a.ins[0], k), Codes::new(k), outs::<Complex<T::Part>>(&a.outs[0], k));
    if !x.all.iter().all(|v| v.is_finite()) {
        return Err(Fault::Device("torch.linalg.eig: input tensor should not contain infs or NaNs.".into()));
    }
    if a.outs.len() == 1 {
        matrices!(a, 10.0, k, |i| codes.set(i, la::eig(x.of(i), n, out!(w, i), &mut [])));
    } else {
        let v = outs::<Complex<T::Part>>(&a.outs[1], k);
        matrices!(a, 25.0, k, |i| codes.set(i, la::eig(x.of(i), n, out!(w, i), out!(v, i))));
    }
    codes.check(InfoSite::Eig, &a.ins[0])
}

fn ldl<T: Num>(a: &Args) -> Result<(), Fault> {
    let (k, (n, _), hermitian) = (batch(&a.ins[0], 2), sizes(&a.ins[0]), a.call.flag("hermitian"));
    let x = ins::<T>(&a.ins[0], k);
    let (f, p, info) = (outs::<T>(&a.outs[0], k), outs::<i32>(&a.outs[1], k), outs::<i32>(&a.outs[2], k));
    matrices!(a, 1.0, k, |i| out!(info, i)[0] = la::ldl(x.of(i), n, hermitian, out!(f, i), out!(p, i)));
    Ok(())
}

fn ldl_solve<T: Num>(a: &Args) -> Result<(), Fault> {
    let (k, nr, hermitian) = (batch(&a.ins[0], 2), sizes(&a.ins[2]), a.call.flag("hermitian"));
    let (f, p, b) = (ins::<T>(&a.ins[0], k), ins::<i32>(&a.ins[1], k), ins::<T>(&a.ins[2], k));
    let x = outs::<T>(&a.outs[0], k);
    matrices!(a, 2.0, k, |i| la::ldl_solve(f.of(i), p.of(i), b.of(i), nr, hermitian, out!(x, i)));
    Ok(())
}

fn lstsq_full_rank<T: Num>(a: &Args) -> Result<(), Fault> {
    let (k, (m, n), (_, r)) = (batch(&a.ins[0], 2), sizes(&a.ins[0]), sizes(&a.ins[1]));
    let (x, b, y) = (ins::<T>(&a.ins[0], k), ins::<T>(&a.ins[1], k), outs::<T>(&a.outs[0], k));
    let codes = Codes::new(k);
    matrices!(a, 2.0, k, |i| codes.set(i, la::full_rank(x.of(i), b.of(i), (m, n, r), out!(y, i))));
    codes.check(InfoSite::Lstsq, &a.ins[0])
}

fn lstsq<T: Num>(a: &Args) -> Result<(), Fault> {
    let (k, (m, n), (_, r)) = (batch(&a.ins[0], 2), sizes(&a.ins[0]), sizes(&a.ins[1]));
    let (x, b, codes, rcond) =
        (ins::<T>(&a.ins[0], k), ins::<T>(&a.ins[1], k), Codes::new(k), a.call.float("rcond"));
    let (y, rank, s) = (outs::<T>(&a.outs[0], k), outs::<i64>(&a.outs[1], k), outs::<T::Part>(&a.outs[2], k));
    matrices!(a, 20.0, k, |i| {
        let (info, found) = la::shortest(x.of(i), b.of(i), (m, n, r), rcond, out!(y, i), out!(s, i));
        out!(rank, i)[0] = found;
        codes.set(i, info);
    });
    codes.check(InfoSite::Lstsq, &a.ins[0])
}

fn matrix_exp<T: Num>(a: &Args) -> Result<(), Fault> {
    let (k, (n, _)) = (batch(&a.ins[0], 2), sizes(&a.ins[0]));
    let (x, e) = (ins::<T>(&a.ins[0], k), outs::<T>(&a.outs[0], k));
    matrices!(a, 20.0, k, |i| la::matrix_exp(x.of(i), n, out!(e, i)));
    Ok(())
}

fn check_info(a: &Args) -> Result<(), Fault> {
    let codes = a.ins[0].read::<i32>();
    let (from, to) = (&a.ins[1], &a.outs[0]);
    match from.dtype.size() {
        4 => to.write::<f32>().copy_from_slice(from.read()),
        8 => to.write::<f64>().copy_from_slice(from.read()),
        16 => to.write::<[f64; 2]>().copy_from_slice(from.read()),
        size => return Err(Fault::Device(format!("check_info of elements of {size} bytes"))),
    }
    let site = InfoSite::from_code(a.call.int("what")).expect("checked with the program");
    check(site, codes, !a.ins[0].dims.is_empty())
}
