//! The runtime of a program: an isolate of LuaJIT, fibers, objects, references and connections.
//!
//! An [`Isolate`] belongs to one thread. It runs source texts ([`Isolate::run`]); the command
//! around it is its [`Host`]. The library of built-in classes is in `kernel/`, in Lua.
//!
//! Reading order: `isolate`, `fibers/fiber`, `natives/call`, `values`, then `kernel/core/class.lua`.

mod engine;
mod fibers;
mod host;
mod isolate;
mod kernel;
mod natives;
mod pages;
mod program;
mod slices;
mod stores;
mod streams;
mod values;

pub use engine::profile::{
    INTERVAL as PROFILE_INTERVAL, Profile, ProfileFrame, Profiling, start_profile,
};
pub use fibers::fault::{Fault, TraceFrame, kind_of_error};
pub use fibers::load::{Load, load};
pub use host::{Host, NativeWindow, Output, RunningServer};
pub use isolate::{Isolate, Limits};
pub use program::catalogue::catalogue;
pub use program::loads::{InsideSource, beside, set_inside_sources};
pub use program::run::{Argument, DefinedSelector, Failure, ProgramOutcome, TestCase};
pub use program::standard::{standard_file, standard_names, standard_views};
pub use runnel_compile as compile;
