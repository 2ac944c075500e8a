//! Reductions, norms and scans against values that PyTorch computes.

mod common;

use common::{assert_close, Call};
use tnrs_lowering::Arg;
use tnrs_types::DType::{Bool, BF16, F32, I64};
use tnrs_types::{Dims, Scalar};

const X: [f64; 6] = [1.0, 2.0, 4.0, 0.0, -1.0, 5.0];

fn dims(d: &[i64]) -> Arg {
    Arg::Ints(Dims::from_slice(d))
}

fn matrix(op: &str) -> Call {
    Call::new(op).f32(&[2, 3], &X)
}

#[test]
fn sums_keep_or_drop_dims() {
    let sum = matrix("aten::sum.dim_IntList").arg(dims(&[-1])).arg(Arg::Bool(true));
    assert_eq!(sum.one(F32, &[2, 1]), [7.0, 4.0]);
    let all = matrix("aten::sum.dim_IntList").arg(dims(&[])).arg(Arg::Bool(false));
    assert_eq!(all.one(F32, &[]), [11.0]);
    let ints = Call::new("aten::sum").tensor(Bool, &[3], &[1.0, 1.0, 1.0]).arg(Arg::None);
    assert_eq!(ints.one(I64, &[]), [3.0]);
}

#[test]
fn means_of_reduced_floats_accumulate_in_f32() {
    let mut x = vec![256.0; 300];
    x[0] = 1.0;
    let got = Call::new("aten::mean.dim")
        .tensor(BF16, &[300], &x)
        .arg(dims(&[0]))
        .arg(Arg::Bool(false))
        .one(BF16, &[]);
    assert_eq!(got, [255.0]);
}

#[test]
fn variance_and_its_correction() {
    let call = |op: &str, d: Arg, c: f64| matrix(op).arg(d).known(Scalar::Float(c)).arg(Arg::Bool(false));
    let var = call("aten::var.correction", dims(&[1]), 1.0).one(F32, &[2]);
    assert_close(F32, &var, &[7.0 / 3.0, 31.0 / 3.0]);
    let std = call("aten::std.correction", dims(&[0]), 0.0).one(F32, &[3]);
    assert_close(F32, &std, &[0.5, 1.5, 0.5]);
    let both = call("aten::var_mean.correction", Arg::None, 1.0).run(&[(F32, &[]), (F32, &[])]);
    assert_close(F32, &both.rets[0], &[5.366_666_8]);
    assert_close(F32, &both.rets[1], &[11.0 / 6.0]);
}

#[test]
fn norms_of_every_order() {
    let norm = |p: f64| {
        matrix("aten::linalg_vector_norm")
            .known(Scalar::Float(p))
            .arg(dims(&[1]))
            .arg(Arg::Bool(false))
            .one(F32, &[2])
    };
    assert_close(F32, &norm(3.0), &[4.179_339_4, 5.013_298]);
    assert_close(F32, &norm(2.0), &[21f64.sqrt(), 26f64.sqrt()]);
    assert_eq!(norm(0.0), [3.0, 2.0]);
    assert_eq!(norm(f64::INFINITY), [4.0, 5.0]);
    assert_eq!(norm(f64::NEG_INFINITY), [1.0, 0.0]);
}

#[test]
fn logsumexp_of_infinities() {
    let call = |x: &[f64]| {
        Call::new("aten::logsumexp")
            .f32(&[x.len() as i64], x)
            .arg(dims(&[0]))
            .arg(Arg::Bool(false))
            .one(F32, &[])
    };
    assert_close(F32, &call(&[1.0, 2.0, 4.0]), &[4.169_846]);
    assert_eq!(call(&[f64::INFINITY, 1.0]), [f64::INFINITY]);
    assert_eq!(call(&[f64::NEG_INFINITY; 2]), [f64::NEG_INFINITY]);
}

#[test]
fn positions_of_extremes() {
    let x = [1.0, f64::NAN, f64::NAN, 3.0];
    let got = Call::new("aten::argmax").f32(&[4], &x).arg(Arg::None).arg(Arg::Bool(false)).one(I64, &[]);
    assert_eq!(got, [1.0]);
    let pair =
        matrix("aten::min.dim").arg(Arg::Int(1)).arg(Arg::Bool(true)).run(&[(F32, &[2, 1]), (I64, &[2, 1])]);
    assert_eq!(pair.rets, [vec![1.0, -1.0], vec![0.0, 1.0]]);
}

#[test]
fn running_extremes_name_the_last_position() {
    let got = Call::new("aten::cummax")
        .f32(&[4], &[1.0, 3.0, 3.0, 2.0])
        .arg(Arg::Int(0))
        .run(&[(F32, &[4]), (I64, &[4])]);
    assert_eq!(got.rets, [vec![1.0, 3.0, 3.0, 3.0], vec![0.0, 1.0, 2.0, 2.0]]);
}

#[test]
fn truth_of_nan_and_of_nothing() {
    let any = Call::new("aten::any").f32(&[2], &[0.0, f64::NAN]).one(Bool, &[]);
    assert_eq!(any, [1.0]);
    let all = Call::new("aten::all").f32(&[0], &[]).one(Bool, &[]);
    assert_eq!(all, [1.0]);
}
