//! Joins, triangles, views' gradients, and sorting, against values that PyTorch computes.

mod common;

use common::{assert_close, Call};
use tnrs_types::DType::{F32, I64};
use tnrs_types::Scalar;

#[test]
fn empty_vectors_join_anything() {
    let got = Call::new("aten::cat")
        .list(&[(F32, &[0], &[]), (F32, &[1, 2], &[1.0, 2.0]), (I64, &[1, 2], &[3.0, 4.0])])
        .int(0)
        .one(F32, &[2, 2]);
    assert_eq!(got, [1.0, 2.0, 3.0, 4.0]);
}

#[test]
fn padding_may_cut() {
    let got = Call::new("aten::constant_pad_nd")
        .f32(&[1, 3], &[1.0, 2.0, 3.0])
        .ints(&[-1, 2, 1, 0])
        .scalar(Scalar::Float(9.0))
        .one(F32, &[2, 4]);
    assert_eq!(got, [9.0, 9.0, 9.0, 9.0, 2.0, 3.0, 9.0, 9.0]);
}

#[test]
fn triangles_and_diagonals() {
    let tril = Call::new("aten::tril").f32(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).int(-1);
    assert_eq!(tril.one(F32, &[2, 3]), [0.0, 0.0, 0.0, 4.0, 0.0, 0.0]);
    let diag = Call::new("aten::diag_embed").f32(&[2], &[1.0, 2.0]).int(-1).int(0).int(1);
    assert_eq!(diag.one(F32, &[3, 3]), [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 2.0, 0.0]);
    let trace = Call::new("aten::trace").f32(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    assert_eq!(trace.one(F32, &[]), [6.0]);
}

#[test]
fn overlapping_windows_add_their_gradients() {
    let got = Call::new("aten::unfold_backward")
        .f32(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
        .ints(&[5])
        .int(0)
        .int(3)
        .int(2)
        .one(F32, &[5]);
    assert_eq!(got, [1.0, 2.0, 7.0, 5.0, 6.0]);
}

#[test]
fn a_stepped_slice_spreads_its_gradient() {
    let got = Call::new("aten::slice_backward")
        .f32(&[2], &[1.0, 2.0])
        .ints(&[5])
        .int(0)
        .int(-4)
        .int(i64::MAX)
        .int(2)
        .one(F32, &[5]);
    assert_eq!(got, [0.0, 1.0, 0.0, 2.0, 0.0]);
}

#[test]
fn repeats_and_rolls() {
    let repeat = Call::new("aten::repeat").f32(&[2], &[1.0, 2.0]).ints(&[2, 2]);
    assert_eq!(repeat.one(F32, &[2, 4]), [1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0]);
    let roll = Call::new("aten::roll").f32(&[2, 2], &[1.0, 2.0, 3.0, 4.0]).ints(&[1]).ints(&[]);
    assert_eq!(roll.one(F32, &[2, 2]), [4.0, 1.0, 2.0, 3.0]);
}

#[test]
fn nan_sorts_as_the_greatest() {
    let nan = f64::NAN;
    let got = Call::new("aten::sort")
        .f32(&[4], &[2.0, nan, 1.0, 2.0])
        .int(0)
        .flag(true)
        .run(&[(F32, &[4]), (I64, &[4])]);
    assert_close(F32, &got.rets[0], &[nan, 2.0, 2.0, 1.0]);
    assert_eq!(got.rets[1], [1.0, 0.0, 3.0, 2.0]);
}

#[test]
fn medians_propagate_or_ignore_nan() {
    let x = [3.0, 1.0, 2.0, 4.0, 1.0, f64::NAN, 0.0, 2.0];
    let call =
        |op: &str| Call::new(op).f32(&[2, 4], &x).int(1).flag(false).run(&[(F32, &[2]), (I64, &[2])]).rets;
    let [values, at] = &call("aten::median.dim")[..] else { panic!("two results") };
    assert_close(F32, values, &[2.0, f64::NAN]);
    assert_eq!(*at, [2.0, 1.0]);
    assert_eq!(call("aten::nanmedian.dim"), [vec![2.0, 1.0], vec![2.0, 0.0]]);
}

#[test]
fn histograms_include_the_upper_bound() {
    let got = Call::new("aten::histc")
        .f32(&[6], &[0.0, 1.0, 2.0, 2.0, 4.0, 9.0])
        .int(4)
        .known(Scalar::Int(0))
        .known(Scalar::Int(4))
        .one(F32, &[4]);
    assert_eq!(got, [1.0, 1.0, 2.0, 1.0]);
}
