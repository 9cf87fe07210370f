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
    /// Opens the endpoint, at most once: receives the incoming messages, returns the outgoing ones.
    /// The incoming stream ends after the peer's last message. The connection ends with the
    /// outgoing stream, whose last item may be an error. Dropping the outgoing stream means that
    /// the peer is gone.
    fn open(&self, received: Messages) -> Messages;

    /// The connection has ended, with this close code of RFC 6455. Called for ports that opened a connection to
    /// another server.
    fn closed(&self, code: u16) {
        let _ = code;
    }
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
