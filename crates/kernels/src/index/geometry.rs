//! What gather and scatter share: positions of index vectors, and the box of elements each addresses.

use smallvec::SmallVec;
use tnrs_types::{DType, Dims};

/// A dim that both sides walk: size, and strides in elements of the box side (`near`) and of the addressed side (`far`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Dim {
    pub(super) n: usize,
    pub(super) near: isize,
    pub(super) far: isize,
}

/// One component of an index vector.
#[derive(Clone, Copy, Debug)]
pub(super) struct Component {
    /// Elements from the first component.
    pub(super) offset: isize,
    /// Element stride of the addressed dim.
    pub(super) stride: isize,
    /// Size of the addressed dim.
    pub(super) size: i64,
    /// Size of the box along it.
    pub(super) window: i64,
}

/// Positions of index vectors (`far` is the stride of the indices) and how a vector addresses the far side.
#[derive(Clone, Debug)]
pub(super) struct Geometry {
    pub(super) positions: SmallVec<[Dim; 6]>,
    pub(super) components: SmallVec<[Component; 6]>,
    /// The box, largest strides first, mergeable dims merged.
    pub(super) window: SmallVec<[Dim; 6]>,
    /// The box again, dims in order and unmerged, with the far dim each runs along.
    pub(super) unmerged: SmallVec<[(usize, Dim); 6]>,
    /// The far dim of each component.
    pub(super) index_map: SmallVec<[usize; 6]>,
    /// Sizes of the far side.
    pub(super) far_sizes: Dims,
    pub(super) index_dtype: DType,
}

impl Geometry {
    /// * `near`: sizes and strides of the side that lists boxes (gather's result, scatter's updates), whose dims
    ///   `window_dims` run inside a box.
    /// * `far`: sizes and strides of the addressed side, whose dims `absent` have no counterpart in `window_dims`.
    /// * `indices`: sizes and strides, the dim of vectors, and the far dim of each component.
    pub(super) fn new(
        near: (&[i64], &[i64]),
        window_dims: &[i64],
        far: (&[i64], &[i64]),
        absent: &[i64],
        indices: (&[i64], &[i64]),
        index_vector_dim: i64,
        index_map: &[i64],
        index_dtype: DType,
    ) -> Geometry {
        let is_window = |d: usize| window_dims.contains(&(d as i64));
        // Dims of the indices without the vector dim are, in order, the near dims outside the box.
        let index_dims = (0..indices.0.len()).filter(|&d| d as i64 != index_vector_dim);
        let near_dims = (0..near.0.len()).filter(|&d| !is_window(d));
        let positions = near_dims.zip(index_dims).map(|(n, i)| Dim {
            n: near.0[n] as usize,
            near: near.1[n] as isize,
            far: indices.1[i] as isize,
        });
        let present: SmallVec<[usize; 6]> =
            (0..far.0.len()).filter(|&d| !absent.contains(&(d as i64))).collect();
        let in_box = |far_dim: usize| -> i64 {
            match present.iter().position(|&p| p == far_dim) {
                Some(i) => near.0[window_dims[i] as usize],
                None => 1,
            }
        };
        let vector_stride = indices.1.get(index_vector_dim as usize).copied().unwrap_or(0);
        let components = index_map.iter().enumerate().map(|(i, &d)| Component {
            offset: i as isize * vector_stride as isize,
            stride: far.1[d as usize] as isize,
            size: far.0[d as usize],
            window: in_box(d as usize),
        });
        let unmerged = present.iter().zip(window_dims).map(|(&f, &n)| {
            let dim = Dim {
                n: near.0[n as usize] as usize,
                near: near.1[n as usize] as isize,
                far: far.1[f] as isize,
            };
            (f, dim)
        });
        let unmerged: SmallVec<[(usize, Dim); 6]> = unmerged.collect();
        let window = unmerged.iter().map(|&(_, d)| d).filter(|d| d.n != 1);
        let mut window: SmallVec<[Dim; 6]> = window.collect();
        window.sort_by_key(|d| std::cmp::Reverse((d.far.unsigned_abs(), d.near.unsigned_abs())));
        Geometry {
            positions: merge(positions.filter(|d| d.n != 1)),
            components: components.collect(),
            window: merge(window),
            unmerged,
            index_map: index_map.iter().map(|&d| d as usize).collect(),
            far_sizes: Dims::from_slice(far.0),
            index_dtype,
        }
    }

    /// Number of index vectors.
    pub(super) fn count(&self) -> usize {
        self.positions.iter().map(|d| d.n).product()
    }

    /// Elements of a box.
    pub(super) fn window_len(&self) -> usize {
        self.window.iter().map(|d| d.n).product()
    }

    /// Calls `f(near offset, index offset)` for positions `range` in order.
    pub(super) fn each(&self, range: std::ops::Range<usize>, mut f: impl FnMut(isize, isize)) {
        self.lines(range, usize::MAX, |line, near, far| {
            for i in 0..line.n as isize {
                f(near + i * line.near, far + i * line.far);
            }
        });
    }

    /// Calls `f(line, near offset, index offset)` for positions `range` in order, at most `most` on a line.
    pub(super) fn lines(
        &self,
        range: std::ops::Range<usize>,
        most: usize,
        mut f: impl FnMut(Dim, isize, isize),
    ) {
        let last = self.line();
        let outer = &self.positions[..self.positions.len().saturating_sub(1)];
        let mut at = range.start;
        while at < range.end {
            let (near, far) = offsets(outer, at / last.n);
            let first = at % last.n;
            let n = (last.n - first).min(range.end - at).min(most);
            let i = first as isize;
            f(Dim { n, ..last }, near + i * last.near, far + i * last.far);
            at += n;
        }
    }

    /// The innermost positions.
    pub(super) fn line(&self) -> Dim {
        self.positions.last().copied().unwrap_or(Dim { n: 1, near: 0, far: 0 })
    }

    /// The component, when an index vector is one number and its box is one element thick.
    pub(super) fn single(&self) -> Option<Component> {
        match self.components.as_slice() {
            [c] if c.window == 1 => Some(*c),
            _ => None,
        }
    }

    /// The box as lines over its outer dims and how many elements lie side by side in it.
    pub(super) fn rows(&self) -> (&[Dim], usize) {
        match self.window.split_last() {
            Some((d, outer)) if d.near == 1 && d.far == 1 => (outer, d.n),
            _ => (&self.window, 1),
        }
    }
}

/// Merges neighbours that both sides walk as one dim.
fn merge(dims: impl IntoIterator<Item = Dim>) -> SmallVec<[Dim; 6]> {
    let mut merged: SmallVec<[Dim; 6]> = SmallVec::new();
    for d in dims {
        match merged.last_mut() {
            Some(o) if o.near == d.near * d.n as isize && o.far == d.far * d.n as isize => {
                *o = Dim { n: o.n * d.n, ..d };
            }
            _ => merged.push(d),
        }
    }
    merged
}

/// Offsets of the `index`-th point of `dims` in row-major order.
pub(super) fn offsets(dims: &[Dim], index: usize) -> (isize, isize) {
    let (mut rest, mut near, mut far) = (index, 0, 0);
    for d in dims.iter().rev() {
        let i = (rest % d.n) as isize;
        rest /= d.n;
        near += i * d.near;
        far += i * d.far;
    }
    (near, far)
}

/// An integer element type of indices.
pub(super) trait Index: Copy {
    /// The value; those above `i64::MAX` become `i64::MAX`.
    fn value(self) -> i64;
}

macro_rules! index {
    ($($t:ty)*) => { $(
        impl Index for $t {
            #[inline(always)]
            fn value(self) -> i64 {
                i64::try_from(self).unwrap_or(i64::MAX)
            }
        }
    )* };
}
index!(u8 i8 u16 i16 u32 i32 u64 i64);

/// Calls `$f::<T>($args)` for the Rust type of an index dtype.
macro_rules! by_index {
    ($dtype:expr, $f:ident, $($arg:expr),*) => {
        match $dtype {
            tnrs_types::DType::U8 => $f::<u8>($($arg),*),
            tnrs_types::DType::I8 => $f::<i8>($($arg),*),
            tnrs_types::DType::U16 => $f::<u16>($($arg),*),
            tnrs_types::DType::I16 => $f::<i16>($($arg),*),
            tnrs_types::DType::U32 => $f::<u32>($($arg),*),
            tnrs_types::DType::I32 => $f::<i32>($($arg),*),
            tnrs_types::DType::U64 => $f::<u64>($($arg),*),
            tnrs_types::DType::I64 => $f::<i64>($($arg),*),
            other => unreachable!("indices of type {other:?}"),
        }
    };
}
pub(super) use by_index;
