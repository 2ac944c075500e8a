//! Elementwise rules against values that PyTorch computes.

mod common;

use common::{assert_close, Call};
use tnrs_lowering::Arg;
use tnrs_types::DType::{self, Bool, BF16, F32, I64};
use tnrs_types::Scalar;

fn binary(op: &str, dtype: DType, x: &[f64], y: &[f64], out: DType, want: &[f64]) {
    let n = [x.len() as i64];
    let got = Call::new(op).tensor(dtype, &n, x).tensor(dtype, &n, y).arg(Arg::None).one(out, &n);
    assert_close(out, &got, want);
}

#[test]
fn floor_division_rounds_down_and_follows_the_divisor() {
    let (x, y) = ([7.0, -7.0, 7.0, -7.0, 0.3, 1.0], [2.0, 2.0, -2.0, -2.0, 0.1, 0.0]);
    let want = [3.0, -4.0, -4.0, 3.0, 3.0, f64::INFINITY];
    binary("aten::floor_divide", F32, &x, &y, F32, &want);
    let (x, y) = ([7.0, -7.0, 7.0, -7.0], [3.0, 3.0, -3.0, -3.0]);
    binary("aten::floor_divide", I64, &x, &y, I64, &[2.0, -3.0, -3.0, 2.0]);
    binary("aten::remainder.Tensor", I64, &x, &y, I64, &[1.0, 2.0, -2.0, -1.0]);
    binary("aten::fmod.Tensor", I64, &x, &y, I64, &[1.0, -1.0, 1.0, -1.0]);
}

#[test]
fn integer_division_gives_floats() {
    binary("aten::div.Tensor", I64, &[1.0, 3.0], &[2.0, 0.0], F32, &[0.5, f64::INFINITY]);
}

#[test]
fn greatest_divisors_and_least_multiples() {
    let (x, y) = ([12.0, -8.0, 0.0, 17.0], [18.0, 0.0, 0.0, 5.0]);
    binary("aten::gcd", I64, &x, &y, I64, &[6.0, 8.0, 0.0, 1.0]);
    binary("aten::lcm", I64, &[4.0, -6.0, 0.0], &[6.0, 4.0, 5.0], I64, &[12.0, 12.0, 0.0]);
}

#[test]
fn integer_powers() {
    let (x, y) = ([2.0, -1.0, 1.0, -1.0, 3.0], [-1.0, -3.0, -2.0, -2.0, 3.0]);
    binary("aten::pow.Tensor_Tensor", I64, &x, &y, I64, &[0.0, -1.0, 1.0, 1.0, 27.0]);
}

#[test]
fn neighbours_of_floats() {
    let (x, y) = ([0.0, 1.0, -1.0, 1.0], [1.0, 0.0, -2.0, 1.0]);
    let f = |bits: u32| f64::from(f32::from_bits(bits));
    let n = [4];
    let got = Call::new("aten::nextafter").f32(&n, &x).f32(&n, &y).one(F32, &n);
    assert_eq!(got, [f(1), f(0x3f7f_ffff), f(0xbf80_0001), 1.0]);
}

#[test]
fn bool_sums_are_disjunctions() {
    let n = [4];
    let (x, y) = ([0.0, 0.0, 1.0, 1.0], [0.0, 1.0, 0.0, 1.0]);
    let call = |op| Call::new(op).tensor(Bool, &n, &x).tensor(Bool, &n, &y);
    let sum = call("aten::add.Tensor").arg(Arg::None).one(Bool, &n);
    assert_eq!(sum, [0.0, 1.0, 1.0, 1.0]);
    assert_eq!(call("aten::mul.Tensor").one(Bool, &n), [0.0, 0.0, 0.0, 1.0]);
}

#[test]
fn alpha_multiplies_in_f32_and_rounds_once() {
    let got = Call::new("aten::add.Tensor")
        .tensor(BF16, &[2], &[1.0, 256.0])
        .tensor(BF16, &[2], &[0.0100_f32 as f64, 1.0])
        .scalar(Scalar::Int(3))
        .one(BF16, &[2]);
    assert_eq!(got, [1.03125, 260.0]);
}

#[test]
fn operands_of_different_sizes_and_types_promote() {
    let got = Call::new("aten::mul.Tensor")
        .tensor(I64, &[2, 1], &[2.0, 3.0])
        .f32(&[3], &[0.5, 1.0, 1.5])
        .one(F32, &[2, 3]);
    assert_eq!(got, [1.0, 2.0, 3.0, 1.5, 3.0, 4.5]);
    let got = Call::new("aten::gt.Scalar")
        .tensor(I64, &[3], &[0.0, 1.0, 2.0])
        .scalar(Scalar::Float(0.5))
        .one(Bool, &[3]);
    assert_eq!(got, [0.0, 1.0, 1.0]);
}

#[test]
fn bounds_propagate_nan() {
    let got = Call::new("aten::clamp")
        .f32(&[4], &[f64::NAN, -3.0, 0.5, 7.0])
        .scalar(Scalar::Float(-1.0))
        .scalar(Scalar::Float(2.0))
        .one(F32, &[4]);
    assert_close(F32, &got, &[f64::NAN, -1.0, 0.5, 2.0]);
    binary("aten::fmax", F32, &[f64::NAN, 1.0], &[2.0, f64::NAN], F32, &[2.0, 1.0]);
    binary("aten::maximum", F32, &[f64::NAN, 1.0], &[2.0, 3.0], F32, &[f64::NAN, 3.0]);
}

#[test]
fn rounding_and_signs() {
    let x = [0.5, 1.5, 2.5, -0.5, -1.5, f64::NAN];
    let one = |op: &str| Call::new(op).f32(&[6], &x).one(F32, &[6]);
    assert_close(F32, &one("aten::round"), &[0.0, 2.0, 2.0, 0.0, -2.0, f64::NAN]);
    assert_close(F32, &one("aten::sign"), &[1.0, 1.0, 1.0, -1.0, -1.0, 0.0]);
    let bits = Call::new("aten::signbit").f32(&[3], &[-0.0, 0.0, -1.0]).one(Bool, &[3]);
    assert_eq!(bits, [1.0, 0.0, 1.0]);
}

#[test]
fn shifts_out_of_range() {
    let (x, y) = ([1.0, 2.0, -8.0, 8.0], [64.0, -1.0, 70.0, 1.0]);
    binary("aten::bitwise_left_shift.Tensor", I64, &x, &y, I64, &[0.0, 0.0, 0.0, 16.0]);
    binary("aten::bitwise_right_shift.Tensor", I64, &x, &y, I64, &[0.0, 0.0, -1.0, 4.0]);
}

#[test]
fn interpolation_is_exact_at_both_ends() {
    let lerp = |w: f64| {
        Call::new("aten::lerp.Scalar")
            .f32(&[2], &[0.0, 1.0])
            .f32(&[2], &[10.0, 5.0])
            .scalar(Scalar::Float(w))
            .one(F32, &[2])
    };
    assert_close(F32, &lerp(0.7), &[7.0, 3.8]);
    assert_eq!(lerp(1.0), [10.0, 5.0]);
}

#[test]
fn activations() {
    let one = |v: f64| Scalar::Float(v);
    let elu = Call::new("aten::elu")
        .f32(&[3], &[-1.0, 0.0, 2.0])
        .scalar(one(0.5))
        .scalar(one(1.0))
        .scalar(one(1.0))
        .one(F32, &[3]);
    assert_close(F32, &elu, &[-0.316_060_28, 0.0, 2.0]);
    let softplus = Call::new("aten::softplus")
        .f32(&[3], &[-1.0, 0.0, 30.0])
        .scalar(one(1.0))
        .scalar(one(20.0))
        .one(F32, &[3]);
    assert_close(F32, &softplus, &[0.313_261_69, std::f64::consts::LN_2, 30.0]);
    let hardswish = Call::new("aten::hardswish").f32(&[4], &[-4.0, -1.0, 1.0, 4.0]).one(F32, &[4]);
    assert_close(F32, &hardswish, &[0.0, -0.333_333_34, 0.666_666_7, 4.0]);
    let logit = Call::new("aten::logit").f32(&[3], &[0.2, 0.5, 0.9]).arg(Arg::None).one(F32, &[3]);
    assert_close(F32, &logit, &[-1.386_294_4, 0.0, 2.197_224_6]);
}

#[test]
fn gated_halves() {
    let got =
        Call::new("aten::glu").f32(&[1, 4], &[1.0, 2.0, 0.0, 100.0]).arg(Arg::Int(-1)).one(F32, &[1, 2]);
    assert_close(F32, &got, &[0.5, 2.0]);
}
