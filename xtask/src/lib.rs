//! The project's own checks: what ARCHITECTURE.md and STYLE.md promise, tested.
//!
//! [`tidy`] looks at every file of the project and answers [`Finding`]s. It builds nothing, and
//! needs nothing but the files: manifests and sources are read by small parsers of its own, so
//! that the checks add no dependency.
//!
//! Reading order: `tree`, `finding`, then any file in `rules/`.

mod architecture;
mod constant;
mod finding;
mod manifest;
mod rules;
mod rust_source;
mod scopes;
mod tree;

pub use finding::Finding;
pub use rules::tidy;
pub use tree::{File, Tree};
