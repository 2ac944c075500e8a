//! Optimizer steps on every instruction set against double precision.

use tnrs_types::DType;

use super::{adam_step_on, sgd_step_on, AdamArgs, SgdArgs};
use crate::testing::{array, get, isas, Bits, Num};

/// Largest error after one step of numbers of order 1, by type.
fn tolerance(d: DType) -> f64 {
    match d {
        DType::F64 => 1e-13,
        DType::F32 => 5e-7,
        DType::F16 => 2e-3,
        _ => 1e-2,
    }
}

/// Not a multiple of the stretch.
const N: usize = 64 * 3 + 17;

fn make(d: DType, seed: u64, lo: f64, hi: f64) -> (Vec<u128>, Vec<f64>) {
    let mut bits = Bits(seed);
    let bytes = array(d, (0..N).map(|_| Num::Float(bits.uniform(lo, hi))));
    let mut data = vec![0u128; N];
    // SAFETY: 16 bytes an element are enough.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), data.as_mut_ptr().cast(), bytes.len()) };
    (data, (0..N).map(|i| get(d, &bytes, i).real()).collect())
}

fn check(what: &str, d: DType, data: &[u128], want: &[f64]) {
    // SAFETY: 16 bytes an element.
    let bytes = unsafe { std::slice::from_raw_parts(data.as_ptr().cast::<u8>(), N * d.size()) };
    for (i, &w) in want.iter().enumerate() {
        let y = get(d, bytes, i).real();
        assert!((y - w).abs() <= tolerance(d) * (1.0 + w.abs()), "{what} {d:?} at {i}: {y}, want {w}");
    }
}

const TYPES: [DType; 4] = [DType::F32, DType::F64, DType::BF16, DType::F16];

#[test]
fn adam_in_every_variant() {
    for isa in isas() {
        for d in TYPES {
            for variant in 0..32 {
                let on = |bit: i32| variant >> bit & 1 == 1;
                let (amsgrad, decoupled, maximize, in_place) = (on(0), on(1), on(2), on(3));
                let (decay, scale) = if on(4) { (0.1, 4.0) } else { (0.0, 1.0) };
                let (mut p, np) = make(d, 1, -1.0, 1.0);
                let (g, ng) = make(d, 2, -1.0, 1.0);
                let (mut m, nm) = make(d, 3, -0.5, 0.5);
                let (mut v, nv) = make(d, 4, 0.1, 0.5);
                let (mut x, nx) = make(d, 5, 0.1, 0.5);
                let mut fresh = [vec![0u128; N], vec![0u128; N], vec![0u128; N], vec![0u128; N]];
                let source = [&p, &m, &v, &x].map(|a| a.as_ptr().cast::<u8>());
                let target = if in_place {
                    [&mut p, &mut m, &mut v, &mut x].map(|a| a.as_mut_ptr().cast::<u8>())
                } else {
                    fresh.each_mut().map(|a| a.as_mut_ptr().cast::<u8>())
                };
                let (lr, beta1, beta2, eps, step) = (0.01, 0.9, 0.999, 1e-8, 3.0);
                let args = AdamArgs {
                    p: source[0],
                    g: g.as_ptr().cast(),
                    m: source[1],
                    v: source[2],
                    vmax: if amsgrad { source[3] } else { std::ptr::null() },
                    p_out: target[0],
                    m_out: target[1],
                    v_out: target[2],
                    vmax_out: if amsgrad { target[3] } else { std::ptr::null_mut() },
                    n: N,
                    lr,
                    beta1,
                    beta2,
                    eps,
                    weight_decay: decay,
                    step,
                    grad_scale: scale,
                    decoupled,
                    maximize,
                };
                // SAFETY: N elements each.
                unsafe { adam_step_on(isa, d).unwrap()(&args) };
                let (mut wp, mut wm, mut wv, mut wx) = (vec![], vec![], vec![], vec![]);
                for i in 0..N {
                    let mut grad = ng[i] / scale * if maximize { -1.0 } else { 1.0 };
                    let mut param = np[i];
                    if decoupled {
                        param *= 1.0 - lr * decay;
                    } else {
                        grad += param * decay;
                    }
                    let first = beta1 * nm[i] + (1.0 - beta1) * grad;
                    let second = beta2 * nv[i] + (1.0 - beta2) * grad * grad;
                    let top = nx[i].max(second);
                    let used = if amsgrad { top } else { second };
                    let hat = (used / (1.0 - f64::powf(beta2, step))).sqrt() + eps;
                    wp.push(param - lr * first / (1.0 - f64::powf(beta1, step)) / hat);
                    wm.push(first);
                    wv.push(second);
                    wx.push(if amsgrad {
                        top
                    } else if in_place {
                        nx[i]
                    } else {
                        0.0
                    });
                }
                let what = format!("{isa:?} adam variant {variant:05b}");
                let [fp, fm, fv, fx] = &fresh;
                let got = if in_place { [&p, &m, &v, &x] } else { [fp, fm, fv, fx] };
                for (a, want) in got.into_iter().zip([wp, wm, wv, wx]) {
                    check(&what, d, a, &want);
                }
            }
        }
    }
}

#[test]
fn sgd_in_every_variant() {
    for isa in isas() {
        for d in TYPES {
            for variant in 0..32 {
                let on = |bit: i32| variant >> bit & 1 == 1;
                let (with_buffer, nesterov, maximize, first_step, scaled) =
                    (on(0), on(1), on(2), on(3), on(4));
                let (mut p, np) = make(d, 1, -1.0, 1.0);
                let (g, ng) = make(d, 2, -1.0, 1.0);
                let (mut b, nb) = make(d, 3, -0.5, 0.5);
                let (lr, decay, momentum, dampening) = (0.1, 0.01, 0.9, 0.25);
                let scale = if scaled { 8.0 } else { 1.0 };
                let buf = if with_buffer { b.as_mut_ptr().cast::<u8>() } else { std::ptr::null_mut() };
                let args = SgdArgs {
                    p: p.as_ptr().cast(),
                    g: g.as_ptr().cast(),
                    buf,
                    p_out: p.as_mut_ptr().cast(),
                    buf_out: buf,
                    n: N,
                    lr,
                    weight_decay: decay,
                    momentum,
                    dampening,
                    grad_scale: scale,
                    nesterov,
                    maximize,
                    first_step,
                };
                // SAFETY: N elements each, in place.
                unsafe { sgd_step_on(isa, d).unwrap()(&args) };
                let (mut wp, mut wb) = (vec![], vec![]);
                for i in 0..N {
                    let grad = ng[i] / scale * if maximize { -1.0 } else { 1.0 } + decay * np[i];
                    let buffer = if first_step { grad } else { momentum * nb[i] + (1.0 - dampening) * grad };
                    let direction = match (with_buffer, nesterov) {
                        (false, _) => grad,
                        (true, true) => grad + momentum * buffer,
                        (true, false) => buffer,
                    };
                    wp.push(np[i] - lr * direction);
                    wb.push(if with_buffer { buffer } else { nb[i] });
                }
                let what = format!("{isa:?} sgd variant {variant:05b}");
                check(&what, d, &p, &wp);
                check(&what, d, &b, &wb);
            }
        }
    }
}
