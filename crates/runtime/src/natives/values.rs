//! Natives on values: large integers, texts and bytes, patterns, dates, JSON, secrets.

pub(crate) mod dates;
pub(crate) mod json;
pub(crate) mod numbers;
pub(crate) mod patterns;
pub(crate) mod secrets;
pub(crate) mod text;
