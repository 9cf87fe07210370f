//! Natives on values: large integers, texts and bytes, patterns, dates, JSON, CSV, XML, TOML, compression,
//! secrets, tokens, and texts against types.

pub(crate) mod compress;
pub(crate) mod contracts;
pub(crate) mod csv;
pub(crate) mod dates;
pub(crate) mod forms;
pub(crate) mod json;
pub(crate) mod markdown;
pub(crate) mod numbers;
pub(crate) mod patterns;
pub(crate) mod secrets;
pub(crate) mod text;
pub(crate) mod tokens;
pub(crate) mod toml;
mod used_once;
pub(crate) mod xml;
