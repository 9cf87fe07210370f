//! The schemes of a program: the only place that knows which scheme is which store.

use crate::command_store::CommandStore;
use crate::database_options;
use runnel_store::{
    Answer, Below, Disk, Environment, Error, Layer, Memory, PathUp, Reference, Store, Value, Verb,
};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// The built-in schemes.
pub(crate) const SCHEMES: [&str; 15] = [
    "env",
    "file",
    "http",
    "https",
    "memory",
    "nats",
    "postgres",
    "postgresql",
    "redis",
    "rediss",
    "s3",
    "search",
    "sh",
    "sqlite",
    "std",
];

/// The stores of the schemes, each made when it is first used.
pub(crate) struct Schemes {
    made: RefCell<HashMap<&'static str, Rc<dyn Store>>>,
    databases: Databases,
    postgres: Rc<runnel_sql::PostgresScheme>,
    search: Rc<runnel_search::SearchScheme>,
    environment: Rc<Environment>,
}

type Databases = Rc<RefCell<HashMap<String, Rc<runnel_sql::SqliteDatabase>>>>;

impl Schemes {
    /// The schemes of a program with this environment.
    pub(crate) fn new(environment: Rc<Environment>) -> Self {
        let (made, databases, postgres, search) = Default::default();
        Schemes { made, databases, postgres, search, environment }
    }

    /// The store of a scheme; `None` for one that is not built in.
    pub(crate) fn store(&self, name: &str) -> Option<Rc<dyn Store>> {
        // These are one store under two names, so that they share connections.
        let name = match name {
            "https" => "http",
            "postgresql" => "postgres",
            "rediss" => "redis",
            name => SCHEMES.into_iter().find(|known| *known == name)?,
        };
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
            "file" => crate::reload::Reads::of(Rc::new(Disk::unconfined())),
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
            "std" => crate::standard::files(),
            "sqlite" => Rc::new(SqliteScheme { databases: self.databases.clone() }),
            _ => return None,
        })
    }

    /// What the stores of other machines are told: a program may change its environment.
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
        crate::remote_stores::make(kind, options, self.variable())
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
                if let Some(supervisor) = crate::handover::supervisor() {
                    runnel_search::hand_over_among(&supervisor.display().to_string());
                }
                Ok(self.search.define(options)?)
            }
            "search" => Ok(self.search.define_several(options, &stores)?),
            "searchFollowing" => self.search.follow(options, &stores),
            _ => crate::search_pages::make(kind, options, sources),
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
                let opened = open_sqlite(&self.databases, path, options);
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

/// Opens a database, or answers the one that is open; options count at the first opening.
fn open_sqlite(
    databases: &Databases,
    path: &str,
    options: &Value,
) -> Result<Rc<runnel_sql::SqliteDatabase>, Error> {
    if options.is_nil()
        && let Some(database) = databases.borrow().get(path)
    {
        return Ok(database.clone());
    }
    let database = runnel_sql::SqliteDatabase::open(path, database_options::sqlite(options)?)?;
    databases.borrow_mut().insert(path.to_string(), database.clone());
    Ok(database)
}

/// `sqlite:tasks.db/tasks/7`: the file is the part of the path up to the first name that ends in
/// a usual ending of databases, or else the whole path.
struct SqliteScheme {
    databases: Databases,
}

impl SqliteScheme {
    fn split(path: &str) -> (&str, &str) {
        for ending in [".db", ".sqlite", ".sqlite3", ":memory:"] {
            if let Some(at) = path.find(&format!("{ending}/")) {
                let cut = at + ending.len();
                return (&path[..cut], &path[cut + 1..]);
            }
        }
        (path, "")
    }
}

impl Layer for SqliteScheme {
    fn below<'a>(&'a self, _: Verb, reference: &'a Reference) -> Result<Below<'a>, Error> {
        let (file, rest) = Self::split(reference.path());
        let database = open_sqlite(&self.databases, file, &Value::Nil)?;
        Ok(Below::found(database, reference.with_path(rest)))
    }

    /// Named as paths are here: the file first.
    fn up(&self, reference: &Reference) -> Option<PathUp> {
        let file = Reference::from_path(Self::split(reference.path()).0.to_string());
        Some(Box::new(move |below| Some(file.join(below.relative_path()))))
    }

    fn over(&self, _: Rc<dyn Store>) -> Option<Rc<dyn Store>> {
        None
    }

    fn name(&self) -> String {
        "sqlite".into()
    }

    fn layer_sources(&self) -> Vec<(String, Rc<dyn Store>)> {
        Vec::new()
    }
}
