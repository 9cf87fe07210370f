//! A WebSocket from its handshake to its end: frames on one side, a port on the other.

use crate::meter::Meter;
use crate::socket::Socket;
use bytes::Bytes;
use futures_util::{SinkExt, StreamExt, stream};
use runnel_store::{Message, Messages, Port, Result};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::error::CapacityError;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error as Fault, Message as Frame, Utf8Bytes};

/// Messages that came and that the program has not taken yet. When there are as many, nothing more
/// is read from the client.
const RECEIVED: usize = 16;
/// After so long without a frame from the client it is asked whether it is there.
const PING: Duration = Duration::from_secs(30);
/// After so long without a frame it is not.
const SILENCE: Duration = Duration::from_secs(60);
/// How long the other side may take to say its last when a conversation ends.
const PARTING: Duration = Duration::from_secs(2);
/// How long the program may take to end when the client has said its last.
const DRAINING: Duration = Duration::from_secs(5);

/// Bytes read from the client at a time, allocated for as long as the connection lasts.
const READ_BUFFER: usize = 4 * 1024;

type Frames = WebSocketStream<Socket>;

/// Why a conversation ends.
enum End {
    /// The client said its last, or is gone.
    Client { gracefully: bool },
    /// We do, for this reason.
    Ours(CloseCode, &'static str),
}

/// Goes on until one of both sides ends it.
pub(crate) async fn run(
    socket: Socket,
    early: Bytes,
    port: Rc<dyn Port>,
    meter: Rc<Meter>,
    most: usize,
) {
    let config = WebSocketConfig::default()
        .read_buffer_size(READ_BUFFER)
        .write_buffer_size(0)
        .max_message_size(Some(most))
        .max_frame_size(Some(most));
    let mut frames =
        WebSocketStream::from_partially_read(socket, early.to_vec(), Role::Server, Some(config))
            .await;
    let (give, take) = mpsc::channel(RECEIVED);
    let received = stream::unfold(take, |mut take| async move {
        let message: Result<Message> = take.recv().await?;
        Some((message, take))
    });
    let mut outgoing = port.open(Box::pin(received));
    drop(port);
    match converse(&mut frames, &give, &mut outgoing, &meter).await {
        End::Client { gracefully: true } => {
            // What was said before is still heard.
            drop(give);
            let rest = async { while let Some(Ok(_)) = outgoing.next().await {} };
            let _ = timeout(DRAINING, rest).await;
        }
        End::Client { gracefully: false } => {}
        End::Ours(code, reason) => {
            drop((give, outgoing));
            let last = CloseFrame { code, reason: Utf8Bytes::from_static(reason) };
            let parting = async {
                if frames.close(Some(last)).await.is_ok() {
                    while let Some(Ok(_)) = frames.next().await {}
                }
            };
            let _ = timeout(PARTING, parting).await;
        }
    }
}

async fn converse(
    frames: &mut Frames,
    give: &mpsc::Sender<Result<Message>>,
    outgoing: &mut Messages,
    meter: &Rc<Meter>,
) -> End {
    let mut heard = Instant::now();
    let mut asked = false;
    loop {
        let next_look = heard + if asked { SILENCE } else { PING };
        tokio::select! {
            frame = next_frame(frames, give) => {
                (heard, asked) = (Instant::now(), false);
                match frame {
                    Ok(Some(message)) => {
                        // There is room: it was waited for.
                        let _ = give.try_send(Ok(message));
                    }
                    Ok(None) => {}
                    Err(end) => return end,
                }
            }
            message = outgoing.next() => {
                let frame = match message {
                    Some(Ok(Message::Text(text))) => match Utf8Bytes::try_from(text.into_bytes()) {
                        Ok(text) => Frame::Text(text),
                        Err(_) => return End::Ours(CloseCode::Error, ""),
                    },
                    Some(Ok(Message::Bytes(bytes))) => Frame::Binary(bytes),
                    Some(Err(error)) => {
                        let detail = error.detail.as_deref().unwrap_or_default();
                        tracing::error!(%error, detail, "a WebSocket broke off");
                        return End::Ours(CloseCode::Error, "an error of the server");
                    }
                    None => return End::Ours(CloseCode::Normal, ""),
                };
                if frames.send(frame).await.is_err() {
                    return End::Client { gracefully: false };
                }
            }
            () = stopping(meter) => return End::Ours(CloseCode::Away, "the server stops"),
            () = sleep_until(next_look) => {
                if asked && give.capacity() > 0 {
                    return End::Client { gracefully: false };
                }
                if frames.send(Frame::Ping(Bytes::new())).await.is_err() {
                    return End::Client { gracefully: false };
                }
                (asked, heard) = (true, if asked { Instant::now() } else { heard });
            }
        }
    }
}

/// The next message, once there is room for it; nothing for a frame that is none.
async fn next_frame(
    frames: &mut Frames,
    give: &mpsc::Sender<Result<Message>>,
) -> std::result::Result<Option<Message>, End> {
    // The port has dropped its side where there never will be room: it listens no more, but
    // the client's last word is still waited for.
    if let Ok(permit) = give.reserve().await {
        drop(permit);
    }
    match frames.next().await {
        Some(Ok(Frame::Text(text))) => {
            let text = runnel_store::Text::from(text.as_str());
            Ok(Some(Message::Text(text)))
        }
        Some(Ok(Frame::Binary(bytes))) => Ok(Some(Message::Bytes(bytes))),
        Some(Ok(Frame::Close(_))) => {
            // The answer to it leaves with the end of the stream of frames.
            while let Some(Ok(_)) = frames.next().await {}
            Err(End::Client { gracefully: true })
        }
        Some(Ok(_)) => Ok(None),
        Some(Err(fault)) => Err(of_fault(&fault)),
        None => Err(End::Client { gracefully: false }),
    }
}

/// What a client did wrong (RFC 6455 section 7.4.1).
fn of_fault(fault: &Fault) -> End {
    match fault {
        Fault::Capacity(CapacityError::MessageTooLong { .. }) => {
            End::Ours(CloseCode::Size, "the message is too large")
        }
        Fault::Utf8(_) => End::Ours(CloseCode::Invalid, "a text is not UTF-8"),
        Fault::Protocol(_) => End::Ours(CloseCode::Protocol, "the frames are malformed"),
        _ => End::Client { gracefully: false },
    }
}

/// Waits until the server stops: the connection's task is woken then.
async fn stopping(meter: &Meter) {
    poll_fn(|_| if meter.stopping.get() { Poll::Ready(()) } else { Poll::Pending }).await;
}
