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

/// Where the words of a key go: into a key, or against one.
trait Sink {
    /// Takes a word; false ends the walk.
    fn word(&mut self, w: u64) -> bool;
}

impl Sink for Key {
    #[inline]
    fn word(&mut self, w: u64) -> bool {
        self.push(w);
        true
    }
}

/// The words of a key not met so far.
struct Rest<'a>(&'a [u64]);

impl Sink for Rest<'_> {
    #[inline]
    fn word(&mut self, w: u64) -> bool {
        match self.0.split_first() {
            Some((&first, rest)) if first == w => {
                self.0 = rest;
                true
            }
            _ => false,
        }
    }
}

/// Builds the key of a call.
#[inline]
pub(crate) fn build(op: &OpState, args: &[RawArg], key: &mut Key) {
    walk(op, args, key);
}

/// Adds what of tensors is in a key.
pub(crate) fn tensors(list: &[RawTensor], key: &mut Key) {
    for t in list {
        walk_tensor(t, key);
    }
}

/// Whether a call has this key.
#[inline]
pub(crate) fn matches(op: &OpState, args: &[RawArg], key: &[u64]) -> bool {
    let mut rest = Rest(key);
    walk(op, args, &mut rest) && rest.0.is_empty()
}

#[inline]
fn walk(op: &OpState, args: &[RawArg], to: &mut impl Sink) -> bool {
    to.word(u64::from(op.id))
        && args.iter().zip(&op.policies).all(|(arg, policy)| walk_arg(arg, *policy, to))
        && (!op.has_writes || to.word(overlaps(op, args)))
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
fn walk_arg(arg: &RawArg, policy: Policy, to: &mut impl Sink) -> bool {
    let head = u64::from(arg.tag) | (u64::from(arg.len) << 8);
    match arg.tag() {
        Tag::Tensor => walk_tensor(&arg.tensors()[0], to),
        Tag::TensorList => to.word(head) && arg.tensors().iter().all(|t| walk_tensor(t, to)),
        Tag::Bool | Tag::Int | Tag::Float | Tag::Complex => walk_number(arg.scalar(), policy, to),
        Tag::IntList => to.word(head) && arg.ints().iter().all(|&v| to.word(v as u64)),
        Tag::FloatList => to.word(head) && arg.floats().iter().all(|v| to.word(v.to_bits())),
        Tag::BoolList | Tag::Str => {
            let word = |chunk: &[u8]| {
                let mut word = [0; 8];
                word[..chunk.len()].copy_from_slice(chunk);
                u64::from_le_bytes(word)
            };
            to.word(head) && arg.bytes().chunks(8).all(|chunk| to.word(word(chunk)))
        }
        Tag::ScalarList => to.word(head) && arg.scalars().iter().all(|s| walk_number(s.get(), policy, to)),
        Tag::None | Tag::Generator | Tag::Other => to.word(head),
    }
}

#[inline]
fn walk_tensor(t: &RawTensor, to: &mut impl Sink) -> bool {
    if t.handle.is_null() {
        return to.word(0xff);
    }
    to.word(
        1 | (u64::from(t.dtype) << 8)
            | (u64::from(t.device_type) << 16)
            | (u64::from(t.device_index as u8) << 24)
            | (u64::from(t.flags) << 32)
            | ((t.ndim as u64) << 40),
    ) && t.sizes().iter().all(|&d| to.word(d as u64))
        && t.strides().iter().all(|&s| to.word(s as u64))
}

#[inline]
fn walk_number(s: Scalar, policy: Policy, to: &mut impl Sink) -> bool {
    let class = 0x40 | s.class() as u64;
    let by_value = match policy {
        Policy::Static => true,
        Policy::Operand => false,
        Policy::Unit => is_unit(s),
    };
    if !by_value {
        return to.word(class);
    }
    to.word(class | 0x80)
        && match s {
            Scalar::Bool(b) => to.word(u64::from(b)),
            Scalar::Int(i) => to.word(i as u64),
            Scalar::UInt(u) => to.word(u),
            Scalar::Float(f) => to.word(f.to_bits()),
            Scalar::Complex(re, im) => to.word(re.to_bits()) && to.word(im.to_bits()),
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
            assert!(walk_number(s, p, &mut k));
            assert!(walk_number(s, p, &mut Rest(&k)));
            k
        };
        let (a, b) = (Scalar::Float(0.5), Scalar::Float(0.25));
        assert_eq!(words(a, Policy::Operand), words(b, Policy::Operand));
        assert_ne!(words(a, Policy::Static), words(b, Policy::Static));
        assert_eq!(words(a, Policy::Unit), words(b, Policy::Unit));
        assert_ne!(words(Scalar::Float(1.0), Policy::Unit), words(a, Policy::Unit));
    }
}
