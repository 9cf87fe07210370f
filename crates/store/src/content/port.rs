//! Messages in both directions, for protocols that have them.

use crate::{Answer, Error, Form, Kind, Lazy, Result, Text, Value};
use bytes::Bytes;
use futures_util::Stream;
use std::any::Any;
use std::pin::Pin;
use std::rc::Rc;

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// Text, always UTF-8.
    Text(Text),
    /// Bytes.
    Bytes(Bytes),
}

impl Message {
    /// Its bytes.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        match self {
            Message::Text(text) => text.len(),
            Message::Bytes(bytes) => bytes.len(),
        }
    }
}

/// Messages in one direction. The consumer's pace is the producer's.
pub type Messages = Pin<Box<dyn Stream<Item = Result<Message>>>>;

/// An endpoint that exchanges messages while its peer is connected.
pub trait Port {
    /// Opens it, at most once: takes what comes in, answers what goes out. What comes in ends when
    /// the other side has said its last. When what goes out ends, the conversation does; an error
    /// is its last item. Dropping what goes out means that the other side is gone.
    fn open(&self, received: Messages) -> Messages;
}

/// A port as the content of a get: what can be opened, and not read.
pub struct PortContent(pub Rc<dyn Port>);

impl PortContent {
    fn unread() -> Error {
        Error::new(Kind::Unsupported, "this is a socket: it is opened, not read")
    }
}

impl Lazy for PortContent {
    fn encode(&self, _: Form) -> Answer<Bytes> {
        PortContent::unread().into()
    }

    fn value(&self) -> Answer<Value> {
        PortContent::unread().into()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
