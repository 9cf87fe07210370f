//! The contents of small files that were read a moment ago.

use super::quick::{Identity, Quick};
use crate::{Body, Content, Context};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fs::Metadata;
use std::time::{Duration, Instant, SystemTime};

/// How many files are kept; beyond that all are forgotten.
const FILES: usize = 4 << 10;

/// How many bytes of contents and paths are kept; beyond that all are forgotten. Each file is one
/// that is read at once, so that it has 64 KiB at most.
const BYTES: usize = 16 << 20;

/// How long an entry is valid. A frequently requested file is read once in this time, a rarer one
/// each time. The limit also bounds how long a change without a trace in the file's state stays
/// unseen: a write through a memory map into pages that were dirty already.
const TRUSTED: Duration = Duration::from_secs(1);

/// How long a file must have been left alone before it is read, so that a later change is sure to
/// have another time. File systems count in steps of up to 10 ms, old ones in seconds, FAT in two.
const SETTLED: Duration = Duration::from_secs(3);

/// When a read begins.
#[derive(Clone, Copy)]
pub(super) struct ReadMoment {
    steady: Instant,
    /// What the times of files are compared with.
    calendar: SystemTime,
}

impl ReadMoment {
    pub(super) fn now() -> Self {
        ReadMoment { steady: Instant::now(), calendar: SystemTime::now() }
    }
}

/// Cache of small files by path. An entry is valid only while the file at the path has the identity
/// it had when it was read. Each hit verifies this, with one system call instead of four.
pub(super) struct ContentCache {
    files: RefCell<HashMap<Box<str>, File>>,
    bytes: Cell<usize>,
    trusted: Duration,
    settled: Duration,
}

struct File {
    identity: Identity,
    until: Instant,
    /// With the validators and the media type.
    content: Content,
    /// Whether the content has its stored attributes.
    described: bool,
}

impl Default for ContentCache {
    fn default() -> Self {
        ContentCache {
            files: RefCell::default(),
            bytes: Cell::new(0),
            trusted: TRUSTED,
            settled: SETTLED,
        }
    }
}

impl ContentCache {
    /// The cached content of a path below the root, verified; without its bytes for a reader who
    /// has them already. `None` means that the file has to be read.
    pub(super) fn get(
        &self,
        quick: &Quick,
        path: &str,
        context: &Context,
        now: Instant,
    ) -> Option<Content> {
        let files = self.files.borrow();
        let file = files.get(path)?;
        if context.attributes && !file.described {
            return None;
        }
        if file.until <= now || quick.identity(path) != Some(file.identity) {
            drop(files);
            self.forget(path);
            return None;
        }
        let content = file.content.share()?;
        match context.known.is_some() && context.known == content.entity_tag {
            true => Some(Content { body: Body::Empty, ..content }),
            false => Some(content),
        }
    }

    /// Caches a whole file that was found without following a link. `began` is the time before the
    /// lookup.
    pub(super) fn put(
        &self,
        path: &str,
        metadata: &Metadata,
        content: &Content,
        described: bool,
        began: ReadMoment,
    ) {
        let identity = Identity::of(metadata);
        let Body::Bytes(bytes) = &content.body else { return };
        if bytes.is_empty() || !is_plain(path) || !identity.is_settled(began.calendar, self.settled)
        {
            return;
        }
        let (Some(content), Some(until)) =
            (content.share(), began.steady.checked_add(self.trusted))
        else {
            return;
        };
        self.forget(path);
        let bytes = self.bytes.get() + bytes.len() + path.len();
        if bytes > BYTES || self.files.borrow().len() >= FILES {
            self.files.borrow_mut().clear();
            self.bytes.set(0);
            return;
        }
        self.bytes.set(bytes);
        self.files.borrow_mut().insert(path.into(), File { identity, until, content, described });
    }

    fn forget(&self, path: &str) {
        if let Some(file) = self.files.borrow_mut().remove(path) {
            let bytes = match &file.content.body {
                Body::Bytes(bytes) => bytes.len(),
                _ => 0,
            };
            self.bytes.set(self.bytes.get().saturating_sub(bytes + path.len()));
        }
    }
}

/// Whether a path is written as the file system's own names, so that nothing has to be resolved.
fn is_plain(path: &str) -> bool {
    path.split('/').all(|name| !matches!(name, "" | "." | ".."))
}

#[cfg(all(test, target_os = "linux"))]
mod tests;
