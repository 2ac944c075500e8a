//! Scaled dot-product attention: its returns, its gradients, and the dropout that both share.

mod common;

use common::{assert_close, Call};
use tnrs_lowering::{Arg, Ret};
use tnrs_types::DType::{self, F32, I64};

const FORWARD: &str = "aten::_scaled_dot_product_fused_attention_overrideable";
const BACKWARD: &str = "aten::_scaled_dot_product_fused_attention_overrideable_backward";
const Q: [f64; 4] = [1.0, 0.0, 0.0, 2.0];
const K: [f64; 6] = [1.0, 1.0, -1.0, 1.0, 0.0, 1.0];
const V: [f64; 6] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
const OUT: [f64; 4] = [2.301_102_6, 3.301_102_6, 2.690_604_2, 3.690_604_2];
const LSE: [f64; 2] = [1.298_916_2, 2.407_605_9];

#[test]
fn returns_are_those_of_the_schema() {
    let got = Call::new(FORWARD)
        .f32(&[1, 1, 2, 2], &Q)
        .f32(&[1, 1, 3, 2], &K)
        .f32(&[1, 1, 3, 2], &V)
        .f32(&[3], &[0.0, 1.0, -1.0])
        .arg(Arg::Float(0.0))
        .flag(false)
        .flag(false)
        .arg(Arg::Float(0.5))
        .run(&[(F32, &[1, 1, 2, 2]), (F32, &[1, 1, 2]), (I64, &[]), (I64, &[])]);
    assert_close(F32, &got.rets[0], &OUT);
    assert_close(F32, &got.rets[1], &LSE);
    assert!(matches!(
        got.returns[..],
        [
            Ret::Tensor(_),
            Ret::Tensor(_),
            Ret::Undefined,
            Ret::Undefined,
            Ret::Int(2),
            Ret::Int(3),
            Ret::Tensor(_),
            Ret::Tensor(_),
            Ret::Undefined
        ]
    ));
}

#[test]
fn gradients_reach_a_broadcast_bias() {
    let types: [(DType, &[i64]); 4] =
        [(F32, &[1, 1, 2, 2]), (F32, &[1, 1, 3, 2]), (F32, &[1, 1, 3, 2]), (F32, &[3])];
    let got = Call::new(BACKWARD)
        .f32(&[1, 1, 2, 2], &[1.0, 0.0, 0.0, -1.0])
        .f32(&[1, 1, 2, 2], &Q)
        .f32(&[1, 1, 3, 2], &K)
        .f32(&[1, 1, 3, 2], &V)
        .f32(&[3], &[0.0, 1.0, -1.0])
        .arg(Arg::Bools(vec![true; 4]))
        .f32(&[1, 1, 2, 2], &OUT)
        .f32(&[1, 1, 2], &LSE)
        .none()
        .none()
        .int(2)
        .int(3)
        .arg(Arg::Float(0.0))
        .flag(false)
        .tensor(I64, &[], &[0.0])
        .tensor(I64, &[], &[0.0])
        .arg(Arg::Float(0.5))
        .run(&types);
    assert_close(F32, &got.rets[0], &[-0.449_816_2, 0.0, 0.309_780_87, 0.0]);
    let dk = [-0.292_628_53, 0.413_739, 0.157_187_67, -0.205_822_74, 0.135_440_87, -0.207_916_22];
    assert_close(F32, &got.rets[1], &dk);
    let dv = [0.449_816_2, -0.244_728_48, 0.449_816_2, -0.665_240_94, 0.100_367_56, -0.090_030_573];
    assert_close(F32, &got.rets[2], &dv);
    assert_close(F32, &got.rets[3], &[-0.171_518_06, 0.108_552_59, 0.062_965_512]);
}

/// With the identity as values, the output is the matrix of dropped weights, and the gradient of the values for an
/// identity gradient is its transpose: both must have drawn the same numbers.
#[test]
fn the_backward_replays_the_dropout_of_the_forward() {
    const N: usize = 8;
    let n = N as i64;
    let mut eye = vec![0.0; N * N];
    for i in 0..N {
        eye[i * N + i] = 1.0;
    }
    let flat = vec![0.0; N * 2];
    let dims = [1, 1, n, n];
    let half = [1, 1, n, 2];
    let forward = Call::new(FORWARD)
        .f32(&half, &flat)
        .f32(&half, &flat)
        .f32(&dims, &eye)
        .none()
        .arg(Arg::Float(0.5))
        .flag(false)
        .flag(false)
        .none()
        .run(&[(F32, &dims), (F32, &[1, 1, n]), (I64, &[]), (I64, &[])]);
    let weights = &forward.rets[0];
    let kept = weights.iter().filter(|&&w| w != 0.0).count();
    assert!((16..48).contains(&kept), "{kept} of 64 kept at probability 0.5");
    assert!(weights.iter().all(|&w| w == 0.0 || (w - 0.25).abs() < 1e-6));
    let backward = Call::new(BACKWARD)
        .f32(&dims, &eye)
        .f32(&half, &flat)
        .f32(&half, &flat)
        .f32(&dims, &eye)
        .none()
        .arg(Arg::Bools(vec![true, true, true, false]))
        .f32(&dims, weights)
        .f32(&[1, 1, n], &forward.rets[1])
        .none()
        .none()
        .int(n)
        .int(n)
        .arg(Arg::Float(0.5))
        .flag(false)
        .tensor(I64, &[], &forward.rets[2])
        .tensor(I64, &[], &forward.rets[3])
        .none()
        .run(&[(F32, &half), (F32, &half), (F32, &dims)]);
    let transposed: Vec<f64> = (0..N * N).map(|i| weights[i % N * N + i / N]).collect();
    assert_close(F32, &backward.rets[2], &transposed);
}
