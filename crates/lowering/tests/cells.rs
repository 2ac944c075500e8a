//! Recurrent cells, embedding bags and grid sampling against values that PyTorch computes.

mod common;

use common::{assert_close, Call};
use tnrs_lowering::{Arg, Ret};
use tnrs_types::DType::{F32, I64};

#[test]
fn lstm_cell_and_its_gradients() {
    let workspace = [0.5, 0.731_058_6, 0.761_594_2, 0.880_797_03];
    let forward = Call::new("aten::_thnn_fused_lstm_cell")
        .f32(&[1, 4], &[0.5, -1.0, 2.0, 0.25])
        .f32(&[1, 4], &[0.5, 1.0, -1.0, 0.75])
        .f32(&[1, 1], &[2.0])
        .f32(&[4], &[0.0, 1.0, 0.0, 0.0])
        .f32(&[4], &[-1.0, 0.0, 0.0, 1.0])
        .run(&[(F32, &[1, 1]), (F32, &[1, 1]), (F32, &[1, 4])]);
    assert_close(F32, &forward.rets[0], &[0.837_703_3]);
    assert_close(F32, &forward.rets[1], &[1.842_914_3]);
    assert_close(F32, &forward.rets[2], &workspace);
    let backward = |dcy: Option<f64>, has_bias: bool| {
        let call = Call::new("aten::_thnn_fused_lstm_cell_backward_impl").f32(&[1, 1], &[1.0]);
        let call = match dcy {
            Some(g) => call.f32(&[1, 1], &[g]),
            None => call.none(),
        };
        call.f32(&[1, 1], &[2.0]).f32(&[1, 1], &[1.842_914_3]).f32(&[1, 4], &workspace).flag(has_bias)
    };
    let gates = [0.111_207_82, 0.229_673_85, 0.122_649_11, 0.099_856_71];
    let got = backward(Some(0.5), true).run(&[(F32, &[1, 4]), (F32, &[1, 1]), (F32, &[4])]);
    assert_close(F32, &got.rets[0], &gates);
    assert_close(F32, &got.rets[1], &[0.426_996_08]);
    assert_close(F32, &got.rets[2], &gates);
    let got = backward(None, false).run(&[(F32, &[1, 4]), (F32, &[1, 1])]);
    assert!(matches!(got.returns[..], [Ret::Tensor(_), Ret::Tensor(_), Ret::Undefined]));
    // The cell's own gradient took part in all gates but the output gate's.
    assert_close(F32, &got.rets[0][3..], &gates[3..]);
    assert!(got.rets[0][0] < gates[0]);
}

#[test]
fn gru_cell_and_its_gradients() {
    let workspace = [0.731_058_6, 0.5, 0.853_510_5, 2.0, -1.0];
    let forward = Call::new("aten::_thnn_fused_gru_cell")
        .f32(&[1, 3], &[0.5, -1.0, 2.0])
        .f32(&[1, 3], &[0.5, 1.0, -1.0])
        .f32(&[1, 1], &[2.0])
        .none()
        .none()
        .run(&[(F32, &[1, 1]), (F32, &[1, 5])]);
    assert_close(F32, &forward.rets[0], &[1.426_755_2]);
    assert_close(F32, &forward.rets[1], &workspace);
    let got = Call::new("aten::_thnn_fused_gru_cell_backward")
        .f32(&[1, 1], &[1.0])
        .f32(&[1, 5], &workspace)
        .flag(true)
        .run(&[(F32, &[1, 3]), (F32, &[1, 3]), (F32, &[1, 1]), (F32, &[3]), (F32, &[3])]);
    let (dx, dh) = ([-0.026_692_02, 0.286_622_38, 0.135_759_92], [-0.026_692_02, 0.286_622_38, 0.099_248_45]);
    for (got, want) in got.rets.iter().zip([&dx[..], &dh, &[0.5], &dx, &dh]) {
        assert_close(F32, got, want);
    }
}

const TABLE: [f64; 6] = [1.0, -2.0, 3.0, 4.0, 5.0, 0.0];

#[test]
fn bags_reduce_by_each_mode() {
    let bag = |mode: i64| {
        let arg: &[i64] = if mode == 2 { &[3, 2] } else { &[3] };
        Call::new("aten::_embedding_bag")
            .f32(&[3, 2], &TABLE)
            .tensor(I64, &[4], &[0.0, 2.0, 1.0, 2.0])
            .tensor(I64, &[3], &[0.0, 2.0, 4.0])
            .flag(false)
            .int(mode)
            .flag(false)
            .none()
            .flag(false)
            .int(-1)
            .run(&[(F32, &[3, 2]), (I64, &[4]), (I64, &[3]), (I64, arg)])
            .rets
    };
    assert_eq!(bag(0)[0], [6.0, -2.0, 8.0, 4.0, 0.0, 0.0]);
    assert_eq!(bag(1)[0], [3.0, -1.0, 4.0, 2.0, 0.0, 0.0]);
    let max = bag(2);
    assert_eq!(max[0], [5.0, 0.0, 5.0, 4.0, 0.0, 0.0]);
    assert_eq!(max[1..3], [vec![0.0, 0.0, 1.0, 1.0], vec![2.0, 2.0, 0.0]]);
    let dy: Vec<f64> = (1..=6).map(f64::from).collect();
    let grad = Call::new("aten::_embedding_bag_dense_backward")
        .f32(&[3, 2], &dy)
        .tensor(I64, &[4], &[0.0, 2.0, 1.0, 2.0])
        .tensor(I64, &[4], &max[1])
        .tensor(I64, &[3], &max[2])
        .tensor(I64, &[3, 2], &max[3])
        .int(3)
        .flag(false)
        .int(2)
        .none()
        .int(-1)
        .one(F32, &[3, 2]);
    assert_eq!(grad, [0.0, 0.0, 0.0, 4.0, 4.0, 2.0]);
}

#[test]
fn only_used_rows_are_renormalised() {
    let got = Call::new("aten::embedding_renorm_")
        .f32(&[3, 2], &[3.0, 4.0, 30.0, 40.0, 0.6, 0.8])
        .tensor(I64, &[2], &[0.0, 2.0])
        .arg(Arg::Float(2.5))
        .arg(Arg::Float(2.0))
        .run(&[]);
    assert_close(F32, &got.writes[0].2, &[1.5, 2.0, 30.0, 40.0, 0.6, 0.8]);
}

#[test]
fn samples_of_an_image_and_their_gradients() {
    let image = [1.0, 2.0, 3.0, 4.0];
    let grid = [0.0, 0.0, -1.0, 0.5];
    let y = Call::new("aten::grid_sampler_2d")
        .f32(&[1, 1, 2, 2], &image)
        .f32(&[1, 1, 2, 2], &grid)
        .int(0)
        .int(0)
        .flag(false)
        .one(F32, &[1, 1, 1, 2]);
    assert_close(F32, &y, &[2.5, 1.5]);
    let got = Call::new("aten::grid_sampler_2d_backward")
        .f32(&[1, 1, 1, 2], &[1.0, 2.0])
        .f32(&[1, 1, 2, 2], &image)
        .f32(&[1, 1, 2, 2], &grid)
        .int(0)
        .int(0)
        .flag(false)
        .arg(Arg::Bools(vec![true, true]))
        .run(&[(F32, &[1, 1, 2, 2]), (F32, &[1, 1, 2, 2])]);
    assert_close(F32, &got.rets[0], &[0.25, 0.25, 1.25, 0.25]);
    assert_close(F32, &got.rets[1], &[1.0, 2.0, 6.0, -3.0]);
}
