//! Handover: a new version of a program takes the folders of the old one over while both run.
//!
//! One supervisor started both; its name is that of their group. The new process finds a folder
//! locked and writes the group to a file there. The old process sees the file, flushes its writes,
//! releases the folder and refuses further writes. It continues to search in memory until it ends.
//! If the new process fails and the folder stays unlocked, the old process takes it back. Processes
//! of another group, or of none, never get a folder in use.
//!
//! ```text
//! new:  locked? write `wanted` --- poll ---------------> lock the folder, open
//! old:             poll: `wanted`? flush, unlock, read-only --- unlocked for 2 s? open again
//! ```

use super::collection_registry::{CollectionHandle, collections_in_folders};
use super::folder_takeover::{GROUP, WANTED, is_locked};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::thread;
use std::time::{Duration, Instant};

/// The polling interval of the old process, long enough to cost nothing.
const LOOK_AROUND: Duration = Duration::from_millis(400);

/// How long a folder stays unlocked before the old process takes it back. The new process polls
/// much more often.
const FORSAKEN: Duration = Duration::from_secs(2);

/// The longest group name read from the file, in bytes.
const MAX_GROUP_BYTES: u64 = 4_096;

/// Starts the handover thread, once, in a process that belongs to a group.
pub(super) fn start() {
    static STARTED: Once = Once::new();
    if GROUP.get().is_none() {
        return;
    }
    STARTED.call_once(|| {
        let started = thread::Builder::new().name("search handover".into()).spawn(watch);
        if let Err(error) = started {
            tracing::warn!(%error, "indexes of this process cannot be taken over by another one");
        }
    });
}

/// Releases requested folders and takes abandoned ones back.
fn watch() {
    let Some(group) = GROUP.get() else { return };
    let mut forsaken: BTreeMap<PathBuf, Instant> = BTreeMap::new();
    loop {
        thread::sleep(LOOK_AROUND);
        for (folder, shared) in collections_in_folders() {
            // A panic over one folder leaves the others to be handed over.
            let look = || look_at(&folder, &shared, group, &mut forsaken);
            if catch_unwind(AssertUnwindSafe(look)).is_err() {
                tracing::error!("looking after {} failed", folder.display());
            }
        }
    }
}

fn look_at(
    folder: &Path,
    shared: &CollectionHandle,
    group: &str,
    forsaken: &mut BTreeMap<PathBuf, Instant>,
) {
    if shared.check_writable().is_ok() {
        if is_wanted(folder, group) {
            hand_over(folder, shared);
        }
    } else if is_locked(folder) {
        forsaken.remove(folder);
    } else {
        let since = *forsaken.entry(folder.to_path_buf()).or_insert_with(Instant::now);
        if since.elapsed() >= FORSAKEN {
            take_back(folder, shared);
            forsaken.remove(folder);
        }
    }
}

fn hand_over(folder: &Path, shared: &CollectionHandle) {
    match shared.release_folder() {
        Ok(()) => tracing::info!("handed {} over to another process", folder.display()),
        Err(error) => tracing::error!(%error, "cannot hand {} over", folder.display()),
    }
}

fn take_back(folder: &Path, shared: &CollectionHandle) {
    let _ = std::fs::remove_file(folder.join(WANTED));
    match shared.reopen_folder() {
        Ok(()) => tracing::warn!(
            "took {} back: the process that requested it has not opened it",
            folder.display()
        ),
        Err(error) => tracing::error!(%error, "cannot take {} back", folder.display()),
    }
}

fn is_wanted(folder: &Path, group: &str) -> bool {
    let wanted = folder.join(WANTED);
    let short = std::fs::metadata(&wanted).is_ok_and(|file| file.len() <= MAX_GROUP_BYTES);
    short && std::fs::read_to_string(&wanted).is_ok_and(|text| text == group)
}
