//! Combinators that check or change single verbs: logging, refusing and merging writes,
//! reporting what is missing.

pub(crate) mod ensure;
pub(crate) mod log;
pub(crate) mod merge;
pub(crate) mod readonly;
