//! Response bodies: bytes, or a stream that is polled only when the client accepts more.
//!
//! Large bytes stay in the reach of the memory budget, which takes back what a client does not read: HTTP/1.1
//! writes them from there, HTTP/2 and the compressors get copies of small pieces.

use crate::protocol::encoding::ContentEncoding;
use crate::protocol::fields::FieldLines;
use crate::server::connection_state::ConnectionState;
use crate::server::observer::RequestWatch;
use crate::server::response::file_body::{BodyPiece, FileBody};
use crate::server::response::panics::poll_stream;
use bytes::Bytes;
use h2::Reason;
use hyper::Response;
use hyper::body::{Body, Frame, SizeHint};
use hyper::header::HeaderMap;
use runnel_store::{ByteStream, ClientNetwork, Error, UnreadContent};
use std::cell::RefCell;
use std::fmt;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

/// Bodies up to this size, in bytes, are compressed before the head, so that the response has a
/// length.
const COMPRESSED_AT_ONCE: usize = 64 << 10;

/// The body of a response. Dropping it tells the connection state that the response is over.
pub(crate) struct ResponseBody {
    source: BodySource,
    state: Rc<ConnectionState>,
    /// The observer's handle of the request.
    watch: Option<RequestWatch>,
    /// Where the response is that of an upstream: the fields that its head has beside its headers.
    relayed: Option<Box<FieldLines>>,
    /// The trailer fields of an upstream, complete after the end of the content.
    trailers: Option<Rc<RefCell<HeaderMap>>>,
}

/// Smaller bodies are not charged to the memory of requests.
const COUNTED: usize = 16 << 10;

/// The pieces in which HTTP/2 gets a charged body: a frame. hyper holds one for each stream whose client
/// accepts nothing.
const FRAME: usize = 16 << 10;

/// The pieces in which a compressor gets a charged body.
const COMPRESSED_PIECE: usize = 64 << 10;

type Polled = Poll<Option<Result<BodyPiece, BrokenOff>>>;

enum BodySource {
    Whole(Bytes),
    /// Bytes in memory that are charged, and that the budget may take back.
    Unread(Box<UnreadContent>),
    Stream(ByteStream, Option<u64>),
    /// A file for sendfile(2).
    File(Box<FileBody>),
    /// For HEAD: the length alone.
    Announced(u64),
    /// The stream failed.
    Broken,
    Done,
}

impl ResponseBody {
    /// A body in memory.
    pub(crate) fn whole(bytes: Bytes, state: &Rc<ConnectionState>) -> Self {
        ResponseBody::of(BodySource::Whole(bytes), state)
    }

    /// A stream; chunked without a known length.
    pub(crate) fn stream(
        stream: ByteStream,
        length: Option<u64>,
        state: &Rc<ConnectionState>,
    ) -> Self {
        let source = match FileBody::new(stream, state) {
            Ok(file) => BodySource::File(Box::new(file)),
            Err(stream) => BodySource::Stream(stream, length),
        };
        ResponseBody::of(source, state)
    }

    fn of(source: BodySource, state: &Rc<ConnectionState>) -> Self {
        ResponseBody { source, state: state.clone(), watch: None, relayed: None, trailers: None }
    }

    /// Adds trailer fields, which a stream fills before its end.
    pub(crate) fn with_trailers(mut self, trailers: Rc<RefCell<HeaderMap>>) -> Self {
        self.trailers = Some(trailers);
        self
    }

    /// Marks the body of a relayed response, to which the server adds nothing. Only HTTP/1.1 writes
    /// the lines.
    pub(crate) fn relay(&mut self, lines: FieldLines, with_trailers: bool) {
        self.relayed = Some(Box::new(lines));
        if !with_trailers {
            self.trailers = None;
        }
    }

    /// The lines of a relayed response.
    pub(crate) fn take_relayed(&mut self) -> Option<Box<FieldLines>> {
        self.relayed.take()
    }

    /// The trailer fields, after the end of the content.
    pub(crate) fn take_trailers(&mut self) -> Option<HeaderMap> {
        let trailers = self.trailers.take()?.take();
        (!trailers.is_empty()).then_some(trailers)
    }

    /// Charges a large body in memory to this response, until its client has it.
    ///
    /// # Errors
    /// Those of [`UnreadContent::hold`].
    pub(crate) fn charge_memory(
        &mut self,
        client: impl FnOnce() -> ClientNetwork,
    ) -> Result<(), Error> {
        let BodySource::Whole(bytes) = &mut self.source else { return Ok(()) };
        // Shared bytes, as of a cache, are charged there.
        if bytes.len() < COUNTED || !bytes.is_unique() {
            return Ok(());
        }
        let unread = UnreadContent::hold(std::mem::take(bytes), client())?;
        self.source = BodySource::Unread(Box::new(unread));
        Ok(())
    }

    /// The state of the connection of this body.
    pub(crate) fn state(&self) -> &Rc<ConnectionState> {
        &self.state
    }

    /// Attaches the observer's handle to a response, until the body ends.
    pub(crate) fn observe(
        watch: RequestWatch,
        mut response: Response<ResponseBody>,
    ) -> Response<ResponseBody> {
        let (status, length) = (response.status(), response.body().length());
        watch.answered(status, length, response.headers_mut());
        response.body_mut().watch = Some(watch);
        response
    }

    /// Compresses the body: at once when small, as a stream otherwise. Returns whether it did.
    pub(crate) fn compress(&mut self, encoding: ContentEncoding) -> bool {
        let (stream, length) = match std::mem::replace(&mut self.source, BodySource::Done) {
            BodySource::Whole(bytes) if bytes.len() <= COMPRESSED_AT_ONCE => {
                let compressed = encoding.compress(&bytes);
                let succeeds = compressed.is_ok();
                self.source = BodySource::Whole(compressed.unwrap_or(bytes));
                return succeeds;
            }
            BodySource::Unread(unread) if unread.left() <= COMPRESSED_AT_ONCE => {
                let (source, succeeds) = compress_unread(unread, encoding);
                self.source = source;
                return succeeds;
            }
            BodySource::Unread(unread) => {
                let length = unread.left() as u64;
                (unread.into_stream(COMPRESSED_PIECE), Some(length))
            }
            BodySource::Whole(bytes) => {
                let length = bytes.len() as u64;
                let whole: ByteStream = Box::pin(futures_util::stream::iter([Ok(bytes)]));
                (whole, Some(length))
            }
            BodySource::Stream(stream, length) => (stream, length),
            BodySource::File(file) => {
                let length = file.left();
                (file.into_stream(), Some(length))
            }
            other => {
                self.source = other;
                return false;
            }
        };
        // A stream of unknown length flushes each piece.
        let compressed = encoding.compress_stream(stream, length.is_none());
        let succeeds = compressed.is_ok();
        self.source = match compressed {
            Ok(compressed) => BodySource::Stream(compressed, None),
            Err(plain) => BodySource::Stream(plain, length),
        };
        succeeds
    }

    /// Leaves only the length, which the response to HEAD announces.
    pub(crate) fn keep_length(&mut self) {
        self.source = match self.length() {
            Some(length) => BodySource::Announced(length),
            None => BodySource::Done,
        };
    }

    /// The body of a response to HEAD with this length.
    pub(crate) fn announced(length: u64, state: &Rc<ConnectionState>) -> Self {
        ResponseBody::of(BodySource::Announced(length), state)
    }

    /// An empty body.
    pub(crate) fn empty(state: &Rc<ConnectionState>) -> Self {
        ResponseBody::whole(Bytes::new(), state)
    }
}

impl Drop for ResponseBody {
    fn drop(&mut self) {
        self.state.finish_response();
    }
}

impl BodySource {
    fn poll(&mut self, context: &mut Context<'_>) -> Polled {
        match self {
            BodySource::Whole(bytes) => {
                let bytes = std::mem::take(bytes);
                *self = BodySource::Done;
                Poll::Ready((!bytes.is_empty()).then_some(Ok(BodyPiece::Bytes(bytes))))
            }
            BodySource::Unread(unread) => match unread.copy_piece(FRAME) {
                Some(piece) if piece.is_empty() => {
                    *self = BodySource::Done;
                    Poll::Ready(None)
                }
                Some(piece) => Poll::Ready(Some(Ok(BodyPiece::Bytes(piece)))),
                None => {
                    *self = BodySource::Done;
                    Poll::Ready(Some(Err(BrokenOff::TakenBack(TAKEN_BACK.into()))))
                }
            },
            BodySource::Stream(stream, _) => {
                let polled = poll_stream(stream, context)
                    .map(|next| next.map(|one| one.map(BodyPiece::Bytes)));
                self.handle_poll(polled, context)
            }
            BodySource::File(file) => {
                let polled = file.poll(context);
                self.handle_poll(polled, context)
            }
            BodySource::Broken => {
                *self = BodySource::Done;
                Poll::Ready(Some(Err(BrokenOff::Failed)))
            }
            BodySource::Announced(_) | BodySource::Done => Poll::Ready(None),
        }
    }

    /// Handles the result of a poll.
    fn handle_poll(
        &mut self,
        polled: Poll<Option<Result<BodyPiece, Error>>>,
        context: &mut Context<'_>,
    ) -> Polled {
        match polled {
            Poll::Ready(Some(Ok(piece))) => Poll::Ready(Some(Ok(piece))),
            Poll::Ready(Some(Err(_))) => {
                // hyper discards unwritten output when a body fails: it writes the head and first
                // pieces before it sees the error.
                *self = BodySource::Broken;
                context.waker().wake_by_ref();
                Poll::Pending
            }
            Poll::Ready(None) => {
                *self = BodySource::Done;
                Poll::Ready(None)
            }
            Poll::Pending => Poll::Pending,
        }
    }
}

impl ResponseBody {
    /// The next piece; `None` at the end.
    pub(crate) fn poll_piece(&mut self, context: &mut Context<'_>) -> Polled {
        let Some(watch) = &self.watch else {
            let polled = self.source.poll(context);
            self.state.answering(polled.is_pending());
            return polled;
        };
        let polled = watch.during(|| self.source.poll(context));
        self.state.answering(polled.is_pending());
        if let Poll::Ready(Some(Ok(piece))) = &polled {
            watch.sent(piece.length());
        }
        if matches!(self.source, BodySource::Done) && !matches!(polled, Poll::Ready(Some(Err(_)))) {
            watch.is_whole();
        }
        polled
    }

    /// All of the body, if it is in memory.
    pub(crate) fn take_whole(&mut self) -> Option<BodyPiece> {
        if !matches!(self.source, BodySource::Whole(_) | BodySource::Unread(_)) {
            return None;
        }
        let piece = match std::mem::replace(&mut self.source, BodySource::Done) {
            BodySource::Whole(bytes) => BodyPiece::Bytes(bytes),
            BodySource::Unread(unread) => BodyPiece::Unread(unread),
            _ => return None,
        };
        if let Some(watch) = &self.watch {
            watch.sent(piece.length());
            watch.is_whole();
        }
        Some(piece)
    }

    /// The length, if known.
    pub(crate) fn length(&self) -> Option<u64> {
        self.size_hint().exact()
    }
}

/// The interface of hyper, for HTTP/2.
impl Body for ResponseBody {
    type Data = Bytes;
    type Error = BrokenOff;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BrokenOff>>> {
        let polled = self.poll_piece(context);
        if matches!(polled, Poll::Ready(None))
            && let Some(trailers) = self.take_trailers()
        {
            return Poll::Ready(Some(Ok(Frame::trailers(trailers))));
        }
        polled.map(|next| {
            next.map(|piece| match piece? {
                BodyPiece::Bytes(bytes) => Ok(Frame::data(bytes)),
                // Pieces for HTTP/1.1 alone: see `FileBody::new` and `take_whole`.
                BodyPiece::File(_) | BodyPiece::Unread(_) => Err(BrokenOff::Failed),
            })
        })
    }

    fn is_end_stream(&self) -> bool {
        match &self.source {
            BodySource::Whole(bytes) => bytes.is_empty(),
            BodySource::Unread(unread) => unread.left() == 0,
            BodySource::Stream(_, length) => *length == Some(0),
            BodySource::File(file) => file.left() == 0,
            BodySource::Broken => false,
            BodySource::Announced(_) | BodySource::Done => true,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.source {
            BodySource::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            BodySource::Unread(unread) => SizeHint::with_exact(unread.left() as u64),
            BodySource::Stream(_, Some(length)) | BodySource::Announced(length) => {
                SizeHint::with_exact(*length)
            }
            BodySource::File(file) => SizeHint::with_exact(file.left()),
            BodySource::Stream(_, None) | BodySource::Broken => SizeHint::default(),
            BodySource::Done => SizeHint::with_exact(0),
        }
    }
}

/// Compresses a small charged body. What is large even then stays charged.
fn compress_unread(
    mut unread: Box<UnreadContent>,
    encoding: ContentEncoding,
) -> (BodySource, bool) {
    let mut small = None;
    let compresses = unread.replace(|bytes| {
        let compressed = encoding.compress(bytes).ok()?;
        if compressed.len() < COUNTED {
            small = Some(compressed.clone());
        }
        Some(compressed)
    });
    match small {
        Some(small) => (BodySource::Whole(small), compresses),
        None => (BodySource::Unread(unread), compresses),
    }
}

/// The reason of an HTTP/2 reset (RFC 9113 section 7).
const TAKEN_BACK: Reason = Reason::ENHANCE_YOUR_CALM;

/// A body ended early.
#[derive(Debug)]
pub(crate) enum BrokenOff {
    /// Its stream failed; the log says why.
    Failed,
    /// Memory was short, and its client did not read. hyper resets the stream for this reason.
    TakenBack(h2::Error),
}

impl fmt::Display for BrokenOff {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a response ended early")
    }
}

impl std::error::Error for BrokenOff {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            BrokenOff::Failed => None,
            BrokenOff::TakenBack(reset) => Some(reset),
        }
    }
}
