//! Stores that the program itself defines or combines.

pub(crate) mod combined;
pub(crate) mod script;
