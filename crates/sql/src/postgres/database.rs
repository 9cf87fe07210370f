//! A PostgreSQL database as a store: its tables, their rows, and statements in SQL.

use crate::postgres::connection::address::Address;
use crate::postgres::connection::client::{Connection, Server};
use crate::postgres::connection::session::{Repeat, Session};
use crate::postgres::connection::transaction;
use crate::postgres::core::Core;
use crate::postgres::fault::Fault;
use crate::postgres::options::PostgresOptions;
use crate::postgres::query::rows::{self, Ahead, Rows};
use crate::postgres::query::select::Select;
use crate::postgres::query::statement::{Purpose, purpose};
use crate::postgres::schema::catalog::TableInfo;
use crate::postgres::schema::define;
use crate::postgres::schema::migrate::migrate;
use crate::postgres::table::PostgresTable;
use crate::postgres::value::parameter::Parameter;
use crate::postgres::watch;
use crate::shape::table_name;
use crate::sqlite::RETURNING_LIMIT;
use runnel_store::{
    Answer, Changes, Conditions, Content, Context, Entry, Error, Kind, Outcome, Query, Records,
    Reference, Result, Shape, Store, Tables, Transaction, Value, Verb, Verbs,
};
use std::rc::Rc;

/// A PostgreSQL database: the root lists its tables, `tasks` is the rows of a table, `tasks/7` one
/// of them; see [`PostgresTable`] for what the verbs do there.
///
/// - Nothing is connected before it is needed. A worker has up to
///   [`PostgresOptions::connections`] connections; verbs wait for one in their order.
/// - A verb ends at the deadline of its context, or after [`PostgresOptions::time_limit`]. One that
///   is given up is stopped on the server.
/// - A connection that has died is replaced; a verb that only reads is tried once more then.
/// - Transactions have a connection to themselves. A verb that fails within one has done nothing,
///   and the transaction goes on. One within another is a savepoint. A commit whose connection
///   breaks is an error, although the server may have done it.
/// - Statements are prepared on their connections: between here and the server there may be a
///   proxy that pools sessions, but none that pools transactions.
/// - Passwords appear in no message, description or log.
///
/// It has to be used within a runtime of tokio.
pub struct Postgres {
    core: Rc<Core>,
}

impl Postgres {
    /// The database of a URL, `postgres://user:password@host:port/database`, with the parameters
    /// `sslmode`, `sslrootcert` (a file of PEM certificates) and `application_name`. What it does
    /// not say comes from the usual variables: `PGHOST` (also a path: the folder of a socket),
    /// `PGPORT`, `PGUSER`, `PGPASSWORD`, `PGDATABASE`, `PGSSLMODE`, `PGSSLROOTCERT`, and the
    /// password file `PGPASSFILE` or `~/.pgpass`.
    ///
    /// | `sslmode` | encrypted | certificate verified |
    /// | --- | --- | --- |
    /// | `disable` | no | |
    /// | `prefer` (the default for this machine) | if the server can | no |
    /// | `require` | yes | no |
    /// | `verify-full`, `verify-ca` (the default for other machines) | yes | yes, with its name |
    ///
    /// # Errors
    /// [`Kind::Invalid`] for a URL that is none, without repeating it. Whether the server is there
    /// turns out with the first verb.
    pub fn open(url: &str, options: PostgresOptions) -> Result<Rc<Postgres>> {
        let address = Address::parse(url, &|name| std::env::var(name).ok())?;
        Ok(Postgres::at(address, options)?)
    }

    pub(crate) fn at(
        address: Address,
        options: PostgresOptions,
    ) -> std::result::Result<Rc<Postgres>, Fault> {
        Ok(Rc::new(Postgres { core: Core::new(Server::new(address, options)?) }))
    }

    /// A table by its name, whether it is there or not.
    pub fn table(&self, name: &str) -> PostgresTable {
        PostgresTable::new(&self.core, name.to_string(), None)
    }

    /// The table of a class: made if it is not there, extended by the columns, indexes and foreign
    /// keys that it lacks. Its name is the path of the reference, or the lower-case plural of the
    /// class's name where that is empty (`Task` → `tasks`). An `id` that is an integer is the
    /// primary key, which the database numbers.
    ///
    /// A foreign key refers to the table of the other class, which has to be there before.
    ///
    /// # Errors
    /// [`Kind::Invalid`] for a class without variables or with names that cannot be columns;
    /// [`Kind::Conflict`] when an existing table, or what it holds, contradicts the class.
    pub fn define_table(&self, reference: &Reference, shape: &Shape) -> Answer<PostgresTable> {
        let name = match reference.relative_path().trim_end_matches('/') {
            "" => table_name(&shape.name),
            name => name.to_string(),
        };
        if let Err(fault) = define::check(&name, shape) {
            return Answer::Ready(Err(fault.into()));
        }
        let (core, shape) = (self.core.clone(), shape.clone());
        Answer::later(async move {
            define::define(&core, &name, &shape).await?;
            Ok(PostgresTable::new(&core, name, Some(shape)))
        })
    }

    /// Runs one SQL statement with its parameters (`$1`, `$2` …, in order). One that reads answers
    /// its rows, one that writes the number of rows that it changed, or, with a `RETURNING`
    /// clause, these rows as records.
    ///
    /// # Errors
    /// [`Kind::Invalid`] for wrong SQL, more than one statement, the wrong number of parameters or
    /// one that its place does not take; [`Kind::NotAllowed`] for transactions, settings, cursors
    /// and the like, which would change the connections under everyone else.
    pub fn run(&self, sql: &str, parameters: Vec<Value>, context: &Context) -> Answer<Content> {
        let (core, sql, context) = (self.core.clone(), sql.to_string(), context.clone());
        Answer::later(async move {
            let session = core.session(&context);
            let purpose = purpose(&sql)?;
            let reads = if purpose == Purpose::Reads { Repeat::Yes } else { Repeat::No };
            let preparing =
                async |connection: &Connection| prepare(connection, &sql, &parameters).await;
            let (parameters, shows) = session.run(Repeat::Yes, preparing).await?;
            let select = Select { sql, parameters };
            let done = match (purpose, shows) {
                (Purpose::Reads, true) => {
                    Rows::content(&session, Rc::new(select), Ahead::Some, &context).await
                }
                (_, true) => rows::records(&session, &select, reads).await.and_then(returned),
                (_, false) => {
                    let running = async |connection: &Connection| {
                        connection.execute(&select.sql, &select.parameters).await
                    };
                    let changed = session.run(reads, running).await;
                    changed.map(|count| Content::value(Value::from(count)))
                }
            };
            if purpose == Purpose::Changes {
                core.forget();
            }
            done.map_err(Error::from)
        })
    }

    /// The table that a reference leads to, and the reference within it; `None` at the root.
    fn split(&self, reference: &Reference) -> Option<(PostgresTable, Reference)> {
        let (name, rest) = reference.split_first()?;
        Some((self.table(name), rest))
    }

    fn names(&self, context: &Context) -> Answer<Vec<String>> {
        let session = self.core.session(context);
        Answer::later(async move {
            let reading = async |connection: &Connection| TableInfo::names(connection).await;
            session.run(Repeat::Yes, reading).await.map_err(Error::from)
        })
    }

    pub(crate) fn place(&self) -> &str {
        self.core.place()
    }

    pub(crate) fn options(&self) -> &PostgresOptions {
        &self.core.pool.server.options
    }
}

/// The parameters of a statement in the types that the server found out, and whether it answers
/// rows.
async fn prepare(
    connection: &Connection,
    sql: &str,
    values: &[Value],
) -> std::result::Result<(Vec<Parameter>, bool), Fault> {
    let statement = connection.prepare(sql).await?;
    let kinds = statement.params();
    if kinds.len() != values.len() {
        return Err(Fault::invalid(format!(
            "the statement has {} parameters, but {} values were given",
            kinds.len(),
            values.len()
        )));
    }
    let parameters = values.iter().zip(kinds).enumerate().map(|(index, (value, kind))| {
        Parameter::of(value.clone(), kind).map_err(|fault| Fault {
            message: format!("${}: {}", index + 1, fault.message),
            ..fault
        })
    });
    Ok((parameters.collect::<std::result::Result<_, _>>()?, !statement.columns().is_empty()))
}

fn returned(records: Vec<Value>) -> std::result::Result<Content, Fault> {
    if records.len() > RETURNING_LIMIT {
        let message = format!("RETURNING answers at most {RETURNING_LIMIT} rows");
        return Err(Fault::new(Kind::TooLarge, message));
    }
    Ok(Content::value(Value::List(records)))
}

fn at_root<T>(verb: Verb) -> Answer<T> {
    let message = format!("a database does not {}; name one of its tables", verb.name());
    Answer::Ready(Err(Error::new(Kind::NotAllowed, message)))
}

#[deny(clippy::missing_trait_methods)]
impl Store for Postgres {
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
        let answer = match self.split(reference) {
            Some((table, rest)) => {
                let name = table.name().to_string();
                let place =
                    move |key: Reference| Reference::from_path(format!("{name}/{}", key.path()));
                table.post(&rest, content, context).map(move |posted| posted.renamed(place))
            }
            None => at_root(Verb::Post),
        };
        answer.on(Verb::Post, reference)
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
            None => self.names(context).map(|names| {
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

    fn watch(&self, reference: &Reference, context: &Context) -> Answer<Changes> {
        let answer = match self.split(reference) {
            Some((table, rest)) => table.watch(&rest, format!("{}/", table.name()), context),
            None => watch::whole_database().into(),
        };
        answer.on(Verb::Watch, reference)
    }

    fn verbs(&self, reference: &Reference) -> Verbs {
        match self.split(reference) {
            Some((table, rest)) => table.verbs(&rest),
            None => {
                let verbs = [Verb::Get, Verb::List, Verb::Define, Verb::Begin];
                verbs.into_iter().fold(Verbs::NONE, Verbs::with)
            }
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
        format!("postgres {}", self.place())
    }

    fn tables(&self) -> Option<&dyn Tables> {
        Some(self)
    }
}

impl Tables for Postgres {
    fn insert(
        &self,
        reference: &Reference,
        records: Box<dyn Records>,
        context: &Context,
    ) -> Answer<u64> {
        let answer = match self.split(reference) {
            Some((table, rest)) => table.insert(&rest, records, context),
            None => at_root(Verb::Post),
        };
        answer.on(Verb::Post, reference)
    }

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
        let (core, session) = (self.core.clone(), self.core.session(context));
        let applied = async move { migrate(&core, &session, &steps).await.map_err(Error::from) };
        Answer::later(applied).on(Verb::Define, reference)
    }

    fn define(&self, reference: &Reference, shape: &Shape) -> Answer<Rc<dyn Store>> {
        let table = self.define_table(reference, shape);
        table.map(|table| Rc::new(table) as Rc<dyn Store>).on(Verb::Define, reference)
    }

    fn begin(&self, reference: &Reference, context: &Context) -> Answer<Rc<dyn Transaction>> {
        let (session, outer): (Session, _) =
            (self.core.session(context), context.transaction.clone());
        let begun = async move { transaction::begin(session, outer).await.map_err(Error::from) };
        Answer::later(begun).on(Verb::Begin, reference)
    }
}
