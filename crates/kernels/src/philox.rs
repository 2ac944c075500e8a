//! Philox4x32-10, the counter-based random number generator.
//!
//! Word `w` of counter `c` depends only on the key and `c`, so results do not depend on threads, tiles or fusion. The
//! multipliers and key increments are those of the generator's definition (Salmon et al., "Parallel random numbers: as
//! easy as 1, 2, 3", 2011).

use crate::isa::{self, entry, Isa};

const M0: u64 = 0xd251_1f53;
const M1: u64 = 0xcd9e_8d57;
const W0: u32 = 0x9e37_79b9;
const W1: u32 = 0xbb67_ae85;

/// The four words of a counter (low 64 bits, high 64 bits) under a key.
#[inline(always)]
pub fn block(key: u64, low: u64, high: u64) -> [u32; 4] {
    let mut c = [low as u32, (low >> 32) as u32, high as u32, (high >> 32) as u32];
    let mut k = [key as u32, (key >> 32) as u32];
    for _ in 0..10 {
        let p0 = M0 * u64::from(c[0]);
        let p1 = M1 * u64::from(c[2]);
        c = [(p1 >> 32) as u32 ^ c[1] ^ k[0], p1 as u32, (p0 >> 32) as u32 ^ c[3] ^ k[1], p0 as u32];
        k = [k[0].wrapping_add(W0), k[1].wrapping_add(W1)];
    }
    c
}

/// Word `index` of the stream: word `index % 4` of counter `offset + index / 4`.
pub fn word(seed: u64, offset: u64, index: u64) -> u32 {
    let (low, carry) = offset.overflowing_add(index / 4);
    block(seed, low, u64::from(carry))[(index % 4) as usize]
}

type FillFn = unsafe fn(dst: *mut u32, seed: u64, offset: u64, blocks: usize);

entry!(FillBody, pick, FillFn, (dst: *mut u32, seed: u64, offset: u64, blocks: usize));

/// The low word of a lane.
const LOW: u64 = 0xffff_ffff;
/// Counters computed side by side.
const LANES: usize = 16;

struct Fill;
impl FillBody for Fill {
    #[inline(always)]
    unsafe fn run(dst: *mut u32, seed: u64, offset: u64, blocks: usize) {
        let mut i = 0;
        while i + LANES <= blocks {
            // 32-bit words in 64-bit lanes: the products need both halves.
            let (mut c0, mut c1) = ([0u64; LANES], [0u64; LANES]);
            let (mut c2, mut c3) = ([0u64; LANES], [0u64; LANES]);
            for (j, ((a, b), c)) in c0.iter_mut().zip(&mut c1).zip(&mut c2).enumerate() {
                let (low, carry) = offset.overflowing_add((i + j) as u64);
                (*a, *b, *c) = (low & LOW, low >> 32, u64::from(carry));
            }
            let (mut k0, mut k1) = (seed as u32, (seed >> 32) as u32);
            for _ in 0..10 {
                for (((a, b), c), d) in c0.iter_mut().zip(&mut c1).zip(&mut c2).zip(&mut c3) {
                    let p0 = M0.wrapping_mul(*a & LOW);
                    let p1 = M1.wrapping_mul(*c & LOW);
                    *a = (p1 >> 32) ^ *b ^ u64::from(k0);
                    *b = p1 & LOW;
                    *c = (p0 >> 32) ^ *d ^ u64::from(k1);
                    *d = p0 & LOW;
                }
                (k0, k1) = (k0.wrapping_add(W0), k1.wrapping_add(W1));
            }
            for (j, (((a, b), c), d)) in c0.iter().zip(&c1).zip(&c2).zip(&c3).enumerate() {
                // SAFETY: `dst` holds `4 * blocks` words.
                unsafe {
                    let at = dst.add(4 * (i + j)).cast::<[u32; 4]>();
                    at.write([*a as u32, *b as u32, *c as u32, *d as u32]);
                }
            }
            i += LANES;
        }
        while i < blocks {
            let (low, carry) = offset.overflowing_add(i as u64);
            // SAFETY: `dst` holds `4 * blocks` words.
            unsafe { dst.add(4 * i).cast::<[u32; 4]>().write(block(seed, low, u64::from(carry))) };
            i += 1;
        }
    }
}

/// Writes words `first_index .. first_index + n` of the stream of `seed` and `offset`; see [`word`].
///
/// # Safety
/// `dst` must be valid for `n` words.
pub unsafe fn fill(dst: *mut u32, seed: u64, offset: u64, first_index: u64, n: usize) {
    // SAFETY: the caller's contract.
    unsafe { fill_on(isa::current(), dst, seed, offset, first_index, n) }
}

/// [`fill`] on an instruction set.
///
/// # Safety
/// As [`fill`]; the processor must have the instruction set.
pub unsafe fn fill_on(isa: Isa, dst: *mut u32, seed: u64, offset: u64, first_index: u64, n: usize) {
    let mut i = 0;
    while i < n && (first_index + i as u64) & 3 != 0 {
        // SAFETY: `i < n`.
        unsafe { dst.add(i).write(word(seed, offset, first_index + i as u64)) };
        i += 1;
    }
    let blocks = (n - i) / 4;
    let skip = (first_index + i as u64) / 4;
    let (start, carried) = offset.overflowing_add(skip);
    // The vector form carries into the high half only at the wrap of the low half itself.
    let done = if carried { 0 } else { blocks * 4 };
    // SAFETY: `i + 4 * blocks <= n`.
    unsafe {
        if done > 0 {
            pick::<Fill>(isa)(dst.add(i), seed, start, blocks);
        }
        for j in i + done..n {
            dst.add(j).write(word(seed, offset, first_index + j as u64));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::isas;

    #[test]
    fn known_answers() {
        // The generator's published test vectors.
        assert_eq!(block(0, 0, 0), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        assert_eq!(block(!0, !0, !0), [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
        assert_eq!(
            block(0x299f_31d0_a409_3822, 0x85a3_08d3_243f_6a88, 0x0370_7344_1319_8a2e),
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]
        );
    }

    #[test]
    fn every_split_of_a_stream_gives_the_same_words() {
        for isa in isas() {
            for offset in [0, 5, u64::MAX - 20, u64::MAX] {
                for first in [0u64, 1, 2, 3, 64, 255] {
                    for n in [0usize, 1, 3, 4, 63, 64, 65, 300] {
                        let mut out = vec![0u32; n];
                        // SAFETY: n words.
                        unsafe { fill_on(isa, out.as_mut_ptr(), 99, offset, first, n) };
                        for (i, &w) in out.iter().enumerate() {
                            let at = first + i as u64;
                            assert_eq!(w, word(99, offset, at), "{isa:?} {offset} {at}");
                        }
                    }
                }
            }
        }
    }
}
