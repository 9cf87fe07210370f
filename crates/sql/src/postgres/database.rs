//! PostgreSQL below [`SqlDatabase`].

use crate::database::SqlDatabase;
use crate::database::backend::DatabaseBackend;
use crate::postgres::connection::address::Address;
use crate::postgres::connection::client::{PostgresConnection, PostgresServer};
use crate::postgres::connection::session::Repeat;
use crate::postgres::connection::transaction;
use crate::postgres::dump;
use crate::postgres::fault::{SqlFault, SqlResult};
use crate::postgres::key_value;
use crate::postgres::options::PostgresOptions;
use crate::postgres::query::rows::{self, Ahead, ResultRows};
use crate::postgres::query::select::PostgresSelect;
use crate::postgres::query::statement::{Purpose, purpose};
use crate::postgres::schema::catalog::TableInfo;
use crate::postgres::schema::{define, migrate};
use crate::postgres::table::PostgresRows;
use crate::postgres::value::parameter::Parameter;
use crate::postgres::watch;
use crate::postgres::worker_database::WorkerDatabase;
use crate::sqlite::RETURNING_LIMIT;
use runnel_store::{
    Answer, BackupOrder, ByteStream, Changes, Content, Context, ContinuousBackup, Error, Isolation,
    Kind, Migration, Result, Shape, Store, Transaction, Value, Verb,
};
use std::rc::Rc;

/// A PostgreSQL database; see [`SqlDatabase`].
///
/// - Nothing is connected before it is needed. A worker has up to
///   [`PostgresOptions::connections`] connections; verbs wait for one in their order.
/// - A verb ends at the deadline of its context, or after [`PostgresOptions::time_limit`]. The
///   server stops an abandoned statement.
/// - A connection that has died is replaced; a verb that only reads is then retried once.
/// - Transactions have a connection to themselves. A verb that fails within one has done nothing,
///   and the transaction continues. One within another is a savepoint. A commit whose connection
///   breaks is an error, although the server may have done it.
/// - Statements are prepared on their connections: a proxy between here and the server may pool
///   sessions, but not transactions.
/// - Passwords appear in no message, description or log.
/// - A foreign key refers to the table of the other class, which has to exist before.
///
/// It has to be used within a runtime of tokio.
pub type PostgresDatabase = SqlDatabase<PostgresBackend>;

/// What PostgreSQL does below [`PostgresDatabase`].
#[derive(Clone)]
pub struct PostgresBackend {
    pub(crate) core: Rc<WorkerDatabase>,
}

impl PostgresDatabase {
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
    pub fn open(url: &str, options: PostgresOptions) -> Result<Rc<Self>> {
        let address = Address::parse(url, &|name| std::env::var(name).ok())?;
        Ok(PostgresDatabase::at(address, options)?)
    }

    pub(crate) fn at(address: Address, options: PostgresOptions) -> SqlResult<Rc<Self>> {
        let core = WorkerDatabase::new(PostgresServer::new(address, options)?);
        Ok(SqlDatabase::over(PostgresBackend { core }))
    }

    pub(crate) fn place(&self) -> &str {
        self.backend.core.place()
    }

    pub(crate) fn options(&self) -> &PostgresOptions {
        &self.backend.core.pool.server.options
    }
}

impl DatabaseBackend for PostgresBackend {
    const IS_SQLITE: bool = false;

    type Rows = PostgresRows;

    const ROOT_VERBS: &'static [Verb] = &[Verb::Get, Verb::List, Verb::Define, Verb::Begin];

    fn describe(&self) -> String {
        format!("postgres {}", self.core.place())
    }

    fn rows(&self, name: &str, shape: Option<&Shape>) -> PostgresRows {
        PostgresRows::new(&self.core, name.to_string(), shape.cloned())
    }

    /// Tables have no state here that would be worth keeping.
    fn keeps(&self, _: &str) -> bool {
        false
    }

    fn names(&self, context: &Context) -> Answer<Vec<String>> {
        let session = self.core.session(context);
        Answer::later(async move {
            let reading =
                async |connection: &PostgresConnection| TableInfo::names(connection).await;
            session.run(Repeat::Yes, reading).await.map_err(Error::from)
        })
    }

    fn define(&self, name: String, shape: &Shape) -> Answer<String> {
        if let Err(fault) = define::check(&name, shape) {
            return Answer::Ready(Err(fault.into()));
        }
        let (core, shape) = (self.core.clone(), shape.clone());
        Answer::later(async move {
            define::define(&core, &name, &shape).await?;
            Ok(name)
        })
    }

    fn key_value_store(&self, name: String) -> Answer<Rc<dyn Store>> {
        key_value::backend::open(&self.core, name)
    }

    fn run(&self, sql: &str, parameters: Vec<Value>, context: &Context) -> Answer<Content> {
        let (core, sql, context) = (self.core.clone(), sql.to_string(), context.clone());
        Answer::later(async move {
            let session = core.session(&context);
            let purpose = purpose(&sql)?;
            let reads = if purpose == Purpose::Reads { Repeat::Yes } else { Repeat::No };
            let preparing = async |connection: &PostgresConnection| {
                prepare(connection, &sql, &parameters).await
            };
            let (parameters, shows) = session.run(Repeat::Yes, preparing).await?;
            let select = PostgresSelect { sql, parameters, own: true };
            let done = match (purpose, shows) {
                (Purpose::Reads, true) => {
                    ResultRows::content(&session, Rc::new(select), Ahead::Some, &context).await
                }
                (_, true) => rows::records(&session, &select, reads).await.and_then(returned),
                (_, false) => {
                    let running = async |connection: &PostgresConnection| {
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

    fn migrate(&self, migration: Migration, context: &Context) -> Answer<Vec<String>> {
        let (core, session) = (self.core.clone(), self.core.session(context));
        Answer::later(async move {
            migrate::migrate(&core, &session, &migration).await.map_err(Error::from)
        })
    }

    fn snapshot(&self, _: &Context) -> Answer<Content> {
        let message = "a PostgreSQL database is no file; back it up with pg_dump, or copy its rows \
                       with `runnel dump`";
        Answer::Ready(Err(Error::new(Kind::NotAllowed, message)))
    }

    fn back_up(&self, _: BackupOrder) -> Answer<Rc<dyn ContinuousBackup>> {
        let message = "a PostgreSQL database has no file to follow; archive its write-ahead log, for \
                       example with pgBackRest or WAL-G";
        Answer::Ready(Err(Error::new(Kind::NotAllowed, message)))
    }

    fn dump(&self, tables: Vec<String>, context: &Context) -> ByteStream {
        dump::dump(&self.core, tables, context)
    }

    fn vacuum(&self, context: &Context) -> Answer<()> {
        if context.transaction.is_some() {
            return Answer::Ready(Err(SqlFault::alone("vacuum").into()));
        }
        let session = self.core.session(context);
        Answer::later(async move {
            let cleaning =
                async |connection: &PostgresConnection| connection.batch("VACUUM ANALYZE").await;
            session.run(Repeat::No, cleaning).await.map_err(Error::from)
        })
    }

    fn begin(
        &self,
        isolation: Option<Isolation>,
        context: &Context,
    ) -> Answer<Rc<dyn Transaction>> {
        let (pool, context) = (self.core.pool.clone(), context.clone());
        Answer::later(async move {
            transaction::begin(&pool, isolation, &context).await.map_err(Error::from)
        })
    }

    fn watch(&self, _: &Context) -> Answer<Changes> {
        watch::whole_database().into()
    }
}

/// The parameters of a statement in the types that the server found out, and whether it answers
/// rows.
async fn prepare(
    connection: &PostgresConnection,
    sql: &str,
    values: &[Value],
) -> SqlResult<(Vec<Parameter>, bool)> {
    let statement = connection.prepare(sql).await?;
    let kinds = statement.params();
    if kinds.len() != values.len() {
        return Err(SqlFault::invalid(format!(
            "the statement has {} parameters, but {} values were given",
            kinds.len(),
            values.len()
        )));
    }
    let parameters = values.iter().zip(kinds).enumerate().map(|(index, (value, kind))| {
        Parameter::of_type(value.clone(), kind).map_err(|fault| SqlFault {
            message: format!("${}: {}", index + 1, fault.message),
            ..fault
        })
    });
    Ok((parameters.collect::<std::result::Result<_, _>>()?, !statement.columns().is_empty()))
}

fn returned(records: Vec<Value>) -> SqlResult<Content> {
    if records.len() > RETURNING_LIMIT {
        let message = format!("RETURNING answers at most {RETURNING_LIMIT} rows");
        return Err(SqlFault::new(Kind::TooLarge, message));
    }
    Ok(Content::value(Value::List(records)))
}
