//! A database as a store: its tables, their rows, and statements in SQL.

use crate::sqlite::connection::cell::Cell;
use crate::sqlite::connection::database_file::Place;
use crate::sqlite::fault::Fault;
use crate::sqlite::options::Options;
use crate::sqlite::read::reader::{Reader, Site, Traits};
use crate::sqlite::read::rows::Rows;
use crate::sqlite::read::select::Select;
use crate::sqlite::read::statement;
use crate::sqlite::schema::catalog::TableInfo;
use crate::sqlite::schema::define;
use crate::sqlite::schema::migrate;
use crate::sqlite::table::Table;
use crate::sqlite::write::change_feed;
use crate::sqlite::write::shared::Shared;
use crate::sqlite::write::transaction;
use runnel_store::{
    Answer, Changes, Conditions, Content, Context, Entry, Error, Kind, Outcome, Query, Records,
    Reference, Result, Shape, Store, Tables, Transaction, Value, Verb, Verbs,
};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

/// An SQLite database: the root lists its tables, `tasks` is the rows of a table, `tasks/7` one of
/// them; see [`Table`] for what the verbs do there.
///
/// - Reads run on the worker's own connection at once, within [`crate::READ_BUDGET`]; what takes
///   longer runs again on threads that may wait. Dropping an answer or reaching the deadline of the
///   context stops it.
/// - Writes of all workers go to one thread, which commits those that wait together and then
///   answers: an answered write is durable ([`crate::Synchronous`]), and the next read sees it.
/// - Encoded rows are kept while the database has not changed, by whichever process; the entity
///   tag of rows says the same.
pub struct Database {
    reader: Rc<Reader>,
    tables: RefCell<FxHashMap<String, Table>>,
}

impl Database {
    /// Opens a database file and makes it if it is not there (its directory has to be).
    /// `:memory:` is a new database in memory, `:memory:name` one that all who open that name in
    /// this process share; it lasts as long as one of them. In memory, readers wait for writers.
    ///
    /// Reading and writing have to happen within a [`tokio::runtime::LocalRuntime`] or a
    /// [`tokio::task::LocalSet`].
    ///
    /// # Errors
    /// Each names the path: no such directory, a directory in its place, a file that is no SQLite
    /// database ([`Kind::Invalid`]), missing rights, or open in this process with other options
    /// ([`Kind::Conflict`]).
    pub fn open(path: impl AsRef<Path>, options: Options) -> Result<Rc<Database>> {
        let path = path.as_ref();
        let opened = Place::resolve(path)
            .and_then(|place| Shared::open(place, options))
            .and_then(Reader::open);
        match opened {
            Ok(reader) => {
                Ok(Rc::new(Database { reader: Rc::new(reader), tables: RefCell::default() }))
            }
            Err(fault) => {
                let mut error = Error::from(fault);
                error.reference = Some(path.display().to_string());
                Err(error)
            }
        }
    }

    /// A table by its name, whether it is there or not.
    pub fn table(&self, name: &str) -> Table {
        if let Some(known) = self.tables.borrow().get(name) {
            return known.clone();
        }
        let table = Table::new(self.reader.clone(), name.to_string(), None);
        let found = self.reader.snapshot(|_, _| self.reader.table(name));
        if let Ok(Some(info)) = found
            && info.name == name
        {
            self.tables.borrow_mut().insert(name.to_string(), table.clone());
        }
        table
    }

    /// The table of a class: made if it is not there, extended by the columns that it lacks. Its
    /// name is the path of the reference, or the lower-case plural of the class's name where that
    /// is empty (`Task` → `tasks`). An `id` that is an integer is the primary key. A field that
    /// refers to a class becomes a foreign key to that class's table. Missing columns and indexes
    /// are added; every other difference wants a migration.
    ///
    /// # Errors
    /// [`Kind::Invalid`] for a class without variables or with names that cannot be columns;
    /// [`Kind::Conflict`] when an existing table contradicts the class.
    pub fn define_table(&self, reference: &Reference, shape: &Shape) -> Answer<Table> {
        let name = match reference.relative_path().trim_end_matches('/') {
            "" => define::table_name(&shape.name),
            name => name.to_string(),
        };
        if let Err(fault) = define::check(&name, shape) {
            return Answer::Ready(Err(fault.into()));
        }
        let (wanted, looked) = (shape.clone(), name.clone());
        let complete = self.reader.patiently(None, move |reader| {
            let found = reader.snapshot(|connection, _| {
                Ok((reader.table(&looked)?, define::lacking(connection, &looked, &wanted)?))
            });
            let (info, lacking) = found?;
            Ok(info.filter(|_| lacking.is_empty()).map(|info| info.name.clone()))
        });
        let (shared, wanted) = (self.reader.shared.clone(), shape.clone());
        let made = complete.and_then(move |complete| match complete {
            Some(name) => Answer::ok(name),
            None => shared.write(None, move |connection| {
                define::make(connection, &name, &wanted)?;
                Ok(TableInfo::read(connection, &name)?.map_or(name.clone(), |info| info.name))
            }),
        });
        let (reader, shape) = (self.reader.clone(), shape.clone());
        made.map(move |name| Table::new(reader, name, Some(shape)))
    }

    /// Runs one SQL statement with its parameters (`?1`, `?2` …, in order). A statement that only
    /// reads answers its rows, lazily; one that writes answers the number of rows that it changed,
    /// or, with a `RETURNING` clause, these rows as records.
    ///
    /// # Errors
    /// [`Kind::Invalid`] for wrong SQL, more than one statement or the wrong number of parameters;
    /// [`Kind::NotAllowed`] for transactions, settings, attached files and temporary tables, which
    /// would change the connections under everyone else.
    pub fn run(&self, sql: &str, parameters: Vec<Value>, context: &Context) -> Answer<Content> {
        let cells: std::result::Result<Vec<Cell>, Fault> =
            parameters.into_iter().map(Cell::of).collect();
        let cells = match cells {
            Ok(cells) => cells,
            Err(fault) => return Answer::Ready(Err(fault.into())),
        };
        if let Some(held) = transaction::of(&self.reader.shared, context) {
            let (guard, sql) = (self.reader.shared.writer.guard.clone(), sql.to_string());
            let work = move |connection: &_| statement::within(connection, &guard, &sql, &cells);
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
            Traits { reads_only: true, steady, .. } => {
                let select = Arc::new(Select::new(sql, cells, None, steady));
                reader.clone().patiently(context.deadline, move |reader_| {
                    reader_.snapshot(|_, stamp| {
                        Ok(Rows::content(&reader, stamp, select.clone(), &context))
                    })
                })
            }
            Traits { columns, .. } => reader
                .shared
                .write(context.deadline, move |connection| {
                    statement::write(connection, &sql, &cells, columns > 0)
                })
                .map(Content::value),
        })
    }

    /// Transactions that this process has committed to the database since it was opened: with
    /// group commit fewer than the writes.
    pub fn commits(&self) -> u64 {
        self.reader.shared.commits()
    }

    /// The table that a reference leads to, and the reference within it; `None` at the root.
    fn split(&self, reference: &Reference) -> Option<(Table, Reference)> {
        let (name, rest) = reference.split_first()?;
        Some((self.table(name), rest))
    }

    fn names(&self, context: &Context) -> Answer<Vec<String>> {
        if let Some(held) = transaction::of(&self.reader.shared, context) {
            return held.run(context.deadline, TableInfo::names);
        }
        let names = |connection: &rusqlite::Connection, _: Site<'_>| TableInfo::names(connection);
        self.reader.read(context.deadline, names, |_, _, _| {})
    }
}

fn at_root<T>(verb: Verb) -> Answer<T> {
    let message = format!("a database does not {}; name one of its tables", verb.name());
    Answer::Ready(Err(Error::new(Kind::NotAllowed, message)))
}

#[deny(clippy::missing_trait_methods)]
impl Store for Database {
    fn get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        let answer = match self.split(reference) {
            Some((table, rest)) => table.get(&rest, context),
            None => self.names(context).map(|names| {
                Some(Content::value(Value::List(names.into_iter().map(Value::Text).collect())))
            }),
        };
        answer.on(Verb::Get, reference)
    }

    fn put(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Outcome> {
        let answer = match self.split(reference) {
            Some((table, rest)) => table.put(&rest, content, context),
            None => at_root(Verb::Put),
        };
        answer.map(Outcome::put).on(Verb::Put, reference)
    }

    fn post(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Outcome> {
        let Some((table, rest)) = self.split(reference) else {
            return at_root(Verb::Post).on(Verb::Post, reference);
        };
        let (name, to) = (table.name().to_string(), reference.clone());
        table.post(&rest, content, context).then(move |posted| {
            let place = |key: Reference| Reference::from_path(format!("{name}/{}", key.path()));
            let placed = |outcome: Outcome| outcome.renamed(place);
            Answer::Ready(posted.map(placed).map_err(|error| error.on(Verb::Post, &to)))
        })
    }

    fn merge(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Outcome> {
        let answer = match self.split(reference) {
            Some((table, rest)) => table.merge(&rest, content, context),
            None => at_root(Verb::Merge),
        };
        answer.map(|()| Outcome::changed()).on(Verb::Merge, reference)
    }

    fn delete(&self, reference: &Reference, context: &Context) -> Answer<Outcome> {
        let answer = match self.split(reference) {
            Some((table, rest)) => table.delete(&rest, context),
            None => at_root(Verb::Delete),
        };
        answer.map(Outcome::deleted).on(Verb::Delete, reference)
    }

    fn list(&self, reference: &Reference, context: &Context) -> Answer<Option<Vec<Entry>>> {
        let answer = match self.split(reference) {
            Some((table, rest)) => table.list(&rest, context),
            None => self.names(context).map(|mut names| {
                names.sort_unstable();
                let entry = |name| Entry { name, collection: true };
                Some(names.into_iter().map(entry).collect())
            }),
        };
        answer.on(Verb::List, reference)
    }

    fn query(&self, reference: &Reference, query: &Query, context: &Context) -> Answer<Content> {
        let answer = match self.split(reference) {
            Some((table, rest)) => table.query(&rest, query, context),
            None => at_root(Verb::Query),
        };
        answer.on(Verb::Query, reference)
    }

    /// Tells of rows as `tasks/7`: what this process commits, whichever of its threads, row by row;
    /// what other programs commit as lost at the watched reference, within half a second. As lost
    /// are told, too: changes of the tables' form, transactions of more than
    /// [`crate::WATCHED_ROWS`] rows, rows deleted all at once, and rows whose name SQLite does not
    /// tell (deleted ones with a key that is no integer; tables without row numbers).
    fn watch(&self, reference: &Reference, context: &Context) -> Answer<Changes> {
        let path = reference.relative_path().trim_end_matches('/');
        change_feed::watch(&self.reader.shared, path, context.deadline).on(Verb::Watch, reference)
    }

    fn verbs(&self, reference: &Reference) -> Verbs {
        match self.split(reference) {
            Some((table, rest)) => table.verbs(&rest),
            None => [Verb::Get, Verb::List, Verb::Define, Verb::Watch, Verb::Begin]
                .into_iter()
                .fold(Verbs::NONE, Verbs::with),
        }
    }

    fn conditions(&self, reference: &Reference) -> Conditions {
        let split = self.split(reference);
        split.map_or(Conditions::None, |(table, rest)| table.conditions(&rest))
    }

    fn as_any(&self) -> Option<&dyn std::any::Any> {
        Some(self)
    }

    runnel_store::without!(keys, links, sources);

    fn describe(&self) -> String {
        format!("sqlite {}", self.reader.shared.place)
    }

    fn tables(&self) -> Option<&dyn Tables> {
        Some(self)
    }
}

impl Tables for Database {
    fn insert(
        &self,
        reference: &Reference,
        records: Box<dyn Records>,
        context: &Context,
    ) -> Answer<u64> {
        let answer = match self.split(reference) {
            Some((table, rest)) => Tables::insert(&table, &rest, records, context),
            None => at_root(Verb::Post),
        };
        answer.on(Verb::Post, reference)
    }

    /// See [`Database::run`]. A statement is about the database, whatever the path.
    fn run(
        &self,
        reference: &Reference,
        statement: &str,
        parameters: Vec<Value>,
        context: &Context,
    ) -> Answer<Content> {
        self.run(statement, parameters, context).on(Verb::Query, reference)
    }

    fn migrate(
        &self,
        reference: &Reference,
        steps: Vec<(String, String)>,
        context: &Context,
    ) -> Answer<Vec<String>> {
        migrate::migrate(&self.reader.shared, steps, context).on(Verb::Define, reference)
    }

    fn begin(&self, reference: &Reference, context: &Context) -> Answer<Rc<dyn Transaction>> {
        transaction::begin(&self.reader.shared, context).on(Verb::Begin, reference)
    }

    fn define(&self, reference: &Reference, shape: &Shape) -> Answer<Rc<dyn Store>> {
        let table = self.define_table(reference, shape);
        table.map(|table| Rc::new(table) as Rc<dyn Store>).on(Verb::Define, reference)
    }
}
