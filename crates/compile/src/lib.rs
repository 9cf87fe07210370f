//! Tree to Lua on the same lines. Pure: no IO, no clock.
//!
//! [`compile`] gives the Lua source of a program, or the diagnostics that say why there is none.
//! Line N of the Lua does what line N of the program says, so that traces need no table.
//!
//! Reading order: `scope` (where names live), `generator` (the state), `expression`, `message`,
//! `control` (messages that become Lua's own control structures), `class`, `query`, `path`,
//! `element` (pages), `review` (what runs and is probably not meant).

mod class;
mod control;
mod elements;
mod expression;
mod generator;
mod literal;
mod lua;
mod message;
mod references;
mod review;
mod scope;
mod shadow;
mod statement;

pub use generator::{Chunk, Known, compile};
pub use lua::names::{distance, field, nearest};
pub use review::warnings;
