//! A WebSocket from its handshake to its end: frames on one side, a port on the other.

use super::fault::WebSocketFault;
use super::frame::Opcode;
use super::frames::{Frames, SocketEvent};
use super::queue::{MessageSender, queue};
use crate::server::connection_state::ConnectionState;
use bytes::Bytes;
use futures_util::StreamExt;
use runnel_store::{Messages, Port};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;
use tokio::time::{Instant, sleep_until, timeout};

/// After so long without a frame from the client it is asked whether it is there.
const PING: Duration = Duration::from_secs(30);
/// After so long without a frame it is not.
const SILENCE: Duration = Duration::from_secs(60);
/// How long the other side may take to say its last when a conversation ends.
const PARTING: Duration = Duration::from_secs(2);
/// How long the program may take to end when the client has said its last.
const DRAINING: Duration = Duration::from_secs(5);

/// Why a conversation ends.
enum SessionEnd {
    /// The client said its last, which is answered.
    Client(Bytes),
    /// The client is gone.
    Gone,
    /// We do, with a code and a reason.
    Ours(u16, &'static str),
    /// The client broke the rules: what it sends is not looked at any more.
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

/// Goes on until one of both sides ends it.
pub(crate) async fn run(mut frames: Frames, port: Rc<dyn Port>, state: Rc<ConnectionState>) {
    let (sender, taker) = queue();
    let mut outgoing = port.open(Box::pin(taker));
    drop(port);
    let end = converse(&mut frames, &sender, &mut outgoing, &state).await;
    match end {
        SessionEnd::Client(payload) => {
            // What was said before is still heard.
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
            let parting = async {
                if close(&mut frames, code, reason).await.is_ok() {
                    frames.part().await;
                }
            };
            let _ = timeout(PARTING, parting).await;
        }
    }
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
                    Ok(SocketEvent::Message(message, held)) => sender.give(message, held),
                    Ok(SocketEvent::Alive) => {}
                    Ok(SocketEvent::Close(payload)) => return SessionEnd::Client(payload),
                    Err(fault) => return fault.into(),
                }
            }
            message = outgoing.next() => {
                let message = match message {
                    Some(Ok(message)) => message,
                    Some(Err(error)) => {
                        let detail = error.detail.as_deref().unwrap_or_default();
                        tracing::error!(%error, detail, "a WebSocket broke off");
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

/// The next thing that the client says, once there is room for a message. There is where nobody
/// takes messages any more: the client's last word is still waited for.
async fn next_event(
    frames: &mut Frames,
    sender: &MessageSender,
) -> Result<SocketEvent, WebSocketFault> {
    sender.ready().await;
    frames.next().await
}

/// Waits until the server stops: the connection's task is woken then.
async fn stopping(state: &ConnectionState) {
    poll_fn(|_| if state.stopping.get() { Poll::Ready(()) } else { Poll::Pending }).await;
}
