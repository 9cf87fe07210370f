//! Tests of the crate through its public face.

#![allow(clippy::unwrap_used)]

mod measuring;
