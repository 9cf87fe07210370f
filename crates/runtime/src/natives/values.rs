//! Natives on values: large integers, texts and bytes, patterns, JSON, secrets.

pub(crate) mod json;
pub(crate) mod numbers;
pub(crate) mod patterns;
pub(crate) mod secrets;
pub(crate) mod text;
