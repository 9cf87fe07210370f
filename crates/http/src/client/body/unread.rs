//! Bodies of answers that a program has not begun to read. Each holds a connection; when all connections to a
//! host are in use, the oldest unread body of this host gives way.

use bytes::Bytes;
use futures_util::Stream;
use runnel_store::{ByteStream, Error, Kind, Result};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::pin::Pin;
use std::rc::{Rc, Weak};
use std::task::{Context, Poll};

/// The most unread bodies of a client; beyond, the oldest one gives way.
const MOST_UNREAD: usize = 32;

/// The unread bodies of a client, the oldest first.
#[derive(Default)]
pub(crate) struct UnreadBodies(RefCell<VecDeque<Weak<UnreadBody>>>);

struct UnreadBody {
    /// The host, as its counters name it.
    place: String,
    /// Absent once a reader has it, or it gave way.
    stream: RefCell<Option<ByteStream>>,
    is_begun: Cell<bool>,
}

impl UnreadBodies {
    /// The stream of a body that gives way until it is read.
    pub(crate) fn keep(&self, place: &str, stream: ByteStream) -> ByteStream {
        let body = Rc::new(UnreadBody {
            place: place.to_string(),
            stream: RefCell::new(Some(stream)),
            is_begun: Cell::new(false),
        });
        let mut bodies = self.0.borrow_mut();
        bodies.retain(|one| one.upgrade().is_some_and(|one| !one.is_begun.get()));
        let oldest = (bodies.len() >= MOST_UNREAD).then(|| bodies.pop_front()).flatten();
        bodies.push_back(Rc::downgrade(&body));
        drop(bodies);
        if let Some(oldest) = oldest {
            oldest.upgrade().inspect(|oldest| oldest.close());
        }
        Box::pin(FirstRead { body, begun: None })
    }

    /// Closes the oldest unread body of a host, which frees its connection.
    pub(crate) fn give_way(&self, place: &str) {
        let is_of = |one: &Weak<UnreadBody>| {
            one.upgrade().is_some_and(|one| one.place == place && !one.is_begun.get())
        };
        let found = {
            let mut bodies = self.0.borrow_mut();
            let at = bodies.iter().position(is_of);
            at.and_then(|at| bodies.remove(at))
        };
        if let Some(body) = found.and_then(|one| one.upgrade()) {
            body.close();
        }
    }
}

impl UnreadBody {
    fn close(&self) {
        tracing::debug!(place = self.place, "an unread answer gives way");
        // Dropped after the borrow: the end of a stream may reach this client again.
        let unread = self.stream.take();
        drop(unread);
    }
}

/// A body that becomes a stream with its first read.
struct FirstRead {
    body: Rc<UnreadBody>,
    begun: Option<ByteStream>,
}

impl Stream for FirstRead {
    type Item = Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        if !this.body.is_begun.replace(true) {
            this.begun = this.body.stream.take();
            if this.begun.is_none() {
                let message = format!(
                    "the answer of {} was not read, and gave way to another request: read it before",
                    this.body.place
                );
                return Poll::Ready(Some(Err(Error::new(Kind::Unavailable, message))));
            }
        }
        match &mut this.begun {
            Some(stream) => stream.as_mut().poll_next(context),
            None => Poll::Ready(None),
        }
    }
}
