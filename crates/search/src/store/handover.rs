//! A new version of a program takes over the folders of the old one, while both are running.
//!
//! Both were started by one supervisor, whose name is that of their group. The new process finds a
//! folder locked and leaves its group in a file there; the old one sees that, writes what waits,
//! lets the folder go, and from then on refuses to write. It goes on searching what it has in
//! memory until it ends. When the new one has failed, so that nobody has the folder, the old one
//! takes it back. Processes of no group, or of another one, never get a folder that is in use.

use super::collection_registry::{CollectionHandle, in_folders};
use super::folder_takeover::{GROUP, WANTED, is_locked};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::thread;
use std::time::{Duration, Instant};

/// How often the old one looks whether a folder is wanted: seldom enough not to count where nothing
/// else happens.
const LOOK_AROUND: Duration = Duration::from_millis(400);

/// How long nobody has a folder until the process that let it go takes it back. Who wants it looks
/// every [`LOOK`](super::folder_takeover).
const FORSAKEN: Duration = Duration::from_secs(2);

/// Longest name of a group that is looked at, in bytes.
const MAX_GROUP_BYTES: u64 = 4_096;

/// Starts the thread that hands folders over, once, in a process that belongs to a group.
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

/// Lets folders go that are wanted, and takes those back that nobody has.
fn watch() {
    let Some(group) = GROUP.get() else { return };
    let mut forsaken: BTreeMap<PathBuf, Instant> = BTreeMap::new();
    loop {
        thread::sleep(LOOK_AROUND);
        for (folder, shared) in in_folders() {
            if shared.check().is_ok() {
                if is_wanted(&folder, group) {
                    let_go(&folder, &shared);
                }
            } else if is_locked(&folder) {
                forsaken.remove(&folder);
            } else if forsaken.entry(folder.clone()).or_insert_with(Instant::now).elapsed()
                >= FORSAKEN
            {
                take_back(&folder, &shared);
                forsaken.remove(&folder);
            }
        }
    }
}

fn let_go(folder: &Path, shared: &CollectionHandle) {
    match shared.leave() {
        Ok(()) => tracing::info!("{} goes to another process", folder.display()),
        Err(error) => tracing::error!(%error, "{} is kept", folder.display()),
    }
}

fn take_back(folder: &Path, shared: &CollectionHandle) {
    let _ = std::fs::remove_file(folder.join(WANTED));
    match shared.come_back() {
        Ok(()) => tracing::warn!(
            "{} is ours again: the process that wanted it does not have it",
            folder.display()
        ),
        Err(error) => tracing::error!(%error, "{} cannot be taken back", folder.display()),
    }
}

fn is_wanted(folder: &Path, group: &str) -> bool {
    let wanted = folder.join(WANTED);
    let short = std::fs::metadata(&wanted).is_ok_and(|file| file.len() <= MAX_GROUP_BYTES);
    short && std::fs::read_to_string(&wanted).is_ok_and(|text| text == group)
}
