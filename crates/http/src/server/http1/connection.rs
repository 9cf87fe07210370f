//! One HTTP/1.1 connection (RFC 9112): requests in sequence, and their responses.
//!
//! A single task reads a head, dispatches the request, writes the response and parses the next
//! head. Pipelined responses are written in one system call. While a response is pending, we keep
//! reading to detect a disconnect.

use super::body_channel::{BodyError, BodySender, body_channel};
use super::output::ResponseOutput;
use super::request_head::{HeadRefusal, RequestHead};
use super::response_head::{BodyExtent, ResponseHead, write_early_hints};
use super::shared_buffers::SharedBuffers;
use crate::protocol::fields::FieldLines;
use crate::protocol::framing::{Framing, FramingStep, HUGE_CHUNK, Malformed};
use crate::server::observer::RefusedHead;
use crate::server::request::body::RequestBody;
use crate::server::response::body::ResponseBody;
use crate::server::response::reply::PendingResponse;
use crate::server::service::RequestService;
use crate::server::socket::Socket;
use bytes::{Buf, Bytes, BytesMut};
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Method, Response, StatusCode, Version};
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

/// Requests of one connection before the task yields to others.
const TURN: u32 = 32;
/// An unread request body is drained up to this size, in bytes; a larger one closes the connection.
const UNREAD: u64 = 64 * 1024;

const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";
const TIMED_OUT: &[u8] =
    b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";

/// How an HTTP/1.1 connection ends.
pub(crate) enum ConnectionEnd {
    /// The last response is written. The client may still be sending.
    Parting { sends: bool },
    /// Upgraded to another protocol.
    Upgraded,
}

/// One HTTP/1.1 connection.
pub(crate) struct Http1Connection {
    socket: Socket,
    requests: RequestService,
    buffers: Rc<SharedBuffers>,
    /// Unparsed input.
    input: BytesMut,
    /// Whether the input may contain a complete head.
    is_fresh: bool,
    output: ResponseOutput,
    state: Http1State,
    /// The framing of the current request body.
    framing: Framing,
    /// Sends the body to its reader, unless it came with its head.
    body_sender: Option<BodySender>,
    /// The client waits for 100 Continue.
    expects: bool,
    version: Version,
    answers_head: bool,
    /// Whether the connection persists after the response.
    persists: bool,
    /// Whether the current request is the last one.
    is_last: bool,
}

enum Http1State {
    /// For the head of a request.
    Waiting,
    /// For a response.
    Answering(PendingResponse),
    /// For the rest of a response body; of a known length, the remaining bytes.
    Sending(ResponseBody, BodyExtent),
    /// For the rest of an unread request body: at most this many bytes.
    Unread(u64),
    /// For the output to be written, before the end.
    Ending(ConnectionEnd),
}

impl Http1Connection {
    /// With the input that protocol detection has read.
    pub(crate) fn new(
        socket: Socket,
        requests: RequestService,
        buffers: Rc<SharedBuffers>,
        early: BytesMut,
    ) -> Self {
        Http1Connection {
            socket,
            requests,
            buffers,
            input: early,
            is_fresh: true,
            output: ResponseOutput::default(),
            state: Http1State::Waiting,
            framing: Framing::Length(0),
            body_sender: None,
            expects: false,
            version: Version::HTTP_11,
            answers_head: false,
            persists: true,
            is_last: false,
        }
    }

    /// The socket, and the input beyond the last request.
    pub(crate) fn into_parts(self) -> (Socket, Bytes) {
        (self.socket, self.input.freeze())
    }

    /// Makes the current request the last one; an idle connection ends.
    pub(crate) fn end_soon(&mut self) {
        self.is_last = true;
    }

    /// Header timeout: responds with 408 and ends.
    pub(crate) fn time_out(&mut self) {
        self.output.buffer.extend_from_slice(TIMED_OUT);
        let slow =
            HeadRefusal { status: StatusCode::REQUEST_TIMEOUT, reason: "the head took too long" };
        self.report_refusal(slow, 0);
        self.state = Http1State::Ending(ConnectionEnd::Parting { sends: true });
    }

    /// Makes progress until the client or a store blocks.
    ///
    /// # Errors
    /// The connection is broken, or the client closed it during a pending response.
    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<io::Result<ConnectionEnd>> {
        self.output.begin_turn();
        if self.output.is_empty() {
            self.output.buffer = self.buffers.take_output();
        }
        let polled = self.make_progress(context);
        if self.output.is_empty() {
            self.buffers.give_output(std::mem::take(&mut self.output.buffer));
        }
        if self.input.is_empty() {
            // A waiting connection needs no memory.
            self.input = BytesMut::new();
        }
        polled
    }

    fn make_progress(&mut self, context: &mut Context<'_>) -> Poll<io::Result<ConnectionEnd>> {
        let mut requests = 0;
        loop {
            match &mut self.state {
                Http1State::Waiting if requests == TURN => {
                    context.waker().wake_by_ref();
                    self.write(context)?;
                    return Poll::Pending;
                }
                Http1State::Waiting => {
                    ready!(self.poll_request(context))?;
                    requests += 1;
                }
                Http1State::Answering(reply) => match Pin::new(reply).poll(context) {
                    Poll::Ready(Ok(response)) => self.start_response(response),
                    Poll::Ready(Err(never)) => match never {},
                    Poll::Pending => {
                        self.write_early_hints();
                        self.take_interim();
                        ready!(self.poll_content(context))?;
                    }
                },
                Http1State::Sending(..) => ready!(self.poll_send(context))?,
                Http1State::Unread(_) => ready!(self.poll_unread(context))?,
                Http1State::Ending(_) => {
                    ready!(self.output.poll_write(&mut self.socket, context))?;
                    let Http1State::Ending(end) =
                        std::mem::replace(&mut self.state, Http1State::Waiting)
                    else {
                        continue;
                    };
                    return Poll::Ready(Ok(end));
                }
            }
        }
    }

    /// Writes pending output until the client accepts no more.
    fn write(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        match self.output.poll_write(&mut self.socket, context) {
            Poll::Ready(result) => result,
            Poll::Pending => Ok(()),
        }
    }

    /// Parses a request in the input, or waits for more. Ready after progress.
    fn poll_request(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.is_fresh && !self.output.has_enough() {
            self.is_fresh = false;
            let input = std::mem::take(&mut self.input);
            let taken = self.take_request(&input);
            self.input = input;
            self.input.advance(taken);
            self.is_fresh = taken > 0 && !self.input.is_empty();
            if !matches!(self.state, Http1State::Waiting) || self.is_fresh {
                return Poll::Ready(Ok(()));
            }
        }
        ready!(self.output.poll_write(&mut self.socket, context))?;
        if self.is_fresh {
            return Poll::Ready(Ok(()));
        }
        if self.is_last && self.input.is_empty() {
            self.state = Http1State::Ending(ConnectionEnd::Parting { sends: false });
            return Poll::Ready(Ok(()));
        }
        self.poll_more(context)
    }

    /// Reads more of a head.
    fn poll_more(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let buffers = self.buffers.clone();
        let mut space = buffers.space();
        let bytes = ready!(self.socket.poll_take(&mut space, context))?;
        if bytes.is_empty() {
            self.state = Http1State::Ending(ConnectionEnd::Parting { sends: false });
        } else if self.input.is_empty() {
            // The common case: the whole read is consumed.
            let taken = self.take_request(bytes);
            self.input.extend_from_slice(&bytes[taken..]);
            self.is_fresh = taken > 0 && !self.input.is_empty();
        } else {
            self.input.extend_from_slice(bytes);
            self.is_fresh = memchr::memchr(b'\n', bytes).is_some() || self.has_much();
        }
        Poll::Ready(Ok(()))
    }

    /// Whether the input may exceed the limit of a head.
    fn has_much(&self) -> bool {
        let limits = &self.requests.limits;
        let has_line = memchr::memchr(b'\n', &self.input).is_some();
        let most = if has_line { limits.target + limits.header_section } else { limits.target };
        self.input.len() > most
    }

    /// Starts the request at the beginning of `bytes`. Returns the consumed bytes: none when more
    /// input is needed.
    fn take_request(&mut self, bytes: &[u8]) -> usize {
        let empty = bytes.chunks(2).take_while(|line| *line == b"\r\n").count() * 2;
        let bytes = &bytes[empty..];
        if matches!(bytes, [] | [b'\r']) {
            return empty;
        }
        match RequestHead::parse(bytes, self.requests.peer, &self.requests.limits, &self.buffers) {
            Ok(None) => empty,
            Ok(Some((head, length))) => empty + length + self.start_request(head, &bytes[length..]),
            Err(refusal) => {
                self.refuse(refusal, bytes.starts_with(b"HEAD "));
                empty
            }
        }
    }

    /// Dispatches a request. Returns how many of the bytes after its head are its body.
    fn start_request(&mut self, head: RequestHead, rest: &[u8]) -> usize {
        self.framing = head.framing;
        self.persists = head.persists;
        self.expects = head.expects;
        self.version = head.exchange.version;
        self.answers_head = head.exchange.method == Method::HEAD;
        let (body, taken) = self.request_body(rest);
        match self.requests.answer(head.exchange, body) {
            PendingResponse::Ready(Some(response)) => self.start_response(response),
            later => self.state = Http1State::Answering(later),
        }
        taken
    }

    /// The body of a request, which may have come with its head; and how many bytes of it did.
    fn request_body(&mut self, rest: &[u8]) -> (RequestBody, usize) {
        let length = match self.framing {
            Framing::Length(length) => Some(length),
            _ => None,
        };
        let here = length.and_then(|length| rest.get(..usize::try_from(length).ok()?));
        if let Some(here) = here {
            (self.framing, self.expects) = (Framing::Length(0), false);
            let whole = if here.is_empty() { Bytes::new() } else { Bytes::copy_from_slice(here) };
            return (RequestBody::Whole(whole), here.len());
        }
        let (ours, theirs) = body_channel(&self.requests.state, length);
        self.body_sender = Some(ours);
        (RequestBody::Coming(theirs), 0)
    }

    /// Starts a response.
    fn start_response(&mut self, response: Response<ResponseBody>) {
        self.take_interim();
        let (parts, mut body) = response.into_parts();
        let status = parts.status;
        let extent = match body.length() {
            _ if status.is_informational() => BodyExtent::Nothing,
            _ if matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED) => {
                BodyExtent::Nothing
            }
            Some(length) => BodyExtent::Length(length),
            None if self.version == Version::HTTP_10 => BodyExtent::Close,
            None => BodyExtent::Chunked,
        };
        // After a skipped 100 Continue the client may send its body or not.
        let leaves = self.is_last || self.requests.state.leaving.get();
        let ends = leaves || self.expects || extent == BodyExtent::Close;
        self.persists &= !ends;
        self.requests.state.head_is_sent();
        let relayed = body.take_relayed();
        self.write_head(status, &parts.headers, (extent, relayed.as_deref()));
        self.buffers.give_headers(parts.headers);
        if status == StatusCode::SWITCHING_PROTOCOLS {
            drop(body);
            self.state = Http1State::Ending(ConnectionEnd::Upgraded);
        } else if self.answers_head || matches!(extent, BodyExtent::Nothing | BodyExtent::Length(0))
        {
            drop(body);
            self.finish();
        } else if let Some(piece) = body.take_whole() {
            self.output.push(piece, false);
            drop(body);
            self.finish();
        } else {
            self.state = Http1State::Sending(body, extent);
        }
    }

    /// Writes the links that the program has named meanwhile (RFC 8297).
    fn write_early_hints(&mut self) {
        let links = self.requests.state.take_early_links();
        if !links.is_empty() {
            write_early_hints(&links, &mut self.output.buffer);
        }
    }

    /// Writes the interim responses of an upstream, which HTTP/1.0 does not have.
    fn take_interim(&mut self) {
        if self.requests.state.has_interim() {
            let interim = self.requests.state.take_interim();
            if self.version == Version::HTTP_11 {
                self.output.buffer.extend_from_slice(&interim);
            }
        }
    }

    fn write_head(
        &mut self,
        status: StatusCode,
        headers: &HeaderMap,
        (extent, relayed): (BodyExtent, Option<&FieldLines>),
    ) {
        let (version, persists) = (self.version, self.persists);
        let output = &mut self.output.buffer;
        let says_close = self.buffers.with_date(self.requests.state.now(), |date| {
            let head = ResponseHead { version, status, headers, extent, persists, relayed, date };
            head.write(output)
        });
        self.persists &= !says_close;
    }

    /// Reports a refused head to the observer.
    fn report_refusal(&self, HeadRefusal { status, reason }: HeadRefusal, sent: usize) {
        tracing::debug!(%status, reason, "a request was refused");
        if let Some(observer) = &self.requests.observer {
            let (peer, status, sent) = (self.requests.peer, status.as_u16(), sent as u64);
            observer.refused(&RefusedHead { peer, status, reason, sent });
        }
    }

    /// Responds to a malformed head and ends.
    fn refuse(&mut self, refusal: HeadRefusal, asks_head: bool) {
        let HeadRefusal { status, reason } = refusal;
        let text = format!("{status}: {reason}");
        self.report_refusal(refusal, if asks_head { 0 } else { text.len() });
        let mut headers = self.buffers.take_headers();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        (self.version, self.persists) = (Version::HTTP_11, false);
        let extent = BodyExtent::Length(text.len() as u64);
        self.write_head(status, &headers, (extent, None));
        if !asks_head {
            self.output.buffer.extend_from_slice(text.as_bytes());
        }
        self.state = Http1State::Ending(ConnectionEnd::Parting { sends: true });
    }

    /// While a response is pending: reads the body that the store wants, and detects a disconnect.
    /// Ready when the response is to be polled again.
    fn poll_content(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.body_sender.as_ref().is_some_and(BodySender::is_wanted) {
            return self.poll_wanted(context);
        }
        self.write(context)?;
        if self.input.is_empty() {
            // Pipelined input. No more of it is read before this request is answered.
            if ready!(self.poll_read(context))? == 0 {
                return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
            }
        }
        Poll::Pending
    }

    /// Reads a piece of the body for its waiting reader.
    fn poll_wanted(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            let broken = match self.framing.next(&mut self.input) {
                Ok(_) if self.framing.announces() > self.requests.max_body() => {
                    BodyError::Malformed(HUGE_CHUNK)
                }
                Ok(FramingStep::Piece(piece)) => {
                    self.send_piece(piece, context);
                    return Poll::Ready(Ok(()));
                }
                Ok(FramingStep::Trailer(line)) => match self.add_trailer(&line) {
                    Ok(()) => continue,
                    Err(malformed) => BodyError::Malformed(malformed),
                },
                Ok(FramingStep::End) => {
                    if let Some(body_sender) = self.body_sender.take() {
                        body_sender.end(context);
                    }
                    return Poll::Ready(Ok(()));
                }
                Ok(FramingStep::More) => {
                    if std::mem::take(&mut self.expects) && self.input.is_empty() {
                        self.output.buffer.extend_from_slice(CONTINUE);
                    }
                    self.write(context)?;
                    let data_left = self.framing.data_left();
                    let large = self.buffers.uploads.take(data_left);
                    match large.filter(|_| self.input.is_empty()) {
                        Some(buffer) => match ready!(self.socket.poll_fill(buffer, context))? {
                            Some(piece) => {
                                self.framing.skip_data(piece.len());
                                self.send_piece(piece, context);
                                return Poll::Ready(Ok(()));
                            }
                            None => BodyError::Closed,
                        },
                        None => match ready!(self.poll_read(context))? {
                            0 => BodyError::Closed,
                            _ => continue,
                        },
                    }
                }
                Err(malformed) => BodyError::Malformed(malformed),
            };
            // The start of the next request is unknown.
            self.framing = Framing::Close;
            self.persists = false;
            if let Some(body_sender) = self.body_sender.take() {
                body_sender.fail(broken, context);
            }
            return Poll::Ready(Ok(()));
        }
    }

    fn send_piece(&self, piece: Bytes, context: &Context<'_>) {
        if let Some(body_sender) = &self.body_sender {
            body_sender.send(piece, context);
        }
    }

    fn add_trailer(&self, line: &[u8]) -> Result<(), Malformed> {
        let most = self.requests.limits.header_fields;
        self.body_sender.as_ref().map_or(Ok(()), |sender| sender.add_trailer(line, most))
    }

    /// Reads more of the body. Returns the number of bytes.
    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let buffers = self.buffers.clone();
        let mut space = buffers.space();
        let bytes = ready!(self.socket.poll_take(&mut space, context))?;
        self.input.extend_from_slice(bytes);
        self.is_fresh = true;
        Poll::Ready(Ok(bytes.len()))
    }

    /// Writes the available response body. Ready after progress.
    fn poll_send(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.output.has_enough() {
            let Http1State::Sending(body, extent) = &mut self.state else {
                return Poll::Ready(Ok(()));
            };
            match body.poll_piece(context) {
                Poll::Ready(Some(Ok(piece))) => {
                    if let BodyExtent::Length(left) = extent {
                        let Some(rest) = left.checked_sub(piece.length()) else {
                            self.break_off("its content is longer than announced");
                            continue;
                        };
                        *left = rest;
                    }
                    self.output.push(piece, *extent == BodyExtent::Chunked);
                    if *extent == BodyExtent::Length(0) {
                        self.finish();
                    }
                }
                Poll::Ready(None) => {
                    match extent {
                        BodyExtent::Length(_) => {
                            self.break_off("its content is shorter than announced");
                            continue;
                        }
                        BodyExtent::Chunked => {
                            let trailers = body.take_trailers();
                            self.output.push_last_chunk(trailers);
                        }
                        BodyExtent::Nothing | BodyExtent::Close => {}
                    }
                    self.finish();
                }
                Poll::Ready(Some(Err(_))) => self.break_off("its content failed"),
                Poll::Pending => return self.poll_content(context),
            }
        }
        self.output.poll_write(&mut self.socket, context)
    }

    /// The response cannot be completed. The part so far is still sent: the early end tells the
    /// client that it is incomplete.
    fn break_off(&mut self, reason: &'static str) {
        tracing::debug!(reason, "a response ended early");
        self.state = Http1State::Ending(ConnectionEnd::Parting { sends: true });
    }

    /// The response is complete.
    fn finish(&mut self) {
        self.body_sender = None;
        let is_over = self.framing.is_over();
        self.state = match self.persists {
            true if is_over => Http1State::Waiting,
            true => Http1State::Unread(UNREAD),
            false => Http1State::Ending(ConnectionEnd::Parting { sends: !is_over }),
        };
    }

    /// Drains the unread body to reach the next request.
    fn poll_unread(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let sends = match self.framing.next(&mut self.input) {
            Ok(FramingStep::End) => {
                self.state = Http1State::Waiting;
                return Poll::Ready(Ok(()));
            }
            Ok(FramingStep::Trailer(_)) => return Poll::Ready(Ok(())),
            Ok(FramingStep::Piece(piece)) => {
                if let Http1State::Unread(left) = &mut self.state
                    && let Some(rest) = left.checked_sub(piece.len() as u64)
                {
                    *left = rest;
                    return Poll::Ready(Ok(()));
                }
                true
            }
            Ok(FramingStep::More) => {
                ready!(self.output.poll_write(&mut self.socket, context))?;
                if !self.is_last && ready!(self.poll_read(context))? > 0 {
                    return Poll::Ready(Ok(()));
                }
                self.is_last
            }
            Err(_) => true,
        };
        self.state = Http1State::Ending(ConnectionEnd::Parting { sends });
        Poll::Ready(Ok(()))
    }
}
