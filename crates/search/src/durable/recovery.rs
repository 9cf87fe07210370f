//! Recovery: opening a folder from its newest snapshot and the log after it.

use crate::collection::guarded_put::{count_set_aside, put_record};
use crate::collection::id::Id;
use crate::durable::disk_error::DiskError;
use crate::durable::folder::CollectionFolder;
use crate::durable::log_frame::{LOG_HEADER, LogPart, LoggedWrite};
use crate::durable::snapshot::{SnapshotFile, SnapshotHeader};
use crate::index::search_index::{IndexConfig, SearchIndex};
use bytes::Bytes;
use runnel_store::Kind;
use std::fs::File;
use std::path::Path;

/// The definition of a stored collection.
#[derive(Clone, Debug)]
pub(crate) struct CollectionLayout {
    pub(crate) index: IndexConfig,
    pub(crate) stored: bool,
    pub(crate) fingerprint: u64,
}

/// The content of a folder.
#[derive(Debug)]
pub(crate) struct RecoveredCollection {
    pub(crate) index: SearchIndex,
    /// The number of the last write.
    pub(crate) last: u64,
    /// The size of the snapshot in bytes, 0 without one.
    pub(crate) snapshot_bytes: u64,
    /// The size of all parts of the log.
    pub(crate) log_bytes: u64,
    /// The last part of the log: its first write, its salt, and the length of its valid content.
    pub(crate) end: Option<LogEnd>,
    /// Whether the definition has changed since the snapshot.
    pub(crate) changed: bool,
    /// The writes that could not be repeated, and the first of them.
    set_aside: u64,
    first_set_aside: Option<String>,
}

/// The end of the log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogEnd {
    pub(crate) first: u64,
    pub(crate) salt: u64,
    pub(crate) length: u64,
    pub(crate) file_length: u64,
}

impl CollectionLayout {
    /// Builds an index from the folder, up to the write `until` if given.
    pub(crate) fn load(
        &self,
        folder: &CollectionFolder,
        up_to: Option<u64>,
    ) -> Result<RecoveredCollection, DiskError> {
        let index = SearchIndex::new(self.index.clone())
            .map_err(|error| DiskError::new(Kind::Invalid, error.message()))?;
        let mut opened = RecoveredCollection {
            index,
            last: 0,
            snapshot_bytes: 0,
            log_bytes: 0,
            end: None,
            changed: false,
            set_aside: 0,
            first_set_aside: None,
        };
        let files = folder.files()?;
        if let Some(newest) = files.snapshots.last() {
            self.load_snapshot(&folder.snapshot(*newest), &mut opened)?;
        }
        let after = opened.last;
        for (place, first) in files.logs.iter().enumerate() {
            let next = files.logs.get(place + 1);
            // The snapshot has all of this part, or all of it is too new.
            if next.is_some_and(|next| *next <= after + 1)
                || up_to.is_some_and(|up_to| *first > up_to)
            {
                continue;
            }
            if up_to.is_some() && folder.is_closing() {
                return Err(DiskError::new(Kind::Unavailable, "the index is closed"));
            }
            self.load_log(&folder.log(*first), next.is_none(), &mut opened)?;
        }
        // A snapshot reads the same log once more.
        if up_to.is_none() {
            opened.report_set_aside();
        }
        Ok(opened)
    }

    fn load_snapshot(
        &self,
        path: &Path,
        opened: &mut RecoveredCollection,
    ) -> Result<(), DiskError> {
        let snapshot = SnapshotFile::open(path)?;
        let SnapshotHeader { last, fingerprint, stored, keys } = snapshot.about;
        opened.last = last;
        opened.snapshot_bytes = snapshot.file.len() as u64;
        if fingerprint == self.fingerprint {
            return snapshot.fill(&mut opened.index, path);
        }
        opened.changed = true;
        if !stored {
            let message = format!(
                "the definition of the index in {} has changed, and its documents are not kept; \
                 go back to the old definition, or remove the folder and load the documents again",
                path.display()
            );
            return Err(DiskError::new(Kind::Conflict, message));
        }
        tracing::info!(file = %path.display(), "the definition has changed: indexing anew");
        // Meanwhile the documents are in an index of identifiers only.
        let mut old = SearchIndex::new(self.index.clone().key_format(keys))
            .map_err(|error| DiskError::new(Kind::Invalid, error.message()))?;
        snapshot.fill_documents(&mut old, path)?;
        for id in old.documents().iter() {
            if let Some(record) = old.documents().record(&id) {
                self.apply(opened, last, LoggedWrite::Put(id, &record));
            }
        }
        Ok(())
    }

    fn load_log(
        &self,
        path: &Path,
        newest: bool,
        opened: &mut RecoveredCollection,
    ) -> Result<(), DiskError> {
        let failed = |error: std::io::Error| DiskError::of_file("reading", path, &error);
        let bytes = std::fs::read(path).map_err(failed)?;
        opened.log_bytes += bytes.len() as u64;
        let file_length = bytes.len() as u64;
        let Some(mut part) = LogPart::open(path, &bytes)? else {
            // A crash happened at the beginning of this part.
            if newest && bytes.len() <= LOG_HEADER {
                tracing::warn!(file = %path.display(), "a part of the log was never begun");
                std::fs::remove_file(path).map_err(failed)?;
                return Ok(());
            }
            return Err(DiskError::damaged(path, 0, "its header is not what was written"));
        };
        if part.next_write() > opened.last + 1 {
            let what = format!(
                "it begins with write {}, and the one before it ends with write {}",
                part.next_write(),
                opened.last
            );
            return Err(DiskError::damaged(path, 0, &what));
        }
        let first = part.next_write();
        while let Some(group) = part.next_group() {
            part.writes(&group, |number, write| {
                if number > opened.last {
                    self.apply(opened, number, write);
                    opened.last = number;
                }
                Ok(())
            })?;
        }
        let length = part.position() as u64;
        if length < file_length {
            if !newest || part.has_later_group() {
                return Err(DiskError::damaged(path, length, "a group of writes is broken"));
            }
            tracing::warn!(
                file = %path.display(),
                offset = length,
                bytes = file_length - length,
                "the end of the log was torn by a crash; its unacknowledged writes are dropped"
            );
        }
        // A part that ends before the snapshot is not continued.
        let goes_on = part.next_write() == opened.last + 1;
        let end = LogEnd { first, salt: part.salt(), length, file_length };
        opened.end = goes_on.then_some(end);
        Ok(())
    }

    fn apply(&self, opened: &mut RecoveredCollection, number: u64, write: LoggedWrite<'_>) {
        let index = &mut opened.index;
        match write {
            LoggedWrite::Put(id, record) => {
                let id = self.id(id);
                let is_indexed = put_record(index, &id, record);
                if self.stored {
                    index.documents_mut().set_record(&id, number, Bytes::copy_from_slice(record));
                }
                if !is_indexed {
                    opened.set_aside(id.to_string());
                }
            }
            LoggedWrite::Remove(id) => {
                index.remove(id);
            }
            LoggedWrite::Unreadable => opened.set_aside(format!("of write {number}")),
        }
    }

    fn id(&self, id: Id) -> Id {
        self.index.format().apply(id)
    }
}

impl RecoveredCollection {
    fn set_aside(&mut self, document: String) {
        self.set_aside += 1;
        self.first_set_aside.get_or_insert(document);
    }

    /// One line for all of them: thousands may have the same fault.
    fn report_set_aside(&self) {
        let Some(first) = &self.first_set_aside else { return };
        let (name, count) = (self.index.name(), self.set_aside);
        count_set_aside(name, count);
        tracing::warn!(
            count,
            "the index {name} has set documents aside that it cannot index, the first is {first}: \
             they are kept without words, and no search finds them"
        );
    }
}

/// Truncates a torn write at the end and returns the file, ready to append.
pub(crate) fn reopen(folder: &CollectionFolder, end: LogEnd) -> Result<File, DiskError> {
    let path = folder.log(end.first);
    let failed = |error: std::io::Error| DiskError::of_file("opening", &path, &error);
    let file = File::options().append(true).open(&path).map_err(failed)?;
    if end.length < end.file_length {
        file.set_len(end.length).map_err(failed)?;
        file.sync_all().map_err(failed)?;
    }
    Ok(file)
}
