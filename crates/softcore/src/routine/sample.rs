//! Random variates.

use tnrs_kernels::sample::{self, Stream};

use super::elements::map;
use super::{Args, Routine};

/// About what an element costs, in nanoseconds.
const NS: u64 = 150;

fn cost(a: &Args) -> u64 {
    NS * a.outs[0].len() as u64
}

/// Draws every element from its own stream; seed and offset follow the N parameters.
fn draw<const N: usize>(a: &Args, f: impl Fn([f64; N], &mut Stream) -> f64 + Sync) {
    let (seed, offset) = (a.ins[N].read::<u64>()[0], a.ins[N + 1].read::<u64>()[0]);
    map(a, NS, |i, x| f(x, &mut Stream::new(seed, offset, i as u64)));
}

/// Routines of this family.
pub(super) static ROUTINES: &[Routine] = &[
    Routine {
        name: "ln_gamma_variate",
        run: |a| {
            draw(a, |[alpha], stream| sample::ln_gamma_variate(alpha, stream));
            Ok(())
        },
        cost,
    },
    Routine {
        name: "poisson",
        run: |a| {
            draw(a, |[rate], stream| sample::poisson(rate, stream));
            Ok(())
        },
        cost,
    },
    Routine {
        name: "binomial",
        run: |a| {
            draw(a, |[count, p], stream| sample::binomial(count, p, stream));
            Ok(())
        },
        cost,
    },
];
