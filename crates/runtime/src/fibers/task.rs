//! A fiber that another one has started: whether it has ended, and how to cancel it.

use std::cell::{Cell, RefCell};
use tokio::sync::Notify;
use tokio::task::AbortHandle;

/// A forked fiber. It is cancelled on request, with the fiber that started it, or with the program.
#[derive(Default)]
pub(crate) struct FiberTask {
    ended: Cell<bool>,
    done: Notify,
    abort: RefCell<Option<AbortHandle>>,
}

impl FiberTask {
    /// Says how to cancel it.
    pub(crate) fn started(&self, abort: AbortHandle) {
        self.abort.replace(Some(abort));
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.ended.get()
    }

    /// Wakes the fibers that wait for its end.
    pub(crate) fn end(&self) {
        self.ended.set(true);
        self.done.notify_waiters();
    }

    /// Cancels it, if it has not ended.
    pub(crate) fn cancel(&self) {
        if let Some(abort) = self.abort.take() {
            abort.abort();
        }
        self.end();
    }

    /// Waits for its end.
    pub(crate) async fn ended(&self) {
        loop {
            let done = self.done.notified();
            if self.has_ended() {
                return;
            }
            done.await;
        }
    }
}
