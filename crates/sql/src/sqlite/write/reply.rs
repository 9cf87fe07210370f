//! The way of answers from the writer back to the worker that waits for them.
//!
//! To wake a worker from another thread takes a call of the system, and the writer answers many jobs
//! at a time. So their answers go home together: one task of the worker is woken, and it wakes
//! whoever waits, which costs nothing on its own thread.

use crate::sqlite::write::writer::Job;
use std::cell::RefCell;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};

thread_local! {
    /// Of the event loop that runs on this thread, from its first write on.
    static HOME: RefCell<Option<Home>> = const { RefCell::new(None) };
}

/// Where the answers of a worker's jobs go. What is on its way is bounded by the writer's queue.
#[derive(Clone)]
pub(crate) struct Home(UnboundedSender<Box<dyn Job>>);

impl Home {
    /// The one of this thread's event loop. Must be called within a
    /// [`tokio::runtime::LocalRuntime`] or a [`tokio::task::LocalSet`].
    pub(crate) fn here() -> Home {
        HOME.with_borrow_mut(|home| match home {
            // It is closed when the event loop has ended that it belonged to.
            Some(home) if !home.0.is_closed() => home.clone(),
            _ => {
                let (sender, receiver) = mpsc::unbounded_channel();
                tokio::task::spawn_local(answer(receiver));
                home.insert(Home(sender)).clone()
            }
        })
    }

    /// Answers a job there. Where nobody is at home any more it is answered from here.
    pub(crate) fn carry(self, job: Box<dyn Job>) {
        if let Err(mpsc::error::SendError(job)) = self.0.send(job) {
            job.answer();
        }
    }
}

async fn answer(mut jobs: UnboundedReceiver<Box<dyn Job>>) {
    while let Some(job) = jobs.recv().await {
        job.answer();
    }
}
