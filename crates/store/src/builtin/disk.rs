//! Files and directories as a store.

mod append;
mod attributes;
mod blocking;
mod buffer;
mod changing;
mod kept;
mod keys;
mod place;
mod quick;
mod read;
mod relocate;
mod temporary;
mod tree;
mod watch;
mod write;

use crate::{
    Answer, Attributes, Body, Changes, Conditions, Confinement, Content, Context, Entry, Error,
    KeyPage, KeyRange, Kind, Outcome, Reference, Result, Store, Value, Verb, Verbs, decode_segment,
};
use attributes::FileAttributes;
use blocking::blocking;
use kept::{ContentCache, ReadMoment};
use place::{DiskFault, Root};
use quick::Quick;
use read::{Fetched, FileFacts, ReadWish};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

/// The maximum number of directories that a [`Disk`] watches, including the directories above the
/// watched paths. The system has a limit for each user (`fs.inotify.max_user_watches`).
pub const WATCHED_DIRECTORIES: usize = 64 << 10;

/// Files and directories.
///
/// - Reading a file returns its bytes with the media type for its name, its modification time, and
///   a strong entity tag of inode, size and time. Files of up to 64 KiB are read at once. Larger
///   files are streamed on demand in chunks of that size, with random access ([`crate::Seekable`]).
///   Sending a large file through the system ([`crate::FilePart`]) sends the page cache itself. A
///   program that overwrites a file in place may thus mix old and new bytes for current readers.
/// - Reading a directory returns the list of its names.
/// - A put writes a temporary file beside the target, calls fsync and renames it. Readers see the
///   old file or the new one; a failed or cancelled put leaves the old file and no temporary file.
///   Missing directories are created. Values are written in their readable form
///   ([`crate::Form::Text`]). Putting nil creates a directory.
/// - A post appends to the file, or creates it; the append is atomic for readers within this
///   process. Other processes may see a partial append, and a crash of the machine may leave one.
/// - Every write is durable before it is answered: the file and its directories are flushed, within
///   the guarantees of the hardware. A killed process leaves the old file or the new one, and
///   perhaps a temporary file. Listings, also of all keys, hide temporary files; they and the first put of a process
///   in a directory remove those that are older than an hour and locked by no writer.
/// - A conditional write ([`crate::Condition`]) is atomic within this process. Create-only is
///   atomic towards other processes too, if the file system has hard links. An entity tag is not: a
///   concurrent write by another program may be replaced.
/// - A delete removes a file, a link (not its target) or an empty directory, and the directories above
///   that became empty, as many as [`Context::prunes`] says. A write that needs one of them makes it again.
/// - A put stores metadata, and a media type that the name does not tell, in the extended attribute
///   `user.runnel` of the temporary file, so that content and attributes change in one step. What
///   does not fit, or finds no such attributes in the file system, is in a hidden file beside, of
///   at most 64 KiB. A read answers them if [`Context::attributes`] asks: another system call,
///   which plain readers do not pay. They get the media type that was put where the name tells none.
///   Another program that changes the file takes the attributes away.
/// - Content of a client with the media type or the name of a page or a script keeps the type [`DOWNLOAD`] instead.
/// - [`Store::annotate`] replaces them in place and leaves the entity tag. [`Store::relocate`] is a
///   rename within a file system.
/// - A path that ends in a slash means a directory: a file is missing there.
/// - FIFOs, sockets and devices are [`Kind::Unsupported`]. Nothing is read from them; opening one
///   to see what it is does not wait.
/// - Names that are not UTF-8 cannot be written as references; listings omit them and the temporary
///   files of puts under way.
/// - A watch reports changes by any process on this machine to files at and below a reference,
///   which need not exist yet. It reports creation, writes, renames and removal, and the whole
///   content of a new directory. It does not report reads or writes through a memory map. A removed
///   or moved directory is reported as lost, because of its content, and then as deleted.
/// - A watch resolves links at the reference and above it once, when it begins. A link below is
///   reported itself, and its target is reported at its real path within the watched tree. At most
///   [`WATCHED_DIRECTORIES`] are watched: more are refused with [`Kind::TooLarge`], and more than
///   the system allows with [`Kind::Unavailable`].
///
/// Bytes in the page cache are read at once on the worker's thread, all others on the blocking
/// pool. A slow or hung disk therefore delays only its own readers. The store of all files of the
/// machine ([`Disk::unconfined`]) always reads small files at once.
///
/// A confined store on a local Linux disk caches small files for a second. Each read first checks
/// that the file at the path is unchanged (inode, size, mode and times), so every change is visible
/// at once. The exception is a write through a memory map that leaves the times alone, visible
/// after that second. Each store caches at most 4,096 files and 16 MiB, and no file changed in the
/// last three seconds.
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
        let kept = self.kept.get(&self.root.quick, path, context, Instant::now());
        if kept.is_some() {
            return Answer::ok(kept);
        }
        let wish = ReadWish { known: context.known.clone(), attributes: context.attributes };
        let began = ReadMoment::now();
        let fetched = match read::quickly(&self.root, reference, &wish) {
            Some(Ok(Fetched::Whole(FileFacts { metadata, attributes }, bytes))) => {
                let body = Body::Bytes(bytes);
                let content = read::described(&metadata, attributes, body, reference);
                self.kept.put(path, &metadata, &content, wish.attributes, began);
                return Answer::ok(Some(content));
            }
            Some(fetched) => fetched,
            None if matches!(self.root.quick, Quick::Plainly) => {
                read::fetched(&self.root, reference, &wish)
            }
            None => {
                let fetched = self.later(Verb::Get, reference, move |root, reference| {
                    read::fetched(root, reference, &wish)
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
        if let Err(error) = Error::refuse_expiry(reference) {
            return error.on(Verb::Put, reference).into();
        }
        let only_if = context.only_if.clone();
        if matches!(content.body, Body::Value(Value::Nil)) {
            if only_if.is_some() {
                let message = "a directory cannot be made under a condition";
                return Error::new(Kind::NotAllowed, message).on(Verb::Put, reference).into();
            }
            return self.later(Verb::Put, reference, write::make_directory).map(Outcome::put);
        }
        let content = content.of_client(context, attributes::guess(reference.path()));
        let put = write::put(self.root.clone(), reference.clone(), content, only_if);
        Answer::later(put).map(Outcome::put).on(Verb::Put, reference)
    }

    fn post(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Outcome> {
        let only_if = context.only_if.clone();
        let content = content.of_client(context, attributes::guess(reference.path()));
        let post = write::append(self.root.clone(), reference.clone(), content, only_if);
        Answer::later(post).on(Verb::Post, reference)
    }

    fn delete(&self, reference: &Reference, context: &Context) -> Answer<Outcome> {
        let (only_if, prunes) = (context.only_if.clone(), context.prunes.unwrap_or(0));
        let deleted = self.later(Verb::Delete, reference, move |root, on| {
            write::delete(root, on, only_if.as_ref(), prunes)
        });
        deleted.map(Outcome::deleted)
    }

    fn keys(
        &self,
        reference: &Reference,
        range: &KeyRange,
        context: &Context,
    ) -> Answer<Option<KeyPage>> {
        let (range, attributes) = (range.clone(), context.attributes);
        let page = self
            .later(Verb::List, reference, move |root, on| keys::page(root, on, &range, attributes));
        page.map(|page| Some(page.into_keys()))
    }

    fn appends(&self, _: &Reference) -> bool {
        true
    }

    fn keeps_metadata(&self, _: &Reference) -> bool {
        true
    }

    fn annotate(
        &self,
        reference: &Reference,
        attributes: Attributes,
        context: &Context,
    ) -> Answer<Outcome> {
        let attributes = FileAttributes::of(attributes, reference.path());
        let only_if = context.only_if.clone();
        let annotated = self.later(Verb::Put, reference, move |root, on| {
            write::annotate(root, on, attributes, only_if.as_ref())
        });
        annotated.map(|()| Outcome::changed())
    }

    fn relocate(&self, from: &Reference, to: &Reference, context: &Context) -> Answer<bool> {
        let (from, only_if) = (from.clone(), context.only_if.clone());
        self.later(Verb::Put, to, move |root, to| {
            relocate::relocate(root, &from, to, only_if.as_ref())
        })
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
        // A disk that refuses links still refuses them when it is confined further.
        let links = links && self.root.has_links();
        Confinement::By(Rc::new(Disk::of(Root::confined(real).with_links(links))))
    }

    crate::without!(guards, presign, fetch, merge, query, tables, as_any, sources);

    fn describe(&self) -> String {
        self.root.describe()
    }
}

/// The result of a read as content: a directory is the list of its names.
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
