//! The table of environment variables. Every variable the project reads has one row here.

/// One environment variable: its name, its default as text, and what it does.
pub struct Flag {
    /// Name of the variable.
    pub name: &'static str,
    /// Value when unset, as a user would write it.
    pub default: &'static str,
    /// One sentence for the documentation.
    pub help: &'static str,
}

macro_rules! flags {
    ($($(#[$doc:meta])* $ident:ident = $name:literal, $default:literal, $help:literal;)*) => {
        $($(#[$doc])* #[doc = $help] pub const $ident: Flag = Flag { name: $name, default: $default, help: $help };)*
        /// Every flag, in table order.
        pub const ALL: &[&Flag] = &[$(&$ident,)*];
    };
}

flags! {
    VISIBLE_CORES = "NEURON_RT_VISIBLE_CORES", "", "Cores this process may use, as a rising contiguous list or range (`0-1`, `0,1`); wins over NEURON_RT_NUM_CORES.";
    NUM_CORES = "NEURON_RT_NUM_CORES", "2", "How many (software) NeuronCores exist.";
    LAUNCH_BLOCKING = "NEURON_LAUNCH_BLOCKING", "0", "1: every launch waits for completion, so that errors raise at the call.";
    STACK_TRACE = "TORCH_NEURONX_ENABLE_STACK_TRACE", "0", "1: an error found by the device later carries the Python stack of its call.";
    FALLBACK = "TORCH_NEURONX_FALLBACK", "warn", "What an operator without a native rule does: warn (once per operator), silent, or error.";
    DUMP = "TORCH_NEURONX_DUMP", "", "A folder to which every compiled program is written: one subfolder each, with the operator, its hlo and its StableHLO.";
    DUMP_DATA = "TORCH_NEURONX_DUMP_DATA", "0", "1: TORCH_NEURONX_DUMP also writes the operands and results of each program's first run.";
    SOFTCORE_HBM = "TORCH_NEURONX_SOFTCORE_HBM", "", "Memory of one software core, with a K, M, G or T suffix; default: three quarters of the machine's memory, divided by the number of cores.";
    SOFTCORE_THREADS = "TORCH_NEURONX_SOFTCORE_THREADS", "", "Threads that execute softcore programs; default: the process's CPU affinity.";
    SOFTCORE_ISA = "TORCH_NEURONX_SOFTCORE_ISA", "", "Force an instruction set: avx512, avx2 or portable. For tests.";
}

impl Flag {
    /// The variable's value, or `None` when unset or empty.
    pub fn get(&self) -> Option<String> {
        std::env::var(self.name).ok().filter(|v| !v.is_empty())
    }

    /// Whether the variable reads as true (`1`, `true`, `yes`, `on`).
    pub fn is_on(&self) -> bool {
        self.get().is_some_and(|v| matches!(v.to_ascii_lowercase().as_str(), "1" | "true" | "yes" | "on"))
    }
}

/// Parses a byte count with an optional K, M, G or T suffix (powers of 1024), such as `512M` or `1.5G`.
pub fn parse_bytes(text: &str) -> Option<u64> {
    let t = text.trim().trim_end_matches(['b', 'B']).trim_end_matches(['i', 'I']);
    let (number, shift) = match t.chars().last()?.to_ascii_uppercase() {
        'K' => (&t[..t.len() - 1], 10),
        'M' => (&t[..t.len() - 1], 20),
        'G' => (&t[..t.len() - 1], 30),
        'T' => (&t[..t.len() - 1], 40),
        _ => (t, 0),
    };
    let value: f64 = number.trim().parse().ok()?;
    (value >= 0.0 && value.is_finite()).then(|| (value * (1u64 << shift) as f64) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn byte_counts() {
        assert_eq!(parse_bytes("1G"), Some(1 << 30));
        assert_eq!(parse_bytes("1.5GiB"), Some(3 << 29));
        assert_eq!(parse_bytes("123"), Some(123));
        assert_eq!(parse_bytes("x"), None);
        assert_eq!(parse_bytes(""), None);
    }
}
