//! The living program: an isolate of LuaJIT, fibers, objects, references and connections.
//!
//! An [`Isolate`] belongs to one thread. It runs source texts ([`Isolate::run`]); the command
//! around it is its [`Host`]. The library of built-in classes is in `kernel/`, in Lua.
//!
//! Reading order: `isolate`, `fiber`, `native`, `value`, then `kernel/core.lua`.

mod cells;
mod collector;
mod columns;
mod combined;
mod date;
mod fault;
mod fiber;
mod host;
mod isolate;
mod json;
mod kernel;
mod known;
mod load;
mod markup;
mod memory;
mod native;
mod natives;
mod object;
mod page;
mod pipe;
mod progress;
mod raw;
mod rows;
mod run;
mod scheduler;
mod script_store;
mod sliced;
mod socket;
mod standard;
mod value;
mod watchdog;

pub use fault::{Fault, Place};
pub use host::{Host, Output, Server};
pub use isolate::{Isolate, Limits};
pub use load::{Load, load};
pub use run::{Argument, Failure, Outcome, TestCase};
pub use runnel_compile as compile;
pub use standard::{standard_file, standard_names, standard_views};
