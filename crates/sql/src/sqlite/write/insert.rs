//! Many rows at once: read batch by batch, all stored or none.
//!
//! The worker makes the next batch while the writer's thread stores this one; a short queue between
//! them keeps memory flat.

use crate::database::description::TableDescription;
use crate::sqlite::connection::cell::for_column;
use crate::sqlite::connection::row_source::{self, RowBatch};
use crate::sqlite::connection::stop_flag::until;
use crate::sqlite::fault::{SqlFault, SqlResult};
use crate::sqlite::write::change::WriteTarget;
use crate::sqlite::write::queue::{Next, Refused, ThreadQueue};
use crate::sqlite::write::shared::SharedDatabase;
use crate::sqlite::write::transaction::SqliteTransaction;
use crate::sqlite::write::writer::{ExclusiveTask, WriterSession, WriterTask};
use runnel_store::{Answer, Error, Kind, Records, Result, Value};
use rusqlite::{Connection, Statement};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// How long an insertion may wait for its next batch. Everyone else who writes waits with it, so
/// after this it is given up.
pub const INSERT_PATIENCE: Duration = Duration::from_secs(10);

/// How long an insertion may take in all, where its caller has no earlier deadline: others who
/// write wait for its end.
pub const INSERT_TIME: Duration = Duration::from_secs(600);

/// Batches between the worker and the writer.
const BATCHES: usize = 2;

/// What the worker passes on.
enum InsertPiece {
    Batch(Vec<Value>),
    /// All have come. Without it the queue's end means that the insertion was given up.
    End,
}

/// The way from the worker to the writer. Dropping either end closes it.
struct InsertPieces(Arc<ThreadQueue<InsertPiece>>);

impl Drop for InsertPieces {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Stores what comes through the queue.
struct BatchWriter {
    target: Arc<WriteTarget>,
    columns: Arc<[usize]>,
    pieces: InsertPieces,
}

impl BatchWriter {
    fn run(&mut self, connection: &Connection, end: Instant) -> SqlResult<u64> {
        let one = self.target.insert_sql(&self.columns);
        let many = match row_source::fits(connection, &self.target, &self.columns)? {
            true => Some(row_source::insert_sql(&self.target, &self.columns)),
            false => None,
        };
        let mut many = many.map(|sql| connection.prepare_cached(&sql)).transpose()?;
        let mut count = 0_u64;
        while let Some(values) = self.next(end)? {
            if values.len() % self.columns.len() != 0 {
                return Err(SqlFault::invalid("a record has more or fewer values than fields"));
            }
            let mut left = values;
            let records = (left.len() / self.columns.len()) as u64;
            if let Some(many) = &mut many {
                let (target, columns) = (self.target.clone(), self.columns.clone());
                let rows = RowBatch { target, columns, values: left };
                match row_source::store(connection, many, rows)? {
                    Ok(()) => {
                        count += records;
                        continue;
                    }
                    // One by one, to find out which of them it was.
                    Err(values) => left = values,
                }
            }
            let mut statement = connection.prepare_cached(&one)?;
            for row in left.chunks_exact(self.columns.len()) {
                count += 1;
                self.one(connection, &mut statement, row).map_err(|fault| SqlFault {
                    message: format!("record {count}: {}", fault.message),
                    ..fault
                })?;
            }
        }
        Ok(count)
    }

    /// The next batch; none when all have come.
    fn next(&self, end: Instant) -> SqlResult<Option<Vec<Value>>> {
        match self.pieces.0.next_until(end.min(Instant::now() + INSERT_PATIENCE)) {
            Next::Item(InsertPiece::Batch(values)) => Ok(Some(values)),
            Next::Item(InsertPiece::End) => Ok(None),
            Next::Closed => Err(SqlFault::new(Kind::Cancelled, "the insertion was given up")),
            Next::Late => {
                Err(SqlFault::new(Kind::Timeout, "the records to insert did not come in time"))
            }
        }
    }

    fn one(
        &self,
        connection: &Connection,
        statement: &mut Statement<'_>,
        row: &[Value],
    ) -> SqlResult<()> {
        for (index, (position, value)) in self.columns.iter().zip(row).enumerate() {
            let cell = for_column(&self.target.info.columns[*position], value)?;
            statement.raw_bind_parameter(index + 1, cell)?;
        }
        let stored = statement.raw_execute();
        stored.map(drop).map_err(|error| self.target.explain(connection, error.into()))
    }
}

/// The insertion as the writer finds it in its queue, outside of transactions.
struct ExclusiveInsert {
    storing: BatchWriter,
    sender: oneshot::Sender<SqlResult<u64>>,
    end: Instant,
}

impl ExclusiveTask for ExclusiveInsert {
    fn run(mut self: Box<Self>, session: &WriterSession) {
        if self.sender.is_closed() {
            return;
        }
        let end = self.end;
        let mut stored = session
            .begin()
            .and_then(|()| session.until(Some(end), || self.storing.run(&session.connection, end)));
        if stored.is_ok() && self.sender.is_closed() {
            stored = Err(SqlFault::new(Kind::Cancelled, "the insertion was given up"));
        }
        let done = stored.and_then(|count| session.commit().map(|()| count));
        session.roll_back();
        let _ = self.sender.send(done);
    }
}

/// Inserts records into a table, alone or in a transaction. Answers how many.
pub(crate) async fn insert(
    shared: Arc<SharedDatabase>,
    held: Option<Rc<SqliteTransaction>>,
    target: Arc<WriteTarget>,
    mut records: Box<dyn Records>,
    deadline: Option<Instant>,
) -> Result<u64> {
    let columns = target.info.positions(records.fields().iter().map(String::as_str))?;
    if columns.is_empty() {
        return Err(Error::new(Kind::Invalid, "records without fields cannot be inserted"));
    }
    // The first batch may take its time: the writer is not occupied yet.
    let first = until(deadline, records.next()).await??;
    let Some(first) = first else { return Ok(0) };
    let latest = Instant::now() + INSERT_TIME;
    let end = deadline.map_or(latest, |deadline| deadline.min(latest));
    let queue = ThreadQueue::new(BATCHES);
    let pieces = InsertPieces(queue.clone());
    let mut storing = BatchWriter { target, columns: columns.into(), pieces: InsertPieces(queue) };
    let stored: Answer<u64> = match held {
        Some(held) => held.run(deadline, move |connection| storing.run(connection, end)),
        None => {
            shared.writable()?;
            let (sender, receiver) = oneshot::channel();
            let insertion = ExclusiveInsert { storing, sender, end };
            shared.writer.queue(WriterTask::Alone(Box::new(insertion)), receiver, deadline)
        }
    };
    let mut stored = std::pin::pin!(stored);
    let fed = feed(&pieces, first, records);
    tokio::select! {
        // It ends first only when something is wrong with it.
        biased;
        stored = &mut stored => return stored,
        fed = fed => fed?,
    }
    stored.await
}

/// Passes the batches on.
async fn feed(
    pieces: &InsertPieces,
    first: Vec<Value>,
    mut records: Box<dyn Records>,
) -> Result<()> {
    let mut next = Some(first);
    while let Some(batch) = next {
        if let Err(Refused::Closed) = pieces.0.wait(InsertPiece::Batch(batch)).await {
            return Ok(());
        }
        next = records.next().await?;
    }
    let _ = pieces.0.wait(InsertPiece::End).await;
    Ok(())
}
