//! A new version of a program takes over the folders of the old one, while both are running.
//!
//! Both were started by one supervisor, whose name is that of their group. The new process finds a
//! folder locked and leaves its group in a file there; the old one sees that, writes what waits,
//! lets the folder go, and from then on refuses to write. It goes on searching what it has in
//! memory until it ends. When the new one has failed, so that nobody has the folder, the old one
//! takes it back. Processes of no group, or of another one, never get a folder that is in use.

use super::collection_registry::{Shared, in_folders};
use crate::collection::{Collection, Definition};
use runnel_store::Result;
use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Once, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

/// How long a new process waits for a folder.
pub const HANDOVER_TIME: Duration = Duration::from_secs(10);

/// How often a new process looks whether the folder is free.
const LOOK: Duration = Duration::from_millis(50);

/// How often the old one looks whether a folder is wanted: seldom enough not to count where nothing
/// else happens.
const LOOK_AROUND: Duration = Duration::from_millis(400);

/// How long nobody has a folder until the process that let it go takes it back. Who wants it looks
/// every [`LOOK`].
const FORSAKEN: Duration = Duration::from_secs(2);

/// The file in which a new process says who it is.
const WANTED: &str = "wanted";

/// Longest name of a group that is looked at, in bytes.
const MAX_GROUP_BYTES: u64 = 4_096;

static GROUP: OnceLock<String> = OnceLock::new();
static WATCHED: Once = Once::new();

/// Says that this process belongs to a group of which one process takes over from another, such as
/// the programs of one supervisor. Only the first name counts.
pub fn hand_over_among(group: &str) {
    GROUP.get_or_init(|| group.to_owned());
}

/// Opens a collection; one in a folder that another process of the group has, when that has let it
/// go.
pub(super) fn open(definition: Definition) -> Result<Arc<Collection>> {
    let (Some(group), Some(folder)) = (GROUP.get(), definition.folder.clone()) else {
        return Collection::open(definition);
    };
    WATCHED.call_once(|| {
        let started = thread::Builder::new().name("search handover".into()).spawn(watch);
        if let Err(error) = started {
            tracing::warn!(%error, "indexes of this process cannot be taken over by another one");
        }
    });
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

fn is_locked(folder: &Path) -> bool {
    let lock = File::open(folder.join("lock"));
    lock.is_ok_and(|lock| matches!(lock.try_lock(), Err(TryLockError::WouldBlock)))
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

fn let_go(folder: &Path, shared: &Shared) {
    match shared.leave() {
        Ok(()) => tracing::info!("{} goes to another process", folder.display()),
        Err(error) => tracing::error!(%error, "{} is kept", folder.display()),
    }
}

fn take_back(folder: &Path, shared: &Shared) {
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
