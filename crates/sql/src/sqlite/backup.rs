//! Backups of a whole database: a copy at one moment, and the way back; the rows of its tables as text.

pub(crate) mod dump;
pub(crate) mod restore;
pub(crate) mod snapshot;
