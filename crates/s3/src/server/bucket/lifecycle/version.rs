//! What rules see of a version.

use crate::server::bucket::tagging::Tagging;
use std::time::SystemTime;

/// One version of an object, as rules see it.
pub(crate) struct LifecycleVersion<'a> {
    /// The key.
    pub(crate) key: &'a str,
    /// The length in bytes; 0 for a delete marker.
    pub(crate) size: u64,
    /// The tags; none for a delete marker.
    pub(crate) tags: &'a Tagging,
    /// When it was put.
    pub(crate) modified: SystemTime,
    /// What it is to its key.
    pub(crate) state: VersionState,
}

/// What a version is to its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VersionState {
    /// The newest version, an object.
    Current,
    /// The newest version, a delete marker. `alone`: there is no other version.
    DeleteMarker { alone: bool },
    /// An older version or marker, replaced at `since`; `newer` noncurrent versions are newer.
    Noncurrent { since: SystemTime, newer: usize },
}
