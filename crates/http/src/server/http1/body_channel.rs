//! The channel from a connection to the reader of a request body. The connection reads a piece only
//! on demand: backpressure reaches the client.

use crate::protocol::fields;
use crate::protocol::framing::{BAD_TRAILER, MANY_TRAILERS, Malformed};
use crate::server::connection_state::ConnectionState;
use bytes::Bytes;
use hyper::header::HeaderMap;
use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// Why a body ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyError {
    Malformed(Malformed),
    /// The client closed the connection, or the server did.
    Closed,
}

/// The text for the log.
impl fmt::Display for BodyError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BodyError::Malformed(Malformed(what)) => out.write_str(what),
            BodyError::Closed => out.write_str("the connection was closed"),
        }
    }
}

/// The slot between the two ends.
enum Next {
    /// Empty, without a waiting reader.
    Nothing,
    /// A reader waits for a piece.
    Wanted(Waker),
    Piece(Bytes),
    Failed(BodyError),
    End,
    /// The reader is gone.
    GivenUp,
}

/// The connection's end. Dropping it early ends the body with an error.
pub(crate) struct BodySender {
    next: Rc<RefCell<Next>>,
    trailers: Rc<RefCell<HeaderMap>>,
}

/// The reader's end. Dropping it means that the rest is unwanted.
pub(crate) struct BodyReceiver {
    next: Rc<RefCell<Next>>,
    trailers: Rc<RefCell<HeaderMap>>,
    length: Option<u64>,
    connection: Rc<ConnectionState>,
}

/// Creates both ends, for a body of this length, if known.
pub(crate) fn body_channel(
    connection: &Rc<ConnectionState>,
    length: Option<u64>,
) -> (BodySender, BodyReceiver) {
    let next = Rc::new(RefCell::new(Next::Nothing));
    let trailers = Rc::<RefCell<HeaderMap>>::default();
    let reader = BodyReceiver {
        next: next.clone(),
        trailers: trailers.clone(),
        length,
        connection: connection.clone(),
    };
    (BodySender { next, trailers }, reader)
}

impl BodySender {
    /// Whether the reader waits for a piece.
    pub(crate) fn is_wanted(&self) -> bool {
        matches!(&*self.next.borrow(), Next::Wanted(_))
    }

    /// Sends the next piece.
    pub(crate) fn send(&self, piece: Bytes, context: &Context<'_>) {
        self.fill(Next::Piece(piece), Some(context));
    }

    /// Keeps a trailer field for the reader, which has at most this many.
    ///
    /// # Errors
    /// There are more, or the line is no field.
    pub(crate) fn add_trailer(&self, line: &[u8], most: usize) -> Result<(), Malformed> {
        let (name, value) = fields::parse(line).ok_or(BAD_TRAILER)?;
        let mut trailers = self.trailers.borrow_mut();
        if trailers.len() >= most {
            return Err(MANY_TRAILERS);
        }
        trailers.append(name, value);
        Ok(())
    }

    /// Sends the end.
    pub(crate) fn end(self, context: &Context<'_>) {
        self.fill(Next::End, Some(context));
    }

    /// Sends an error.
    pub(crate) fn fail(self, broken: BodyError, context: &Context<'_>) {
        self.fill(Next::Failed(broken), Some(context));
    }

    /// Fills the slot and wakes the reader, unless it runs in the current task, which polls it
    /// anyway.
    fn fill(&self, next: Next, context: Option<&Context<'_>>) {
        let mut place = self.next.borrow_mut();
        if matches!(&*place, Next::GivenUp) {
            return;
        }
        if let Next::Wanted(waker) = std::mem::replace(&mut *place, next) {
            drop(place);
            if !context.is_some_and(|context| waker.will_wake(context.waker())) {
                waker.wake();
            }
        }
    }
}

impl Drop for BodySender {
    fn drop(&mut self) {
        let is_settled =
            matches!(&*self.next.borrow(), Next::End | Next::Failed(_) | Next::GivenUp);
        if !is_settled {
            self.fill(Next::Failed(BodyError::Closed), None);
        }
    }
}

impl BodyReceiver {
    /// The length of the body, if known.
    pub(crate) fn length(&self) -> Option<u64> {
        self.length
    }

    /// The trailer fields, complete at the end of the body.
    pub(crate) fn trailers(&self) -> &Rc<RefCell<HeaderMap>> {
        &self.trailers
    }

    /// The next piece; `None` at the end, and after an error.
    pub(crate) fn poll_piece(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, BodyError>>> {
        let mut place = self.next.borrow_mut();
        match std::mem::replace(&mut *place, Next::Nothing) {
            Next::Piece(piece) => return Poll::Ready(Some(Ok(piece))),
            Next::Failed(broken) => {
                *place = Next::End;
                return Poll::Ready(Some(Err(broken)));
            }
            Next::End | Next::GivenUp => {
                *place = Next::End;
                return Poll::Ready(None);
            }
            Next::Nothing | Next::Wanted(_) => {}
        }
        *place = Next::Wanted(context.waker().clone());
        drop(place);
        self.connection.wake_from(context.waker());
        Poll::Pending
    }
}

impl Drop for BodyReceiver {
    fn drop(&mut self) {
        let mut place = self.next.borrow_mut();
        if !matches!(&*place, Next::End) {
            *place = Next::GivenUp;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn a_piece_is_read_when_it_is_wanted() {
        let state = Rc::new(ConnectionState::new(Instant::now()));
        let (ours, mut theirs) = body_channel(&state, Some(3));
        let context = &mut Context::from_waker(Waker::noop());
        assert!(!ours.is_wanted());
        assert_eq!(theirs.poll_piece(context), Poll::Pending);
        assert!(ours.is_wanted());
        ours.send("abc".into(), context);
        assert!(!ours.is_wanted());
        assert_eq!(theirs.poll_piece(context), Poll::Ready(Some(Ok("abc".into()))));
        ours.end(context);
        assert_eq!(theirs.poll_piece(context), Poll::Ready(None));
        assert_eq!(theirs.poll_piece(context), Poll::Ready(None));
    }

    #[test]
    fn what_ends_early_says_so_once() {
        let state = Rc::new(ConnectionState::new(Instant::now()));
        let context = &mut Context::from_waker(Waker::noop());
        let (ours, mut theirs) = body_channel(&state, None);
        drop(ours);
        assert_eq!(theirs.poll_piece(context), Poll::Ready(Some(Err(BodyError::Closed))));
        assert_eq!(theirs.poll_piece(context), Poll::Ready(None));
        let (ours, theirs) = body_channel(&state, None);
        drop(theirs);
        assert!(!ours.is_wanted());
        ours.send("nobody".into(), context);
        ours.fail(BodyError::Closed, context);
    }
}
