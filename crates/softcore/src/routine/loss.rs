//! Connectionist temporal classification: the forward and backward recursions over the states of a target sequence,
//! its symbols with a blank before, between and after them (Graves et al., 2006, equations 6 to 15), in log space.

use tnrs_hal::Fault;

use super::element::{from_f64, to_f64};
use super::{Args, Routine, Slab};

pub(super) const ROUTINES: &[Routine] = &[
    Routine { name: "ctc_loss", run: forward, cost: |a| cost(&a.ins[0], &a.outs[1]) },
    Routine { name: "ctc_loss_grad", run: backward, cost: |a| 2 * cost(&a.ins[1], &a.ins[6]) },
];

/// Three exponentials and a logarithm a state.
fn cost(probabilities: &Slab, alpha: &Slab) -> u64 {
    40 * alpha.len() as u64 + 2 * probabilities.len() as u64
}

/// ln Σ eˣ, −∞ of nothing but −∞.
fn log_sum(x: &[f64]) -> f64 {
    let top = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let base = if top == f64::NEG_INFINITY { 0.0 } else { top };
    x.iter().map(|v| (v - base).exp()).sum::<f64>().ln() + base
}

/// The operands that forward and backward share.
struct Problem<'a> {
    log_p: Vec<f64>,
    batch: usize,
    classes: usize,
    targets: &'a [i64],
    /// Targets between the rows of the batch; none where all are in one row.
    width: Option<usize>,
    inputs: &'a [i64],
    lengths: &'a [i64],
    blank: i64,
}

impl<'a> Problem<'a> {
    fn new(blank: i64, ins: &'a [Slab]) -> Problem<'a> {
        let dims = &ins[0].dims;
        Problem {
            log_p: to_f64(&ins[0]),
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
                return Err(Fault::IndexOutOfRange { site: "ctc_loss", dim: 2, index: t, size });
            }
            states.extend([t as usize, self.blank as usize]);
        }
        Ok(states)
    }
    fn row(&self, t: usize, b: usize) -> &[f64] {
        let start = (t * self.batch + b) * self.classes;
        &self.log_p[start..start + self.classes]
    }
}

/// Whether a path may come to state `s` from two states before: not over the blank between equal symbols.
fn skips(states: &[usize], s: usize) -> bool {
    s > 1 && states[s] != states[s - 2]
}

fn forward(a: &Args) -> Result<(), Fault> {
    let p = Problem::new(a.call.int("blank"), a.ins);
    let (time, width) = (a.outs[1].dims[1] as usize, a.outs[1].dims[2] as usize);
    let mut alpha = vec![f64::NEG_INFINITY; p.batch * time * width];
    let mut losses = vec![0.0; p.batch];
    for b in 0..p.batch {
        let states = p.states(b)?;
        let (steps, n) = (p.inputs[b] as usize, states.len());
        if steps == 0 {
            losses[b] = if n == 1 { 0.0 } else { f64::INFINITY };
            continue;
        }
        let rows = &mut alpha[b * time * width..(b + 1) * time * width];
        for s in 0..n.min(2) {
            rows[s] = p.row(0, b)[states[s]];
        }
        for t in 1..steps {
            let (before, now) = rows[(t - 1) * width..(t + 1) * width].split_at_mut(width);
            for s in 0..n {
                let one = if s > 0 { before[s - 1] } else { f64::NEG_INFINITY };
                let two = if skips(&states, s) { before[s - 2] } else { f64::NEG_INFINITY };
                now[s] = log_sum(&[before[s], one, two]) + p.row(t, b)[states[s]];
            }
        }
        let last = &rows[(steps - 1) * width..(steps - 1) * width + n];
        losses[b] = -log_sum(&last[n - n.min(2)..]);
    }
    from_f64(&a.outs[0], &losses);
    from_f64(&a.outs[1], &alpha);
    Ok(())
}

/// With β by the mirrored recursion, the gradient for class k at a step is e^y − e^(Σ_k(α + β) + loss − y), y its
/// log-probability and the sum, in log space, over the states of that class.
fn backward(a: &Args) -> Result<(), Fault> {
    let p = Problem::new(a.call.int("blank"), &a.ins[1..5]);
    let drop_infinite = a.call.flag("zero_infinity");
    let (time, width) = (a.ins[6].dims[1] as usize, a.ins[6].dims[2] as usize);
    let (dy, losses, alpha) = (to_f64(&a.ins[0]), to_f64(&a.ins[5]), to_f64(&a.ins[6]));
    let mut grad = vec![0.0; p.log_p.len()];
    for b in 0..p.batch {
        if drop_infinite && losses[b] == f64::INFINITY {
            continue;
        }
        let states = p.states(b)?;
        let n = states.len();
        let mut next: Vec<f64> = Vec::new();
        for t in (0..p.inputs[b] as usize).rev() {
            let y = p.row(t, b);
            let beta: Vec<f64> = (0..n)
                .map(|s| {
                    let at = |s: usize| next.get(s).copied().unwrap_or(f64::NEG_INFINITY);
                    let sum = if next.is_empty() {
                        if s + 2 >= n {
                            0.0
                        } else {
                            f64::NEG_INFINITY
                        }
                    } else {
                        let two = if s + 2 < n && skips(&states, s + 2) { at(s + 2) } else { f64::NEG_INFINITY };
                        log_sum(&[at(s), at(s + 1), two])
                    };
                    sum + y[states[s]]
                })
                .collect();
            let mut joint = vec![f64::NEG_INFINITY; p.classes];
            for s in 0..n {
                let both = alpha[(b * time + t) * width + s] + beta[s];
                let k = states[s];
                joint[k] = if joint[k] == f64::NEG_INFINITY { both } else { log_sum(&[joint[k], both]) };
            }
            let start = (t * p.batch + b) * p.classes;
            for k in 0..p.classes {
                grad[start + k] = (y[k].exp() - (joint[k] + losses[b] - y[k]).exp()) * dy[b];
            }
            next = beta;
        }
    }
    from_f64(&a.outs[0], &grad);
    Ok(())
}
