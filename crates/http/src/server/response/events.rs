//! Server-sent events (HTML standard, section 9.2): heartbeats and the end of the stream on drain.

use crate::server::connection_state::ConnectionState;
use bytes::Bytes;
use futures_util::Stream;
use hyper::header::HeaderName;
use runnel_store::{ByteStream, Result};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Instant, Sleep};

/// The heartbeat interval: proxies close silent connections, and a dead client is only detected by
/// writing.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// A comment, which clients ignore.
const COMMENT: &[u8] = b":\n\n";

/// Tells nginx to pass events on without buffering.
pub(crate) const BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// Whether this type is an event stream.
pub(crate) fn are(kind: &[u8]) -> bool {
    let name = kind.split(|byte| *byte == b';').next().unwrap_or(kind);
    name.trim_ascii().eq_ignore_ascii_case(b"text/event-stream")
}

/// The stream with heartbeats. When the server drains it ends between two events: the client
/// reconnects to another server.
pub(crate) fn beating(stream: ByteStream, state: &Rc<ConnectionState>) -> ByteStream {
    beating_every(stream, HEARTBEAT, state)
}

fn beating_every(stream: ByteStream, every: Duration, state: &Rc<ConnectionState>) -> ByteStream {
    let sleep = Box::pin(tokio::time::sleep(every));
    Box::pin(Beating { stream, sleep, every, between: true, state: state.clone() })
}

struct Beating {
    stream: ByteStream,
    sleep: Pin<Box<Sleep>>,
    every: Duration,
    /// The last piece ended an event, so a heartbeat breaks none.
    between: bool,
    state: Rc<ConnectionState>,
}

impl Stream for Beating {
    type Item = Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        if this.between && this.state.is_draining() {
            return Poll::Ready(None);
        }
        let polled = this.stream.as_mut().poll_next(context);
        if polled.is_ready() {
            if let Poll::Ready(Some(Ok(bytes))) = &polled {
                this.between = bytes.ends_with(b"\n\n");
                this.sleep.as_mut().reset(Instant::now() + this.every);
            }
            return polled;
        }
        this.state.wake_at_drain(context.waker());
        while this.sleep.as_mut().poll(context).is_ready() {
            this.sleep.as_mut().reset(Instant::now() + this.every);
            if this.between {
                return Poll::Ready(Some(Ok(Bytes::from_static(COMMENT))));
            }
        }
        Poll::Pending
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use futures_util::{StreamExt, stream};

    #[test]
    fn the_type_is_recognised() {
        for kind in ["text/event-stream", "Text/Event-Stream; charset=utf-8"] {
            assert!(are(kind.as_bytes()), "{kind}");
        }
        assert!(!are(b"text/html"));
    }

    fn state() -> Rc<ConnectionState> {
        Rc::new(ConnectionState::new(std::time::Instant::now()))
    }

    #[tokio::test]
    async fn silence_is_filled_between_events_and_never_within_one() {
        let every = Duration::from_millis(5);
        let whole = stream::iter([Ok(Bytes::from_static(b"data: 1\n\n"))]);
        let mut events = beating_every(Box::pin(whole.chain(stream::pending())), every, &state());
        assert_eq!(events.next().await.unwrap().unwrap(), "data: 1\n\n");
        assert_eq!(events.next().await.unwrap().unwrap(), COMMENT);
        assert_eq!(events.next().await.unwrap().unwrap(), COMMENT);

        let half = stream::iter([Ok(Bytes::from_static(b"data: 1\n"))]);
        let mut events = beating_every(Box::pin(half.chain(stream::pending())), every, &state());
        assert_eq!(events.next().await.unwrap().unwrap(), "data: 1\n");
        assert!(tokio::time::timeout(every * 10, events.next()).await.is_err());
    }

    #[tokio::test]
    async fn a_draining_server_ends_it_between_two_events() {
        let state = state();
        let pieces = ["data: 1\n", "data: 2\n\n", "data: 3\n\n"];
        let pieces = stream::iter(pieces.map(|text| Ok(Bytes::from(text))));
        let mut events = beating(Box::pin(pieces), &state);
        assert_eq!(events.next().await.unwrap().unwrap(), "data: 1\n");
        state.drain(Duration::ZERO);
        assert_eq!(events.next().await.unwrap().unwrap(), "data: 2\n\n");
        assert!(events.next().await.is_none());
    }
}
