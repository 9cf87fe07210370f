//! A database as a store, for every database system: its tables, their rows, and statements in SQL.
//!
//! `backend` says what SQLite and PostgreSQL implement, `table` is one table, `schema` and
//! `description` compare classes and records with tables, `constraint` writes the rules of a class,
//! `key_parts` keys of several columns, `filter` conditions, `expression` computed values, `scope` joined tables
//! and `statement` what these become, `slow` the log of slow ones. Other SQL belongs into the rooms of the
//! systems.

pub(crate) mod backend;
pub(crate) mod constraint;
pub(crate) mod description;
pub(crate) mod expression;
pub(crate) mod filter;
pub(crate) mod full_text;
pub(crate) mod key_parts;
pub(crate) mod load;
pub(crate) mod schema;
pub(crate) mod scope;
pub(crate) mod slow;
pub(crate) mod statement;
pub(crate) mod table;

use crate::database::backend::DatabaseBackend;
use crate::database::constraint::Dialect;
use crate::database::table::SqlTable;
use crate::rows::placeholders;
use runnel_store::{
    Answer, BackupOrder, BulkChange, ByteStream, Changes, Conditions, Content, Context,
    ContinuousBackup, Entry, Error, Isolation, Kind, Migration, Outcome, Query, Records, Reference,
    Shape, Store, Tables, Transaction, Value, Verb, Verbs,
};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::rc::Rc;

/// A database: the root lists its tables, `tasks` is the rows of a table, `tasks/7` one of them;
/// see [`SqlTable`] for what the verbs do there.
pub struct SqlDatabase<B: DatabaseBackend> {
    pub(crate) backend: B,
    /// The tables that the backend keeps.
    kept: RefCell<FxHashMap<String, SqlTable<B::Rows>>>,
    /// The tables of classes, whose rules hold for what clients do through the database as well.
    defined: Rc<RefCell<FxHashMap<String, SqlTable<B::Rows>>>>,
}

/// Whether a name is that of a table of the database system or of the engine, which clients never see.
fn is_internal(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let begins = |part: &str| ["sqlite_", "pg_", "runnel_"].iter().any(|one| part.starts_with(one));
    name.split('.').any(|part| begins(part) || part == "information_schema")
}

impl<B: DatabaseBackend> SqlDatabase<B> {
    pub(crate) fn over(backend: B) -> Rc<Self> {
        Rc::new(SqlDatabase { backend, kept: RefCell::default(), defined: Rc::default() })
    }

    /// A table by its name, whether it exists or not.
    pub fn table(&self, name: &str) -> SqlTable<B::Rows> {
        if let Some(kept) = self.kept.borrow().get(name) {
            return kept.clone();
        }
        let table = SqlTable::new(self.backend.rows(name, None), name.to_string(), None);
        if self.backend.keeps(name) {
            self.kept.borrow_mut().insert(name.to_string(), table.clone());
        }
        table
    }

    /// The table of a class: created if it does not exist, extended by the columns, indexes and
    /// foreign keys that it lacks. Its name is the path of the reference; where that is empty, what the
    /// class says, or the lower-case plural of the class's name (`Task` → `tasks`). The keys of the
    /// shape are the primary key. A field that refers to a class becomes a foreign key to that class's
    /// table. Every other difference needs a migration.
    ///
    /// # Errors
    /// [`Kind::Invalid`] for a class without variables or with names that cannot be columns;
    /// [`Kind::Conflict`] when an existing table, or what it holds, contradicts the class.
    pub fn define_table(&self, reference: &Reference, shape: &Shape) -> Answer<SqlTable<B::Rows>> {
        let name = table_of(reference, shape);
        let (backend, shape) = (self.backend.clone(), shape.clone());
        let defined = self.defined.clone();
        self.backend.define(name, &shape.clone()).map(move |name| {
            let rows = backend.rows(&name, Some(&shape));
            let table = SqlTable::new(rows, name.clone(), Some(shape));
            defined.borrow_mut().insert(name, table.clone());
            table
        })
    }

    /// A store of bytes by key in tables of this database, made if they do not exist: `files`,
    /// `files_chunks` and `files_unused` for the name `files`. No table of rows is made of these, and
    /// no verb on rows reaches them.
    ///
    /// # Errors
    /// [`Kind::Invalid`] for a name that is no word; [`Kind::Conflict`] where it is that of a table of
    /// rows.
    pub fn key_value_store(&self, name: &str) -> Answer<Rc<dyn Store>> {
        self.backend.key_value_store(name.to_string())
    }

    /// Runs one SQL statement with its parameters, in the same ways for every system: `?` in
    /// order, `?1` or `$1` by number, `:name` of one record. A query answers its rows; a write
    /// answers the number of changed rows or, with a `RETURNING` clause, these rows as records.
    ///
    /// # Errors
    /// [`Kind::Invalid`] for wrong SQL, more than one statement or wrong parameters;
    /// [`Kind::NotAllowed`] for transactions, settings, attached files, cursors and temporary tables,
    /// which would change the connection of other callers.
    pub fn run(&self, sql: &str, parameters: Vec<Value>, context: &Context) -> Answer<Content> {
        let dialect = if B::IS_SQLITE { Dialect::Sqlite } else { Dialect::Postgres };
        match placeholders::bind(sql, parameters, dialect) {
            Ok((sql, parameters)) => self.backend.run(&sql, parameters, context),
            Err(fault) => Answer::Ready(Err(fault.into())),
        }
    }

    /// The rows of these tables, or of all, as text that [`SqlDatabase::load`] reads, with the types of
    /// their columns. Rows of SQLite are one snapshot, those of PostgreSQL one for each table.
    ///
    /// # Errors
    /// [`Kind::NotFound`] for a table that does not exist; [`Kind::TooLarge`] for a row of more than
    /// [`runnel_store::TABLE_RECORD`] bytes as text.
    pub fn dump(&self, tables: Vec<String>, context: &Context) -> ByteStream {
        self.backend.dump(tables, context)
    }

    /// The table that a reference leads to, and the reference within it; `None` at the root.
    fn split(&self, reference: &Reference) -> Option<(SqlTable<B::Rows>, Reference)> {
        let (name, rest) = reference.split_first()?;
        Some((self.table(name), rest))
    }

    /// The same for who asks: clients are bound by the class of a table, and see no internal ones.
    fn split_for(
        &self,
        reference: &Reference,
        context: &Context,
    ) -> runnel_store::Result<Option<(SqlTable<B::Rows>, Reference)>> {
        let Some((name, rest)) = reference.split_first().filter(|_| context.from_client.is_some())
        else {
            return Ok(self.split(reference));
        };
        if is_internal(name) {
            return Err(Error::new(Kind::NotFound, format!("there is no table {name}")));
        }
        let defined = self.defined.borrow().get(name).cloned();
        Ok(Some((defined.unwrap_or_else(|| self.table(name)), rest)))
    }

    /// Does something with the table of a reference; the root allows no such verb.
    fn within<T: 'static>(
        &self,
        verb: Verb,
        reference: &Reference,
        context: &Context,
        act: impl FnOnce(&SqlTable<B::Rows>, &Reference) -> Answer<T>,
    ) -> Answer<T> {
        match self.split_for(reference, context) {
            Err(error) => Answer::from(error).on(verb, reference),
            Ok(Some((table, rest))) => act(&table, &rest).on(verb, reference),
            Ok(None) => {
                let message =
                    format!("a database does not {}; name one of its tables", verb.name());
                Answer::from(Error::new(Kind::NotAllowed, message)).on(verb, reference)
            }
        }
    }
}

/// The name of the table of a class at a reference.
fn table_of(reference: &Reference, shape: &Shape) -> String {
    match reference.relative_path().trim_end_matches('/') {
        "" => schema::name_of(shape),
        name => name.to_string(),
    }
}

#[deny(clippy::missing_trait_methods)]
impl<B: DatabaseBackend> Store for SqlDatabase<B> {
    fn get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        let answer = match self.split_for(reference, context) {
            Err(error) => error.into(),
            Ok(Some((table, rest))) => table.read(&rest, context),
            // The names of the tables are the program's business.
            Ok(None) if context.from_client.is_some() => Answer::ok(None),
            Ok(None) => self.backend.names(context).map(|names| {
                Some(Content::value(Value::List(names.into_iter().map(Value::Text).collect())))
            }),
        };
        answer.on(Verb::Get, reference)
    }

    fn put(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Outcome> {
        let put = self.within(Verb::Put, reference, context, |table, rest| {
            table.replace(rest, content, context)
        });
        put.map(Outcome::put)
    }

    fn post(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Outcome> {
        self.within(Verb::Post, reference, context, |table, rest| {
            let name = table.name().to_string();
            let place =
                move |key: Reference| Reference::from_path(format!("{name}/{}", key.path()));
            table.add(rest, content, context).map(move |posted| posted.renamed(place))
        })
    }

    fn merge(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Outcome> {
        let merged = self.within(Verb::Merge, reference, context, |table, rest| {
            table.change(rest, content, context)
        });
        merged.map(|()| Outcome::changed())
    }

    fn delete(&self, reference: &Reference, context: &Context) -> Answer<Outcome> {
        let deleted = self
            .within(Verb::Delete, reference, context, |table, rest| table.remove(rest, context));
        deleted.map(Outcome::deleted)
    }

    fn list(&self, reference: &Reference, context: &Context) -> Answer<Option<Vec<Entry>>> {
        let answer = match self.split_for(reference, context) {
            Err(error) => error.into(),
            Ok(Some((table, rest))) => table.entries(&rest, context),
            Ok(None) if context.from_client.is_some() => Answer::ok(None),
            Ok(None) => self.backend.names(context).map(|mut names| {
                names.sort_unstable();
                let entry = |name| Entry { name, collection: true };
                Some(names.into_iter().map(entry).collect())
            }),
        };
        answer.on(Verb::List, reference)
    }

    fn query(&self, reference: &Reference, query: &Query, context: &Context) -> Answer<Content> {
        self.within(Verb::Query, reference, context, |table, rest| {
            table.select(rest, query, context)
        })
    }

    /// Changes of rows have references such as `tasks/7`; a loss is reported at the watched
    /// reference.
    ///
    /// - SQLite: what this process commits, on any thread, is reported row by row; what other
    ///   programs commit as lost, within half a second. Changes of the schema, transactions of more
    ///   than [`crate::WATCHED_ROWS`] rows, rows deleted all at once, and rows whose key SQLite does
    ///   not report (deleted ones with a key that is no integer; tables without row numbers) are
    ///   lost, too.
    /// - PostgreSQL: tables only, with the changes of all programs.
    fn watch(&self, reference: &Reference, context: &Context) -> Answer<Changes> {
        let answer = match self.split(reference) {
            Some((table, rest)) => table.changes(&rest, true, context),
            None => self.backend.watch(context),
        };
        answer.on(Verb::Watch, reference)
    }

    fn verbs(&self, reference: &Reference) -> Verbs {
        match self.split(reference) {
            Some((table, rest)) => table.verbs(&rest),
            None => B::ROOT_VERBS.iter().fold(Verbs::NONE, |verbs, verb| verbs.with(*verb)),
        }
    }

    fn conditions(&self, reference: &Reference) -> Conditions {
        let split = self.split(reference);
        split.map_or(Conditions::None, |(table, rest)| table.conditions(&rest))
    }

    fn as_any(&self) -> Option<&dyn std::any::Any> {
        Some(self)
    }

    runnel_store::without!(appends, keys, attributes, relocate, queues, links, sources);

    fn describe(&self) -> String {
        self.backend.describe()
    }

    fn tables(&self) -> Option<&dyn Tables> {
        Some(self)
    }
}

impl<B: DatabaseBackend> Tables for SqlDatabase<B> {
    fn insert(
        &self,
        reference: &Reference,
        records: Box<dyn Records>,
        context: &Context,
    ) -> Answer<u64> {
        self.within(Verb::Post, reference, context, |table, rest| {
            table.insert(rest, records, context)
        })
    }

    fn change_all(
        &self,
        reference: &Reference,
        query: &Query,
        change: &BulkChange,
        context: &Context,
    ) -> Answer<Value> {
        self.within(change.verb(), reference, context, |table, rest| {
            table.change_selected(rest, query, change, context)
        })
    }

    fn explain(
        &self,
        reference: &Reference,
        query: &Query,
        plan: bool,
        context: &Context,
    ) -> Answer<Value> {
        self.within(Verb::Query, reference, context, |table, rest| {
            Tables::explain(table, rest, query, plan, context)
        })
    }

    /// See [`SqlDatabase::run`]. A statement is about the database, whatever the path.
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
        migration: Migration,
        context: &Context,
    ) -> Answer<Vec<String>> {
        let mut migration = migration;
        if let Some(shape) = &mut migration.shape {
            shape.table = Some(table_of(reference, shape));
        }
        self.backend.migrate(migration, context).on(Verb::Define, reference)
    }

    fn define(&self, reference: &Reference, shape: &Shape) -> Answer<Rc<dyn Store>> {
        let table = self.define_table(reference, shape);
        table.map(|table| Rc::new(table) as Rc<dyn Store>).on(Verb::Define, reference)
    }

    fn key_value_store(&self, reference: &Reference) -> Answer<Rc<dyn Store>> {
        let name = reference.relative_path().trim_end_matches('/');
        self.key_value_store(name).on(Verb::Define, reference)
    }

    fn snapshot(&self, reference: &Reference, context: &Context) -> Answer<Content> {
        self.backend.snapshot(context).on(Verb::Get, reference)
    }

    fn back_up(
        &self,
        reference: &Reference,
        order: BackupOrder,
    ) -> Answer<Rc<dyn ContinuousBackup>> {
        self.backend.back_up(order).on(Verb::Get, reference)
    }

    fn vacuum(&self, reference: &Reference, context: &Context) -> Answer<()> {
        self.backend.vacuum(context).on(Verb::Define, reference)
    }

    fn begin(
        &self,
        reference: &Reference,
        isolation: Option<Isolation>,
        context: &Context,
    ) -> Answer<Rc<dyn Transaction>> {
        self.backend.begin(isolation, context).on(Verb::Begin, reference)
    }
}
