//! Errors of the files of a collection.

use runnel_store::{Error, Kind};
use std::io;
use std::path::Path;

/// An error that can cross threads.
#[derive(Clone, Debug)]
pub(crate) struct DiskError {
    kind: Kind,
    message: String,
    detail: Option<String>,
    /// Whether a retry cannot help.
    lasting: bool,
}

impl DiskError {
    pub(crate) fn new(kind: Kind, message: impl Into<String>) -> DiskError {
        DiskError { kind, message: message.into(), detail: None, lasting: false }
    }

    /// The error of a log: after it, the content of the disk is unknown.
    pub(crate) fn of_log(self) -> DiskError {
        let message = format!(
            "{}; no more writes are taken until the index is opened again: see to the disk, and \
             start the program again",
            self.message
        );
        DiskError { message, lasting: true, ..self }
    }

    /// An error of the file system in an operation on a file.
    pub(crate) fn of_file(doing: &str, path: &Path, error: &io::Error) -> DiskError {
        use io::ErrorKind as Io;
        let (kind, cause) = match error.kind() {
            Io::StorageFull | Io::QuotaExceeded => (Kind::Unavailable, "the disk is full"),
            Io::PermissionDenied => (Kind::Denied, "permission is denied"),
            Io::ReadOnlyFilesystem => (Kind::Denied, "the file system cannot be written"),
            Io::NotFound => (Kind::Failed, "it is not there"),
            Io::NotADirectory => (Kind::Conflict, "a part of the path is not a folder"),
            _ => (Kind::Failed, "the file system reports an error"),
        };
        let message = format!("{doing} {} failed: {cause}", path.display());
        DiskError { kind, message, detail: Some(error.to_string()), lasting: false }
    }

    /// The error of a file with impossible content.
    pub(crate) fn damaged(path: &Path, offset: u64, what: &str) -> DiskError {
        let message = format!(
            "{} is damaged at byte {offset}: {what}; put the folder back from a copy, or remove \
             it and load the documents again",
            path.display()
        );
        DiskError::new(Kind::Failed, message)
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    pub(crate) fn detail(&self) -> &str {
        self.detail.as_deref().unwrap_or_default()
    }
}

impl From<DiskError> for Error {
    fn from(fault: DiskError) -> Error {
        let error = Error::new(fault.kind, fault.message);
        let temporary = error.temporary && !fault.lasting;
        let error = error.with_temporary(temporary);
        match fault.detail {
            Some(detail) => error.with_detail(detail),
            None => error,
        }
    }
}
