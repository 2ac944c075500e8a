//! Numbers as bytes of an element type, for scalar arguments of a launch.

use half::{bf16, f16};
use tnrs_types::{Class, DType, Scalar};

/// The number converted to `dtype`, from byte 0 on. Integers wrap; fp8 never reaches a scalar operand (reduced floats
/// below 16 bits are computed in f32).
pub(crate) fn encode(s: Scalar, dtype: DType) -> [u8; 16] {
    let mut out = [0u8; 16];
    let mut put = |bytes: &[u8]| out[..bytes.len()].copy_from_slice(bytes);
    match dtype {
        DType::F32 => put(&(s.to_f64() as f32).to_ne_bytes()),
        DType::F64 => put(&s.to_f64().to_ne_bytes()),
        DType::BF16 => put(&bf16::from_f64(s.to_f64()).to_ne_bytes()),
        DType::F16 => put(&f16::from_f64(s.to_f64()).to_ne_bytes()),
        DType::Bool => put(&[u8::from(!s.is(0))]),
        DType::C32 => {
            let (re, im) = complex(s);
            put(&f16::from_f64(re).to_ne_bytes());
            out[2..4].copy_from_slice(&f16::from_f64(im).to_ne_bytes());
        }
        DType::C64 => {
            let (re, im) = complex(s);
            put(&(re as f32).to_ne_bytes());
            out[4..8].copy_from_slice(&(im as f32).to_ne_bytes());
        }
        DType::C128 => {
            let (re, im) = complex(s);
            put(&re.to_ne_bytes());
            out[8..16].copy_from_slice(&im.to_ne_bytes());
        }
        _ if dtype.class() == Class::Int => put(&s.to_i64().to_ne_bytes()[..dtype.size()]),
        _ => put(&(s.to_f64() as f32).to_ne_bytes()),
    }
    out
}

fn complex(s: Scalar) -> (f64, f64) {
    match s {
        Scalar::Complex(re, im) => (re, im),
        other => (other.to_f64(), 0.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_wrap_and_floats_round() {
        assert_eq!(encode(Scalar::Int(300), DType::U8)[0], 44);
        assert_eq!(encode(Scalar::Int(-1), DType::I64)[..8], [255; 8]);
        assert_eq!(encode(Scalar::Float(1.0), DType::BF16)[..2], 0x3f80u16.to_ne_bytes());
        assert_eq!(encode(Scalar::Int(2), DType::Bool)[0], 1);
        assert_eq!(encode(Scalar::Float(f64::NAN), DType::Bool)[0], 1);
        assert_eq!(encode(Scalar::Complex(1.0, -2.0), DType::C64)[4..8], (-2.0f32).to_ne_bytes());
    }
}
