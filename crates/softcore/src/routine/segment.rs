//! Reductions of consecutive segments of the middle dim of (outer, length, inner).

use tnrs_hal::Fault;

use super::elements::{from_f64, to_f64};
use super::{Args, Routine, Slab};

pub(super) const ROUTINES: &[Routine] = &[
    Routine { name: "segment_reduce", run: forward, cost: |a| 2 * a.ins[0].len() as u64 },
    Routine { name: "segment_reduce_grad", run: backward, cost: |a| 4 * a.ins[2].len() as u64 },
];

/// As numbered by the attribute `kind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Sum,
    Mean,
    Max,
    Min,
    Product,
}

impl Kind {
    fn of(a: &Args) -> Kind {
        [Kind::Sum, Kind::Mean, Kind::Max, Kind::Min, Kind::Product][a.call.int("kind").clamp(0, 4) as usize]
    }
    fn neutral(self) -> f64 {
        match self {
            Kind::Sum | Kind::Mean => 0.0,
            Kind::Max => f64::NEG_INFINITY,
            Kind::Min => f64::INFINITY,
            Kind::Product => 1.0,
        }
    }
    fn join(self, sum: f64, x: f64) -> f64 {
        match self {
            Kind::Sum | Kind::Mean => sum + x,
            Kind::Product => sum * x,
            _ if sum.is_nan() || x.is_nan() => f64::NAN,
            Kind::Max => sum.max(x),
            Kind::Min => sum.min(x),
        }
    }
}

/// The segments of one outer row: first position and length.
fn segments(a: &Args, marks: &Slab, row: usize, size: i64) -> Result<Vec<(usize, usize)>, Fault> {
    let n = marks.dims[1] as usize;
    let marks = &marks.read::<i64>()[row * n..(row + 1) * n];
    let bounds: Vec<(i64, i64)> = if a.call.flag("offsets") {
        marks.windows(2).map(|w| (w[0], w[1] - w[0])).collect()
    } else {
        let starts = marks.iter().scan(0, |sum, &len| {
            let start = *sum;
            *sum += len;
            Some((start, len))
        });
        starts.collect()
    };
    if bounds.iter().any(|&(_, len)| len < 0) {
        return Err(Fault::Device("segment_reduce: lengths contains negative value!".into()));
    }
    if bounds.iter().any(|&(start, len)| start < 0 || start + len > size) {
        return Err(Fault::Device(format!(
            "segment_reduce: a segment ends outside the {size} elements of its dim"
        )));
    }
    Ok(bounds.into_iter().map(|(s, n)| (s as usize, n as usize)).collect())
}

fn forward(a: &Args) -> Result<(), Fault> {
    let (kind, given, initial) = (Kind::of(a), a.call.flag("given"), a.call.float("initial"));
    let [outer, length, inner] = [0, 1, 2].map(|d| a.ins[0].dims[d] as usize);
    let x = to_f64(&a.ins[0]);
    let mut out = Vec::with_capacity(a.outs[0].len());
    for row in 0..outer {
        let segments = segments(a, &a.ins[1], row, length as i64)?;
        let total: usize = segments.iter().map(|s| s.1).sum();
        if a.call.flag("exact") && total != length {
            return Err(Fault::Device(
                "segment_reduce(): Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) when \
                 !unsafe."
                    .into(),
            ));
        }
        for (start, n) in segments {
            for k in 0..inner {
                let first = if given { initial } else { kind.neutral() };
                let column = (start..start + n).map(|j| x[(row * length + j) * inner + k]);
                let all = column.fold(first, |sum, v| kind.join(sum, v));
                out.push(match kind {
                    Kind::Mean if n == 0 && !given => f64::NAN,
                    Kind::Mean if n > 0 => all / n as f64,
                    _ => all,
                });
            }
        }
    }
    from_f64(&a.outs[0], &out);
    Ok(())
}

fn backward(a: &Args) -> Result<(), Fault> {
    let kind = Kind::of(a);
    let first = if a.call.flag("given") { a.call.float("initial") } else { 1.0 };
    let [outer, length, inner] = [0, 1, 2].map(|d| a.ins[2].dims[d] as usize);
    let (dy, y, x) = (to_f64(&a.ins[0]), to_f64(&a.ins[1]), to_f64(&a.ins[2]));
    let mut dx = vec![0.0; x.len()];
    let mut nth = 0;
    for row in 0..outer {
        for (start, n) in segments(a, &a.ins[3], row, length as i64)? {
            for k in 0..inner {
                let (g, result) = (dy[nth], y[nth]);
                nth += 1;
                let at = |j: usize| (row * length + j) * inner + k;
                let places = || (start..start + n).map(at);
                match kind {
                    Kind::Sum => places().for_each(|p| dx[p] = g),
                    Kind::Mean => places().for_each(|p| dx[p] = g / n as f64),
                    // Equal extremes share the gradient.
                    Kind::Max | Kind::Min => {
                        let hit = |p: usize| x[p].is_nan() || x[p] == result;
                        let hits = places().filter(|&p| hit(p)).count().max(1) as f64;
                        places().filter(|&p| hit(p)).for_each(|p| dx[p] = g / hits);
                    }
                    Kind::Product => places().for_each(|p| {
                        dx[p] = if x[p].is_nan() || x[p] == 0.0 {
                            // Dividing the product by such an element gives nothing.
                            g * places().filter(|&q| q != p).fold(first, |product, q| product * x[q])
                        } else {
                            g * result / x[p]
                        };
                    }),
                }
            }
        }
    }
    from_f64(&a.outs[0], &dx);
    Ok(())
}
