//! SQLite below [`SqlDatabase`].

use crate::database::SqlDatabase;
use crate::database::backend::DatabaseBackend;
use crate::sqlite::backup::{companion, dump, snapshot};
use crate::sqlite::connection::cell::SqliteValue;
use crate::sqlite::connection::database_file::DatabaseFile;
use crate::sqlite::fault::{BUSY, SqlResult};
use crate::sqlite::key_value;
use crate::sqlite::options::SqliteOptions;
use crate::sqlite::read::reader::{ReadSite, SqliteReader, StatementTraits};
use crate::sqlite::read::rows::LazyRows;
use crate::sqlite::read::select::SqliteSelect;
use crate::sqlite::read::shared_snapshot::SharedSnapshot;
use crate::sqlite::read::statement;
use crate::sqlite::schema::catalog::TableInfo;
use crate::sqlite::schema::{define, migrate};
use crate::sqlite::table::SqliteRows;
use crate::sqlite::write::shared::SharedDatabase;
use crate::sqlite::write::{transaction, vacuum, watch};
use runnel_store::{
    Answer, BackupOrder, ByteStream, Changes, Content, Context, ContinuousBackup, Error, Isolation,
    Kind, Migration, Result, Shape, Store, Transaction, Value, Verb,
};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// An SQLite database; see [`SqlDatabase`].
///
/// - Reads run on the worker's own connection at once, within [`crate::READ_BUDGET`]; longer ones
///   run again on threads that may wait. Dropping an answer or reaching the deadline of the context
///   stops the read.
/// - Writes of all workers go to one thread, which commits waiting writes together and then
///   answers: an answered write is durable ([`crate::Synchronous`]), and the next read sees it.
/// - Encoded rows are cached while the database has not changed, by whichever process; the entity
///   tag of rows says the same.
/// - Tables without a primary key of one column go by SQLite's row numbers. Booleans are stored as
///   0 and 1 and shown as `false` and `true` where the class or the column says `Bool`. Numbers keep
///   their 64 bits; a value that the column would change is refused.
pub type SqliteDatabase = SqlDatabase<SqliteBackend>;

/// What SQLite does below [`SqliteDatabase`].
#[derive(Clone)]
pub struct SqliteBackend {
    reader: Rc<SqliteReader>,
}

impl SqliteDatabase {
    /// Opens a database file, and creates it if it does not exist (its directory has to).
    /// `:memory:` is a new private database in memory. `:memory:name` is a database in memory shared
    /// by this process; it lasts until its last handle is dropped. In memory, readers wait for
    /// writers.
    ///
    /// Reading and writing have to happen within a [`tokio::runtime::LocalRuntime`] or a
    /// [`tokio::task::LocalSet`].
    ///
    /// # Errors
    /// Each names the path: no such directory, a directory in its place, a file that is no SQLite
    /// database ([`Kind::Invalid`](runnel_store::Kind::Invalid)), missing rights, or open in this
    /// process with other options ([`Kind::Conflict`](runnel_store::Kind::Conflict)).
    pub fn open(path: impl AsRef<Path>, options: SqliteOptions) -> Result<Rc<Self>> {
        let path = path.as_ref();
        let opened = DatabaseFile::resolve(path)
            .and_then(|place| SharedDatabase::open(place, options))
            .and_then(SqliteReader::open);
        let reader = opened.map_err(|fault| Error {
            reference: Some(path.display().to_string()),
            ..Error::from(fault)
        })?;
        Ok(SqlDatabase::over(SqliteBackend { reader: Rc::new(reader) }))
    }

    /// Closes the connections with which this thread reads, at its end: its event loop has ended.
    pub fn close_readers() {
        SharedSnapshot::close_all();
    }

    /// Closes all databases at the end of the process, after [`SqliteDatabase::close_readers`] on
    /// all threads: each is then one whole file, unless another process has it open. A writer that
    /// is still busy is waited for no longer than [`crate::CLOSE_TIME`].
    pub fn close_all() {
        SharedDatabase::close_all();
    }

    /// Transactions that this process has committed to the database since it was opened: with
    /// group commit fewer than the writes.
    pub fn commits(&self) -> u64 {
        self.backend.reader.shared.commits()
    }
}

/// How long a definition waits for other writers.
const DEFINE_TIME: Duration = Duration::from_secs(60);
const DEFINE_PAUSE: Duration = Duration::from_millis(50);

fn is_busy(error: &Error) -> bool {
    error.kind == Kind::Unavailable && error.message == BUSY
}

impl SqliteBackend {
    fn define_once(&self, name: String, shape: &Shape) -> Answer<String> {
        let (wanted, looked) = (shape.clone(), name.clone());
        let complete = self.reader.patiently(None, move |reader| {
            let found = reader.snapshot(|connection, _| {
                Ok((reader.table(&looked)?, define::lacking(connection, &looked, &wanted)?))
            });
            let (info, lacking) = found?;
            Ok(info.filter(|_| lacking.is_empty()).map(|info| info.name.clone()))
        });
        let (shared, wanted) = (self.reader.shared.clone(), shape.clone());
        complete.and_then(move |complete| match complete {
            Some(name) => Answer::ok(name),
            None => shared.write(None, move |connection| {
                define::make(connection, &name, &wanted)?;
                Ok(TableInfo::read(connection, &name)?.map_or(name.clone(), |info| info.name))
            }),
        })
    }

    /// Defines again and again after the writer gave up because of another one.
    async fn define_patiently(
        self,
        name: String,
        shape: Shape,
        mut error: Error,
    ) -> Result<String> {
        let started = Instant::now();
        while is_busy(&error) && started.elapsed() < DEFINE_TIME {
            tokio::time::sleep(DEFINE_PAUSE).await;
            match self.define_once(name.clone(), &shape).await {
                Ok(defined) => return Ok(defined),
                Err(again) => error = again,
            }
        }
        Err(error)
    }
}

impl DatabaseBackend for SqliteBackend {
    const IS_SQLITE: bool = true;

    type Rows = SqliteRows;

    const ROOT_VERBS: &'static [Verb] =
        &[Verb::Get, Verb::List, Verb::Define, Verb::Watch, Verb::Begin];

    fn describe(&self) -> String {
        format!("sqlite {}", self.reader.shared.place)
    }

    fn rows(&self, name: &str, shape: Option<&Shape>) -> SqliteRows {
        SqliteRows::new(self.reader.clone(), name.to_string(), shape.cloned())
    }

    fn keeps(&self, name: &str) -> bool {
        let found = self.reader.snapshot(|_, _| self.reader.table(name));
        found.is_ok_and(|info| info.is_some_and(|info| info.name == name))
    }

    fn names(&self, context: &Context) -> Answer<Vec<String>> {
        if let Some(held) = transaction::current(&self.reader.shared, context) {
            return held.run(context.deadline, TableInfo::names);
        }
        let names =
            |connection: &rusqlite::Connection, _: ReadSite<'_>| TableInfo::names(connection);
        self.reader.read(context.deadline, names, |_, _, _| {})
    }

    /// Waits for other writers longer than a write does: processes that start together make their tables at the
    /// same time.
    fn define(&self, name: String, shape: &Shape) -> Answer<String> {
        if let Err(fault) = define::check(&name, shape) {
            return Answer::Ready(Err(fault.into()));
        }
        let (backend, wanted) = (self.clone(), shape.clone());
        self.define_once(name.clone(), shape).then(move |defined| match defined {
            Err(error) if is_busy(&error) => {
                Answer::later(backend.define_patiently(name, wanted, error))
            }
            defined => defined.into(),
        })
    }

    fn key_value_store(&self, name: String) -> Answer<Rc<dyn Store>> {
        key_value::backend::open(&self.reader, name)
    }

    fn run(&self, sql: &str, parameters: Vec<Value>, context: &Context) -> Answer<Content> {
        let cells: SqlResult<Vec<SqliteValue>> =
            parameters.into_iter().map(SqliteValue::of_value).collect();
        let cells = match cells {
            Ok(cells) => cells,
            Err(fault) => return Answer::Ready(Err(fault.into())),
        };
        if let Some(held) = transaction::current(&self.reader.shared, context) {
            let (guard, sql) = (self.reader.shared.writer.guard.clone(), sql.to_string());
            let place = context.place;
            let work =
                move |connection: &_| statement::within(connection, &guard, &sql, &cells, place);
            return held.run(context.deadline, work).map(Content::value);
        }
        let (text, count) = (sql.to_string(), cells.len());
        let traits = self.reader.patiently(context.deadline, move |reader| {
            let traits = reader.snapshot(|_, _| reader.traits(&text))?;
            statement::check(&traits, count)?;
            Ok(traits)
        });
        let (reader, sql, context) = (self.reader.clone(), sql.to_string(), context.clone());
        traits.and_then(move |traits| match traits {
            StatementTraits { reads_only: true, steady, .. } => {
                let select = Arc::new(SqliteSelect::new(sql, cells, None, steady));
                reader.clone().patiently(context.deadline, move |reader_| {
                    reader_.snapshot(|_, stamp| {
                        Ok(LazyRows::content(&reader, stamp, select.clone(), &context))
                    })
                })
            }
            StatementTraits { columns, .. } => reader
                .shared
                .write(context.deadline, move |connection| {
                    statement::write(connection, &sql, &cells, columns > 0, context.place)
                })
                .map(Content::value),
        })
    }

    fn migrate(&self, migration: Migration, context: &Context) -> Answer<Vec<String>> {
        migrate::migrate(&self.reader.shared, migration, context)
    }

    fn snapshot(&self, context: &Context) -> Answer<Content> {
        snapshot::snapshot(&self.reader.shared, context)
    }

    fn back_up(&self, order: BackupOrder) -> Answer<Rc<dyn ContinuousBackup>> {
        companion::back_up(&self.reader.shared.place, order)
    }

    fn dump(&self, tables: Vec<String>, context: &Context) -> ByteStream {
        dump::dump(&self.reader.shared, tables, context)
    }

    fn vacuum(&self, context: &Context) -> Answer<()> {
        vacuum::vacuum(&self.reader.shared, context)
    }

    fn begin(&self, _: Option<Isolation>, context: &Context) -> Answer<Rc<dyn Transaction>> {
        transaction::begin(&self.reader.shared, context)
    }

    fn watch(&self, context: &Context) -> Answer<Changes> {
        watch::watch(&self.reader.shared, "", context.deadline)
    }
}
