//! Random fills: ranges, moments and reproducibility, at sizes where chance failures are out of the question.

mod common;

use common::Call;
use tnrs_lowering::Arg;
use tnrs_types::DType;
use tnrs_types::DType::{Bool, F32, F64, I64};

const N: usize = 4000;

fn fill(op: &str, dtype: DType, args: &[Arg]) -> Vec<f64> {
    let mut call = Call::new(op).tensor(dtype, &[N as i64], &vec![0.0; N]);
    for a in args {
        call = call.arg(a.clone());
    }
    call.run(&[]).writes.remove(0).2
}

fn moments(v: &[f64]) -> (f64, f64) {
    let mean = v.iter().sum::<f64>() / v.len() as f64;
    let var = v.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / v.len() as f64;
    (mean, var.sqrt())
}

#[test]
fn uniform_numbers_fill_their_range() {
    for dtype in [F32, F64] {
        let v = fill("aten::uniform_", dtype, &[Arg::Float(2.0), Arg::Float(6.0)]);
        assert!(v.iter().all(|x| (2.0..6.0).contains(x)));
        let (mean, std) = moments(&v);
        assert!((mean - 4.0).abs() < 0.1, "{mean}");
        assert!((std - 4.0 / 12f64.sqrt()).abs() < 0.1, "{std}");
    }
}

#[test]
fn normal_numbers_have_their_moments() {
    for dtype in [F32, F64] {
        let v = fill("aten::normal_", dtype, &[Arg::Float(3.0), Arg::Float(2.0)]);
        let (mean, std) = moments(&v);
        assert!((mean - 3.0).abs() < 0.2, "{mean}");
        assert!((std - 2.0).abs() < 0.15, "{std}");
    }
}

#[test]
fn exponential_numbers_are_positive() {
    let v = fill("aten::exponential_", F32, &[Arg::Float(2.0)]);
    assert!(v.iter().all(|&x| x > 0.0));
    assert!((moments(&v).0 - 0.5).abs() < 0.05);
}

#[test]
fn random_integers_reach_both_ends() {
    let v = fill("aten::random_.from", I64, &[Arg::Int(-2), Arg::Int(3)]);
    let mut seen: Vec<i64> = v.iter().map(|&x| x as i64).collect();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen, [-2, -1, 0, 1, 2]);
    let wide = fill("aten::random_.from", I64, &[Arg::Int(i64::MIN), Arg::None]);
    assert!(wide.iter().any(|&x| x < 0.0) && wide.iter().any(|&x| x > 0.0));
}

#[test]
fn chances_are_kept() {
    let v = fill("aten::bernoulli_.float", F32, &[Arg::Float(0.25)]);
    assert!((moments(&v).0 - 0.25).abs() < 0.05);
    assert!(fill("aten::bernoulli_.float", F32, &[Arg::Float(1.0)]).iter().all(|&x| x == 1.0));
    assert!(fill("aten::bernoulli_.float", F32, &[Arg::Float(0.0)]).iter().all(|&x| x == 0.0));
}

#[test]
fn permutations_hold_every_index_once() {
    let v = Call::new("aten::randperm.generator_out").arg(Arg::Int(100)).arg(Arg::Generator).one(I64, &[100]);
    let mut sorted = v.clone();
    sorted.sort_by(f64::total_cmp);
    assert_eq!(sorted, (0..100).map(f64::from).collect::<Vec<_>>());
    assert_ne!(v, sorted);
}

#[test]
fn dropout_scales_what_it_keeps() {
    let n = N as i64;
    let r = Call::new("aten::native_dropout")
        .f32(&[n], &vec![3.0; N])
        .arg(Arg::Float(0.25))
        .arg(Arg::Bool(true))
        .run(&[(F32, &[n]), (Bool, &[n])]);
    for (y, keep) in r.rets[0].iter().zip(&r.rets[1]) {
        assert_eq!(*y, 4.0 * keep);
    }
    assert!((moments(&r.rets[1]).0 - 0.75).abs() < 0.05);
}

#[test]
fn draws_without_replacement_are_distinct_and_avoid_zero_weights() {
    let r = Call::new("aten::multinomial")
        .f32(&[4], &[0.0, 1.0, 2.0, 3.0])
        .arg(Arg::Int(3))
        .arg(Arg::Bool(false))
        .one(I64, &[3]);
    let mut drawn = r.clone();
    drawn.sort_by(f64::total_cmp);
    assert_eq!(drawn, [1.0, 2.0, 3.0]);
    let many = Call::new("aten::multinomial")
        .f32(&[4], &[0.0, 1.0, 0.0, 3.0])
        .arg(Arg::Int(2000))
        .arg(Arg::Bool(true))
        .one(I64, &[2000]);
    let share = many.iter().filter(|&&i| i == 3.0).count() as f64 / 2000.0;
    assert!(many.iter().all(|&i| i == 1.0 || i == 3.0));
    assert!((share - 0.75).abs() < 0.06, "{share}");
}
