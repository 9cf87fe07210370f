//! How much memory the process may use: the options `--memory` and `--request-memory`.
#![allow(unsafe_code)]

use runnel_runtime::Limits;
use runnel_store::{Budget, DEFAULT_BUDGET};
use std::ffi::OsString;
use std::sync::OnceLock;

/// The program's memory for each worker where nothing is said: 1 GiB, or less on a small machine.
const DEFAULT: u64 = 1 << 30;
const LEAST: u64 = 16 << 20;
const MOST: u64 = 1 << 40;

/// How much memory a program and its requests may use.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(crate) struct MemoryOptions {
    /// Memory that the program of each worker may use, such as 512M or 4G; 1G, or half of the
    /// machine's or container's memory where that is less.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    memory: Option<u64>,
    /// Memory that all requests may hold: bodies, values parsed from them, responses; beyond it they
    /// are answered with 503. 512M, or half of --memory where that is less.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    request_memory: Option<u64>,
}

static LIMIT: OnceLock<usize> = OnceLock::new();

impl MemoryOptions {
    /// Sets the limits of this process; the default depends on the number of workers.
    pub(crate) fn apply(self, workers: usize) {
        let usual =
            || (of_machine().unwrap_or(u64::MAX) / 2 / workers as u64).clamp(LEAST, DEFAULT);
        let memory = self.memory.unwrap_or_else(usual);
        let requests = self.request_memory.unwrap_or((memory / 2).min(DEFAULT_BUDGET as u64));
        Budget::of_process().set_limit(requests as usize);
        // Once in a process; what was said first counts.
        let _ = LIMIT.set(memory as usize);
    }

    /// As arguments for another process.
    pub(crate) fn arguments(self) -> impl Iterator<Item = OsString> {
        let pairs = [("memory", self.memory), ("request-memory", self.request_memory)];
        pairs.into_iter().filter_map(|(name, size)| Some(format!("--{name}={}B", size?).into()))
    }
}

/// What an isolate of this process may use.
pub(crate) fn limits() -> Limits {
    LIMIT.get().map_or_else(Limits::default, |memory| Limits { memory: *memory })
}

/// A size such as `512M`.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    runnel_text::size::parse(text)
        .filter(|bytes| (LEAST..=MOST).contains(bytes))
        .ok_or_else(|| "it must be a size from 16M to 1024G, such as 512M".to_string())
}

/// The memory of the machine, or of the control group of this process where that is less.
fn of_machine() -> Option<u64> {
    let info = std::fs::read_to_string("/proc/meminfo").ok()?;
    let total = info.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let total = total.trim().trim_end_matches(" kB").parse::<u64>().ok()?.checked_mul(1024)?;
    let group = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"]
        .iter()
        .find_map(|path| std::fs::read_to_string(path).ok()?.trim().parse::<u64>().ok());
    Some(group.map_or(total, |group| group.min(total)))
}

// SAFETY: the signature is that of mimalloc's documentation.
unsafe extern "C" {
    fn mi_collect(force: bool);
}

/// Gives freed memory back to the system.
pub(crate) fn give_back() {
    // SAFETY: mimalloc is the allocator of this binary, and the call has no conditions.
    unsafe { mi_collect(true) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units_and_bounds() {
        assert_eq!(size("16M"), Ok(16 << 20));
        assert_eq!(size("4G"), Ok(4 << 30));
        assert_eq!(size("67108864B"), Ok(64 << 20));
        assert_eq!(size("64MiB"), Ok(64 << 20));
        for wrong in
            ["", "M", "67108864", "15M", "2000G", "1.5G", "-1", "5T", "99999999999999999999G"]
        {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_machine_has_memory() {
        assert!(of_machine().is_none_or(|bytes| bytes > LEAST));
    }
}
