//! What can be wrong with a configuration, and with filters and orders of a request. Queries and
//! documents never fail.

use std::fmt;

/// A mistake in the configuration of an index or a search: what is wrong and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    message: String,
}

impl ConfigError {
    pub(crate) fn new(message: impl Into<String>) -> ConfigError {
        ConfigError { message: message.into() }
    }

    /// The explanation, one sentence or two.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for ConfigError {}

/// A mistake in what is asked of a search besides the query: where, what is wrong, and what to do
/// about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestError {
    place: usize,
    message: String,
}

impl RequestError {
    pub(crate) fn new(place: usize, message: impl Into<String>) -> RequestError {
        RequestError { place, message: message.into() }
    }

    /// The character of the text at which the mistake is, the first being 1.
    pub fn place(&self) -> usize {
        self.place
    }

    /// The explanation.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for RequestError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "at character {}: {}", self.place, self.message)
    }
}

impl std::error::Error for RequestError {}
