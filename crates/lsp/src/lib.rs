//! A language server: diagnostics, completion, hover, navigation and the rest of what editors show of programs,
//! over the Language Server Protocol 3.17 on a pair of streams.
//!
//! [`serve`] speaks the protocol. What it knows of the language is [`Knowledge`]: the catalogue of messages, the
//! kernel's classes, options and schemes. No program runs.
//!
//! Reading order: `analysis` (one text: tree, names, types), `documents` (open texts), `features` (one file for
//! each kind of request), `server` (the loop, and the thread that checks).

mod analysis;
mod documents;
mod features;
mod knowledge;
mod server;
mod text;

pub use knowledge::{Knowledge, KnownOption, KnownScheme};
pub use server::serve;
