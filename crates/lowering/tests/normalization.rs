//! Batch, group and RMS normalisation against values that PyTorch computes.

mod common;

use common::{assert_close, Call};
use tnrs_lowering::{Arg, Ret};
use tnrs_types::DType::F32;
use tnrs_types::Scalar;

const X: [f64; 6] = [1.0, 10.0, 3.0, 30.0, 5.0, 20.0];
const INVSTD: [f64; 2] = [0.612_372_4, 0.122_474_49];

#[test]
fn batch_norm_writes_the_running_statistics() {
    let got = Call::new("aten::native_batch_norm")
        .f32(&[3, 2], &X)
        .f32(&[2], &[2.0, 1.0])
        .f32(&[2], &[0.0, 1.0])
        .f32(&[2], &[0.0, 1.0])
        .f32(&[2], &[1.0, 2.0])
        .flag(true)
        .scalar(Scalar::Float(0.1))
        .arg(Arg::Float(0.0))
        .run(&[(F32, &[3, 2]), (F32, &[2]), (F32, &[2])]);
    assert_close(F32, &got.rets[0], &[-2.449_489_6, -0.224_744_92, 0.0, 2.224_744_8, 2.449_489_6, 1.0]);
    assert_close(F32, &got.rets[1], &[3.0, 20.0]);
    assert_close(F32, &got.rets[2], &INVSTD);
    let [(3, 0, mean), (4, 0, var)] = &got.writes[..] else { panic!("{:?}", got.writes) };
    assert_close(F32, mean, &[0.3, 2.9]);
    assert_close(F32, var, &[1.3, 11.8]);
}

#[test]
fn batch_norm_outside_training_writes_nothing() {
    let got = Call::new("aten::native_batch_norm")
        .f32(&[1, 1], &[5.0])
        .none()
        .none()
        .f32(&[1], &[1.0])
        .f32(&[1], &[4.0])
        .flag(false)
        .scalar(Scalar::Float(0.1))
        .arg(Arg::Float(0.0))
        .run(&[(F32, &[1, 1]), (F32, &[0]), (F32, &[0])]);
    assert_eq!(got.rets, [vec![2.0], vec![], vec![]]);
    assert!(got.writes.is_empty());
}

#[test]
fn gradients_of_batch_norm() {
    let got = Call::new("aten::native_batch_norm_backward")
        .f32(&[3, 2], &[1.0, 0.0, 0.0, 1.0, 0.0, 0.0])
        .f32(&[3, 2], &X)
        .f32(&[2], &[2.0, 1.0])
        .none()
        .none()
        .f32(&[2], &[3.0, 20.0])
        .f32(&[2], &INVSTD)
        .flag(true)
        .arg(Arg::Float(0.0))
        .arg(Arg::Bools(vec![true, true, true]))
        .run(&[(F32, &[3, 2]), (F32, &[2]), (F32, &[2])]);
    let dx = [0.204_124_1, 0.020_412_41, -0.408_248_3, 0.020_412_41, 0.204_124_1, -0.040_824_83];
    assert_close(F32, &got.rets[0], &dx);
    assert_close(F32, &got.rets[1], &[-1.224_744_9, 1.224_744_9]);
    assert_eq!(got.rets[2], [1.0, 1.0]);
}

#[test]
fn group_norm_scales_channels() {
    let got = Call::new("aten::native_group_norm")
        .f32(&[1, 4, 1], &[1.0, 3.0, 5.0, 7.0])
        .f32(&[4], &[1.0, 2.0, 1.0, 1.0])
        .none()
        .int(1)
        .int(4)
        .int(1)
        .int(2)
        .arg(Arg::Float(0.0))
        .run(&[(F32, &[1, 4, 1]), (F32, &[1, 2]), (F32, &[1, 2])]);
    assert_eq!(got.rets, [vec![-1.0, 2.0, -1.0, 1.0], vec![2.0, 6.0], vec![1.0, 1.0]]);
}

#[test]
fn rms_norm_without_epsilon_takes_that_of_the_computing_type() {
    let got = Call::new("aten::_fused_rms_norm")
        .f32(&[1, 2], &[0.0, 0.0])
        .ints(&[2])
        .none()
        .none()
        .run(&[(F32, &[1, 2]), (F32, &[1, 1])]);
    assert_close(F32, &got.rets[1], &[1.0 / f64::from(f32::EPSILON).sqrt()]);
}

#[test]
fn unwanted_gradients_are_undefined() {
    let got = Call::new("aten::native_layer_norm_backward")
        .f32(&[1, 2], &[1.0, 0.0])
        .f32(&[1, 2], &[1.0, 3.0])
        .ints(&[2])
        .f32(&[1, 1], &[2.0])
        .f32(&[1, 1], &[1.0])
        .none()
        .none()
        .arg(Arg::Bools(vec![false, false, true]))
        .run(&[(F32, &[2])]);
    assert!(matches!(got.returns[..], [Ret::Undefined, Ret::Undefined, Ret::Tensor(_)]));
    assert_eq!(got.rets, [vec![1.0, 0.0]]);
}
