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
        c = [
            (p1 >> 32) as u32 ^ c[1] ^ k[0],
            p1 as u32,
            (p0 >> 32) as u32 ^ c[3] ^ k[1],
            p0 as u32,
        ];
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
            let mut c = [[0u64; LANES]; 4];
            for j in 0..LANES {
                let (low, carry) = offset.overflowing_add((i + j) as u64);
                c[0][j] = low & LOW;
                c[1][j] = low >> 32;
                c[2][j] = u64::from(carry);
            }
            let (mut k0, mut k1) = (seed as u32, (seed >> 32) as u32);
            for _ in 0..10 {
                for j in 0..LANES {
                    let p0 = M0.wrapping_mul(c[0][j] & LOW);
                    let p1 = M1.wrapping_mul(c[2][j] & LOW);
                    c[0][j] = (p1 >> 32) ^ c[1][j] ^ u64::from(k0);
                    c[1][j] = p1 & LOW;
                    c[2][j] = (p0 >> 32) ^ c[3][j] ^ u64::from(k1);
                    c[3][j] = p0 & LOW;
                }
                (k0, k1) = (k0.wrapping_add(W0), k1.wrapping_add(W1));
            }
            for j in 0..LANES {
                for (w, words) in c.iter().enumerate() {
                    // SAFETY: `dst` holds `4 * blocks` words.
                    unsafe { dst.add(4 * (i + j) + w).write(words[j] as u32) };
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
    while i < n && (first_index + i as u64) % 4 != 0 {
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
