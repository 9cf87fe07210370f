//! Opening a folder that the previous version of the program still has.
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

/// How often a new process looks whether the folder is free.
const LOOK: Duration = Duration::from_millis(50);

/// The file in which a new process says who it is.
pub(super) const WANTED: &str = "wanted";

pub(super) static GROUP: OnceLock<String> = OnceLock::new();

/// Says that this process belongs to a group of which one process takes over from another, such as
/// the programs of one supervisor. Only the first name counts.
pub fn hand_over_among(group: &str) {
    GROUP.get_or_init(|| group.to_owned());
}

/// Opens a collection; one in a folder that another process of the group has, when that has let it
/// go.
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
        // Said again and again: whoever takes a forsaken folder back takes the word away.
        if std::fs::write(&wanted, group).is_err() {
            break;
        }
        thread::sleep(LOOK);
    }
    // Gone before the folder is taken: it must not be wanted from ourselves.
    let _ = std::fs::remove_file(&wanted);
    Collection::open(definition)
}

pub(super) fn is_locked(folder: &Path) -> bool {
    let lock = File::open(folder.join("lock"));
    lock.is_ok_and(|lock| matches!(lock.try_lock(), Err(TryLockError::WouldBlock)))
}
