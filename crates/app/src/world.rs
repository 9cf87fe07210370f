//! The world of a program: the only place that knows which scheme is which store.

use crate::console::Console;
use runnel_runtime::{Host, Isolate, Output, ServeOptions, Server};
use runnel_store::{
    Answer, Context, Disk, Environment, Error, Kind, Reference, Store, Value, Verb,
};
use std::cell::RefCell;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::time::Duration;

/// How long a server that is stopped waits for requests under way.
const PATIENCE: Duration = Duration::from_secs(10);
/// Seconds that a shell command may take, and bytes that it may answer.
const SHELL_TIME: Duration = Duration::from_secs(60);

/// The built-in schemes.
const SCHEMES: [&str; 8] =
    ["file", "env", "http", "https", "memory", "postgres", "postgresql", "sqlite"];

/// The command's own world.
pub(crate) struct World {
    console: Rc<Console>,
    client: RefCell<Option<Rc<dyn Store>>>,
    memories: Memories,
    databases: Databases,
    postgres: RefCell<Option<Rc<dyn Store>>>,
    environment: Rc<Environment>,
    input: Rc<crate::repl::Input>,
}

type Memories = RefCell<HashMap<String, Rc<dyn Store>>>;
type Databases = Rc<RefCell<HashMap<String, Rc<runnel_sql::Database>>>>;

impl World {
    pub(crate) fn new() -> Rc<World> {
        Rc::new(World {
            console: Rc::new(Console::new()),
            client: RefCell::default(),
            memories: RefCell::default(),
            databases: Rc::default(),
            postgres: RefCell::default(),
            environment: Rc::new(Environment::new()),
            input: Rc::new(crate::repl::Input::new()),
        })
    }

    pub(crate) fn console(&self) -> &Rc<Console> {
        &self.console
    }

    pub(crate) fn input(&self) -> &crate::repl::Input {
        &self.input
    }

    fn client(&self) -> Rc<dyn Store> {
        self.client
            .borrow_mut()
            .get_or_insert_with(|| runnel_http::client(runnel_http::ClientOptions::default()))
            .clone()
    }

    fn postgres(&self) -> Rc<dyn Store> {
        self.postgres.borrow_mut().get_or_insert_with(runnel_sql::postgres_scheme).clone()
    }

    fn sqlite(&self, path: &str, options: &Value) -> Result<Rc<runnel_sql::Database>, Error> {
        open_sqlite(&self.databases, path, options)
    }
}

/// Opens a database, or answers the one that is open; options count at the first opening.
fn open_sqlite(
    databases: &Databases,
    path: &str,
    options: &Value,
) -> Result<Rc<runnel_sql::Database>, Error> {
    if options.is_nil()
        && let Some(database) = databases.borrow().get(path)
    {
        return Ok(database.clone());
    }
    let database = runnel_sql::Database::open(path, sqlite_options(options)?)?;
    databases.borrow_mut().insert(path.to_string(), database.clone());
    Ok(database)
}

/// `#{ synchronous: 'normal', busyTimeout: 2 seconds, readOnly: true, keepAnswers: false }`
fn sqlite_options(value: &Value) -> Result<runnel_sql::Options, Error> {
    let mut options = runnel_sql::Options::default();
    let Value::Record(fields) = value else { return Ok(options) };
    let wrong = |name: &str, what: &str| {
        Error::new(Kind::Invalid, format!("the option {name} of a database is {what}"))
    };
    for (name, value) in fields {
        match name.as_str() {
            "synchronous" => {
                options.synchronous = match value {
                    Value::Text(text) if text == "full" => runnel_sql::Synchronous::Full,
                    Value::Text(text) if text == "normal" => runnel_sql::Synchronous::Normal,
                    _ => return Err(wrong(name, "'full' or 'normal'")),
                }
            }
            "readOnly" => {
                options.read_only = value.as_bool().ok_or_else(|| wrong(name, "true or false"))?;
            }
            "keepAnswers" => {
                options.keep_answers =
                    value.as_bool().ok_or_else(|| wrong(name, "true or false"))?;
            }
            "busyTimeout" => {
                let seconds = value.as_f64().filter(|time| (0.0..=3600.0).contains(time));
                let seconds = seconds.ok_or_else(|| wrong(name, "a number of seconds"))?;
                options.busy_timeout = Duration::from_secs_f64(seconds);
            }
            _ => {
                let known = "synchronous, busyTimeout, readOnly and keepAnswers";
                let message = format!("a database has no option {name}; it has {known}");
                return Err(Error::new(Kind::Invalid, message));
            }
        }
    }
    Ok(options)
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

    fn with<T: 'static>(
        &self,
        verb: Verb,
        reference: &Reference,
        act: impl FnOnce(&runnel_sql::Database, &Reference) -> Answer<T>,
    ) -> Answer<T> {
        let (file, rest) = Self::split(reference.path());
        match open_sqlite(&self.databases, file, &Value::Nil) {
            Ok(database) => act(&database, &reference.with_path(rest)),
            Err(error) => error.on(verb, reference).into(),
        }
    }
}

impl Store for SqliteScheme {
    fn get(
        &self,
        reference: &Reference,
        context: &Context,
    ) -> Answer<Option<runnel_store::Content>> {
        self.with(Verb::Get, reference, |database, inner| database.get(inner, context))
    }

    fn put(
        &self,
        reference: &Reference,
        content: runnel_store::Content,
        context: &Context,
    ) -> Answer<bool> {
        self.with(Verb::Put, reference, |database, inner| database.put(inner, content, context))
    }

    fn post(
        &self,
        reference: &Reference,
        content: runnel_store::Content,
        context: &Context,
    ) -> Answer<runnel_store::Posted> {
        self.with(Verb::Post, reference, |database, inner| database.post(inner, content, context))
    }

    fn merge(
        &self,
        reference: &Reference,
        content: runnel_store::Content,
        context: &Context,
    ) -> Answer<()> {
        self.with(Verb::Merge, reference, |database, inner| database.merge(inner, content, context))
    }

    fn delete(&self, reference: &Reference, context: &Context) -> Answer<bool> {
        self.with(Verb::Delete, reference, |database, inner| database.delete(inner, context))
    }

    fn list(
        &self,
        reference: &Reference,
        context: &Context,
    ) -> Answer<Option<Vec<runnel_store::Entry>>> {
        self.with(Verb::List, reference, |database, inner| database.list(inner, context))
    }

    fn query(
        &self,
        reference: &Reference,
        query: &runnel_store::Query,
        context: &Context,
    ) -> Answer<runnel_store::Content> {
        self.with(Verb::Query, reference, |database, inner| database.query(inner, query, context))
    }

    fn insert(
        &self,
        reference: &Reference,
        records: Box<dyn runnel_store::Records>,
        context: &Context,
    ) -> Answer<u64> {
        self.with(Verb::Post, reference, |database, inner| database.insert(inner, records, context))
    }

    fn run(
        &self,
        reference: &Reference,
        statement: &str,
        parameters: Vec<Value>,
        context: &Context,
    ) -> Answer<runnel_store::Content> {
        self.with(Verb::Query, reference, |database, inner| {
            Store::run(database, inner, statement, parameters, context)
        })
    }

    fn migrate(
        &self,
        reference: &Reference,
        steps: Vec<(String, String)>,
        context: &Context,
    ) -> Answer<Vec<String>> {
        self.with(Verb::Define, reference, |database, inner| {
            database.migrate(inner, steps, context)
        })
    }

    fn define(&self, reference: &Reference, shape: &runnel_store::Shape) -> Answer<Rc<dyn Store>> {
        self.with(Verb::Define, reference, |database, inner| database.define(inner, shape))
    }

    fn watch(&self, reference: &Reference, context: &Context) -> Answer<runnel_store::Changes> {
        self.with(Verb::Watch, reference, |database, inner| database.watch(inner, context))
    }

    fn begin(
        &self,
        reference: &Reference,
        context: &Context,
    ) -> Answer<Rc<dyn runnel_store::Transaction>> {
        self.with(Verb::Begin, reference, |database, inner| database.begin(inner, context))
    }

    fn describe(&self) -> String {
        "sqlite".into()
    }
}

/// `memory:NAME/path`: a dictionary store for each name.
fn named_memory(memories: &Memories, name: &str) -> Rc<dyn Store> {
    memories
        .borrow_mut()
        .entry(name.to_string())
        .or_insert_with(|| Rc::new(runnel_store::Memory::dictionary()))
        .clone()
}

/// A running HTTP server.
struct HttpServer(Rc<runnel_http::Server>);

impl Server for HttpServer {
    fn port(&self) -> u16 {
        self.0.port()
    }

    fn set_root(&self, store: Rc<dyn Store>) {
        self.0.set_root(store);
    }

    fn stop(&self) -> Answer<()> {
        let server = self.0.clone();
        Answer::later(async move {
            if !server.stop(PATIENCE).await {
                tracing::warn!("some requests did not end in time and were cut");
            }
            Ok(())
        })
    }
}

fn server_options(options: &ServeOptions) -> Result<runnel_http::Options, Error> {
    let address: IpAddr = match &options.address {
        None => Ipv4Addr::LOCALHOST.into(),
        Some(text) => text.parse().map_err(|_| {
            Error::new(Kind::Invalid, format!("`{text}` is no address; write one like 127.0.0.1"))
        })?,
    };
    let port = options.port.unwrap_or(runnel_http::DEFAULT_PORT);
    let address = SocketAddr::new(address, port);
    let mut result = runnel_http::Options { address, ..runnel_http::Options::default() };
    if let Some(seconds) = options.timeout {
        let seconds = seconds.clamp(0.001, 86_400.0);
        result.limits.request_time = Duration::from_secs_f64(seconds);
    }
    if let Some(bytes) = options.largest_body {
        result.limits.body = bytes;
    }
    Ok(result)
}

impl Host for World {
    fn scheme(&self, name: &str) -> Option<Rc<dyn Store>> {
        match name {
            "file" => Some(Rc::new(Disk::unconfined())),
            "env" => Some(self.environment.clone()),
            "http" | "https" => Some(self.client()),
            "postgres" | "postgresql" => Some(self.postgres()),
            "memory" => Some(named_memory(&self.memories, "")),
            "sqlite" => Some(Rc::new(SqliteScheme { databases: self.databases.clone() })),
            _ => None,
        }
    }

    fn schemes(&self) -> &'static [&'static str] {
        &SCHEMES
    }

    fn database(&self, scheme: &str, path: &str, options: &Value) -> Option<Answer<Rc<dyn Store>>> {
        match scheme {
            "sqlite" => {
                let opened = self.sqlite(path, options).map(|database| database as Rc<dyn Store>);
                Some(opened.into())
            }
            _ => None,
        }
    }

    fn serve(&self, store: Rc<dyn Store>, options: ServeOptions) -> Answer<Rc<dyn Server>> {
        let options = match server_options(&options) {
            Ok(options) => options,
            Err(error) => return error.into(),
        };
        Answer::later(async move {
            let server = runnel_http::serve(store, options).await?;
            Ok(Rc::new(HttpServer(Rc::new(server))) as Rc<dyn Server>)
        })
    }

    fn write(&self, output: Output, bytes: &[u8]) {
        match output {
            Output::Out => self.console.write(bytes),
            Output::Err => {
                self.console.flush();
                Console::error_bytes(bytes);
            }
        }
    }

    fn progress(&self, text: &str) {
        Console::progress(text);
    }

    fn flush(&self) {
        self.console.flush();
    }

    fn read_line(&self) -> Answer<Option<String>> {
        let lines = self.input.lines();
        Answer::later(async move { lines.next().await.transpose() })
    }

    fn interact(&self, isolate: &Isolate) -> Answer<()> {
        let isolate = isolate.clone();
        let (input, console) = (self.input.clone(), self.console.clone());
        Answer::later(async move {
            crate::repl::interact(&isolate, &input, &console).await;
            Ok(())
        })
    }

    fn shell(&self, command: &str) -> Answer<String> {
        let mut process = tokio::process::Command::new("sh");
        process.arg("-c").arg(command).kill_on_drop(true);
        for (name, value) in self.environment.overlay() {
            match value {
                Some(value) => process.env(name, value),
                None => process.env_remove(name),
            };
        }
        Answer::later(async move {
            let run = tokio::time::timeout(SHELL_TIME, process.output()).await;
            let output = match run {
                Err(_) => return Err(Error::new(Kind::Timeout, "the command took too long")),
                Ok(Err(error)) => {
                    return Err(Error::new(Kind::Failed, "the command could not be started")
                        .with_detail(error.to_string()));
                }
                Ok(Ok(output)) => output,
            };
            if !output.status.success() {
                let said = String::from_utf8_lossy(&output.stderr);
                let message = format!("the command failed ({}): {}", output.status, said.trim());
                return Err(Error::new(Kind::Failed, message));
            }
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        })
    }
}
