//! Places of temporaries in one workspace: two share bytes when they are never alive together.

use super::{BufKind, Planned};

/// Temporaries start at multiples of this many bytes, a cache line.
const ALIGN: usize = 64;

/// Byte offset of every buffer (0 for what is no temporary), and the size of the workspace.
pub(super) fn assign(bufs: &[BufKind], steps: &[Planned]) -> (Vec<usize>, usize) {
    let mut offsets = vec![0; bufs.len()];
    if !bufs.iter().any(|b| matches!(b, BufKind::Temp(_))) {
        return (offsets, 0);
    }
    let mut last = vec![None; bufs.len()];
    for (i, s) in steps.iter().enumerate() {
        for v in s.reads.iter().chain(&s.writes) {
            last[v.buf as usize] = Some(i);
        }
    }
    let mut placed = vec![false; bufs.len()];
    // Free pieces (start, length), by start, within [0, size).
    let mut free: Vec<(usize, usize)> = Vec::new();
    let mut size = 0;
    let bytes = |b: usize| match bufs[b] {
        BufKind::Temp(n) => Some(n.max(1).next_multiple_of(ALIGN)),
        _ => None,
    };
    for (i, s) in steps.iter().enumerate() {
        for w in &s.writes {
            let b = w.buf as usize;
            let Some(need) = bytes(b).filter(|_| !placed[b]) else {
                continue;
            };
            placed[b] = true;
            if let Some(from) = in_place(s, i, b, bufs, &last, &placed) {
                // The operand's bytes become the result's; nobody else frees them.
                offsets[b] = offsets[from];
                last[from] = None;
                continue;
            }
            offsets[b] = take(&mut free, &mut size, need);
        }
        for v in s.reads.iter().chain(&s.writes) {
            let b = v.buf as usize;
            if last[b] == Some(i) && placed[b] {
                if let Some(n) = bytes(b) {
                    give(&mut free, offsets[b], n);
                }
                last[b] = None;
            }
        }
    }
    (offsets, size)
}

/// An operand of a pointwise step that dies here and whose bytes its only result can take over.
fn in_place(
    s: &Planned,
    i: usize,
    result: usize,
    bufs: &[BufKind],
    last: &[Option<usize>],
    placed: &[bool],
) -> Option<usize> {
    if !s.in_place || s.writes.len() != 1 || s.pointwise != u64::MAX {
        return None;
    }
    s.reads
        .iter()
        .find(|r| {
            let b = r.buf as usize;
            placed[b]
                && last[b] == Some(i)
                && bufs[b] == bufs[result]
                && r.same_layout(&s.writes[0])
                && r.off == s.writes[0].off
                && s.reads.iter().filter(|o| o.buf == r.buf).count() == 1
        })
        .map(|r| r.buf as usize)
}

/// Best fit among the free pieces, else fresh bytes at the end.
fn take(free: &mut Vec<(usize, usize)>, size: &mut usize, need: usize) -> usize {
    let best = (0..free.len()).filter(|&k| free[k].1 >= need).min_by_key(|&k| free[k].1);
    if let Some(k) = best {
        let (at, len) = free[k];
        if len == need {
            free.remove(k);
        } else {
            free[k] = (at + need, len - need);
        }
        return at;
    }
    // A free piece at the very end grows.
    if let Some(&(at, len)) = free.last() {
        if at + len == *size {
            free.pop();
            *size = at + need;
            return at;
        }
    }
    let at = *size;
    *size += need;
    at
}

fn give(free: &mut Vec<(usize, usize)>, at: usize, len: usize) {
    let k = free.partition_point(|f| f.0 < at);
    free.insert(k, (at, len));
    if k + 1 < free.len() && free[k].0 + free[k].1 == free[k + 1].0 {
        free[k].1 += free[k + 1].1;
        free.remove(k + 1);
    }
    if k > 0 && free[k - 1].0 + free[k - 1].1 == free[k].0 {
        free[k - 1].1 += free[k].1;
        free.remove(k);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn freed_pieces_merge_and_are_found_again() {
        let (mut free, mut size) = (Vec::new(), 0);
        let a = take(&mut free, &mut size, 64);
        let b = take(&mut free, &mut size, 128);
        let c = take(&mut free, &mut size, 64);
        assert_eq!((a, b, c, size), (0, 64, 192, 256));
        give(&mut free, a, 64);
        give(&mut free, b, 128);
        assert_eq!(free, vec![(0, 192)]);
        assert_eq!(take(&mut free, &mut size, 192), 0);
        give(&mut free, c, 64);
        assert_eq!(take(&mut free, &mut size, 128), 192);
        assert_eq!(size, 320);
    }
}
