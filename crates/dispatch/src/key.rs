//! The key of a call: every fact that can change the compiled program, as words.
//!
//! Tensors contribute element type, place, sizes and strides; static attributes their values; run-time numbers only
//! their class. One more word per written tensor says whether its memory meets another operand's, since the program
//! must then finish reading before it writes.

use smallvec::SmallVec;
use tnrs_types::Scalar;

use crate::ops::{OpState, Policy};
use crate::raw::{RawArg, RawTensor, Tag};

/// The words of a key; those of nearly every call fit on the stack.
pub(crate) type Key = SmallVec<[u64; 64]>;

/// Builds the key of a call.
#[inline]
pub(crate) fn build(op: &OpState, args: &[RawArg], key: &mut Key) {
    key.push(u64::from(op.id));
    for (arg, policy) in args.iter().zip(&op.policies) {
        push_arg(arg, *policy, key);
    }
    if op.has_writes {
        key.push(overlaps(op, args));
    }
}

/// A 64-bit hash of the words: each times an odd number of its place, summed, so that the products do not wait for each
/// other, then mixed.
#[inline]
pub(crate) fn hash(words: &[u64]) -> u64 {
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
    let (mut sum, mut factor) = (words.len() as u64, STEP | 1);
    for &w in words {
        sum = sum.wrapping_add((w ^ (w >> 32)).wrapping_mul(factor));
        factor = factor.wrapping_add(STEP << 1);
    }
    let mixed = (sum ^ (sum >> 32)).wrapping_mul(0xa076_1d64_78bd_642f);
    mixed ^ (mixed >> 29)
}

#[inline]
fn push_arg(arg: &RawArg, policy: Policy, key: &mut Key) {
    let head = u64::from(arg.tag) | (u64::from(arg.len) << 8);
    match arg.tag() {
        Tag::Tensor => push_tensor(&arg.tensors()[0], key),
        Tag::TensorList => {
            key.push(head);
            for t in arg.tensors() {
                push_tensor(t, key);
            }
        }
        Tag::Bool | Tag::Int | Tag::Float | Tag::Complex => push_number(arg.scalar(), policy, key),
        Tag::IntList => {
            key.push(head);
            key.extend(arg.ints().iter().map(|&v| v as u64));
        }
        Tag::FloatList => {
            key.push(head);
            key.extend(arg.floats().iter().map(|v| v.to_bits()));
        }
        Tag::BoolList | Tag::Str => {
            key.push(head);
            for chunk in arg.bytes().chunks(8) {
                let mut word = [0; 8];
                word[..chunk.len()].copy_from_slice(chunk);
                key.push(u64::from_le_bytes(word));
            }
        }
        Tag::ScalarList => {
            key.push(head);
            for s in arg.scalars() {
                push_number(s.get(), policy, key);
            }
        }
        Tag::None | Tag::Generator | Tag::Other => key.push(head),
    }
}

#[inline]
fn push_tensor(t: &RawTensor, key: &mut Key) {
    if t.handle.is_null() {
        key.push(0xff);
        return;
    }
    key.push(
        1 | (u64::from(t.dtype) << 8)
            | (u64::from(t.device_type) << 16)
            | (u64::from(t.device_index as u8) << 24)
            | (u64::from(t.flags) << 32)
            | ((t.ndim as u64) << 40),
    );
    // A few words each: a loop beats a call of memcpy.
    key.reserve(2 * t.ndim as usize);
    key.extend(t.sizes().iter().map(|&d| d as u64));
    key.extend(t.strides().iter().map(|&s| s as u64));
}

#[inline]
fn push_number(s: Scalar, policy: Policy, key: &mut Key) {
    let class = 0x40 | s.class() as u64;
    let by_value = match policy {
        Policy::Static => true,
        Policy::Operand => false,
        Policy::Unit => is_unit(s),
    };
    if !by_value {
        key.push(class);
        return;
    }
    key.push(class | 0x80);
    match s {
        Scalar::Bool(b) => key.push(u64::from(b)),
        Scalar::Int(i) => key.push(i as u64),
        Scalar::UInt(u) => key.push(u),
        Scalar::Float(f) => key.push(f.to_bits()),
        Scalar::Complex(re, im) => key.extend([re.to_bits(), im.to_bits()]),
    }
}

/// Whether a number with policy `Unit` is static.
pub(crate) fn is_unit(s: Scalar) -> bool {
    s.is(0) || s.is(1)
}

/// One bit per written tensor (the last bit stands for all beyond 63) whose memory meets another operand's.
fn overlaps(op: &OpState, args: &[RawArg]) -> u64 {
    let mut bits = 0u64;
    let mut nth = 0u32;
    for (i, arg) in args.iter().enumerate() {
        if !op.schema.writes[i] {
            continue;
        }
        for (e, t) in arg.tensors().iter().enumerate() {
            if meets_another(t, (i, e), args) {
                bits |= 1 << nth.min(63);
            }
            nth += 1;
        }
    }
    bits
}

fn meets_another(t: &RawTensor, me: (usize, usize), args: &[RawArg]) -> bool {
    let (start, len) = t.extent();
    args.iter().enumerate().any(|(i, arg)| {
        arg.tensors().iter().enumerate().any(|(e, other)| {
            if (i, e) == me || other.handle.is_null() {
                return false;
            }
            let (s, l) = other.extent();
            start < s + l && s < start + len
        })
    })
}

/// Whether the written tensor number `nth` has its overlap bit set in a word from [`build`].
pub(crate) fn overlap_bit(word: u64, nth: usize) -> bool {
    word >> nth.min(63) & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hash_depends_on_every_word_and_its_place() {
        let base = hash(&[1, 2, 3]);
        assert_ne!(base, hash(&[1, 3, 2]));
        assert_ne!(base, hash(&[1, 2, 3, 0]));
        assert_ne!(base, hash(&[1, 2, 4]));
    }

    #[test]
    fn numbers_enter_by_policy() {
        let words = |s, p| {
            let mut k = Key::new();
            push_number(s, p, &mut k);
            k
        };
        let (a, b) = (Scalar::Float(0.5), Scalar::Float(0.25));
        assert_eq!(words(a, Policy::Operand), words(b, Policy::Operand));
        assert_ne!(words(a, Policy::Static), words(b, Policy::Static));
        assert_eq!(words(a, Policy::Unit), words(b, Policy::Unit));
        assert_ne!(words(Scalar::Float(1.0), Policy::Unit), words(a, Policy::Unit));
    }
}
