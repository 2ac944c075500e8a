//! Fills, ranges, copies and special functions.

mod common;

use common::{assert_close, Call};
use tnrs_lowering::Arg;
use tnrs_types::DType::{Bool, F32, F64, I32, I64};
use tnrs_types::Scalar;

#[test]
fn copies_convert_and_broadcast() {
    let written = |dtype| {
        Call::new("aten::copy_")
            .tensor(dtype, &[2, 2], &[9.0; 4])
            .f32(&[2], &[-2.75, 0.0])
            .run(&[])
            .writes
            .remove(0)
    };
    assert_eq!(written(I32), (0, 0, vec![-2.0, 0.0, -2.0, 0.0]));
    assert_eq!(written(Bool), (0, 0, vec![1.0, 0.0, 1.0, 0.0]));
    assert_eq!(written(F64), (0, 0, vec![-2.75, 0.0, -2.75, 0.0]));
}

#[test]
fn fills() {
    let fill = Call::new("aten::fill_.Scalar").tensor(I64, &[2], &[0.0; 2]).scalar(Scalar::Int(7)).run(&[]);
    assert_eq!(fill.writes, [(0, 0, vec![7.0, 7.0])]);
    let zero = Call::new("aten::zero_").f32(&[2], &[1.0, 2.0]).run(&[]);
    assert_eq!(zero.writes, [(0, 0, vec![0.0, 0.0])]);
}

#[test]
fn ranges_do_not_accumulate_error() {
    let range = Call::new("aten::arange.start_out")
        .scalar(Scalar::Float(0.0))
        .scalar(Scalar::Float(1000.0))
        .scalar(Scalar::Float(0.1))
        .one(F32, &[10000]);
    assert_eq!(range[9999], f64::from(999.9_f32));
    let space = Call::new("aten::linspace.out")
        .scalar(Scalar::Int(-3))
        .scalar(Scalar::Int(4))
        .arg(Arg::Int(5))
        .one(I64, &[5]);
    assert_eq!(space, [-3.0, -1.0, 0.0, 2.0, 4.0]);
}

#[test]
fn special_functions_at_known_points() {
    let one = |op: &str, x: f64| Call::new(op).tensor(F64, &[1], &[x]).one(F64, &[1]);
    assert_close(F64, &one("aten::i0", 1.0), &[1.266_065_877_752_008_4]);
    assert_close(F64, &one("aten::special_i1e", -10.0), &[-0.121_262_681_384_455_56]);
    assert_close(F64, &one("aten::special_erfcx", 3.0), &[0.179_001_151_181_389_93]);
}
