//! What a check found.

use std::fmt;

/// One breach of a rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// The file, relative to the root of the project.
    pub path: String,
    /// The line, from 1; 0 for the file as a whole.
    pub line: usize,
    /// The rule's short name.
    pub rule: &'static str,
    /// What is wrong and what to do.
    pub reason: String,
}

impl Finding {
    /// A finding at a line; 0 for the file as a whole.
    pub fn new(path: &str, line: usize, rule: &'static str, reason: impl Into<String>) -> Self {
        Finding { path: path.into(), line, rule, reason: reason.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(out, "{}: {}: {}", self.path, self.rule, self.reason),
            line => write!(out, "{}:{line}: {}: {}", self.path, self.rule, self.reason),
        }
    }
}
