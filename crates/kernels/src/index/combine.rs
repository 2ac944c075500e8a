//! How an update meets an element.

use tnrs_types::{DType, ScatterKind};

use crate::gemm::float::{Bf16, Elem, F16};

/// `dst[i·ds] = kind(dst[i·ds], src[i·ss])` for `i` in `0..n`; strides in elements.
pub(super) type CombineFn = unsafe fn(n: usize, dst: *mut u8, ds: isize, src: *const u8, ss: isize);

/// `dst[offsets[i]] = kind(dst[offsets[i]], src[i·ss])` for `i` in `0..n`, in order; [`OUTSIDE`] drops an update.
pub(super) type PlacesFn =
    unsafe fn(n: usize, dst: *mut u8, offsets: *const isize, src: *const u8, ss: isize);

/// The offset of a place that does not exist.
pub(super) const OUTSIDE: isize = isize::MIN;

/// The loops of a kind and element type.
#[derive(Clone, Copy)]
pub(super) struct Combine {
    /// Along a row.
    pub(super) row: CombineFn,
    /// To places of their own.
    pub(super) places: PlacesFn,
}

fn loops<T: Copy, R: Rule<T>>() -> Combine {
    Combine { row: run::<T, R>, places: places::<T, R> }
}

/// The loops for a kind and element type; `None` where the type has no such arithmetic (8-bit floats, and order among
/// complex numbers).
pub(super) fn combine(kind: ScatterKind, dtype: DType) -> Option<Combine> {
    if kind == ScatterKind::Set {
        return Some(match dtype.size() {
            1 => loops::<u8, Set>(),
            2 => loops::<u16, Set>(),
            4 => loops::<u32, Set>(),
            8 => loops::<u64, Set>(),
            _ => loops::<[u64; 2], Set>(),
        });
    }
    match dtype {
        DType::Bool => Some(match kind {
            ScatterKind::Add | ScatterKind::Maximum => loops::<u8, Or>(),
            _ => loops::<u8, And>(),
        }),
        DType::U8 => Some(ordered::<u8>(kind)),
        DType::I8 => Some(ordered::<i8>(kind)),
        DType::U16 => Some(ordered::<u16>(kind)),
        DType::I16 => Some(ordered::<i16>(kind)),
        DType::U32 => Some(ordered::<u32>(kind)),
        DType::I32 => Some(ordered::<i32>(kind)),
        DType::U64 => Some(ordered::<u64>(kind)),
        DType::I64 => Some(ordered::<i64>(kind)),
        DType::F16 => Some(ordered::<F16>(kind)),
        DType::BF16 => Some(ordered::<Bf16>(kind)),
        DType::F32 => Some(ordered::<f32>(kind)),
        DType::F64 => Some(ordered::<f64>(kind)),
        DType::C64 => complex::<f32>(kind),
        DType::C128 => complex::<f64>(kind),
        _ => None,
    }
}

fn ordered<T: Ordered + 'static>(kind: ScatterKind) -> Combine
where
    Add: Rule<T>,
{
    match kind {
        ScatterKind::Add => loops::<T, Add>(),
        ScatterKind::Multiply => loops::<T, Multiply>(),
        ScatterKind::Maximum => loops::<T, Maximum>(),
        ScatterKind::Minimum => loops::<T, Minimum>(),
        ScatterKind::Set => loops::<T, Set>(),
    }
}

fn complex<T: Ordered + 'static>(kind: ScatterKind) -> Option<Combine> {
    match kind {
        ScatterKind::Add => Some(loops::<[T; 2], ComplexAdd>()),
        ScatterKind::Multiply => Some(loops::<[T; 2], ComplexMultiply>()),
        _ => None,
    }
}

/// A binary function.
trait Rule<T> {
    fn apply(a: T, b: T) -> T;
}

/// # Safety
/// Both sides must be valid for the strided elements of `T`.
unsafe fn run<T: Copy, R: Rule<T>>(n: usize, dst: *mut u8, ds: isize, src: *const u8, ss: isize) {
    let (dst, src) = (dst.cast::<T>(), src.cast::<T>());
    // SAFETY: the contract is the caller's.
    unsafe {
        if ds == 1 && ss == 1 {
            for i in 0..n {
                *dst.add(i) = R::apply(*dst.add(i), *src.add(i));
            }
        } else {
            for i in 0..n as isize {
                let d = dst.offset(i * ds);
                *d = R::apply(*d, *src.offset(i * ss));
            }
        }
    }
}

/// # Safety
/// `src` must be valid for `n` strided elements of `T`, and `dst` at every offset, in elements, that is not [`OUTSIDE`].
unsafe fn places<T: Copy, R: Rule<T>>(
    n: usize,
    dst: *mut u8,
    offsets: *const isize,
    src: *const u8,
    ss: isize,
) {
    let (dst, src) = (dst.cast::<T>(), src.cast::<T>());
    for i in 0..n {
        // SAFETY: the contract is the caller's.
        unsafe {
            let at = *offsets.add(i);
            if at != OUTSIDE {
                let d = dst.offset(at);
                *d = R::apply(*d, *src.offset(i as isize * ss));
            }
        }
    }
}

/// Arithmetic of an ordered type: integers wrap, NaN wins over order.
trait Ordered: Copy {
    fn add(self, o: Self) -> Self;
    fn mul(self, o: Self) -> Self;
    fn less(self, o: Self) -> bool;
    fn is_nan(self) -> bool;
    fn neg(self) -> Self;
}

struct Set;
struct Or;
struct And;
struct Add;
struct Multiply;
struct Maximum;
struct Minimum;
struct ComplexAdd;
struct ComplexMultiply;

impl<T> Rule<T> for Set {
    #[inline(always)]
    fn apply(_: T, b: T) -> T {
        b
    }
}

impl Rule<u8> for Or {
    #[inline(always)]
    fn apply(a: u8, b: u8) -> u8 {
        a | b
    }
}

impl Rule<u8> for And {
    #[inline(always)]
    fn apply(a: u8, b: u8) -> u8 {
        a & b
    }
}

impl<T: Ordered> Rule<T> for Add {
    #[inline(always)]
    fn apply(a: T, b: T) -> T {
        a.add(b)
    }
}

impl<T: Ordered> Rule<T> for Multiply {
    #[inline(always)]
    fn apply(a: T, b: T) -> T {
        a.mul(b)
    }
}

impl<T: Ordered> Rule<T> for Maximum {
    #[inline(always)]
    fn apply(a: T, b: T) -> T {
        if a.less(b) || b.is_nan() {
            b
        } else {
            a
        }
    }
}

impl<T: Ordered> Rule<T> for Minimum {
    #[inline(always)]
    fn apply(a: T, b: T) -> T {
        if b.less(a) || b.is_nan() {
            b
        } else {
            a
        }
    }
}

impl<T: Ordered> Rule<[T; 2]> for ComplexAdd {
    #[inline(always)]
    fn apply(a: [T; 2], b: [T; 2]) -> [T; 2] {
        [a[0].add(b[0]), a[1].add(b[1])]
    }
}

impl<T: Ordered> Rule<[T; 2]> for ComplexMultiply {
    #[inline(always)]
    fn apply(a: [T; 2], b: [T; 2]) -> [T; 2] {
        let re = a[0].mul(b[0]).add(a[1].mul(b[1]).neg());
        [re, a[0].mul(b[1]).add(a[1].mul(b[0]))]
    }
}

macro_rules! integers {
    ($($t:ty)*) => { $(
        impl Ordered for $t {
            #[inline(always)]
            fn add(self, o: Self) -> Self {
                self.wrapping_add(o)
            }
            #[inline(always)]
            fn mul(self, o: Self) -> Self {
                self.wrapping_mul(o)
            }
            #[inline(always)]
            fn less(self, o: Self) -> bool {
                self < o
            }
            #[inline(always)]
            fn is_nan(self) -> bool {
                false
            }
            #[inline(always)]
            fn neg(self) -> Self {
                self.wrapping_neg()
            }
        }
    )* };
}
integers!(u8 i8 u16 i16 u32 i32 u64 i64);

macro_rules! floats {
    ($($t:ty)*) => { $(
        impl Ordered for $t {
            #[inline(always)]
            fn add(self, o: Self) -> Self {
                self + o
            }
            #[inline(always)]
            fn mul(self, o: Self) -> Self {
                self * o
            }
            #[inline(always)]
            fn less(self, o: Self) -> bool {
                self < o
            }
            #[inline(always)]
            fn is_nan(self) -> bool {
                self != self
            }
            #[inline(always)]
            fn neg(self) -> Self {
                -self
            }
        }
    )* };
}
floats!(f32 f64);

macro_rules! halves {
    ($($t:ty)*) => { $(
        impl Ordered for $t {
            #[inline(always)]
            fn add(self, o: Self) -> Self {
                Self::put(self.get() + o.get())
            }
            #[inline(always)]
            fn mul(self, o: Self) -> Self {
                Self::put(self.get() * o.get())
            }
            #[inline(always)]
            fn less(self, o: Self) -> bool {
                self.get() < o.get()
            }
            #[inline(always)]
            fn is_nan(self) -> bool {
                self.get().is_nan()
            }
            #[inline(always)]
            fn neg(self) -> Self {
                Self::put(-self.get())
            }
        }
    )* };
}
halves!(Bf16 F16);
