//! Borrowed views of a call's arguments, laid out as the C ABI has them so that nothing is converted on the way.

use std::ffi::c_void;

use tnrs_types::{numel, span, DType, Dims, Scalar};

/// Where a tensor lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Place {
    /// Host memory.
    Cpu = 0,
    /// Device memory.
    Neuron = 1,
    /// No memory.
    Meta = 2,
    /// Another device.
    Other = 3,
}

/// A Python number in a tensor's clothes.
pub const FLAG_WRAPPED: u8 = 1;
/// The tensor is lazily conjugated.
pub const FLAG_CONJ: u8 = 2;
/// The tensor is lazily negated.
pub const FLAG_NEG: u8 = 4;

/// A tensor argument.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct RawTensor {
    /// Address of element 0.
    pub data: *mut u8,
    /// `ndim` sizes.
    pub sizes: *const i64,
    /// `ndim` strides, in elements.
    pub strides: *const i64,
    /// Rank.
    pub ndim: i32,
    /// Code of the element type: its position in [`DType::ALL`].
    pub dtype: u8,
    /// A [`Place`].
    pub device_type: u8,
    /// Device index, -1 for none.
    pub device_index: i8,
    /// `FLAG_*`.
    pub flags: u8,
    /// The framework's handle; null in a list means undefined.
    pub handle: *mut c_void,
}

impl RawTensor {
    /// Sizes.
    pub fn sizes(&self) -> &[i64] {
        if self.ndim == 0 {
            return &[];
        }
        // SAFETY: the caller of `dispatch::call` lends `ndim` sizes for the duration of the call.
        unsafe { std::slice::from_raw_parts(self.sizes, self.ndim as usize) }
    }
    /// Strides in elements.
    pub fn strides(&self) -> &[i64] {
        if self.ndim == 0 {
            return &[];
        }
        // SAFETY: as for `sizes`.
        unsafe { std::slice::from_raw_parts(self.strides, self.ndim as usize) }
    }
    /// Element type, unless PyTorch's type has no counterpart here.
    pub fn dtype(&self) -> Option<DType> {
        DType::ALL.get(self.dtype as usize).copied()
    }
    /// Whether the tensor is in device memory.
    pub fn on_device(&self) -> bool {
        self.device_type == Place::Neuron as u8
    }
    /// A 0-dim host tensor, which takes part as a number.
    pub fn is_host_number(&self) -> bool {
        self.device_type == Place::Cpu as u8 && self.ndim == 0
    }
    /// Byte range that the elements occupy: (address, length).
    pub fn extent(&self) -> (usize, usize) {
        let item = self.dtype().map_or(1, DType::size);
        (self.data as usize, span(self.sizes(), self.strides()) as usize * item)
    }
}

/// Strided elements of `size` bytes in row-major order.
///
/// # Safety
/// The elements from `base` on are valid for reads.
pub(crate) unsafe fn gather(base: *const u8, size: usize, dims: &[i64], strides: &[i64]) -> Vec<u8> {
    let count = numel(dims) as usize;
    let mut bytes = Vec::with_capacity(count * size);
    let mut at: Dims = smallvec::smallvec![0; dims.len()];
    for _ in 0..count {
        let offset: i64 = at.iter().zip(strides).map(|(i, s)| i * s).sum();
        // SAFETY: the position is within the sizes, so the element is within what the caller vouches for.
        let element =
            unsafe { std::slice::from_raw_parts(base.offset(offset as isize * size as isize), size) };
        bytes.extend_from_slice(element);
        for d in (0..at.len()).rev() {
            at[d] += 1;
            if at[d] < dims[d] {
                break;
            }
            at[d] = 0;
        }
    }
    bytes
}

/// What an argument is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
#[allow(missing_docs, reason = "each variant names the type of its value")]
pub enum Tag {
    None = 0,
    Tensor = 1,
    TensorList = 2,
    Bool = 3,
    Int = 4,
    Float = 5,
    Complex = 6,
    IntList = 7,
    FloatList = 8,
    BoolList = 9,
    Str = 10,
    Generator = 11,
    ScalarList = 12,
    Other = 13,
}

/// One number of a list of numbers.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct RawScalar {
    tag: u32,
    pad: u32,
    re: u64,
    im: f64,
}

impl RawScalar {
    /// The number.
    pub fn get(&self) -> Scalar {
        number(self.tag, self.re, self.im)
    }
}

fn number(tag: u32, re: u64, im: f64) -> Scalar {
    match tag {
        t if t == Tag::Bool as u32 => Scalar::Bool(re != 0),
        t if t == Tag::Int as u32 => Scalar::Int(re as i64),
        t if t == Tag::Complex as u32 => Scalar::Complex(f64::from_bits(re), im),
        _ => Scalar::Float(f64::from_bits(re)),
    }
}

/// One argument. `bits` is an integer, the bits of a float, or an address, by tag.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct RawArg {
    /// A [`Tag`] as its number.
    pub tag: u32,
    /// Length of a list or text.
    pub len: u32,
    /// The value.
    pub bits: u64,
}

impl RawArg {
    /// The tag; unknown numbers read as `Other`.
    pub fn tag(&self) -> Tag {
        const TAGS: [Tag; 14] = [
            Tag::None,
            Tag::Tensor,
            Tag::TensorList,
            Tag::Bool,
            Tag::Int,
            Tag::Float,
            Tag::Complex,
            Tag::IntList,
            Tag::FloatList,
            Tag::BoolList,
            Tag::Str,
            Tag::Generator,
            Tag::ScalarList,
            Tag::Other,
        ];
        TAGS.get(self.tag as usize).copied().unwrap_or(Tag::Other)
    }

    /// The tensors of a tensor argument or list; empty for anything else.
    pub fn tensors(&self) -> &[RawTensor] {
        match self.tag() {
            Tag::Tensor => self.slice(1),
            Tag::TensorList => self.slice(self.len as usize),
            _ => &[],
        }
    }
    /// A list of integers.
    pub fn ints(&self) -> &[i64] {
        self.slice(self.len as usize)
    }
    /// A list of floats.
    pub fn floats(&self) -> &[f64] {
        self.slice(self.len as usize)
    }
    /// A list of truth values, or text, as bytes.
    pub fn bytes(&self) -> &[u8] {
        self.slice(self.len as usize)
    }
    /// A list of numbers.
    pub fn scalars(&self) -> &[RawScalar] {
        self.slice(self.len as usize)
    }
    /// The number of a Bool, Int, Float or Complex argument.
    pub fn scalar(&self) -> Scalar {
        if self.tag() == Tag::Complex {
            let pair: &[f64] = self.slice(2);
            return Scalar::Complex(pair[0], pair[1]);
        }
        number(self.tag, self.bits, 0.0)
    }

    fn slice<T>(&self, len: usize) -> &[T] {
        if len == 0 {
            return &[];
        }
        // SAFETY: the caller of `dispatch::call` lends `len` values at this address for the duration of the call.
        unsafe { std::slice::from_raw_parts(self.bits as *const T, len) }
    }
}

/// A return value that is not an alias of an argument.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct RawRet {
    /// 0 undefined, 1 tensor, 2 int, 3 list (its length, then its elements follow), 4 float.
    pub tag: u32,
    /// Zero.
    pub pad: u32,
    /// A handle, an integer or the bits of a float.
    pub bits: u64,
}
