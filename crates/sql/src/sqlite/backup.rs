//! Backups of a whole database: a copy at one moment, and the way back.
//!
//! Rows as text belong to `rows`; what is here knows files and pages only.

pub(crate) mod restore;
pub(crate) mod snapshot;
