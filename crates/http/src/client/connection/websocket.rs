//! The client's end of a WebSocket: its handshake (RFC 6455 section 4.1). The session runs beside the program.

use crate::client::connection::dial::Connector;
use crate::client::connection::request_head::{Length, OutgoingHead, RequestHead};
use crate::client::connection::response_head::ReceivedHead;
use crate::client::failure::RoundTripFailure;
use crate::network::wire::NetworkStream;
use crate::server::connection_state::ConnectionState;
use crate::server::socket::Socket;
use crate::websocket::deflate::Deflate;
use crate::websocket::frames::Frames;
use crate::websocket::handshake::{VERSION, WEBSOCKET, proof};
use crate::websocket::session;
use bytes::{Bytes, BytesMut};
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Method, StatusCode, Uri};
use runnel_store::{Port, fill_random, json};
use std::future::{Future, poll_fn};
use std::io;
use std::rc::Rc;
use std::task::Poll;
use std::time::Instant;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// The longest head of an answer, in bytes.
const LONGEST_HEAD: usize = 64 * 1024;
/// The largest message of a server, in bytes; a larger one closes the socket with 1009.
const LARGEST_MESSAGE: usize = 16 * 1024 * 1024;

/// Opens a WebSocket, whose messages the port exchanges from then on. Answers the head of the server; with any
/// other status than 101 there is no WebSocket.
///
/// # Errors
/// There is no answer, or it breaks the protocol.
pub(crate) async fn open(
    dial: &Connector,
    target: &Uri,
    headers: &HeaderMap,
    port: Rc<dyn Port>,
) -> Result<ReceivedHead, RoundTripFailure> {
    let mut wire = dial.stream(target, true).await?;
    let key = key().map_err(RoundTripFailure::Connect)?;
    let headers = request_headers(headers, &key);
    let head = RequestHead { method: &Method::GET, target, headers: &headers, media_type: None };
    let mut text = Vec::new();
    head.write(Length::Nothing, None, &mut text);
    wire.write_all(&text).await.map_err(RoundTripFailure::Broken)?;
    wire.flush().await.map_err(RoundTripFailure::Broken)?;
    let (head, early) = answer(&mut wire).await?;
    if head.status != StatusCode::SWITCHING_PROTOCOLS {
        return Ok(head);
    }
    let deflate = check(&head, &key)?;
    let state = Rc::new(ConnectionState::new(Instant::now()));
    let socket = Socket::new(wire, state.clone());
    let frames = Frames::new(socket, early, deflate, LARGEST_MESSAGE).masking();
    let mut running = Box::pin(async move {
        let code = session::run(frames, port.clone(), state).await;
        port.closed(code);
    });
    // The port is open when the program continues.
    let first = poll_fn(|context| Poll::Ready(running.as_mut().poll(context)));
    if first.await.is_pending() {
        tokio::task::spawn_local(running);
    }
    Ok(head)
}

/// 16 random bytes in Base64.
fn key() -> io::Result<HeaderValue> {
    let mut random = [0; 16];
    fill_random(&mut random).map_err(|error| io::Error::other(error.message))?;
    let mut encoded = Vec::new();
    json::write_bytes(&random, &mut encoded);
    let text = String::from_utf8_lossy(&encoded);
    HeaderValue::from_str(text.trim_matches('"')).map_err(io::Error::other)
}

fn request_headers(given: &HeaderMap, key: &HeaderValue) -> HeaderMap {
    let mut headers = given.clone();
    headers.remove(header::ACCEPT_ENCODING);
    headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(header::UPGRADE, WEBSOCKET);
    headers.insert(header::SEC_WEBSOCKET_VERSION, VERSION);
    headers.insert(header::SEC_WEBSOCKET_KEY, key.clone());
    headers.insert(header::SEC_WEBSOCKET_EXTENSIONS, Deflate::OFFER);
    headers
}

/// The head of the answer, and the bytes after it.
async fn answer(wire: &mut NetworkStream) -> Result<(ReceivedHead, Bytes), RoundTripFailure> {
    let mut input = BytesMut::new();
    loop {
        if let Some((head, length)) = ReceivedHead::parse(&input)? {
            let rest = input.split_off(length).freeze();
            let is_interim =
                head.status.is_informational() && head.status != StatusCode::SWITCHING_PROTOCOLS;
            if !is_interim {
                return Ok((head, rest));
            }
            input = rest.into();
            continue;
        }
        if input.len() > LONGEST_HEAD {
            return Err(RoundTripFailure::Malformed("its head is too long"));
        }
        if wire.read_buf(&mut input).await.map_err(RoundTripFailure::of_reading)? == 0 {
            return Err(RoundTripFailure::Closed);
        }
    }
}

/// Whether the server has agreed to a WebSocket, and to compression.
fn check(head: &ReceivedHead, key: &HeaderValue) -> Result<Option<Deflate>, RoundTripFailure> {
    let accepted = head.headers.get(header::SEC_WEBSOCKET_ACCEPT);
    let is_proved = accepted.is_some_and(|accept| accept.as_bytes() == proof(key.as_bytes()));
    let upgrade = head.headers.get(header::UPGRADE).map(HeaderValue::as_bytes);
    if !is_proved || !upgrade.is_some_and(|name| name.eq_ignore_ascii_case(b"websocket")) {
        return Err(RoundTripFailure::Malformed("it does not prove that it opens a WebSocket"));
    }
    Deflate::agreed(&head.headers)
        .map_err(|()| RoundTripFailure::Malformed("it uses an extension that was not offered"))
}
