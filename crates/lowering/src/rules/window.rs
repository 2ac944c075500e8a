//! What pooling windows look like: the arguments, and the positions a window visits.

use smallvec::smallvec;
use tnrs_types::{Dims, Scalar};

use crate::expr::Expr;
use crate::Ctx;

/// Windows over the trailing spatial dims.
#[derive(Clone, Debug)]
pub(super) struct Windows {
    /// Elements of a window, per dim.
    pub(super) kernel: Dims,
    /// Between neighbouring windows.
    pub(super) stride: Dims,
    /// Before (and after) the data.
    pub(super) padding: Dims,
    /// Between the elements of a window.
    pub(super) dilation: Dims,
    /// Sizes of the data.
    pub(super) input: Dims,
    /// How many windows there are.
    pub(super) output: Dims,
}

impl Windows {
    /// From the positions of kernel, stride, padding and dilation; data sizes and window counts are the trailing
    /// ones of `input` and `output`.
    pub(super) fn new(
        cx: &Ctx,
        spatial: usize,
        [kernel, stride, padding, dilation]: [Option<usize>; 4],
        input: &[i64],
        output: &[i64],
    ) -> Windows {
        let list = |i: Option<usize>, default: &dyn Fn(usize) -> i64| -> Dims {
            let v = i.and_then(|i| cx.ints(i)).unwrap_or_default();
            match v.len() {
                0 => (0..spatial).map(default).collect(),
                1 => smallvec![v[0]; spatial],
                _ => v,
            }
        };
        let kernel = list(kernel, &|_| 1);
        let stride = list(stride, &|d| kernel[d]);
        Windows {
            stride,
            padding: list(padding, &|_| 0),
            dilation: list(dilation, &|_| 1),
            input: Dims::from_slice(&input[input.len() - spatial..]),
            output: Dims::from_slice(&output[output.len() - spatial..]),
            kernel,
        }
    }
    /// Number of spatial dims.
    pub(super) fn spatial(&self) -> usize {
        self.kernel.len()
    }
    /// Sizes of the padded data that all windows together cover, along dim `d`.
    pub(super) fn covered(&self, d: usize) -> i64 {
        (self.output[d] - 1) * self.stride[d] + self.dilation[d] * (self.kernel[d] - 1) + 1
    }
    /// First position of window `o` along dim `d`; negative inside the padding.
    pub(super) fn start(&self, d: usize, o: i64) -> i64 {
        o * self.stride[d] - self.padding[d]
    }
    /// The data padded with `value` (and cut) to what the windows cover.
    pub(super) fn pad<'m>(&self, mut x: Expr<'m>, value: Scalar) -> Expr<'m> {
        let lead = x.rank() - self.spatial();
        for d in 0..self.spatial() {
            let high = self.covered(d) - self.input[d] - self.padding[d];
            x = x.pad_dim(value, lead + d, self.padding[d], high, 0);
        }
        x
    }
    /// Element `k` of every window along dim `d`, from padded data.
    pub(super) fn element<'m>(&self, x: Expr<'m>, d: usize, k: i64) -> Expr<'m> {
        let dim = x.rank() - self.spatial() + d;
        let first = k * self.dilation[d];
        let limit = first + (self.output[d] - 1) * self.stride[d] + 1;
        x.steps(dim, first, limit, self.stride[d])
    }
    /// The adjoint of [`Windows::element`]: puts window values at element `k` of padded data.
    pub(super) fn put_element<'m>(&self, g: Expr<'m>, d: usize, k: i64) -> Expr<'m> {
        let dim = g.rank() - self.spatial() + d;
        let first = k * self.dilation[d];
        let used = first + (self.output[d] - 1) * self.stride[d] + 1;
        g.pad_dim(Scalar::Int(0), dim, first, self.covered(d) - used, self.stride[d] - 1)
    }
    /// Every element of a window, as one position per dim, in row-major order.
    pub(super) fn elements(&self) -> Vec<Dims> {
        let mut all = vec![Dims::new()];
        for &k in &self.kernel {
            all = all
                .iter()
                .flat_map(|p| {
                    (0..k).map(move |i| {
                        let mut q = p.clone();
                        q.push(i);
                        q
                    })
                })
                .collect();
        }
        all
    }
}
