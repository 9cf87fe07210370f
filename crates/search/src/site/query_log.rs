//! The query log: one search, the thread that writes searches down and counts them, and the rotation
//! of its files.

pub(crate) mod event;
pub(crate) mod journal;
pub(crate) mod rotation;
