//! Routines of custom calls: what runs `tnrs_hlo::CustomCall`. One family a file; a routine checks nothing that the
//! row's check has checked, and allocates the scratch it needs.
mod linalg;
mod linalg_info;
mod loss;
mod segment;

use tnrs_hal::Fault;
use tnrs_hlo::CustomCall;
use tnrs_types::{DType, Dims};

mod elements;
mod sample;
mod scan;
mod special;

/// Dense row-major memory of an operand or result.
#[derive(Clone, Debug)]
pub(crate) struct Slab {
    /// Element type.
    pub dtype: DType,
    /// Sizes.
    pub dims: Dims,
    data: *mut u8,
}

// SAFETY: a slab without an address is plain data, and one with an address lives within one run of one step.
unsafe impl Send for Slab {}
// SAFETY: as above; routines that share a slab among threads give each its own part.
unsafe impl Sync for Slab {}

impl Slab {
    /// Without an address yet.
    pub fn new(dtype: DType, dims: &[i64]) -> Slab {
        Slab { dtype, dims: Dims::from_slice(dims), data: std::ptr::null_mut() }
    }

    /// The same at an address.
    ///
    /// # Safety
    /// As long as the slab lives, `data` holds its elements and is written by nobody but its routine, and no other
    /// slab of the call that the routine writes overlaps it.
    pub unsafe fn at(&self, data: *mut u8) -> Slab {
        Slab { data, ..self.clone() }
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.dims.iter().product::<i64>() as usize
    }

    /// The elements. `T` has the layout of the dtype (u8 for Bool; `[T; 2]` or `num_complex::Complex<T>` for complex
    /// numbers).
    ///
    /// # Panics
    /// If `T` has another size than the dtype's elements.
    pub fn read<T: Copy>(&self) -> &[T] {
        assert_eq!(std::mem::size_of::<T>(), self.dtype.size());
        if self.len() == 0 {
            return &[];
        }
        // SAFETY: `Slab::at` promises memory for the elements; sizes agree, and rows of the device are aligned to 64
        // bytes or to their elements.
        unsafe { std::slice::from_raw_parts(self.data.cast::<T>(), self.len()) }
    }

    /// The elements of a result, to be written.
    ///
    /// # Panics
    /// As [`Slab::read`].
    #[allow(
        clippy::mut_from_ref,
        reason = "a slab is a place, not an owner; each result is borrowed once by its routine"
    )]
    pub fn write<T: Copy>(&self) -> &mut [T] {
        assert_eq!(std::mem::size_of::<T>(), self.dtype.size());
        if self.len() == 0 {
            return &mut [];
        }
        // SAFETY: as `read`; a routine asks for each of its results once, and results overlap nothing.
        unsafe { std::slice::from_raw_parts_mut(self.data.cast::<T>(), self.len()) }
    }
}

/// What a routine is given.
pub(crate) struct Args<'a> {
    /// Name and attributes.
    pub call: &'a CustomCall,
    /// Operands.
    pub ins: &'a [Slab],
    /// Results.
    pub outs: &'a [Slab],
}

/// A routine of a custom call.
pub(crate) struct Routine {
    /// The custom call's name.
    pub name: &'static str,
    /// Runs it on memory.
    pub run: fn(&Args) -> Result<(), Fault>,
    /// Estimated nanoseconds on one core; the slabs have no addresses.
    pub cost: fn(&Args) -> u64,
}

static FAMILIES: &[&[Routine]] = &[
    linalg::ROUTINES,
    loss::ROUTINES,
    sample::ROUTINES,
    scan::ROUTINES,
    segment::ROUTINES,
    special::ROUTINES,
];

/// The routine of a custom call, if this machine has it.
pub(crate) fn find(name: &str) -> Option<&'static Routine> {
    FAMILIES.iter().flat_map(|f| f.iter()).find(|r| r.name == name)
}

#[cfg(test)]
mod tests {
    /// A target of hlo without a routine would be an operator that fails on this device.
    #[test]
    fn every_target_has_a_routine() {
        for target in tnrs_hlo::custom::Target::all() {
            assert!(super::find(target.name).is_some(), "{} has no routine", target.name);
        }
    }
}
