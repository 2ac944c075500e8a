//! Row functions on every instruction set against double-precision oracles.

use tnrs_types::DType;

use super::*;
use crate::testing::{array, get, isas, Bits, Num};

/// Largest absolute error of a result of order 1, by result type.
fn tolerance(d: DType) -> f64 {
    match d {
        DType::F64 => 1e-12,
        DType::F32 => 3e-6,
        DType::F16 => 2e-3,
        _ => 2e-2,
    }
}

const COLS: [usize; 6] = [1, 7, 64, 65, 1000, 3001];
const ROWS: usize = 3;

/// A matrix in a buffer aligned for every type, and its numbers.
struct Matrix {
    numbers: Vec<f64>,
    data: Vec<u128>,
    dtype: DType,
}
impl Matrix {
    fn new(dtype: DType, numbers: Vec<f64>) -> Self {
        let bytes = array(dtype, numbers.iter().map(|&x| Num::Float(x)));
        let mut data = vec![0u128; numbers.len() + 1];
        // SAFETY: 16 bytes an element are enough.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), data.as_mut_ptr().cast(), bytes.len()) };
        let numbers = (0..numbers.len()).map(|i| get(dtype, &bytes, i).real()).collect();
        Matrix { numbers, data, dtype }
    }
    fn random(dtype: DType, n: usize, seed: u64, lo: f64, hi: f64) -> Self {
        let mut bits = Bits(seed);
        Self::new(dtype, (0..n).map(|_| bits.uniform(lo, hi)).collect())
    }
    fn zeros(dtype: DType, n: usize) -> Self {
        Self::new(dtype, vec![0.0; n])
    }
    fn ptr(&self) -> *const u8 {
        self.data.as_ptr().cast()
    }
    fn mut_ptr(&mut self) -> *mut u8 {
        self.data.as_mut_ptr().cast()
    }
    fn check(&self, what: &str, want: &[f64], scale: f64) {
        // SAFETY: the buffer has 16 bytes an element.
        let bytes = unsafe { std::slice::from_raw_parts(self.ptr(), want.len() * self.dtype.size()) };
        for (i, &w) in want.iter().enumerate() {
            let y = get(self.dtype, bytes, i).real();
            let ok = y == w
                || (y.is_nan() && w.is_nan())
                || (y - w).abs() <= tolerance(self.dtype) * scale * (1.0 + w.abs());
            assert!(ok, "{what} {:?} at {i}: {y}, want {w}", self.dtype);
        }
    }
}

fn softmax_oracle(log: bool, x: &[f64]) -> Vec<f64> {
    let m = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = x.iter().map(|v| (v - m).exp()).sum();
    x.iter().map(|v| if log { v - m - sum.ln() } else { (v - m).exp() / sum }).collect()
}

const PAIRS: [(DType, DType); 10] = [
    (DType::F64, DType::F64),
    (DType::F32, DType::F32),
    (DType::F32, DType::BF16),
    (DType::F32, DType::F16),
    (DType::BF16, DType::F32),
    (DType::BF16, DType::BF16),
    (DType::BF16, DType::F16),
    (DType::F16, DType::F32),
    (DType::F16, DType::F16),
    (DType::F16, DType::BF16),
];

#[test]
fn softmax_and_its_gradient() {
    for isa in isas() {
        for (from, to) in PAIRS {
            for log in [false, true] {
                for cols in COLS {
                    let n = ROWS * cols;
                    let x = Matrix::random(from, n, cols as u64, -6.0, 6.0);
                    let mut y = Matrix::zeros(to, n);
                    // SAFETY: n elements each.
                    unsafe { softmax_on(isa, log, from, to).unwrap()(y.mut_ptr(), x.ptr(), ROWS, cols) };
                    let want: Vec<f64> =
                        x.numbers.chunks(cols).flat_map(|r| softmax_oracle(log, r)).collect();
                    y.check(&format!("{isa:?} softmax log={log} {from:?} cols={cols}"), &want, 1.0);

                    let forward = Matrix::new(from, want);
                    let dy = Matrix::random(from, n, 3, -1.0, 1.0);
                    let mut dx = Matrix::zeros(to, n);
                    // SAFETY: n elements each.
                    unsafe {
                        let f = softmax_grad_on(isa, log, from, to).unwrap();
                        f(dx.mut_ptr(), dy.ptr(), forward.ptr(), ROWS, cols);
                    }
                    let mut want = vec![];
                    for (g, y) in dy.numbers.chunks(cols).zip(forward.numbers.chunks(cols)) {
                        let dot: f64 =
                            if log { g.iter().sum() } else { g.iter().zip(y).map(|(g, y)| g * y).sum() };
                        want.extend(
                            g.iter().zip(y).map(|(g, y)| if log { g - y.exp() * dot } else { y * (g - dot) }),
                        );
                    }
                    dx.check(&format!("{isa:?} softmax_grad log={log} {from:?} cols={cols}"), &want, 4.0);
                }
            }
        }
    }
}

#[test]
fn softmax_of_special_rows() {
    let inf = f64::INFINITY;
    for isa in isas() {
        for cols in [3usize, 130] {
            let mut rows = vec![0.5f64; 4 * cols];
            rows[..cols].fill(-inf);
            rows[cols + 1] = f64::NAN;
            rows[2 * cols] = inf;
            rows[3 * cols + 2] = -inf;
            let x = Matrix::new(DType::F32, rows);
            let mut y = Matrix::zeros(DType::F32, 4 * cols);
            // SAFETY: 4 rows each.
            unsafe { softmax_on(isa, false, DType::F32, DType::F32).unwrap()(y.mut_ptr(), x.ptr(), 4, cols) };
            let mut want = vec![f64::NAN; 3 * cols];
            want.resize(4 * cols, 1.0 / (cols - 1) as f64);
            want[3 * cols + 2] = 0.0;
            // Beside +inf, finite elements vanish.
            want[2 * cols + 1..3 * cols].fill(f64::NAN);
            y.check("special rows", &want, 1.0);
        }
    }
}

const NORMS: [(DType, DType); 6] = [
    (DType::F32, DType::F32),
    (DType::F64, DType::F64),
    (DType::BF16, DType::BF16),
    (DType::BF16, DType::F32),
    (DType::F16, DType::F16),
    (DType::F16, DType::F32),
];
const EPS: f64 = 1e-5;

#[test]
fn layer_norm_and_its_gradient() {
    for isa in isas() {
        for (d, wd) in NORMS {
            for cols in COLS {
                for (weight, bias) in [(true, true), (true, false), (false, true), (false, false)] {
                    let n = ROWS * cols;
                    let what = format!("{isa:?} layer_norm {d:?} {wd:?} cols={cols} w={weight} b={bias}");
                    let x = Matrix::random(d, n, 1, -2.0, 3.0);
                    let w = Matrix::random(wd, cols, 2, 0.5, 1.5);
                    let b = Matrix::random(wd, cols, 3, -1.0, 1.0);
                    let null = std::ptr::null();
                    let mut y = Matrix::zeros(d, n);
                    let (mut mean, mut rstd) =
                        (Matrix::zeros(d.opmath(), ROWS), Matrix::zeros(d.opmath(), ROWS));
                    let args = LayerNormArgs {
                        x: x.ptr(),
                        w: if weight { w.ptr() } else { null },
                        b: if bias { b.ptr() } else { null },
                        y: y.mut_ptr(),
                        mean: mean.mut_ptr(),
                        rstd: rstd.mut_ptr(),
                        rows: ROWS,
                        cols,
                        eps: EPS,
                    };
                    // SAFETY: sizes as the fields say.
                    unsafe { layer_norm_on(isa, d, wd).unwrap()(&args) };
                    let (mut wy, mut wm, mut wr) = (vec![], vec![], vec![]);
                    for r in x.numbers.chunks(cols) {
                        let m = r.iter().sum::<f64>() / cols as f64;
                        let v = r.iter().map(|a| (a - m).powi(2)).sum::<f64>() / cols as f64;
                        let s = 1.0 / (v + EPS).sqrt();
                        wm.push(m);
                        wr.push(s);
                        for (j, a) in r.iter().enumerate() {
                            let z = (a - m) * s * if weight { w.numbers[j] } else { 1.0 };
                            wy.push(z + if bias { b.numbers[j] } else { 0.0 });
                        }
                    }
                    // One column: x − mean is 0 up to rounding, times 1/√eps.
                    let scale = if cols == 1 { 300.0 } else { 1.0 };
                    y.check(&what, &wy, scale);
                    mean.check(&what, &wm, 1.0);
                    rstd.check(&what, &wr, 1.0);
                    if cols == 1 {
                        continue;
                    }
                    let dy = Matrix::random(d, n, 4, -1.0, 1.0);
                    let mut dx = Matrix::zeros(d, n);
                    let mut dw = Matrix::new(d.opmath(), vec![10.0; cols]);
                    let mut db = Matrix::new(d.opmath(), vec![20.0; cols]);
                    let args = LayerNormGradArgs {
                        dy: dy.ptr(),
                        x: x.ptr(),
                        mean: mean.ptr(),
                        rstd: rstd.ptr(),
                        w: if weight { w.ptr() } else { null },
                        dx: dx.mut_ptr(),
                        dw: dw.mut_ptr(),
                        db: if bias { db.mut_ptr() } else { std::ptr::null_mut() },
                        rows: ROWS,
                        cols,
                    };
                    // SAFETY: sizes as the fields say.
                    unsafe { layer_norm_grad_on(isa, d, wd).unwrap()(&args) };
                    let (mut wx, mut ww, mut wb) = (vec![], vec![10.0; cols], vec![20.0; cols]);
                    for (i, (r, g)) in x.numbers.chunks(cols).zip(dy.numbers.chunks(cols)).enumerate() {
                        let z: Vec<f64> = r.iter().map(|a| (a - wm[i]) * wr[i]).collect();
                        let h: Vec<f64> = g
                            .iter()
                            .enumerate()
                            .map(|(j, g)| g * if weight { w.numbers[j] } else { 1.0 })
                            .collect();
                        let m1 = h.iter().sum::<f64>() / cols as f64;
                        let m2 = h.iter().zip(&z).map(|(h, z)| h * z).sum::<f64>() / cols as f64;
                        for j in 0..cols {
                            wx.push((h[j] - m1 - z[j] * m2) * wr[i]);
                            ww[j] += g[j] * z[j];
                            wb[j] += if bias { g[j] } else { 0.0 };
                        }
                    }
                    dx.check(&what, &wx, 2.0);
                    dw.check(&what, &ww, 1.0);
                    db.check(&what, &wb, 1.0);
                }
            }
        }
    }
}

#[test]
fn rms_norm_and_its_gradient() {
    for isa in isas() {
        for (d, wd) in NORMS {
            for cols in COLS {
                for weight in [true, false] {
                    let n = ROWS * cols;
                    let what = format!("{isa:?} rms_norm {d:?} {wd:?} cols={cols} w={weight}");
                    let x = Matrix::random(d, n, 1, 0.1, 3.0);
                    let w = Matrix::random(wd, cols, 2, 0.5, 1.5);
                    let wp = if weight { w.ptr() } else { std::ptr::null() };
                    let mut y = Matrix::zeros(d, n);
                    let mut rstd = Matrix::zeros(d.opmath(), ROWS);
                    let args = RmsNormArgs {
                        x: x.ptr(),
                        w: wp,
                        y: y.mut_ptr(),
                        rstd: rstd.mut_ptr(),
                        rows: ROWS,
                        cols,
                        eps: EPS,
                    };
                    // SAFETY: sizes as the fields say.
                    unsafe { rms_norm_on(isa, d, wd).unwrap()(&args) };
                    let (mut wy, mut wr) = (vec![], vec![]);
                    for r in x.numbers.chunks(cols) {
                        let s = 1.0 / (r.iter().map(|a| a * a).sum::<f64>() / cols as f64 + EPS).sqrt();
                        wr.push(s);
                        wy.extend(
                            r.iter()
                                .enumerate()
                                .map(|(j, a)| a * s * if weight { w.numbers[j] } else { 1.0 }),
                        );
                    }
                    y.check(&what, &wy, 1.0);
                    rstd.check(&what, &wr, 1.0);
                    let mut dy = Matrix::random(d, n, 4, -1.0, 1.0);
                    let mut dw = Matrix::new(d.opmath(), vec![10.0; cols]);
                    let p = dy.mut_ptr();
                    let args = RmsNormGradArgs {
                        dy: p,
                        x: x.ptr(),
                        rstd: rstd.ptr(),
                        w: wp,
                        dx: p,
                        dw: dw.mut_ptr(),
                        rows: ROWS,
                        cols,
                    };
                    // SAFETY: sizes as the fields say; dx in place of dy.
                    unsafe { rms_norm_grad_on(isa, d, wd).unwrap()(&args) };
                    let (mut wx, mut ww) = (vec![], vec![10.0; cols]);
                    for (i, (r, g)) in x.numbers.chunks(cols).zip(dy.numbers.chunks(cols)).enumerate() {
                        let h: Vec<f64> = g
                            .iter()
                            .enumerate()
                            .map(|(j, g)| g * if weight { w.numbers[j] } else { 1.0 })
                            .collect();
                        let m = h.iter().zip(r).map(|(h, a)| h * a * wr[i]).sum::<f64>() / cols as f64;
                        for j in 0..cols {
                            wx.push((h[j] - r[j] * wr[i] * m) * wr[i]);
                            ww[j] += g[j] * r[j] * wr[i];
                        }
                    }
                    // A single column leaves a difference of almost equal numbers, times 1/x.
                    let scale = if cols == 1 { 20.0 } else { 4.0 };
                    dy.check(&what, &wx, scale);
                    dw.check(&what, &ww, 1.0);
                }
            }
        }
    }
}
