//! A watched server, and a client of few words.

use runnel_http::{HttpServer, ServerOptions};
use runnel_observe::{LogTarget, ObserveSettings, Observing, Surroundings, observe};
use runnel_store::{Answer, Content, Context, Error, Kind, Reference, Store};
use std::io::Write;
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// How long anything may take here.
const PATIENCE: Duration = Duration::from_secs(120);

/// Runs a future on an event loop of its own.
pub(crate) fn on_loop<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build_local(tokio::runtime::LocalOptions::default())
        .unwrap();
    runtime.block_on(async { tokio::time::timeout(PATIENCE, future).await.unwrap() })
}

pub(crate) struct Watched {
    server: HttpServer,
    pub(crate) observing: Observing,
    pub(crate) port: u16,
    settings: ObserveSettings,
}

impl Watched {
    pub(crate) fn admin(&self) -> u16 {
        self.observing.admin_port().unwrap()
    }

    pub(crate) async fn stop(self) {
        self.observing.drain();
        assert!(self.server.stop(Duration::from_secs(5)).await);
        self.observing.end().await;
    }
}

fn nowhere(_: &LogTarget) -> Box<dyn Write + Send> {
    Box::new(std::io::sink())
}

/// The tests of a file run in threads of one process: those that name the same admin address would
/// share its numbers, as workers do.
static NEXT: std::sync::atomic::AtomicU8 = std::sync::atomic::AtomicU8::new(2);

pub(crate) async fn watched(settings: &ObserveSettings, store: Rc<dyn Store>) -> Watched {
    let mut settings = settings.clone();
    if let Some(admin) = &mut settings.admin {
        let last = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        admin.set_ip([127, 0, 0, last].into());
    }
    ADMIN.set(settings.admin.map(|admin| admin.ip()));
    serve(settings, store).await
}

/// Another server with the same admin address.
pub(crate) async fn beside(first: &Watched, store: Rc<dyn Store>) -> Watched {
    serve(first.settings.clone(), store).await
}

/// A server with just these settings.
pub(crate) async fn serve(settings: ObserveSettings, store: Rc<dyn Store>) -> Watched {
    let observing = observe(&settings, surroundings()).await.unwrap();
    let options = ServerOptions {
        address: ([127, 0, 0, 1], 0).into(),
        observer: Some(observing.observer()),
        ..ServerOptions::default()
    };
    let server = runnel_http::serve(store, options).await.unwrap();
    let port = server.port();
    Watched { server, observing, port, settings }
}

fn surroundings() -> Surroundings {
    Surroundings { writer: nowhere, sampler: None, listener: |_| Ok(None) }
}

/// Why nothing is watched with these settings.
pub(crate) async fn refused(settings: &ObserveSettings) -> Error {
    match observe(settings, surroundings()).await {
        Ok(_) => panic!("it is watched"),
        Err(error) => error,
    }
}

thread_local! {
    static ADMIN: std::cell::Cell<Option<std::net::IpAddr>> = const { std::cell::Cell::new(None) };
}

async fn connect(port: u16) -> TcpStream {
    if let Ok(stream) = TcpStream::connect(("127.0.0.1", port)).await {
        return stream;
    }
    TcpStream::connect((ADMIN.get().unwrap(), port)).await.unwrap()
}

/// One request on a connection of its own; answers what comes until its end.
pub(crate) async fn ask(port: u16, target: &str, headers: &[&str]) -> String {
    let mut request = format!("GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n");
    for header in headers {
        request.push_str(header);
        request.push_str("\r\n");
    }
    request.push_str("\r\n");
    send(port, &request).await
}

/// The same for bytes as they are.
pub(crate) async fn send(port: u16, request: &str) -> String {
    let mut stream = connect(port).await;
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    String::from_utf8(answer).unwrap()
}

/// Sends a request and goes away before its answer.
pub(crate) async fn leave(port: u16, target: &str) {
    let mut stream = connect(port).await;
    let request = format!("GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
}

pub(crate) fn status(answer: &str) -> u16 {
    answer.split(' ').nth(1).unwrap().parse().unwrap()
}

pub(crate) fn body(answer: &str) -> String {
    answer.split_once("\r\n\r\n").unwrap().1.to_string()
}

pub(crate) fn header<'a>(answer: &'a str, name: &str) -> Option<&'a str> {
    let head = answer.split_once("\r\n\r\n").unwrap().0;
    head.lines().find_map(|line| {
        let (known, value) = line.split_once(": ")?;
        known.eq_ignore_ascii_case(name).then_some(value)
    })
}

/// What is served in these tests.
pub(crate) struct Site;

impl Store for Site {
    fn get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        let exchange = context.exchange.clone().unwrap();
        match reference.path() {
            "/plain" | "/alive" => Answer::ok(Some(Content::text("plain"))),
            "/id" => Answer::ok(Some(Content::text(exchange.id().unwrap_or_default()))),
            "/fail" => Error::new(Kind::Failed, "it broke").into(),
            "/holds" => {
                std::thread::sleep(Duration::from_millis(300));
                Answer::ok(Some(Content::text("held")))
            }
            "/waits" => Answer::later(std::future::pending()),
            path if path.starts_with("/item/") => {
                exchange.set_route("/item/:id");
                Answer::ok(Some(Content::text("an item")))
            }
            _ => Answer::ok(None),
        }
    }

    runnel_store::without!(links);

    fn describe(&self) -> String {
        "site".into()
    }
}

/// Whatever is asked for is there.
pub(crate) struct Anything;

impl Store for Anything {
    fn get(&self, _: &Reference, _: &Context) -> Answer<Option<Content>> {
        Answer::ok(Some(Content::text("here")))
    }

    runnel_store::without!(links);

    fn describe(&self) -> String {
        "anything".into()
    }
}
