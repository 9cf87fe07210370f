//! The engine: LuaJIT behind safe methods, its memory limit, its collector and its time slices.
//!
//! What belongs here knows stacks, slots and bytes, and neither isolates nor stores. Conversions of
//! values live in [`crate::values`], the life of a coroutine in [`crate::fibers`].

pub(crate) mod collector;
pub(crate) mod memory;
pub(crate) mod profile;
pub(crate) mod source_map;
pub(crate) mod stack;
pub(crate) mod thread;
pub(crate) mod watchdog;
