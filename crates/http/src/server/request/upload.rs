//! Request bodies: collected when small, a limited stream when large.

use crate::server::options::Limits;
use crate::server::request::body::RequestBody;
use crate::server::request::exchange::HttpExchange;
use crate::server::request::head::Head;
use crate::server::response::problem::Problem;
use bytes::{Bytes, BytesMut};
use futures_util::{Stream, StreamExt, stream};
use hyper::StatusCode;
use runnel_store::{ByteStream, Error, Kind, Result};
use std::cell::Cell;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};
use tokio::time::Sleep;

/// Bodies up to this size are collected before the store is called.
const SMALL: u64 = 64 * 1024;
/// How long a body waits for memory of other requests, and between two attempts.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(50);
/// Bytes of a body for which the response may take a second longer: a slow disk has to take them
/// before they are acknowledged, and a part of that is done after the last one has arrived.
const BYTES_PER_SECOND: u64 = 32 << 20;

/// A received request body.
pub(crate) enum Upload {
    /// Complete.
    Whole(Bytes),
    /// A stream, with its length if known.
    Stream(ByteStream, Option<u64>),
}

/// The progress of an upload, shared by reader and response: its fault, and whether it is over.
pub(crate) struct UploadProgress {
    fault: Cell<Option<UploadFault>>,
    over: Cell<bool>,
    last: Cell<Instant>,
    received: Cell<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UploadFault {
    TooLarge,
    Slow,
    Broken,
}

impl UploadProgress {
    /// The response to a failed upload, whatever the store made of it.
    pub(crate) fn problem(&self) -> Option<Problem> {
        self.fault.get().map(|fault| match fault {
            UploadFault::TooLarge => too_large(),
            UploadFault::Slow => Problem::new(StatusCode::REQUEST_TIMEOUT).closing(),
            UploadFault::Broken => Problem::bad("the body of the request is malformed").closing(),
        })
    }

    /// Whether the upload failed.
    pub(crate) fn has_failed(&self) -> bool {
        self.fault.get().is_some()
    }

    /// Whether the rest of the body will not be read.
    pub(crate) fn is_over(&self) -> bool {
        self.over.get()
    }

    /// When the last piece was read.
    pub(crate) fn last(&self) -> Instant {
        self.last.get()
    }

    /// The time beyond the request timeout that its bytes are worth.
    pub(crate) fn time_to_store(&self) -> Duration {
        Duration::from_secs(self.received.get() / BYTES_PER_SECOND)
    }
}

/// 413: the rest is not read.
pub(crate) fn too_large() -> Problem {
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE).closing()
}

/// Out of memory, of all requests or of this one: the rest is not read.
pub(crate) fn out_of_memory(kind: Kind) -> Problem {
    match kind {
        Kind::TooLarge => too_large(),
        _ => Problem::new(StatusCode::SERVICE_UNAVAILABLE).closing(),
    }
}

/// Charges a request for bytes of its body. It waits for memory of other requests.
///
/// # Errors
/// 413 beyond the share of one request, 503 where others give nothing back in time.
pub(crate) async fn hold_arriving(
    exchange: &HttpExchange,
    bytes: usize,
) -> std::result::Result<(), Problem> {
    let mut until = None;
    while let Err(error) = exchange.allowance.hold_arriving(bytes) {
        let now = Instant::now();
        if error.kind != Kind::Unavailable || *until.get_or_insert(now + PATIENCE) <= now {
            return Err(out_of_memory(error.kind));
        }
        tokio::time::sleep(PAUSE).await;
    }
    Ok(())
}

/// Receives the body of a request. Reading makes the connection send `100 Continue`, so everything
/// that can be refused without the body is refused before. A form is collected up to `form` bytes,
/// so that a program can read its fields. Collected bytes are charged to the request.
pub(crate) async fn receive(
    body: RequestBody,
    exchange: &HttpExchange,
    head: &Head,
    form: Option<u64>,
    limits: &Limits,
) -> std::result::Result<(Upload, Rc<UploadProgress>), Problem> {
    let room = form.unwrap_or(SMALL);
    let length = if head.chunked { None } else { Some(head.length.unwrap_or(0)) };
    if length.is_some_and(|length| length > limits.body) {
        return Err(too_large());
    }
    let mut reader = UploadReader::new(body, limits, limits.body);
    let progress = reader.progress.clone();
    if length.is_some_and(|length| length > room) {
        return Ok((Upload::Stream(Box::pin(reader), length), progress));
    }
    let mut start = CollectedBody::default();
    while let Some(piece) = reader.next().await {
        match piece {
            Ok(piece) => {
                hold_arriving(exchange, piece.len()).await?;
                start.add(piece);
            }
            Err(_) => return Err(progress.problem().unwrap_or_else(too_large)),
        }
        if start.length() > room {
            let first = stream::iter([Ok(start.take())]);
            return Ok((Upload::Stream(Box::pin(first.chain(reader)), length), progress));
        }
    }
    Ok((Upload::Whole(start.take()), progress))
}

/// Drains an ignored body within its limits.
pub(crate) async fn discard(
    body: RequestBody,
    limits: &Limits,
) -> std::result::Result<(), Problem> {
    let mut reader = UploadReader::new(body, limits, limits.body);
    while let Some(piece) = reader.next().await {
        if piece.is_err() {
            return Err(reader.progress.problem().unwrap_or_else(too_large));
        }
    }
    Ok(())
}

/// Collected pieces; a single one is not copied.
#[derive(Default)]
struct CollectedBody {
    only: Bytes,
    joined: BytesMut,
}

impl CollectedBody {
    fn length(&self) -> u64 {
        (self.only.len() + self.joined.len()) as u64
    }

    fn add(&mut self, piece: Bytes) {
        if self.length() == 0 {
            self.only = piece;
            return;
        }
        if !self.only.is_empty() {
            self.joined.extend_from_slice(&std::mem::take(&mut self.only));
        }
        self.joined.extend_from_slice(&piece);
    }

    fn take(&mut self) -> Bytes {
        if self.only.is_empty() {
            std::mem::take(&mut self.joined).freeze()
        } else {
            std::mem::take(&mut self.only)
        }
    }
}

/// A body as a stream within its limits.
pub(crate) struct UploadReader {
    body: RequestBody,
    /// Bytes that may still arrive.
    left: u64,
    pace: Pace,
    /// Runs while a piece is pending, with the start of that wait.
    sleep: Option<(Pin<Box<Sleep>>, Instant)>,
    progress: Rc<UploadProgress>,
}

impl UploadReader {
    /// A reader of at most this many bytes.
    pub(crate) fn new(body: RequestBody, limits: &Limits, most: u64) -> Self {
        let progress = UploadProgress {
            fault: Cell::new(None),
            over: Cell::new(false),
            last: Cell::new(Instant::now()),
            received: Cell::new(0),
        };
        UploadReader {
            body,
            left: most,
            pace: Pace::new(limits),
            sleep: None,
            progress: Rc::new(progress),
        }
    }

    /// The progress of the upload.
    pub(crate) fn progress(&self) -> &Rc<UploadProgress> {
        &self.progress
    }

    fn fail(
        &mut self,
        fault: UploadFault,
        kind: Kind,
        message: &str,
    ) -> Poll<Option<Result<Bytes>>> {
        self.progress.fault.set(Some(fault));
        self.progress.over.set(true);
        Poll::Ready(Some(Err(Error::new(kind, message).with_temporary(false))))
    }
}

/// The minimum rate: the time that a client may still keep the server waiting.
struct Pace {
    idle: Duration,
    rate: u32,
    waited: Duration,
    received: u64,
}

impl Pace {
    fn new(limits: &Limits) -> Self {
        Pace {
            idle: limits.body_idle,
            rate: limits.body_rate.max(1),
            waited: Duration::ZERO,
            received: 0,
        }
    }

    fn left(&self) -> Duration {
        let earned = Duration::from_secs(self.received / u64::from(self.rate));
        let whole = self.idle.saturating_add(earned);
        self.idle.min(whole.saturating_sub(self.waited))
    }
}

impl Stream for UploadReader {
    type Item = Result<Bytes>;

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes>>> {
        if self.progress.over.get() {
            return Poll::Ready(None);
        }
        let Poll::Ready(piece) = self.body.poll_piece(context) else {
            let most = self.pace.left();
            let (sleep, _) = self
                .sleep
                .get_or_insert_with(|| (Box::pin(tokio::time::sleep(most)), Instant::now()));
            ready!(sleep.as_mut().poll(context));
            return self.fail(UploadFault::Slow, Kind::Timeout, "the client sent too slowly");
        };
        if let Some((_, began)) = self.sleep.take() {
            self.pace.waited += began.elapsed();
        }
        self.progress.last.set(Instant::now());
        match piece {
            None => {
                self.progress.over.set(true);
                Poll::Ready(None)
            }
            Some(Err(error)) if error.is_too_large() => {
                self.fail(UploadFault::TooLarge, Kind::TooLarge, "the body is too large")
            }
            Some(Err(error)) => {
                tracing::debug!(%error, "the body of a request ended early");
                self.fail(UploadFault::Broken, Kind::Invalid, "the request body ended early")
            }
            Some(Ok(piece)) if piece.len() as u64 > self.left => {
                self.fail(UploadFault::TooLarge, Kind::TooLarge, "the body is too large")
            }
            Some(Ok(piece)) => {
                self.left -= piece.len() as u64;
                self.pace.received += piece.len() as u64;
                self.progress.received.set(self.pace.received);
                Poll::Ready(Some(Ok(piece)))
            }
        }
    }
}

impl Drop for UploadReader {
    fn drop(&mut self) {
        self.progress.over.set(true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_earns_time_by_sending() {
        let seconds = Duration::from_secs;
        let mut pace = Pace::new(&Limits::default());
        assert_eq!(pace.left(), seconds(30));
        pace.waited = seconds(25);
        assert_eq!(pace.left(), seconds(5));
        pace.received = 2400;
        assert_eq!(pace.left(), seconds(15));
        pace.received = 2_400_000;
        assert_eq!(pace.left(), seconds(30));
        pace.waited = seconds(20_000);
        assert_eq!(pace.left(), Duration::ZERO);
    }

    #[test]
    fn a_single_piece_is_not_copied() {
        let piece = Bytes::from(vec![1, 2, 3]);
        let place = piece.as_ptr();
        let mut pieces = CollectedBody::default();
        pieces.add(Bytes::new());
        pieces.add(piece);
        assert_eq!(pieces.take().as_ptr(), place);
        for piece in ["a", "", "b", "c"] {
            pieces.add(Bytes::from_static(piece.as_bytes()));
        }
        assert_eq!(pieces.take(), "abc");
        assert_eq!(pieces.take(), "");
    }
}
