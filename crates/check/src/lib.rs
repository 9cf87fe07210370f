//! What a program certainly gets wrong: with types where they are known, and silent where they are not.
//! Pure: no IO, no clock.
//!
//! [`check`] answers the findings of a program that was parsed without errors; each has a code, which
//! [`codes`] explains. Types come from literals, declarations, classes of the program and the catalogue; a
//! variable may hold what any of its assignments gives it.
//!
//! Reading order: `types`, `kernel` and `world` (classes and what they understand), `scopes` (where names
//! live), `checker` (the passes), `statements`, `expressions`, `sends`, then one file for each kind of
//! finding in `rules`.

mod checker;
pub mod codes;
mod expressions;
mod guards;
mod kernel;
mod rules;
mod scopes;
mod sends;
mod sight;
mod statements;
mod suggest;
mod types;
mod world;

pub use checker::check;
pub use kernel::Kernel;
