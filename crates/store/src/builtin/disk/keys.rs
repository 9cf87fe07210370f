//! The files at all levels below a directory, in byte order of their paths, page by page.
//!
//! A page is a walk that enters only the directories in which keys of its range can be, and reads
//! each of them at once. Within a directory a subdirectory `a` sorts as `a/`, so that its files
//! stand among the siblings where their paths belong: after `a-b` and `a.b`, before `a0`.

mod folder;

use super::attributes::{self, FileAttributes};
use super::place::{DiskFault, Root};
use super::read::entity_tag;
use crate::{EntityTag, Key, KeyPage, KeyRange, LISTED_DEPTH, Metadata, Reference, decode_segment};
use folder::SortedFolder;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::SystemTime;

/// A page on its way to the worker's thread.
#[derive(Default)]
pub(super) struct FilePage {
    files: Vec<ListedFile>,
    more: bool,
}

struct ListedFile {
    name: String,
    length: u64,
    entity_tag: EntityTag,
    modified: Option<SystemTime>,
    /// The stored metadata; `None` where it was not asked for, and for a link, whose target has it.
    metadata: Option<Metadata>,
}

/// A file in a directory.
struct SeenFile {
    facts: fs::Metadata,
    is_link: bool,
}

impl FilePage {
    pub(super) fn into_keys(self) -> KeyPage {
        let key = |file: ListedFile| Key {
            name: file.name,
            length: Some(file.length),
            entity_tag: Some(file.entity_tag),
            modified: file.modified,
            metadata: file.metadata.map(Rc::new),
        };
        KeyPage { keys: self.files.into_iter().map(key).collect(), more: self.more }
    }
}

/// A directory on the way from the listed one to the present file.
struct OpenFolder {
    folder: Arc<SortedFolder>,
    next: usize,
    path: PathBuf,
    /// What the names in it begin with, as seen from the listed directory.
    prefix: String,
}

/// The page of a range, with the attributes of each file on request.
pub(super) fn page(
    root: &Root,
    reference: &Reference,
    range: &KeyRange,
    attributes: bool,
) -> Result<FilePage, DiskFault> {
    let place = root.place(reference, true)?;
    let mut page = FilePage::default();
    if !place.is_directory() {
        return Ok(page);
    }
    let mut folders = Vec::new();
    folders.extend(enter(root, place.path, String::new(), range)?);
    while let Some(open) = folders.last_mut() {
        let Some(name) = open.folder.name(open.next) else {
            folders.pop();
            continue;
        };
        open.next += 1;
        let key = format!("{}{name}", open.prefix);
        if is_behind(range, &key) {
            folders.pop();
            continue;
        }
        let path = open.path.join(&*decode_segment(name.trim_end_matches('/')));
        if key.ends_with('/') {
            if range.admits_below(&key) && key.matches('/').count() < LISTED_DEPTH {
                folders.extend(enter(root, path, key, range)?);
            }
        } else if range.admits(&key)
            && let Some(seen) = look(&path)?
        {
            if page.files.len() == range.page() {
                page.more = true;
                return Ok(page);
            }
            page.files.push(file(key, &path, &seen, attributes));
        }
    }
    Ok(page)
}

/// Whether a key and all that follow it in its directory are behind the range.
fn is_behind(range: &KeyRange, key: &str) -> bool {
    let prefix = range.prefix.as_str();
    !key.starts_with(prefix) && !prefix.starts_with(key) && key > prefix
}

/// Opens a directory at its first name that can belong to the range. `None` when it is gone.
fn enter(
    root: &Root,
    path: PathBuf,
    prefix: String,
    range: &KeyRange,
) -> Result<Option<OpenFolder>, DiskFault> {
    let Some(folder) = SortedFolder::of(root, &path)? else { return Ok(None) };
    let next = [range.after.as_deref(), Some(range.prefix.as_str())]
        .into_iter()
        .flatten()
        .filter_map(|bound| bound.strip_prefix(prefix.as_str()))
        // A bound within a subdirectory: that comes first.
        .map(|bound| bound.split_inclusive('/').next().unwrap_or_default())
        .map(|bound| folder.first_from(bound))
        .max();
    Ok(Some(OpenFolder { folder, next: next.unwrap_or_default(), path, prefix }))
}

/// The file at a path, which may be a link to it; `None` when it is gone or something else by now.
fn look(path: &Path) -> Result<Option<SeenFile>, DiskFault> {
    let seen = path.symlink_metadata().and_then(|facts| match facts.is_symlink() {
        true => Ok(SeenFile { facts: path.metadata()?, is_link: true }),
        false => Ok(SeenFile { facts, is_link: false }),
    });
    match seen {
        Ok(seen) => Ok(seen.facts.is_file().then_some(seen)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

fn file(name: String, path: &Path, seen: &SeenFile, attributes: bool) -> ListedFile {
    let SeenFile { facts, is_link } = seen;
    let stored = || attributes::read_at(path, facts).and_then(FileAttributes::into_metadata);
    ListedFile {
        name,
        length: facts.len(),
        entity_tag: entity_tag(facts),
        modified: facts.modified().ok(),
        metadata: (attributes && !is_link).then(|| stored().unwrap_or_default()),
    }
}
