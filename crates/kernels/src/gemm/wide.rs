//! f64 and complex products by the `gemm` crate, integer products by a blocked loop.

use tnrs_types::DType;

use super::batch::Offsets;
use super::desc::{Activation, GemmDesc, GemmPtrs};
use super::driver::Shared;
use super::scratch::Scratch;
use crate::isa;
use crate::pool::Pool;
use crate::tile;

/// Multiply-adds below which a second thread costs more than it gives.
const SERIAL: usize = 1 << 17;

/// An element type of this file.
pub(crate) trait Number: Copy + Sync + 'static {
    /// 0.
    const ZERO: Self;
    /// Sum; integers wrap.
    fn add(self, other: Self) -> Self;
    /// Product; integers wrap.
    fn mul(self, other: Self) -> Self;
    /// A real number of this type.
    fn real(x: f64) -> Self;

    /// `dst = A·B` over a block.
    ///
    /// # Safety
    /// Pointers must be valid for the block.
    unsafe fn product(
        size: (usize, usize, usize),
        dst: (*mut Self, isize, isize),
        a: (*const Self, isize, isize),
        b: (*const Self, isize, isize),
    ) {
        let (m, n, k) = size;
        for i in 0..m as isize {
            for j in 0..n as isize {
                // SAFETY: the element is inside the block.
                unsafe { *dst.0.offset(i * dst.1 + j * dst.2) = Self::ZERO }
            }
            for d in 0..k as isize {
                // SAFETY: as above.
                let x = unsafe { *a.0.offset(i * a.1 + d * a.2) };
                for j in 0..n as isize {
                    // SAFETY: as above.
                    unsafe {
                        let c = dst.0.offset(i * dst.1 + j * dst.2);
                        *c = (*c).add(x.mul(*b.0.offset(d * b.1 + j * b.2)));
                    }
                }
            }
        }
    }
}

macro_rules! integer {
    ($($t:ty)*) => { $(
        impl Number for $t {
            const ZERO: Self = 0;
            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            fn mul(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            fn real(x: f64) -> Self {
                x as Self
            }
        }
    )* };
}
integer!(u8 i8 u16 i16 u32 i32 u64 i64);

/// `dst = A·B` over a block, by the `gemm` crate.
///
/// # Safety
/// Pointers must be valid for the block.
unsafe fn by_crate<T: Number>(
    (m, n, k): (usize, usize, usize),
    dst: (*mut T, isize, isize),
    a: (*const T, isize, isize),
    b: (*const T, isize, isize),
) {
    let (zero, one, one_thread) = (T::ZERO, T::real(1.0), ::gemm::Parallelism::None);
    // SAFETY: the contract is the caller's.
    unsafe {
        ::gemm::gemm(
            m, n, k, dst.0, dst.2, dst.1, false, a.0, a.2, a.1, b.0, b.2, b.1, zero, one, false, false,
            false, one_thread,
        )
    }
}

/// Sums anew what is NaN: the crate multiplies its sums by a complex one, which makes NaN of an infinite part.
///
/// # Safety
/// As [`by_crate`].
unsafe fn sum_nan_anew<T: Number>(
    (m, n, k): (usize, usize, usize),
    dst: (*mut T, isize, isize),
    a: (*const T, isize, isize),
    b: (*const T, isize, isize),
    is_nan: impl Fn(T) -> bool,
) {
    for (i, j) in (0..m as isize).flat_map(|i| (0..n as isize).map(move |j| (i, j))) {
        // SAFETY: the elements are inside their blocks.
        unsafe {
            let c = dst.0.offset(i * dst.1 + j * dst.2);
            if is_nan(*c) {
                *c = (0..k as isize).fold(T::ZERO, |sum, d| {
                    sum.add((*a.0.offset(i * a.1 + d * a.2)).mul(*b.0.offset(d * b.1 + j * b.2)))
                });
            }
        }
    }
}

/// Sum and product by the type's own operators.
macro_rules! operators {
    () => {
        fn add(self, other: Self) -> Self {
            self + other
        }
        fn mul(self, other: Self) -> Self {
            self * other
        }
    };
}

impl Number for f64 {
    const ZERO: Self = 0.0;
    operators!();
    fn real(x: f64) -> Self {
        x
    }
    unsafe fn product(
        size: (usize, usize, usize),
        dst: (*mut Self, isize, isize),
        a: (*const Self, isize, isize),
        b: (*const Self, isize, isize),
    ) {
        // SAFETY: the contract is the caller's.
        unsafe { by_crate(size, dst, a, b) }
    }
}

impl Number for f32 {
    const ZERO: Self = 0.0;
    operators!();
    fn real(x: f64) -> Self {
        x as f32
    }
}

macro_rules! complex {
    ($t:ty, $f:ty) => {
        impl Number for $t {
            const ZERO: Self = Self { re: 0.0, im: 0.0 };
            operators!();
            fn real(x: f64) -> Self {
                Self { re: x as $f, im: 0.0 }
            }
            unsafe fn product(
                size: (usize, usize, usize),
                dst: (*mut Self, isize, isize),
                a: (*const Self, isize, isize),
                b: (*const Self, isize, isize),
            ) {
                // SAFETY: the contract is the caller's.
                unsafe {
                    by_crate(size, dst, a, b);
                    sum_nan_anew(size, dst, a, b, |z| z.re.is_nan() || z.im.is_nan());
                }
            }
        }
    };
}
complex!(::gemm::c32, f32);
complex!(::gemm::c64, f64);

/// One matrix of the batch.
///
/// # Safety
/// As [`gemm`](super::gemm).
pub(super) unsafe fn multiply(pool: &Pool, desc: &GemmDesc, ptrs: &GemmPtrs, at: Offsets) {
    // SAFETY: the contract is the caller's.
    unsafe {
        match desc.dtype {
            DType::F64 => typed::<f64>(pool, desc, ptrs, at),
            DType::C64 => typed::<::gemm::c32>(pool, desc, ptrs, at),
            DType::C128 => typed::<::gemm::c64>(pool, desc, ptrs, at),
            DType::U8 => typed::<u8>(pool, desc, ptrs, at),
            DType::I8 => typed::<i8>(pool, desc, ptrs, at),
            DType::U16 => typed::<u16>(pool, desc, ptrs, at),
            DType::I16 => typed::<i16>(pool, desc, ptrs, at),
            DType::U32 => typed::<u32>(pool, desc, ptrs, at),
            DType::I32 => typed::<i32>(pool, desc, ptrs, at),
            DType::U64 => typed::<u64>(pool, desc, ptrs, at),
            DType::I64 => typed::<i64>(pool, desc, ptrs, at),
            other => unreachable!("gemm has no form for {other:?}"),
        }
    }
}

/// # Safety
/// As [`multiply`]; `T` is the element type.
unsafe fn typed<T: Number>(pool: &Pool, desc: &GemmDesc, ptrs: &GemmPtrs, at: Offsets) {
    let GemmDesc { m, n, k, .. } = *desc;
    let a = Shared(ptrs.a.cast::<T>().wrapping_offset(at.a).cast_mut());
    let b = Shared(ptrs.b.cast::<T>().wrapping_offset(at.b).cast_mut());
    let c = Shared(ptrs.c.cast::<T>().wrapping_offset(at.c));
    let bias_cols = Shared(ptrs.bias_cols.cast::<T>().cast_mut());
    let bias_rows = Shared(ptrs.bias_rows.cast::<T>().cast_mut());
    let residual = desc.residual.as_ref().filter(|r| r.beta != 0.0);
    let r_base = Shared(ptrs.residual.cast::<T>().wrapping_offset(at.residual).cast_mut());
    let activation = activation(desc.dtype, desc.activation);
    let plain = desc.alpha == 1.0
        && desc.bias_cols.is_none()
        && desc.bias_rows.is_none()
        && activation.is_none()
        && residual.is_none();
    let parts = if m * n * k.max(1) < SERIAL { 1 } else { pool.threads() * 4 };
    let rows = if pool.threads() == 1 { m } else { m.div_ceil(parts).max(4) };
    let block = |i: usize, _: usize| {
        let i0 = i * rows;
        let rows = rows.min(m - i0);
        let a = a.ptr().wrapping_offset(i0 as isize * desc.a.row).cast_const();
        let to = c.ptr().wrapping_offset(i0 as isize * desc.c.row);
        // The residual may be C, so the product then goes elsewhere first.
        let sums = (!plain).then(|| Scratch::new(rows * n * size_of::<T>()));
        let (product, row, col) = match &sums {
            Some(s) => (s.ptr::<T>(), n as isize, 1),
            None => (to, desc.c.row, desc.c.col),
        };
        // SAFETY: the block's rows are inside A and C, and the sums hold rows·n elements.
        unsafe {
            T::product(
                (rows, n, k),
                (product, row, col),
                (a, desc.a.row, desc.a.col),
                (b.ptr().cast_const(), desc.b.row, desc.b.col),
            );
            if plain {
                return;
            }
            for i in 0..rows {
                let line = std::slice::from_raw_parts_mut(product.add(i * n), n);
                if desc.alpha != 1.0 {
                    let alpha = T::real(desc.alpha);
                    line.iter_mut().for_each(|v| *v = v.mul(alpha));
                }
                if let Some(bias) = &desc.bias_cols {
                    for (j, v) in line.iter_mut().enumerate() {
                        *v = v.add(*bias_cols.ptr().offset(j as isize * bias.stride));
                    }
                }
                if let Some(bias) = &desc.bias_rows {
                    let x = *bias_rows.ptr().offset((i0 + i) as isize * bias.stride);
                    line.iter_mut().for_each(|v| *v = v.add(x));
                }
                if let Some(f) = activation {
                    let p = line.as_mut_ptr().cast::<u8>();
                    f(p, &[p.cast_const(); 3], n);
                }
                if let Some(r) = residual {
                    let row = r_base.ptr().offset((i0 + i) as isize * r.strides.row);
                    for (j, v) in line.iter_mut().enumerate() {
                        let x = *row.offset(j as isize * r.strides.col);
                        *v = v.add(if r.beta == 1.0 { x } else { T::real(r.beta).mul(x) });
                    }
                }
                for (j, &v) in line.iter().enumerate() {
                    *to.offset(i as isize * desc.c.row + j as isize * desc.c.col) = v;
                }
            }
        }
    };
    if m * n > 0 {
        pool.run(m.div_ceil(rows), &block);
    }
}

/// An activation over f32 or f64; other types of this file have none.
pub(crate) fn activation(dtype: DType, activation: Activation) -> Option<tile::TileFn> {
    if !matches!(dtype, DType::F32 | DType::F64) {
        return None;
    }
    let act = match activation {
        Activation::None => return None,
        Activation::Relu => tile::Act::Relu,
        Activation::Gelu => tile::Act::Gelu,
        Activation::GeluTanh => tile::Act::GeluTanh,
        Activation::Silu => tile::Act::Silu,
    };
    tile::fused_on(isa::current(), tile::Fused::Act(act), dtype)
}
