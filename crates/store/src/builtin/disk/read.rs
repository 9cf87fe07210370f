//! Reading files and directories.

use super::append::Reading;
use super::attributes::{self, FileAttributes};
use super::blocking::blocking;
use super::buffer::{self, PIECE};
use super::place::{DiskFault, PathTarget, Root};
use super::quick::{self, Seen};
use super::temporary;
use crate::{
    Body, ByteStream, COLLECT_LIMIT, Content, EntityTag, Entry, FilePart, Kind, Reference,
    Seekable, Verb, encode_segment, runs_in_browsers,
};
use bytes::Bytes;
use futures_util::stream;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{DirEntryExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;

/// Files of up to this many bytes are read at once; larger ones in pieces.
pub(super) const CHUNK: usize = 64 << 10;

/// The maximum number of names in a directory: listings are not streamed.
const MAX_ENTRIES: usize = 1_000_000;

/// What a read found, on its way to the worker's thread.
pub(super) enum Fetched {
    Missing,
    Directory,
    /// The reader has it already.
    Known(FileFacts),
    /// All of it. A file made by the kernel says that it is empty and is not: it has no tag.
    Whole(FileFacts, Bytes),
    /// A large one, which is read piece by piece.
    Large(FileFacts, File),
}

/// What there is to know about a file beside its content.
pub(super) struct FileFacts {
    pub(super) metadata: Metadata,
    /// The stored attributes, where there are any and the reader wants them.
    pub(super) attributes: Option<FileAttributes>,
}

/// What a reader says beside the reference.
#[derive(Clone, Default)]
pub(super) struct ReadWish {
    /// The tag of the content that the reader has.
    pub(super) known: Option<EntityTag>,
    /// Whether it wants the attributes.
    pub(super) attributes: bool,
}

impl ReadWish {
    fn knows(&self, metadata: &Metadata) -> bool {
        metadata.len() > 0 && self.known.is_some() && self.known == Some(entity_tag(metadata))
    }

    fn facts(&self, file: &File, path: &Path, metadata: Metadata) -> FileFacts {
        let attributes = self.attributes_of(path, || attributes::read(file, path, &metadata));
        FileFacts { metadata, attributes }
    }

    /// Reads the attributes of the file at a path, where they are wanted. The media type is, too,
    /// where the name does not tell it, or tells a type that a browser runs: a client's file has another one. Plain
    /// files cost no call.
    fn attributes_of(
        &self,
        path: &Path,
        read: impl FnOnce() -> Option<FileAttributes>,
    ) -> Option<FileAttributes> {
        if self.attributes {
            return read();
        }
        match attributes::guess_of_path(path) {
            Some(kind) if !runs_in_browsers(kind) => None,
            _ => read().map(FileAttributes::without_metadata),
        }
    }
}

impl Fetched {
    /// What there is to know, and the content. A directory has none here.
    pub(super) fn into_content(self, reference: &Reference) -> Option<Content> {
        let (facts, body) = match self {
            Fetched::Missing | Fetched::Directory => return None,
            Fetched::Known(facts) => (facts, Body::Empty),
            Fetched::Whole(facts, bytes) => (facts, Body::Bytes(bytes)),
            Fetched::Large(facts, file) => {
                let (file, on) = (Arc::new(file), reference.clone());
                let all = FilePart::new(file.clone(), 0, facts.metadata.len());
                let body = Seekable::of_file(all, move |from, length| {
                    pieces(file.clone(), from, length, on.clone())
                });
                (facts, body)
            }
        };
        let FileFacts { metadata, attributes } = facts;
        Some(described(&metadata, attributes, body, reference))
    }
}

/// Content with the metadata of its file.
pub(super) fn described(
    metadata: &Metadata,
    attributes: Option<FileAttributes>,
    body: Body,
    reference: &Reference,
) -> Content {
    let honest = match &body {
        Body::Bytes(bytes) => bytes.len() as u64 == metadata.len(),
        _ => true,
    };
    let stored = attributes.map(FileAttributes::into_attributes).unwrap_or_default();
    let guess = || attributes::guess(reference.path()).map(Into::into);
    Content {
        body,
        media_type: stored.media_type.or_else(guess),
        metadata: stored.metadata,
        modified: metadata.modified().ok(),
        entity_tag: honest.then(|| entity_tag(metadata)),
        ..Content::default()
    }
}

/// Reads without waiting; `None` where that is impossible.
pub(super) fn quickly(
    root: &Root,
    reference: &Reference,
    wish: &ReadWish,
) -> Option<Result<Fetched, DiskFault>> {
    let (seen, path) = root.look_quickly(reference);
    let (file, metadata) = match seen {
        Seen::Unknown => return None,
        Seen::Missing => return Some(Ok(Fetched::Missing)),
        Seen::Directory => return Some(Ok(Fetched::Directory)),
        Seen::Special => return Some(Err(DiskFault::special())),
        Seen::File(..) if reference.path().ends_with('/') => return Some(Ok(Fetched::Missing)),
        Seen::File(file, metadata) => (file, metadata),
    };
    let length = metadata.len();
    if wish.knows(&metadata) {
        return Some(Ok(Fetched::Known(wish.facts(&file, &path, metadata))));
    }
    if length > CHUNK as u64 {
        return Some(Ok(Fetched::Large(wish.facts(&file, &path, metadata), file)));
    }
    let _whole = Reading::begin(&path);
    // Another process may have appended to it in between.
    let bytes = quick::whole(&file, length as usize)?;
    Some(Ok(Fetched::Whole(wish.facts(&file, &path, metadata), bytes)))
}

/// Reads, and waits for the disk where it has to.
pub(super) fn fetched(
    root: &Root,
    reference: &Reference,
    wish: &ReadWish,
) -> Result<Fetched, DiskFault> {
    let place = root.place(reference, true)?;
    let metadata = match place.found {
        PathTarget::Special => return Err(DiskFault::special()),
        PathTarget::Directory => return Ok(Fetched::Directory),
        PathTarget::File(metadata) if !place.slash => metadata,
        _ => return Ok(Fetched::Missing),
    };
    if wish.knows(&metadata) {
        let read = || attributes::read_at(&place.path, &metadata);
        let attributes = wish.attributes_of(&place.path, read);
        return Ok(Fetched::Known(FileFacts { metadata, attributes }));
    }
    let _whole = Reading::begin(&place.path);
    let opened = open(&place.path, OpenOptions::new().read(true))?;
    // The opened file counts, even if it has been replaced since the lookup.
    let Some((mut file, metadata)) = opened else { return Ok(Fetched::Missing) };
    let length = metadata.len();
    if length > CHUNK as u64 {
        return Ok(Fetched::Large(wish.facts(&file, &place.path, metadata), file));
    }
    // The length is only a hint.
    let mut bytes = Vec::with_capacity(length as usize + 1);
    (&mut file).take(COLLECT_LIMIT as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > COLLECT_LIMIT {
        let message = "the file does not say its length and is too large";
        return Err(DiskFault::Refused(Kind::TooLarge, message));
    }
    Ok(Fetched::Whole(wish.facts(&file, &place.path, metadata), bytes.into()))
}

/// Opens a file without following a link and without waiting, since it may have become a link or a
/// FIFO after the lookup. `None` when it is gone.
pub(super) fn open(
    path: &Path,
    options: &mut OpenOptions,
) -> Result<Option<(File, Metadata)>, DiskFault> {
    let file = match options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let metadata = file.metadata()?;
    if metadata.is_file() { Ok(Some((file, metadata))) } else { Err(DiskFault::special()) }
}

/// Inode, size and time of the last change: another file, or the same one written again, has
/// another tag.
pub(super) fn entity_tag(metadata: &Metadata) -> EntityTag {
    let nanoseconds =
        i128::from(metadata.mtime()) * 1_000_000_000 + i128::from(metadata.mtime_nsec());
    EntityTag::strong(format!("{:x}-{:x}-{nanoseconds:x}", metadata.ino(), metadata.len()))
}

/// A file, or a part of it, piece by piece, each read when it is asked for: from memory where the
/// system has it there, on the blocking pool otherwise.
fn pieces(file: Arc<File>, from: u64, length: u64, reference: Reference) -> ByteStream {
    let start = (file, from, from + length, reference);
    Box::pin(stream::try_unfold(start, |(file, at, end, reference)| async move {
        if at == end {
            return Ok(None);
        }
        let length = (end - at).min(PIECE as u64) as usize;
        let bytes = match quick::in_memory(&file, at, length) {
            Some(bytes) => bytes,
            None => {
                let reading = file.clone();
                blocking(move || piece(&reading, at, length))
                    .await?
                    .map_err(|fault| fault.into_error(Verb::Get, &reference))?
            }
        };
        let next = at + bytes.len() as u64;
        Ok(Some((bytes, (file, next, end, reference))))
    }))
}

fn piece(file: &File, at: u64, length: usize) -> Result<Bytes, DiskFault> {
    let read = buffer::filled(length, |bytes| file.read_exact_at(bytes, at));
    read.map_err(|error| match error.kind() {
        ErrorKind::UnexpectedEof => {
            let message = "the file became shorter while it was read";
            DiskFault::Refused(Kind::Failed, message)
        }
        _ => error.into(),
    })
}

/// The entries of a directory by name; `None` without a directory.
pub(super) fn entries(root: &Root, reference: &Reference) -> Result<Option<Vec<Entry>>, DiskFault> {
    let place = root.place(reference, true)?;
    if !place.is_directory() {
        return Ok(None);
    }
    let mut entries = Vec::new();
    let (mut inodes, mut descriptions) = (Vec::new(), Vec::new());
    for entry in place.path.read_dir()? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        if temporary::is_own(&name) {
            match temporary::described_inode(&name) {
                Some(inode) => descriptions.push((inode, entry)),
                None => temporary::remove_forgotten(&entry),
            }
            continue;
        }
        inodes.push(entry.ino());
        if entries.len() == MAX_ENTRIES {
            let message = "the directory has more than a million entries";
            return Err(DiskFault::Refused(Kind::TooLarge, message));
        }
        let kind = entry.file_type()?;
        let collection = if kind.is_symlink() {
            let real = entry.path().canonicalize();
            real.is_ok_and(|real| root.holds(&real) && real.is_dir())
        } else {
            kind.is_dir()
        };
        entries.push(Entry { name: encode_segment(&name).into_owned(), collection });
    }
    // Attributes of files that other programs have removed.
    inodes.sort_unstable();
    descriptions.retain(|(inode, _)| inodes.binary_search(inode).is_err());
    descriptions.iter().for_each(|(_, file)| temporary::remove_forgotten(file));
    entries.sort_unstable();
    Ok(Some(entries))
}
