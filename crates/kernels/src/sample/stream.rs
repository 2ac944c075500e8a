//! A random stream of one element.

use crate::philox::block;

/// Counters of elements have this bit in their high half; those of ordinary random words ([`crate::philox::word`])
/// do not, so the two never meet.
const ELEMENTS: u64 = 1 << 63;

/// Philox words at counters (offset, offset + 1, …; element).
#[derive(Clone, Debug)]
pub struct Stream {
    seed: u64,
    low: u64,
    high: u64,
    words: [u32; 4],
    used: usize,
}

impl Stream {
    /// The stream of an element of a call with this seed and offset.
    pub fn new(seed: u64, offset: u64, element: u64) -> Stream {
        Stream { seed, low: offset, high: ELEMENTS | element, words: [0; 4], used: 4 }
    }

    /// The next word.
    fn word(&mut self) -> u32 {
        if self.used == 4 {
            self.words = block(self.seed, self.low, self.high);
            self.low = self.low.wrapping_add(1);
            self.used = 0;
        }
        self.used += 1;
        self.words[self.used - 1]
    }

    /// Uniform, strictly between 0 and 1: the midpoint of one of 2⁵² intervals.
    pub fn uniform(&mut self) -> f64 {
        let high = u64::from(self.word() >> 6) << 26;
        let low = u64::from(self.word() >> 6);
        ((high | low) as f64 + 0.5) * (1.0 / (1u64 << 52) as f64)
    }

    /// Standard normal, by the Box–Muller transform.
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (2.0 * std::f64::consts::PI * self.uniform()).cos()
    }
}
