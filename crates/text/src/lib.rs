//! Text that several crates write or read in the same way.
//!
//! - [`escape`] has text in HTML and XML.
//! - [`form`] has `application/x-www-form-urlencoded`.
//! - [`moment`] has dates and times, RFC 3339.
//! - [`size`] has sizes in bytes with their units.
//! - [`distance`] has edit distance, and the name that was probably meant.
//!
//! Functions on strings and numbers only: no store, no clock, no input or output.

pub mod distance;
pub mod escape;
pub mod form;
pub mod moment;
pub mod size;
