//! What all openings of one database in a process share: its writer and its pool of readers.

use crate::sqlite::connection::database_file::DatabaseFile;
use crate::sqlite::fault::{SqlFault, SqlResult};
use crate::sqlite::options::SqliteOptions;
use crate::sqlite::read::pool::ReadPool;
use crate::sqlite::write::writer::SqliteWriter;
use runnel_store::{Answer, Counters, Kind};
use rusqlite::Connection;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

/// How long the end of the process waits for a writer that is still busy.
pub const CLOSE_TIME: Duration = Duration::from_secs(2);

/// One database in this process. When the last handle goes, the writer runs what waits and closes
/// the file.
pub(crate) struct SharedDatabase {
    pub(crate) place: DatabaseFile,
    pub(crate) options: SqliteOptions,
    pub(crate) pool: Arc<ReadPool>,
    pub(crate) writer: SqliteWriter,
    pub(crate) counters: Arc<Counters>,
}

/// The databases that are open, by their place. There are few, and opening is rare.
static OPEN: Mutex<Vec<(DatabaseFile, Weak<SharedDatabase>)>> = Mutex::new(Vec::new());

impl SharedDatabase {
    /// Finds the database of a place, or opens it.
    pub(crate) fn open(place: DatabaseFile, options: SqliteOptions) -> SqlResult<Arc<Self>> {
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|(_, shared)| shared.strong_count() > 0);
        let known = open.iter().find(|(known, _)| *known == place);
        if let Some(shared) = known.and_then(|(_, shared)| shared.upgrade()) {
            if shared.options != options {
                let message = "the database is open with other options; open it with the same";
                return Err(SqlFault::new(Kind::Conflict, message));
            }
            return Ok(shared);
        }
        let counters = Counters::of("sqlite", &place.to_string());
        let writer = SqliteWriter::start(&place, &options, &counters)?;
        let health = writer.health.clone();
        let pool =
            Arc::new(ReadPool::new(place.clone(), options.clone(), counters.clone(), health));
        let shared =
            Arc::new(SharedDatabase { place: place.clone(), options, pool, writer, counters });
        open.push((place, Arc::downgrade(&shared)));
        Ok(shared)
    }

    /// Closes all databases at the end of the process, when no event loop runs any more: what they
    /// have committed is then in their files, and the write-ahead logs are gone where no other
    /// process uses them.
    pub(crate) fn close_all() {
        let open = std::mem::take(&mut *OPEN.lock().unwrap_or_else(PoisonError::into_inner));
        for shared in open.iter().filter_map(|(_, shared)| shared.upgrade()) {
            shared.pool.close();
            shared.writer.close(CLOSE_TIME);
        }
    }

    /// Queues work for the writer: see [`SqliteWriter::write`].
    pub(crate) fn write<T, F>(&self, deadline: Option<Instant>, work: F) -> Answer<T>
    where
        T: Send + 'static,
        F: FnMut(&Connection) -> SqlResult<T> + Send + 'static,
    {
        match self.writable() {
            Ok(()) => self.writer.write(deadline, work),
            Err(fault) => Answer::Ready(Err(fault.into())),
        }
    }

    pub(crate) fn writable(&self) -> SqlResult<()> {
        match self.options.read_only {
            true => Err(SqlFault::new(Kind::Denied, "the database is opened for reading only")),
            false => Ok(()),
        }
    }

    pub(crate) fn commits(&self) -> u64 {
        self.writer.commits()
    }

    /// A number that is another one after every write of this process that was answered.
    pub(crate) fn generation(&self) -> u64 {
        self.writer.generation()
    }
}
