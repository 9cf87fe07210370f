//! Limits of forms with parts, and what is said beyond them.

use runnel_store::{Error, Kind};

/// The most parts of a form.
pub(crate) const MOST_PARTS: usize = 256;
/// The largest field of a form that is read into memory, in bytes.
pub(crate) const LARGEST_FIELD: usize = 1024 * 1024;
/// The largest header section of a part, in bytes.
pub(crate) const LARGEST_HEAD: usize = 8 * 1024;
/// The longest boundary, in bytes (RFC 2046 section 5.1.1).
pub(crate) const LONGEST_BOUNDARY: usize = 70;

/// The error for what is no form.
pub(super) fn malformed(what: &str) -> Error {
    Error::new(Kind::Invalid, format!("the form is malformed: {what}"))
}

/// The error for a form beyond a limit.
pub(super) fn too_large(what: String) -> Error {
    Error::new(Kind::TooLarge, what)
}
