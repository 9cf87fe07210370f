//! A read transaction that stands between reads.
//!
//! A read by itself takes a lock of the database and gives it back: three calls of the system, which
//! cost more than a few rows. While nothing is committed, reads one after the other see the same, so
//! that they can share one transaction; whether something was committed tells the index of the log
//! ([`crate::sqlite::connection::wal_index`]) before each of them.
//!
//! A transaction that stands keeps the log from being started anew. So it stands only after many
//! reads without a change between them, for a short time, and not while the log is long
//! (<https://sqlite.org/wal.html>, "Avoiding Excessively Large WAL Files").

use crate::sqlite::connection::database_file::Own;
use crate::sqlite::connection::wal_index::WalIndex;
use crate::sqlite::fault::SqlResult;
use crate::sqlite::read::fold::FoldStatements;
use rusqlite::Connection;
use std::cell::{Cell, OnceCell, Ref, RefCell};
use std::rc::{Rc, Weak};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Reads without a change between them after which a transaction may stand.
const CALM: u32 = 64;

/// How long one stands at most.
const LONGEST: Duration = Duration::from_millis(10);

/// Not taken for another statement of the same text: those of programs are refused.
const BEGIN: &str = "BEGIN -- a shared read";
const END: &str = "COMMIT -- a shared read";

thread_local! {
    /// The connections for reading of this thread.
    static OPEN: RefCell<Vec<Weak<SharedSnapshot>>> = const { RefCell::new(Vec::new()) };
}

/// A connection for reading, and the transaction that stands on it.
pub(crate) struct SharedSnapshot {
    // Dropped before the connection is closed, which a later field does.
    pub(crate) folding: FoldStatements,
    /// Of the connection, from its first read on; not used once that is closed.
    index: OnceCell<Option<WalIndex>>,
    is_closed: Cell<bool>,
    connection: RefCell<Connection>,
    /// Lets this begin and end transactions, which statements of programs may not.
    own: Own,
    stands: Cell<bool>,
    /// How many reads found no change.
    calm: Cell<u32>,
}

impl SharedSnapshot {
    pub(crate) fn new(connection: Connection, own: Own) -> Rc<SharedSnapshot> {
        let snapshot = Rc::new(SharedSnapshot {
            folding: FoldStatements::default(),
            index: OnceCell::new(),
            is_closed: Cell::new(false),
            connection: RefCell::new(connection),
            own,
            stands: Cell::new(false),
            calm: Cell::new(0),
        });
        OPEN.with_borrow_mut(|open| {
            open.retain(|one| one.strong_count() > 0);
            open.push(Rc::downgrade(&snapshot));
        });
        snapshot
    }

    pub(crate) fn connection(&self) -> Ref<'_, Connection> {
        self.connection.borrow()
    }

    pub(crate) fn index(&self) -> Option<&WalIndex> {
        if self.is_closed.get() {
            return None;
        }
        let index = self.index.get_or_init(|| {
            let connection = self.connection();
            // The connection's first read maps it.
            let version = connection.pragma_query_value(None, "schema_version", |_| Ok(()));
            version.ok().and_then(|()| WalIndex::of_connection(&connection))
        });
        index.as_ref()
    }

    /// Closes the connections of this thread, whose event loop has ended. A program is not taken
    /// apart at its end, but its databases are closed.
    pub(crate) fn close_all() {
        for snapshot in OPEN.take().iter().filter_map(Weak::upgrade) {
            snapshot.close();
        }
    }

    /// In its place stays an empty database in memory.
    fn close(&self) {
        self.release();
        self.folding.clear();
        self.is_closed.set(true);
        if let (Ok(empty), Ok(mut connection)) =
            (Connection::open_in_memory(), self.connection.try_borrow_mut())
        {
            *connection = empty;
        }
    }

    /// Whether a transaction stands.
    pub(crate) fn is_open(&self) -> bool {
        self.stands.get()
    }

    /// A read is to come, and nothing has changed since the last one. Begins a transaction that is to
    /// stand, where it may, and answers whether it did: the read then says what it sees.
    pub(crate) fn begin(self: &Rc<Self>, may: impl FnOnce() -> bool) -> SqlResult<bool> {
        if self.calm.get() < CALM {
            self.calm.set(self.calm.get() + 1);
            return Ok(false);
        }
        if !may() || tokio::runtime::Handle::try_current().is_err() {
            return Ok(false);
        }
        self.execute(BEGIN)?;
        self.stands.set(true);
        // A transaction begins with its first read, and not every statement reads.
        self.connection().prepare_cached("SELECT 1 FROM sqlite_schema")?.exists([])?;
        tokio::task::spawn_local(end_later(Rc::downgrade(self)));
        Ok(true)
    }

    /// Something has changed, or a read went wrong.
    pub(crate) fn end(&self) {
        self.calm.set(0);
        self.release();
    }

    fn release(&self) {
        if !self.stands.replace(false) {
            return;
        }
        if let Err(error) = self.execute(END)
            && !self.connection().is_autocommit()
        {
            // The next statement says what is wrong, if something still is.
            tracing::error!(%error, "a read transaction did not end");
        }
    }

    fn execute(&self, sql: &str) -> rusqlite::Result<()> {
        self.own.store(true, Ordering::Relaxed);
        let connection = self.connection();
        let prepared = connection.prepare_cached(sql);
        self.own.store(false, Ordering::Relaxed);
        prepared?.execute([]).map(drop)
    }
}

/// Ends the transaction after its time. If that one has ended before, a newer one ends too early,
/// which only costs the next read its system calls.
async fn end_later(snapshot: Weak<SharedSnapshot>) {
    tokio::time::sleep(LONGEST).await;
    if let Some(snapshot) = snapshot.upgrade() {
        snapshot.release();
    }
}
