//! Plain data of the C ABI that several entry points share.

use tnrs_types::DType;

/// Stands for no element type.
pub const NO_DTYPE: u8 = 255;

/// PyTorch's `ScalarType` codes (c10/core/ScalarType.h), which its serialization format fixes.
const TORCH_CODES: &[(usize, DType)] = &[
    (0, DType::U8),
    (1, DType::I8),
    (2, DType::I16),
    (3, DType::I32),
    (4, DType::I64),
    (5, DType::F16),
    (6, DType::F32),
    (7, DType::F64),
    (8, DType::C32),
    (9, DType::C64),
    (10, DType::C128),
    (11, DType::Bool),
    (15, DType::BF16),
    (23, DType::F8E5M2),
    (24, DType::F8E4M3FN),
    (25, DType::F8E5M2FNUZ),
    (26, DType::F8E4M3FNUZ),
    (27, DType::U16),
    (28, DType::U32),
    (29, DType::U64),
    (44, DType::F8E8M0FNU),
];

const fn from_torch() -> [u8; 64] {
    let mut table = [NO_DTYPE; 64];
    let mut i = 0;
    while i < TORCH_CODES.len() {
        table[TORCH_CODES[i].0] = TORCH_CODES[i].1 as u8;
        i += 1;
    }
    table
}

const fn to_torch() -> [u8; 64] {
    let mut table = [NO_DTYPE; 64];
    let mut i = 0;
    while i < TORCH_CODES.len() {
        table[TORCH_CODES[i].1 as usize] = TORCH_CODES[i].0 as u8;
        i += 1;
    }
    table
}

/// PyTorch's `ScalarType` code to the code of the element type, [`NO_DTYPE`] where there is none. Read by the shim.
#[no_mangle]
pub static nrn_dtype_from_torch: [u8; 64] = from_torch();

/// Code of an element type to PyTorch's `ScalarType`. Read by the shim.
#[no_mangle]
pub static nrn_dtype_to_torch: [u8; 64] = to_torch();

/// `NBlock` of csrc/neuron.h.
pub type NBlock = tnrs_runtime::Block;

/// `NStat` of csrc/neuron.h.
pub type NStat = tnrs_runtime::Stat;

/// `NMemoryStats` of csrc/neuron.h.
pub type NMemoryStats = tnrs_runtime::MemoryStats;
