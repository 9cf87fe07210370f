//! Frames over a socket: a length of 4 bytes, least significant first, and a text of JSON.
//!
//! Writing never waits: what the socket does not take stays in a bounded queue.

use serde_json::Value;
use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;

/// Bytes of a frame.
const FRAME: usize = 16 << 20;
/// Bytes of unsent frames; what is queued beyond is dropped.
const UNSENT: usize = 4 << 20;
/// Bytes of the length of a frame.
const LENGTH: usize = 4;
/// Bytes of a single read.
const READ: usize = 64 << 10;

/// What makes two events replaceable: the widget and the type of the event.
pub(crate) type EventKey = (u64, &'static str);

struct UnsentFrame {
    key: Option<EventKey>,
    bytes: Vec<u8>,
}

/// What was read.
pub(crate) enum Received {
    Frame(Value),
    /// Nothing more at the moment.
    Nothing,
    /// The other end is closed.
    End,
    /// The bytes are no frame.
    Malformed(String),
}

/// One end of the socket.
pub(crate) struct Channel {
    stream: UnixStream,
    received: Vec<u8>,
    unsent: VecDeque<UnsentFrame>,
    /// How much of the first unsent frame is sent.
    sent: usize,
}

impl Channel {
    pub(crate) fn new(stream: UnixStream) -> std::io::Result<Channel> {
        stream.set_nonblocking(true)?;
        stream.peer_addr()?;
        Ok(Channel { stream, received: Vec::new(), unsent: VecDeque::new(), sent: 0 })
    }

    pub(crate) fn fd(&self) -> RawFd {
        self.stream.as_raw_fd()
    }

    /// The next frame, if it has come.
    pub(crate) fn receive(&mut self) -> Received {
        loop {
            match self.take_frame() {
                Received::Nothing => {}
                frame => return frame,
            }
            let start = self.received.len();
            self.received.resize(start + READ, 0);
            let count = self.stream.read(&mut self.received[start..]);
            self.received.truncate(start + *count.as_ref().unwrap_or(&0));
            match count {
                Ok(0) => return Received::End,
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Received::Nothing,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Received::End,
            }
        }
    }

    fn take_frame(&mut self) -> Received {
        let Some(length) = self.received.first_chunk::<LENGTH>() else { return Received::Nothing };
        let length = u32::from_le_bytes(*length) as usize;
        if length > FRAME {
            return Received::Malformed(format!(
                "a frame has at most {FRAME} bytes (got {length})"
            ));
        }
        let end = LENGTH + length;
        if self.received.len() < end {
            return Received::Nothing;
        }
        let frame = serde_json::from_slice(&self.received[LENGTH..end]);
        self.received.drain(..end);
        if self.received.is_empty() {
            self.received.shrink_to(READ);
        }
        match frame {
            Ok(frame) => Received::Frame(frame),
            Err(error) => Received::Malformed(format!("a frame is no JSON: {error}")),
        }
    }

    /// Queues a frame and writes what the socket takes. An event replaces the one queued last if
    /// that has the same key. Answers whether something remains unsent.
    pub(crate) fn send(&mut self, key: Option<EventKey>, frame: &Value) -> bool {
        let text = frame.to_string();
        let length = u32::try_from(text.len()).unwrap_or(0);
        let mut bytes = length.to_le_bytes().to_vec();
        bytes.extend_from_slice(text.as_bytes());
        let is_begun = self.unsent.len() == 1 && self.sent > 0;
        match self.unsent.back_mut() {
            Some(last) if key.is_some() && last.key == key && !is_begun => last.bytes = bytes,
            _ => {
                let queued: usize = self.unsent.iter().map(|frame| frame.bytes.len()).sum();
                if queued + bytes.len() <= UNSENT {
                    self.unsent.push_back(UnsentFrame { key, bytes });
                }
            }
        }
        self.flush()
    }

    /// Writes what the socket takes. Answers whether something remains unsent.
    pub(crate) fn flush(&mut self) -> bool {
        while let Some(frame) = self.unsent.front() {
            match self.stream.write(&frame.bytes[self.sent..]) {
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return true,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                // The other end is gone: reading tells.
                Err(_) => self.sent = frame.bytes.len(),
            }
            if self.sent == frame.bytes.len() {
                self.unsent.pop_front();
                self.sent = 0;
            }
        }
        false
    }
}
