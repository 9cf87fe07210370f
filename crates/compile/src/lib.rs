//! Tree to Lua on the same lines. Pure: no IO, no clock.
//!
//! [`compile`] gives the Lua source of a program, or its diagnostics.
//! Line N of the Lua is line N of the program, so that traces need no table.
//!
//! Reading order: `scope` (where names live), `generator` (the state), `expression`, `message`,
//! `control` (messages that become Lua's own control structures), `class`, `query`, `path`,
//! `element` (pages), `review` (what runs and is probably not meant).

mod chunk;
mod class;
mod code;
mod compile;
mod elements;
mod expressions;
mod generator;
mod lua;
mod recall;
mod references;
mod review;
mod scope;
mod shadow;
mod statement;

pub use chunk::{Chunk, Known, SourceRole};
pub use compile::beside::beside_faults;
pub use compile::{compile, diagnose};
pub use lua::names::field;
pub use recall::CleanStatements;
pub use references::loads::{SourceLoad, all_loads_of, defined_classes, loads_of, static_files_of};
pub use review::reviewed;
pub use runnel_text::distance::{edit_distance, nearest};
