//! Files that the store keeps for itself beside those of its users: temporary files of puts under
//! way, the leftovers of killed processes, and attributes that do not fit into a file.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

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

/// The age of a temporary file that was left behind. A put that has waited that long for its client still locks its
/// file.
const FORGOTTEN: Duration = Duration::from_secs(60 * 60);

/// The most directories that this process remembers as swept.
const REMEMBERED: usize = 4096;

/// Locks the temporary file of a put, for as long as it is open: [`remove_forgotten`] leaves it alone.
pub(super) fn lock(file: &fs::File) {
    // On a file system without locks the age alone protects it.
    let _ = file.try_lock();
}

/// Removes a file that a killed process has left behind.
pub(super) fn remove_forgotten(file: &fs::DirEntry) {
    let age = file.metadata().and_then(|metadata| metadata.modified()).ok();
    let is_old =
        age.and_then(|modified| modified.elapsed().ok()).is_some_and(|age| age > FORGOTTEN);
    if is_old && !is_locked(&file.path()) {
        let _ = fs::remove_file(file.path());
    }
}

fn is_locked(path: &Path) -> bool {
    let locked = |file: fs::File| matches!(file.try_lock(), Err(fs::TryLockError::WouldBlock));
    fs::File::open(path).is_ok_and(locked)
}

/// Removes what killed processes have left behind in a directory, before the first put of this process there: a
/// directory that is never listed would keep it for ever.
pub(super) fn sweep_once(directory: &Path) {
    static SWEPT: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    {
        let mut swept = SWEPT.lock().unwrap_or_else(PoisonError::into_inner);
        if swept.len() >= REMEMBERED || !swept.insert(directory.to_path_buf()) {
            return;
        }
    }
    let Ok(entries) = directory.read_dir() else { return };
    for entry in entries.flatten() {
        if entry.file_name().to_str().is_some_and(|name| is_own(name) && name.ends_with(PART)) {
            remove_forgotten(&entry);
        }
    }
}

/// Whether a name is that of a file which the store keeps for itself.
pub(super) fn is_own(name: &str) -> bool {
    name.starts_with(PREFIX) && (name.ends_with(PART) || name.ends_with(ATTRIBUTES))
}
