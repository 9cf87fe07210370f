//! Files that the store keeps for itself beside those of its users: temporary files of puts under
//! way, the leftovers of killed processes, and attributes that do not fit into a file.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

const PREFIX: &str = ".runnel-";
const PART: &str = ".part";
const ATTRIBUTES: &str = ".attributes";

/// Removes its file when it is dropped.
pub(super) struct Temporary(pub(super) PathBuf);

impl Temporary {
    /// Says that the file has another name now, so that nothing is to be removed.
    pub(super) fn was_renamed(&mut self) {
        self.0 = PathBuf::new();
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if self.0.as_os_str().is_empty() {
            return;
        }
        // A failure here leaves nothing to do; listings hide the file.
        let _ = fs::remove_file(&self.0);
    }
}

pub(super) fn temporary_name() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let (process, number) = (std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let time = time.map_or(0, |time| time.as_nanos());
    format!("{PREFIX}{process:x}-{time:x}-{number:x}{PART}")
}

/// The name of the file with the attributes of the file that has this inode.
pub(super) fn attributes_name(inode: u64) -> String {
    format!("{PREFIX}{inode:x}{ATTRIBUTES}")
}

/// The inode of the file that a file with attributes describes, from its name.
pub(super) fn described_inode(name: &str) -> Option<u64> {
    let inode = name.strip_prefix(PREFIX)?.strip_suffix(ATTRIBUTES)?;
    u64::from_str_radix(inode, 16).ok()
}

/// How old a temporary file is that no put can still be writing.
const FORGOTTEN: std::time::Duration = std::time::Duration::from_secs(24 * 60 * 60);

/// Removes a file that a process has left behind, a day ago or earlier: whether it still runs
/// cannot be known, it may be another machine's.
pub(super) fn remove_forgotten(file: &fs::DirEntry) {
    let age = file.metadata().and_then(|metadata| metadata.modified()).ok();
    if age.and_then(|modified| modified.elapsed().ok()).is_some_and(|age| age > FORGOTTEN) {
        let _ = fs::remove_file(file.path());
    }
}

/// Whether a name is that of a file which the store keeps for itself.
pub(super) fn is_own(name: &str) -> bool {
    name.starts_with(PREFIX) && (name.ends_with(PART) || name.ends_with(ATTRIBUTES))
}
