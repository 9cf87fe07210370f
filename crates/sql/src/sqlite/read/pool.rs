//! Reading on threads that may wait: what takes longer than a worker may spend at once.

use crate::database::slow;
use crate::sqlite::connection::database_file::{DatabaseFile, Role};
use crate::sqlite::connection::file_health::FileHealth;
use crate::sqlite::connection::statement_counts;
use crate::sqlite::connection::stop_flag::{STEPS, is_over};
use crate::sqlite::fault::{SqlFault, SqlResult};
use crate::sqlite::options::SqliteOptions;
use bytes::Bytes;
use futures_util::stream;
use runnel_store::{Answer, ByteStream, Counters, Error, Kind, Slot, SlotLimits, Slots};
use rusqlite::{Connection, InterruptHandle};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::sync::mpsc;

/// Readers that wait for one of them; more are refused as temporarily unavailable.
pub const POOL_WAITING: usize = 256;

/// The size at which a piece of a streamed result is passed on, in bytes.
pub const CHUNK: usize = 64 << 10;

/// Pieces of a streamed result that wait for their reader.
const CHUNKS_WAITING: usize = 4;

/// How long a stream waits for its reader to take a piece. A reader that stands still would
/// otherwise hold its connection, and the write-ahead log could not be cut back.
pub const STREAM_PATIENCE: Duration = Duration::from_secs(30);

/// The pool of one database, shared by all workers.
pub(crate) struct ReadPool {
    place: DatabaseFile,
    options: SqliteOptions,
    idle: Mutex<Vec<Connection>>,
    slots: Arc<Slots>,
    counters: Arc<Counters>,
    health: Arc<FileHealth>,
}

impl ReadPool {
    pub(crate) fn new(
        place: DatabaseFile,
        options: SqliteOptions,
        counters: Arc<Counters>,
        health: Arc<FileHealth>,
    ) -> Self {
        let limits = SlotLimits {
            slots: options.max_connections,
            waiting: POOL_WAITING,
            wait: options.pool_timeout,
        };
        let slots = Slots::new(limits, counters.clone());
        ReadPool { place, options, idle: Mutex::default(), slots, counters, health }
    }

    /// Closes the idle connections.
    pub(crate) fn close(&self) {
        lock(&self.idle).clear();
    }

    /// Reads on a thread of the event loop's blocking pool. Dropping the answer stops it.
    pub(crate) fn read<T: Send + 'static>(
        self: Arc<Self>,
        deadline: Option<Instant>,
        work: impl FnOnce(&Connection) -> SqlResult<T> + Send + 'static,
    ) -> Answer<T> {
        Answer::later(async move {
            let leash = CancelOnDrop::default();
            let slot = self.slot(deadline).await?;
            let loop_ = event_loop()?;
            let order = leash.0.clone();
            let read = loop_.spawn_blocking(move || self.run(slot, &order, deadline, work));
            Ok(read.await.map_err(|_| SqlFault::new(Kind::Failed, "the query failed"))??)
        })
    }

    /// Reads and forwards what the work sends, piece by piece, with backpressure from the reader.
    /// Dropping the stream stops the work.
    pub(crate) fn stream<W>(self: Arc<Self>, deadline: Option<Instant>, work: W) -> ByteStream
    where
        W: FnOnce(&Connection, &mut dyn FnMut(Bytes) -> SqlResult<()>) -> SqlResult<()>,
        W: Send + 'static,
    {
        let start = async move {
            let leash = CancelOnDrop::default();
            let slot = self.slot(deadline).await?;
            let loop_ = event_loop()?;
            let order = leash.0.clone();
            let (sender, receiver) = mpsc::channel(CHUNKS_WAITING);
            let timer = loop_.clone();
            loop_.spawn_blocking(move || {
                let mut pass = |chunk| pass_on(&timer, &sender, Ok(chunk));
                let done = self.run(slot, &order, deadline, |read| work(read, &mut pass));
                if let Err(fault) = done {
                    let _ = pass_on(&timer, &sender, Err(fault));
                }
            });
            Ok((receiver, leash))
        };
        let first = StreamedRows::Starting(Box::pin(start));
        Box::pin(stream::unfold(first, StreamedRows::next))
    }

    /// Waits for a connection to be free, in the order of asking.
    async fn slot(&self, deadline: Option<Instant>) -> SqlResult<Slot> {
        let taken = self.slots.take(deadline).await;
        taken.map_err(|none| SqlFault::new(none.kind(), none.message("connections for long reads")))
    }

    fn run<T>(
        &self,
        slot: Slot,
        order: &Arc<ReadControl>,
        deadline: Option<Instant>,
        work: impl FnOnce(&Connection) -> SqlResult<T>,
    ) -> SqlResult<T> {
        let idle = lock(&self.idle).pop();
        let mut connection = match idle {
            Some(connection) => connection,
            None => self.place.connect(Role::Pool, &self.options)?,
        };
        let seen = order.clone();
        let over = move || seen.cancelled.load(Ordering::Relaxed) || is_over(deadline);
        connection.progress_handler(STEPS, Some(over))?;
        order.begin(&connection);
        slow::set_threshold(self.options.slow_statement_time);
        let cancelled = order.cancelled.load(Ordering::Relaxed);
        let result = if cancelled || is_over(deadline) {
            Err(SqlFault::timeout())
        } else {
            work(&connection)
        };
        if let Err(fault) = &result {
            self.health.note(fault);
        }
        order.end();
        statement_counts::flush(&self.counters);
        connection.progress_handler(0, None::<fn() -> bool>)?;
        // First the connection, then its slot: the next one finds it.
        lock(&self.idle).push(connection);
        drop(slot);
        result
    }
}

fn event_loop() -> SqlResult<Handle> {
    Handle::try_current().map_err(|_| {
        SqlFault::new(Kind::Failed, "a query that takes longer needs an event loop to run on")
    })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Cancellation of a reading thread from outside.
#[derive(Default)]
struct ReadControl {
    cancelled: AtomicBool,
    /// There while the statement runs, so that no later one on the same connection is hit.
    running: Mutex<Option<InterruptHandle>>,
}

impl ReadControl {
    fn begin(&self, connection: &Connection) {
        *lock(&self.running) = Some(connection.get_interrupt_handle());
    }

    fn end(&self) {
        *lock(&self.running) = None;
    }
}

/// Held by the waiting caller; dropping it stops the reading thread.
#[derive(Default)]
struct CancelOnDrop(Arc<ReadControl>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancelled.store(true, Ordering::Relaxed);
        // The progress handler sees the flag; the interrupt also ends a step that is long in
        // itself, such as counting a table.
        if let Some(handle) = lock(&self.0.running).as_ref() {
            handle.interrupt();
        }
    }
}

type EncodedChunk = SqlResult<Bytes>;
type StreamStart = SqlResult<(mpsc::Receiver<EncodedChunk>, CancelOnDrop)>;

/// A streamed result from the point of view of its reader.
enum StreamedRows {
    Starting(std::pin::Pin<Box<dyn Future<Output = StreamStart>>>),
    Running(mpsc::Receiver<EncodedChunk>, CancelOnDrop),
    Ended,
}

impl StreamedRows {
    async fn next(self) -> Option<(Result<Bytes, Error>, StreamedRows)> {
        let (mut receiver, leash) = match self {
            StreamedRows::Ended => return None,
            StreamedRows::Running(receiver, leash) => (receiver, leash),
            StreamedRows::Starting(start) => match start.await {
                Ok(started) => started,
                Err(fault) => return Some((Err(fault.into()), StreamedRows::Ended)),
            },
        };
        match receiver.recv().await? {
            Ok(bytes) => Some((Ok(bytes), StreamedRows::Running(receiver, leash))),
            Err(fault) => Some((Err(fault.into()), StreamedRows::Ended)),
        }
    }
}

/// Passes a piece on from the reading thread.
fn pass_on(
    timer: &Handle,
    sender: &mpsc::Sender<EncodedChunk>,
    chunk: EncodedChunk,
) -> SqlResult<()> {
    let Err(mpsc::error::TrySendError::Full(chunk)) = sender.try_send(chunk) else {
        return match sender.is_closed() {
            true => Err(SqlFault::new(Kind::Cancelled, "the reader of the result is gone")),
            false => Ok(()),
        };
    };
    let sent =
        timer.block_on(async { tokio::time::timeout(STREAM_PATIENCE, sender.send(chunk)).await });
    match sent {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) => Err(SqlFault::new(Kind::Cancelled, "the reader of the result is gone")),
        Err(_) => Err(SqlFault::new(Kind::Timeout, "the result was not read on for too long")),
    }
}
