//! A tile from one place to another, unchanged.

use tnrs_kernels::tile::TileFn;

macro_rules! moves {
    ($($name:ident = $size:literal;)*) => {
        $(
            /// # Safety
            /// As [`TileFn`].
            unsafe fn $name(dst: *mut u8, src: &[*const u8; 3], n: usize) {
                // SAFETY: the caller promises `n` elements at both places, equal or disjoint.
                unsafe { std::ptr::copy(src[0], dst, n * $size) }
            }
        )*
        /// The move of elements of `size` bytes.
        pub(crate) fn move_tile(size: usize) -> TileFn {
            match size {
                $($size => $name,)*
                _ => unreachable!("element types have 1, 2, 4, 8 or 16 bytes, not {size}"),
            }
        }
    };
}

moves! {
    move1 = 1;
    move2 = 2;
    move4 = 4;
    move8 = 8;
    move16 = 16;
}
