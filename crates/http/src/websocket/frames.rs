//! The frames of one connection (RFC 6455 section 5).
//!
//! Input is read into the worker's buffer; the connection keeps only unparsed input, so an idle
//! connection has no buffer.

use super::assembly::Assembly;
use super::deflate::{Deflate, LEAST, PIECE};
use super::fault::WebSocketFault;
use super::frame::{FrameHeader, LONGEST_HEADER, Opcode, mask, write_header};
use crate::server::socket::Socket;
use bytes::{Buf, Bytes, BytesMut};
use runnel_store::{Held, Message, fill_random};
use std::cell::RefCell;
use std::future::poll_fn;
use std::io::IoSlice;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::AsyncWrite;

/// The size of reads.
const INPUT: usize = 64 * 1024;
/// Reads of one connection before yielding.
const TURNS: u32 = 4;

thread_local! {
    static SPACE: RefCell<Box<[u8]>> = RefCell::new(vec![0; INPUT].into());
}

/// An event from the client.
pub(crate) enum SocketEvent {
    /// A complete message, with its charge.
    Message(Message, Held),
    /// A close frame, with the code and reason to echo.
    Close(Bytes),
    /// A sign of life: a ping or a pong.
    Alive,
}

/// The progress of consuming input.
enum TakeStep {
    SocketEvent(SocketEvent),
    /// All input is consumed.
    More,
    /// The task yields.
    Yield,
}

pub(crate) struct Frames {
    socket: Socket,
    deflate: Option<Deflate>,
    /// Whether this is the client's end, which masks its frames (RFC 6455 section 5.3).
    masks: bool,
    /// The largest message, in bytes.
    most: usize,
    /// Unparsed input.
    unread: BytesMut,
    /// The incoming frame.
    frame: Option<IncomingFrame>,
    /// An incomplete header.
    head: [u8; LONGEST_HEADER],
    head_length: usize,
    message: Option<Box<Assembly>>,
    /// The payload of a control frame.
    control: Vec<u8>,
    outgoing: OutgoingFrame,
    pong: Option<Bytes>,
}

/// An incoming frame.
struct IncomingFrame {
    header: FrameHeader,
    /// Received bytes of its payload.
    received: u64,
}

/// An outgoing frame.
#[derive(Default)]
struct OutgoingFrame {
    header: ([u8; LONGEST_HEADER], usize),
    sent: usize,
    payload: Bytes,
}

impl Frames {
    pub(crate) fn new(socket: Socket, early: Bytes, deflate: Option<Deflate>, most: usize) -> Self {
        Frames {
            socket,
            deflate,
            masks: false,
            most,
            unread: early.into(),
            frame: None,
            head: [0; LONGEST_HEADER],
            head_length: 0,
            message: None,
            control: Vec::new(),
            outgoing: OutgoingFrame::default(),
            pong: None,
        }
    }

    /// The client's end.
    pub(crate) fn masking(self) -> Self {
        Frames { masks: true, ..self }
    }

    /// The next event. Cancellation-safe.
    pub(crate) async fn next(&mut self) -> Result<SocketEvent, WebSocketFault> {
        poll_fn(|context| self.poll_next(context)).await
    }

    fn poll_next(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<SocketEvent, WebSocketFault>> {
        for _ in 0..TURNS {
            // A client that accepts no output is still read: it may be closing.
            if let Poll::Ready(Err(fault)) = self.poll_flush(context) {
                return Poll::Ready(Err(fault));
            }
            let step = if self.unread.is_empty() {
                ready!(self.poll_read(context))?
            } else {
                let mut unread = std::mem::take(&mut self.unread);
                let (taken, step) = self.take(&mut unread)?;
                unread.advance(taken);
                if !unread.is_empty() {
                    self.unread = unread;
                }
                step
            };
            match step {
                TakeStep::SocketEvent(event) => return Poll::Ready(Ok(event)),
                TakeStep::More => {}
                TakeStep::Yield => break,
            }
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }

    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<Result<TakeStep, WebSocketFault>> {
        SPACE.with_borrow_mut(|space| {
            let count = match ready!(self.socket.poll_take(space, context)) {
                Ok(input) if !input.is_empty() => input.len(),
                _ => return Poll::Ready(Err(WebSocketFault::Gone)),
            };
            let input = space.get_mut(..count).unwrap_or_default();
            let (taken, step) = self.take(input)?;
            if let Some(rest @ [_, ..]) = input.get(taken..) {
                self.unread = BytesMut::from(rest);
            }
            Poll::Ready(Ok(step))
        })
    }

    /// Consumes input up to the next event. Returns how much.
    fn take(&mut self, input: &mut [u8]) -> Result<(usize, TakeStep), WebSocketFault> {
        let mut at = 0;
        loop {
            let rest = input.get_mut(at..).unwrap_or_default();
            let Some(frame) = &mut self.frame else {
                if rest.is_empty() {
                    return Ok((at, TakeStep::More));
                }
                at += self.take_header(rest)?;
                continue;
            };
            let left = frame.header.length - frame.received;
            let count = usize::try_from(left).unwrap_or(usize::MAX).min(rest.len());
            let payload = rest.get_mut(..count).unwrap_or_default();
            mask(payload, frame.header.mask, frame.received);
            let taken = match &mut self.message {
                Some(message) if !frame.header.opcode.is_control() => message.add(payload)?,
                _ => {
                    self.control.extend_from_slice(payload);
                    count
                }
            };
            // Unconsumed bytes are masked again: they come back after the yield.
            mask(
                payload.get_mut(taken..).unwrap_or_default(),
                frame.header.mask,
                frame.received + taken as u64,
            );
            frame.received += taken as u64;
            at += taken;
            let is_over = frame.received == frame.header.length;
            if is_over && let Some(event) = self.end_frame()? {
                return Ok((at, TakeStep::SocketEvent(event)));
            }
            if !is_over {
                if let Some(message) = &mut self.message {
                    message.check()?;
                }
                return Ok((at, if taken < count { TakeStep::Yield } else { TakeStep::More }));
            }
        }
    }

    /// Consumes bytes of a header, perhaps of an incomplete header.
    fn take_header(&mut self, input: &[u8]) -> Result<usize, WebSocketFault> {
        let had = self.head_length;
        let count = input.len().min(LONGEST_HEADER - had);
        self.head[had..had + count].copy_from_slice(&input[..count]);
        let parsed =
            FrameHeader::parse(&self.head[..had + count], self.deflate.is_some(), !self.masks)?;
        let Some((header, size)) = parsed else {
            self.head_length = had + count;
            return Ok(count);
        };
        self.head_length = 0;
        self.begin_frame(header)?;
        Ok(size - had)
    }

    fn begin_frame(&mut self, header: FrameHeader) -> Result<(), WebSocketFault> {
        if !header.opcode.is_control() {
            let continues = header.opcode == Opcode::Continuation;
            if continues != self.message.is_some() {
                return Err(WebSocketFault::Protocol);
            }
            let message = self.message.get_or_insert_with(|| {
                Box::new(Assembly::new(header.opcode, header.is_compressed, self.most))
            });
            message.expect(header.length)?;
        }
        self.frame = Some(IncomingFrame { header, received: 0 });
        Ok(())
    }

    /// The payload of a frame is complete.
    fn end_frame(&mut self) -> Result<Option<SocketEvent>, WebSocketFault> {
        let Some(IncomingFrame { header, .. }) = self.frame.take() else { return Ok(None) };
        match header.opcode {
            Opcode::Ping => {
                // Only the most recent ping needs a pong (RFC 6455 section 5.5.3).
                self.pong = Some(std::mem::take(&mut self.control).into());
                Ok(Some(SocketEvent::Alive))
            }
            Opcode::Pong => {
                self.control = Vec::new();
                Ok(Some(SocketEvent::Alive))
            }
            Opcode::Close => {
                check_close(&self.control)?;
                Ok(Some(SocketEvent::Close(std::mem::take(&mut self.control).into())))
            }
            _ if header.is_last => {
                let Some(message) = self.message.take() else { return Ok(None) };
                let (message, held) = message.finish()?;
                Ok(Some(SocketEvent::Message(message, held)))
            }
            _ => match &mut self.message {
                Some(message) => message.check().map(|()| None),
                None => Ok(None),
            },
        }
    }

    /// Sends a message.
    pub(crate) async fn send(&mut self, message: Message) -> Result<(), WebSocketFault> {
        let (opcode, payload) = match message {
            Message::Text(text) => (Opcode::Text, text.into_bytes()),
            Message::Bytes(bytes) => (Opcode::Binary, bytes),
        };
        match self.deflate {
            Some(deflate) if payload.len() >= LEAST => {
                self.send_compressed(deflate, opcode, payload).await
            }
            _ => self.send_frame(opcode, payload).await,
        }
    }

    /// Sends a message in frames, compressed one after the other.
    async fn send_compressed(
        &mut self,
        deflate: Deflate,
        mut opcode: Opcode,
        mut payload: Bytes,
    ) -> Result<(), WebSocketFault> {
        loop {
            let piece = payload.split_to(payload.len().min(PIECE));
            let (is_first, is_last) = (opcode != Opcode::Continuation, payload.is_empty());
            let packed = deflate.compress(&piece, is_last);
            if is_first && is_last && packed.len() >= piece.len() {
                return self.send_frame(opcode, piece).await;
            }
            poll_fn(|context| self.poll_flush(context)).await?;
            self.begin_outgoing(opcode, is_last, is_first, packed.into());
            poll_fn(|context| self.poll_flush(context)).await?;
            if is_last {
                return Ok(());
            }
            opcode = Opcode::Continuation;
            tokio::task::yield_now().await;
        }
    }

    /// Sends an unfragmented frame.
    pub(crate) async fn send_frame(
        &mut self,
        opcode: Opcode,
        payload: Bytes,
    ) -> Result<(), WebSocketFault> {
        poll_fn(|context| self.poll_flush(context)).await?;
        self.begin_outgoing(opcode, true, false, payload);
        poll_fn(|context| self.poll_flush(context)).await
    }

    fn begin_outgoing(
        &mut self,
        opcode: Opcode,
        is_last: bool,
        is_compressed: bool,
        payload: Bytes,
    ) {
        let key = if self.masks { mask_key() } else { None };
        let header = write_header(opcode, is_last, is_compressed, payload.len(), key);
        let payload = match key {
            Some(key) => {
                let mut masked = payload.to_vec();
                mask(&mut masked, key, 0);
                masked.into()
            }
            None => payload,
        };
        self.outgoing = OutgoingFrame { header, sent: 0, payload };
    }

    /// Writes pending output, and a pong between two frames.
    fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<Result<(), WebSocketFault>> {
        loop {
            while self.outgoing.is_left() {
                let slices = self.outgoing.slices();
                match ready!(self.socket.poll_write_slices(&slices, context)) {
                    Ok(count @ 1..) => self.outgoing.advance(count),
                    _ => return Poll::Ready(Err(WebSocketFault::Gone)),
                }
            }
            // Sent output is released.
            self.outgoing = OutgoingFrame::default();
            match self.pong.take() {
                Some(payload) => self.begin_outgoing(Opcode::Pong, true, false, payload),
                None => break,
            }
        }
        self.socket.poll_flush_all(context).map_err(|_| WebSocketFault::Gone)
    }

    /// Releases what has come of a message that is given up.
    pub(crate) fn give_up_message(&mut self) {
        self.message = None;
    }

    /// Shuts down writing, and discards input until the client closes.
    pub(crate) async fn part(&mut self) {
        let _ = poll_fn(|context| Pin::new(&mut self.socket).poll_shutdown(context)).await;
        poll_fn(|context| {
            SPACE.with_borrow_mut(|space| {
                while let Ok([_, ..]) = ready!(self.socket.poll_take(space, context)) {}
                Poll::Ready(())
            })
        })
        .await;
    }
}

impl OutgoingFrame {
    fn is_left(&self) -> bool {
        self.sent < self.header.1 || !self.payload.is_empty()
    }

    fn slices(&self) -> [IoSlice<'_>; 2] {
        let (header, length) = &self.header;
        let header = header.get(self.sent..*length).unwrap_or_default();
        [IoSlice::new(header), IoSlice::new(&self.payload)]
    }

    fn advance(&mut self, count: usize) {
        let of_header = count.min(self.header.1 - self.sent);
        self.sent += of_header;
        self.payload.advance(count - of_header);
    }
}

/// A mask that no one can predict. Without random bytes of the system, it is zeros: the mask protects caches
/// in between, not the message.
fn mask_key() -> Option<[u8; 4]> {
    let mut key = [0; 4];
    let _ = fill_random(&mut key);
    Some(key)
}

/// Checks the payload of a close frame: empty, or a valid code and a text (RFC 6455 sections 5.5.1
/// and 7.4).
fn check_close(payload: &[u8]) -> Result<(), WebSocketFault> {
    let (code, reason) = match payload {
        [] => return Ok(()),
        [_] => return Err(WebSocketFault::Protocol),
        [high, low, reason @ ..] => (u16::from_be_bytes([*high, *low]), reason),
    };
    if !matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999) {
        return Err(WebSocketFault::Protocol);
    }
    std::str::from_utf8(reason).map(|_| ()).map_err(|_| WebSocketFault::NotUtf8)
}
