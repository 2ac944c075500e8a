//! Element types.

/// The arithmetic family of an element type; decides promotion and which kernels apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Truth values.
    Bool,
    /// Signed and unsigned integers.
    Int,
    /// Binary floating point.
    Float,
    /// Pairs of floats.
    Complex,
}

macro_rules! dtypes {
    ($($(#[$doc:meta])* $name:ident = $size:literal, $class:ident, $text:literal;)*) => {
        /// An element type. One byte; the discriminant is an internal code and never leaves the process.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum DType { $($(#[$doc])* $name,)* }

        impl DType {
            /// Every element type, in declaration order.
            pub const ALL: &'static [DType] = &[$(DType::$name,)*];

            /// Size of one element in bytes. Packed sub-byte types count one byte per pair.
            pub const fn size(self) -> usize {
                match self { $(DType::$name => $size,)* }
            }

            /// Arithmetic family.
            pub const fn class(self) -> Class {
                match self { $(DType::$name => Class::$class,)* }
            }

            /// Name as StableHLO text writes it (`f32`, `i1`, `ui8`, `complex<f32>`, …).
            pub const fn hlo_name(self) -> &'static str {
                match self { $(DType::$name => $text,)* }
            }
        }
    };
}

dtypes! {
    /// Boolean, one byte, 0 or 1.
    Bool = 1, Bool, "i1";
    /// Unsigned 8-bit integer.
    U8 = 1, Int, "ui8";
    /// Signed 8-bit integer.
    I8 = 1, Int, "i8";
    /// Unsigned 16-bit integer.
    U16 = 2, Int, "ui16";
    /// Signed 16-bit integer.
    I16 = 2, Int, "i16";
    /// Unsigned 32-bit integer.
    U32 = 4, Int, "ui32";
    /// Signed 32-bit integer.
    I32 = 4, Int, "i32";
    /// Unsigned 64-bit integer.
    U64 = 8, Int, "ui64";
    /// Signed 64-bit integer.
    I64 = 8, Int, "i64";
    /// OCP 8-bit float, 4 exponent bits, no infinity.
    F8E4M3FN = 1, Float, "f8E4M3FN";
    /// 8-bit float, 5 exponent bits.
    F8E5M2 = 1, Float, "f8E5M2";
    /// 8-bit float, 4 exponent bits, no infinity and no negative zero.
    F8E4M3FNUZ = 1, Float, "f8E4M3FNUZ";
    /// 8-bit float, 5 exponent bits, no infinity and no negative zero.
    F8E5M2FNUZ = 1, Float, "f8E5M2FNUZ";
    /// 8-bit power of two: 8 exponent bits and nothing else; NaN is the greatest code.
    F8E8M0FNU = 1, Float, "f8E8M0FNU";
    /// IEEE half precision.
    F16 = 2, Float, "f16";
    /// bfloat16.
    BF16 = 2, Float, "bf16";
    /// IEEE single precision.
    F32 = 4, Float, "f32";
    /// IEEE double precision.
    F64 = 8, Float, "f64";
    /// Pair of f16. Not of StableHLO: it is stored, moved and converted, and computed with as a pair of f32.
    C32 = 4, Complex, "complex<f16>";
    /// Pair of f32.
    C64 = 8, Complex, "complex<f32>";
    /// Pair of f64.
    C128 = 16, Complex, "complex<f64>";
}

impl DType {
    /// Binary floating point (8, 16, 32 or 64 bits).
    pub const fn is_float(self) -> bool {
        matches!(self.class(), Class::Float)
    }
    /// Complex.
    pub const fn is_complex(self) -> bool {
        matches!(self.class(), Class::Complex)
    }
    /// Integer, not bool.
    pub const fn is_int(self) -> bool {
        matches!(self.class(), Class::Int)
    }
    /// Unsigned integer.
    pub const fn is_unsigned(self) -> bool {
        matches!(self, DType::U8 | DType::U16 | DType::U32 | DType::U64)
    }
    /// 8- or 16-bit float, whose arithmetic is done in f32.
    pub const fn is_reduced_float(self) -> bool {
        self.is_float() && self.size() < 4
    }
    /// Arithmetic is done in a wider type: reduced floats, and pairs of them.
    pub const fn is_narrow(self) -> bool {
        self.is_reduced_float() || matches!(self, DType::C32)
    }
    /// The type arithmetic is done in: f32 for reduced floats, a pair of f32 for a pair of f16, otherwise the type
    /// itself.
    pub const fn opmath(self) -> DType {
        match self {
            DType::C32 => DType::C64,
            d if d.is_reduced_float() => DType::F32,
            d => d,
        }
    }
    /// Whether PyTorch lets a result of this type be written to an `out=` argument of another: never from complex to
    /// real, from float to integer, or from a number to bool.
    pub fn casts_to(self, to: DType) -> bool {
        self.class() <= to.class()
    }
    /// PyTorch's words for a result of this type that does not cast to another.
    pub fn miscast(self, to: DType) -> String {
        let [from, to] = [self, to].map(DType::torch_name);
        format!("result type {from} can't be cast to the desired output type {to}")
    }
    /// Name as PyTorch's messages write it (`Float`, `Long`, `ComplexFloat`, …).
    pub const fn torch_name(self) -> &'static str {
        match self {
            DType::Bool => "Bool",
            DType::U8 => "Byte",
            DType::I8 => "Char",
            DType::U16 => "UInt16",
            DType::I16 => "Short",
            DType::U32 => "UInt32",
            DType::I32 => "Int",
            DType::U64 => "UInt64",
            DType::I64 => "Long",
            DType::F8E4M3FN => "Float8_e4m3fn",
            DType::F8E5M2 => "Float8_e5m2",
            DType::F8E4M3FNUZ => "Float8_e4m3fnuz",
            DType::F8E5M2FNUZ => "Float8_e5m2fnuz",
            DType::F8E8M0FNU => "Float8_e8m0fnu",
            DType::F16 => "Half",
            DType::BF16 => "BFloat16",
            DType::F32 => "Float",
            DType::F64 => "Double",
            DType::C32 => "ComplexHalf",
            DType::C64 => "ComplexFloat",
            DType::C128 => "ComplexDouble",
        }
    }
    /// Name of the C++ type, as some of PyTorch's messages write it (`float`, `long int`, `c10::Half`, …).
    pub const fn cpp_name(self) -> &'static str {
        match self {
            DType::Bool => "bool",
            DType::U8 => "unsigned char",
            DType::I8 => "signed char",
            DType::U16 => "short unsigned int",
            DType::I16 => "short int",
            DType::U32 => "unsigned int",
            DType::I32 => "int",
            DType::U64 => "long unsigned int",
            DType::I64 => "long int",
            DType::F8E4M3FN => "c10::Float8_e4m3fn",
            DType::F8E5M2 => "c10::Float8_e5m2",
            DType::F8E4M3FNUZ => "c10::Float8_e4m3fnuz",
            DType::F8E5M2FNUZ => "c10::Float8_e5m2fnuz",
            DType::F8E8M0FNU => "c10::Float8_e8m0fnu",
            DType::F16 => "c10::Half",
            DType::BF16 => "c10::BFloat16",
            DType::F32 => "float",
            DType::F64 => "double",
            DType::C32 => "c10::complex<c10::Half>",
            DType::C64 => "c10::complex<float>",
            DType::C128 => "c10::complex<double>",
        }
    }
    /// The component type of a complex type; the type itself otherwise.
    pub const fn real(self) -> DType {
        match self {
            DType::C32 => DType::F16,
            DType::C64 => DType::F32,
            DType::C128 => DType::F64,
            other => other,
        }
    }
    /// Largest finite number (of a component); of 64-bit integers, the next float below their largest.
    pub const fn greatest(self) -> f64 {
        match self.real() {
            DType::Bool => 1.0,
            DType::U8 => u8::MAX as f64,
            DType::I8 => i8::MAX as f64,
            DType::U16 => u16::MAX as f64,
            DType::I16 => i16::MAX as f64,
            DType::U32 => u32::MAX as f64,
            DType::I32 => i32::MAX as f64,
            DType::U64 => 18_446_744_073_709_549_568.0,
            DType::I64 => 9_223_372_036_854_774_784.0,
            DType::F64 => f64::MAX,
            DType::F16 => 65504.0,
            DType::BF16 => f32::from_bits(0x7f7f_0000) as f64,
            // 2 to the 127th.
            DType::F8E8M0FNU => f32::from_bits(0x7f00_0000) as f64,
            DType::F8E4M3FN => 448.0,
            DType::F8E4M3FNUZ => 240.0,
            DType::F8E5M2 | DType::F8E5M2FNUZ => 57344.0,
            _ => f32::MAX as f64,
        }
    }
    /// Least number of an integer type, exactly.
    pub const fn least_int(self) -> f64 {
        match self {
            DType::I8 => i8::MIN as f64,
            DType::I16 => i16::MIN as f64,
            DType::I32 => i32::MIN as f64,
            DType::I64 => i64::MIN as f64,
            _ => 0.0,
        }
    }
    /// Name as PyTorch's messages about conversions write it (`int8_t`, `c10::Half`, …).
    pub const fn c_name(self) -> &'static str {
        match self {
            DType::U8 => "uint8_t",
            DType::I8 => "int8_t",
            DType::U16 => "uint16_t",
            DType::I16 => "int16_t",
            DType::U32 => "uint32_t",
            DType::U64 => "uint64_t",
            DType::I64 => "int64_t",
            other => other.cpp_name(),
        }
    }
    /// The complex type whose components hold a real type's numbers: that of f32, but for f16 and f64.
    pub const fn complex(self) -> DType {
        match self {
            DType::F16 | DType::C32 => DType::C32,
            DType::F64 | DType::C128 => DType::C128,
            _ => DType::C64,
        }
    }
}
