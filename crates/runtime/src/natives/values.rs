//! Natives on values: large integers, texts and bytes, patterns, dates, JSON, secrets, tokens, and
//! texts against types.

pub(crate) mod contracts;
pub(crate) mod dates;
pub(crate) mod forms;
pub(crate) mod json;
pub(crate) mod numbers;
pub(crate) mod patterns;
pub(crate) mod secrets;
pub(crate) mod text;
pub(crate) mod tokens;
mod used_once;
