//! The order in which a strided copy runs: dims merged, the best dims innermost.

use smallvec::SmallVec;

/// The part that one call of an inner loop copies. Strides are in elements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Inner {
    /// `n` elements.
    Row { n: usize, dst: isize, src: isize },
    /// `dst[r·dst + c] = src[c·src + r]`: rows of the destination are columns of the source.
    Transpose { rows: usize, cols: usize, dst: isize, src: isize },
}

/// A dim with its strides.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Dim {
    n: usize,
    dst: isize,
    src: isize,
}

/// A copy as a loop over outer dims around an inner part.
pub(super) struct Plan {
    outer: SmallVec<[Dim; 6]>,
    pub(super) inner: Inner,
    /// Where the first inner part begins in destination and source.
    base: (isize, isize),
}

impl Plan {
    /// `None` when there is nothing to copy.
    pub(super) fn new(dims: &[i64], dst: &[i64], src: &[i64]) -> Option<Plan> {
        if dims.contains(&0) {
            return None;
        }
        let mut all: SmallVec<[Dim; 6]> = (0..dims.len())
            .filter(|&i| dims[i] != 1)
            .map(|i| Dim { n: dims[i] as usize, dst: dst[i] as isize, src: src[i] as isize })
            .collect();
        // Backward along the source is as good as forward along it, where the destination takes any order.
        let mut base = (0, 0);
        for d in all.iter_mut().filter(|d| d.src == -1 && d.dst.unsigned_abs() != 1) {
            let last = d.n as isize - 1;
            base = (base.0 + last * d.dst, base.1 + last * d.src);
            (d.dst, d.src) = (-d.dst, -d.src);
        }
        // Largest destination stride first, so that writes go forward.
        all.sort_by_key(|d| std::cmp::Reverse((d.dst.unsigned_abs(), d.src.unsigned_abs())));
        let mut outer: SmallVec<[Dim; 6]> = SmallVec::new();
        for d in all {
            match outer.last_mut() {
                Some(o) if o.dst == d.dst * d.n as isize && o.src == d.src * d.n as isize => {
                    *o = Dim { n: o.n * d.n, ..d };
                }
                _ => outer.push(d),
            }
        }
        // A few scattered elements at a time are not worth a loop of their own.
        if let [.., long, short] = outer.as_mut_slice() {
            if short.n < 8 && short.n < long.n && short.src != 1 {
                std::mem::swap(long, short);
            }
        }
        let last = outer.pop().unwrap_or(Dim { n: 1, dst: 1, src: 1 });
        let mut inner = Inner::Row { n: last.n, dst: last.dst, src: last.src };
        if last.dst == 1 && last.src != 1 && last.src != 0 && last.n >= 4 {
            if let Some(i) = outer.iter().position(|d| d.src == 1 && d.n >= 4) {
                let rows = outer.remove(i);
                inner = Inner::Transpose { rows: rows.n, cols: last.n, dst: rows.dst, src: last.src };
            }
        }
        Some(Plan { outer, inner, base })
    }

    /// How many inner parts there are.
    pub(super) fn outer_len(&self) -> usize {
        self.outer.iter().map(|d| d.n).product()
    }

    /// Where inner part `index` begins in destination and source.
    pub(super) fn offsets(&self, index: usize) -> (isize, isize) {
        let (mut rest, (mut dst, mut src)) = (index, self.base);
        for d in self.outer.iter().rev() {
            let i = (rest % d.n) as isize;
            rest /= d.n;
            dst += i * d.dst;
            src += i * d.src;
        }
        (dst, src)
    }

    /// Calls `f` with where each of the inner parts `range` begins, in order.
    pub(super) fn each(&self, range: std::ops::Range<usize>, mut f: impl FnMut(isize, isize)) {
        let last = self.outer.last().copied().unwrap_or(Dim { n: 1, dst: 0, src: 0 });
        let mut at = range.start;
        while at < range.end {
            let (dst, src) = self.offsets(at);
            let n = (last.n - at % last.n).min(range.end - at);
            for i in 0..n as isize {
                f(dst + i * last.dst, src + i * last.src);
            }
            at += n;
        }
    }

    /// Bytes of the inner part, when it is a short dense row.
    pub(super) fn short_row(&self, elem: usize) -> Option<usize> {
        match self.inner {
            Inner::Row { n, dst: 1, src: 1 } if (16..=super::SHORT).contains(&(n * elem)) => Some(n * elem),
            _ => None,
        }
    }
}
