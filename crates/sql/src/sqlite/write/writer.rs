//! The one thread that writes to a database, and the group commit.
//!
//! WriteJobs of all workers wait in one bounded queue. The thread takes those that wait, runs them inside
//! one transaction, commits, and only then answers: each answer is durable, and many of them share
//! one flush of the disk. A job that fails undoes its own work only: when one does, all run again,
//! each in a savepoint of its own, which the jobs of usual days are spared. Where a failure takes the
//! whole transaction with it (a deferred constraint at the commit, a conflict clause `ROLLBACK`), the
//! jobs run again one by one, so that each has its own fate.
//!
//! What needs the writer to itself (a transaction of a program, many rows at once, a migration)
//! waits in the same queue: earlier jobs are committed first, later ones wait.

use crate::database::slow;
use crate::sqlite::connection::authorizer::WriteAuthorizer;
use crate::sqlite::connection::database_file::{DatabaseFile, Role};
use crate::sqlite::connection::file_health::FileHealth;
use crate::sqlite::connection::file_lock::begin_immediate;
use crate::sqlite::connection::statement_counts;
use crate::sqlite::connection::stop_flag::{StopFlag, is_over, until};
use crate::sqlite::fault::{SqlFault, SqlFaultCause, SqlResult};
use crate::sqlite::options::SqliteOptions;
use crate::sqlite::write::backlog::{WRITE_QUEUE, WriteBacklog};
use crate::sqlite::write::change_feed::{ChangeFeed, OTHERS_INTERVAL};
use crate::sqlite::write::job::WriteJob;
use crate::sqlite::write::queue::{Next, Refused, ThreadQueue};
use crate::sqlite::write::reply::ReplyQueue;
use runnel_store::{Answer, Count, Kind, Watchers};
use rusqlite::Connection;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// The most writes that share one transaction.
pub const WRITE_GROUP: usize = 1024;

/// How long a transaction takes up further writes before it commits.
pub const WRITE_GROUP_TIME: Duration = Duration::from_millis(10);

/// Transactions after one in which a job failed whose jobs have savepoints from the start: failures
/// come together, and running all jobs twice costs more.
const CAREFUL: u32 = 64;

/// Pages in the write-ahead log from which on it is carried over into the database file, between
/// two transactions.
pub(crate) const CHECKPOINT_PAGES: u32 = 1000;

/// The writer of one database. Dropping it runs what is queued, closes the database and ends the
/// thread.
pub(crate) struct SqliteWriter {
    queue: Arc<ThreadQueue<WriterTask>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    counters: Arc<WriterCounters>,
    line: Arc<WriteBacklog>,
    pub(crate) watchers: Watchers,
    /// Decides about statements of programs on the writer's connection.
    pub(crate) guard: WriteAuthorizer,
    pub(crate) health: Arc<FileHealth>,
}

/// What waits for the writer.
pub(crate) enum WriterTask {
    /// Shares a transaction with others.
    Write(Box<dyn WriteJob>),
    /// Has the writer to itself.
    Alone(Box<dyn ExclusiveTask>),
}

/// Work that has the writer to itself and answers by itself. A transaction that it leaves open is
/// rolled back.
pub(crate) trait ExclusiveTask: Send {
    fn run(self: Box<Self>, session: &WriterSession);
}

#[derive(Default)]
struct WriterCounters {
    /// Counted by SQLite's commit hook, that is just before a commit is done.
    commits: AtomicU64,
    /// Counted after a commit and before its writes are answered.
    generation: AtomicU64,
    log_pages: AtomicI32,
}

struct QueuedWrite<T, F> {
    work: F,
    /// Absent as long as it has not run.
    result: Option<SqlResult<T>>,
    sender: oneshot::Sender<SqlResult<T>>,
    deadline: Option<Instant>,
    /// Where it is to be answered, where not by the writer itself.
    home: Option<ReplyQueue>,
}

/// A job, and where its result will come from.
pub(crate) fn job<T, F>(
    deadline: Option<Instant>,
    home: Option<ReplyQueue>,
    work: F,
) -> (Box<dyn WriteJob>, oneshot::Receiver<SqlResult<T>>)
where
    T: Send + 'static,
    F: FnMut(&Connection) -> SqlResult<T> + Send + 'static,
{
    let (sender, receiver) = oneshot::channel();
    (Box::new(QueuedWrite { work, result: None, sender, deadline, home }), receiver)
}

impl<T, F> WriteJob for QueuedWrite<T, F>
where
    T: Send + 'static,
    F: FnMut(&Connection) -> SqlResult<T> + Send + 'static,
{
    fn is_obsolete(&self) -> bool {
        self.sender.is_closed() || is_over(self.deadline)
    }

    fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    fn run(&mut self, connection: &Connection) -> bool {
        // A fault of ours in one write must not take the writer away from all others.
        let result = catch_unwind(AssertUnwindSafe(|| (self.work)(connection)));
        let result =
            result.unwrap_or_else(|_| Err(SqlFault::new(Kind::Failed, "the write failed")));
        let is_good = result.is_ok();
        self.result = Some(result);
        is_good
    }

    fn fail(&mut self, fault: SqlFault) {
        self.result = Some(Err(fault));
    }

    fn fault(&self) -> Option<&SqlFault> {
        self.result.as_ref()?.as_ref().err()
    }

    fn answer(mut self: Box<Self>) {
        match self.home.take() {
            Some(home) => home.carry(self),
            // The caller may be gone: the write happened all the same.
            None => {
                let result = self.result.unwrap_or_else(|| Err(SqlFault::timeout()));
                drop(self.sender.send(result));
            }
        }
    }
}

impl SqliteWriter {
    /// Opens the database, on this thread so that errors are answered at once, and starts the
    /// writer.
    pub(crate) fn start(
        place: &DatabaseFile,
        options: &SqliteOptions,
        numbers: &Arc<runnel_store::Counters>,
    ) -> SqlResult<Self> {
        let mut connection = place.connect(Role::Writer, options)?;
        let counters = Arc::new(WriterCounters::default());
        let counted = counters.clone();
        let count = move || {
            counted.commits.fetch_add(1, Ordering::Relaxed);
            false
        };
        connection.commit_hook(Some(count))?;
        let logged = counters.clone();
        let log = move |_: &mut rusqlite::hooks::Wal, pages| {
            logged.log_pages.store(pages, Ordering::Relaxed);
            Ok(())
        };
        connection.wal_hook(Some(log))?;
        let stop = StopFlag::install(&mut connection)?;
        let guard = WriteAuthorizer::install(&mut connection)?;
        let health = Arc::new(FileHealth::of(place));
        let queue = ThreadQueue::new(WRITE_QUEUE);
        let (jobs, counts, told) = (queue.clone(), counters.clone(), numbers.clone());
        let (watchers, watched) = (Watchers::new(), health.clone());
        let feed = ChangeFeed::new(watchers.clone());
        let busy_timeout = options.busy_timeout;
        let slow_time = options.slow_statement_time;
        let thread = std::thread::Builder::new()
            .name("sqlite writer".into())
            .spawn(move || {
                let _closing = QueueCloser(jobs.clone());
                slow::set_threshold(slow_time);
                let (counters, numbers, writes) = (counts, told, Cell::new(0));
                let careful = Cell::new(0);
                let session = WriterSession {
                    connection,
                    stop,
                    jobs,
                    counters,
                    numbers,
                    writes,
                    careful,
                    feed,
                    health: watched,
                    busy_timeout,
                };
                session.serve();
            })
            .map_err(|_| SqlFault::new(Kind::Unavailable, "no thread for the writer"))?;
        let line = WriteBacklog::new(options.pool_timeout, numbers.clone());
        let thread = Mutex::new(Some(thread));
        Ok(SqliteWriter { queue, thread, counters, line, watchers, guard, health })
    }

    /// Runs work in the writer's next transaction (within an event loop as [`ReplyQueue::here`] needs it).
    /// It is queued now, in the order of the calls; dropping the answer before it runs takes it
    /// back. The work may be run more than once, of which only the last counts.
    pub(crate) fn write<T, F>(&self, deadline: Option<Instant>, work: F) -> Answer<T>
    where
        T: Send + 'static,
        F: FnMut(&Connection) -> SqlResult<T> + Send + 'static,
    {
        let (job, receiver) = job(deadline, Some(ReplyQueue::here()), work);
        self.queue(WriterTask::Write(job), receiver, deadline)
    }

    /// Queues a task now; what it sends is the answer.
    pub(crate) fn queue<T: Send + 'static>(
        &self,
        task: WriterTask,
        receiver: oneshot::Receiver<SqlResult<T>>,
        deadline: Option<Instant>,
    ) -> Answer<T> {
        let answer =
            async move { Ok(until(deadline, receiver).await?.map_err(|_| SqlFault::stopped())??) };
        let (task, place) = match self.queue.push(task) {
            Ok(()) => return Answer::later(answer),
            Err(Refused::Closed) => return Answer::Ready(Err(SqlFault::stopped().into())),
            Err(Refused::Full(task)) => match WriteBacklog::enter(&self.line) {
                Ok(place) => (task, place),
                Err(fault) => return Answer::Ready(Err(fault.into())),
            },
        };
        let queue = self.queue.clone();
        Answer::later(async move {
            place.wait(deadline, queue.wait(task)).await?;
            answer.await
        })
    }

    /// Transactions committed since the writer was started.
    pub(crate) fn commits(&self) -> u64 {
        self.counters.commits.load(Ordering::Relaxed)
    }

    /// A number that is another one after every write that was answered.
    pub(crate) fn generation(&self) -> u64 {
        self.counters.generation.load(Ordering::Acquire)
    }

    /// Runs what is queued and closes the database, within a time: what is not carried over into
    /// the file by then stays in the write-ahead log.
    pub(crate) fn close(&self, patience: Duration) {
        self.queue.close();
        let Some(thread) = self.take_thread() else { return };
        let end = Instant::now() + patience;
        while !thread.is_finished() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn take_thread(&self) -> Option<JoinHandle<()>> {
        self.thread.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Drop for SqliteWriter {
    fn drop(&mut self) {
        self.queue.close();
        if let Some(thread) = self.take_thread() {
            let _ = thread.join();
        }
    }
}

/// Ends the wait of all callers when the thread ends, for any reason.
struct QueueCloser(Arc<ThreadQueue<WriterTask>>);

impl Drop for QueueCloser {
    fn drop(&mut self) {
        self.0.close();
        while self.0.try_next().is_some() {}
    }
}

/// The thread's own state.
pub(crate) struct WriterSession {
    pub(crate) connection: Connection,
    stop: StopFlag,
    jobs: Arc<ThreadQueue<WriterTask>>,
    counters: Arc<WriterCounters>,
    numbers: Arc<runnel_store::Counters>,
    /// Done in the transaction that is open.
    writes: Cell<u64>,
    /// How many further transactions give each job a savepoint from the start.
    careful: Cell<u32>,
    feed: ChangeFeed,
    health: Arc<FileHealth>,
    /// How long it waits for the lock of the file.
    busy_timeout: Duration,
}

type WriteJobs = Vec<Box<dyn WriteJob>>;

impl WriterSession {
    fn serve(mut self) {
        let mut left = None;
        while let Some(task) = left.take().or_else(|| self.next()) {
            self.feed.prepare(&mut self.connection);
            match task {
                WriterTask::Write(job) => left = self.round(job),
                WriterTask::Alone(alone) => self.alone(alone),
            }
            self.checkpoint();
        }
        self.feed.end(&mut self.connection);
        if self.health.is_log_foreign() {
            // The end of the last connection would remove the log of another program.
            return std::mem::forget(self.connection);
        }
        // Other processes may have it open: then the log stays, but nothing in it is needed.
        let is_whole = self.carry_over();
        if let Err((_, error)) = self.connection.close() {
            tracing::warn!(%error, "the database was not closed cleanly");
        }
        if is_whole {
            self.health.remove_stray_log();
        }
    }

    /// The next task. While there are watchers, polls for writes by other processes.
    fn next(&self) -> Option<WriterTask> {
        loop {
            if !self.feed.is_watched() {
                return self.jobs.next();
            }
            match self.jobs.next_until(Instant::now() + OTHERS_INTERVAL) {
                Next::Item(task) => return Some(task),
                Next::Closed => return None,
                Next::Late => self.feed.poll_others(&self.connection),
            }
        }
    }

    /// A fault of ours in one task must not take the writer away from all others.
    fn alone(&self, alone: Box<dyn ExclusiveTask>) {
        if catch_unwind(AssertUnwindSafe(|| alone.run(self))).is_err() {
            tracing::error!("a task of the writer failed");
        }
        self.roll_back();
    }

    /// One transaction with all waiting jobs. An exclusive task ends it and is returned.
    fn round(&self, first: Box<dyn WriteJob>) -> Option<WriterTask> {
        let mut left = None;
        let mut waiting = || match self.jobs.try_next()? {
            WriterTask::Write(job) => Some(job),
            alone => {
                left = Some(alone);
                None
            }
        };
        match self.begin() {
            Ok(()) => self.group(first, &mut waiting),
            Err(fault) => {
                // The other waiting jobs would wait as long again and fail as well.
                let mut jobs = vec![first];
                jobs.extend(std::iter::from_fn(waiting));
                answer_all(jobs, Some(fault));
            }
        }
        left
    }

    fn group(
        &self,
        first: Box<dyn WriteJob>,
        waiting: &mut dyn FnMut() -> Option<Box<dyn WriteJob>>,
    ) {
        let started = Instant::now();
        let mut careful = self.is_careful();
        let mut jobs = WriteJobs::new();
        let mut next = Some(first);
        while let Some(mut job) = next.take() {
            let kept = match careful {
                true => self.attempt(job.as_mut(), None),
                false => self.attempt_bare(job.as_mut()),
            };
            jobs.push(job);
            if !kept && careful {
                return self.one_by_one(jobs);
            }
            if !kept {
                careful = true;
                match self.again_with_care(&mut jobs) {
                    Ok(true) => {}
                    Ok(false) => return self.one_by_one(jobs),
                    Err(fault) => return answer_all(jobs, Some(fault)),
                }
            }
            if jobs.len() < WRITE_GROUP && started.elapsed() < WRITE_GROUP_TIME {
                next = waiting();
            }
        }
        match self.commit() {
            Ok(()) => answer_all(jobs, None),
            Err(fault) if fault.cause == SqlFaultCause::Constraint && jobs.len() > 1 => {
                self.one_by_one(jobs);
            }
            Err(fault) => answer_all(jobs, Some(fault)),
        }
    }

    /// Whether each job of this transaction has a savepoint from the start.
    fn is_careful(&self) -> bool {
        let left = self.careful.get();
        self.careful.set(left.saturating_sub(1));
        left > 0
    }

    /// Begins once more after the last of the jobs has failed without a savepoint. Answers whether
    /// the transaction stands.
    fn again_with_care(&self, jobs: &mut WriteJobs) -> SqlResult<bool> {
        self.roll_back();
        if jobs.len() > 1 {
            self.careful.set(CAREFUL);
        }
        self.begin()?;
        Ok(jobs.iter_mut().all(|job| self.attempt(job.as_mut(), None)))
    }

    /// Each job in a transaction of its own.
    fn one_by_one(&self, jobs: WriteJobs) {
        for mut job in jobs {
            let done = self.begin().and_then(|()| {
                if self.attempt(job.as_mut(), None) { self.commit() } else { Ok(()) }
            });
            if let Err(fault) = done {
                job.fail(fault);
            }
            job.answer();
        }
    }

    /// Runs a job in the transaction as it is. Answers whether it went well; if not, what it did is not
    /// undone.
    fn attempt_bare(&self, job: &mut dyn WriteJob) -> bool {
        if job.is_obsolete() {
            job.fail(SqlFault::timeout());
            return true;
        }
        let deadline = job.deadline();
        let good = self.run(job, deadline);
        self.writes.set(self.writes.get() + 1);
        good && !self.connection.is_autocommit()
    }

    fn run(&self, job: &mut dyn WriteJob, end: Option<Instant>) -> bool {
        let good = self.stop.during(end, || job.run(&self.connection));
        if let Some(fault) = job.fault() {
            self.health.note(fault);
        }
        statement_counts::flush_work(&self.numbers);
        good
    }

    /// Runs a job in a savepoint, stopped at its deadline or at the given end. Answers whether the
    /// transaction still stands.
    pub(crate) fn attempt(&self, job: &mut dyn WriteJob, end: Option<Instant>) -> bool {
        if job.is_obsolete() {
            job.fail(SqlFault::timeout());
            return true;
        }
        if let Err(fault) = self.execute("SAVEPOINT job") {
            job.fail(fault);
            return !self.connection.is_autocommit();
        }
        let end = job.deadline().into_iter().chain(end).min();
        let mark = self.feed.mark();
        let good = self.run(job, end);
        if self.connection.is_autocommit() {
            return false;
        }
        let undone = match good {
            true => {
                self.writes.set(self.writes.get() + 1);
                Ok(())
            }
            false => {
                self.feed.forget_since(mark);
                self.execute("ROLLBACK TO job")
            }
        };
        match undone.and_then(|()| self.execute("RELEASE job")) {
            Ok(()) => true,
            Err(fault) => {
                job.fail(fault);
                self.roll_back();
                false
            }
        }
    }

    pub(crate) fn begin(&self) -> SqlResult<()> {
        let begun = begin_immediate(&self.connection, self.busy_timeout);
        begun.inspect_err(|fault| self.health.note(fault))?;
        self.health.check().inspect_err(|_| self.roll_back())?;
        self.writes.set(0);
        self.feed.begin(&self.connection);
        Ok(())
    }

    pub(crate) fn commit(&self) -> SqlResult<()> {
        let told = self.feed.settle(&self.connection);
        self.execute("COMMIT").inspect_err(|_| self.roll_back())?;
        // Committed into a file that is gone is lost: that is no acknowledgement.
        self.health.check_place()?;
        self.counters.generation.fetch_add(1, Ordering::Release);
        self.numbers.add(Count::Commits, 1);
        // What has the writer to itself counts as one.
        self.numbers.add(Count::Writes, self.writes.take().max(1));
        self.feed.publish(told);
        Ok(())
    }

    pub(crate) fn roll_back(&self) {
        if !self.connection.is_autocommit()
            && let Err(fault) = self.execute("ROLLBACK")
        {
            tracing::error!(?fault, "a transaction could not be rolled back");
        }
    }

    /// Runs something that is stopped at a moment.
    pub(crate) fn until<T>(&self, moment: Option<Instant>, work: impl FnOnce() -> T) -> T {
        self.stop.during(moment, work)
    }

    pub(crate) fn execute(&self, sql: &str) -> SqlResult<()> {
        self.connection.prepare_cached(sql)?.execute([])?;
        Ok(())
    }

    /// Carries a long log over into the file, after the answers, so that none waits for it.
    /// Readers are not disturbed; what they still need stays in the log.
    fn checkpoint(&self) {
        if self.counters.log_pages.load(Ordering::Relaxed) < CHECKPOINT_PAGES as i32 {
            return;
        }
        self.counters.log_pages.store(0, Ordering::Relaxed);
        self.carry_over();
    }

    /// Answers whether the file has everything now.
    fn carry_over(&self) -> bool {
        let done = self.connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| {
            Ok((row.get::<_, i64>(1)?, row.get::<_, i64>(2)?))
        });
        match done {
            Ok((frames, carried)) => frames == carried,
            Err(error) => {
                tracing::warn!(%error, "the write-ahead log was not carried over");
                false
            }
        }
    }
}

/// Answers jobs after their transaction: with their results, or with what became of them all.
fn answer_all(jobs: WriteJobs, fault: Option<SqlFault>) {
    for mut job in jobs {
        if let Some(fault) = &fault {
            job.fail(fault.clone());
        }
        job.answer();
    }
}
