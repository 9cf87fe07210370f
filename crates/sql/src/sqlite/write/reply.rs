//! The queue of replies from the writer to a worker.
//!
//! Waking a worker from another thread takes a system call, and the writer answers many jobs at
//! once. So their replies travel together: one task of the worker wakes up, and it wakes the
//! waiting callers, which costs nothing on its own thread.

use crate::sqlite::write::job::WriteJob;
use std::cell::RefCell;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};

thread_local! {
    /// Of the event loop that runs on this thread, from its first write on.
    static HOME: RefCell<Option<ReplyQueue>> = const { RefCell::new(None) };
}

/// Where the answers of a worker's jobs go. What is on its way is bounded by the writer's queue.
#[derive(Clone)]
pub(crate) struct ReplyQueue(UnboundedSender<Box<dyn WriteJob>>);

impl ReplyQueue {
    /// The one of this thread's event loop. Must be called within a
    /// [`tokio::runtime::LocalRuntime`] or a [`tokio::task::LocalSet`].
    pub(crate) fn here() -> ReplyQueue {
        HOME.with_borrow_mut(|home| match home {
            // It is closed when the event loop has ended that it belonged to.
            Some(home) if !home.0.is_closed() => home.clone(),
            _ => {
                let (sender, receiver) = mpsc::unbounded_channel();
                tokio::task::spawn_local(answer(receiver));
                home.insert(ReplyQueue(sender)).clone()
            }
        })
    }

    /// Answers a job on its worker, or here when the event loop of the worker has ended.
    pub(crate) fn carry(self, job: Box<dyn WriteJob>) {
        if let Err(mpsc::error::SendError(job)) = self.0.send(job) {
            job.answer();
        }
    }
}

async fn answer(mut jobs: UnboundedReceiver<Box<dyn WriteJob>>) {
    while let Some(job) = jobs.recv().await {
        job.answer();
    }
}
