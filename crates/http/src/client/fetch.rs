//! Requests as a program words them, and their answers with status and headers.

use crate::client::body::decoding::ACCEPTED;
use crate::client::call::VerbCall;
use crate::client::fault;
use crate::client::incoming::ReceivedResponse;
use crate::client::outgoing::OutgoingContent;
use bytes::Bytes;
use futures_util::Stream;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, StatusCode};
use runnel_store::{
    Answer, Body, ByteStream, Content, Error, FetchAnswer, FetchRequest, Kind, Port, Result,
};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

/// Headers that the client sets itself: those of the connection and of the length of the content.
const OWN: [HeaderName; 8] = [
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::EXPECT,
    header::HOST,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// Headers that make a request conditional: its repetition is not idempotent.
const CONDITIONS: [HeaderName; 3] =
    [header::IF_MATCH, header::IF_NONE_MATCH, header::IF_UNMODIFIED_SINCE];

/// The method of a request.
///
/// # Errors
/// It is no method, or one that asks for something else than an answer.
pub(crate) fn method(request: &FetchRequest) -> Result<Method> {
    let text = request.method.as_str();
    match Method::from_bytes(text.as_bytes()) {
        _ if text.is_empty() => Ok(Method::GET),
        Ok(Method::CONNECT | Method::TRACE) | Err(_) => {
            let message = format!("`{}` is no method of a request", text.escape_debug());
            Err(Error::new(Kind::Invalid, message))
        }
        Ok(method) => Ok(method),
    }
}

/// Sends the request of a call with what the program says of it.
pub(crate) fn send(mut call: Box<VerbCall>, request: FetchRequest) -> Answer<FetchAnswer> {
    if let Err(error) = set_headers(&mut call, &request) {
        return error.on(call.verb, &call.reference).into();
    }
    call.redirects = request.redirects;
    call.timeout = request.timeout;
    call.body = match request.content.body {
        Body::Empty => OutgoingContent::Nothing,
        _ => OutgoingContent::Content(request.content),
    };
    if let Some(port) = request.port {
        return Answer::later(open(call, port));
    }
    let most = request.most;
    Answer::later(async move { answer(ReceivedResponse::of(call).await?, most).await })
}

/// Opens a WebSocket. It follows no redirect, as browsers follow none.
async fn open(mut call: Box<VerbCall>, port: Rc<dyn Port>) -> Result<FetchAnswer> {
    let head = call.open_websocket(port).await?;
    if head.status != StatusCode::SWITCHING_PROTOCOLS {
        let error = fault::of_status(head.status);
        let kind = if head.status.is_success() { Kind::Unsupported } else { error.kind };
        let message = format!("{}: it opens no WebSocket here", error.message);
        return Err(Error::new(kind, message).on(call.verb, &call.reference));
    }
    let headers = shown(&head.headers, false);
    let address = call.target.to_string();
    Ok(FetchAnswer { status: head.status.as_u16(), headers, content: Content::default(), address })
}

fn set_headers(call: &mut VerbCall, request: &FetchRequest) -> Result<()> {
    let headers = Rc::make_mut(&mut call.headers);
    let mut given = HeaderMap::with_capacity(request.headers.len());
    for (name, value) in &request.headers {
        let (Ok(key), Ok(value)) =
            (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(value))
        else {
            let message = format!("`{}` cannot be sent as a header", name.escape_debug());
            return Err(Error::new(Kind::Invalid, message));
        };
        if OWN.contains(&key) {
            let message = format!("the client sets the header `{key}` itself: leave it out");
            return Err(Error::new(Kind::Invalid, message));
        }
        given.append(key, value);
    }
    for key in given.keys() {
        headers.remove(key);
    }
    call.conditional |= CONDITIONS.iter().any(|name| given.contains_key(name));
    call.sends_cookies &= !given.contains_key(header::COOKIE);
    let is_part = given.contains_key(header::RANGE);
    for (name, value) in &given {
        headers.append(name, value.clone());
    }
    if !is_part && !headers.contains_key(header::ACCEPT_ENCODING) {
        headers.insert(header::ACCEPT_ENCODING, ACCEPTED);
    }
    Ok(())
}

/// The answer of a response whose head has arrived.
async fn answer(response: ReceivedResponse, most: Option<u64>) -> Result<FetchAnswer> {
    let (verb, reference) = (response.call.verb, response.call.reference.clone());
    let on = |error: Error| error.on(verb, &reference);
    let most = most.unwrap_or(u64::MAX);
    let is_decoded = response.coding().is_some();
    if response.length().is_some_and(|length| length > most && !is_decoded) {
        return Err(on(too_large(most)));
    }
    let status = response.status().as_u16();
    let address = response.call.target.to_string();
    let headers = shown(&response.head.headers, is_decoded);
    let place = response.call.place();
    let client = response.call.client.clone();
    let content = response.content().await?;
    let body = match content.body {
        Body::Stream(stream, length) => {
            let limited = Box::pin(LimitedBody { stream, left: most, most });
            Body::Stream(client.unread.keep(&place, limited), length)
        }
        Body::Bytes(bytes) if bytes.len() as u64 > most => return Err(on(too_large(most))),
        Body::Text(text) if text.len() as u64 > most => return Err(on(too_large(most))),
        body => body,
    };
    Ok(FetchAnswer { status, headers, content: Content { body, ..content }, address })
}

fn shown(headers: &HeaderMap, is_decoded: bool) -> Vec<(String, String)> {
    let stays = |name: &HeaderName| {
        !is_decoded || *name != header::CONTENT_ENCODING && *name != header::CONTENT_LENGTH
    };
    let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let kept = headers.iter().filter(|(name, _)| stays(name));
    kept.map(|(name, value)| (name.as_str().to_string(), text(value))).collect()
}

fn too_large(most: u64) -> Error {
    Error::new(Kind::TooLarge, format!("the body of the answer has more than {most} bytes"))
}

/// A body that ends with an error beyond its limit.
struct LimitedBody {
    stream: ByteStream,
    left: u64,
    most: u64,
}

impl Stream for LimitedBody {
    type Item = Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let piece = ready!(self.stream.as_mut().poll_next(context));
        if let Some(Ok(bytes)) = &piece {
            match self.left.checked_sub(bytes.len() as u64) {
                Some(left) => self.left = left,
                None => return Poll::Ready(Some(Err(too_large(self.most)))),
            }
        }
        Poll::Ready(piece)
    }
}
