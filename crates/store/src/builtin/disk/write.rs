//! Writing files: whole or not at all.

mod batch;
mod flush;
mod rename;

pub(super) use self::flush::flush_directory;
pub(super) use self::rename::rename;

use self::batch::{Batch, Batches};
use super::append::Appending;
use super::attributes::{self, Beside, FileAttributes};
use super::blocking::blocking;
use super::changing::Changing;
use super::place::{DiskFault, PathTarget, ResolvedPath, Root};
use super::read;
use super::temporary::{self, Temporary, temporary_name};
use crate::{
    Body, COLLECT_LIMIT, Condition, Content, DOWNLOAD, Error, Form, Kind, Outcome, Reference, Verb,
};
use bytes::Bytes;
use futures_util::future::{Either, select};
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};

/// Writes content to a temporary file and puts that in place. Answers whether it was created.
pub(super) async fn put(
    root: Arc<Root>,
    reference: Reference,
    content: Content,
    only_if: Option<Condition>,
) -> Result<bool, Error> {
    let fault = |fault: DiskFault| fault.into_error(Verb::Put, &reference);
    let attributes = FileAttributes::of(content.attributes(), reference.path());
    let (stream, whole) = match content.body {
        Body::Stream(stream, _) => (Some(stream), Bytes::new()),
        Body::Lazy(lazy) => match lazy.stream(Form::Text) {
            Some(stream) => (Some(stream), Bytes::new()),
            None => (None, lazy.encode(Form::Text).await?),
        },
        body => {
            let content = Content { body, ..Content::default() };
            (None, content.read(usize::MAX).await?)
        }
    };
    let on = reference.clone();
    let begin = move || retried(|| Draft::begin(root.place(&on, true)?));
    let given_up = GivenUp::default();
    let wanted = given_up.0.clone();
    let Some(stream) = stream else {
        let write =
            move || begin()?.write(&whole)?.finish(attributes.as_ref(), &wanted, only_if.as_ref());
        return blocking(write).await?.map_err(fault);
    };
    let finish = move |draft: Draft| draft.finish(attributes.as_ref(), &wanted, only_if.as_ref());
    put_stream(Batches::of(stream), begin, finish).await?.map_err(fault)
}

/// Writes a stream, while its next batch is gathered.
async fn put_stream(
    mut batches: Batches,
    begin: impl FnOnce() -> Result<Draft, DiskFault> + Send + 'static,
    finish: impl FnOnce(Draft) -> Result<bool, DiskFault> + Send + 'static,
) -> Result<Result<bool, DiskFault>, Error> {
    // The first batch is awaited before anything is made: a stream that fails at once costs the
    // disk nothing.
    let mut batch = batches.next().await?;
    if batches.ended {
        return blocking(move || finish(begin()?.write_batch(batch)?)).await;
    }
    let mut writing: WrittenDraft = Box::pin(blocking(move || begin()?.write_batch(batch)));
    loop {
        let (next, written) = match select(pin!(batches.next()), writing).await {
            // Also after an error of the stream: the file is gone when the put answers.
            Either::Left((next, writing)) => (next, writing.await?),
            Either::Right((Ok(Ok(draft)), next)) => (next.await, Ok(draft)),
            Either::Right((failed, _)) => (Ok(Batch::default()), failed?),
        };
        let draft = match written {
            Ok(draft) => draft,
            Err(fault) => return Ok(Err(fault)),
        };
        batch = match next {
            Ok(batch) => batch,
            Err(error) => {
                // The event loop does not wait until a large file is removed.
                blocking(move || drop(draft)).await?;
                return Err(error);
            }
        };
        if batches.ended {
            return blocking(move || finish(draft.write_batch(batch)?)).await;
        }
        writing = Box::pin(blocking(move || draft.write_batch(batch)));
    }
}

/// A batch being written.
type WrittenDraft = Pin<Box<dyn Future<Output = Result<Result<Draft, DiskFault>, Error>>>>;

/// Whether the caller of a put or a post has gone. Dropping it waits for a renaming or an appending
/// in progress, which is short, so that afterwards it has happened or never will.
#[derive(Default)]
struct GivenUp(Arc<Mutex<bool>>);

impl Drop for GivenUp {
    fn drop(&mut self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
    }
}

/// A file being written, beside the place it is for. Dropping it removes it.
struct Draft {
    temporary: Temporary,
    file: File,
    target: PathBuf,
}

impl Draft {
    fn begin(place: ResolvedPath) -> Result<Self, DiskFault> {
        if place.slash && !place.root {
            let message = "a path that ends in a slash is a directory; leave the slash out";
            return Err(DiskFault::Refused(Kind::Conflict, message));
        }
        let (directory, permissions): (&Path, Option<Permissions>) = match &place.found {
            PathTarget::Directory => return Err(DiskFault::directory()),
            PathTarget::Special => return Err(DiskFault::special()),
            PathTarget::Blocked => return Err(blocked()),
            PathTarget::Missing(above) => (above, None),
            PathTarget::File(metadata) => {
                // Permissions are preserved; special bits of the old content are not.
                let mode = metadata.permissions().mode() & 0o777;
                (above(&place.path), Some(Permissions::from_mode(mode)))
            }
            PathTarget::Link => (above(&place.path), None),
        };
        temporary::sweep_once(directory);
        let path = directory.join(temporary_name());
        let file = OpenOptions::new().write(true).create_new(true).open(&path)?;
        temporary::lock(&file);
        let temporary = Temporary(path);
        if let Some(permissions) = permissions
            && file.metadata()?.permissions().mode() & 0o777 != permissions.mode()
        {
            file.set_permissions(permissions)?;
        }
        Ok(Draft { temporary, file, target: place.path })
    }

    fn write(mut self, bytes: &[u8]) -> Result<Self, DiskFault> {
        self.file.write_all(bytes)?;
        Ok(self)
    }

    fn write_batch(mut self, batch: Batch) -> Result<Self, DiskFault> {
        batch.write(&mut self.file)?;
        Ok(self)
    }

    /// Flushes the file with its attributes and renames it, unless the put was given up. Answers
    /// whether nothing was there before.
    fn finish(
        mut self,
        attributes: Option<&FileAttributes>,
        given_up: &Mutex<bool>,
        only_if: Option<&Condition>,
    ) -> Result<bool, DiskFault> {
        let mut beside = match attributes {
            Some(attributes) => {
                attributes::store(attributes, &self.file, above(&self.temporary.0))?
            }
            None => None,
        };
        beside.as_ref().map_or(Ok(()), |beside| beside.mark(&self.file))?;
        self.file.sync_all()?;
        let given_up = given_up.lock().unwrap_or_else(PoisonError::into_inner);
        if *given_up {
            return Err(DiskFault::Refused(Kind::Cancelled, "the put was given up"));
        }
        let changing = Changing::begin(&self.target);
        changing.check(&self.target, only_if)?;
        let before = self.target.metadata().ok();
        // The files of all puts have names in the directory: each look for another one costs.
        let is_new = before.is_none();
        let described = before.filter(|_| attributes::may_be_beside(&self.target));
        let target = self.target.clone();
        in_directory(above(&target), !is_new, || {
            let attributes = |beside: &mut Beside| beside.put_in(above(&target));
            beside.as_mut().map_or(Ok(()), attributes)?;
            match only_if {
                Some(Condition::Absent) => self.put_in_empty_place(),
                _ => {
                    fs::rename(&self.temporary.0, &target)?;
                    self.temporary.was_renamed();
                    Ok(())
                }
            }
        })?;
        if let Some(described) = &described {
            attributes::remove_beside(&self.target, described);
        }
        drop(changing);
        // A caller that gives up from here on need not wait for the disk.
        drop(given_up);
        flush_directory(above(&self.target))?;
        Ok(is_new)
    }
}

impl Draft {
    /// Takes the place only if it is free, whichever process may take it first.
    fn put_in_empty_place(&mut self) -> Result<(), DiskFault> {
        match rename(&self.temporary.0, &self.target, true) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                Err(DiskFault::Condition(Condition::Absent))
            }
            renamed => {
                renamed?;
                self.temporary.was_renamed();
                Ok(())
            }
        }
    }
}

pub(super) fn above(path: &Path) -> &Path {
    path.parent().unwrap_or(path)
}

/// Makes a directory and those above it that are missing, each flushed to the disk.
pub(super) fn make_directories(directory: &Path) -> Result<(), DiskFault> {
    let missing: Vec<&Path> = directory
        .ancestors()
        .take_while(|path| !path.as_os_str().is_empty() && !path.exists())
        .collect();
    fs::create_dir_all(directory).map_err(|error| taken_away(directory, error))?;
    for made in missing.iter().rev() {
        flush_directory(above(made))?;
    }
    Ok(())
}

/// The system says of a directory that exists and is gone at the next look that it exists already.
fn taken_away(directory: &Path, error: io::Error) -> io::Error {
    let mut found = directory.ancestors().filter_map(|path| path.metadata().ok());
    match error.kind() == ErrorKind::AlreadyExists && found.all(|found| found.is_dir()) {
        true => ErrorKind::NotFound.into(),
        false => error,
    }
}

/// How often a directory is made again that a deletion has taken away meanwhile.
const REMADE: usize = 100;

/// Tries something again that did not find what deletions may have taken away.
fn retried<T>(mut work: impl FnMut() -> Result<T, DiskFault>) -> Result<T, DiskFault> {
    for _ in 0..REMADE {
        match work() {
            Err(DiskFault::Io(error)) if error.kind() == ErrorKind::NotFound => {}
            done => return done,
        }
    }
    work()
}

/// Does something in a directory, which is made where it does not exist: first, or after a deletion in it.
pub(super) fn in_directory<T>(
    directory: &Path,
    mut exists: bool,
    mut work: impl FnMut() -> Result<T, DiskFault>,
) -> Result<T, DiskFault> {
    retried(|| {
        if !exists {
            make_directories(directory)?;
        }
        exists = false;
        work()
    })
}

pub(super) fn dangling() -> DiskFault {
    DiskFault::Refused(Kind::Conflict, "a link that leads nowhere is in this place")
}

pub(super) fn blocked() -> DiskFault {
    DiskFault::Refused(Kind::Conflict, "a part of the path is not a directory")
}

/// Appends to a file or creates it. The content is read before anything is written, and appended
/// in one piece.
pub(super) async fn append(
    root: Arc<Root>,
    reference: Reference,
    content: Content,
    only_if: Option<Condition>,
) -> Result<Outcome, Error> {
    let is_download = content.media_type.as_deref() == Some(DOWNLOAD);
    let bytes = content.read(COLLECT_LIMIT).await?;
    let on = reference.clone();
    let given_up = GivenUp::default();
    let wanted = given_up.0.clone();
    let write = move || -> Result<(), DiskFault> {
        let place = root.place(&on, true)?;
        if place.slash && !place.is_directory() {
            return Err(blocked());
        }
        let new = matches!(place.found, PathTarget::Missing(_));
        let changing = Changing::begin(&place.path);
        changing.check(&place.path, only_if.as_ref())?;
        match place.found {
            PathTarget::Directory => return Err(DiskFault::directory()),
            PathTarget::Special => return Err(DiskFault::special()),
            PathTarget::Blocked => return Err(blocked()),
            PathTarget::Link => return Err(dangling()),
            PathTarget::Missing(_) | PathTarget::File(_) => {}
        }
        let (mut file, _) = in_directory(above(&place.path), !new, || {
            let file = read::open(&place.path, OpenOptions::new().append(true).create(true))?;
            file.ok_or(DiskFault::Io(ErrorKind::NotFound.into()))
        })?;
        {
            let given_up = wanted.lock().unwrap_or_else(PoisonError::into_inner);
            if *given_up {
                return Err(DiskFault::Refused(Kind::Cancelled, "the post was given up"));
            }
            let _alone = Appending::begin(&place.path);
            let is_download = is_download || attributes::is_download(&file, &place.path)?;
            file.write_all(&bytes)?;
            if is_download {
                attributes::mark_download(&file, &place.path)?;
            }
        }
        drop(changing);
        file.sync_data()?;
        if new { flush_directory(above(&place.path)) } else { Ok(()) }
    };
    blocking(write).await?.map_err(|fault| fault.into_error(Verb::Post, &reference))?;
    Ok(Outcome::changed())
}

/// Makes a directory and those above it. Answers whether it was not there.
pub(super) fn make_directory(root: &Root, reference: &Reference) -> Result<bool, DiskFault> {
    let place = root.place(reference, true)?;
    match place.found {
        PathTarget::Directory => Ok(false),
        PathTarget::Missing(_) => make_directories(&place.path).map(|()| true),
        PathTarget::Special => Err(DiskFault::special()),
        PathTarget::Blocked => Err(blocked()),
        PathTarget::Link => Err(dangling()),
        PathTarget::File(_) => {
            Err(DiskFault::Refused(Kind::Conflict, "a file is in the place of the directory"))
        }
    }
}

/// Replaces the attributes of a file.
pub(super) fn annotate(
    root: &Root,
    reference: &Reference,
    attributes: Option<FileAttributes>,
    only_if: Option<&Condition>,
) -> Result<(), DiskFault> {
    let missing = || DiskFault::Refused(Kind::NotFound, "there is no file to give attributes to");
    let place = root.place(reference, true)?;
    match place.found {
        PathTarget::File(_) if !place.slash => {}
        PathTarget::Directory => return Err(DiskFault::directory()),
        PathTarget::Special => return Err(DiskFault::special()),
        _ => return Err(missing()),
    }
    let changing = Changing::begin(&place.path);
    changing.check(&place.path, only_if)?;
    let opened = read::open(&place.path, OpenOptions::new().read(true))?;
    let (file, facts) = opened.ok_or_else(missing)?;
    let mut beside = match attributes {
        None => {
            attributes::clear(&file)?;
            None
        }
        Some(new) => attributes::store(&new, &file, above(&place.path))?,
    };
    match &mut beside {
        None => attributes::remove_beside(&place.path, &facts),
        // The mark comes last: until then the old attributes count.
        Some(beside) => {
            beside.put_in(above(&place.path))?;
            beside.mark(&file)?;
        }
    }
    drop(changing);
    file.sync_all()?;
    if beside.is_some() { flush_directory(above(&place.path)) } else { Ok(()) }
}

/// Removes a file, a link or an empty directory, and at most `prunes` directories above that are empty
/// then. Answers whether it was there.
pub(super) fn delete(
    root: &Root,
    reference: &Reference,
    only_if: Option<&Condition>,
    prunes: usize,
) -> Result<bool, DiskFault> {
    let place = root.place(reference, false)?;
    if place.root {
        return Err(DiskFault::Refused(Kind::Denied, "the root itself cannot be deleted"));
    }
    let changing = Changing::begin(&place.path);
    changing.check(&place.path, only_if)?;
    let removed = match place.found {
        PathTarget::Missing(_) | PathTarget::Blocked => return Ok(false),
        PathTarget::Special => return Err(DiskFault::special()),
        PathTarget::File(_) | PathTarget::Link if place.slash => return Ok(false),
        PathTarget::File(facts) => fs::remove_file(&place.path)
            .inspect(|()| attributes::remove_beside(&place.path, &facts)),
        PathTarget::Link => fs::remove_file(&place.path),
        PathTarget::Directory => fs::remove_dir(&place.path),
    };
    drop(changing);
    match removed {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        removed => {
            removed?;
            flush_directory(prune(above(&place.path), reference, prunes)).map(|()| true)
        }
    }
}

/// Removes empty directories from this one on upwards. Answers the first one that stays.
fn prune<'a>(mut directory: &'a Path, reference: &Reference, most: usize) -> &'a Path {
    let names: Vec<&str> = reference.segments().collect();
    for name in names.iter().rev().skip(1).take(most) {
        // A link has another name: what it leads to stays.
        let is_named = directory.file_name() == Some(OsStr::new(&*crate::decode_segment(name)));
        if !is_named || fs::remove_dir(directory).is_err() {
            break;
        }
        directory = above(directory);
    }
    directory
}
