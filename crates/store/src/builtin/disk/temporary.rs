//! Temporary files of puts under way, and the leftovers of killed processes.

use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};

const PREFIX: &str = ".runnel-";
const SUFFIX: &str = ".part";

pub(super) fn temporary_name() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let (process, number) = (std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let time = time.map_or(0, |time| time.as_nanos());
    format!("{PREFIX}{process:x}-{time:x}-{number:x}{SUFFIX}")
}

/// How old a temporary file is that no put can still be writing.
const FORGOTTEN: std::time::Duration = std::time::Duration::from_secs(24 * 60 * 60);

/// Removes a temporary file that a process has left behind, a day ago or earlier: whether it
/// still runs cannot be known, it may be another machine's.
pub(super) fn remove_forgotten(file: &fs::DirEntry) {
    let age = file.metadata().and_then(|metadata| metadata.modified()).ok();
    if age.and_then(|modified| modified.elapsed().ok()).is_some_and(|age| age > FORGOTTEN) {
        let _ = fs::remove_file(file.path());
    }
}

/// Whether a name is that of a put's temporary file.
pub(super) fn is_temporary(name: &str) -> bool {
    name.starts_with(PREFIX) && name.ends_with(SUFFIX)
}
