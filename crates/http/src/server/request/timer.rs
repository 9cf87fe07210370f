//! The timer of an active request. Over HTTP/1.1 it costs nothing: the connection has a timer already.

use crate::server::connection_state::{ConnectionState, RequestTimeout};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Instant;
use tokio::time::Sleep;

/// A timer for one timeout of a request.
pub(crate) struct RequestTimer {
    pub(crate) state: Rc<ConnectionState>,
    timeout: RequestTimeout,
    /// A timer of its own, for HTTP/2 streams.
    sleep: Option<Pin<Box<Sleep>>>,
}

impl RequestTimer {
    pub(crate) fn new(state: Rc<ConnectionState>, timeout: RequestTimeout) -> Self {
        RequestTimer { state, timeout, sleep: None }
    }

    /// Ready at this moment, which may be another one than in the last call.
    pub(crate) fn poll(&mut self, until: Instant, context: &mut Context<'_>) -> Poll<()> {
        if self.state.wake_at(self.timeout, Some(until)) {
            return if until <= self.state.now() { Poll::Ready(()) } else { Poll::Pending };
        }
        let sleep =
            self.sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(until.into())));
        if sleep.deadline() != until.into() {
            sleep.as_mut().reset(until.into());
        }
        sleep.as_mut().poll(context)
    }
}

impl Drop for RequestTimer {
    fn drop(&mut self) {
        self.state.wake_at(self.timeout, None);
    }
}
