//! The constants of a plan.

use tnrs_hlo::Literal;
use tnrs_kernels::tile;
use tnrs_types::{Class, DType, Scalar};

use super::{BufKind, Planner, Res};
use crate::view::{Buf, View};

/// Bytes of constants, aligned to 16.
#[derive(Default)]
pub(crate) struct Consts {
    words: Vec<u128>,
}

impl Consts {
    /// Adds bytes; returns their offset, a multiple of 16.
    fn push(&mut self, bytes: &[u8]) -> i64 {
        let at = self.words.len();
        for piece in bytes.chunks(16) {
            let mut word = [0; 16];
            word[..piece.len()].copy_from_slice(piece);
            self.words.push(u128::from_ne_bytes(word));
        }
        (at * 16) as i64
    }

    /// The real number at an offset; `None` for complex types.
    pub fn read_float(&self, off: i64, dtype: DType) -> Option<f64> {
        if dtype.is_complex() {
            return None;
        }
        let f = tile::convert(dtype, DType::F64)?;
        let mut out = 0.0f64;
        let src = self.base().wrapping_offset(off as isize).cast_const();
        let none = std::ptr::null();
        // SAFETY: offsets come from `push`, which put an element of the type there; one f64 is written.
        unsafe { f((&raw mut out).cast(), &[src, none, none], 1) };
        Some(out)
    }

    /// Address of the first byte.
    pub fn base(&self) -> *mut u8 {
        self.words.as_ptr().cast_mut().cast()
    }
}

/// The bytes of a number as an element of `dtype`.
pub(crate) fn scalar_bytes(value: Scalar, dtype: DType) -> [u8; 16] {
    let mut out = [0; 16];
    let mut put = |bytes: &[u8]| out[..bytes.len()].copy_from_slice(bytes);
    match dtype.class() {
        Class::Bool => put(&[u8::from(match value {
            Scalar::Complex(re, im) => re != 0.0 || im != 0.0,
            Scalar::Float(f) => f != 0.0,
            other => other.to_i64() != 0,
        })]),
        Class::Int => put(&value.to_i64().to_ne_bytes()[..]),
        Class::Float => match dtype {
            DType::F64 => put(&value.to_f64().to_ne_bytes()),
            DType::F32 => put(&(value.to_f64() as f32).to_ne_bytes()),
            reduced => {
                let wide = value.to_f64() as f32;
                if let Some(f) = tile::convert(DType::F32, reduced) {
                    let none = std::ptr::null();
                    let src = [(&raw const wide).cast::<u8>(), none, none];
                    // SAFETY: one f32 is read, at most two bytes of the sixteen are written.
                    unsafe { f(out.as_mut_ptr(), &src, 1) };
                }
            }
        },
        Class::Complex => {
            let (re, im) = match value {
                Scalar::Complex(re, im) => (re, im),
                other => (other.to_f64(), 0.0),
            };
            if dtype == DType::C32 {
                for (part, at) in [(re, 0), (im, 2)] {
                    out[at..at + 2].copy_from_slice(&scalar_bytes(Scalar::Float(part), DType::F16)[..2]);
                }
            } else if dtype == DType::C64 {
                put(&(re as f32).to_ne_bytes());
                out[4..8].copy_from_slice(&(im as f32).to_ne_bytes());
            } else {
                put(&re.to_ne_bytes());
                out[8..16].copy_from_slice(&im.to_ne_bytes());
            }
        }
    }
    out
}

impl Planner<'_> {
    /// The view of a literal.
    pub(super) fn constant(&mut self, literal: &Literal) -> Res<View> {
        Ok(match literal {
            Literal::Splat(ty, value) => self.number(*value, ty.dtype, &ty.dims),
            Literal::Dense(ty, bytes) => {
                let mut view = View::dense(self.const_buf(), &ty.dims);
                view.off = self.consts.push(bytes);
                view
            }
        })
    }

    /// A number repeated over `dims`.
    pub(super) fn number(&mut self, value: Scalar, dtype: DType, dims: &[i64]) -> View {
        let bytes = scalar_bytes(value, dtype);
        let off = self.consts.push(&bytes);
        View::splat(self.const_buf(), off, dims)
    }

    /// Raw bytes of one element (at most 16) repeated over `dims`.
    pub(super) fn element(&mut self, bytes: &[u8], dims: &[i64]) -> View {
        let off = self.consts.push(bytes);
        View::splat(self.const_buf(), off, dims)
    }

    fn const_buf(&self) -> Buf {
        let buf = self.func.params.len() + self.func.results.len();
        debug_assert_eq!(self.bufs[buf], BufKind::Const);
        buf as Buf
    }
}
