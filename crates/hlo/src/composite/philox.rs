//! `philox`: the counter-based generator Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
//! SC11), in integer ops. Words are held in u64, each below 2³², so that products need no wide multiplication.

use smallvec::smallvec;
use tnrs_types::{BinaryKind, CompareDir, DType, Scalar};

use super::decompose::Values;
use crate::{Builder, HloError, Value};

/// Round multipliers of the paper.
const MULTIPLIERS: [u64; 2] = [0xD251_1F53, 0xCD9E_8D57];
/// Key increments of the paper (golden ratio and √3 − 1).
const WEYL: [u64; 2] = [0x9E37_79B9, 0xBB67_AE85];
const ROUNDS: usize = 10;

fn constant(b: &mut Builder, like: Value, value: u64) -> Result<Value, HloError> {
    let dims = b.ty(like).dims.clone();
    b.splat(DType::U64, &dims, Scalar::UInt(value))
}

/// Low 32 bits.
fn low(b: &mut Builder, x: Value) -> Result<Value, HloError> {
    let mask = constant(b, x, 0xFFFF_FFFF)?;
    b.and(x, mask)
}

/// High 32 bits.
fn high(b: &mut Builder, x: Value) -> Result<Value, HloError> {
    let shift = constant(b, x, 32)?;
    b.binary(BinaryKind::ShiftRightLogical, x, shift)
}

/// Words of the given sizes; element `i` is word `i % 4` of the block with counter `offset + i / 4`.
pub fn philox(b: &mut Builder, seed: Value, offset: Value, dims: &[i64]) -> Values {
    let count = tnrs_types::numel(dims);
    let blocks = (count + 3) / 4;
    let mut key = [low(b, seed)?, high(b, seed)?];
    let start = b.broadcast_to(offset, &[blocks])?;
    let block = b.iota(DType::U64, &[blocks], 0)?;
    let counter = b.add(start, block)?;
    let wrapped = b.compare(CompareDir::Lt, counter, start)?;
    let carry = b.convert(wrapped, DType::U64)?;
    let zero = constant(b, carry, 0)?;
    let mut c = [low(b, counter)?, high(b, counter)?, carry, zero];
    for round in 0..ROUNDS {
        if round > 0 {
            for (k, step) in key.iter_mut().zip(WEYL) {
                let step = constant(b, *k, step)?;
                let sum = b.add(*k, step)?;
                *k = low(b, sum)?;
            }
        }
        let mut products = [c[0], c[2]];
        for (p, multiplier) in products.iter_mut().zip(MULTIPLIERS) {
            let multiplier = constant(b, *p, multiplier)?;
            *p = b.mul(*p, multiplier)?;
        }
        let mut mixed = [c[1], c[3]];
        for (i, m) in mixed.iter_mut().enumerate() {
            let product = high(b, products[1 - i])?;
            let k = b.broadcast_to(key[i], &[blocks])?;
            let keyed = b.xor(*m, k)?;
            *m = b.xor(product, keyed)?;
        }
        c = [mixed[0], low(b, products[1])?, mixed[1], low(b, products[0])?];
    }
    for word in &mut c {
        let narrow = b.convert(*word, DType::U32)?;
        *word = b.reshape(narrow, &[blocks, 1])?;
    }
    let words = b.concatenate(&c, 1)?;
    let words = b.reshape(words, &[blocks * 4])?;
    let words = b.slice(words, &[0], &[count], &[1])?;
    Ok(smallvec![b.reshape(words, dims)?])
}
