//! Matrix products and convolutions against values that PyTorch computes.

mod common;

use common::Call;
use tnrs_hlo::Op;
use tnrs_lowering::Arg;
use tnrs_types::DType::{BF16, F32};
use tnrs_types::Scalar;

#[test]
fn a_zero_beta_ignores_nan() {
    let nan = f64::NAN;
    let call = |beta: Call| beta.known(Scalar::Int(1)).one(F32, &[2, 2]);
    let base = || {
        Call::new("aten::addmm").f32(&[2], &[nan, nan]).f32(&[2, 1], &[1.0, 2.0]).f32(&[1, 2], &[3.0, 4.0])
    };
    assert_eq!(call(base().known(Scalar::Int(0))), [3.0, 4.0, 6.0, 8.0]);
    assert!(call(base().scalar(Scalar::Float(0.5))).iter().all(|v| v.is_nan()));
}

#[test]
fn reduced_floats_round_once_after_the_epilogue() {
    // 257 is not a bf16 number: rounding the product first would give 256 + 1 = 257 → 256.
    let got = Call::new("aten::addmm")
        .tensor(BF16, &[1], &[1.0])
        .tensor(BF16, &[1, 2], &[256.0, 1.0])
        .tensor(BF16, &[2, 1], &[1.0, 1.0])
        .known(Scalar::Int(1))
        .known(Scalar::Int(1))
        .one(BF16, &[1, 1]);
    assert_eq!(got, [258.0]);
}

#[test]
fn batches_sum_in_one_product() {
    let got = Call::new("aten::addbmm")
        .f32(&[1, 1], &[100.0])
        .f32(&[2, 1, 2], &[1.0, 2.0, 3.0, 4.0])
        .f32(&[2, 2, 1], &[1.0, 1.0, 2.0, 2.0])
        .scalar(Scalar::Float(0.5))
        .scalar(Scalar::Float(2.0))
        .one(F32, &[1, 1]);
    assert_eq!(got, [84.0]);
}

#[test]
fn a_linear_layer_is_one_product_and_one_sum() {
    let call = Call::new("aten::addmm")
        .f32(&[3], &[0.0; 3])
        .f32(&[2, 4], &[0.0; 8])
        .f32(&[4, 3], &[0.0; 12])
        .known(Scalar::Int(1))
        .known(Scalar::Int(1));
    let ops = call.ops(&[(F32, &[2, 3])]);
    assert!(matches!(ops[..], [Op::DotGeneral(_), Op::BroadcastInDim { .. }, Op::Binary(_)]), "{ops:?}");
}

/// stride, padding, dilation, transposed, output_padding, groups.
fn geometry(call: Call, g: [i64; 3], transposed: bool, output_padding: i64, groups: i64) -> Call {
    call.ints(&g[..1]).ints(&g[1..2]).ints(&g[2..]).flag(transposed).ints(&[output_padding]).int(groups)
}

const X: [f64; 16] = [1.0, 2.0, 3.0, 4.0, 0.0, 1.0, 2.0, 3.0, 4.0, 0.0, 1.0, 2.0, 3.0, 4.0, 0.0, 1.0];
const W: [f64; 12] = [0.0, 1.0, 2.0, -1.0, 0.0, 1.0, 2.0, -1.0, 0.0, 1.0, 2.0, -1.0];

#[test]
fn grouped_strided_dilated_convolution() {
    let call = Call::new("aten::convolution_overrideable")
        .f32(&[1, 2, 8], &X)
        .f32(&[4, 1, 3], &W)
        .f32(&[4], &[1.0, 0.0, -1.0, 2.0]);
    let got = geometry(call, [2, 1, 2], false, 0, 2).one(F32, &[1, 4, 3]);
    assert_eq!(got, [11.0, 7.0, 8.0, 4.0, -1.0, -1.0, -1.0, -3.0, -1.0, 0.0, 2.0, 11.0]);
}

#[test]
fn gradients_of_a_grouped_strided_dilated_convolution() {
    let dy: Vec<f64> = (0..12).map(|i| f64::from(i % 3) - 1.0).collect();
    let call = Call::new("aten::convolution_backward_overrideable")
        .f32(&[1, 4, 3], &dy)
        .f32(&[1, 2, 8], &X)
        .f32(&[4, 1, 3], &W);
    let got = geometry(call, [2, 1, 2], false, 0, 2).arg(Arg::Bools(vec![true, true, true])).run(&[
        (F32, &[1, 2, 8]),
        (F32, &[4, 1, 3]),
        (F32, &[4]),
    ]);
    let dx = [0.0, -1.0, 0.0, -4.0, 0.0, 1.0, 0.0, 3.0, 0.0, -1.0, 0.0, 4.0, 0.0, 1.0, 0.0, -1.0];
    let dw = [4.0, -1.0, -1.0, 4.0, -1.0, -1.0, 2.0, 4.0, -1.0, 2.0, 4.0, -1.0];
    assert_eq!(got.rets, [dx.to_vec(), dw.to_vec(), vec![0.0; 4]]);
}

#[test]
fn transposed_convolution_and_its_gradients() {
    let x = [1.0, 2.0, 3.0, 4.0, 0.0, 1.0];
    let call = Call::new("aten::convolution_overrideable").f32(&[1, 2, 3], &x).f32(&[2, 2, 3], &W).none();
    let y = geometry(call, [2, 1, 1], true, 1, 2).one(F32, &[1, 4, 6]);
    let want = [
        1.0, 2.0, 2.0, 4.0, 3.0, 6.0, 0.0, -1.0, 0.0, -1.0, 0.0, 3.0, -4.0, 0.0, 0.0, 2.0, -1.0, 0.0, 8.0,
        -4.0, 0.0, 1.0, 2.0, -1.0,
    ];
    assert_eq!(y, want);
    let dy: Vec<f64> = (0..24).map(|i| f64::from(i % 3) - 1.0).collect();
    let call = Call::new("aten::convolution_backward_overrideable")
        .f32(&[1, 4, 6], &dy)
        .f32(&[1, 2, 3], &x)
        .f32(&[2, 2, 3], &W);
    let got = geometry(call, [2, 1, 1], true, 1, 2)
        .arg(Arg::Bools(vec![true, true, false]))
        .run(&[(F32, &[1, 2, 3]), (F32, &[2, 2, 3])]);
    let dx = vec![-1.0, -2.0, 4.0, -1.0, 2.0, -4.0];
    let dw = vec![-3.0, 1.0, 1.0, -3.0, 1.0, 1.0, -1.0, -4.0, 1.0, -1.0, -4.0, 1.0];
    assert_eq!(got.rets, [dx, dw]);
    assert_eq!(got.returns.len(), 3);
}
