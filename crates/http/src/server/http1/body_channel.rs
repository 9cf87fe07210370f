//! The content of a request that does not come with its head: the connection reads a piece when
//! somebody asks for one, so that a client can send as fast as its content is read, and no faster.

use crate::protocol::framing::Malformed;
use crate::server::connection_state::ConnectionState;
use bytes::Bytes;
use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// Why content broke off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyError {
    Malformed(Malformed),
    /// The client has closed the connection, or it was cut.
    Closed,
}

/// For the log.
impl fmt::Display for BodyError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BodyError::Malformed(Malformed(what)) => out.write_str(what),
            BodyError::Closed => out.write_str("the connection was closed"),
        }
    }
}

/// What one end leaves for the other.
enum Next {
    /// Nobody waits, and nothing is there.
    Nothing,
    /// Somebody waits for a piece.
    Wanted(Waker),
    Piece(Bytes),
    Failed(BodyError),
    End,
    /// Nobody will ask any more.
    GivenUp,
}

/// The end of the connection. Dropping it before all has come breaks the content off.
pub(crate) struct BodySender(Rc<RefCell<Next>>);

/// The end of whoever reads. Dropping it says that nothing more is wanted.
pub(crate) struct BodyReceiver {
    next: Rc<RefCell<Next>>,
    length: Option<u64>,
    connection: Rc<ConnectionState>,
}

/// Both ends, for content of this length, where it was said.
pub(crate) fn body_channel(
    connection: &Rc<ConnectionState>,
    length: Option<u64>,
) -> (BodySender, BodyReceiver) {
    let next = Rc::new(RefCell::new(Next::Nothing));
    let reader = BodyReceiver { next: next.clone(), length, connection: connection.clone() };
    (BodySender(next), reader)
}

impl BodySender {
    /// Whether somebody waits for a piece.
    pub(crate) fn is_wanted(&self) -> bool {
        matches!(&*self.0.borrow(), Next::Wanted(_))
    }

    /// Hands over the next piece.
    pub(crate) fn give(&self, piece: Bytes, context: &Context<'_>) {
        self.leave(Next::Piece(piece), Some(context));
    }

    /// Says that all has come.
    pub(crate) fn end(self, context: &Context<'_>) {
        self.leave(Next::End, Some(context));
    }

    /// Says that no more will come, although it should.
    pub(crate) fn fail(self, broken: BodyError, context: &Context<'_>) {
        self.leave(Next::Failed(broken), Some(context));
    }

    /// Leaves something and wakes who waits for it; not the task at work, which looks anyway.
    fn leave(&self, next: Next, context: Option<&Context<'_>>) {
        let mut place = self.0.borrow_mut();
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
        let is_settled = matches!(&*self.0.borrow(), Next::End | Next::Failed(_) | Next::GivenUp);
        if !is_settled {
            self.leave(Next::Failed(BodyError::Closed), None);
        }
    }
}

impl BodyReceiver {
    /// How long the content is, where that was said.
    pub(crate) fn length(&self) -> Option<u64> {
        self.length
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
        ours.give("abc".into(), context);
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
        ours.give("nobody".into(), context);
        ours.fail(BodyError::Closed, context);
    }
}
