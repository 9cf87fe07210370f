//! The world of a program: servers, input and output, and the schemes.

pub(crate) mod bucket_pages;
pub(crate) mod certificates;
pub(crate) mod command_store;
pub(crate) mod database_options;
mod documentation;
pub(crate) mod observing;
pub(crate) mod options;
pub(crate) mod profile;
pub(crate) mod remote_stores;
pub(crate) mod s3_server;
pub(crate) mod schemes;
pub(crate) mod search_pages;
pub(crate) mod server_options;
pub(crate) mod standard;
pub(crate) mod windows;

use crate::console::Console;
use crate::process::handover;
use crate::process::reload::Watched;
use crate::process::workers::{self, WorkerIndex};
use crate::world::schemes::{SCHEME_NAMES, Schemes};
use futures_util::future::join_all;
use observing::WatchedServer;
use runnel_observe::AdminPage;
use runnel_runtime::{Host, Isolate, NativeWindow, Output, RunningServer};
use runnel_store::{
    Answer, Changes, Environment, Error, Kind, Reference, SettingInfo, SettingList, Shape, Store,
    Value,
};
use s3_server::{Protocol, S3Side};
use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use std::time::Duration;

/// How long the connections of a program that another one replaces may still be used.
const GRACE: Duration = Duration::from_secs(5);
/// How long a shell command may take.
const SHELL_TIME: Duration = Duration::from_secs(60);
/// Pages about jobs of one program.
const JOBS_PAGES: usize = 16;

/// The command's own world.
pub(crate) struct World {
    console: Rc<Console>,
    schemes: Schemes,
    environment: Rc<Environment>,
    input: Rc<crate::repl::Input>,
    /// Whether the program only shows what it is made of: nothing listens, reads or prints.
    silent: bool,
    /// Which worker it belongs to.
    place: Rc<WorkerIndex>,
    /// Whether output counts: up to the end of its top level only the first worker prints.
    speaks: Cell<bool>,
    servers: Rc<RefCell<Vec<Weak<WatchedServer>>>>,
    /// The pages about jobs, for the admin ports of servers that start later.
    jobs_pages: JobsPages,
}

/// Pages about jobs, with their titles.
type JobsPages = Rc<RefCell<Vec<(String, Rc<dyn Store>)>>>;

impl World {
    pub(crate) fn new() -> Rc<World> {
        World::of(WorkerIndex::first(1))
    }

    /// The world of a worker.
    pub(crate) fn of(place: WorkerIndex) -> Rc<World> {
        World::made(false, place)
    }

    /// A world in which a program only shows what it is made of.
    pub(crate) fn silent() -> Rc<World> {
        World::made(true, WorkerIndex::first(1))
    }

    fn made(silent: bool, place: WorkerIndex) -> Rc<World> {
        let environment = Rc::new(Environment::new());
        Rc::new(World {
            console: Rc::new(Console::new()),
            schemes: Schemes::new(environment.clone()),
            environment,
            input: Rc::new(crate::repl::Input::new()),
            silent,
            speaks: Cell::new(place.is_first()),
            place: Rc::new(place),
            servers: Rc::default(),
            jobs_pages: Rc::default(),
        })
    }

    /// The end of the top level.
    pub(crate) fn speak(&self) {
        self.speaks.set(true);
    }

    pub(crate) fn place(&self) -> &WorkerIndex {
        &self.place
    }

    pub(crate) fn console(&self) -> &Rc<Console> {
        &self.console
    }

    /// Stops every server at the same time.
    pub(crate) async fn stop_servers(&self) {
        let servers: Vec<_> = self.servers.borrow().iter().filter_map(Weak::upgrade).collect();
        join_all(servers.iter().map(|server| stop(server))).await;
    }

    pub(crate) fn input(&self) -> &crate::repl::Input {
        &self.input
    }
}

/// A running HTTP server, and the protocol of its requests.
struct HttpServer {
    server: Rc<WatchedServer>,
    protocol: Protocol,
    s3: Option<S3Side>,
}

impl RunningServer for HttpServer {
    fn port(&self) -> u16 {
        self.server.server().port()
    }

    fn set_root(&self, store: Rc<dyn Store>) {
        match self.protocol.serve(Watched::of(store)) {
            Ok((served, service)) => {
                if let (Some(s3), Some(service)) = (&self.s3, service) {
                    s3.replace(&service);
                }
                self.server.server().set_root(served);
            }
            Err(error) => tracing::error!(%error, "a server keeps what it serves"),
        }
    }

    fn announced_host(&self) -> Option<String> {
        self.server.announced_host()
    }

    fn is_observed(&self) -> bool {
        self.server.is_observed()
    }

    fn admin_port(&self) -> Option<u16> {
        self.server.admin_port()
    }

    fn check(&self, name: &str, check: Rc<dyn Store>) -> Result<(), Error> {
        self.server.check(name, check)
    }

    fn changes(&self) -> Answer<Changes> {
        match &self.s3 {
            Some(s3) => s3.changes().into(),
            None => {
                let message = "an HTTPServer does not tell of changes: watch the store behind it";
                Error::new(Kind::NotAllowed, message).into()
            }
        }
    }

    fn stop(&self) -> Answer<()> {
        if let Some(s3) = &self.s3 {
            s3.end();
        }
        let server = self.server.clone();
        Answer::later(async move {
            stop(&server).await;
            Ok(())
        })
    }
}

/// A page about jobs. It has buttons, so an admin port without a token refuses it.
fn jobs_page(title: &str, store: &Rc<dyn Store>) -> AdminPage {
    AdminPage { path: "jobs", title: title.to_string(), store: store.clone(), needs_token: true }
}

async fn stop(server: &WatchedServer) {
    let grace = handover::is_leaving().then_some(GRACE);
    if !server.stop(grace).await {
        tracing::warn!("some requests did not end in time and were cut");
    }
}

/// A server of a program that is only looked at.
struct SilentServer(u16);

impl RunningServer for SilentServer {
    fn port(&self) -> u16 {
        self.0
    }
}

impl Host for World {
    fn checks_answers(&self) -> bool {
        Watched::is_program_watched()
    }

    fn scheme(&self, name: &str) -> Option<Rc<dyn Store>> {
        self.schemes.store(name)
    }

    fn schemes(&self) -> &'static [&'static str] {
        &SCHEME_NAMES
    }

    fn database(&self, scheme: &str, path: &str, options: &Value) -> Option<Answer<Rc<dyn Store>>> {
        self.schemes.database(scheme, path, options)
    }

    fn document_table(
        &self,
        store: &Rc<dyn Store>,
        at: &Reference,
        shape: &Shape,
    ) -> Result<Rc<dyn Store>, Error> {
        Ok(Rc::new(runnel_sql::document_table(store, at, shape)?))
    }

    fn remote(&self, kind: &str, options: &Value) -> Result<Rc<dyn Store>, Error> {
        self.schemes.remote(kind, options)
    }

    fn composed(
        &self,
        kind: &str,
        options: &Value,
        sources: &[(String, Rc<dyn Store>)],
    ) -> Result<Rc<dyn Store>, Error> {
        self.schemes.composed(kind, options, sources)
    }

    fn server_options(&self) -> Vec<SettingInfo> {
        server_options::infos()
    }

    fn s3_server_options(&self) -> Vec<SettingInfo> {
        s3_server::OPTIONS.infos()
    }

    fn serve(
        &self,
        store: Rc<dyn Store>,
        options: &Value,
        certificates: Option<Rc<dyn Store>>,
    ) -> Answer<Rc<dyn RunningServer>> {
        let read = Protocol::split(options).and_then(|(protocol, rest)| {
            let (mut options, secure, settings) = server_options::read(&rest)?;
            protocol.admit(&mut options)?;
            secure.check_store(certificates.is_some())?;
            Ok((protocol, options, secure, settings))
        });
        let (protocol, mut options, secure, settings) = match read {
            Ok(read) => read,
            Err(error) => return error.into(),
        };
        if self.silent {
            return Answer::ok(Rc::new(SilentServer(options.address.port())));
        }
        let (environment, place) = (self.environment.clone(), self.place.clone());
        let (servers, jobs_pages) = (self.servers.clone(), self.jobs_pages.clone());
        Answer::later(async move {
            standard::render_pages().await;
            let side = secure.apply(certificates, &mut options)?;
            let observing = observing::begin(settings, &environment, &mut options).await?;
            let (served, service) = protocol.serve(Watched::of(store))?;
            let socket = options.socket.as_ref().map(|socket| socket.path.display().to_string());
            let (advertise, is_secure) = (options.advertise.clone(), options.certificate.is_some());
            let (server, held) = place.serve(served, options).await?;
            let server = Rc::new(WatchedServer::new(server, held, observing));
            server.start_side(side, &place).await?;
            if let Some(name) = advertise {
                server.announce(&name, is_secure).await?;
            }
            let place = socket.unwrap_or_else(|| server.server().address().to_string());
            let s3 = service.map(|service| S3Side::of(&service, &place));
            if let Some(s3) = &s3 {
                server.add_page(s3.page(server.server().port()))?;
            }
            server.add_page(profile::page::page())?;
            for (title, store) in jobs_pages.borrow().iter() {
                server.add_page(jobs_page(title, store))?;
            }
            let mut servers = servers.borrow_mut();
            servers.retain(|known| known.strong_count() > 0);
            servers.push(Rc::downgrade(&server));
            Ok(Rc::new(HttpServer { server, protocol, s3 }) as Rc<dyn RunningServer>)
        })
    }

    fn add_jobs_page(&self, title: &str, store: Rc<dyn Store>) -> Result<(), Error> {
        let mut pages = self.jobs_pages.borrow_mut();
        if pages.len() == JOBS_PAGES {
            let message = format!("a program has at most {JOBS_PAGES} stores of jobs");
            return Err(Error::new(Kind::TooLarge, message));
        }
        for server in self.servers.borrow().iter().filter_map(Weak::upgrade) {
            server.add_page(jobs_page(title, &store))?;
        }
        pages.push((title.to_string(), store));
        Ok(())
    }

    fn makes_backups(&self) -> bool {
        !self.silent
    }

    fn open_window(&self, tree: &str) -> Answer<Rc<dyn NativeWindow>> {
        if self.silent {
            let reason = "a program that only shows what it is made of opens no windows";
            return Error::new(Kind::Unsupported, reason).into();
        }
        if !self.place.is_first() {
            return Answer::ok(Rc::new(windows::SilentWindow));
        }
        windows::open(tree, &self.environment)
    }

    fn write(&self, output: Output, bytes: &[u8]) {
        if self.silent {
            return;
        }
        match output {
            Output::Out if self.speaks.get() => self.console.write(bytes),
            Output::Out => {}
            Output::Note if !self.place.is_first() => {}
            Output::Err | Output::Note => {
                self.console.flush();
                Console::error_bytes(bytes);
            }
        }
    }

    fn log(&self, level: &str, message: &str, fields: &Value) {
        if let Some(line) = observing::log_line(level, message, fields) {
            self.write(Output::Err, &line);
        }
    }

    fn metric(&self, kind: &str, name: &str, labels: &Value, value: f64) -> Result<(), Error> {
        observing::metric(kind, name, labels, value)
    }

    fn progress(&self, text: &str) {
        Console::progress(text);
    }

    fn give_back_memory(&self) {
        crate::memory::give_back();
    }

    fn flush(&self) {
        self.console.flush();
    }

    fn read_line(&self) -> Answer<Option<String>> {
        if self.silent || !self.place.is_first() {
            return Answer::ok(None);
        }
        let lines = self.input.lines();
        Answer::later(async move { lines.next().await.transpose() })
    }

    fn interact(&self) -> Answer<()> {
        if self.silent {
            return Answer::ok(());
        }
        if !self.place.is_first() {
            self.speak();
            return Answer::later(std::future::pending());
        }
        handover::ready();
        workers::start();
        let Some(isolate) = Isolate::current() else { return Answer::ok(()) };
        let (input, console) = (self.input.clone(), self.console.clone());
        Answer::later(async move {
            crate::repl::interact(&isolate, &input, &console).await;
            Ok(())
        })
    }

    fn leads(&self, job: &str) -> Result<Option<bool>, Error> {
        workers::jobs::leads(job, self.place.number())
    }

    fn end_job(&self, job: &str) {
        workers::jobs::end(job);
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
