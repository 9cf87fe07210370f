//! A response body with an idle timeout between two pieces.

use crate::client::connection::response_head::{ReceivedHead, ResponseHead};
use crate::client::connection::round_trip::RoundTrip;
use crate::client::failure::{BoxedError, RoundTripFailure};
use bytes::Bytes;
use hyper::HeaderMap;
use hyper::body::Body;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::{Instant, Sleep};

/// The pieces of a response body. The timeout runs only while a reader waits.
pub(crate) struct TimedBody<B, H = ReceivedHead> {
    trip: Box<RoundTrip<B, H>>,
    /// The idle timeout.
    idle: Option<Duration>,
    /// Created on the first wait.
    timer: Option<Pin<Box<Sleep>>>,
    is_waiting: bool,
}

/// Why there is no next piece.
pub(crate) enum BodyFailure {
    /// The idle timeout expired; the connection is closed.
    Late,
    Failed(RoundTripFailure),
}

impl<B, H> TimedBody<B, H>
where
    B: Body<Data = Bytes>,
    B::Error: Into<BoxedError>,
    H: ResponseHead,
{
    pub(crate) fn new(trip: Box<RoundTrip<B, H>>, idle: Option<Duration>) -> Self {
        TimedBody { trip, idle, timer: None, is_waiting: false }
    }

    /// The trailer fields, after the end.
    pub(crate) fn take_trailers(&mut self) -> HeaderMap {
        self.trip.take_trailers()
    }

    /// Whether the body is complete.
    pub(crate) fn is_over(&self) -> bool {
        self.trip.is_over()
    }

    /// The next piece; `None` at the end, and after an error.
    pub(crate) fn poll_piece(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, BodyFailure>>> {
        if let Poll::Ready(piece) = self.trip.poll_piece(context) {
            self.is_waiting = false;
            return Poll::Ready(piece.map(|piece| piece.map_err(BodyFailure::Failed)));
        }
        let Some(idle) = self.idle else { return Poll::Pending };
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep(idle)));
        if !self.is_waiting {
            self.is_waiting = true;
            timer.as_mut().reset(Instant::now() + idle);
        }
        ready!(timer.as_mut().poll(context));
        self.trip.give_up();
        Poll::Ready(Some(Err(BodyFailure::Late)))
    }
}
