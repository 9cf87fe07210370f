//! Process metrics of the operating system. Linux only.

use std::fs;

/// Clock ticks per second: `USER_HZ`, the same on all current Linux systems.
const TICKS: f64 = 100.0;

/// A sample of the process.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Process {
    /// CPU time in seconds, user and system.
    pub(crate) cpu: f64,
    /// Resident memory in bytes.
    pub(crate) resident: u64,
    pub(crate) threads: u64,
    pub(crate) descriptors: u64,
    pub(crate) most_descriptors: Option<u64>,
}

impl Process {
    /// The current values.
    pub(crate) fn sample() -> Option<Process> {
        let status = fs::read_to_string("/proc/self/status").ok()?;
        let stat = fs::read_to_string("/proc/self/stat").ok()?;
        let limits = fs::read_to_string("/proc/self/limits").ok();
        Some(Process {
            cpu: cpu(&stat)?,
            resident: field(&status, "VmRSS:")? * 1024,
            threads: field(&status, "Threads:")?,
            // The descriptor that reads the folder is closed afterwards.
            descriptors: (fs::read_dir("/proc/self/fd").ok()?.count() as u64).saturating_sub(1),
            most_descriptors: limits.as_deref().and_then(|text| field(text, "Max open files")),
        })
    }
}

/// The first number after a name at the beginning of a line.
fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Fields 14 and 15 of `stat`, counted after the process name, which may contain anything.
fn cpu(stat: &str) -> Option<f64> {
    let behind = &stat[stat.rfind(')')? + 1..];
    let mut fields = behind.split_whitespace().skip(11);
    let user: f64 = fields.next()?.parse().ok()?;
    let system: f64 = fields.next()?.parse().ok()?;
    Some((user + system) / TICKS)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found() {
        let stat = "7 (a) b) R 1 2 3 4 5 6 7 8 9 10 150 50 0 0 20 0 3 0 100";
        assert_eq!(cpu(stat), Some(2.0));
        assert_eq!(field("Name:\tx\nVmRSS:\t  120 kB\n", "VmRSS:"), Some(120));
        assert_eq!(cpu("nonsense"), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_process_is_there() {
        let process = Process::sample().unwrap();
        assert!(process.resident > 0 && process.threads > 0 && process.descriptors > 2);
    }
}
