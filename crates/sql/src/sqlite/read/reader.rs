//! A worker's own reading connection: reads run on it at once, within a budget.

use crate::sqlite::connection::database_file::{Role, Volatile, watch};
use crate::sqlite::connection::statement_counts;
use crate::sqlite::connection::stop_flag::{StopFlag, is_over};
use crate::sqlite::connection::wal_index::{Version, WalIndex};
use crate::sqlite::fault::{SqlFault, SqlResult};
use crate::sqlite::read::answer_cache::{AnswerCache, CachedAnswer};
use crate::sqlite::read::encode::{self, ENCODING_LIMIT, SizeWatch};
use crate::sqlite::read::fold;
use crate::sqlite::read::select::{SEED, SqliteSelect};
use crate::sqlite::read::shared_snapshot::SharedSnapshot;
use crate::sqlite::schema::catalog::TableInfo;
use crate::sqlite::write::shared::SharedDatabase;
use bytes::Bytes;
use runnel_store::{Answer, Count, EntityTag, Form, Value};
use rusqlite::Connection;
use rustc_hash::FxHashMap;
use std::cell::{Cell, Ref, RefCell};
use std::hash::BuildHasher;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long a read may run on a worker's own thread. What takes longer is stopped and runs again,
/// from the start, where waiting is allowed: so the worst delay for the worker's other requests
/// is this, and what is done twice is never more than this.
pub const READ_BUDGET: Duration = Duration::from_millis(2);

/// The largest result that is encoded on a worker's own thread, in bytes.
pub const READ_SIZE: usize = 1 << 20;

/// Pages (of usually 4 KiB) of a database up to which all rows are counted on the worker's own
/// thread: the count is one step of SQLite and cannot be interrupted by the budget.
const COUNT_PAGES: i64 = 2_000;

/// Entity tags that are remembered, each as long as no other one takes its place.
const TAGS: usize = 16;

/// Statements of programs whose properties are remembered.
const REMEMBERED: usize = 256;

/// The first and the longest pause before a read is tried again while another process holds a
/// lock that excludes readers. (With a write-ahead log this is rare: recovery, or the last
/// connection closing. A database in memory excludes readers during every write.)
const PAUSES: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(50));

/// The version of a database as one connection sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DatabaseVersion {
    /// Another number after each change by another connection (the reader itself never writes).
    pub(crate) data: i64,
    /// Another number after each change of the tables' form.
    pub(crate) schema: i64,
    /// Which answered writes of this process are certainly in it: see [`SharedDatabase::generation`].
    pub(crate) generation: u64,
}

/// Where a read runs, for reads that do less on a thread that must not wait.
#[derive(Clone, Copy)]
pub(crate) enum ReadSite<'a> {
    Worker(&'a fold::FoldStatements),
    Pool,
}

/// A worker's own reading connection.
pub(crate) struct SqliteReader {
    pub(crate) shared: Arc<SharedDatabase>,
    snapshot: Rc<SharedSnapshot>,
    /// The version of the log to which the stamp belongs, where that is certain.
    version: Cell<Option<Version>>,
    stop: StopFlag,
    /// Tells the versions of different connections apart in entity tags.
    number: u64,
    stamp: Cell<DatabaseVersion>,
    tables: RefCell<FxHashMap<String, Rc<TableInfo>>>,
    statements: RefCell<FxHashMap<Box<str>, StatementTraits>>,
    volatile: Volatile,
    shelf: RefCell<AnswerCache>,
    tags: RefCell<[Option<CachedTag>; TAGS]>,
}

/// The entity tag of an answer at a version.
struct CachedTag {
    of: (i64, u64),
    tag: EntityTag,
}

/// What is known of a statement of a program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StatementTraits {
    pub(crate) reads_only: bool,
    pub(crate) columns: usize,
    pub(crate) parameters: usize,
    /// Whether its answer can change only when the database does.
    pub(crate) steady: bool,
}

impl SqliteReader {
    pub(crate) fn open(shared: Arc<SharedDatabase>) -> SqlResult<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let mut connection = shared.place.connect(Role::Worker, &shared.options)?;
        fold::install(&connection)?;
        let (volatile, own) = watch(&mut connection)?;
        let stop = StopFlag::install(&mut connection)?;
        Ok(SqliteReader {
            shared,
            snapshot: SharedSnapshot::new(connection, own),
            version: Cell::default(),
            stop,
            number: NUMBER.fetch_add(1, Ordering::Relaxed),
            stamp: Cell::default(),
            tables: RefCell::default(),
            statements: RefCell::default(),
            volatile,
            shelf: RefCell::default(),
            tags: RefCell::default(),
        })
    }

    /// Runs work in one read transaction, told the version of the database in it.
    pub(crate) fn snapshot<T>(
        &self,
        work: impl FnOnce(&Connection, DatabaseVersion) -> SqlResult<T>,
    ) -> SqlResult<T> {
        if self.snapshot.is_open() {
            if let Some(stamp) = self.unchanged() {
                return self.within(|connection| work(connection, stamp));
            }
            self.snapshot.end();
        }
        // Read first: a commit between the two counts as not seen yet.
        let generation = self.shared.generation();
        let before = self.log_version();
        // While this statement has not come to its end, everything else that the connection
        // reads belongs to the same transaction.
        let connection = self.connection();
        let mut statement = connection.prepare_cached("PRAGMA data_version")?;
        let mut rows = statement.query([])?;
        let data = match rows.next()? {
            Some(row) => row.get(0)?,
            None => 0,
        };
        let mut stamp = DatabaseVersion { generation, ..self.stamp.get() };
        if data != stamp.data {
            let mut schema = connection.prepare_cached("PRAGMA schema_version")?;
            let schema = schema.query_row([], |row| row.get(0))?;
            if schema != stamp.schema {
                self.tables.borrow_mut().clear();
                self.statements.borrow_mut().clear();
            }
            stamp = DatabaseVersion { data, schema, generation };
            self.stamp.set(stamp);
        }
        // The same before and after: what was read belongs to it.
        self.version.set(before.filter(|_| before == self.log_version()));
        work(&connection, stamp)
    }

    /// The version of the database, when nothing was committed since it was last read; it costs no
    /// call of the system. `None` when that cannot be said.
    pub(crate) fn unchanged(&self) -> Option<DatabaseVersion> {
        // Read first, as in `snapshot`.
        let generation = self.shared.generation();
        let known = self.version.get()?;
        (self.log_version()? == known).then(|| DatabaseVersion { generation, ..self.stamp.get() })
    }

    /// Like [`SqliteReader::snapshot`], for a single statement: it runs by itself when nothing was
    /// committed before and until it ended, or in the transaction that stands.
    pub(crate) fn steadily<T>(
        &self,
        work: impl Fn(&Connection, DatabaseVersion) -> SqlResult<T>,
    ) -> SqlResult<(T, DatabaseVersion)> {
        if let Some(stamp) = self.unchanged() {
            let stood = self.snapshot.is_open();
            if !stood {
                let may = || self.index().is_some_and(WalIndex::is_short);
                self.within(|_| self.snapshot.begin(may))?;
            }
            let found = self.within(|connection| work(connection, stamp))?;
            if stood || self.unchanged().is_some() {
                return Ok((found, stamp));
            }
            self.snapshot.end();
        }
        self.snapshot(|connection, stamp| Ok((work(connection, stamp)?, stamp)))
    }

    /// Reads in the transaction that stands, if one does. It ends with an error.
    fn within<T>(&self, work: impl FnOnce(&Connection) -> SqlResult<T>) -> SqlResult<T> {
        work(&self.connection()).inspect_err(|_| self.snapshot.end())
    }

    fn connection(&self) -> Ref<'_, Connection> {
        self.snapshot.connection()
    }

    fn index(&self) -> Option<&WalIndex> {
        self.snapshot.index()
    }

    /// Whether writers do not exclude it.
    pub(crate) fn has_log(&self) -> bool {
        self.index().is_some()
    }

    fn log_version(&self) -> Option<Version> {
        self.index()?.version()
    }

    /// The description of a table; to be asked within [`SqliteReader::snapshot`].
    pub(crate) fn table(&self, name: &str) -> SqlResult<Option<Rc<TableInfo>>> {
        if let Some(known) = self.tables.borrow().get(name) {
            return Ok(Some(known.clone()));
        }
        let found = TableInfo::read(&self.connection(), name)?.map(Rc::new);
        if let Some(info) = &found {
            // Under its own name only: what else a client calls it must not fill the memory.
            self.tables.borrow_mut().insert(info.name.clone(), info.clone());
        }
        Ok(found)
    }

    /// What a statement of a program is.
    pub(crate) fn traits(&self, sql: &str) -> SqlResult<StatementTraits> {
        if let Some(known) = self.statements.borrow().get(sql) {
            return Ok(*known);
        }
        self.volatile.store(false, Ordering::Relaxed);
        let connection = self.connection();
        let statement = connection.prepare(sql)?;
        let traits = StatementTraits {
            reads_only: statement.readonly(),
            columns: statement.column_count(),
            parameters: statement.parameter_count(),
            steady: !self.volatile.load(Ordering::Relaxed),
        };
        let mut statements = self.statements.borrow_mut();
        if statements.len() >= REMEMBERED {
            statements.clear();
        }
        statements.insert(sql.into(), traits);
        Ok(traits)
    }

    /// The validator of an answer at a version. It is weak, because the answer may be wanted in
    /// several forms.
    pub(crate) fn tag(&self, stamp: DatabaseVersion, select: &SqliteSelect) -> EntityTag {
        let of = (stamp.data, select.fingerprint);
        let place = &mut self.tags.borrow_mut()[select.fingerprint as usize % TAGS];
        if let Some(made) = place.as_ref().filter(|made| made.of == of) {
            return made.tag.clone();
        }
        let text = hexadecimal(SEED.hash_one((self.number, of)));
        let tag = EntityTag { text: text.into(), weak: true };
        *place = Some(CachedTag { of, tag: tag.clone() });
        tag
    }

    /// The kept answer at a version.
    pub(crate) fn cached(
        &self,
        stamp: DatabaseVersion,
        select: &Arc<SqliteSelect>,
    ) -> Option<CachedAnswer> {
        if !self.shared.options.cache_answers {
            return None;
        }
        let kept = self.shelf.borrow_mut().find(stamp.data, select)?;
        self.shared.counters.add(Count::Kept, 1);
        Some(kept)
    }

    fn keep(
        &self,
        stamp: DatabaseVersion,
        select: &Arc<SqliteSelect>,
        answer: impl FnOnce() -> CachedAnswer,
    ) {
        if self.shared.options.cache_answers {
            self.shelf.borrow_mut().keep(stamp.data, select, answer());
        }
    }

    /// Does something on this connection at once; while it is locked for readers, tries again
    /// until the busy timeout or the deadline.
    pub(crate) fn patiently<T: 'static>(
        self: &Rc<Self>,
        deadline: Option<Instant>,
        work: impl Fn(&SqliteReader) -> SqlResult<T> + 'static,
    ) -> Answer<T> {
        match self.noted(work(self)) {
            Err(fault) if fault.is_busy() => {}
            done => return Answer::Ready(done.map_err(Into::into)),
        }
        let reader = self.clone();
        Answer::later(async move {
            let started = Instant::now();
            let mut pause = PAUSES.0;
            loop {
                tokio::time::sleep(pause).await;
                pause = PAUSES.1.min(pause * 2);
                match reader.noted(work(&reader)) {
                    Err(fault) if fault.is_busy() => {
                        if is_over(deadline) {
                            return Err(SqlFault::timeout().into());
                        }
                        if started.elapsed() >= reader.shared.options.busy_timeout {
                            return Err(fault.into());
                        }
                    }
                    done => return done.map_err(Into::into),
                }
            }
        })
    }

    /// A page that cannot be read is remembered, so that nothing more is written.
    fn noted<T>(&self, done: SqlResult<T>) -> SqlResult<T> {
        done.inspect_err(|fault| self.shared.writer.health.note(fault))
    }

    /// Reads inline within the budget, or in the pool, where waiting is allowed. `done` gets an
    /// inline answer and its version.
    pub(crate) fn read<T, W>(
        self: &Rc<Self>,
        deadline: Option<Instant>,
        work: W,
        done: impl Fn(&SqliteReader, DatabaseVersion, &T) + 'static,
    ) -> Answer<T>
    where
        T: Send + 'static,
        W: Fn(&Connection, ReadSite<'_>) -> SqlResult<T> + Clone + Send + 'static,
    {
        let (pool, again) = (self.shared.pool.clone(), work.clone());
        let inline = self.patiently(deadline, move |reader| {
            let limit = Instant::now() + READ_BUDGET;
            let limit = deadline.map_or(limit, |deadline| limit.min(deadline));
            let found = reader.steadily(|connection, _| {
                reader.stop.during(Some(limit), || {
                    work(connection, ReadSite::Worker(&reader.snapshot.folding))
                })
            });
            statement_counts::flush(&reader.shared.counters);
            let found = found.map(|(found, stamp)| {
                done(reader, stamp, &found);
                found
            });
            match found {
                Err(fault) if fault.is_interrupted() && !is_over(deadline) => Ok(None),
                found => found.map(Some),
            }
        });
        inline.and_then(move |found| match found {
            Some(found) => Answer::ok(found),
            None => pool.read(deadline, move |connection| again(connection, ReadSite::Pool)),
        })
    }

    /// The rows of a statement in a form.
    pub(crate) fn encode(
        self: &Rc<Self>,
        select: &Arc<SqliteSelect>,
        form: Form,
        deadline: Option<Instant>,
    ) -> Answer<Bytes> {
        let (run, keep) = (select.clone(), select.clone());
        let work = move |connection: &Connection, site: ReadSite<'_>| {
            let mut end = |_: &mut _| match site {
                ReadSite::Worker(_) => Err(SqlFault::interrupted()),
                ReadSite::Pool => Err(encode::too_large()),
            };
            if let (Some(sql), Some(columns), ReadSite::Worker(statements)) =
                (&run.folding, &run.columns, site)
                && form != Form::Csv
            {
                return fold::encode(connection, statements, sql, columns, &run.size, READ_SIZE)
                    .map(Bytes::from);
            }
            let from = match site {
                ReadSite::Worker(_) => READ_SIZE,
                ReadSite::Pool => ENCODING_LIMIT,
            };
            encode::encode(connection, &run, form, SizeWatch { from, tell: &mut end })
                .map(Bytes::from)
        };
        self.read(deadline, work, move |reader, stamp, bytes| {
            if form != Form::Csv {
                reader.keep(stamp, &keep, || CachedAnswer::Json(bytes.clone()));
            }
        })
    }

    /// The rows of a statement as records.
    pub(crate) fn records(
        self: &Rc<Self>,
        select: &Arc<SqliteSelect>,
        deadline: Option<Instant>,
    ) -> Answer<Value> {
        let run = select.clone();
        let work =
            move |connection: &Connection, _: ReadSite<'_>| encode::records(connection, &run);
        self.read(deadline, work, |_, _, _| {}).map(Value::List)
    }

    /// The number that a counting statement answers.
    pub(crate) fn count(
        self: &Rc<Self>,
        select: &Arc<SqliteSelect>,
        deadline: Option<Instant>,
    ) -> Answer<i64> {
        let (run, keep) = (select.clone(), select.clone());
        let work = move |connection: &Connection, site: ReadSite<'_>| {
            if run.counts_all && matches!(site, ReadSite::Worker(_)) {
                let pages = "PRAGMA page_count";
                let pages: i64 =
                    connection.prepare_cached(pages)?.query_row([], |row| row.get(0))?;
                if pages > COUNT_PAGES {
                    return Err(SqlFault::interrupted());
                }
            }
            encode::count(connection, &run)
        };
        self.read(deadline, work, move |reader, stamp, count| {
            reader.keep(stamp, &keep, || CachedAnswer::Count(*count));
        })
    }
}

/// Sixteen digits: every answer of rows has them, and formatting costs more.
fn hexadecimal(number: u64) -> String {
    let digit = |place: u32| {
        let value = (number >> (60 - 4 * place)) as u32 & 15;
        char::from_digit(value, 16).unwrap_or('0')
    };
    (0..16).map(digit).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::sqlite::connection::database_file::DatabaseFile;
    use crate::sqlite::options::SqliteOptions;

    fn file() -> (tempfile::TempDir, Rc<SqliteReader>, Connection) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.db");
        let place = DatabaseFile::resolve(&path).unwrap();
        let shared = SharedDatabase::open(place, SqliteOptions::default()).unwrap();
        let reader = Rc::new(SqliteReader::open(shared).unwrap());
        let other = Connection::open(path).unwrap();
        other.execute_batch("create table t(a)").unwrap();
        (folder, reader, other)
    }

    #[test]
    fn what_is_read_in_a_snapshot_belongs_to_its_version() {
        let (_folder, reader, other) = file();
        let count = |connection: &Connection| -> i64 {
            connection.query_row("select count(*) from t", [], |row| row.get(0)).unwrap()
        };
        let before = reader.snapshot(|_, stamp| Ok(stamp)).unwrap();
        let within = reader
            .snapshot(|connection, stamp| {
                assert_eq!(count(connection), 0);
                other.execute("insert into t values (1)", []).unwrap();
                assert_eq!(count(connection), 0);
                Ok(stamp)
            })
            .unwrap();
        assert_eq!(within, before);
        let after = reader.snapshot(|connection, stamp| Ok((count(connection), stamp))).unwrap();
        assert_eq!(after.0, 1);
        assert_ne!(after.1.data, before.data);
        assert_eq!(after.1.schema, before.schema);
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let (_folder, reader, _other) = file();
        for number in 0..REMEMBERED + 10 {
            reader.traits(&format!("select {number}")).unwrap();
        }
        assert!(reader.statements.borrow().len() <= REMEMBERED);
        for number in 0..10 {
            assert!(reader.table(&format!("nothing{number}")).unwrap().is_none());
        }
        reader.table("T").unwrap().unwrap();
        assert_eq!(reader.tables.borrow().len(), 1);
    }

    fn count(connection: &Connection, _: DatabaseVersion) -> SqlResult<i64> {
        Ok(connection.query_row("select count(*) from t", [], |row| row.get(0))?)
    }

    /// Reads until a transaction stands.
    fn stand(reader: &SqliteReader) -> DatabaseVersion {
        for _ in 0..200 {
            let (_, stamp) = reader.steadily(count).unwrap();
            if reader.snapshot.is_open() {
                return stamp;
            }
        }
        panic!("no transaction stands");
    }

    fn in_a_loop(test: impl Future<Output = ()>) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build_local(tokio::runtime::LocalOptions::default())
            .unwrap();
        runtime.block_on(test);
    }

    #[test]
    fn a_transaction_that_stands_hides_nothing() {
        in_a_loop(async {
            let (_folder, reader, other) = file();
            for number in 1..20 {
                let before = stand(&reader);
                assert_eq!(reader.steadily(count).unwrap(), (number - 1, before));
                assert_eq!(reader.snapshot(count).unwrap(), number - 1);
                assert!(reader.snapshot.is_open());
                other.execute("insert into t values (1)", []).unwrap();
                assert_eq!(reader.unchanged(), None);
                let seen = match number % 2 {
                    0 => reader.steadily(count).unwrap(),
                    _ => {
                        reader.snapshot(|connection, at| Ok((count(connection, at)?, at))).unwrap()
                    }
                };
                assert_eq!(seen.0, number);
                assert_ne!(seen.1.data, before.data);
                assert!(!reader.snapshot.is_open());
            }
            stand(&reader);
            let failed = |_: &Connection, _| Err::<(), SqlFault>(SqlFault::interrupted());
            assert!(reader.steadily(failed).is_err());
            assert!(!reader.snapshot.is_open());
            assert_eq!(reader.steadily(count).unwrap().0, 19);
        });
    }

    #[test]
    fn it_does_not_stand_for_long() {
        in_a_loop(async {
            let (_folder, reader, other) = file();
            stand(&reader);
            other.execute("insert into t values (1)", []).unwrap();
            // A shared transaction holds up the checkpoint, but only for a moment.
            let truncated = || {
                let all = "pragma wal_checkpoint(truncate)";
                other.query_row(all, [], |row| row.get::<_, i64>(0)).unwrap() == 0
            };
            assert!(!truncated());
            for _ in 0..500 {
                if truncated() {
                    assert_eq!(reader.steadily(count).unwrap().0, 1);
                    return;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            panic!("it stands for ever");
        });
    }

    #[test]
    fn the_log_stays_short_under_readers_that_never_rest() {
        in_a_loop(async {
            let (folder, reader, other) = file();
            let mut longest = 0;
            let text = "x".repeat(12_000);
            for _ in 0..1000 {
                other.execute("insert into t values (?1)", [&text]).unwrap();
                for _ in 0..70 {
                    reader
                        .steadily(|connection, _| {
                            let first = "select 1 from t limit 1";
                            Ok(connection.prepare_cached(first)?.exists([])?)
                        })
                        .unwrap();
                }
                let log = folder.path().join("x.db-wal");
                longest = longest.max(std::fs::metadata(log).unwrap().len());
            }
            // What a page and its frame take; the other connection carries the log over at 1,000.
            let pages = longest / 4120;
            assert!((900..1500).contains(&pages), "{pages} pages");
        });
    }
}
