//! Errors of a configuration, and of the filters and orders of a request. Queries and documents
//! never fail.

use std::fmt;

/// An error in the configuration of an index or a search: the problem and its fix.
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

/// An error in a filter or an order: its position, the problem and the fix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestError {
    place: usize,
    message: String,
}

impl RequestError {
    pub(crate) fn new(place: usize, message: impl Into<String>) -> RequestError {
        RequestError { place, message: message.into() }
    }

    /// The position of the error in the text, in characters; the first is 1.
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
