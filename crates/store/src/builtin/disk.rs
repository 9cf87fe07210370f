//! Files and directories as a store.

mod append;
mod blocking;
mod buffer;
mod changing;
mod kept;
mod place;
mod quick;
mod read;
mod temporary;
mod tree;
mod watch;
mod write;

use crate::{
    Answer, Body, Changes, Conditions, Confinement, Content, Context, Entry, Error, Kind, Outcome,
    Reference, Result, Store, Value, Verb, Verbs, decode_segment,
};
use blocking::blocking;
use kept::{ContentCache, ReadMoment};
use place::{DiskFault, Root};
use quick::Quick;
use read::Fetched;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

/// How many directories one [`Disk`] watches at most, those above the watched places included.
/// The system has a limit of its own for each user (`fs.inotify.max_user_watches`).
pub const WATCHED_DIRECTORIES: usize = 64 << 10;

/// Files and directories.
///
/// - Reading a file answers its bytes with the media type that its name suggests, the time of its
///   last change, and a strong entity tag made of inode, size and time. Files of up to 64 KiB are
///   read at once, larger ones are streamed in chunks of that size, each when it is asked for, and any
///   part of them can be had ([`crate::Seekable`]). Who has the system send a large file
///   ([`crate::FilePart`]) sends the file's own memory: a program that writes into a file instead of
///   replacing it may have readers of that moment get some of both.
/// - Reading a directory answers the list of the names in it.
/// - A put writes a temporary file beside the target, flushes it to the disk and renames it: a
///   reader sees the old file or the new one, and a put that fails or is cancelled leaves the old
///   one and no temporary file. Missing directories are made. Values are written as what a person
///   reads ([`crate::Form::Text`]). Putting nil makes a directory.
/// - A post appends to the file, or creates it, in one step for readers within this process. Readers
///   elsewhere may see a part of it, and a machine that fails in the middle may leave one.
/// - What is written, and the directories that it is written in, are flushed before the answer:
///   what was answered well is there after a failure of the machine, as far as its disk keeps its
///   own promises. A process that is killed leaves the old file or the new one, and perhaps a
///   temporary file, which no listing shows, and which a listing after a day removes.
/// - A write under a condition ([`crate::Condition`]) is one step for all of this process. That nothing is
///   there is kept towards other processes too, where the file system has hard links; a tag is not:
///   what another program does at that very moment may be replaced.
/// - A delete removes a file, a link (not what it leads to) or an empty directory.
/// - A path that ends in a slash means a directory: a file is missing there.
/// - FIFOs, sockets and devices are [`Kind::Unsupported`]. Nothing is read from them; opening one
///   to see what it is does not wait.
/// - Names that are not UTF-8 cannot be written as references; listings leave them out, together
///   with the temporary files of puts under way.
/// - A watch tells of what anybody on this machine does to the files at and below a reference,
///   which need not be there yet: what is made, written, renamed and removed, and all that is in a
///   directory that appears; not of reading, nor of what is written through a memory map. A
///   directory that is removed or moved away is told as lost, because of what was in it, and then
///   as deleted.
///   Links at the reference and above it are followed as they are when the watch begins; one below
///   it is told of itself, and what it leads to is told where that really is, within what is
///   watched. At most [`WATCHED_DIRECTORIES`] are watched: more are refused with
///   [`Kind::TooLarge`], more than the system allows with [`Kind::Unavailable`].
///
/// What the system has in memory of a file is read at once on the worker's thread, everything else
/// on the blocking pool: a disk that is slow, or hangs, holds up only those who read from it. The
/// store of the whole machine's files ([`Disk::unconfined`]) reads small files at once in any case.
///
/// A confined store on a local disk of Linux keeps what it read of small files for a second, and
/// answers it while the file at the path is in the same state (inode, size, mode and times), which
/// is looked at for each answer: every change is seen at once, but for what a program writes through
/// a memory map without a new time of change, which is seen after that second. At most 4,096 files and
/// 16 MiB are kept by each store, and none that was changed less than three seconds before.
pub struct Disk {
    root: Arc<Root>,
    kept: ContentCache,
    notifiers: watch::Notifiers,
}

impl Disk {
    /// The files below a directory, and nothing else: a path that leads out of it, be it by `..`
    /// or by a symbolic link, is [`Kind::Denied`]. Links that stay within are followed.
    ///
    /// The check is made on the path before it is used. It protects from what the names of
    /// requests and the links in the directory can do, not from another program on the machine
    /// that exchanges directories for links at that very moment.
    ///
    /// # Errors
    /// [`Kind::NotFound`] or [`Kind::Conflict`] when the root is no directory.
    pub fn new(root: impl Into<PathBuf>) -> Result<Self> {
        let root = root.into();
        let on = Reference::from_path(root.to_string_lossy().into_owned());
        let real = root.canonicalize().map_err(|error| Error::from_io(error, Verb::Get, &on))?;
        if !real.is_dir() {
            let message = "the root of a disk store has to be a directory";
            return Err(Error::new(Kind::Conflict, message).on(Verb::Get, &on));
        }
        Ok(Disk::of(Root::confined(real)))
    }

    /// All files of the machine, for the scheme `file:`. Paths that begin with a slash are
    /// absolute, others are relative to the current directory of the process.
    pub fn unconfined() -> Self {
        Disk::of(Root::unconfined())
    }

    fn of(root: Root) -> Self {
        let (kept, notifiers) = (ContentCache::default(), watch::Notifiers::default());
        Disk { root: Arc::new(root), kept, notifiers }
    }

    /// Does something with the file system on the blocking pool.
    fn later<T: Send + 'static>(
        &self,
        verb: Verb,
        reference: &Reference,
        work: impl FnOnce(&Root, &Reference) -> std::result::Result<T, DiskFault> + Send + 'static,
    ) -> Answer<T> {
        let (root, reference) = (self.root.clone(), reference.clone());
        Answer::later(async move {
            let (to, on) = (root, reference.clone());
            blocking(move || work(&to, &on))
                .await?
                .map_err(|fault| fault.into_error(verb, &reference))
        })
    }
}

#[deny(clippy::missing_trait_methods)]
impl Store for Disk {
    fn get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        let path = reference.relative_path();
        let kept = self.kept.get(&self.root.quick, path, context.known.as_ref(), Instant::now());
        if kept.is_some() {
            return Answer::ok(kept);
        }
        let (known, began) = (context.known.clone(), ReadMoment::now());
        let fetched = match read::quickly(&self.root, reference, known.as_ref()) {
            Some(Ok(Fetched::Whole(metadata, bytes))) => {
                let content = read::described(&metadata, Body::Bytes(bytes), reference);
                self.kept.put(path, &metadata, &content, began);
                return Answer::ok(Some(content));
            }
            Some(fetched) => fetched,
            None if matches!(self.root.quick, Quick::Plainly) => {
                read::fetched(&self.root, reference, known.as_ref())
            }
            None => {
                let fetched = self.later(Verb::Get, reference, move |root, reference| {
                    read::fetched(root, reference, known.as_ref())
                });
                let (root, on) = (self.root.clone(), reference.clone());
                return fetched.and_then(move |fetched| content(root, fetched, &on));
            }
        };
        match fetched {
            Ok(fetched) => content(self.root.clone(), fetched, reference),
            Err(fault) => fault.into_error(Verb::Get, reference).into(),
        }
    }

    fn put(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Outcome> {
        let only_if = context.only_if.clone();
        if matches!(content.body, Body::Value(Value::Nil)) {
            if only_if.is_some() {
                let message = "a directory cannot be made under a condition";
                return Error::new(Kind::NotAllowed, message).on(Verb::Put, reference).into();
            }
            return self.later(Verb::Put, reference, write::make_directory).map(Outcome::put);
        }
        let put = write::put(self.root.clone(), reference.clone(), content, only_if);
        Answer::later(put).map(Outcome::put).on(Verb::Put, reference)
    }

    fn post(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Outcome> {
        let only_if = context.only_if.clone();
        let post = write::append(self.root.clone(), reference.clone(), content, only_if);
        Answer::later(post).on(Verb::Post, reference)
    }

    fn delete(&self, reference: &Reference, context: &Context) -> Answer<Outcome> {
        let only_if = context.only_if.clone();
        let deleted = self.later(Verb::Delete, reference, move |root, on| {
            write::delete(root, on, only_if.as_ref())
        });
        deleted.map(Outcome::deleted)
    }

    fn list(&self, reference: &Reference, _: &Context) -> Answer<Option<Vec<Entry>>> {
        self.later(Verb::List, reference, read::entries)
    }

    fn watch(&self, reference: &Reference, _: &Context) -> Answer<Changes> {
        let (root, notifiers) = (self.root.clone(), self.notifiers.clone());
        Answer::later(watch::watch(root, notifiers, reference.clone()))
    }

    fn verbs(&self, _: &Reference) -> Verbs {
        Verbs::NONE
            .with(Verb::Get)
            .with(Verb::Put)
            .with(Verb::Post)
            .with(Verb::Delete)
            .with(Verb::List)
            .with(Verb::Watch)
    }

    fn conditions(&self, _: &Reference) -> Conditions {
        Conditions::Tags
    }

    fn confined(&self, reference: &Reference, links: bool) -> Confinement {
        let Ok(place) = self.root.place(reference, true) else { return Confinement::Missing };
        if !place.is_directory() {
            return Confinement::Missing;
        }
        let Ok(real) = place.path.canonicalize() else { return Confinement::Missing };
        // A disk that refuses links stays one that does.
        let links = links && self.root.has_links();
        Confinement::By(Rc::new(Disk::of(Root::confined(real).with_links(links))))
    }

    crate::without!(merge, keys, query, tables, as_any, sources);

    fn describe(&self) -> String {
        self.root.describe()
    }
}

/// What was read as content: a directory is the list of the names in it.
fn content(root: Arc<Root>, fetched: Fetched, reference: &Reference) -> Answer<Option<Content>> {
    if !matches!(fetched, Fetched::Directory) {
        return Answer::ok(fetched.into_content(reference));
    }
    let on = reference.clone();
    Answer::later(async move {
        let at = on.clone();
        let entries = blocking(move || read::entries(&root, &at)).await?;
        let entries = entries.map_err(|fault| fault.into_error(Verb::Get, &on))?;
        let name = |entry: Entry| Value::Text(decode_segment(&entry.name).into_owned());
        let list = |entries: Vec<_>| entries.into_iter().map(name).collect();
        Ok(entries.map(|entries| Content::value(Value::List(list(entries)))))
    })
}
