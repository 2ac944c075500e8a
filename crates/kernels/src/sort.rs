//! Stable sorting of rows. NaN is the greatest value.

use std::marker::PhantomData;

use tnrs_types::DType;

use crate::gemm::driver::Shared;
use crate::gemm::float::{Bf16, Elem, F16};
use crate::gemm::scratch::Scratch;
use crate::isa::{self, entry};
use crate::pool::Pool;

/// Elements of one chunk of short rows.
const CHUNK: usize = 4096;
/// Rows up to this long are merge-sorted; longer ones of integer-like keys are radix-sorted.
const MERGE: usize = 256;
/// Keys that a search for the first few looks at together.
const BLOCK: usize = 32;

/// Sorts each of `rows` dense rows of `len` keys; equal keys keep their order, also when `descending`.
/// `values` (dense, may equal `keys`, may be null) receives the sorted keys and `indices` (dense, may be null) the
/// position each came from. Of each row only the first `keep` are written. Complex keys and 8-bit floats have no order
/// here: `dtype` must be another.
///
/// # Safety
/// Non-null pointers must be valid for rows·len elements, results must not overlap each other, and `indices` must not
/// overlap `keys`.
pub unsafe fn sort_rows(
    pool: &Pool,
    dtype: DType,
    rows: usize,
    len: usize,
    keep: usize,
    descending: bool,
    keys: *const u8,
    values: *mut u8,
    indices: *mut i64,
) {
    macro_rules! sort {
        ($t:ty) => {
            // SAFETY: the contract is the caller's.
            unsafe { typed::<$t>(pool, rows, len, keep, descending, keys.cast(), values.cast(), indices) }
        };
    }
    match dtype {
        DType::Bool | DType::U8 => sort!(u8),
        DType::I8 => sort!(i8),
        DType::U16 => sort!(u16),
        DType::I16 => sort!(i16),
        DType::U32 => sort!(u32),
        DType::I32 => sort!(i32),
        DType::U64 => sort!(u64),
        DType::I64 => sort!(i64),
        DType::F16 => sort!(F16),
        DType::BF16 => sort!(Bf16),
        DType::F32 => sort!(f32),
        DType::F64 => sort!(f64),
        other => unreachable!("{other:?} has no order"),
    }
}

/// `dst[r][i] = src[r][indices[r][i]]` over dense rows of elements of `elem` bytes: carries other operands along a sort.
///
/// # Safety
/// Pointers must be valid for rows·len elements, indices in 0..len, and `dst` must not overlap `src`.
pub unsafe fn take_rows(
    pool: &Pool,
    elem: usize,
    rows: usize,
    len: usize,
    src: *const u8,
    indices: *const i64,
    dst: *mut u8,
) {
    macro_rules! take {
        ($t:ty) => {
            // SAFETY: the contract is the caller's.
            unsafe { take_typed::<$t>(pool, rows, len, src.cast(), indices, dst.cast()) }
        };
    }
    match elem {
        1 => take!(u8),
        2 => take!(u16),
        4 => take!(u32),
        8 => take!(u64),
        16 => take!([u64; 2]),
        other => unreachable!("elements of {other} bytes"),
    }
}

/// # Safety
/// As [`take_rows`].
unsafe fn take_typed<T: Copy>(
    pool: &Pool,
    rows: usize,
    len: usize,
    src: *const T,
    indices: *const i64,
    dst: *mut T,
) {
    let (src, indices, dst) = (Shared(src.cast_mut()), Shared(indices.cast_mut()), Shared(dst));
    by_rows(pool, rows, len, &|row| {
        let at = row * len;
        for i in at..at + len {
            // SAFETY: the element is in the row, and so is the one its index names.
            unsafe { *dst.ptr().add(i) = *src.ptr().add(at + *indices.ptr().add(i) as usize) }
        }
    });
}

/// Calls `f` for every row, rows of a chunk in turn.
fn by_rows(pool: &Pool, rows: usize, len: usize, f: &(dyn Fn(usize) + Sync)) {
    let group = (CHUNK / len.max(1)).max(1);
    let chunk = |c: usize, _: usize| (c * group..((c + 1) * group).min(rows)).for_each(f);
    pool.run(rows.div_ceil(group), &chunk);
}

/// A key as an unsigned number whose order is the key's: NaNs are equal to each other and greatest, -0 equals 0.
trait Key: Copy {
    fn rank(self) -> u64;
    const BYTES: usize = size_of::<Self>();
}

macro_rules! unsigned {
    ($($t:ty)*) => { $(impl Key for $t {
        fn rank(self) -> u64 {
            self as u64
        }
    })* };
}
unsigned!(u8 u16 u32 u64);

macro_rules! signed {
    ($($t:ty as $u:ty),*) => { $(impl Key for $t {
        fn rank(self) -> u64 {
            (self as $u ^ <$t>::MIN as $u) as u64
        }
    })* };
}
signed!(i8 as u8, i16 as u16, i32 as u32, i64 as u64);

impl Key for f32 {
    #[inline(always)]
    fn rank(self) -> u64 {
        // Adding +0 turns -0 into +0.
        let b = (self + 0.0).to_bits();
        let sign = 1 << 31;
        u64::from(if self.is_nan() {
            u32::MAX
        } else if b & sign != 0 {
            !b
        } else {
            b | sign
        })
    }
}

impl Key for f64 {
    fn rank(self) -> u64 {
        let b = (self + 0.0).to_bits();
        let sign = 1 << 63;
        if self.is_nan() {
            u64::MAX
        } else if b & sign != 0 {
            !b
        } else {
            b | sign
        }
    }
}

impl Key for Bf16 {
    #[inline(always)]
    fn rank(self) -> u64 {
        self.get().rank() >> 16
    }
}

impl Key for F16 {
    #[inline(always)]
    fn rank(self) -> u64 {
        self.get().rank()
    }
    const BYTES: usize = 4;
}

/// A key's rank with the key's position.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    rank: u64,
    at: u32,
}

/// # Safety
/// As [`sort_rows`], with keys of type `T`.
unsafe fn typed<T: Key>(
    pool: &Pool,
    rows: usize,
    len: usize,
    keep: usize,
    descending: bool,
    keys: *const T,
    values: *mut T,
    indices: *mut i64,
) {
    assert!(u32::try_from(len).is_ok(), "sort: rows of {len} elements");
    let (keys, values, indices) = (Shared(keys.cast_mut()), Shared(values), Shared(indices));
    by_rows(pool, rows, len, &|row| {
        let at = row * len;
        let memory = Scratch::new(len * (2 * size_of::<Entry>() + size_of::<T>()));
        // SAFETY: the scratch holds two lists of entries and one of keys; keys of the row are readable.
        unsafe {
            let a = memory.ptr::<Entry>();
            let copy = a.add(2 * len).cast::<T>();
            std::ptr::copy_nonoverlapping(keys.ptr().add(at), copy, len);
            let flip = if descending { u64::MAX } else { 0 };
            let filled = if keep < len / 4 {
                search::<First<T>>(isa::current())(copy.cast(), len, flip, keep, a);
                keep
            } else {
                for i in 0..len {
                    *a.add(i) = Entry { rank: (*copy.add(i)).rank() ^ flip, at: i as u32 };
                }
                len
            };
            let entries = std::slice::from_raw_parts_mut(a, filled);
            let spare = std::slice::from_raw_parts_mut(a.add(len), filled);
            if entries.len() <= MERGE {
                entries.sort_by_key(|e| e.rank);
            } else {
                radix(entries, spare, T::BYTES);
            }
            debug_assert!(entries.is_sorted_by_key(|e| e.rank));
            for (i, e) in entries.iter().take(keep).enumerate() {
                if !values.ptr().is_null() {
                    *values.ptr().add(at + i) = *copy.add(e.at as usize);
                }
                if !indices.ptr().is_null() {
                    *indices.ptr().add(at + i) = i64::from(e.at);
                }
            }
        }
    });
}

entry!(Search, search, SearchFn, (row: *const u8, len: usize, flip: u64, keep: usize, room: *mut Entry));

/// Moves the `keep` entries that a stable sort puts first, in their old order, to the front of `room`. `flip` turns the
/// order of the ranks round.
type SearchFn = unsafe fn(row: *const u8, len: usize, flip: u64, keep: usize, room: *mut Entry);

struct First<T>(PhantomData<T>);
impl<T: Key> Search for First<T> {
    #[inline(always)]
    unsafe fn run(row: *const u8, len: usize, flip: u64, keep: usize, room: *mut Entry) {
        if keep == 0 {
            return;
        }
        // SAFETY: the caller has a row of `len` keys, and room for twice as many entries.
        let (row, room) = unsafe {
            (std::slice::from_raw_parts(row.cast::<T>(), len), std::slice::from_raw_parts_mut(room, 2 * len))
        };
        let most = ((2 * keep).max(32) + BLOCK).min(room.len());
        // What does not precede the bound, the last of the first `keep` found, is left out.
        let (mut filled, mut bound) = (0, u64::MAX);
        for (block, start) in row.chunks(BLOCK).zip((0..).step_by(BLOCK)) {
            let mut ranks = [u64::MAX; BLOCK];
            let mut precede = 0u32;
            for (rank, key) in ranks.iter_mut().zip(block) {
                *rank = key.rank() ^ flip;
                precede |= u32::from(*rank < bound);
            }
            if precede == 0 && filled >= keep {
                continue;
            }
            if filled + block.len() > most {
                bound = cut(&mut room[..filled], keep);
                filled = keep;
            }
            for (i, &rank) in ranks[..block.len()].iter().enumerate() {
                if rank < bound || filled < keep {
                    room[filled] = Entry { rank, at: (start + i) as u32 };
                    filled += 1;
                }
            }
        }
        cut(&mut room[..filled], keep);
        room[..keep].sort_unstable_by_key(|e| e.at);
    }
}

/// Moves the first `keep` to the front; the rank of the last of them.
#[inline(never)]
fn cut(entries: &mut [Entry], keep: usize) -> u64 {
    entries.select_nth_unstable_by_key(keep - 1, |e| (e.rank, e.at)).1.rank
}

/// Stable radix sort by the low `bytes` bytes of the rank; bytes that all entries share are skipped.
fn radix(entries: &mut [Entry], spare: &mut [Entry], bytes: usize) {
    let mut counts = vec![[0u32; 256]; bytes];
    for e in entries.iter() {
        for (b, counts) in counts.iter_mut().enumerate() {
            counts[(e.rank >> (8 * b)) as usize & 255] += 1;
        }
    }
    let (mut from, mut to) = (entries, spare);
    let mut swapped = false;
    for (b, counts) in counts.iter().enumerate() {
        if counts.iter().any(|&c| c as usize == from.len()) {
            continue;
        }
        let mut place = [0u32; 256];
        for i in 1..256 {
            place[i] = place[i - 1] + counts[i - 1];
        }
        for e in from.iter() {
            let p = &mut place[(e.rank >> (8 * b)) as usize & 255];
            to[*p as usize] = *e;
            *p += 1;
        }
        std::mem::swap(&mut from, &mut to);
        swapped = !swapped;
    }
    if swapped {
        to.copy_from_slice(from);
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use super::*;
    use proptest::prelude::*;

    /// Stable order by comparison: NaN above all, all NaNs equal.
    fn order(a: f32, b: f32) -> Ordering {
        a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
    }

    /// Sorts rows of f32 and compares positions and bits with the standard library's stable sort.
    fn check(keys: &[f32], len: usize, descending: bool) {
        let rows = keys.len() / len;
        let (mut values, mut indices) = (vec![0f32; rows * len], vec![0i64; rows * len]);
        let pool = Pool::new(2);
        // SAFETY: dense rows of these sizes.
        unsafe {
            let (v, i) = (values.as_mut_ptr().cast(), indices.as_mut_ptr());
            sort_rows(&pool, DType::F32, rows, len, len, descending, keys.as_ptr().cast(), v, i);
        }
        for (r, row) in keys.chunks_exact(len).enumerate() {
            let mut want: Vec<usize> = (0..len).collect();
            want.sort_by(|&a, &b| {
                let o = order(row[a], row[b]);
                if descending {
                    o.reverse()
                } else {
                    o
                }
            });
            for (i, &w) in want.iter().enumerate() {
                assert_eq!(indices[r * len + i], w as i64);
                assert_eq!(values[r * len + i].to_bits(), row[w].to_bits());
            }
        }
        let keep = len / 9;
        let (mut some, mut at) = (vec![0f32; rows * len], vec![-1i64; rows * len]);
        // SAFETY: dense rows of these sizes.
        unsafe {
            let (v, i) = (some.as_mut_ptr().cast(), at.as_mut_ptr());
            sort_rows(&pool, DType::F32, rows, len, keep, descending, keys.as_ptr().cast(), v, i);
        }
        for start in (0..rows * len).step_by(len) {
            assert_eq!(at[start..start + keep], indices[start..start + keep]);
            assert!((start..start + keep).all(|i| some[i].to_bits() == values[i].to_bits()));
        }
        let mut taken = vec![0f32; rows * len];
        // SAFETY: dense rows of these sizes, indices from the sort.
        unsafe {
            let (s, d) = (keys.as_ptr().cast(), taken.as_mut_ptr().cast());
            take_rows(&pool, 4, rows, len, s, indices.as_ptr(), d);
        }
        assert!(taken.iter().zip(&values).all(|(a, b)| a.to_bits() == b.to_bits()));
    }

    fn key() -> impl Strategy<Value = f32> {
        prop_oneof![
            4 => (-4i32..4).prop_map(|i| i as f32),
            2 => any::<f32>(),
            1 => prop::sample::select(vec![f32::NAN, -f32::NAN, -0.0, 0.0, f32::INFINITY, f32::NEG_INFINITY]),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..Default::default() })]
        #[test]
        fn floats(keys in prop::collection::vec(key(), 1..900), rows in 1usize..5, descending in any::<bool>()) {
            let len = (keys.len() / rows).max(1);
            check(&keys[..keys.len() / len * len], len, descending);
        }

        #[test]
        fn integers(keys in prop::collection::vec(any::<i64>(), 1..600), narrow in any::<bool>(), descending in any::<bool>()) {
            let keys: Vec<i64> = keys.iter().map(|&k| if narrow { k % 5 } else { k }).collect();
            let (mut values, mut indices) = (keys.clone(), vec![0i64; keys.len()]);
            // SAFETY: one dense row, sorted in place.
            unsafe {
                let (v, i) = (values.as_mut_ptr().cast::<u8>(), indices.as_mut_ptr());
                sort_rows(&Pool::new(1), DType::I64, 1, keys.len(), keys.len(), descending, v, v, i);
            }
            let mut want: Vec<(i64, i64)> = keys.iter().copied().zip(0..).collect();
            want.sort_by(|a, b| if descending { b.0.cmp(&a.0) } else { a.0.cmp(&b.0) });
            let got: Vec<(i64, i64)> = values.into_iter().zip(indices).collect();
            prop_assert_eq!(got, want);
        }
    }

    #[test]
    fn halves_sort_as_their_values() {
        let bits: Vec<u16> = (0..=u16::MAX).map(|i| i.wrapping_mul(40503)).collect();
        for (dtype, widen) in [
            (DType::BF16, crate::gemm::float::from_bf16 as fn(u16) -> f32),
            (DType::F16, crate::gemm::float::from_f16),
        ] {
            let mut values = vec![0u16; bits.len()];
            // SAFETY: one dense row; no indices wanted.
            unsafe {
                let v = values.as_mut_ptr().cast();
                sort_rows(
                    &Pool::new(1),
                    dtype,
                    1,
                    bits.len(),
                    bits.len(),
                    false,
                    bits.as_ptr().cast(),
                    v,
                    std::ptr::null_mut(),
                );
            }
            let mut want = bits.clone();
            want.sort_by(|&a, &b| order(widen(a), widen(b)));
            assert_eq!(values, want);
        }
    }
}
