//! CPU time of processes.

use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// The most processes in a server's tree.
const MOST: usize = 10_000;

/// The CPU time of this process, with all its threads.
pub(crate) fn own() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.try_into().unwrap_or(0), time.tv_nsec.try_into().unwrap_or(0))
}

/// The CPU time of a process and its living descendants, in the system's ticks (commonly 10 ms);
/// `None` for no such process, or without `/proc`.
pub(crate) fn of_tree(process: u32) -> Option<Duration> {
    let mut sum = of_one(process)?;
    let mut waiting = vec![process];
    let mut seen = 1;
    while let Some(parent) = waiting.pop() {
        for child in children(parent) {
            if seen < MOST {
                seen += 1;
                sum += of_one(child).unwrap_or_default();
                waiting.push(child);
            }
        }
    }
    Some(sum)
}

fn of_one(process: u32) -> Option<Duration> {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name stands in parentheses and may contain any others: proc(5).
    let (_, rest) = text.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    let ticks = rustix::param::clock_ticks_per_second().max(1);
    Some(Duration::from_secs_f64((user + system) as f64 / ticks as f64))
}

fn children(process: u32) -> Vec<u32> {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten();
    threads
        .filter_map(|thread| std::fs::read_to_string(thread.ok()?.path().join("children")).ok())
        .flat_map(|text| {
            text.split_ascii_whitespace().filter_map(|word| word.parse().ok()).collect::<Vec<_>>()
        })
        .collect()
}

#[allow(clippy::unwrap_used)]
#[cfg(test)]
mod tests {
    use super::*;

    fn busy(time: Duration) {
        let before = own();
        while own() - before < time {
            std::hint::black_box(0);
        }
    }

    #[test]
    fn what_this_process_uses_is_seen_from_both_sides() {
        let before = own();
        busy(Duration::from_millis(50));
        assert!(own() - before >= Duration::from_millis(50));
        if cfg!(target_os = "linux") {
            assert!(of_tree(std::process::id()).unwrap() >= Duration::from_millis(20));
        }
    }

    #[test]
    fn there_is_no_time_of_no_process() {
        assert_eq!(of_tree(u32::MAX), None);
    }
}
