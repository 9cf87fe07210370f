//! Change notifications of stores.

use crate::{Content, Reference, Result};
use futures_util::Stream;
use std::pin::Pin;

/// The length of a watcher's queue. A slower watcher loses its queued changes and receives one
/// [`ChangeKind::Lost`] for them.
pub const WAITING_CHANGES: usize = 1024;

/// The stream of changes for one watcher, in order. Dropping it ends the watch. An error is the
/// last item; a stream that ends without an error means that the store ended.
pub type Changes = Pin<Box<dyn Stream<Item = Result<Change>>>>;

/// One change of one reference.
pub struct Change {
    /// Of what kind.
    pub kind: ChangeKind,
    /// The changed reference, as the watched store names it for a get.
    pub reference: Reference,
    /// The new content, where the store has it at hand; a get answers it otherwise.
    pub content: Option<Content>,
    /// What caused it, where a server tells: `s3:ObjectCreated:Put`.
    pub event: Option<&'static str>,
}

/// The kinds of change. Puts, posts and merges are the same to a watcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChangeKind {
    /// There is new content at the reference.
    Changed,
    /// There is nothing at the reference any more.
    Deleted,
    /// Some changes at the reference or below it were missed: the watcher should read again.
    Lost,
}

impl ChangeKind {
    /// The name that programs and logs use: `changed`, `deleted`, `lost`.
    pub fn name(self) -> &'static str {
        match self {
            ChangeKind::Changed => "changed",
            ChangeKind::Deleted => "deleted",
            ChangeKind::Lost => "lost",
        }
    }
}

impl Change {
    /// New content, which a get answers.
    pub fn changed(reference: Reference) -> Self {
        Change { kind: ChangeKind::Changed, reference, content: None, event: None }
    }

    /// Nothing any more.
    pub fn deleted(reference: Reference) -> Self {
        Change { kind: ChangeKind::Deleted, reference, content: None, event: None }
    }

    /// Unreported changes at or below the reference.
    pub fn lost(reference: Reference) -> Self {
        Change { kind: ChangeKind::Lost, reference, content: None, event: None }
    }
}
