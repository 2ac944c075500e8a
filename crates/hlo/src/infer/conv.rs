//! `convolution`.

use smallvec::smallvec;
use tnrs_types::{DType, Dims};

use super::{check, dot::accumulates, in_range, unique};
use crate::{ConvAttrs, HloError, TensorType};

const OP: &str = "convolution";

/// Size of a dim with `dilation - 1` holes between neighbours.
fn dilated(size: i64, dilation: i64) -> i64 {
    if size == 0 {
        0
    } else {
        (size - 1) * dilation + 1
    }
}

/// Whether the dims name each of `0..n` once.
fn covers(batch: i64, feature: i64, spatial: &[i64], n: usize) -> bool {
    let mut all: Dims = smallvec![batch, feature];
    all.extend_from_slice(spatial);
    in_range(&all, n) && unique(&all)
}

pub fn convolution(
    a: &ConvAttrs,
    x: &TensorType,
    w: &TensorType,
    out: DType,
) -> Result<TensorType, HloError> {
    let d = &a.dims;
    let n = x.rank();
    check!(n == w.rank() && n >= 2, OP, "convolution_c1", "operands are {x} and {w}");
    let s = n - 2;
    check!(a.window_strides.len() == s, OP, "convolution_c2", "strides {:?}", a.window_strides);
    check!(a.window_strides.iter().all(|&v| v > 0), OP, "convolution_c3", "strides {:?}", a.window_strides);
    check!(
        a.padding_low.len() == s && a.padding_high.len() == s,
        OP,
        "convolution_c4",
        "padding {:?} and {:?}",
        a.padding_low,
        a.padding_high
    );
    check!(a.lhs_dilation.len() == s, OP, "convolution_c5", "lhs dilation {:?}", a.lhs_dilation);
    check!(a.lhs_dilation.iter().all(|&v| v > 0), OP, "convolution_c6", "lhs dilation {:?}", a.lhs_dilation);
    check!(a.rhs_dilation.len() == s, OP, "convolution_c7", "rhs dilation {:?}", a.rhs_dilation);
    check!(a.rhs_dilation.iter().all(|&v| v > 0), OP, "convolution_c8", "rhs dilation {:?}", a.rhs_dilation);
    check!(a.window_reversal.len() == s, OP, "convolution_c9", "reversal {:?}", a.window_reversal);
    check!(
        d.input_spatial.len() == s,
        OP,
        "convolution_c12",
        "input spatial dims {:?} of {x}",
        d.input_spatial
    );
    check!(
        covers(d.input_batch, d.input_feature, &d.input_spatial, n),
        OP,
        "convolution_c13",
        "input dims of {x}"
    );
    check!(
        d.kernel_spatial.len() == s,
        OP,
        "convolution_c17",
        "kernel spatial dims {:?} of {w}",
        d.kernel_spatial
    );
    check!(
        covers(d.kernel_input_feature, d.kernel_output_feature, &d.kernel_spatial, n),
        OP,
        "convolution_c18",
        "kernel dims of {w}"
    );
    check!(d.output_spatial.len() == s, OP, "convolution_c19", "output spatial dims {:?}", d.output_spatial);
    check!(
        covers(d.output_batch, d.output_feature, &d.output_spatial, n),
        OP,
        "convolution_c20",
        "output dims"
    );
    let (groups, batches) = (a.feature_group_count, a.batch_group_count);
    check!(groups > 0, OP, "convolution_c21", "feature_group_count {groups}");
    check!(batches > 0, OP, "convolution_c22", "batch_group_count {batches}");
    check!(
        groups == 1 || batches == 1,
        OP,
        "convolution_c23",
        "feature_group_count {groups}, batch_group_count {batches}"
    );
    let batch = x.dims[d.input_batch as usize];
    let in_features = x.dims[d.input_feature as usize];
    let out_features = w.dims[d.kernel_output_feature as usize];
    check!(batch % batches == 0, OP, "convolution_c10", "batch {batch} in {batches} groups");
    check!(in_features % groups == 0, OP, "convolution_c11", "{in_features} features in {groups} groups");
    check!(
        w.dims[d.kernel_input_feature as usize] == in_features / groups,
        OP,
        "convolution_c14",
        "operands are {x} and {w}, feature_group_count {groups}"
    );
    check!(
        out_features % batches == 0,
        OP,
        "convolution_c15",
        "{out_features} output features in {batches} batch groups"
    );
    check!(
        out_features % groups == 0,
        OP,
        "convolution_c16",
        "{out_features} output features in {groups} groups"
    );
    check!(
        x.dtype == w.dtype && accumulates(x.dtype, out),
        OP,
        "convolution_c27",
        "operands are {x} and {w}, result is {}",
        out.hlo_name()
    );
    let mut dims: Dims = smallvec![0; n];
    dims[d.output_batch as usize] = batch / batches;
    dims[d.output_feature as usize] = out_features;
    for i in 0..s {
        let input = dilated(x.dims[d.input_spatial[i] as usize], a.lhs_dilation[i]);
        let padded = input + a.padding_low[i] + a.padding_high[i];
        let window = dilated(w.dims[d.kernel_spatial[i] as usize], a.rhs_dilation[i]);
        let empty = padded <= 0 || window > padded;
        dims[d.output_spatial[i] as usize] =
            if empty { 0 } else { (padded - window) / a.window_strides[i] + 1 };
    }
    Ok(TensorType { dtype: out, dims })
}
