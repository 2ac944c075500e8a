//! Naive oracles for tests: elements as plain numbers, decoded and encoded without the code under test.

use tnrs_types::{Class, DType};

use crate::isa::Isa;

/// A decoded element.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Num {
    /// Bool or integer.
    Int(i128),
    /// Float.
    Float(f64),
    /// Complex.
    Complex(f64, f64),
}

impl Num {
    /// As a real number.
    pub fn real(self) -> f64 {
        match self {
            Num::Int(i) => i as f64,
            Num::Float(f) | Num::Complex(f, _) => f,
        }
    }
}

/// Bits, mantissa width and bias of the fp8 forms.
fn fp8_parts(d: DType) -> (u32, i32) {
    match d {
        DType::F8E4M3FN => (3, 7),
        DType::F8E5M2 => (2, 15),
        DType::F8E4M3FNUZ => (3, 8),
        _ => (2, 16),
    }
}

/// Value of an fp8 code, from the definition of the form.
pub fn fp8_value(d: DType, code: u8) -> f64 {
    if d == DType::F8E8M0FNU {
        return if code == 0xff { f64::NAN } else { 2f64.powi(i32::from(code) - 127) };
    }
    let (m, bias) = fp8_parts(d);
    let sign = if code & 0x80 != 0 { -1.0 } else { 1.0 };
    let e = ((code & 0x7f) >> m) as i32;
    let f = f64::from(code & ((1 << m) - 1)) / f64::from(1 << m);
    match d {
        DType::F8E4M3FN if code & 0x7f == 0x7f => return f64::NAN,
        DType::F8E5M2 if e == 31 => return if f == 0.0 { sign * f64::INFINITY } else { f64::NAN },
        DType::F8E4M3FNUZ | DType::F8E5M2FNUZ if code == 0x80 => return f64::NAN,
        _ => {}
    }
    if e == 0 {
        sign * f * 2f64.powi(1 - bias)
    } else {
        sign * (1.0 + f) * 2f64.powi(e - bias)
    }
}

/// Nearest fp8 code by search; ties to the even code. Out of range: infinity for e5m2, the greatest number for e4m3fn,
/// NaN for the others.
fn fp8_nearest(d: DType, x: f32) -> u8 {
    if d == DType::F8E8M0FNU {
        // Codes in order of their numbers; halfway goes up, but down from f32's denormal numbers.
        let a = f64::from(x.abs());
        if !a.is_finite() {
            return 0xff;
        }
        let goes_up = |c: u8| {
            let (low, high) = (fp8_value(d, c), 2f64.powi(i32::from(c) - 126));
            let middle = (low.max(2f64.powi(-126)) + high) / 2.0;
            if c == 0 {
                a > (2f64.powi(-126)) / 2.0
            } else {
                a >= middle
            }
        };
        return (0..=0xfeu8).find(|&c| !goes_up(c)).unwrap_or(0xff);
    }
    let fnuz = matches!(d, DType::F8E4M3FNUZ | DType::F8E5M2FNUZ);
    let sign = if x.is_sign_negative() { 0x80u8 } else { 0 };
    let nan = if fnuz { 0x80 } else { 0x7f | sign };
    if x.is_nan() {
        return nan;
    }
    let a = f64::from(x.abs());
    let finite: Vec<u8> = (0..0x80u8).filter(|&c| fp8_value(d, c).is_finite()).collect();
    let top = *finite.last().unwrap();
    let step = fp8_value(d, top) - fp8_value(d, top - 1);
    // Halfway to the number that would come next, a tie goes to that number where its code is even.
    let limit = fp8_value(d, top) + step / 2.0;
    if a > limit || (a == limit && top % 2 == 1) {
        return match d {
            DType::F8E5M2 => 0x7c | sign,
            DType::F8E4M3FN => 0x7e | sign,
            _ => nan,
        };
    }
    let mut best = 0u8;
    for &c in &finite {
        let (e, b) = ((fp8_value(d, c) - a).abs(), (fp8_value(d, best) - a).abs());
        if e < b || (e == b && c % 2 == 0) {
            best = c;
        }
    }
    if fnuz && best == 0 {
        0
    } else {
        best | sign
    }
}

macro_rules! ints {
    ($d:expr, $go:ident) => {
        match $d {
            DType::U8 => $go!(u8),
            DType::I8 => $go!(i8),
            DType::U16 => $go!(u16),
            DType::I16 => $go!(i16),
            DType::U32 => $go!(u32),
            DType::I32 => $go!(i32),
            DType::U64 => $go!(u64),
            _ => $go!(i64),
        }
    };
}

/// Decodes element `i` of a byte array.
pub fn get(d: DType, bytes: &[u8], i: usize) -> Num {
    let b = &bytes[i * d.size()..(i + 1) * d.size()];
    let half = |k: usize| u16::from_ne_bytes([b[k], b[k + 1]]);
    let f = |k: usize| f64::from(f32::from_ne_bytes(b[k..k + 4].try_into().unwrap()));
    let g = |k: usize| f64::from_ne_bytes(b[k..k + 8].try_into().unwrap());
    match d {
        DType::Bool => Num::Int(i128::from(b[0] != 0)),
        DType::BF16 => Num::Float(half::bf16::from_bits(half(0)).to_f64()),
        DType::F16 => Num::Float(half::f16::from_bits(half(0)).to_f64()),
        DType::F32 => Num::Float(f(0)),
        DType::F64 => Num::Float(g(0)),
        DType::C32 => {
            let part = |k| half::f16::from_bits(half(k)).to_f64();
            Num::Complex(part(0), part(2))
        }
        DType::C64 => Num::Complex(f(0), f(4)),
        DType::C128 => Num::Complex(g(0), g(8)),
        d if d.is_float() => Num::Float(fp8_value(d, b[0])),
        d => {
            macro_rules! read {
                ($t:ty) => {
                    Num::Int(<$t>::from_ne_bytes(b.try_into().unwrap()) as i128)
                };
            }
            ints!(d, read)
        }
    }
}

/// A float as an integer of a type, before its low bits are taken; see [`crate::tile::convert`].
fn whole(f: f64, d: DType) -> i128 {
    let least = match d {
        DType::U64 => return (f as u64).into(),
        DType::I64 | DType::U32 => -(1i128 << 63),
        _ => -(1i128 << 31),
    };
    if f > least as f64 - 1.0 && f < -least as f64 {
        f as i128
    } else {
        least
    }
}

/// Encodes a number as an element: integers wrap, floats to integer go by [`whole`], anything to bool is `!= 0`, reduced
/// floats round from f32.
pub fn put(d: DType, x: Num) -> Vec<u8> {
    let single = |x: Num| match x {
        Num::Int(i) => i as f32,
        other => other.real() as f32,
    };
    match d {
        DType::Bool => vec![u8::from(match x {
            Num::Int(i) => i != 0,
            Num::Float(f) => f != 0.0,
            Num::Complex(a, b) => a != 0.0 || b != 0.0,
        })],
        DType::BF16 => half::bf16::from_f32(single(x)).to_bits().to_ne_bytes().to_vec(),
        DType::F16 => half::f16::from_f32(single(x)).to_bits().to_ne_bytes().to_vec(),
        DType::F32 => single(x).to_ne_bytes().to_vec(),
        DType::F64 => x.real().to_ne_bytes().to_vec(),
        DType::C32 | DType::C64 | DType::C128 => {
            let (re, im) = match x {
                Num::Complex(a, b) => (Num::Float(a), b),
                other => (other, 0.0),
            };
            let part = d.real();
            [put(part, re), put(part, Num::Float(im))].concat()
        }
        d if d.is_float() => vec![fp8_nearest(d, single(x))],
        d => {
            macro_rules! write {
                ($t:ty) => {
                    match x {
                        Num::Int(i) => (i as $t).to_ne_bytes().to_vec(),
                        other => {
                            let v = whole(other.real(), d);
                            (v as $t).to_ne_bytes().to_vec()
                        }
                    }
                };
            }
            ints!(d, write)
        }
    }
}

/// Encodes many numbers.
pub fn array(d: DType, xs: impl IntoIterator<Item = Num>) -> Vec<u8> {
    xs.into_iter().flat_map(|x| put(d, x)).collect()
}

/// Numbers that stress a type: small ones, halves, extremes and, for floats, the special values.
pub fn samples(d: DType) -> Vec<Num> {
    let mut out: Vec<Num> = (-9..=9).map(Num::Int).collect();
    for shift in [7u32, 8, 11, 15, 16, 24, 31, 32, 53, 63] {
        for delta in [-1i128, 0, 1] {
            out.push(Num::Int((1i128 << shift) + delta));
            out.push(Num::Int(-(1i128 << shift) + delta));
        }
    }
    if d.class() == Class::Float || d.class() == Class::Complex {
        for f in
            [0.5, 1.5, 2.5, 0.3, 1e-3, 448.0, 464.0, 465.0, 480.0, 240.0, 57344.0, 61440.0, 65504.0, 65520.0]
        {
            out.extend([Num::Float(f), Num::Float(-f)]);
        }
        for e in [-24, -17, -16, -14, -10, -9, -8, -133, -149, -126, 127] {
            let p = 2f64.powi(e);
            out.extend([p, 1.5 * p, -1.75 * p, 1.25 * p].map(Num::Float));
        }
        out.extend([0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN].map(Num::Float));
    }
    // Through the type once, so that every sample is representable.
    out.into_iter().map(|x| get(d, &put(d, x), 0)).collect()
}

/// Distance of `y` from `exact` in units of the last place of the f32 nearest `exact`; infinite when one is NaN,
/// infinite or a zero of the wrong sign and the other is not.
pub fn ulp32(y: f32, exact: f64) -> f64 {
    let rounded = exact as f32;
    if y.is_nan() || exact.is_nan() {
        return if y.is_nan() && exact.is_nan() { 0.0 } else { f64::INFINITY };
    }
    if exact == 0.0 && y == 0.0 {
        return if y.is_sign_negative() == exact.is_sign_negative() { 0.0 } else { f64::INFINITY };
    }
    if y.is_infinite() || rounded.is_infinite() {
        // Either side of the overflow threshold is one step.
        let near = |x: f64| x.abs() >= f64::from(f32::MAX) * (1.0 - 1e-7);
        let same_sign = y.is_sign_negative() == exact.is_sign_negative();
        return if y == rounded {
            0.0
        } else if same_sign && near(exact) && near(f64::from(y)) {
            1.0
        } else {
            f64::INFINITY
        };
    }
    let exponent = exact.abs().log2().floor().max(-126.0);
    (f64::from(y) - exact).abs() / 2f64.powf(exponent - 23.0)
}

/// A small deterministic generator of bits.
pub struct Bits(pub u64);
impl Bits {
    /// Next 64 bits.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let x = self.0 ^ (self.0 >> 33);
        x.wrapping_mul(0xff51_afd7_ed55_8ccd) ^ (x >> 29)
    }
    /// Uniform in [lo, hi).
    pub fn uniform(&mut self, lo: f64, hi: f64) -> f64 {
        lo + (hi - lo) * (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Every instruction set of this machine.
pub fn isas() -> Vec<Isa> {
    Isa::available()
}

/// Numbers as elements of a float type, rounded.
pub fn encode(dtype: DType, x: &[f64]) -> Vec<u8> {
    x.iter()
        .flat_map(|&x| match dtype {
            DType::F64 => x.to_ne_bytes().to_vec(),
            DType::F32 => (x as f32).to_ne_bytes().to_vec(),
            DType::F16 => half::f16::from_f64(x).to_ne_bytes().to_vec(),
            _ => half::bf16::from_f64(x).to_ne_bytes().to_vec(),
        })
        .collect()
}

/// Elements of a float type as numbers.
pub fn decode(dtype: DType, x: &[u8]) -> Vec<f64> {
    x.chunks_exact(dtype.size())
        .map(|b| match dtype {
            DType::F64 => f64::from_ne_bytes(b.try_into().unwrap()),
            DType::F32 => f32::from_ne_bytes(b.try_into().unwrap()).into(),
            DType::F16 => half::f16::from_ne_bytes(b.try_into().unwrap()).into(),
            _ => half::bf16::from_ne_bytes(b.try_into().unwrap()).into(),
        })
        .collect()
}
