//! `fft`: the defining sums, in f64.

use std::f64::consts::TAU;

use tnrs_types::FftKind;

use super::tensor::for_each;
use super::{Element, Tensor};
use crate::TensorType;

/// Real and imaginary part.
type Pair = (f64, f64);

fn parts(e: Element) -> Pair {
    match e {
        Element::Complex(re, im) => (re, im),
        Element::Float(re) => (re, 0.0),
        other => panic!("{other:?} has no parts"),
    }
}

/// `fft`. The inverse of a real transform reads the elements it is not given from their mirror images.
pub fn fft(kind: FftKind, length: &[i64], x: &Tensor, ty: &TensorType) -> Tensor {
    let inverse = matches!(kind, FftKind::Ifft | FftKind::Irfft);
    let batch = x.ty.rank() - length.len();
    let scale = if inverse { 1.0 / length.iter().product::<i64>() as f64 } else { 1.0 };
    let turn = if inverse { TAU } else { -TAU };
    let last = length.len() - 1;
    Tensor::generate(ty, |i| {
        let (mut re, mut im) = (0.0, 0.0);
        let mut from = tnrs_types::Dims::from_slice(i);
        for_each(length, |k| {
            from[batch..].copy_from_slice(k);
            let mirrored = kind == FftKind::Irfft && k[last] > length[last] / 2;
            if mirrored {
                for (d, &n) in length.iter().enumerate() {
                    from[batch + d] = (n - k[d]) % n;
                }
            }
            let (a, b) = parts(x.at(&from));
            let b = if mirrored { -b } else { b };
            // The angle in turns: products are reduced before they lose digits.
            let turns: f64 =
                length.iter().enumerate().map(|(d, &n)| (k[d] * i[batch + d] % n) as f64 / n as f64).sum();
            let (sin, cos) = (turn * turns.fract()).sin_cos();
            re += a * cos - b * sin;
            im += a * sin + b * cos;
        });
        if ty.dtype.is_complex() {
            Element::Complex(re * scale, im * scale)
        } else {
            Element::Float(re * scale)
        }
    })
}
