//! Maintenance of a whole database: `VACUUM` and `ANALYZE`.

use crate::sqlite::fault::{SqlFault, SqlResult};
use crate::sqlite::write::shared::SharedDatabase;
use crate::sqlite::write::transaction;
use crate::sqlite::write::writer::{ExclusiveTask, WriterSession, WriterTask};
use runnel_store::{Answer, Context};
use rusqlite::limits::Limit;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::oneshot;

/// Writes the database anew without its unused pages, and gathers statistics for the planner.
/// Readers go on meanwhile; writers wait.
pub(crate) fn vacuum(shared: &Arc<SharedDatabase>, context: &Context) -> Answer<()> {
    if transaction::current(shared, context).is_some() {
        return Answer::Ready(Err(SqlFault::alone("vacuum").into()));
    }
    if let Err(fault) = shared.writable() {
        return Answer::Ready(Err(fault.into()));
    }
    let (sender, receiver) = oneshot::channel();
    let task = VacuumTask { sender, deadline: context.deadline };
    shared.writer.queue(WriterTask::Alone(Box::new(task)), receiver, context.deadline)
}

struct VacuumTask {
    sender: oneshot::Sender<SqlResult<()>>,
    deadline: Option<Instant>,
}

impl ExclusiveTask for VacuumTask {
    fn run(self: Box<Self>, session: &WriterSession) {
        if self.sender.is_closed() {
            return;
        }
        // A moment of a transaction, so that a file that is gone or damaged is refused.
        let done = session.begin().and_then(|()| {
            session.roll_back();
            session.until(self.deadline, || run(session))
        });
        let _ = self.sender.send(done);
    }
}

fn run(session: &WriterSession) -> SqlResult<()> {
    let connection = &session.connection;
    // SQLite builds the new file as an attached database; programs may attach none.
    let before = connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 1)?;
    let done = connection.execute_batch("VACUUM");
    connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, before)?;
    done?;
    session.begin()?;
    session.connection.execute_batch("ANALYZE")?;
    session.commit()
}
