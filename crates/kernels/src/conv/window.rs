//! Where each tap of the window lies for a panel of output positions.

use smallvec::SmallVec;

use super::desc::ConvDesc;

/// A part of 16 lanes whose input elements lie side by side.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    /// Input element of lane 0 of the part, were that lane in the segment.
    pub(super) base: isize,
    /// Lanes.
    pub(super) mask: u16,
}

/// Positions of the input under every tap, for the lanes of one panel.
pub(super) struct Table {
    nr: usize,
    /// Kernel element of each tap.
    pub(super) taps: Vec<isize>,
    /// Kernel coordinates of each tap, in input positions (dilated, reversal undone).
    shifts: Vec<SmallVec<[i64; 3]>>,
    /// `[tap][lane]`: input element without batch group and feature; meaningless where invalid.
    offsets: Vec<isize>,
    /// `[tap]`: bit per lane.
    valid: Vec<u32>,
    /// Segments of all taps and parts, and where those of `[tap][part]` begin.
    segments: Vec<Segment>,
    starts: Vec<u32>,
}

impl Table {
    /// The taps of `desc` for panels of `nr <= 32` lanes.
    pub(super) fn new(desc: &ConvDesc, nr: usize) -> Table {
        let rank = desc.kernel.len();
        let count = desc.kernel.iter().product::<i64>() as usize;
        let mut taps = Vec::with_capacity(count);
        let mut shifts = Vec::with_capacity(count);
        for tap in 0..count {
            let mut rest = tap as i64;
            let mut shift: SmallVec<[i64; 3]> = smallvec::smallvec![0; rank];
            let mut element = 0;
            for d in (0..rank).rev() {
                let i = rest % desc.kernel[d];
                rest /= desc.kernel[d];
                shift[d] = i * desc.rhs_dilation[d];
                let i = if desc.window_reversal[d] { desc.kernel[d] - 1 - i } else { i };
                element += (i * desc.kernel_strides[2 + d]) as isize;
            }
            taps.push(element);
            shifts.push(shift);
        }
        Table {
            nr,
            taps,
            shifts,
            offsets: vec![0; count * nr],
            valid: vec![0; count],
            segments: Vec::new(),
            starts: Vec::new(),
        }
    }

    /// Computes the positions for output columns `first..first + lanes` (batch-major, then row-major in space).
    pub(super) fn fill(&mut self, desc: &ConvDesc, first: usize, lanes: usize) {
        let rank = desc.kernel.len();
        self.valid.fill(0);
        for l in 0..lanes {
            let mut rest = (first + l) as i64;
            let mut origin: SmallVec<[i64; 3]> = smallvec::smallvec![0; rank];
            for d in (0..rank).rev() {
                origin[d] = rest % desc.output[d] * desc.window_strides[d] - desc.padding_low[d];
                rest /= desc.output[d];
            }
            let batch = (rest * desc.input_strides[0]) as isize;
            for (t, shift) in self.shifts.iter().enumerate() {
                let mut offset = batch;
                let mut inside = true;
                for d in 0..rank {
                    let at = origin[d] + shift[d];
                    let step = desc.lhs_dilation[d];
                    let i = if step == 1 { at } else { at.div_euclid(step) };
                    inside &= at >= 0 && i < desc.input[d] && i * step == at;
                    offset += (i * desc.input_strides[2 + d]) as isize;
                }
                self.offsets[t * self.nr + l] = offset;
                self.valid[t] |= u32::from(inside) << l;
            }
        }
        self.segments.clear();
        self.starts.clear();
        for t in 0..self.taps.len() {
            for part in 0..self.nr.div_ceil(16) {
                self.starts.push(self.segments.len() as u32);
                let begin = self.segments.len();
                for l in 0..16.min(self.nr - part * 16) {
                    let lane = part * 16 + l;
                    if self.valid[t] >> lane & 1 == 0 {
                        continue;
                    }
                    let base = self.offsets[t * self.nr + lane] - l as isize;
                    match self.segments[begin..].iter_mut().find(|s| s.base == base) {
                        Some(s) => s.mask |= 1 << l,
                        None => self.segments.push(Segment { base, mask: 1 << l }),
                    }
                }
            }
        }
        self.starts.push(self.segments.len() as u32);
    }

    /// The segments of 16 lanes.
    pub(super) fn segments(&self, tap: usize, part: usize) -> &[Segment] {
        let i = tap * self.nr.div_ceil(16) + part;
        &self.segments[self.starts[i] as usize..self.starts[i + 1] as usize]
    }

    /// The input element of a lane, unless it is padding.
    pub(super) fn element(&self, tap: usize, lane: usize) -> Option<isize> {
        (self.valid[tap] >> lane & 1 == 1).then(|| self.offsets[tap * self.nr + lane])
    }
}
