//! Elements, or their coordinates, brought together where a mask holds.
//!
//! Every element is stored and the place advances by its mask byte, so no branch depends on the data. The place never
//! overtakes the element, so a store beyond the last kept element is still inside the destination.

/// Copies the elements of `elem` bytes (1, 2, 4, 8 or 16) whose mask byte (0 or 1) is 1 to the front of `dst`; returns
/// how many there are.
///
/// # Safety
/// `mask` is valid for `n` bytes, `src` and `dst` for `n` elements; `dst` overlaps neither.
pub unsafe fn compact(elem: usize, n: usize, mask: *const u8, src: *const u8, dst: *mut u8) -> i64 {
    macro_rules! run {
        ($t:ty) => {
            // SAFETY: the contract is the caller's.
            unsafe { compact_typed::<$t>(n, mask, src.cast(), dst.cast()) }
        };
    }
    match elem {
        1 => run!(u8),
        2 => run!(u16),
        4 => run!(u32),
        8 => run!(u64),
        16 => run!([u64; 2]),
        other => unreachable!("elements of {other} bytes"),
    }
}

/// Mask bytes looked at together.
const GROUP: usize = 8;
/// A group of mask bytes that are all 1.
const ALL: u64 = 0x0101_0101_0101_0101;

unsafe fn compact_typed<T: Copy>(n: usize, mask: *const u8, src: *const T, dst: *mut T) -> i64 {
    let mut k = 0;
    let mut i = 0;
    // SAFETY: `i < n` and `k <= i` throughout; the rest is the caller's promise.
    unsafe {
        while i + GROUP <= n {
            match mask.add(i).cast::<u64>().read_unaligned() {
                0 => {}
                ALL => {
                    std::ptr::copy_nonoverlapping(src.add(i), dst.add(k), GROUP);
                    k += GROUP;
                }
                _ => {
                    for j in i..i + GROUP {
                        dst.add(k).write_unaligned(src.add(j).read_unaligned());
                        k += usize::from(*mask.add(j) & 1);
                    }
                }
            }
            i += GROUP;
        }
        while i < n {
            dst.add(k).write_unaligned(src.add(i).read_unaligned());
            k += usize::from(*mask.add(i) & 1);
            i += 1;
        }
    }
    k as i64
}

/// Writes the coordinates of the mask bytes that are 1 (0 or 1 each, dense with sizes `dims`) as rows of
/// `dims.len()` indices to the front of `dst`; returns how many there are.
///
/// # Safety
/// `mask` is valid for as many bytes as `dims` has elements, and `dst` for as many rows; they do not overlap.
pub unsafe fn nonzero(dims: &[i64], mask: *const u8, dst: *mut i64) -> i64 {
    let rank = dims.len();
    let inner = *dims.last().unwrap_or(&1) as usize;
    let rows: usize = dims[..rank.saturating_sub(1)].iter().map(|&d| d as usize).product();
    if inner == 0 {
        return 0;
    }
    let mut at = vec![0i64; rank];
    let mut k = 0usize;
    for row in 0..rows {
        // SAFETY: a row is `inner` bytes of the mask; `k` rows of the result are not more than elements passed.
        unsafe {
            let mask = mask.add(row * inner);
            match rank {
                0 => k += usize::from(*mask & 1),
                1 => k += positions(inner, mask, dst),
                2 => k += positions_in_row(inner, mask, at[0], dst.add(k * 2)),
                _ => {
                    for j in (0..inner).filter(|&j| *mask.add(j) & 1 == 1) {
                        at[rank - 1] = j as i64;
                        std::ptr::copy_nonoverlapping(at.as_ptr(), dst.add(k * rank), rank);
                        k += 1;
                    }
                }
            }
        }
        for d in (0..rank.saturating_sub(1)).rev() {
            at[d] += 1;
            if at[d] < dims[d] {
                break;
            }
            at[d] = 0;
        }
    }
    k as i64
}

/// Calls `write(k, j)` for the k-th place `j` among `n` where the mask holds, and returns how many there are. It also
/// calls it, to be overwritten, for places where the mask does not hold: a store is cheaper than a branch.
///
/// # Safety
/// The mask is readable for `n` bytes.
#[inline(always)]
unsafe fn each_place(n: usize, mask: *const u8, mut write: impl FnMut(usize, usize)) -> usize {
    let mut k = 0;
    let mut i = 0;
    while i < n {
        let end = (i + GROUP).min(n);
        // SAFETY: `i..end` is within the mask.
        unsafe {
            if end - i < GROUP || mask.add(i).cast::<u64>().read_unaligned() != 0 {
                for j in i..end {
                    write(k, j);
                    k += usize::from(*mask.add(j) & 1);
                }
            }
        }
        i = end;
    }
    k
}

/// # Safety
/// As [`nonzero`], for one dim.
unsafe fn positions(n: usize, mask: *const u8, dst: *mut i64) -> usize {
    // SAFETY: the caller's promise; `k <= j < n`.
    unsafe { each_place(n, mask, |k, j| dst.add(k).write_unaligned(j as i64)) }
}

/// # Safety
/// As [`nonzero`], for row `row` of two dims; `dst` is where its first pair goes.
unsafe fn positions_in_row(n: usize, mask: *const u8, row: i64, dst: *mut i64) -> usize {
    // SAFETY: as for `positions`, with two indices a place.
    unsafe { each_place(n, mask, |k, j| dst.add(2 * k).cast::<[i64; 2]>().write_unaligned([row, j as i64])) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Runs of equal truth values, so that whole groups hold, fail, or are mixed.
    fn mask() -> impl Strategy<Value = Vec<u8>> {
        prop::collection::vec((any::<bool>(), 1usize..20), 0..20)
            .prop_map(|runs| runs.iter().flat_map(|&(b, n)| std::iter::repeat_n(u8::from(b), n)).collect())
    }

    fn compacted<T: Copy + Default + PartialEq + std::fmt::Debug>(mask: &[u8], make: impl Fn(usize) -> T) {
        let src: Vec<T> = (0..mask.len()).map(make).collect();
        let mut dst = vec![T::default(); mask.len()];
        // SAFETY: vectors of these sizes.
        let count = unsafe {
            let (s, d) = (src.as_ptr().cast(), dst.as_mut_ptr().cast());
            compact(size_of::<T>(), mask.len(), mask.as_ptr(), s, d)
        };
        let want: Vec<T> = src.iter().zip(mask).filter(|(_, &m)| m == 1).map(|(&x, _)| x).collect();
        assert_eq!(&dst[..count as usize], &want);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..Default::default() })]
        #[test]
        fn compacts_as_a_filter(mask in mask()) {
            compacted(&mask, |i| i as u8);
            compacted(&mask, |i| i as u16);
            compacted(&mask, |i| i as u32);
            compacted(&mask, |i| i as u64);
            compacted(&mask, |i| [i as u64, 7]);
        }

        #[test]
        fn finds_as_a_division(mask in mask(), split in prop::sample::select(vec![vec![], vec![3], vec![2, 5], vec![4, 1]])) {
            let unit: usize = split.iter().product();
            let mut dims: Vec<i64> = vec![(mask.len() / unit) as i64];
            dims.extend(split.iter().map(|&d| d as i64));
            let n = mask.len() / unit * unit;
            let mut dst = vec![0i64; n * dims.len()];
            // SAFETY: vectors of these sizes.
            let count = unsafe { nonzero(&dims, mask.as_ptr(), dst.as_mut_ptr()) };
            let mut want = Vec::new();
            for i in (0..n).filter(|&i| mask[i] == 1) {
                let mut rest = i as i64;
                let mut row: Vec<i64> = dims.iter().rev().map(|d| { let r = rest % d; rest /= d; r }).collect();
                row.reverse();
                want.extend(row);
            }
            prop_assert_eq!(count as usize * dims.len(), want.len());
            prop_assert_eq!(&dst[..want.len()], &want);
        }
    }
}
