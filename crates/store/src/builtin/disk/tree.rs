//! The watched directories, and the events that the system reports for them.

use super::place::DiskFault;
use super::temporary::is_own;
use crate::{Kind, Reference, WATCHED_DIRECTORIES, Watchers};
use notify::event::{CreateKind, EventKind, ModifyKind, RemoveKind, RenameMode};
use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher};
use std::collections::BTreeMap;
use std::fs::Metadata;
use std::io::ErrorKind;
use std::ops::Bound;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender};

/// Queue length for the system's events. On overflow, the missed events are reported as lost.
const WAITING_EVENTS: usize = 16 << 10;

/// How often a directory may be exchanged for another while it is about to be watched.
const EXCHANGES: usize = 8;

pub(super) enum WatchRequest {
    /// Something has happened.
    Event(Event),
    /// Watch a place, and those of these directories that lie above it.
    Watch { base: PathBuf, above: Vec<PathBuf>, answer: Sender<Result<(), DiskFault>> },
    /// A place is not watched any more.
    Release(PathBuf),
    /// The last watch has ended.
    Stop,
}

/// The watches on one disk.
///
/// Directories are watched one by one, not by the library's recursion, which could miss files in a
/// new directory before its watch begins. Here the watch begins before the directory is read. The
/// directories above a watched path are watched too, because it may appear, vanish or move with
/// them.
/// with them.
pub(super) struct Tree {
    system: RecommendedWatcher,
    queue: Arc<EventQueue>,
    watchers: Watchers,
    /// The watched places: how often, and the directories above them.
    bases: BTreeMap<PathBuf, (usize, Vec<PathBuf>)>,
    /// The watched directories with their identities, which detect replacement.
    directories: BTreeMap<PathBuf, Identity>,
}

/// Device and inode.
type Identity = (u64, u64);

#[derive(Default)]
struct EventQueue {
    waiting: AtomicUsize,
    lost: AtomicBool,
}

impl Tree {
    pub(super) fn new(thread: Sender<WatchRequest>, watchers: Watchers) -> Result<Self, DiskFault> {
        let queue = Arc::new(EventQueue::default());
        let events = queue.clone();
        let system = notify::recommended_watcher(move |event: notify::Result<Event>| {
            let full = events.waiting.load(Ordering::Relaxed) >= WAITING_EVENTS;
            let Some(event) = event.ok().filter(|event| !full && !event.need_rescan()) else {
                events.lost.store(true, Ordering::Release);
                return;
            };
            if matches!(event.kind, EventKind::Access(_)) {
                return;
            }
            events.waiting.fetch_add(1, Ordering::Relaxed);
            let _ = thread.send(WatchRequest::Event(event));
        });
        let system = system.map_err(fault)?;
        Ok(Tree { system, queue, watchers, bases: BTreeMap::new(), directories: BTreeMap::new() })
    }

    /// Runs until a message stops it.
    pub(super) fn run(mut self, messages: Receiver<WatchRequest>) {
        for message in messages {
            if self.queue.lost.swap(false, Ordering::AcqRel) {
                self.begin_again();
            }
            match message {
                WatchRequest::Event(event) => {
                    self.queue.waiting.fetch_sub(1, Ordering::Relaxed);
                    for path in &event.paths {
                        self.look(path, &event.kind);
                    }
                }
                WatchRequest::Watch { base, above, answer } => {
                    let watched = self.watch(base, above);
                    // The caller may have gone; its release message comes next.
                    let _ = answer.send(watched);
                }
                WatchRequest::Release(base) => self.release(&base),
                WatchRequest::Stop => return,
            }
        }
    }

    fn watch(&mut self, base: PathBuf, above: Vec<PathBuf>) -> Result<(), DiskFault> {
        self.bases.entry(base.clone()).or_insert((0, above)).0 += 1;
        self.reach(&base, false)
    }

    fn release(&mut self, base: &Path) {
        let Some((count, _)) = self.bases.get_mut(base) else { return };
        *count -= 1;
        if *count == 0 {
            self.bases.remove(base);
            let mut left: Vec<_> = self.directories.keys().cloned().collect();
            left.retain(|directory| !self.is_concerned(directory));
            for directory in left {
                self.directories.remove(&directory);
                let _ = self.system.unwatch(&directory);
            }
        }
    }

    /// Whether a path lies at, below or above a watched place.
    fn is_concerned(&self, path: &Path) -> bool {
        self.is_watched(path) || self.bases.keys().any(|base| base.starts_with(path))
    }

    /// Whether a path lies at or below a watched place.
    fn is_watched(&self, path: &Path) -> bool {
        path.ancestors().any(|above| self.bases.contains_key(above))
    }

    /// Watches all directories from above a watched place to below it.
    fn reach(&mut self, base: &Path, tell: bool) -> Result<(), DiskFault> {
        let above = self.bases.get(base).map(|(_, above)| above.clone()).unwrap_or_default();
        for directory in above {
            self.add(&directory)?;
        }
        match base.symlink_metadata() {
            Ok(metadata) if metadata.is_dir() => self.cover(base, tell),
            Ok(_) if tell => {
                self.tell(base, Watchers::changed);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Watches a directory and its subdirectories, and reports their content if it is new.
    fn cover(&mut self, directory: &Path, tell: bool) -> Result<(), DiskFault> {
        let mut left = vec![directory.to_path_buf()];
        while let Some(directory) = left.pop() {
            self.add(&directory)?;
            if tell {
                self.tell(&directory, Watchers::changed);
            }
            // It may have gone, or be unreadable, and then so is its content.
            let Ok(entries) = directory.read_dir() else { continue };
            for entry in entries.flatten() {
                let Ok(kind) = entry.file_type() else { continue };
                if kind.is_dir() {
                    left.push(entry.path());
                } else if tell {
                    self.tell(&entry.path(), Watchers::changed);
                }
            }
        }
        Ok(())
    }

    fn add(&mut self, directory: &Path) -> Result<(), DiskFault> {
        if self.directories.contains_key(directory) || directory.to_str().is_none() {
            return Ok(());
        }
        if self.directories.len() >= WATCHED_DIRECTORIES {
            let message = "there are too many directories to watch; watch a smaller part";
            return Err(DiskFault::Refused(Kind::TooLarge, message));
        }
        // The same identity before and after the call proves that the watch is on this directory. A
        // later exchange is reported by the watch on the directory above.
        for _ in 0..EXCHANGES {
            let Some(before) = identity(directory) else { return Ok(()) };
            match self.system.watch(directory, RecursiveMode::NonRecursive) {
                Ok(()) => {}
                // Gone or unreadable, so there is nothing to report.
                Err(error) if is_out_of_reach(&error) => return Ok(()),
                Err(error) => return Err(fault(error)),
            }
            if identity(directory) == Some(before) {
                self.directories.insert(directory.to_path_buf(), before);
                return Ok(());
            }
            let _ = self.system.unwatch(directory);
        }
        Ok(())
    }

    /// Ends the watch of a directory and those below it. Answers whether there was one.
    fn forget(&mut self, path: &Path) -> bool {
        let from = (Bound::Included(path), Bound::Unbounded);
        let below = self.directories.range::<Path, _>(from).map(|(directory, _)| directory);
        let below: Vec<_> = below.take_while(|one| one.starts_with(path)).cloned().collect();
        for directory in &below {
            self.directories.remove(directory);
            let _ = self.system.unwatch(directory);
        }
        !below.is_empty()
    }

    /// Determines what happened to a path and reports it. The current state decides, since events
    /// may be late.
    fn look(&mut self, path: &Path, kind: &EventKind) {
        let is_hidden = path.file_name().and_then(|name| name.to_str()).is_none_or(is_own);
        if is_hidden || !self.is_concerned(path) {
            return;
        }
        match path.symlink_metadata() {
            Err(error) if is_missing(error.kind()) => {
                // Its content may be gone with it, or have changed unseen.
                let was_directory = matches!(
                    kind,
                    EventKind::Create(CreateKind::Folder) | EventKind::Remove(RemoveKind::Folder)
                );
                if self.forget(path) || was_directory {
                    self.tell(path, Watchers::lost);
                }
                self.tell(path, Watchers::deleted);
            }
            Err(_) => self.tell(path, Watchers::lost),
            Ok(metadata) if metadata.is_dir() => {
                let removed = matches!(
                    kind,
                    EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(RenameMode::From))
                );
                match self.directories.get(path) {
                    None => self.find(path),
                    // A removed directory may have passed its inode to its successor, and the
                    // library ends watches by name.
                    Some(known) if *known == identity_of(&metadata) && !removed => {}
                    Some(_) => {
                        self.forget(path);
                        self.find(path);
                        // Changes in between were missed.
                        self.tell(path, Watchers::lost);
                    }
                }
            }
            Ok(metadata) => {
                if self.forget(path) {
                    self.tell(path, Watchers::lost);
                }
                if metadata.is_file() || metadata.is_symlink() {
                    self.tell(path, Watchers::changed);
                }
            }
        }
    }

    /// A new directory, below a watched place or on the way to some.
    fn find(&mut self, directory: &Path) {
        let mut reached = Ok(());
        if self.is_watched(directory) {
            reached = self.cover(directory, true);
        } else {
            let bases: Vec<_> =
                self.bases.keys().filter(|base| base.starts_with(directory)).cloned().collect();
            for base in bases {
                reached = reached.and_then(|()| self.reach(&base, true));
            }
        }
        if let Err(fault) = reached {
            self.give_up(fault);
        }
    }

    /// Recovers from lost events: watches the current directories and reports all of them as lost.
    fn begin_again(&mut self) {
        let bases: Vec<_> = self.bases.keys().cloned().collect();
        for directory in std::mem::take(&mut self.directories).into_keys() {
            let _ = self.system.unwatch(&directory);
        }
        for base in bases {
            if let Err(fault) = self.reach(&base, false) {
                return self.give_up(fault);
            }
            self.tell(&base, Watchers::lost);
        }
    }

    /// Ends all watchers with an error, because changes can be missed from now on.
    fn give_up(&self, fault: DiskFault) {
        let error = fault.into_error(crate::Verb::Watch, &Reference::default());
        self.watchers.fail(error.kind, &error.message);
    }

    fn tell(&self, path: &Path, tell: fn(&Watchers, &Reference)) {
        let name = path.file_name().and_then(|name| name.to_str());
        if let (Some(text), false) = (path.to_str(), name.is_none_or(is_own)) {
            tell(&self.watchers, &Reference::from_path(text));
        }
    }
}

fn identity(directory: &Path) -> Option<Identity> {
    let metadata = directory.symlink_metadata().ok()?;
    metadata.is_dir().then(|| identity_of(&metadata))
}

fn identity_of(metadata: &Metadata) -> Identity {
    (metadata.dev(), metadata.ino())
}

fn is_missing(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotFound | ErrorKind::NotADirectory)
}

fn is_out_of_reach(error: &notify::Error) -> bool {
    match &error.kind {
        notify::ErrorKind::PathNotFound => true,
        notify::ErrorKind::Io(error) => {
            is_missing(error.kind()) || error.kind() == ErrorKind::PermissionDenied
        }
        _ => false,
    }
}

fn fault(error: notify::Error) -> DiskFault {
    match error.kind {
        notify::ErrorKind::MaxFilesWatch => DiskFault::Refused(
            Kind::Unavailable,
            "the system watches as many directories as it may; raise fs.inotify.max_user_watches, \
             or watch a smaller part",
        ),
        // The system's error when a user has reached the limit of inotify instances.
        notify::ErrorKind::Io(error) if error.raw_os_error() == Some(libc::EMFILE) => {
            DiskFault::Refused(
                Kind::Unavailable,
                "the system has no more watchers for this user; raise fs.inotify.max_user_instances",
            )
        }
        notify::ErrorKind::Io(error) => DiskFault::Io(error),
        _ => DiskFault::Refused(Kind::Failed, "the system does not tell of changes here"),
    }
}
