//! Moving, filling and comparing memory, for the static command on x86-64.
//!
//! musl's `memcpy` is one `rep movsq`, which takes about thirty cycles to begin, and its `memcmp` compares byte by
//! byte; a request moves some hundred short pieces. The command links this crate before the C library, so that its
//! functions are those of `memory.c`, for Rust, LuaJIT and SQLite alike. On other systems nothing uses it.

#[cfg(all(test, target_arch = "x86_64"))]
mod tests;
