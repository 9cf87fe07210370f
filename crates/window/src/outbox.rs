//! What the host tells the program: numbered events, and messages without a number.

use crate::channel::{Channel, EventKey, Received};
use crate::gtk::main_loop;
use serde_json::{Value, json};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// The channel, and how far the program has followed.
pub(crate) struct Outbox {
    channel: RefCell<Channel>,
    /// The number of the last event.
    last_event: Cell<u64>,
    /// The last event that the program says it has handled; it may never say.
    handled: Cell<Option<u64>>,
    /// Whether a watch waits until the socket takes more.
    is_flushing: Cell<bool>,
}

impl Outbox {
    pub(crate) fn new(channel: Channel) -> Rc<Outbox> {
        Rc::new(Outbox {
            channel: RefCell::new(channel),
            last_event: Cell::new(0),
            handled: Cell::new(None),
            is_flushing: Cell::new(false),
        })
    }

    pub(crate) fn receive(&self) -> Received {
        self.channel.borrow_mut().receive()
    }

    pub(crate) fn set_handled(&self, event: u64) {
        self.handled.set(Some(event));
    }

    /// Whether the program may know everything that was done up to an event. A program that never
    /// says is trusted.
    pub(crate) fn has_handled(&self, event: u64) -> bool {
        self.handled.get().is_none_or(|handled| handled >= event)
    }

    /// Tells the program what the user did. Answers the number of the event.
    pub(crate) fn tell(self: &Rc<Self>, id: u64, event: &'static str, value: Value) -> u64 {
        let number = self.last_event.get() + 1;
        self.last_event.set(number);
        // Of these only the last counts.
        let is_replaceable = matches!(event, "input" | "move");
        let key = is_replaceable.then_some((id, event));
        self.queue(key, &json!([number, id.to_string(), event, value]));
        number
    }

    /// Sends a message that is no event.
    pub(crate) fn send(self: &Rc<Self>, frame: &Value) {
        self.queue(None, frame);
    }

    fn queue(self: &Rc<Self>, key: Option<EventKey>, frame: &Value) {
        let is_left = self.channel.borrow_mut().send(key, frame);
        if is_left && !self.is_flushing.replace(true) {
            let (outbox, fd) = (self.clone(), self.channel.borrow().fd());
            main_loop::when_writable(fd, move || {
                let is_left = outbox.channel.borrow_mut().flush();
                outbox.is_flushing.set(is_left);
                is_left
            });
        }
    }
}
