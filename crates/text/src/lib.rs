//! Text that several crates write or read in the same way.
//!
//! - [`escape`]: text in HTML and XML.
//! - [`form`]: `application/x-www-form-urlencoded`.
//! - [`moment`]: dates and times, RFC 3339.
//! - [`distance`]: edit distance, and the name that was probably meant.
//!
//! Functions on strings and numbers only: no store, no clock, no input or output.

pub mod distance;
pub mod escape;
pub mod form;
pub mod moment;
