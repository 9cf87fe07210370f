//! Stores that need nothing but the operating system: memory, files and the environment. Stores with
//! a protocol or a database have crates of their own.

pub(crate) mod disk;
pub(crate) mod environment;
pub(crate) mod memory;
