//! The schemes of a program: the only place that knows which scheme is which store.

use crate::process::bundle::files::InsideFiles;
use crate::process::reload::Reads;
use crate::world::command_store::CommandStore;
use crate::world::database_options;
use runnel_sql::{PostgresDatabase, PostgresOptions, SqliteDatabase};
use runnel_store::{Answer, Disk, Environment, Error, Kind, Memory, Reference, Store, Value};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;

/// A built-in scheme.
#[derive(Debug)]
pub(crate) struct SchemeInfo {
    pub(crate) name: &'static str,
    /// Its resources, in one line.
    pub(crate) help: &'static str,
    pub(crate) example: &'static str,
    /// The scheme whose store it shares, and with it the connections.
    pub(crate) same_as: Option<&'static str>,
}

const fn scheme(name: &'static str, help: &'static str, example: &'static str) -> SchemeInfo {
    SchemeInfo { name, help, example, same_as: None }
}

impl SchemeInfo {
    const fn shared(mut self, same_as: &'static str) -> SchemeInfo {
        self.same_as = Some(same_as);
        self
    }
}

/// The built-in schemes.
pub(crate) const SCHEMES: [SchemeInfo; 17] = [
    scheme("env", "environment variables", "env:HOME"),
    scheme("file", "files and folders", "file:notes/today.txt"),
    scheme("http", "other servers", "http://localhost:8080/tasks"),
    scheme("https", "other servers, with TLS", "https://example.org/tasks").shared("http"),
    scheme("memory", "memory that all workers share", "memory:counter"),
    scheme("nats", "keys, objects, streams and subjects of NATS", "nats:kv/bucket/key"),
    scheme("postgres", "tables of PostgreSQL", "postgres://host/base/tasks?done=0"),
    scheme("postgresql", "tables of PostgreSQL", "postgresql://host/base/tasks").shared("postgres"),
    scheme("redis", "keys, queues and streams of Redis or Valkey", "redis:key"),
    scheme("rediss", "keys of Redis or Valkey, with TLS", "rediss://host/0/key").shared("redis"),
    scheme("s3", "object storage with the S3 protocol", "s3:bucket/key"),
    scheme("search", "search indexes of the program", "search:books?query=alan"),
    scheme("sh", "commands of the system", "sh:ls/-l"),
    scheme("sqlite", "tables of SQLite", "sqlite:tasks.db/tasks/7"),
    scheme("std", "files that come with the command", "std:design.css"),
    scheme("ws", "WebSockets of other servers", "ws://localhost:8080/live").shared("http"),
    scheme("wss", "WebSockets of other servers, with TLS", "wss://example.org/live").shared("http"),
];

/// Their names.
pub(crate) const SCHEME_NAMES: [&str; SCHEMES.len()] = {
    let mut names = [""; SCHEMES.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = SCHEMES[at].name;
        at += 1;
    }
    names
};

/// A statement of a command that moves rows may take as long as the rows need.
const ROWS_TIME: Duration = Duration::from_secs(24 * 60 * 60);

/// A database of a reference.
pub(crate) enum Database {
    Sqlite(Rc<SqliteDatabase>),
    Postgres(Rc<PostgresDatabase>),
}

impl Database {
    pub(crate) fn as_store(&self) -> &dyn Store {
        match self {
            Database::Sqlite(database) => &**database,
            Database::Postgres(database) => &**database,
        }
    }
}

/// The stores of the schemes, each made when it is first used.
pub(crate) struct Schemes {
    made: RefCell<HashMap<&'static str, Rc<dyn Store>>>,
    sqlite: Rc<runnel_sql::SqliteScheme>,
    postgres: Rc<runnel_sql::PostgresScheme>,
    search: Rc<runnel_search::SearchScheme>,
    environment: Rc<Environment>,
}

impl Schemes {
    /// The schemes of a program with this environment.
    pub(crate) fn new(environment: Rc<Environment>) -> Self {
        let (made, sqlite, postgres, search) = Default::default();
        Schemes { made, sqlite, postgres, search, environment }
    }

    /// The store of a built-in scheme; `None` for any other name.
    pub(crate) fn store(&self, name: &str) -> Option<Rc<dyn Store>> {
        let scheme = SCHEMES.iter().find(|scheme| scheme.name == name)?;
        let name = scheme.same_as.unwrap_or(scheme.name);
        if let Some(made) = self.made.borrow().get(name) {
            return Some(made.clone());
        }
        let store = self.make(name)?;
        self.made.borrow_mut().insert(name, store.clone());
        Some(store)
    }

    fn make(&self, name: &str) -> Option<Rc<dyn Store>> {
        Some(match name {
            "env" => self.environment.clone(),
            "file" => Reads::of(InsideFiles::before(Rc::new(Disk::unconfined()))),
            "http" => runnel_http::client(runnel_http::ClientOptions::default()),
            // All workers share one; a name is the first part of a path.
            "memory" => Rc::new(Memory::named("").ok()?),
            "nats" => runnel_bus::nats_scheme(self.bus()),
            "postgres" => self.postgres.clone(),
            "redis" => runnel_bus::redis_scheme(self.bus()),
            "s3" => runnel_s3::s3_scheme(runnel_s3::S3Options {
                variable: self.variable(),
                ..runnel_s3::S3Options::default()
            }),
            "search" => self.search.clone(),
            "sh" => Rc::new(CommandStore::new(self.environment.clone())),
            "std" => crate::world::standard::files(),
            "sqlite" => self.sqlite.clone(),
            _ => return None,
        })
    }

    /// Options of Redis and NATS: credentials come from the environment of the program.
    fn bus(&self) -> runnel_bus::BusOptions {
        let variable = self.variable();
        runnel_bus::BusOptions { variable, ..runnel_bus::BusOptions::default() }
    }

    fn variable(&self) -> runnel_s3::Variable {
        let environment = self.environment.clone();
        Rc::new(move |name: &str| environment.text(name))
    }

    /// A store of another machine that a program describes.
    pub(crate) fn remote(&self, kind: &str, options: &Value) -> Result<Rc<dyn Store>, Error> {
        crate::world::remote_stores::make(kind, options, self.variable())
    }

    /// A store that a program makes of others: an index, of none; a search, of indexes; pages.
    pub(crate) fn composed(
        &self,
        kind: &str,
        options: &Value,
        sources: &[(String, Rc<dyn Store>)],
    ) -> Result<Rc<dyn Store>, Error> {
        let stores: Vec<_> = sources.iter().map(|(_, store)| store.clone()).collect();
        match kind {
            "searchIndex" => {
                // A new version of a program takes over the folders of the old one.
                if let Some(supervisor) = crate::process::handover::supervisor() {
                    runnel_search::hand_over_among(&supervisor.display().to_string());
                }
                Ok(self.search.define(options)?)
            }
            "search" => Ok(self.search.define_several(options, &stores)?),
            "openAPI" => crate::world::documentation::make(sources),
            "searchFollowing" => self.search.follow(options, &stores),
            _ => crate::world::search_pages::make(kind, options, sources),
        }
    }

    /// The database of a reference, for a command that moves its rows.
    pub(crate) fn database_at(&self, reference: &Reference) -> Result<Database, Error> {
        match reference.scheme() {
            Some("sqlite") => Ok(Database::Sqlite(self.sqlite.open(reference.path(), None)?)),
            Some("postgres" | "postgresql") => {
                let options =
                    PostgresOptions { time_limit: ROWS_TIME, ..PostgresOptions::default() };
                self.postgres.configure(reference, &options)?;
                Ok(Database::Postgres(self.postgres.database(reference)?))
            }
            _ => {
                let message = "rows are those of a database: name it as `sqlite:tasks.db` or \
                               `postgres://host/base`";
                Err(Error::new(Kind::Invalid, message))
            }
        }
    }

    /// Opens a database by the scheme and the path of its reference.
    pub(crate) fn database(
        &self,
        scheme: &str,
        path: &str,
        options: &Value,
    ) -> Option<Answer<Rc<dyn Store>>> {
        match scheme {
            "sqlite" => {
                let opened = match options.is_nil() {
                    true => self.sqlite.open(path, None),
                    false => database_options::sqlite(options)
                        .and_then(|options| self.sqlite.open(path, Some(options))),
                };
                Some(opened.map(|database| database as Rc<dyn Store>).into())
            }
            // What stands for a server is its reference: here it is only told how to be used.
            "postgres" | "postgresql" if !options.is_nil() => {
                let reference = Reference::parse(path).with_scheme("postgres");
                let told = database_options::postgres(options)
                    .and_then(|options| self.postgres.configure(&reference, &options));
                Some(told.map(|()| self.postgres.clone() as Rc<dyn Store>).into())
            }
            _ => None,
        }
    }
}
