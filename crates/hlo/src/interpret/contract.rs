//! `dot_general` and `convolution`: sums of products, rounded once.

use tnrs_types::{BinaryKind, DType, Dims};

use super::tensor::{for_each, within};
use super::{binary, Element, Tensor};
use crate::{ConvAttrs, DotDims, TensorType};

/// `sum + a·b` in the widest type; integers wrap.
fn multiply_add(sum: Element, a: Element, b: Element, dtype: DType) -> Element {
    let product = binary::apply(BinaryKind::Multiply, a, b, dtype);
    let sum = binary::apply(BinaryKind::Add, sum, product, dtype);
    match sum {
        Element::Int(_) => sum.rounded(dtype),
        other => other,
    }
}

/// `dot_general`.
pub fn dot_general(dims: &DotDims, x: &Tensor, y: &Tensor, ty: &TensorType) -> Tensor {
    let free = |t: &Tensor, batch: &Dims, contract: &Dims| -> Dims {
        (0..t.ty.rank() as i64).filter(|d| !batch.contains(d) && !contract.contains(d)).collect()
    };
    let lhs_free = free(x, &dims.lhs_batch, &dims.lhs_contract);
    let rhs_free = free(y, &dims.rhs_batch, &dims.rhs_contract);
    let contracted: Dims = dims.lhs_contract.iter().map(|&d| x.ty.dims[d as usize]).collect();
    let batches = dims.lhs_batch.len();
    Tensor::generate(ty, |i| {
        let mut left: Dims = smallvec::smallvec![0; x.ty.rank()];
        let mut right: Dims = smallvec::smallvec![0; y.ty.rank()];
        let place = |to: &mut Dims, dims: &[i64], from: &[i64]| {
            for (&d, &i) in dims.iter().zip(from) {
                to[d as usize] = i;
            }
        };
        place(&mut left, &dims.lhs_batch, i);
        place(&mut right, &dims.rhs_batch, i);
        place(&mut left, &lhs_free, &i[batches..]);
        place(&mut right, &rhs_free, &i[batches + lhs_free.len()..]);
        let mut sum = Element::zero(ty.dtype);
        for_each(&contracted, |k| {
            place(&mut left, &dims.lhs_contract, k);
            place(&mut right, &dims.rhs_contract, k);
            sum = multiply_add(sum, x.at(&left), y.at(&right), ty.dtype);
        });
        sum
    })
}

/// `convolution`.
pub fn convolution(a: &ConvAttrs, x: &Tensor, w: &Tensor, ty: &TensorType) -> Tensor {
    let d = &a.dims;
    let spatial = d.input_spatial.len();
    let size = |t: &Tensor, dim: i64| t.ty.dims[dim as usize];
    let out_features = size(w, d.kernel_output_feature);
    let in_features = size(w, d.kernel_input_feature);
    let batch = size(x, d.input_batch);
    let mut window: Dims = d.kernel_spatial.iter().map(|&k| size(w, k)).collect();
    window.push(in_features);
    Tensor::generate(ty, |i| {
        let feature = i[d.output_feature as usize];
        let group = feature / (out_features / a.feature_group_count);
        let batch_group = feature / (out_features / a.batch_group_count);
        let mut from: Dims = smallvec::smallvec![0; x.ty.rank()];
        let mut kernel: Dims = smallvec::smallvec![0; w.ty.rank()];
        from[d.input_batch as usize] =
            i[d.output_batch as usize] + batch_group * (batch / a.batch_group_count);
        kernel[d.kernel_output_feature as usize] = feature;
        let mut sum = Element::zero(ty.dtype);
        for_each(&window, |k| {
            let channel = k[spatial];
            from[d.input_feature as usize] = group * in_features + channel;
            kernel[d.kernel_input_feature as usize] = channel;
            let mut inside = true;
            for s in 0..spatial {
                let flip = a.window_reversal[s];
                let tap = if flip { window[s] - 1 - k[s] } else { k[s] };
                kernel[d.kernel_spatial[s] as usize] = tap;
                let at = i[d.output_spatial[s] as usize] * a.window_strides[s] + k[s] * a.rhs_dilation[s]
                    - a.padding_low[s];
                inside &= at % a.lhs_dilation[s] == 0;
                from[d.input_spatial[s] as usize] = at.div_euclid(a.lhs_dilation[s]);
            }
            if inside && within(&x.ty.dims, &from) {
                sum = multiply_add(sum, x.at(&from), w.at(&kernel), ty.dtype);
            }
        });
        sum
    })
}
