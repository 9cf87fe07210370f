//! Response bodies from the page cache without a copy (sendfile(2)).
//!
//! Only cached parts of a file are sent this way, so that no worker waits for a disk; the rest is
//! read piece by piece like any stream. TLS and HTTP/2 need the bytes, and read them.

use crate::server::connection_state::ConnectionState;
use crate::server::response::panics::poll_stream;
use bytes::Bytes;
use runnel_store::{ByteStream, Error, FilePart, Seekable, UnreadContent};
use std::io;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use tokio::io::Interest;
use tokio::net::TcpStream;

/// Bytes of a file sent by one system call.
const SPAN: u64 = 512 << 10;

/// The size of reads of parts that are not in the page cache.
const READ: u64 = 64 << 10;

/// A file, or a part of one, as a response body.
pub(crate) struct FileBody {
    /// The same as a stream, for callers that need the bytes; not polled here.
    stream: ByteStream,
    part: FilePart,
    at: u64,
    /// The part that is being read because it is not in the page cache.
    reading: Option<ByteStream>,
}

impl FileBody {
    /// The file behind a stream, if the connection can send files; the stream otherwise.
    pub(crate) fn new(
        stream: ByteStream,
        state: &Rc<ConnectionState>,
    ) -> Result<FileBody, ByteStream> {
        if !cfg!(target_os = "linux") || !state.sends_files.get() {
            return Err(stream);
        }
        let Some(part) = Seekable::of(&stream).and_then(|seekable| seekable.file().cloned()) else {
            return Err(stream);
        };
        Ok(FileBody { stream, part, at: 0, reading: None })
    }

    /// The remaining bytes.
    pub(crate) fn left(&self) -> u64 {
        self.part.length() - self.at
    }

    /// The file as a stream, before anything was sent.
    pub(crate) fn into_stream(self) -> ByteStream {
        self.stream
    }

    /// The next piece.
    pub(crate) fn poll(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<BodyPiece, Error>>> {
        loop {
            if let Some(reading) = &mut self.reading {
                match ready!(poll_stream(reading, context)) {
                    Some(Ok(bytes)) => {
                        self.at = (self.at + bytes.len() as u64).min(self.part.length());
                        return Poll::Ready(Some(Ok(BodyPiece::Bytes(bytes))));
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
                return Poll::Ready(Some(Ok(BodyPiece::File(span))));
            }
            self.reading = Seekable::of(&self.stream).map(|seekable| seekable.part(self.at, READ));
        }
    }
}

/// A piece of a body.
pub(crate) enum BodyPiece {
    Bytes(Bytes),
    /// Charged bytes, which the memory budget may take back.
    Unread(Box<UnreadContent>),
    /// A part of a file for sendfile(2).
    File(FilePart),
}

impl BodyPiece {
    /// The length in bytes.
    pub(crate) fn length(&self) -> u64 {
        match self {
            BodyPiece::Bytes(bytes) => bytes.len() as u64,
            BodyPiece::Unread(unread) => unread.left() as u64,
            BodyPiece::File(part) => part.length(),
        }
    }
}

/// Sends a part of a file. Returns the number of bytes sent.
///
/// # Errors
/// The connection is broken, or the file became shorter than announced.
pub(crate) fn poll_send(
    stream: &TcpStream,
    part: &FilePart,
    context: &mut Context<'_>,
) -> Poll<io::Result<u64>> {
    let left = usize::try_from(part.length()).unwrap_or(usize::MAX);
    let count = ready!(poll_now(stream, context, || send(stream, part, part.from(), left)))?;
    if count == 0 {
        tracing::error!("a response ended early: its file became shorter during sending");
        return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
    }
    Poll::Ready(Ok(count as u64))
}

/// Writes bytes before a file: the kernel may combine both in one packet.
pub(crate) fn poll_write_more(
    stream: &TcpStream,
    context: &mut Context<'_>,
    bytes: &[u8],
) -> Poll<io::Result<usize>> {
    poll_now(stream, context, || write_more(stream, bytes))
}

/// Calls a function once the socket is writable.
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

    /// A body of 600,000 bytes, if the temporary folder tells what is in the page cache.
    fn body() -> FileBody {
        let file = tempfile::tempfile().unwrap();
        std::os::unix::fs::FileExt::write_all_at(&file, &vec![7; 600_000], 0).unwrap();
        let part = FilePart::new(Arc::new(file), 0, 600_000);
        let read = |_, length| -> ByteStream {
            Box::pin(futures_util::stream::iter([Ok(vec![7; length as usize].into())]))
        };
        let Body::Stream(stream, _) = Seekable::of_file(part, read) else { panic!("a stream") };
        let state = Rc::new(ConnectionState::new(Instant::now()));
        let Err(stream) = FileBody::new(stream, &state) else { panic!("not allowed yet") };
        state.sends_files.set(true);
        FileBody::new(stream, &state).ok().unwrap()
    }

    #[test]
    fn what_is_in_memory_is_not_read() {
        let mut body = body();
        if !body.part.is_in_memory() {
            return;
        }
        let context = &mut Context::from_waker(std::task::Waker::noop());
        let mut at = 0;
        while let Poll::Ready(Some(Ok(piece))) = body.poll(context) {
            let BodyPiece::File(part) = piece else { panic!("it was read") };
            assert_eq!(part.from(), at);
            at += part.length();
        }
        assert_eq!((at, body.left()), (600_000, 0));
    }
}
