//! Frames over a socket: a length of 4 bytes, least significant first, and a text of JSON.
//!
//! No task of its own: a reader writes what is unsent while it waits, and a sender writes what the
//! socket takes at once. Both can be dropped at any time without losing the boundary of a frame.

use runnel_store::{Error, Kind};
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::io::ErrorKind;
use std::pin::pin;
use std::rc::Rc;
use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio::sync::Notify;

/// Bytes of a frame.
const FRAME: usize = 16 << 20;

/// Unsent bytes at which a sender waits (backpressure).
const UNSENT: usize = 1 << 20;

/// Bytes of a single read.
const READ: usize = 64 << 10;

/// Bytes of the length of a frame.
const LENGTH: usize = 4;

/// One end of the socket.
pub(super) struct WindowChannel {
    stream: UnixStream,
    unsent: RefCell<Vec<u8>>,
    received: RefCell<Vec<u8>>,
    /// A frame that is received once more.
    given_back: Cell<Option<String>>,
    /// The channel has new unsent bytes, or has been closed.
    changed: Notify,
    /// Unsent bytes were sent.
    sent: Notify,
    closed: Cell<bool>,
}

/// A frame that is on its way; resolves once the sender may continue.
pub(super) struct Sending(Rc<WindowChannel>);

impl WindowChannel {
    pub(super) fn new(stream: UnixStream) -> WindowChannel {
        WindowChannel {
            stream,
            unsent: RefCell::default(),
            received: RefCell::default(),
            given_back: Cell::default(),
            changed: Notify::new(),
            sent: Notify::new(),
            closed: Cell::new(false),
        }
    }

    /// Queues a frame and writes what the socket takes at once.
    ///
    /// # Errors
    /// The frame is too large, or the channel is closed.
    pub(super) fn send(self: &Rc<Self>, frame: &str) -> Result<Sending, Error> {
        if self.closed.get() {
            return Err(Error::new(Kind::Invalid, "the window is closed"));
        }
        if frame.len() > FRAME {
            let message = format!("a frame has at most {FRAME} bytes (got {})", frame.len());
            return Err(Error::new(Kind::TooLarge, message));
        }
        let length = frame.len() as u32; // FRAME fits
        let mut unsent = self.unsent.borrow_mut();
        unsent.extend_from_slice(&length.to_le_bytes());
        unsent.extend_from_slice(frame.as_bytes());
        drop(unsent);
        self.flush();
        self.changed.notify_waiters();
        Ok(Sending(self.clone()))
    }

    /// Writes what the socket takes now.
    fn flush(&self) {
        let mut unsent = self.unsent.borrow_mut();
        let mut written = 0;
        while written < unsent.len() {
            match self.stream.try_write(&unsent[written..]) {
                Ok(count) => written += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => {
                    // The other end is gone: reading tells.
                    written = unsent.len();
                }
            }
        }
        unsent.drain(..written);
        if unsent.is_empty() {
            unsent.shrink_to(READ);
        }
        if written > 0 {
            self.sent.notify_waiters();
        }
    }

    /// Waits until the socket can be read, or written where something is unsent.
    async fn ready(&self) {
        let changed = self.changed.notified();
        let unsent = !self.unsent.borrow().is_empty();
        let interest =
            if unsent { Interest::READABLE | Interest::WRITABLE } else { Interest::READABLE };
        tokio::select! {
            _ = self.stream.ready(interest) => {}
            () = changed => {}
        }
    }

    /// The next frame; `None` after the last.
    ///
    /// # Errors
    /// What was received is no frame.
    pub(super) async fn next(&self) -> Result<Option<String>, Error> {
        if let Some(frame) = self.given_back.take() {
            return Ok(Some(frame));
        }
        loop {
            if let Some(frame) = self.take_frame()? {
                return Ok(Some(frame));
            }
            if self.closed.get() {
                return Ok(None);
            }
            self.flush();
            self.ready().await;
            self.read();
        }
    }

    /// Reads the available bytes.
    fn read(&self) {
        let mut received = self.received.borrow_mut();
        let start = received.len();
        received.resize(start + READ, 0);
        let count = match self.stream.try_read(&mut received[start..]) {
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                received.truncate(start);
                return;
            }
            Err(_) => 0,
        };
        received.truncate(start + count);
        if count == 0 {
            drop(received);
            self.close();
        }
    }

    /// Takes a frame off what was received.
    fn take_frame(&self) -> Result<Option<String>, Error> {
        let mut received = self.received.borrow_mut();
        let Some(length) = received.first_chunk::<LENGTH>() else { return Ok(None) };
        let length = u32::from_le_bytes(*length) as usize;
        if length > FRAME {
            received.clear();
            self.closed.set(true);
            return Err(Error::new(
                Kind::Invalid,
                "the window host sent a frame that is too large",
            ));
        }
        let end = LENGTH + length;
        if received.len() < end {
            return Ok(None);
        }
        let text = String::from_utf8_lossy(&received[LENGTH..end]).into_owned();
        received.drain(..end);
        Ok(Some(text))
    }

    /// Has [`WindowChannel::next`] answer a frame again.
    pub(super) fn give_back(&self, frame: String) {
        self.given_back.set(Some(frame));
    }

    /// Asks the other end to end. Nothing can be sent from then on.
    pub(super) fn close(self: &WindowChannel) {
        if self.closed.replace(true) {
            return;
        }
        let frame = "[\"close\"]";
        let mut unsent = self.unsent.borrow_mut();
        unsent.extend_from_slice(&(frame.len() as u32).to_le_bytes());
        unsent.extend_from_slice(frame.as_bytes());
        drop(unsent);
        self.flush();
        self.changed.notify_waiters();
        self.sent.notify_waiters();
    }
}

impl Sending {
    /// Whether the sender may continue at once.
    pub(super) fn is_done(&self) -> bool {
        self.0.closed.get() || self.0.unsent.borrow().len() < UNSENT
    }

    /// Waits until less than [`UNSENT`] bytes are unsent.
    async fn wait(self) {
        let channel = &*self.0;
        while !self.is_done() {
            let sent = pin!(channel.sent.notified());
            tokio::select! {
                _ = channel.stream.ready(Interest::WRITABLE) => channel.flush(),
                () = sent => {}
            }
        }
    }
}

impl IntoFuture for Sending {
    type Output = Result<(), Error>;
    type IntoFuture = std::pin::Pin<Box<dyn Future<Output = Self::Output>>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            self.wait().await;
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event_loop::block_on;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    fn framed(text: &str) -> Vec<u8> {
        let mut bytes = (text.len() as u32).to_le_bytes().to_vec();
        bytes.extend_from_slice(text.as_bytes());
        bytes
    }

    #[test]
    fn frames_arrive_whole_however_they_are_cut() {
        block_on(async {
            let (ours, mut theirs) = UnixStream::pair().unwrap();
            let channel = Rc::new(WindowChannel::new(ours));
            let writing = async {
                for byte in [framed("[1]"), framed("[\"ö\"]")].concat() {
                    theirs.write_all(&[byte]).await.unwrap();
                    tokio::task::yield_now().await;
                }
                drop(theirs);
            };
            let reading = async {
                assert_eq!(channel.next().await.unwrap().as_deref(), Some("[1]"));
                assert_eq!(channel.next().await.unwrap().as_deref(), Some("[\"ö\"]"));
                assert_eq!(channel.next().await.unwrap(), None);
                assert!(channel.send("[2]").is_err());
            };
            tokio::join!(writing, reading);
        })
        .unwrap();
    }

    #[test]
    fn a_sender_waits_while_the_other_end_does_not_read() {
        block_on(async {
            let (ours, mut theirs) = UnixStream::pair().unwrap();
            let channel = Rc::new(WindowChannel::new(ours));
            let frame = "x".repeat(3 << 20);
            let sending = channel.send(&frame).unwrap();
            assert!(!sending.is_done());
            let mut received = Vec::new();
            let reading = async {
                while received.len() < LENGTH + frame.len() {
                    theirs.read_buf(&mut received).await.unwrap();
                }
            };
            // A reader writes the rest.
            tokio::select! {
                ((), sent) = async { tokio::join!(reading, sending.into_future()) } => sent.unwrap(),
                _ = channel.next() => panic!("nothing was sent"),
            }
            assert_eq!(received, framed(&frame));
        })
        .unwrap();
    }

    #[test]
    fn too_large_frames_are_refused() {
        block_on(async {
            let (ours, mut theirs) = UnixStream::pair().unwrap();
            let channel = Rc::new(WindowChannel::new(ours));
            assert!(channel.send(&"x".repeat(FRAME + 1)).is_err());
            theirs.write_all(&u32::MAX.to_le_bytes()).await.unwrap();
            assert!(channel.next().await.is_err());
            assert_eq!(channel.next().await.unwrap(), None);
        })
        .unwrap();
    }
}
