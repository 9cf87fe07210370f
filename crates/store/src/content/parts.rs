//! The parts of a form while they arrive.

use crate::Result;
use bytes::Bytes;
use futures_util::Stream;
use std::pin::Pin;

/// What a client says of a part of a form (RFC 7578). Nothing of it was checked against the data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartHead {
    /// The name of the field.
    pub field: String,
    /// The name of the file as it was sent, which may look like a path; none for a text field.
    pub file_name: Option<String>,
    /// The media type, where it is named.
    pub media_type: Option<String>,
}

/// What comes next of a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartEvent {
    /// The next part begins; the part before is complete.
    Begin(PartHead),
    /// Data of the part that has begun.
    Data(Bytes),
}

/// The parts of a form in the order in which they arrive. The consumer's pace is the client's.
pub type PartEvents = Pin<Box<dyn Stream<Item = Result<PartEvent>>>>;
