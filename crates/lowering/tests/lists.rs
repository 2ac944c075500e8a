//! Rules over tensor lists: foreach, optimizers, gradient scaling.

mod common;

use common::{assert_close, Call};
use tnrs_lowering::Arg;
use tnrs_types::DType::{BF16, F32, I32};
use tnrs_types::{DType, Scalar};

type Item<'a> = (DType, &'a [i64], &'a [f64]);

#[test]
fn a_shared_number_is_one_operand() {
    let xs: [Item; 2] = [(F32, &[2], &[1.0, 2.0]), (BF16, &[1], &[3.0])];
    let got = Call::new("aten::_foreach_mul.Scalar")
        .list(&xs)
        .scalar(Scalar::Float(0.5))
        .run(&[(F32, &[2]), (BF16, &[1])]);
    assert_eq!(got.rets, [vec![0.5, 1.0], vec![1.5]]);
}

#[test]
fn lists_add_with_alpha() {
    let xs: [Item; 2] = [(F32, &[2], &[1.0, 2.0]), (F32, &[], &[3.0])];
    let got = Call::new("aten::_foreach_add.List")
        .list(&xs)
        .list(&xs)
        .scalar(Scalar::Int(2))
        .run(&[(F32, &[2]), (F32, &[])]);
    assert_eq!(got.rets, [vec![3.0, 6.0], vec![9.0]]);
}

#[test]
fn norms_of_a_list() {
    let got = Call::new("aten::_foreach_norm.Scalar")
        .list(&[(F32, &[2], &[3.0, 4.0]), (F32, &[1, 1], &[-2.0])])
        .known(Scalar::Int(2))
        .arg(Arg::None)
        .run(&[(F32, &[]), (F32, &[])]);
    assert_eq!(got.rets, [vec![5.0], vec![2.0]]);
}

#[test]
fn adamw_step() {
    let got = Call::new("aten::_fused_adamw_")
        .list(&[(F32, &[2], &[1.0, 2.0])])
        .list(&[(F32, &[2], &[0.5, -1.0])])
        .list(&[(F32, &[2], &[0.1, 0.2])])
        .list(&[(F32, &[2], &[0.01, 0.02])])
        .list(&[])
        .list(&[(F32, &[], &[3.0])])
        .scalar(Scalar::Float(0.1))
        .arg(Arg::Float(0.9))
        .arg(Arg::Float(0.99))
        .arg(Arg::Float(0.1))
        .arg(Arg::Float(1e-8))
        .arg(Arg::Bool(false))
        .arg(Arg::Bool(false))
        .arg(Arg::None)
        .arg(Arg::None)
        .run(&[]);
    let want: [(usize, [f64; 2]); 3] =
        [(0, [0.910_047_23, 1.950_528_86]), (2, [0.14, 0.08]), (3, [0.0124, 0.0298])];
    assert_eq!(got.writes.len(), want.len());
    for ((arg, elem, v), (want_arg, w)) in got.writes.iter().zip(want) {
        assert_eq!((*arg, *elem), (want_arg, 0));
        assert_close(F32, v, &w);
    }
}

#[test]
fn adagrad_step() {
    let got = Call::new("aten::_fused_adagrad_")
        .list(&[(F32, &[2], &[1.0, 2.0])])
        .list(&[(F32, &[2], &[0.5, -1.0])])
        .list(&[(F32, &[2], &[0.1, 0.2])])
        .list(&[(F32, &[], &[3.0])])
        .scalar(Scalar::Float(0.1))
        .arg(Arg::Float(0.01))
        .arg(Arg::Float(0.1))
        .arg(Arg::Float(1e-8))
        .arg(Arg::Bool(false))
        .arg(Arg::None)
        .arg(Arg::None)
        .run(&[]);
    assert_close(F32, &got.writes[0].2, &[0.913_269_46, 2.085_575_6]);
    assert_close(F32, &got.writes[1].2, &[0.46, 0.84]);
}

#[test]
fn an_infinite_gradient_is_found() {
    let unscale = |g: f64| {
        Call::new("aten::_amp_foreach_non_finite_check_and_unscale_")
            .list(&[(F32, &[2], &[g, 1.0]), (F32, &[1], &[4.0])])
            .f32(&[], &[0.0])
            .f32(&[], &[0.5])
            .run(&[])
            .writes
    };
    let finite = unscale(2.0);
    assert_eq!(finite[1], (0, 1, vec![2.0]));
    assert_eq!(finite[2], (1, 0, vec![0.0]));
    assert_eq!(unscale(f64::INFINITY)[2], (1, 0, vec![1.0]));
}

#[test]
fn the_scale_grows_after_its_interval_and_shrinks_after_an_infinity() {
    let update = |tracker: f64, found: f64| {
        let r = Call::new("aten::_amp_update_scale_")
            .f32(&[], &[8.0])
            .tensor(I32, &[], &[tracker])
            .f32(&[], &[found])
            .arg(Arg::Float(2.0))
            .arg(Arg::Float(0.5))
            .arg(Arg::Int(3))
            .run(&[]);
        (r.writes[0].2[0], r.writes[1].2[0])
    };
    assert_eq!(update(0.0, 0.0), (8.0, 1.0));
    assert_eq!(update(2.0, 0.0), (16.0, 0.0));
    assert_eq!(update(2.0, 1.0), (4.0, 0.0));
}
