//! The body of an answer: one piece, or a stream that is asked for its next piece only when the
//! client has room for it.

use crate::server::connection_state::ConnectionState;
use crate::server::observer::RequestWatch;
use crate::server::response::file_body::{BodyPiece, FileBody};
use crate::server::response::panics::poll_stream;
use bytes::Bytes;
use hyper::Response;
use hyper::body::{Body, Frame, SizeHint};
use runnel_store::{ByteStream, Error, Held, gzip, gzip_stream};
use std::fmt;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

/// Bodies of up to so many bytes are packed before their answer leaves, so that it has a length.
const PACKED_AT_ONCE: usize = 64 << 10;

/// The body of an answer. Dropping it tells the state that the answer is over.
pub(crate) struct ResponseBody {
    source: BodySource,
    state: Rc<ConnectionState>,
    /// Who is told when this is over.
    watch: Option<RequestWatch>,
}

/// Responses below this size are not counted among what requests hold.
const COUNTED: usize = 16 << 10;

/// Bytes that count among what requests hold for as long as anybody has them.
struct HeldBytes {
    bytes: Bytes,
    _held: Held,
}

impl AsRef<[u8]> for HeldBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

type Polled = Poll<Option<Result<BodyPiece, BrokenOff>>>;

enum BodySource {
    Whole(Bytes),
    Stream(ByteStream, Option<u64>),
    /// A file that the system can send by itself.
    File(Box<FileBody>),
    /// The stream failed.
    Broken,
    Done,
}

impl ResponseBody {
    /// Bytes in memory.
    pub(crate) fn whole(bytes: Bytes, state: &Rc<ConnectionState>) -> Self {
        ResponseBody { source: BodySource::Whole(bytes), state: state.clone(), watch: None }
    }

    /// A stream; with a length where it is known, in chunks otherwise.
    pub(crate) fn stream(
        stream: ByteStream,
        length: Option<u64>,
        state: &Rc<ConnectionState>,
    ) -> Self {
        let source = match FileBody::new(stream, state) {
            Ok(file) => BodySource::File(Box::new(file)),
            Err(stream) => BodySource::Stream(stream, length),
        };
        ResponseBody { source, state: state.clone(), watch: None }
    }

    /// Charges a large body that lies in memory for this response alone, until the client has it.
    ///
    /// # Errors
    /// Those of [`Held::add`].
    pub(crate) fn hold(&mut self) -> Result<(), Error> {
        let BodySource::Whole(bytes) = &mut self.source else { return Ok(()) };
        // What others hold as well, such as a cache, is counted there.
        if bytes.len() < COUNTED || !bytes.is_unique() {
            return Ok(());
        }
        let mut held = Held::default();
        held.add(bytes.len())?;
        let bytes_held = HeldBytes { bytes: std::mem::take(bytes), _held: held };
        *bytes = Bytes::from_owner(bytes_held);
        Ok(())
    }

    /// The state of the connection that this body belongs to.
    pub(crate) fn state(&self) -> &Rc<ConnectionState> {
        &self.state
    }

    /// Attaches the observer's record of a request to its response, until the body ends.
    pub(crate) fn observe(
        watch: RequestWatch,
        mut response: Response<ResponseBody>,
    ) -> Response<ResponseBody> {
        let (status, length) = (response.status(), response.body().length());
        watch.answered(status, length, response.headers_mut());
        response.body_mut().watch = Some(watch);
        response
    }

    /// From now on it is packed as gzip: at once where it is small, piece by piece otherwise.
    /// Answers whether it is.
    pub(crate) fn pack(&mut self) -> bool {
        self.source = match std::mem::replace(&mut self.source, BodySource::Done) {
            BodySource::Whole(bytes) if bytes.len() <= PACKED_AT_ONCE => match gzip(&bytes) {
                Ok(packed) => BodySource::Whole(packed),
                Err(_) => {
                    self.source = BodySource::Whole(bytes);
                    return false;
                }
            },
            BodySource::Whole(bytes) => {
                let whole = futures_util::stream::iter([Ok(bytes)]);
                BodySource::Stream(gzip_stream(Box::pin(whole), false), None)
            }
            BodySource::Stream(stream, length) => {
                // Pieces of unknown number come when there is something to show.
                BodySource::Stream(gzip_stream(stream, length.is_none()), None)
            }
            BodySource::File(file) => {
                BodySource::Stream(gzip_stream(file.into_stream(), false), None)
            }
            other => {
                self.source = other;
                return false;
            }
        };
        true
    }

    /// No body.
    pub(crate) fn empty(state: &Rc<ConnectionState>) -> Self {
        ResponseBody::whole(Bytes::new(), state)
    }
}

impl Drop for ResponseBody {
    fn drop(&mut self) {
        self.state.finish();
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
            BodySource::Stream(stream, _) => {
                let polled = poll_stream(stream, context)
                    .map(|next| next.map(|one| one.map(BodyPiece::Bytes)));
                self.goes_on(polled, context)
            }
            BodySource::File(file) => {
                let polled = file.poll(context);
                self.goes_on(polled, context)
            }
            BodySource::Broken => {
                *self = BodySource::Done;
                Poll::Ready(Some(Err(BrokenOff)))
            }
            BodySource::Done => Poll::Ready(None),
        }
    }

    /// What came of asking for the next piece.
    fn goes_on(
        &mut self,
        polled: Poll<Option<Result<BodyPiece, Error>>>,
        context: &mut Context<'_>,
    ) -> Polled {
        match polled {
            Poll::Ready(Some(Ok(piece))) => Poll::Ready(Some(Ok(piece))),
            Poll::Ready(Some(Err(_))) => {
                // hyper throws away what it has not written when a body fails: let it write the
                // head and the first pieces before it hears of this.
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

    /// All of it, where it lies in memory.
    pub(crate) fn take_whole(&mut self) -> Option<Bytes> {
        let BodySource::Whole(bytes) = &mut self.source else { return None };
        let bytes = std::mem::take(bytes);
        self.source = BodySource::Done;
        if let Some(watch) = &self.watch {
            watch.sent(bytes.len() as u64);
            watch.is_whole();
        }
        Some(bytes)
    }

    /// How many bytes it has, where that is known.
    pub(crate) fn length(&self) -> Option<u64> {
        self.size_hint().exact()
    }
}

/// As hyper sees it, for HTTP/2.
impl Body for ResponseBody {
    type Data = Bytes;
    type Error = BrokenOff;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BrokenOff>>> {
        self.poll_piece(context).map(|next| {
            next.map(|piece| match piece? {
                BodyPiece::Bytes(bytes) => Ok(Frame::data(bytes)),
                // Its connection sends no files: see `FileBody::new`.
                BodyPiece::File(_) => Err(BrokenOff),
            })
        })
    }

    fn is_end_stream(&self) -> bool {
        match &self.source {
            BodySource::Whole(bytes) => bytes.is_empty(),
            BodySource::Stream(_, length) => *length == Some(0),
            BodySource::File(file) => file.left() == 0,
            BodySource::Broken => false,
            BodySource::Done => true,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.source {
            BodySource::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            BodySource::Stream(_, Some(length)) => SizeHint::with_exact(*length),
            BodySource::File(file) => SizeHint::with_exact(file.left()),
            BodySource::Stream(_, None) | BodySource::Broken => SizeHint::default(),
            BodySource::Done => SizeHint::with_exact(0),
        }
    }
}

/// A stream of an answer failed; the log says why.
#[derive(Debug)]
pub(crate) struct BrokenOff;

impl fmt::Display for BrokenOff {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an answer broke off")
    }
}

impl std::error::Error for BrokenOff {}
