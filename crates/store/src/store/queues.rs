//! Lists from which elements are taken, and streams whose messages are done once each.

use crate::{Answer, Content, Context, Reference, Value};
use std::rc::Rc;
use std::time::Duration;

/// An end of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueEnd {
    /// The element that was added first.
    First,
    /// The element that was added last.
    Last,
}

/// How a group of followers gets the messages of a stream.
#[derive(Clone, Debug)]
pub struct GroupOptions {
    /// The name that all followers of the group share.
    pub name: String,
    /// How long a message belongs to a follower that does not renew it.
    pub lease: Duration,
}

/// A message of a stream, delivered to one follower of a group.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// Its id in the stream.
    pub id: String,
    /// Its content.
    pub value: Value,
    /// How often it was delivered, this time included.
    pub attempt: u64,
}

/// Messages that were delivered together.
#[derive(Clone, Debug, Default)]
pub struct Deliveries {
    /// The messages.
    pub messages: Vec<Delivery>,
    /// Messages of the group that were removed before they were done, or 1 for a stream that was
    /// removed as a whole.
    pub lost: u64,
}

/// Lists and streams of messages: what Redis and NATS add to a store.
pub trait Queues {
    /// Removes an element at an end of the list and answers it; waits for one, if there is none. A
    /// call that is dropped leaves the element where it was, or puts it back.
    fn take(
        &self,
        reference: &Reference,
        end: QueueEnd,
        wait: Duration,
        context: &Context,
    ) -> Answer<Option<Content>>;

    /// Joins a group of followers of a stream, which is made if there is none. A new group gets the
    /// messages from now on.
    fn join(
        &self,
        reference: &Reference,
        group: &GroupOptions,
        context: &Context,
    ) -> Answer<Rc<dyn GroupMember>>;

    /// Removes a group of followers. Answers whether there was one.
    fn disband(&self, reference: &Reference, group: &str, context: &Context) -> Answer<bool>;
}

/// A follower of a stream in its group.
pub trait GroupMember {
    /// Waits for up to `most` messages, for about a second.
    fn next(&self, most: usize) -> Answer<Deliveries>;

    /// Says that a message is done: no follower of the group gets it again.
    fn acknowledge(&self, id: &str) -> Answer<()>;

    /// Gives a message back: a follower of the group gets it again after the pause, or after the
    /// lease if that is shorter.
    fn give_back(&self, id: &str, pause: Duration) -> Answer<()>;

    /// Moves a message to the dead letters of the stream, with a reason.
    fn bury(&self, id: &str, reason: &str) -> Answer<()>;

    /// Begins the leases of all messages anew that were delivered and are not done.
    fn renew(&self) -> Answer<()>;

    /// How long a message belongs to a follower that does not renew it.
    fn lease(&self) -> Duration;
}
