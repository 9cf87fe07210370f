//! Tokens, keys, seals and one-time codes against the vectors of their standards and against forgers.
#![allow(clippy::unwrap_used)]

mod codes;
mod forged;
mod keys;
mod seals;
mod vectors;
