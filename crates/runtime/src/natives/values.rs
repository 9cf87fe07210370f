//! Natives on values: large integers, texts and bytes, JSON, secrets.

pub(crate) mod json;
pub(crate) mod numbers;
pub(crate) mod secrets;
pub(crate) mod text;
