//! Keeping a collection in a folder.
//!
//! The format of the files is described in `docs/design/search-format.md`.

mod input;
mod output;

pub(crate) use input::{Damaged, Input};
pub(crate) use output::Output;
