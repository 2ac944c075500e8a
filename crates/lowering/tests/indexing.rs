//! Indexing, gather, scatter and embeddings against values that PyTorch computes.

mod common;

use common::{Call, Index};
use tnrs_lowering::Arg;
use tnrs_types::DType::{Bool, F32, I64};

fn counting(n: usize) -> Vec<f64> {
    (0..n).map(|i| i as f64).collect()
}

#[test]
fn one_index_keeps_its_place() {
    let got = Call::new("aten::index.Tensor")
        .f32(&[2, 3, 4], &counting(24))
        .indices(&[None, Some((I64, &[2, 2], &[0.0, -1.0, 1.0, 1.0]))])
        .one(F32, &[2, 2, 2, 4]);
    let rows = [0.0, 8.0, 4.0, 4.0, 12.0, 20.0, 16.0, 16.0];
    let want: Vec<f64> = rows.iter().flat_map(|r| (0..4).map(move |c| r + f64::from(c))).collect();
    assert_eq!(got, want);
}

#[test]
fn separated_indices_go_to_the_front() {
    let indices: [Index; 3] = [Some((I64, &[2], &[1.0, 0.0])), None, Some((I64, &[2], &[2.0, -4.0]))];
    let x = counting(24);
    let got = Call::new("aten::index.Tensor").f32(&[2, 3, 4], &x).indices(&indices).one(F32, &[2, 3]);
    assert_eq!(got, [14.0, 18.0, 22.0, 0.0, 4.0, 8.0]);
    let put = Call::new("aten::index_put")
        .f32(&[2, 3, 4], &x)
        .indices(&indices)
        .f32(&[2, 1], &[-1.0, -2.0])
        .flag(false)
        .one(F32, &[2, 3, 4]);
    let mut want = x;
    for (place, value) in [(14, -1.0), (18, -1.0), (22, -1.0), (0, -2.0), (4, -2.0), (8, -2.0)] {
        want[place] = value;
    }
    assert_eq!(put, want);
}

#[test]
fn repeated_puts_keep_the_last_or_add() {
    let set = Call::new("aten::index_put")
        .f32(&[2, 3], &counting(6))
        .indices(&[Some((I64, &[2], &[0.0, 0.0])), Some((I64, &[2], &[1.0, 1.0]))])
        .f32(&[2], &[7.0, 9.0])
        .flag(false)
        .one(F32, &[2, 3]);
    assert_eq!(set, [0.0, 9.0, 2.0, 3.0, 4.0, 5.0]);
    let add = Call::new("aten::index_put")
        .f32(&[2, 3], &counting(6))
        .indices(&[Some((I64, &[3], &[-1.0, 1.0, 0.0]))])
        .f32(&[3], &[10.0, 20.0, 30.0])
        .flag(true);
    // Three columns broadcast over the three selected rows.
    assert_eq!(add.one(F32, &[2, 3]), [10.0, 21.0, 32.0, 23.0, 44.0, 65.0]);
}

#[test]
fn a_mask_puts_one_value() {
    let got = Call::new("aten::_index_put_impl_")
        .f32(&[2, 3], &counting(6))
        .indices(&[None, Some((Bool, &[3], &[1.0, 0.0, 1.0]))])
        .f32(&[2, 1], &[-1.0, -2.0])
        .flag(false)
        .flag(false)
        .run(&[]);
    assert!(got.returns.is_empty());
    assert_eq!(got.writes, [(0, 0, vec![-1.0, 1.0, -1.0, -2.0, 4.0, -2.0])]);
}

#[test]
fn an_index_out_of_range_is_a_fault_that_names_the_op() {
    let fault = Call::new("aten::index.Tensor")
        .f32(&[2, 3], &counting(6))
        .indices(&[None, Some((I64, &[2], &[0.0, 3.0]))])
        .try_run(&[(F32, &[2, 2])])
        .err()
        .expect("index 3 of 3 columns");
    assert_eq!(fault.to_string(), "aten::index.Tensor: index 3 is out of range [-3, 3) of dim 1");
    let negative = Call::new("aten::embedding")
        .f32(&[2, 1], &[1.0, 2.0])
        .tensor(I64, &[1], &[-1.0])
        .try_run(&[(F32, &[1, 1])]);
    assert!(negative.is_err());
}

#[test]
fn embedding_rows_and_their_gradient() {
    let rows = Call::new("aten::embedding")
        .f32(&[3, 2], &counting(6))
        .tensor(I64, &[2, 2], &[2.0, 0.0, 2.0, 1.0])
        .one(F32, &[2, 2, 2]);
    assert_eq!(rows, [4.0, 5.0, 0.0, 1.0, 4.0, 5.0, 2.0, 3.0]);
    // Row 2 is used twice, so that it gets the mean; row 1 is padding.
    let grad = Call::new("aten::embedding_dense_backward")
        .f32(&[4, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])
        .tensor(I64, &[4], &[2.0, 0.0, 2.0, 1.0])
        .int(4)
        .int(1)
        .flag(true)
        .one(F32, &[4, 2]);
    assert_eq!(grad, [3.0, 4.0, 0.0, 0.0, 3.0, 4.0, 0.0, 0.0]);
}

#[test]
fn integer_means_round_down() {
    let got = Call::new("aten::scatter_reduce.two")
        .tensor(I64, &[3], &[1.0, 2.0, 3.0])
        .int(0)
        .tensor(I64, &[4], &[0.0, 0.0, 2.0, 2.0])
        .tensor(I64, &[4], &[4.0, -8.0, 5.0, -9.0])
        .arg(Arg::Str("mean".into()))
        .flag(false)
        .one(I64, &[3]);
    assert_eq!(got, [-2.0, 2.0, -2.0]);
}

#[test]
fn gather_and_scatter_add_are_adjoint() {
    let index = [1.0, 0.0, 1.0, 1.0];
    let got = Call::new("aten::gather")
        .f32(&[3, 2], &counting(6))
        .int(0)
        .tensor(I64, &[2, 2], &index)
        .one(F32, &[2, 2]);
    assert_eq!(got, [2.0, 1.0, 2.0, 3.0]);
    let back = Call::new("aten::scatter_add")
        .f32(&[3, 2], &[0.0; 6])
        .int(0)
        .tensor(I64, &[2, 2], &index)
        .f32(&[2, 2], &[1.0, 2.0, 4.0, 8.0])
        .one(F32, &[3, 2]);
    assert_eq!(back, [0.0, 2.0, 5.0, 8.0, 0.0, 0.0]);
}

#[test]
fn masked_scatter_takes_elements_in_order() {
    let call = |source: &[f64]| {
        Call::new("aten::masked_scatter")
            .f32(&[4], &[0.0; 4])
            .tensor(Bool, &[4], &[1.0, 0.0, 1.0, 1.0])
            .f32(&[source.len() as i64], source)
            .try_run(&[(F32, &[4])])
    };
    assert_eq!(call(&[1.0, 2.0, 3.0, 4.0]).unwrap().rets[0], [1.0, 0.0, 2.0, 3.0]);
    assert!(call(&[1.0, 2.0]).is_err(), "two elements for three places");
}

#[test]
fn likelihood_ignores_targets_and_weighs_the_rest() {
    let x = [-1.0, -2.0, -3.0, -4.0, -5.0, -6.0, -0.5, -0.25, -0.125];
    let call = |op: &str| {
        let dy: &[f64] = if op.ends_with("backward") { &[2.0] } else { &[] };
        let call = Call::new(op);
        let call = if dy.is_empty() { call } else { call.f32(&[], dy) };
        call.f32(&[3, 3], &x)
            .tensor(I64, &[3], &[2.0, -100.0, 0.0])
            .f32(&[3], &[1.0, 2.0, 3.0])
            .int(1)
            .int(-100)
    };
    let forward = call("aten::nll_loss_forward").run(&[(F32, &[]), (F32, &[])]);
    assert_eq!(forward.rets, [vec![2.375], vec![4.0]]);
    let grad = call("aten::nll_loss_backward").f32(&[], &[4.0]).one(F32, &[3, 3]);
    assert_eq!(grad, [0.0, 0.0, -1.5, 0.0, 0.0, 0.0, -0.5, 0.0, 0.0]);
}

#[test]
fn an_illegal_target_is_a_fault_but_an_ignored_one_is_not() {
    let call = |target: f64| {
        Call::new("aten::nll_loss_forward")
            .f32(&[1, 2], &[-1.0, -2.0])
            .tensor(I64, &[1], &[target])
            .none()
            .int(2)
            .int(7)
            .try_run(&[(F32, &[]), (F32, &[])])
    };
    assert_eq!(call(7.0).unwrap().rets[0], [0.0]);
    assert!(call(2.0).is_err());
}
