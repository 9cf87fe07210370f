//! A queue of received messages, bounded by number and by bytes.
//!
//! An empty queue holds no memory of its own, other than a channel of tokio.

use futures_util::Stream;
use runnel_store::{Held, Message, Result};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// The most queued messages; then nothing more is read from the client (backpressure).
const MOST_MESSAGES: usize = 16;
/// The most queued bytes; a single message may be larger.
const MOST_BYTES: usize = 256 * 1024;

#[derive(Default)]
struct MessageQueue {
    messages: RefCell<VecDeque<(Message, Held)>>,
    bytes: Cell<usize>,
    /// The sender is gone: no message follows.
    ended: Cell<bool>,
    /// The receiver is gone.
    left: Cell<bool>,
    giver: Cell<Option<Waker>>,
    taker: Cell<Option<Waker>>,
}

impl MessageQueue {
    fn has_room(&self) -> bool {
        self.messages.borrow().len() < MOST_MESSAGES && self.bytes.get() < MOST_BYTES
    }
}

fn wake(waker: &Cell<Option<Waker>>) {
    if let Some(waker) = waker.take() {
        waker.wake();
    }
}

/// Creates both ends of an empty queue.
pub(crate) fn queue() -> (MessageSender, MessageReceiver) {
    let queue = Rc::<MessageQueue>::default();
    (MessageSender(queue.clone()), MessageReceiver(queue))
}

/// The sender. Dropping it ends the queue once it is empty.
pub(crate) struct MessageSender(Rc<MessageQueue>);

impl MessageSender {
    /// Waits for capacity, or until the receiver is gone.
    pub(crate) async fn capacity(&self) {
        poll_fn(|context| {
            if self.0.left.get() || self.0.has_room() {
                return Poll::Ready(());
            }
            self.0.giver.set(Some(context.waker().clone()));
            Poll::Pending
        })
        .await;
    }

    pub(crate) fn has_room(&self) -> bool {
        self.0.has_room()
    }

    pub(crate) fn send(&self, message: Message, held: Held) {
        if !self.0.left.get() {
            self.0.bytes.set(self.0.bytes.get() + message.len());
            self.0.messages.borrow_mut().push_back((message, held));
            wake(&self.0.taker);
        }
    }
}

impl Drop for MessageSender {
    fn drop(&mut self) {
        self.0.ended.set(true);
        wake(&self.0.taker);
    }
}

/// The receiver.
pub(crate) struct MessageReceiver(Rc<MessageQueue>);

impl Stream for MessageReceiver {
    type Item = Result<Message>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let taken = self.0.messages.borrow_mut().pop_front();
        if let Some((message, _)) = taken {
            self.0.bytes.set(self.0.bytes.get() - message.len());
            wake(&self.0.giver);
            return Poll::Ready(Some(Ok(message)));
        }
        if self.0.ended.get() {
            return Poll::Ready(None);
        }
        self.0.taker.set(Some(context.waker().clone()));
        Poll::Pending
    }
}

impl Drop for MessageReceiver {
    fn drop(&mut self) {
        self.0.left.set(true);
        self.0.messages.take();
        wake(&self.0.giver);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::{FutureExt, StreamExt};

    fn bytes(length: usize) -> Message {
        Message::Bytes(vec![0; length].into())
    }

    #[test]
    fn it_is_full_by_number_and_by_bytes() {
        for (length, most) in [(1, MOST_MESSAGES), (MOST_BYTES / 4, 4), (MOST_BYTES * 3, 1)] {
            let (giver, mut taker) = queue();
            for _ in 0..most {
                assert_eq!(giver.capacity().now_or_never(), Some(()));
                giver.send(bytes(length), Held::default());
            }
            assert_eq!(giver.capacity().now_or_never(), None, "{length}");
            assert!(taker.next().now_or_never().is_some());
            assert_eq!(giver.capacity().now_or_never(), Some(()));
        }
    }

    #[test]
    fn what_was_given_is_taken_after_the_end() {
        let (giver, mut taker) = queue();
        giver.send(bytes(1), Held::default());
        drop(giver);
        assert!(matches!(taker.next().now_or_never(), Some(Some(Ok(_)))));
        assert!(matches!(taker.next().now_or_never(), Some(None)));
        let (giver, taker) = queue();
        giver.send(bytes(MOST_BYTES), Held::default());
        drop(taker);
        assert_eq!(giver.capacity().now_or_never(), Some(()));
    }
}
