//! Complex arithmetic and functions. The functions run in double precision through the C library, whose treatment of
//! infinities, NaN and signed zeros is that of C99 annex G; single precision is rounded from there.

/// A complex number laid out as its real part, then its imaginary part.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Complex<T> {
    /// Real part.
    pub re: T,
    /// Imaginary part.
    pub im: T,
}

/// Single precision.
pub type C64 = Complex<f32>;
/// Double precision.
pub type C128 = Complex<f64>;

// The C ABI passes `double _Complex` as the two-double struct on x86-64 and aarch64.
extern "C" {
    fn cacos(z: C128) -> C128;
    fn cacosh(z: C128) -> C128;
    fn casin(z: C128) -> C128;
    fn casinh(z: C128) -> C128;
    fn catan(z: C128) -> C128;
    fn catanh(z: C128) -> C128;
    fn ccos(z: C128) -> C128;
    fn ccosh(z: C128) -> C128;
    fn cexp(z: C128) -> C128;
    fn clog(z: C128) -> C128;
    fn csin(z: C128) -> C128;
    fn csinh(z: C128) -> C128;
    fn csqrt(z: C128) -> C128;
    fn ctan(z: C128) -> C128;
    fn ctanh(z: C128) -> C128;
    fn cpow(z: C128, w: C128) -> C128;
}

macro_rules! library {
    ($($name:ident = $c:ident;)*) => {
        impl C128 {$(
            #[doc = concat!("C99's `", stringify!($c), "`.")]
            pub fn $name(self) -> Self {
                // SAFETY: a pure function of the C library.
                unsafe { $c(self) }
            }
        )*}
    };
}

library! {
    acos = cacos;
    acosh = cacosh;
    asin = casin;
    asinh = casinh;
    atan = catan;
    atanh = catanh;
    cos = ccos;
    cosh = ccosh;
    exp = cexp;
    ln = clog;
    sin = csin;
    sinh = csinh;
    sqrt = csqrt;
    tan = ctan;
    tanh = ctanh;
}

impl C128 {
    const ONE: C128 = C128 { re: 1.0, im: 0.0 };

    /// Quotient, scaled so that no intermediate overflows.
    pub fn quotient(self, o: Self) -> Self {
        if o.re.abs() >= o.im.abs() {
            if o.re == 0.0 && o.im == 0.0 {
                return C128 { re: self.re / o.re.abs(), im: self.im / o.re.abs() };
            }
            let r = o.im / o.re;
            let d = o.re + o.im * r;
            C128 { re: (self.re + self.im * r) / d, im: (self.im - self.re * r) / d }
        } else {
            let r = o.re / o.im;
            let d = o.re * r + o.im;
            C128 { re: (self.re * r + self.im) / d, im: (self.im * r - self.re) / d }
        }
    }

    /// Power; 0 to the power 0 is 1.
    pub fn pow(self, o: Self) -> Self {
        if o.re == 0.0 && o.im == 0.0 {
            return Self::ONE;
        }
        if self.re == 0.0 && self.im == 0.0 && o.im == 0.0 && o.re > 0.0 {
            return C128 { re: 0.0, im: 0.0 };
        }
        // SAFETY: a pure function of the C library.
        unsafe { cpow(self, o) }
    }

    /// Magnitude without overflow.
    pub fn abs(self) -> f64 {
        self.re.hypot(self.im)
    }

    /// eᶻ − 1 without cancellation near 0.
    pub fn exp_m1(self) -> Self {
        let (s, c) = self.im.sin_cos();
        let h = (0.5 * self.im).sin();
        let m = self.re.exp_m1();
        C128 { re: m * c - 2.0 * h * h, im: (m + 1.0) * s }
    }

    /// ln(1 + z) without cancellation near 0.
    pub fn ln_1p(self) -> Self {
        if self.re.is_nan() || self.im.is_nan() {
            return C128 { re: f64::NAN, im: f64::NAN };
        }
        let one_plus = self.re + 1.0;
        let re = if self.re.abs() < 0.5 && self.im.abs() < 0.5 {
            0.5 * (self.re * (2.0 + self.re) + self.im * self.im).ln_1p()
        } else {
            one_plus.hypot(self.im).ln()
        };
        C128 { re, im: self.im.atan2(one_plus) }
    }

    /// 1 / (1 + e⁻ᶻ).
    pub fn logistic(self) -> Self {
        let e = C128 { re: -self.re, im: -self.im }.exp();
        Self::ONE.quotient(C128 { re: 1.0 + e.re, im: e.im })
    }

    /// 1 / √z.
    pub fn rsqrt(self) -> Self {
        Self::ONE.quotient(self.sqrt())
    }

    /// z / |z|, 0 for 0.
    pub fn sign(self) -> Self {
        let m = self.abs();
        if m == 0.0 {
            return C128 { re: 0.0, im: 0.0 };
        }
        C128 { re: self.re / m, im: self.im / m }
    }
}

impl C64 {
    /// The same number in double precision.
    #[inline(always)]
    pub fn wide(self) -> C128 {
        C128 { re: f64::from(self.re), im: f64::from(self.im) }
    }

    /// Rounded from double precision.
    #[inline(always)]
    pub fn of(z: C128) -> Self {
        C64 { re: z.re as f32, im: z.im as f32 }
    }
}
