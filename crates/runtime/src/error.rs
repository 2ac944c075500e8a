//! What can go wrong, with the words that reach the user.
use std::fmt;
use std::sync::Arc;
use tnrs_hal::Fault;
use tnrs_types::flags::SOFTCORE_HBM;

/// A fault of a stream's work: what failed, where, and from which call.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamFault {
    /// What failed; its kind decides the Python exception.
    pub fault: Fault,
    /// Name of the executable that failed, such as `aten::index.Tensor`.
    pub site: String,
    /// The Python stack of the call, when the launch carried one.
    pub stack: Option<Arc<str>>,
    /// Faults recorded after this one and before the synchronisation that returns it; only their number is kept.
    pub further: u32,
}

impl StreamFault {
    /// A fault of the runtime itself, without a launch.
    pub(crate) fn plain(text: String) -> StreamFault {
        StreamFault { fault: Fault::Device(text), site: String::new(), stack: None, further: 0 }
    }
}

impl fmt::Display for StreamFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.fault {
            Fault::Device(text) if !self.site.is_empty() => write!(f, "{}: {text}", self.site)?,
            fault => write!(f, "{fault}")?,
        }
        match self.further {
            0 => {}
            1 => write!(f, " (and 1 later fault)")?,
            n => write!(f, " (and {n} later faults)")?,
        }
        if let Some(stack) = &self.stack {
            write!(f, "\nPython stack of the call:\n{stack}")?;
        }
        Ok(())
    }
}

impl std::error::Error for StreamFault {}

/// Device or pinned memory is exhausted. Becomes `torch.OutOfMemoryError`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutOfMemory {
    /// The device; `None` for pinned host memory.
    pub device: Option<usize>,
    /// Bytes asked for.
    pub requested: usize,
    /// Bytes in live tensors.
    pub allocated: usize,
    /// Bytes obtained from the driver, live or cached.
    pub reserved: usize,
    /// Bytes this process may still obtain.
    pub free: usize,
    /// Bytes the device has.
    pub total: usize,
    /// Bytes this process may use (`total`, unless a memory fraction is set).
    pub limit: usize,
    /// The driver's reason when it refused, or why memory cannot be used at all.
    pub reason: Option<String>,
}

impl fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(device) = self.device else {
            write!(
                f,
                "Out of pinned host memory. Tried to allocate {}; {} are in use.",
                bytes(self.requested),
                bytes(self.allocated)
            )?;
            return reason(f, &self.reason);
        };
        write!(
            f,
            "NeuronCore out of memory. Tried to allocate {}. NeuronCore {device} has a total capacity of {} of \
             which {} is free. This process uses {}: {} in tensors and {} reserved by the allocator but unallocated.",
            bytes(self.requested),
            bytes(self.total),
            bytes(self.free),
            bytes(self.reserved),
            bytes(self.allocated),
            bytes(self.reserved - self.allocated),
        )?;
        if self.limit < self.total {
            write!(f, " This process is limited to {} by its memory fraction.", bytes(self.limit))?;
        }
        write!(
            f,
            " The capacity of a software NeuronCore is set by {} (such as {0}=8G).",
            SOFTCORE_HBM.name
        )?;
        reason(f, &self.reason)
    }
}

impl std::error::Error for OutOfMemory {}

fn reason(f: &mut fmt::Formatter<'_>, reason: &Option<String>) -> fmt::Result {
    match reason {
        Some(text) => write!(f, " Reason: {text}."),
        None => Ok(()),
    }
}

/// A byte count in the largest binary unit that keeps it at or above one, with two decimals.
fn bytes(n: usize) -> String {
    const UNITS: [(&str, u32); 3] = [("GiB", 30), ("MiB", 20), ("KiB", 10)];
    for (unit, shift) in UNITS {
        if n >> shift > 0 {
            return format!("{:.2} {unit}", n as f64 / (1u64 << shift) as f64);
        }
    }
    format!("{n} bytes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exhaustion_tells_every_number_and_the_way_out() {
        let error = OutOfMemory {
            device: Some(1),
            requested: 3 << 30,
            allocated: 100 << 20,
            reserved: 120 << 20,
            free: 904 << 20,
            total: 1 << 30,
            limit: 1 << 30,
            reason: None,
        };
        let text = error.to_string();
        for part in [
            "Tried to allocate 3.00 GiB. NeuronCore 1 has a total capacity of 1.00 GiB of which 904.00 MiB is free",
            "120.00 MiB: 100.00 MiB in tensors and 20.00 MiB reserved",
            "TORCH_NEURONX_SOFTCORE_HBM=8G",
        ] {
            assert!(text.contains(part), "{part:?} is missing from {text:?}");
        }
        assert!(!text.contains("fraction"));
    }

    #[test]
    fn a_fault_shows_its_site_and_stack() {
        let fault = StreamFault {
            fault: Fault::Device("lost".into()),
            site: "aten::add.Tensor".into(),
            stack: Some("  File \"a.py\", line 3".into()),
            further: 2,
        };
        assert_eq!(
            fault.to_string(),
            "aten::add.Tensor: lost (and 2 later faults)\nPython stack of the call:\n  File \"a.py\", line 3"
        );
    }
}
