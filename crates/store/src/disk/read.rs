//! Reading files and directories.

use super::append::Reading;
use super::blocking;
use super::place::{Fault, Found, Place, Root};
use crate::{
    Body, ByteStream, COLLECT_LIMIT, Content, Context, EntityTag, Entry, Kind, Reference, Seekable,
    Verb,
};
use bytes::Bytes;
use futures_util::stream;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;

/// Files of up to this many bytes are read at once; larger ones in pieces.
pub(super) const CHUNK: usize = 64 << 10;

/// The most of a larger file that is in memory for one reader.
const PIECE: u64 = 128 << 10;

/// How many names a directory may have: listing is not streamed.
const MAX_ENTRIES: usize = 1_000_000;

/// The content of a file; nothing where there is none. Directories are read by [`entries`].
pub(super) fn file(
    place: Place,
    reference: &Reference,
    context: &Context,
) -> Result<Option<Content>, Fault> {
    let metadata = match place.found {
        Found::Special => return Err(Fault::special()),
        Found::File(metadata) if !place.slash => metadata,
        _ => return Ok(None),
    };
    let tag = entity_tag(&metadata);
    let content = Content {
        media_type: mime_guess::from_path(reference.path()).first_raw().map(Into::into),
        modified: metadata.modified().ok(),
        ..Content::default()
    };
    if context.known.as_ref() == Some(&tag) && metadata.len() > 0 {
        return Ok(Some(Content { entity_tag: Some(tag), ..content }));
    }
    let _whole = Reading::begin(&place.path);
    let opened = open(&place.path, OpenOptions::new().read(true))?;
    // What was opened counts, should the file have been replaced in between.
    let Some((mut file, metadata)) = opened else { return Ok(None) };
    let (modified, length) = (metadata.modified().ok(), metadata.len());
    let entity_tag = Some(entity_tag(&metadata));
    if length > CHUNK as u64 {
        let (file, on) = (Arc::new(file), reference.clone());
        let body = Seekable::body(length, move |from, length| {
            pieces(file.clone(), from, length, on.clone())
        });
        return Ok(Some(Content { body, entity_tag, modified, ..content }));
    }
    // Files made by the kernel say that they are empty and are not, so the length is only a hint.
    let mut bytes = Vec::with_capacity(length as usize + 1);
    (&mut file).take(COLLECT_LIMIT as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > COLLECT_LIMIT {
        let message = "the file does not say its length and is too large";
        return Err(Fault::Refused(Kind::TooLarge, message));
    }
    let entity_tag = entity_tag.filter(|_| bytes.len() as u64 == length);
    Ok(Some(Content { body: Body::Bytes(bytes.into()), entity_tag, modified, ..content }))
}

/// Opens a file without following a link and without waiting, should it have become one or a FIFO
/// since it was looked at. Nothing when it is gone.
pub(super) fn open(
    path: &Path,
    options: &mut OpenOptions,
) -> Result<Option<(File, Metadata)>, Fault> {
    let file = match options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let metadata = file.metadata()?;
    if metadata.is_file() { Ok(Some((file, metadata))) } else { Err(Fault::special()) }
}

/// Inode, size and time of the last change: another file, or the same one written again, has
/// another tag.
pub(super) fn entity_tag(metadata: &Metadata) -> EntityTag {
    let nanoseconds =
        i128::from(metadata.mtime()) * 1_000_000_000 + i128::from(metadata.mtime_nsec());
    EntityTag::strong(format!("{:x}-{:x}-{nanoseconds:x}", metadata.ino(), metadata.len()))
}

/// A file, or a part of it, piece by piece, each read on the blocking pool when it is asked for.
fn pieces(file: Arc<File>, from: u64, length: u64, reference: Reference) -> ByteStream {
    let start = (file, from, from + length, reference);
    Box::pin(stream::try_unfold(start, |(file, at, end, reference)| async move {
        if at == end {
            return Ok(None);
        }
        let reading = file.clone();
        let bytes = blocking(move || piece(&reading, at, end - at))
            .await?
            .map_err(|fault| fault.into_error(Verb::Get, &reference))?;
        let next = at + bytes.len() as u64;
        Ok(Some((bytes, (file, next, end, reference))))
    }))
}

fn piece(file: &File, at: u64, left: u64) -> Result<Bytes, Fault> {
    let mut bytes = vec![0; left.min(PIECE) as usize];
    match file.read_exact_at(&mut bytes, at) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
            let message = "the file became shorter while it was read";
            Err(Fault::Refused(Kind::Failed, message))
        }
        read => Ok(read.map(|()| bytes.into())?),
    }
}

/// What is in a directory, by name; nothing where there is no directory.
pub(super) fn entries(root: &Root, reference: &Reference) -> Result<Option<Vec<Entry>>, Fault> {
    let place = root.place(reference, true)?;
    if !place.is_directory() {
        return Ok(None);
    }
    let mut entries = Vec::new();
    for entry in place.path.read_dir()? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        if super::write::is_temporary(&name) {
            super::write::remove_forgotten(&entry);
            continue;
        }
        if entries.len() == MAX_ENTRIES {
            let message = "the directory has more than a million entries";
            return Err(Fault::Refused(Kind::TooLarge, message));
        }
        let kind = entry.file_type()?;
        let collection = if kind.is_symlink() {
            let real = entry.path().canonicalize();
            real.is_ok_and(|real| root.holds(&real) && real.is_dir())
        } else {
            kind.is_dir()
        };
        entries.push(Entry { name, collection });
    }
    entries.sort_unstable();
    Ok(Some(entries))
}
