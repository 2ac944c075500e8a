//! x
mod common;
use tnrs_hlo::*;
use tnrs_types::*;
#[test]
fn dot_only() {
    for k in 0..3 {
    let mut b = Builder::new("d");
    let x = b.param(TensorType::new(DType::F32, &[]));
    let y = b.param(TensorType::new(DType::F32, &[2,17,70]));
    let d = if k < 2 { b.dot_general(x, y, DotDims::default(), DType::F32).unwrap() } else { y };
    let r = if k > 0 { b.reverse(d, &[1,2]).unwrap() } else { d };
    let f = b.finish(&[r]);
    let mut spec = tnrs_softcore::CompileSpec::dense(&f);
    spec.params[1] = tnrs_softcore::ParamSpec::Tensor { strides: Dims::from_slice(&[0,0,4]) };
    if k > 0 { spec.results[0].strides = Dims::from_slice(&[2520,2,36]); }
    let args = vec![Literal::Splat(TensorType::new(DType::F32, &[]), Scalar::Float(2.0)), Literal::Splat(TensorType::new(DType::F32, &[2,17,70]), Scalar::Float(3.0))];
    let out = common::run(&f, &spec, &args).unwrap();
    let s = out[0].scalars();
    println!("{k}: bad {:?}", s.iter().enumerate().filter(|(_, v)| v.to_f64() != 6.0 && v.to_f64()!=3.0).map(|x| x.0).take(20).collect::<Vec<_>>());
    }
}
