//! Where a value's elements are: a buffer, a first byte, and a stride per dim.

use tnrs_types::{contiguous_strides, is_contiguous, numel, Dims};

/// Index of a buffer of a plan.
pub(crate) type Buf = u32;

/// A strided window on a buffer. Strides count elements and may be 0 or negative; the offset counts bytes.
/// Generators (iota, philox) use the same type for the index they start from, with elements of one byte.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct View {
    pub buf: Buf,
    pub off: i64,
    pub dims: Dims,
    pub strides: Dims,
}

impl View {
    /// The whole of a dense row-major buffer.
    pub fn dense(buf: Buf, dims: &[i64]) -> Self {
        View { buf, off: 0, dims: Dims::from_slice(dims), strides: contiguous_strides(dims) }
    }

    /// One element, repeated over `dims`.
    pub fn splat(buf: Buf, off: i64, dims: &[i64]) -> Self {
        View { buf, off, dims: Dims::from_slice(dims), strides: Dims::from_elem(0, dims.len()) }
    }

    pub fn numel(&self) -> i64 {
        numel(&self.dims)
    }

    /// Row-major without gaps.
    pub fn is_dense(&self) -> bool {
        is_contiguous(&self.dims, &self.strides)
    }

    /// Without gaps in some order of the dims, so that equal layouts can be walked as flat memory.
    pub fn fills_its_memory(&self) -> bool {
        let mut perm: Dims = (0..self.dims.len() as i64).collect();
        perm.sort_by_key(|&d| std::cmp::Reverse(self.strides[d as usize]));
        self.is_dense() || self.transpose(&perm).is_dense()
    }

    /// Bytes from the first byte of the buffer to the end of the last element.
    pub fn extent(&self, size: usize) -> i64 {
        if self.numel() == 0 {
            return 0;
        }
        let reach: i64 = self.dims.iter().zip(&self.strides).map(|(&d, &s)| (d - 1) * s.max(0)).sum();
        self.off + (reach + 1) * size as i64
    }

    /// Result dim `map[i]` is operand dim `i`; other dims, and operand dims of size 1, repeat.
    pub fn broadcast(&self, map: &[i64], sizes: &[i64]) -> View {
        let mut strides = Dims::from_elem(0, sizes.len());
        for (i, &d) in map.iter().enumerate() {
            if self.dims[i] == sizes[d as usize] && self.dims[i] != 1 {
                strides[d as usize] = self.strides[i];
            }
        }
        View { buf: self.buf, off: self.off, dims: Dims::from_slice(sizes), strides }
    }

    pub fn transpose(&self, perm: &[i64]) -> View {
        View {
            buf: self.buf,
            off: self.off,
            dims: perm.iter().map(|&p| self.dims[p as usize]).collect(),
            strides: perm.iter().map(|&p| self.strides[p as usize]).collect(),
        }
    }

    pub fn slice(&self, start: &[i64], limit: &[i64], step: &[i64], size: usize) -> View {
        let mut v = self.clone();
        for i in 0..self.dims.len() {
            v.off += start[i] * self.strides[i] * size as i64;
            v.dims[i] = (limit[i] - start[i] + step[i] - 1) / step[i];
            v.strides[i] = self.strides[i] * step[i];
        }
        v
    }

    pub fn reverse(&self, dims: &[i64], size: usize) -> View {
        let mut v = self.clone();
        for &d in dims {
            let d = d as usize;
            v.off += (self.dims[d] - 1).max(0) * self.strides[d] * size as i64;
            v.strides[d] = -self.strides[d];
        }
        v
    }

    /// The same elements in the same order under other sizes, if strides can say it.
    pub fn reshape(&self, sizes: &[i64]) -> Option<View> {
        if self.is_dense() || self.numel() == 0 {
            let mut v = View::dense(self.buf, sizes);
            v.off = self.off;
            return Some(v);
        }
        // Groups of old dims that merge into one stride meet groups of new dims with the same product.
        let old: Vec<(i64, i64)> =
            self.dims.iter().zip(&self.strides).filter(|(&d, _)| d != 1).map(|(&d, &s)| (d, s)).collect();
        let mut strides = Dims::from_elem(0, sizes.len());
        let (mut i, mut j) = (0, 0);
        while i < old.len() {
            let (mut have, first) = (old[i].0, i);
            let start = j;
            let mut want = 1;
            while want != have {
                if want < have {
                    want *= *sizes.get(j)?;
                    j += 1;
                } else {
                    i += 1;
                    have *= old.get(i)?.0;
                }
            }
            if (first..i).any(|k| old[k].1 != old[k + 1].1 * old[k + 1].0) {
                return None;
            }
            let mut s = old[i].1;
            for k in (start..j).rev() {
                strides[k] = s;
                s *= sizes[k];
            }
            i += 1;
        }
        Some(View { buf: self.buf, off: self.off, dims: Dims::from_slice(sizes), strides })
    }

    /// Whether both name the same elements in the same order (strides of size-1 dims do not matter).
    pub fn same_elements(&self, other: &View) -> bool {
        self.buf == other.buf && self.off == other.off && self.same_layout(other)
    }

    /// Equal sizes and, where they matter, strides.
    pub fn same_layout(&self, other: &View) -> bool {
        self.dims == other.dims
            && self
                .dims
                .iter()
                .zip(self.strides.iter().zip(&other.strides))
                .all(|(&d, (a, b))| d <= 1 || a == b)
    }
}

/// Merges the dims of a group of operands that share sizes. Size-1 dims vanish; neighbours merge when every operand
/// steps over them evenly. `strides[k]` are the strides of operand `k` (units are free, but one unit an operand).
/// `barrier[i]` keeps dim `i` apart from dim `i - 1`. Returns the index of the first original dim of each merged dim.
pub(crate) fn collapse(dims: &mut Dims, strides: &mut [Dims], barrier: &[bool]) -> Dims {
    let rank = dims.len();
    let mut first: Dims = Dims::new();
    let mut out = 0;
    for i in 0..rank {
        if dims[i] == 1 {
            continue;
        }
        let d = dims[i];
        let crosses =
            out > 0 && barrier.get(first[out - 1] as usize + 1..=i).is_some_and(|b| b.iter().any(|&x| x));
        if out > 0 && !crosses && strides.iter().all(|s| s[out - 1] == s[i] * d) {
            dims[out - 1] *= d;
            for s in strides.iter_mut() {
                s[out - 1] = s[i];
            }
            continue;
        }
        dims[out] = d;
        for s in strides.iter_mut() {
            s[out] = s[i];
        }
        first.push(i as i64);
        out += 1;
    }
    dims.truncate(out);
    for s in strides.iter_mut() {
        s.truncate(out);
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(dims: &[i64], strides: &[i64]) -> View {
        View { buf: 0, off: 0, dims: Dims::from_slice(dims), strides: Dims::from_slice(strides) }
    }

    #[test]
    fn reshape_keeps_strides_or_refuses() {
        let t = view(&[4, 6], &[1, 4]);
        assert_eq!(t.reshape(&[24]), None);
        assert_eq!(t.reshape(&[2, 2, 6]).unwrap().strides.as_slice(), &[2, 1, 4]);
        assert_eq!(t.reshape(&[4, 1, 6]).unwrap().strides.as_slice(), &[1, 24, 4]);
        let b = view(&[3, 4], &[0, 0]);
        assert_eq!(b.reshape(&[12]).unwrap().strides.as_slice(), &[0]);
        let rows = view(&[5, 8], &[100, 1]);
        assert_eq!(rows.reshape(&[5, 2, 4]).unwrap().strides.as_slice(), &[100, 4, 1]);
        assert_eq!(rows.reshape(&[40]), None);
    }

    #[test]
    fn collapse_merges_only_even_steps() {
        let mut dims = Dims::from_slice(&[2, 1, 3, 4]);
        let mut strides = vec![Dims::from_slice(&[12, 99, 4, 1]), Dims::from_slice(&[0, 7, 4, 1])];
        let first = collapse(&mut dims, &mut strides, &[]);
        assert_eq!(dims.as_slice(), &[2, 12]);
        assert_eq!(strides[1].as_slice(), &[0, 1]);
        assert_eq!(first.as_slice(), &[0, 2]);
    }

    #[test]
    fn barriers_keep_dims_apart() {
        let mut dims = Dims::from_slice(&[2, 3]);
        let mut strides = vec![Dims::from_slice(&[3, 1])];
        collapse(&mut dims, &mut strides, &[false, true]);
        assert_eq!(dims.as_slice(), &[2, 3]);
    }
}
