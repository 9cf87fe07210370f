//! The body of an answer: one piece, or a stream that is asked for its next piece only when the
//! client has room for it.

use crate::server::connection_state::Meter;
use crate::server::observer::Watch;
use crate::server::response::file_body::{FileBody, Piece};
use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use runnel_store::{ByteStream, Error, Held, Kind, gzip, gzip_stream};
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

/// Bodies of up to so many bytes are packed before their answer leaves, so that it has a length.
const PACKED_AT_ONCE: usize = 64 << 10;

/// The body of an answer. Dropping it tells the meter that the answer is over.
pub(crate) struct AnswerBody {
    source: Source,
    meter: Rc<Meter>,
    /// Who is told when this is over.
    watch: Option<Watch>,
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

type Polled = Poll<Option<Result<Piece, BrokenOff>>>;

enum Source {
    Whole(Bytes),
    Stream(ByteStream, Option<u64>),
    /// A file that the system can send by itself.
    File(Box<FileBody>),
    /// The stream failed.
    Broken,
    Done,
}

impl AnswerBody {
    /// Bytes in memory.
    pub(crate) fn whole(bytes: Bytes, meter: &Rc<Meter>) -> Self {
        AnswerBody { source: Source::Whole(bytes), meter: meter.clone(), watch: None }
    }

    /// A stream; with a length where it is known, in chunks otherwise.
    pub(crate) fn stream(stream: ByteStream, length: Option<u64>, meter: &Rc<Meter>) -> Self {
        let source = match FileBody::new(stream, meter) {
            Ok(file) => Source::File(Box::new(file)),
            Err(stream) => Source::Stream(stream, length),
        };
        AnswerBody { source, meter: meter.clone(), watch: None }
    }

    /// Charges a large body that lies in memory for this response alone, until the client has it.
    ///
    /// # Errors
    /// Those of [`Held::add`].
    pub(crate) fn hold(&mut self) -> Result<(), Error> {
        let Source::Whole(bytes) = &mut self.source else { return Ok(()) };
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

    /// The meter of the connection that this body belongs to.
    pub(crate) fn meter(&self) -> &Rc<Meter> {
        &self.meter
    }

    /// From now on somebody is told what leaves.
    pub(crate) fn watch(&mut self, watch: Watch) {
        self.watch = Some(watch);
    }

    /// From now on it is packed as gzip: at once where it is small, piece by piece otherwise.
    /// Answers whether it is.
    pub(crate) fn pack(&mut self) -> bool {
        self.source = match std::mem::replace(&mut self.source, Source::Done) {
            Source::Whole(bytes) if bytes.len() <= PACKED_AT_ONCE => match gzip(&bytes) {
                Ok(packed) => Source::Whole(packed),
                Err(_) => {
                    self.source = Source::Whole(bytes);
                    return false;
                }
            },
            Source::Whole(bytes) => {
                let whole = futures_util::stream::iter([Ok(bytes)]);
                Source::Stream(gzip_stream(Box::pin(whole), false), None)
            }
            Source::Stream(stream, length) => {
                // Pieces of unknown number come when there is something to show.
                Source::Stream(gzip_stream(stream, length.is_none()), None)
            }
            Source::File(file) => Source::Stream(gzip_stream(file.into_stream(), false), None),
            other => {
                self.source = other;
                return false;
            }
        };
        true
    }

    /// No body.
    pub(crate) fn empty(meter: &Rc<Meter>) -> Self {
        AnswerBody::whole(Bytes::new(), meter)
    }
}

impl Drop for AnswerBody {
    fn drop(&mut self) {
        self.meter.finish();
    }
}

impl Source {
    fn poll(&mut self, context: &mut Context<'_>) -> Polled {
        match self {
            Source::Whole(bytes) => {
                let bytes = std::mem::take(bytes);
                *self = Source::Done;
                Poll::Ready((!bytes.is_empty()).then_some(Ok(Piece::Bytes(bytes))))
            }
            Source::Stream(stream, _) => {
                let polled =
                    next(stream, context).map(|next| next.map(|one| one.map(Piece::Bytes)));
                self.goes_on(polled, context)
            }
            Source::File(file) => {
                let polled = file.poll(context);
                self.goes_on(polled, context)
            }
            Source::Broken => {
                *self = Source::Done;
                Poll::Ready(Some(Err(BrokenOff)))
            }
            Source::Done => Poll::Ready(None),
        }
    }

    /// What came of asking for the next piece.
    fn goes_on(
        &mut self,
        polled: Poll<Option<Result<Piece, Error>>>,
        context: &mut Context<'_>,
    ) -> Polled {
        match polled {
            Poll::Ready(Some(Ok(piece))) => Poll::Ready(Some(Ok(piece))),
            Poll::Ready(Some(Err(_))) => {
                // hyper throws away what it has not written when a body fails: let it write the
                // head and the first pieces before it hears of this.
                *self = Source::Broken;
                context.waker().wake_by_ref();
                Poll::Pending
            }
            Poll::Ready(None) => {
                *self = Source::Done;
                Poll::Ready(None)
            }
            Poll::Pending => Poll::Pending,
        }
    }
}

impl AnswerBody {
    /// The next piece; `None` at the end.
    pub(crate) fn poll_piece(&mut self, context: &mut Context<'_>) -> Polled {
        let Some(watch) = &self.watch else {
            let polled = self.source.poll(context);
            self.meter.answering(polled.is_pending());
            return polled;
        };
        let polled = watch.during(|| self.source.poll(context));
        self.meter.answering(polled.is_pending());
        if let Poll::Ready(Some(Ok(piece))) = &polled {
            watch.sent(piece.length());
        }
        if matches!(self.source, Source::Done) && !matches!(polled, Poll::Ready(Some(Err(_)))) {
            watch.is_whole();
        }
        polled
    }

    /// All of it, where it lies in memory.
    pub(crate) fn take_whole(&mut self) -> Option<Bytes> {
        let Source::Whole(bytes) = &mut self.source else { return None };
        let bytes = std::mem::take(bytes);
        self.source = Source::Done;
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
impl Body for AnswerBody {
    type Data = Bytes;
    type Error = BrokenOff;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BrokenOff>>> {
        self.poll_piece(context).map(|next| {
            next.map(|piece| match piece? {
                Piece::Bytes(bytes) => Ok(Frame::data(bytes)),
                // Its connection sends no files: see `FileBody::new`.
                Piece::File(_) => Err(BrokenOff),
            })
        })
    }

    fn is_end_stream(&self) -> bool {
        match &self.source {
            Source::Whole(bytes) => bytes.is_empty(),
            Source::Stream(_, length) => *length == Some(0),
            Source::File(file) => file.left() == 0,
            Source::Broken => false,
            Source::Done => true,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.source {
            Source::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Source::Stream(_, Some(length)) => SizeHint::with_exact(*length),
            Source::File(file) => SizeHint::with_exact(file.left()),
            Source::Stream(_, None) | Source::Broken => SizeHint::default(),
            Source::Done => SizeHint::with_exact(0),
        }
    }
}

/// The next piece of a store's stream. By then the head has left, so that a failure can only be
/// logged and the connection broken off, which the client sees as an incomplete answer.
pub(crate) fn next(
    stream: &mut ByteStream,
    context: &mut Context<'_>,
) -> Poll<Option<Result<Bytes, Error>>> {
    let guarded = std::panic::catch_unwind(AssertUnwindSafe(|| stream.as_mut().poll_next(context)));
    let polled = guarded.unwrap_or_else(|panic| {
        let error = Error::new(Kind::Failed, "a stream of an answer broke down");
        Poll::Ready(Some(Err(error.with_detail(crate::server::response::panics::reason(&*panic)))))
    });
    if let Poll::Ready(Some(Err(error))) = &polled {
        tracing::error!(
            error = %error,
            detail = error.detail.as_deref().unwrap_or_default(),
            "an answer broke off"
        );
    }
    polled
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
