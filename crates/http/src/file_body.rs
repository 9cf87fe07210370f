//! Files that go from the system's memory to a client without passing through ours.
//!
//! hyper writes what a body gives it as buffers of bytes. The buffer of a file shows a stand-in for
//! its bytes instead, and the [`crate::socket::Socket`], which knows the stand-in by where it lies in
//! memory, has the system send the file (sendfile(2)). hyper then advances the buffer by what was
//! sent. So the order of what is written stays hyper's business, and a head, a part of a file and the next
//! answer follow one another as ever.
//!
//! Only what lies in the system's memory goes this way, so that no worker waits for a disk; the rest
//! is read piece by piece as any stream. With TLS and HTTP/2 the bytes have to be seen, and are read.

use crate::body;
use crate::meter::Meter;
use bytes::{Buf, Bytes};
use runnel_store::{ByteStream, Error, FilePart, Seekable};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use tokio::io::Interest;
use tokio::net::TcpStream;

/// How many bytes of a file are handed to hyper at a time, and sent by one call of the system.
const SPAN: u64 = 512 << 10;

/// How many bytes of files a connection sends before the others have their turn.
const TURN: usize = 1 << 20;

/// How many bytes are read at a time of what is not in memory.
const READ: u64 = 64 << 10;

/// What is shown in place of the bytes of a file. It never leaves: see [`Outbound::check`].
static STAND_IN: [u8; 64 << 10] = [0; 64 << 10];

/// A file, or a part of one, as the body of an answer.
pub(crate) struct FileBody {
    /// All of it, for those who need the bytes; not read from.
    stream: ByteStream,
    part: FilePart,
    at: u64,
    /// What is being read because it is not in memory.
    reading: Option<ByteStream>,
    meter: Rc<Meter>,
}

impl FileBody {
    /// The file that a stream is, where its connection can send such a thing; the stream otherwise.
    pub(crate) fn new(stream: ByteStream, meter: &Rc<Meter>) -> Result<FileBody, ByteStream> {
        if !cfg!(target_os = "linux") || !meter.outbound.allowed.get() {
            return Err(stream);
        }
        let Some(part) = Seekable::of(&stream).and_then(|seekable| seekable.file().cloned()) else {
            return Err(stream);
        };
        Ok(FileBody { stream, part, at: 0, reading: None, meter: meter.clone() })
    }

    /// How many bytes are left.
    pub(crate) fn left(&self) -> u64 {
        self.part.length() - self.at
    }

    /// The same as a stream, before anything was taken from it.
    pub(crate) fn into_stream(self) -> ByteStream {
        self.stream
    }

    /// The next piece.
    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Piece, Error>>> {
        loop {
            if let Some(reading) = &mut self.reading {
                match ready!(body::next(reading, context)) {
                    Some(Ok(bytes)) => {
                        self.at = (self.at + bytes.len() as u64).min(self.part.length());
                        return Poll::Ready(Some(Ok(Piece::Bytes(bytes))));
                    }
                    Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                    None => self.reading = None,
                }
            }
            if self.left() == 0 {
                return Poll::Ready(None);
            }
            let span = self.part.part(self.at, SPAN);
            if span.is_in_memory() {
                self.at += span.length();
                let piece = SentPiece::new(span, &self.meter);
                return Poll::Ready(Some(Ok(Piece::Sent(piece))));
            }
            self.reading = Seekable::of(&self.stream).map(|seekable| seekable.part(self.at, READ));
        }
    }
}

/// A piece of a body.
pub(crate) enum Piece {
    Bytes(Bytes),
    /// A piece of a file that the system sends.
    Sent(SentPiece),
}

/// A piece of a file. It is on the list of its connection until it was sent, or given up.
pub(crate) struct SentPiece {
    span: Rc<Span>,
    meter: Rc<Meter>,
}

/// What is left of a piece of a file.
struct Span {
    part: FilePart,
    /// How many bytes hyper knows to be sent.
    at: Cell<usize>,
    /// How many bytes were really sent.
    sent: Cell<usize>,
}

impl Span {
    fn left(&self) -> usize {
        self.part.length() as usize - self.at.get()
    }
}

impl SentPiece {
    fn new(part: FilePart, meter: &Rc<Meter>) -> SentPiece {
        let span = Rc::new(Span { part, at: Cell::new(0), sent: Cell::new(0) });
        meter.outbound.spans.borrow_mut().push_back(span.clone());
        SentPiece { span, meter: meter.clone() }
    }
}

impl Drop for SentPiece {
    fn drop(&mut self) {
        self.meter.outbound.spans.borrow_mut().retain(|span| !Rc::ptr_eq(span, &self.span));
    }
}

impl Buf for Piece {
    fn remaining(&self) -> usize {
        match self {
            Piece::Bytes(bytes) => bytes.len(),
            Piece::Sent(piece) => piece.span.left(),
        }
    }

    fn chunk(&self) -> &[u8] {
        match self {
            Piece::Bytes(bytes) => bytes,
            Piece::Sent(piece) => &STAND_IN[..piece.span.left().min(STAND_IN.len())],
        }
    }

    fn chunks_vectored<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        let mut left = self.remaining();
        if let Piece::Bytes(bytes) = self {
            return bytes.chunks_vectored(slices);
        }
        let mut count = 0;
        for slice in slices {
            if left == 0 {
                break;
            }
            let length = left.min(STAND_IN.len());
            *slice = IoSlice::new(&STAND_IN[..length]);
            left -= length;
            count += 1;
        }
        count
    }

    fn advance(&mut self, count: usize) {
        match self {
            Piece::Bytes(bytes) => bytes.advance(count),
            Piece::Sent(SentPiece { span, meter }) => {
                let count = count.min(span.left());
                span.at.set(span.at.get() + count);
                if span.at.get() > span.sent.get() {
                    meter.outbound.copied.set(true);
                }
            }
        }
    }
}

/// The files of one connection that are on their way to the socket.
#[derive(Default)]
pub(crate) struct Outbound {
    allowed: Cell<bool>,
    spans: RefCell<VecDeque<Rc<Span>>>,
    /// How many bytes were sent in this turn.
    turn: Cell<usize>,
    /// Somebody took the stand-in for the bytes.
    copied: Cell<bool>,
}

impl Outbound {
    /// From now on files may go this way: it is HTTP/1.1 on a bare socket.
    pub(crate) fn allow(&self) {
        self.allowed.set(true);
    }

    /// The connection has its turn.
    pub(crate) fn begin_turn(&self) {
        self.turn.set(0);
    }

    /// Whether it has sent enough for now.
    pub(crate) fn is_turn_over(&self) -> bool {
        self.turn.get() >= TURN
    }

    /// Whether a file waits to be sent.
    pub(crate) fn waits(&self) -> bool {
        !self.spans.borrow().is_empty()
    }

    /// Looks that nobody copied the stand-in, which would be sent as if it were the file.
    pub(crate) fn check(&self) -> io::Result<()> {
        if self.copied.get() {
            return Err(io::Error::other("a file was to be sent that was not read"));
        }
        Ok(())
    }

    /// Sends what fits of the first file. A file that has become shorter ends the connection: its
    /// length was announced.
    pub(crate) fn poll_send(
        &self,
        stream: &TcpStream,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        let spans = self.spans.borrow();
        let Some(span) = spans.front() else {
            return Poll::Ready(Err(io::Error::other("no file is there to be sent")));
        };
        let (at, left) = (span.part.from() + span.at.get() as u64, span.left());
        let count = ready!(poll_now(stream, context, || send(stream, &span.part, at, left)))?;
        if count == 0 {
            tracing::error!("an answer broke off: its file became shorter while it was sent");
            return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
        }
        span.sent.set(span.sent.get() + count);
        self.turn.set(self.turn.get() + count);
        Poll::Ready(Ok(count))
    }
}

/// Whether a slice stands for bytes of a file.
pub(crate) fn stands_for_file(slice: &[u8]) -> bool {
    std::ptr::eq(slice.as_ptr(), STAND_IN.as_ptr())
}

/// Writes what a file follows: the system may put both into one packet.
pub(crate) fn poll_write_more(
    stream: &TcpStream,
    context: &mut Context<'_>,
    bytes: &[u8],
) -> Poll<io::Result<usize>> {
    poll_now(stream, context, || write_more(stream, bytes))
}

/// Does something with a socket once it has room.
fn poll_now(
    stream: &TcpStream,
    context: &mut Context<'_>,
    mut write: impl FnMut() -> io::Result<usize>,
) -> Poll<io::Result<usize>> {
    loop {
        ready!(stream.poll_write_ready(context))?;
        match stream.try_io(Interest::WRITABLE, &mut write) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return Poll::Ready(result),
        }
    }
}

#[cfg(target_os = "linux")]
fn send(stream: &TcpStream, part: &FilePart, mut at: u64, left: usize) -> io::Result<usize> {
    Ok(rustix::fs::sendfile(stream, &**part.file(), Some(&mut at), left)?)
}

#[cfg(target_os = "linux")]
fn write_more(stream: &TcpStream, bytes: &[u8]) -> io::Result<usize> {
    use rustix::net::SendFlags;
    Ok(rustix::net::send(stream, bytes, SendFlags::MORE | SendFlags::NOSIGNAL)?)
}

#[cfg(not(target_os = "linux"))]
fn send(_: &TcpStream, _: &FilePart, _: u64, _: usize) -> io::Result<usize> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(not(target_os = "linux"))]
fn write_more(stream: &TcpStream, bytes: &[u8]) -> io::Result<usize> {
    stream.try_write(bytes)
}

#[cfg(all(test, target_os = "linux"))]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use runnel_store::Body;
    use std::sync::Arc;
    use std::time::Instant;

    /// A body of 600,000 bytes, as far as this machine's folder for temporary files tells what is
    /// in memory.
    fn body() -> (FileBody, Rc<Meter>) {
        let file = tempfile::tempfile().unwrap();
        std::os::unix::fs::FileExt::write_all_at(&file, &vec![7; 600_000], 0).unwrap();
        let part = FilePart::new(Arc::new(file), 0, 600_000);
        let read = |_, length| -> ByteStream {
            Box::pin(futures_util::stream::iter([Ok(vec![7; length as usize].into())]))
        };
        let Body::Stream(stream, _) = Seekable::of_file(part, read) else { panic!("a stream") };
        let meter = Rc::new(Meter::new(Instant::now()));
        let Err(stream) = FileBody::new(stream, &meter) else { panic!("not allowed yet") };
        meter.outbound.allow();
        (FileBody::new(stream, &meter).ok().unwrap(), meter)
    }

    #[test]
    fn what_is_in_memory_is_not_read() {
        let (mut body, meter) = body();
        if !body.part.is_in_memory() {
            return;
        }
        let context = &mut Context::from_waker(std::task::Waker::noop());
        let mut left = 600_000;
        while let Poll::Ready(Some(Ok(mut piece))) = body.poll(context) {
            assert!(matches!(piece, Piece::Sent(_)) && meter.outbound.waits());
            let mut slices = [IoSlice::new(&[]); 64];
            let count = piece.chunks_vectored(&mut slices);
            assert!(slices[..count].iter().all(|slice| stands_for_file(slice)));
            let shown: usize = slices[..count].iter().map(|slice| slice.len()).sum();
            assert_eq!(shown, piece.remaining());
            let Piece::Sent(sent) = &piece else { continue };
            sent.span.sent.set(shown);
            left -= shown;
            piece.advance(shown);
            assert_eq!(piece.remaining(), 0);
            drop(piece);
            assert!(!meter.outbound.waits() && meter.outbound.check().is_ok());
        }
        assert_eq!((left, body.left()), (0, 0));
    }

    #[test]
    fn a_stand_in_that_is_taken_for_the_file_is_never_written() {
        let (mut body, meter) = body();
        let context = &mut Context::from_waker(std::task::Waker::noop());
        let Poll::Ready(Some(Ok(mut piece))) = body.poll(context) else { panic!("a piece") };
        if matches!(piece, Piece::Bytes(_)) {
            return;
        }
        // As one would who joins what is written.
        let copied = piece.copy_to_bytes(10);
        assert_eq!(copied.len(), 10);
        assert!(meter.outbound.check().is_err());
    }
}
