//! Connectionist temporal classification: the forward and backward recursions over the states of a target sequence,
//! its symbols with a blank before, between and after them (Graves et al., 2006, equations 6 to 15), in log space.

use std::ops::{Add, Mul, Neg, Sub};

use tnrs_hal::Fault;
use tnrs_types::DType;

use super::{Args, Routine, Slab};

pub(super) const ROUTINES: &[Routine] = &[
    Routine {
        name: "ctc_loss",
        run: |a| match a.ins[0].dtype {
            DType::F64 => forward::<f64>(a),
            _ => forward::<f32>(a),
        },
        cost: |a| cost(&a.ins[0], &a.outs[1]),
    },
    Routine {
        name: "ctc_loss_grad",
        run: |a| match a.ins[0].dtype {
            DType::F64 => backward::<f64>(a),
            _ => backward::<f32>(a),
        },
        cost: |a| 2 * cost(&a.ins[1], &a.ins[6]),
    },
];

/// The arithmetic of one element type: losses are as far from the exact ones as the CPU's, which computes in it too.
trait Real:
    Copy
    + PartialEq
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Neg<Output = Self>
{
    const ZERO: Self;
    const NEVER: Self;
    fn exp(self) -> Self;
    fn ln(self) -> Self;
}

macro_rules! real {
    ($t:ty) => {
        impl Real for $t {
            const ZERO: Self = 0.0;
            const NEVER: Self = <$t>::NEG_INFINITY;
            fn exp(self) -> Self {
                self.exp()
            }
            fn ln(self) -> Self {
                self.ln()
            }
        }
    };
}
real!(f32);
real!(f64);

/// Three exponentials and a logarithm a state.
fn cost(probabilities: &Slab, alpha: &Slab) -> u64 {
    40 * alpha.len() as u64 + 2 * probabilities.len() as u64
}

/// ln Σ eˣ, −∞ of nothing but −∞.
fn log_sum<T: Real>(x: &[T]) -> T {
    let top = x.iter().fold(T::NEVER, |top, &v| if v > top { v } else { top });
    let base = if top == T::NEVER { T::ZERO } else { top };
    x.iter().fold(T::ZERO, |sum, &v| sum + (v - base).exp()).ln() + base
}

/// The operands that forward and backward share.
struct Problem<'a, T> {
    log_p: &'a [T],
    batch: usize,
    classes: usize,
    targets: &'a [i64],
    /// Targets between the rows of the batch; none where all are in one row.
    width: Option<usize>,
    inputs: &'a [i64],
    lengths: &'a [i64],
    blank: i64,
}

impl<'a, T: Real> Problem<'a, T> {
    fn new(blank: i64, ins: &'a [Slab]) -> Self {
        let dims = &ins[0].dims;
        Problem {
            log_p: ins[0].read(),
            batch: dims[1] as usize,
            classes: dims[2] as usize,
            targets: ins[1].read(),
            width: (ins[1].dims.len() == 2).then(|| ins[1].dims[1] as usize),
            inputs: ins[2].read(),
            lengths: ins[3].read(),
            blank,
        }
    }
    /// The class of every state of a batch element.
    fn states(&self, b: usize) -> Result<Vec<usize>, Fault> {
        let first = match self.width {
            Some(w) => b * w,
            None => self.lengths[..b].iter().sum::<i64>() as usize,
        };
        let mut states = vec![self.blank as usize];
        for &t in &self.targets[first..first + self.lengths[b] as usize] {
            if t < 0 || t >= self.classes as i64 {
                let size = self.classes as i64;
                return Err(Fault::IndexOutOfRange {
                    site: "ctc_loss",
                    dim: 2,
                    index: t,
                    size,
                    raises: tnrs_types::Raises::Runtime,
                });
            }
            states.extend([t as usize, self.blank as usize]);
        }
        Ok(states)
    }
    fn row(&self, t: usize, b: usize) -> &'a [T] {
        let start = (t * self.batch + b) * self.classes;
        &self.log_p[start..start + self.classes]
    }
}

/// Whether a path may come to state `s` from two states before: not over the blank between equal symbols.
fn skips(states: &[usize], s: usize) -> bool {
    s > 1 && states[s] != states[s - 2]
}

fn forward<T: Real>(a: &Args) -> Result<(), Fault> {
    let p = Problem::<T>::new(a.call.int("blank"), a.ins);
    let (time, width) = (a.outs[1].dims[1] as usize, a.outs[1].dims[2] as usize);
    let (losses, alpha) = (a.outs[0].write::<T>(), a.outs[1].write::<T>());
    alpha.fill(T::NEVER);
    for b in 0..p.batch {
        let states = p.states(b)?;
        let (steps, n) = (p.inputs[b] as usize, states.len());
        if steps == 0 {
            losses[b] = if n == 1 { T::ZERO } else { -T::NEVER };
            continue;
        }
        let rows = &mut alpha[b * time * width..(b + 1) * time * width];
        for s in 0..n.min(2) {
            rows[s] = p.row(0, b)[states[s]];
        }
        for t in 1..steps {
            let (before, now) = rows[(t - 1) * width..(t + 1) * width].split_at_mut(width);
            for s in 0..n {
                let one = if s > 0 { before[s - 1] } else { T::NEVER };
                let two = if skips(&states, s) { before[s - 2] } else { T::NEVER };
                now[s] = log_sum(&[before[s], one, two]) + p.row(t, b)[states[s]];
            }
        }
        let last = &rows[(steps - 1) * width..(steps - 1) * width + n];
        losses[b] = -log_sum(&last[n - n.min(2)..]);
    }
    Ok(())
}

/// With β by the mirrored recursion, the gradient for class k at a step is e^y − e^(Σ_k(α + β) + loss − y), y its
/// log-probability and the sum, in log space, over the states of that class.
fn backward<T: Real>(a: &Args) -> Result<(), Fault> {
    let p = Problem::<T>::new(a.call.int("blank"), &a.ins[1..5]);
    let drop_infinite = a.call.flag("zero_infinity");
    let (time, width) = (a.ins[6].dims[1] as usize, a.ins[6].dims[2] as usize);
    let (dy, losses, alpha) = (a.ins[0].read::<T>(), a.ins[5].read::<T>(), a.ins[6].read::<T>());
    let grad = a.outs[0].write::<T>();
    grad.fill(T::ZERO);
    for b in 0..p.batch {
        if drop_infinite && losses[b] == -T::NEVER {
            continue;
        }
        let states = p.states(b)?;
        let n = states.len();
        let mut next: Vec<T> = Vec::new();
        for t in (0..p.inputs[b] as usize).rev() {
            let y = p.row(t, b);
            let beta: Vec<T> = (0..n)
                .map(|s| {
                    let at = |s: usize| next.get(s).copied().unwrap_or(T::NEVER);
                    let sum = if next.is_empty() {
                        if s + 2 >= n {
                            T::ZERO
                        } else {
                            T::NEVER
                        }
                    } else {
                        let two = if s + 2 < n && skips(&states, s + 2) { at(s + 2) } else { T::NEVER };
                        log_sum(&[at(s), at(s + 1), two])
                    };
                    sum + y[states[s]]
                })
                .collect();
            let mut joint = vec![T::NEVER; p.classes];
            for s in (0..n).rev() {
                let both = alpha[(b * time + t) * width + s] + beta[s];
                let k = states[s];
                joint[k] = if joint[k] == T::NEVER { both } else { log_sum(&[joint[k], both]) };
            }
            let start = (t * p.batch + b) * p.classes;
            for k in 0..p.classes {
                grad[start + k] = (y[k].exp() - (joint[k] + losses[b] - y[k]).exp()) * dy[b];
            }
            next = beta;
        }
    }
    Ok(())
}
