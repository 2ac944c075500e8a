//! Integer functions: everything wraps, and nothing traps.

/// Integers with the functions that kernels need.
pub trait Int: Copy + Eq + Ord {
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// All bits set.
    const ONES: Self;
    /// Least value.
    const MIN: Self;
    /// Greatest value.
    const MAX: Self;
    /// Wrapping sum.
    fn add(self, o: Self) -> Self;
    /// Wrapping difference.
    fn sub(self, o: Self) -> Self;
    /// Wrapping product.
    fn mul(self, o: Self) -> Self;
    /// Quotient truncated toward zero; all bits set when the divisor is 0; wraps for the least number over −1.
    fn div(self, o: Self) -> Self;
    /// Remainder with the sign of the dividend; the dividend when the divisor is 0.
    fn rem(self, o: Self) -> Self;
    /// Wrapping power; a negative exponent gives 0 unless the base is 1 or −1.
    fn pow(self, o: Self) -> Self;
    /// `self << o`, 0 when `o`, read as unsigned, reaches the width.
    fn shl(self, o: Self) -> Self;
    /// Logical right shift, 0 when `o`, read as unsigned, reaches the width.
    fn shr_logical(self, o: Self) -> Self;
    /// Arithmetic right shift, copies of the sign bit when `o`, read as unsigned, reaches the width.
    fn shr_arithmetic(self, o: Self) -> Self;
    /// Wrapping absolute value.
    fn abs(self) -> Self;
    /// Wrapping negation.
    fn neg(self) -> Self;
    /// −1, 0 or 1.
    fn sign(self) -> Self;
    /// Bitwise complement.
    fn not(self) -> Self;
    /// Number of set bits.
    fn popcnt(self) -> Self;
    /// Number of leading zero bits.
    fn clz(self) -> Self;
    /// Bitwise and.
    fn and(self, o: Self) -> Self;
    /// Bitwise or.
    fn or(self, o: Self) -> Self;
    /// Bitwise exclusive or.
    fn xor(self, o: Self) -> Self;
}

macro_rules! int {
    ($($t:ty, $u:ty, $s:ty, $signed:literal;)*) => {$(
        impl Int for $t {
            const ZERO: Self = 0;
            const ONE: Self = 1;
            const ONES: Self = !0;
            const MIN: Self = <$t>::MIN;
            const MAX: Self = <$t>::MAX;
            #[inline(always)]
            fn add(self, o: Self) -> Self { self.wrapping_add(o) }
            #[inline(always)]
            fn sub(self, o: Self) -> Self { self.wrapping_sub(o) }
            #[inline(always)]
            fn mul(self, o: Self) -> Self { self.wrapping_mul(o) }
            #[inline(always)]
            fn div(self, o: Self) -> Self {
                if o == 0 { !0 } else { self.wrapping_div(o) }
            }
            #[inline(always)]
            fn rem(self, o: Self) -> Self {
                if o == 0 { self } else { self.wrapping_rem(o) }
            }
            #[inline(always)]
            fn pow(self, o: Self) -> Self {
                if $signed && (o as $s) < 0 {
                    return match self as $s {
                        1 => 1,
                        -1 if o & 1 == 0 => 1,
                        -1 => self,
                        _ => 0,
                    };
                }
                let (mut base, mut e, mut r) = (self, o as $u, 1 as $t);
                while e != 0 {
                    if e & 1 != 0 {
                        r = r.wrapping_mul(base);
                    }
                    base = base.wrapping_mul(base);
                    e >>= 1;
                }
                r
            }
            #[inline(always)]
            fn shl(self, o: Self) -> Self {
                if (o as $u) < <$u>::BITS as $u { self.wrapping_shl(o as u32) } else { 0 }
            }
            #[inline(always)]
            fn shr_logical(self, o: Self) -> Self {
                if (o as $u) < <$u>::BITS as $u { (self as $u).wrapping_shr(o as u32) as $t } else { 0 }
            }
            #[inline(always)]
            fn shr_arithmetic(self, o: Self) -> Self {
                let last = <$u>::BITS as $u - 1;
                let n = if (o as $u) < last { o as $u } else { last };
                (self as $s).wrapping_shr(n as u32) as $t
            }
            #[inline(always)]
            fn abs(self) -> Self { if $signed { (self as $s).wrapping_abs() as $t } else { self } }
            #[inline(always)]
            fn neg(self) -> Self { self.wrapping_neg() }
            #[inline(always)]
            fn sign(self) -> Self {
                if $signed { (self as $s).signum() as $t } else { (self != 0) as $t }
            }
            #[inline(always)]
            fn not(self) -> Self { !self }
            #[inline(always)]
            fn popcnt(self) -> Self { self.count_ones() as $t }
            #[inline(always)]
            fn clz(self) -> Self { self.leading_zeros() as $t }
            #[inline(always)]
            fn and(self, o: Self) -> Self { self & o }
            #[inline(always)]
            fn or(self, o: Self) -> Self { self | o }
            #[inline(always)]
            fn xor(self, o: Self) -> Self { self ^ o }
        }
    )*};
}

int! {
    u8, u8, i8, false;
    i8, u8, i8, true;
    u16, u16, i16, false;
    i16, u16, i16, true;
    u32, u32, i32, false;
    i32, u32, i32, true;
    u64, u64, i64, false;
    i64, u64, i64, true;
}
