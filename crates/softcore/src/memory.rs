//! Raw device memory: anonymous mappings, on huge pages where that pays.

use std::sync::atomic::{AtomicUsize, Ordering};

use tnrs_hal::MemoryError;

/// Mappings of at least this many bytes ask for huge pages (the size of one on x86-64 and aarch64).
const HUGE: usize = 2 << 20;

/// The memory of one core: a budget and what is mapped of it.
pub(crate) struct Hbm {
    pub total: usize,
    used: AtomicUsize,
}

impl Hbm {
    pub fn new(total: usize) -> Self {
        Hbm { total, used: AtomicUsize::new(0) }
    }

    /// Maps `bytes` of zeroed memory, page aligned; huge-page aligned from 2 MiB on.
    pub fn map(&self, bytes: usize) -> Result<*mut u8, MemoryError> {
        let fail = |reason: String| Err(MemoryError { bytes, reason });
        let claimed = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
            used.checked_add(bytes).filter(|&u| u <= self.total)
        });
        if let Err(used) = claimed {
            return fail(format!("the core has {} bytes, of which {used} are in use", self.total));
        }
        let slack = if bytes >= HUGE { HUGE } else { 0 };
        // SAFETY: an anonymous private mapping at an address of the system's choice touches no existing memory.
        let p = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes.max(1) + slack,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if p == libc::MAP_FAILED {
            self.used.fetch_sub(bytes, Ordering::Relaxed);
            return fail(std::io::Error::last_os_error().to_string());
        }
        let base = p as usize;
        if slack == 0 {
            return Ok(p.cast());
        }
        let start = base.next_multiple_of(HUGE);
        let end = start + page_round(bytes);
        // SAFETY: [base, base + bytes + slack) is the mapping just made; the parts before `start` and after `end` are
        // page-aligned pieces of it that nobody has seen, and [start, end) stays mapped.
        unsafe {
            if start > base {
                libc::munmap(base as *mut libc::c_void, start - base);
            }
            let tail = page_round(base + bytes + slack);
            if tail > end {
                libc::munmap(end as *mut libc::c_void, tail - end);
            }
            libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_HUGEPAGE);
        }
        Ok(start as *mut u8)
    }

    /// Unmaps what [`Hbm::map`] returned.
    ///
    /// # Safety
    /// `ptr` and `bytes` are those of one mapping, unmapped once, with no use of it outstanding.
    pub unsafe fn unmap(&self, ptr: *mut u8, bytes: usize) {
        // SAFETY: the caller's promise; the mapping's length is `bytes` rounded up to pages, as munmap rounds.
        unsafe { libc::munmap(ptr.cast(), bytes.max(1)) };
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}

fn page_round(bytes: usize) -> usize {
    bytes.next_multiple_of(4096)
}

/// Bytes of physical memory of the machine.
pub(crate) fn physical() -> usize {
    // SAFETY: sysconf reads system constants and has no preconditions.
    let (pages, size) = unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    (pages.max(0) as usize).saturating_mul(size.max(0) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_aligned_writable_memory_within_the_budget() {
        let hbm = Hbm::new(8 << 20);
        for bytes in [1, 4096, 5000, HUGE, HUGE + 1, 3 * HUGE + 12345] {
            let p = hbm.map(bytes).unwrap();
            let align = if bytes >= HUGE { HUGE } else { 4096 };
            assert_eq!(p as usize % align, 0, "{bytes}");
            // SAFETY: the mapping is `bytes` long and ours.
            unsafe {
                p.write(1);
                p.add(bytes - 1).write(2);
                hbm.unmap(p, bytes);
            }
        }
        assert_eq!(hbm.used.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn refuses_more_than_the_core_has() {
        let hbm = Hbm::new(1 << 20);
        let p = hbm.map(1 << 19).unwrap();
        let e = hbm.map((1 << 19) + 1).unwrap_err();
        assert!(e.reason.contains("524288 are in use"), "{e}");
        // SAFETY: mapped above, unused since.
        unsafe { hbm.unmap(p, 1 << 19) };
        // SAFETY: as above.
        unsafe { hbm.unmap(hbm.map(1 << 20).unwrap(), 1 << 20) };
    }
}
