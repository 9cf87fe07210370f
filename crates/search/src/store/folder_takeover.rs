//! Takeover: opening a folder that the previous version of the program still holds.
//!
//! See [`handover`](super::handover) for both sides.

use crate::collection::{Collection, CollectionDefinition};
use runnel_store::Result;
use std::fs::{File, TryLockError};
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

/// How long a new process waits for a folder.
pub const HANDOVER_TIME: Duration = Duration::from_secs(10);

/// The interval at which a new process checks the lock of the folder.
const LOOK: Duration = Duration::from_millis(50);

/// The file in which a new process requests the folder.
pub(super) const WANTED: &str = "wanted";

pub(super) static GROUP: OnceLock<String> = OnceLock::new();

/// Adds this process to a group whose processes take folders over from each other, such as the
/// programs of one supervisor. Only the first call counts.
pub fn hand_over_among(group: &str) {
    GROUP.get_or_init(|| group.to_owned());
}

/// Opens a collection, after a handover if another process of the group has its folder.
pub(super) fn open(definition: CollectionDefinition) -> Result<Arc<Collection>> {
    let (Some(group), Some(folder)) = (GROUP.get(), definition.folder.clone()) else {
        return Collection::open(definition);
    };
    let first = Collection::open(definition.clone());
    if first.is_ok() || !is_locked(&folder) {
        return first;
    }
    let wanted = folder.join(WANTED);
    let until = Instant::now() + HANDOVER_TIME;
    while is_locked(&folder) && Instant::now() < until {
        // Written repeatedly, because a process that takes an abandoned folder back removes it.
        if std::fs::write(&wanted, group).is_err() {
            break;
        }
        thread::sleep(LOOK);
    }
    // Removed before the folder is locked, so that this process does not hand it over again.
    let _ = std::fs::remove_file(&wanted);
    Collection::open(definition)
}

pub(super) fn is_locked(folder: &Path) -> bool {
    let lock = File::open(folder.join("lock"));
    lock.is_ok_and(|lock| matches!(lock.try_lock(), Err(TryLockError::WouldBlock)))
}
