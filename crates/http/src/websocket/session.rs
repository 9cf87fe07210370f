//! A WebSocket session from handshake to close: frames on one side, a port on the other.

use super::fault::WebSocketFault;
use super::frame::Opcode;
use super::frames::{Frames, SocketEvent};
use super::queue::{MessageSender, queue};
use crate::server::connection_state::ConnectionState;
use bytes::Bytes;
use futures_util::StreamExt;
use runnel_store::{Kind, Messages, Port};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;
use tokio::time::{Instant, sleep_until, timeout};

/// Idle time after which the client gets a ping.
const PING: Duration = Duration::from_secs(30);
/// Idle time after which the connection closes.
const SILENCE: Duration = Duration::from_secs(60);
/// Timeout of the closing handshake.
const PARTING: Duration = Duration::from_secs(2);
/// How long the program may take to end after the client's close frame.
const DRAINING: Duration = Duration::from_secs(5);

/// Why a session ends.
enum SessionEnd {
    /// The client sent a close frame, which is echoed.
    Client(Bytes),
    /// The client disconnected.
    Gone,
    /// The server closes, with a code and a reason.
    Ours(u16, &'static str),
    /// A protocol violation: further input is ignored.
    Broken(u16, &'static str),
}

impl From<WebSocketFault> for SessionEnd {
    /// The codes of RFC 6455 section 7.4.1.
    fn from(fault: WebSocketFault) -> SessionEnd {
        match fault {
            WebSocketFault::Protocol => SessionEnd::Broken(1002, "the frames are malformed"),
            WebSocketFault::NotUtf8 => SessionEnd::Broken(1007, "a text is not UTF-8"),
            WebSocketFault::Data => SessionEnd::Broken(1007, "a compressed message is malformed"),
            WebSocketFault::TooLarge => SessionEnd::Broken(1009, "the message is too large"),
            WebSocketFault::NoMemory => {
                SessionEnd::Broken(1013, "the server has no memory for the message")
            }
            WebSocketFault::Gone => SessionEnd::Gone,
        }
    }
}

/// The codes of RFC 6455 section 7.4.1 for a close without a code, and for an end without a close.
const NO_CODE: u16 = 1005;
const ABNORMAL: u16 = 1006;

/// Runs until either side closes, and returns the close code.
pub(crate) async fn run(mut frames: Frames, port: Rc<dyn Port>, state: Rc<ConnectionState>) -> u16 {
    let (sender, taker) = queue();
    let mut outgoing = port.open(Box::pin(taker));
    drop(port);
    let end = converse(&mut frames, &sender, &mut outgoing, &state).await;
    let code = match &end {
        SessionEnd::Client(payload) => match payload.as_ref() {
            [high, low, ..] => u16::from_be_bytes([*high, *low]),
            _ => NO_CODE,
        },
        SessionEnd::Gone => ABNORMAL,
        SessionEnd::Ours(code, _) | SessionEnd::Broken(code, _) => *code,
    };
    match end {
        SessionEnd::Client(payload) => {
            // Queued messages are still delivered.
            drop(sender);
            let _ = timeout(PARTING, frames.send_frame(Opcode::Close, payload)).await;
            let rest = async { while let Some(Ok(_)) = outgoing.next().await {} };
            let _ = timeout(DRAINING, rest).await;
        }
        SessionEnd::Gone => {}
        SessionEnd::Ours(code, reason) => {
            drop((sender, outgoing));
            let parting = async {
                if close(&mut frames, code, reason).await.is_ok() {
                    while let Ok(SocketEvent::Alive | SocketEvent::Message(..)) =
                        frames.next().await
                    {}
                }
            };
            let _ = timeout(PARTING, parting).await;
        }
        SessionEnd::Broken(code, reason) => {
            drop((sender, outgoing));
            // Others need its memory now: where many messages grow at once, all would be refused.
            frames.give_up_message();
            let parting = async {
                if close(&mut frames, code, reason).await.is_ok() {
                    frames.part().await;
                }
            };
            let _ = timeout(PARTING, parting).await;
        }
    }
    code
}

async fn close(frames: &mut Frames, code: u16, reason: &str) -> Result<(), WebSocketFault> {
    let payload = [&code.to_be_bytes(), reason.as_bytes()].concat();
    frames.send_frame(Opcode::Close, payload.into()).await
}

async fn converse(
    frames: &mut Frames,
    sender: &MessageSender,
    outgoing: &mut Messages,
    state: &Rc<ConnectionState>,
) -> SessionEnd {
    let mut heard = Instant::now();
    let mut asked = false;
    loop {
        let next_look = heard + if asked { SILENCE } else { PING };
        tokio::select! {
            event = next_event(frames, sender) => {
                (heard, asked) = (Instant::now(), false);
                match event {
                    Ok(SocketEvent::Message(message, held)) => sender.send(message, held),
                    Ok(SocketEvent::Alive) => {}
                    Ok(SocketEvent::Close(payload)) => return SessionEnd::Client(payload),
                    Err(fault) => return fault.into(),
                }
            }
            message = outgoing.next() => {
                let message = match message {
                    Some(Ok(message)) => message,
                    Some(Err(error)) if matches!(error.kind, Kind::Unauthorized | Kind::Denied) => {
                        return SessionEnd::Ours(1008, "the right to this connection has ended");
                    }
                    Some(Err(error)) => {
                        let detail = error.detail.as_deref().unwrap_or_default();
                        tracing::error!(%error, detail, "a WebSocket session failed");
                        return SessionEnd::Ours(1011, "an error of the server");
                    }
                    None => return SessionEnd::Ours(1000, ""),
                };
                if frames.send(message).await.is_err() {
                    return SessionEnd::Gone;
                }
            }
            () = stopping(state) => return SessionEnd::Ours(1001, "the server stops"),
            () = sleep_until(next_look) => {
                if asked && sender.has_room() {
                    return SessionEnd::Gone;
                }
                if frames.send_frame(Opcode::Ping, Bytes::new()).await.is_err() {
                    return SessionEnd::Gone;
                }
                (asked, heard) = (true, if asked { Instant::now() } else { heard });
            }
        }
    }
}

/// The next event of the client, once the queue has capacity. Without a receiver there is capacity:
/// the client's close frame is still awaited.
async fn next_event(
    frames: &mut Frames,
    sender: &MessageSender,
) -> Result<SocketEvent, WebSocketFault> {
    sender.capacity().await;
    frames.next().await
}

/// Waits until the server stops: the connection's task is woken then.
async fn stopping(state: &ConnectionState) {
    poll_fn(|_| if state.stopping.get() { Poll::Ready(()) } else { Poll::Pending }).await;
}
