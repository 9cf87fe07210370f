//! Sockets of a program: WebSocket messages in both directions.

use crate::fibers::fiber::Fiber;
use crate::isolate::Isolate;
use crate::values::handle::ObjectHandle;
use crate::values::native::NativePort;
use futures_util::Stream;
use runnel_store::{
    Content, Context as Call, Error, Kind, Message, Messages, Port, PortContent, Result,
};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::{Rc, Weak};
use std::task::{Context, Poll, Waker};

/// Queued messages at which the program waits (backpressure).
const WAITING: usize = 64;
/// Bytes of queued messages at which it waits; one message may be larger.
const WAITING_BYTES: usize = 256 * 1024;

/// The state that both directions share.
#[derive(Default)]
pub(crate) struct Socket {
    outgoing: RefCell<VecDeque<Message>>,
    /// Bytes of what waits there.
    waiting: Cell<usize>,
    /// Absent before it is opened.
    incoming: RefCell<Option<Messages>>,
    /// Whether a fiber waits for the next message.
    awaited: Cell<bool>,
    opened: Cell<bool>,
    /// The call of the request that opens it, whose visitor it belongs to.
    opener: Cell<Option<Call>>,
    /// The right of the client to it has ended.
    expelled: Cell<bool>,
    /// The other side is gone, or the program has closed it.
    closed: Cell<bool>,
    /// The close code, once a connection to another server has ended.
    code: Cell<Option<u16>>,
    /// Wakes the sender.
    sender: RefCell<Option<Waker>>,
    room: tokio::sync::Notify,
}

impl Socket {
    /// Whether messages can still be sent.
    pub(crate) fn is_open(&self) -> bool {
        !self.closed.get()
    }

    /// Takes a message, if there is room and it is open; gives it back otherwise.
    pub(crate) fn offer(&self, message: Message) -> std::result::Result<(), Message> {
        let is_full =
            self.outgoing.borrow().len() >= WAITING || self.waiting.get() >= WAITING_BYTES;
        if self.closed.get() || is_full {
            return Err(message);
        }
        self.waiting.set(self.waiting.get() + message.len());
        self.outgoing.borrow_mut().push_back(message);
        self.wake();
        Ok(())
    }

    /// Waits for room. Answers whether the message was taken: not when it is closed.
    pub(crate) async fn send(&self, mut message: Message) -> bool {
        loop {
            let room = self.room.notified();
            message = match self.offer(message) {
                Ok(()) => return true,
                Err(message) => message,
            };
            if self.closed.get() {
                return false;
            }
            room.await;
        }
    }

    /// The next message that comes in; nothing after the last.
    ///
    /// # Errors
    /// Two fibers wait for it, or the frame was no message.
    pub(crate) async fn next(&self) -> Result<Option<Message>> {
        if !self.opened.get() {
            let message = "this socket is not open yet: answer it from `get` first";
            return Err(Error::new(Kind::Invalid, message));
        }
        if self.awaited.replace(true) {
            let message = "two fibers wait for the messages of one socket";
            return Err(Error::new(Kind::Invalid, message));
        }
        // A fiber that is cancelled while it waits leaves the messages to the next one.
        let _awaited = Awaited(&self.awaited);
        let next = poll_fn(|context| match self.incoming.borrow_mut().as_mut() {
            Some(incoming) => incoming.as_mut().poll_next(context),
            None => Poll::Ready(None),
        });
        next.await.transpose()
    }

    /// Closes it after the queued messages.
    pub(crate) fn close(&self) {
        self.closed.set(true);
        self.room.notify_waiters();
        self.wake();
    }

    /// Notes the call that opens it, without what ends with its request.
    pub(crate) fn open_for(&self, mut call: Call) {
        (call.deadline, call.transaction, call.known) = (None, None, None);
        self.opener.set(Some(call));
    }

    /// Closes it after the queued messages, with the error of a client that may not use it.
    pub(crate) fn expel(&self) {
        self.expelled.set(true);
        self.close();
    }

    /// The close code of a connection to another server that has ended.
    pub(crate) fn code(&self) -> Option<u16> {
        self.code.get()
    }

    /// The port of a connection to another server. It holds the socket weakly: one that the program has
    /// forgotten closes.
    pub(crate) fn client_port(self: &Rc<Self>) -> Rc<dyn Port> {
        Rc::new(ClientPort(Rc::downgrade(self)))
    }

    fn next_message(&self) -> Option<Message> {
        let message = self.outgoing.borrow_mut().pop_front();
        if let Some(message) = &message {
            self.waiting.set(self.waiting.get() - message.len());
            self.room.notify_waiters();
        }
        message
    }

    fn wake(&self) {
        if let Some(sender) = self.sender.take() {
            sender.wake();
        }
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.wake();
    }
}

/// A socket as the client of another server.
struct ClientPort(Weak<Socket>);

impl Port for ClientPort {
    fn open(&self, received: Messages) -> Messages {
        if let Some(socket) = self.0.upgrade() {
            socket.opened.set(true);
            socket.incoming.replace(Some(received));
        }
        Box::pin(ClientMessages(self.0.clone()))
    }

    fn closed(&self, code: u16) {
        if let Some(socket) = self.0.upgrade() {
            socket.code.set(Some(code));
            socket.close();
        }
    }
}

/// The messages to another server.
struct ClientMessages(Weak<Socket>);

impl Stream for ClientMessages {
    type Item = Result<Message>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(socket) = self.0.upgrade() else { return Poll::Ready(None) };
        if let Some(message) = socket.next_message() {
            return Poll::Ready(Some(Ok(message)));
        }
        if socket.closed.get() {
            return Poll::Ready(None);
        }
        socket.sender.replace(Some(context.waker().clone()));
        Poll::Pending
    }
}

impl Drop for ClientMessages {
    fn drop(&mut self) {
        if let Some(socket) = self.0.upgrade() {
            socket.close();
        }
    }
}

/// Ends the wait for a message, however it ends.
struct Awaited<'a>(&'a Cell<bool>);

impl Drop for Awaited<'_> {
    fn drop(&mut self) {
        self.0.set(false);
    }
}

impl NativePort for Socket {
    fn content(self: Rc<Self>, object: ObjectHandle) -> Content {
        let call = self.opener.take().unwrap_or_default();
        Content::lazy(Rc::new(PortContent(Rc::new(ScriptPort { object, socket: self, call }))))
    }
}

/// An object of the program as a port.
struct ScriptPort {
    object: ObjectHandle,
    socket: Rc<Socket>,
    call: Call,
}

impl Port for ScriptPort {
    fn open(&self, received: Messages) -> Messages {
        self.socket.opened.set(true);
        self.socket.incoming.replace(Some(received));
        let isolate = self.object.isolate().clone();
        let fiber = Fiber::new(
            &isolate,
            self.call.clone(),
            |stack| {
                isolate.push_of_kernel(stack, "runSocket");
                self.object.push(stack);
                1
            },
            |_, _, _| (),
        );
        Box::pin(OutgoingMessages { isolate, fiber: Some(fiber), socket: self.socket.clone() })
    }
}

impl Drop for ScriptPort {
    fn drop(&mut self) {
        if !self.socket.opened.get() {
            // It will never open: fibers that wait to send get an answer.
            self.socket.close();
        }
    }
}

/// The messages of the program. Polling runs the program's side; dropping cancels it.
struct OutgoingMessages {
    isolate: Isolate,
    fiber: Option<Fiber<()>>,
    socket: Rc<Socket>,
}

impl Stream for OutgoingMessages {
    type Item = Result<Message>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        // The program's side runs while messages are sent.
        if let Some(fiber) = &mut this.fiber
            && let Poll::Ready(result) = Pin::new(fiber).poll(context)
        {
            this.fiber = None;
            this.socket.close();
            if let Err(fault) = result {
                this.socket.outgoing.borrow_mut().clear();
                this.socket.waiting.set(0);
                return Poll::Ready(Some(Err(fault.into_error(&this.isolate))));
            }
        }
        if let Some(message) = this.socket.next_message() {
            return Poll::Ready(Some(Ok(message)));
        }
        if this.socket.closed.get() {
            let ended = || Error::new(Kind::Unauthorized, "the right to this connection has ended");
            return Poll::Ready(this.socket.expelled.replace(false).then(|| Err(ended())));
        }
        this.socket.sender.replace(Some(context.waker().clone()));
        Poll::Pending
    }
}

impl Drop for OutgoingMessages {
    fn drop(&mut self) {
        self.socket.close();
        if let Some(cancelled) = self.fiber.take() {
            drop(cancelled);
            // Output of its `ensure:` blocks appears now.
            self.isolate.flush_output();
        }
    }
}
