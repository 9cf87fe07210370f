//! Watching a path of a database.

use crate::sqlite::fault::SqlResult;
use crate::sqlite::write::shared::SharedDatabase;
use crate::sqlite::write::writer::{ExclusiveTask, WriterSession, WriterTask};
use futures_util::StreamExt;
use runnel_store::{Answer, Changes, Reference};
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::oneshot;

/// Watches a path of a database; every commit after the answer is reported.
pub(crate) fn watch(
    shared: &Arc<SharedDatabase>,
    path: &str,
    deadline: Option<Instant>,
) -> Answer<Changes> {
    let changes = shared.writer.watchers.watch(&Reference::from_path(path.to_string()));
    // What is being written now is written without the hook: watching begins after it.
    let (sender, receiver) = oneshot::channel();
    let listen = WriterTask::Alone(Box::new(WatchStart(sender)));
    let keep = shared.clone();
    shared.writer.queue(listen, receiver, deadline).map(move |()| {
        // The database stays open as long as it has watchers.
        let held = changes.map(move |change| {
            let _ = &keep;
            change
        });
        Box::pin(held) as Changes
    })
}

/// Passes the writer's queue; the hook is there when it has.
struct WatchStart(oneshot::Sender<SqlResult<()>>);

impl ExclusiveTask for WatchStart {
    fn run(self: Box<Self>, _: &WriterSession) {
        let _ = self.0.send(Ok(()));
    }
}
