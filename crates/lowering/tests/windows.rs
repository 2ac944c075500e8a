//! Pooling, resizing and sliding blocks against values that PyTorch computes.

mod common;

use common::{assert_close, Call};
use tnrs_types::DType::{F32, I64};

fn counting(n: usize) -> Vec<f64> {
    (1..=n).map(|i| i as f64).collect()
}

#[test]
fn max_pooling_ignores_padding_and_keeps_nan() {
    let nan = f64::NAN;
    let got = Call::new("aten::max_pool2d_with_indices")
        .f32(&[1, 3, 4], &[1.0, 5.0, 2.0, 0.0, nan, 3.0, 3.0, 1.0, -7.0, -8.0, 9.0, 9.0])
        .ints(&[2, 2])
        .ints(&[2, 2])
        .ints(&[1, 1])
        .ints(&[1, 1])
        .flag(false)
        .run(&[(F32, &[1, 2, 3]), (I64, &[1, 2, 3])]);
    assert_close(F32, &got.rets[0], &[1.0, 5.0, 0.0, nan, 9.0, 9.0]);
    assert_eq!(got.rets[1], [0.0, 1.0, 3.0, 4.0, 10.0, 11.0]);
}

#[test]
fn a_window_of_minus_infinities_points_into_the_data() {
    let got = Call::new("aten::max_pool2d_with_indices")
        .f32(&[1, 1, 2], &[f64::NEG_INFINITY; 2])
        .ints(&[1, 2])
        .ints(&[1, 2])
        .ints(&[0, 1])
        .ints(&[1, 1])
        .flag(false)
        .run(&[(F32, &[1, 1, 2]), (I64, &[1, 1, 2])]);
    assert_eq!(got.rets[1], [0.0, 1.0]);
}

#[test]
fn overlapping_maxima_add_their_gradients() {
    let got = Call::new("aten::max_pool2d_with_indices_backward")
        .f32(&[1, 1, 3], &[1.0, 2.0, 4.0])
        .f32(&[1, 1, 4], &[0.0; 4])
        .ints(&[1, 2])
        .ints(&[1, 1])
        .ints(&[0, 0])
        .ints(&[1, 1])
        .flag(false)
        .tensor(I64, &[1, 1, 3], &[1.0, 1.0, 3.0])
        .one(F32, &[1, 1, 4]);
    assert_eq!(got, [0.0, 3.0, 0.0, 4.0]);
}

#[test]
fn averages_count_padding_or_not() {
    let pool = |include_pad: bool| {
        Call::new("aten::avg_pool2d")
            .f32(&[1, 3, 4], &counting(12))
            .ints(&[2, 3])
            .ints(&[2, 2])
            .ints(&[1, 1])
            .flag(true)
            .flag(include_pad)
            .none()
            .one(F32, &[1, 2, 3])
    };
    assert_close(F32, &pool(false), &[1.5, 3.0, 4.0, 7.5, 9.0, 10.0]);
    assert_close(F32, &pool(true), &[0.5, 1.5, 1.0, 5.0, 9.0, 5.0]);
}

#[test]
fn gradient_of_averages() {
    let got = Call::new("aten::avg_pool2d_backward")
        .f32(&[1, 2, 3], &[1.0; 6])
        .f32(&[1, 3, 4], &[0.0; 12])
        .ints(&[2, 3])
        .ints(&[2, 2])
        .ints(&[1, 1])
        .flag(true)
        .flag(false)
        .none()
        .one(F32, &[1, 3, 4]);
    let (top, bottom) = ([0.5, 5.0 / 6.0, 1.0 / 3.0, 4.0 / 3.0], [0.25, 5.0 / 12.0, 1.0 / 6.0, 2.0 / 3.0]);
    assert_close(F32, &got, &[top, bottom, bottom].concat());
}

#[test]
fn adaptive_windows_overlap() {
    let x = counting(12);
    let y = Call::new("aten::_adaptive_avg_pool2d").f32(&[1, 3, 4], &x).ints(&[2, 3]).one(F32, &[1, 2, 3]);
    assert_close(F32, &y, &[3.5, 4.5, 5.5, 7.5, 8.5, 9.5]);
    let dx = Call::new("aten::_adaptive_avg_pool2d_backward")
        .f32(&[1, 2, 3], &counting(6))
        .f32(&[1, 3, 4], &x)
        .one(F32, &[1, 3, 4]);
    assert_close(F32, &dx, &[0.25, 0.75, 1.25, 0.75, 1.25, 3.0, 4.0, 2.25, 1.0, 2.25, 2.75, 1.5]);
}

#[test]
fn resizing_by_each_rule() {
    let x = [1.0, 2.0, 4.0];
    let call = |op: &str| Call::new(op).f32(&[1, 1, 3], &x).ints(&[5]);
    let linear = |align: bool| call("aten::upsample_linear1d").flag(align).none().one(F32, &[1, 1, 5]);
    assert_close(F32, &linear(false), &[1.0, 1.4, 2.0, 3.2, 4.0]);
    assert_close(F32, &linear(true), &[1.0, 1.5, 2.0, 3.0, 4.0]);
    let nearest = |op: &str| call(op).none().one(F32, &[1, 1, 5]);
    assert_eq!(nearest("aten::upsample_nearest1d"), [1.0, 1.0, 2.0, 2.0, 4.0]);
    assert_eq!(nearest("aten::_upsample_nearest_exact1d"), [1.0, 1.0, 2.0, 4.0, 4.0]);
    let back = Call::new("aten::upsample_linear1d_backward")
        .f32(&[1, 1, 5], &[1.0; 5])
        .ints(&[5])
        .ints(&[1, 1, 3])
        .flag(false)
        .none()
        .one(F32, &[1, 1, 3]);
    assert_close(F32, &back, &[1.6, 1.8, 1.6]);
}

#[test]
fn reflection_and_its_gradient() {
    let x = [1.0, 2.0, 4.0];
    let y = Call::new("aten::reflection_pad1d").f32(&[1, 1, 3], &x).ints(&[2, 1]).one(F32, &[1, 1, 6]);
    assert_eq!(y, [4.0, 2.0, 1.0, 2.0, 4.0, 2.0]);
    let dx = Call::new("aten::reflection_pad1d_backward")
        .f32(&[1, 1, 6], &counting(6))
        .f32(&[1, 1, 3], &x)
        .ints(&[2, 1])
        .one(F32, &[1, 1, 3]);
    assert_eq!(dx, [3.0, 12.0, 6.0]);
}

#[test]
fn blocks_to_columns_and_back() {
    let geometry = |c: Call| c.ints(&[2, 2]).ints(&[1, 1]).ints(&[0, 0]).ints(&[1, 1]);
    let columns = geometry(Call::new("aten::im2col").f32(&[1, 1, 2, 3], &counting(6))).one(F32, &[1, 4, 2]);
    assert_eq!(columns, [1.0, 2.0, 2.0, 3.0, 4.0, 5.0, 5.0, 6.0]);
    let image =
        geometry(Call::new("aten::col2im").f32(&[1, 4, 2], &[1.0; 8]).ints(&[2, 3])).one(F32, &[1, 1, 2, 3]);
    assert_eq!(image, [1.0, 2.0, 1.0, 1.0, 2.0, 1.0]);
}
