//! What the tests of this crate share.

use futures_util::StreamExt;
use runnel_bus::BusOptions;
use runnel_scratch::{Server, Service};
use runnel_store::{Change, ChangeKind, Changes, Content, Context, Reference, Store, Value};
use std::future::Future;
use std::rc::Rc;
use std::sync::OnceLock;
use std::time::Duration;

/// How long anything may take before a test fails.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// The URL of a server that all tests share, started by the first that needs it; `None` where none
/// is installed.
pub(crate) fn url(service: Service) -> Option<&'static str> {
    static NATS: OnceLock<Option<(Server, String)>> = OnceLock::new();
    static REDIS: OnceLock<Option<(Server, String)>> = OnceLock::new();
    let shared = if service == Service::Nats { &NATS } else { &REDIS };
    let server = shared.get_or_init(|| {
        let server = Server::for_test(service)?;
        let url = server.url();
        Some((server, url))
    });
    server.as_ref().map(|(_, url)| url.as_str())
}

/// Runs a test as a worker does.
pub(crate) fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, async {
        tokio::time::timeout(PATIENCE, test).await.expect("the test took too long");
    });
}

/// Without the variables of the process around the tests.
pub(crate) fn options() -> BusOptions {
    BusOptions { variable: Rc::new(|_| None), ..BusOptions::default() }
}

/// BusOptions that give up quickly.
pub(crate) fn quick() -> BusOptions {
    let time = Duration::from_millis(200);
    BusOptions { operation_time: time, connect_time: time, ..options() }
}

/// With one variable.
pub(crate) fn with_variable(name: &'static str, value: String) -> BusOptions {
    BusOptions {
        variable: Rc::new(move |asked| (asked == name).then(|| value.clone())),
        ..BusOptions::default()
    }
}

pub(crate) fn at(path: &str) -> Reference {
    Reference::from_path(path)
}

pub(crate) async fn get(store: &dyn Store, path: &str) -> Option<Value> {
    let found = store.get(&at(path), &Context::default()).await.unwrap();
    Some(found?.into_value(usize::MAX).await.unwrap())
}

pub(crate) async fn put(store: &dyn Store, path: &str, value: impl Into<Value>) -> bool {
    let content = Content::value(value.into());
    store.put(&at(path), content, &Context::default()).await.unwrap().is_created()
}

pub(crate) async fn post(store: &dyn Store, path: &str, value: impl Into<Value>) {
    let content = Content::value(value.into());
    store.post(&at(path), content, &Context::default()).await.unwrap();
}

pub(crate) async fn merge(store: &dyn Store, path: &str, value: impl Into<Value>) {
    let content = Content::value(value.into());
    store.merge(&at(path), content, &Context::default()).await.unwrap();
}

pub(crate) async fn delete(store: &dyn Store, path: &str) -> bool {
    store.delete(&at(path), &Context::default()).await.unwrap().is_something()
}

pub(crate) async fn watch(store: &dyn Store, path: &str) -> Changes {
    store.watch(&at(path), &Context::default()).await.unwrap()
}

/// The next change, as `changed a/b`, with the text that it carries behind it.
pub(crate) async fn next(changes: &mut Changes) -> String {
    let change: Change = changes.next().await.expect("the watch ended").unwrap();
    let mut told = format!("{} {}", change.kind.name(), change.reference.path());
    if let Some(content) = change.content {
        let text = content.read(usize::MAX).await.unwrap();
        told.push_str(&format!(" {}", String::from_utf8_lossy(&text)));
    }
    told
}

/// Waits for a change of a kind, whatever comes before it.
pub(crate) async fn until(changes: &mut Changes, kind: ChangeKind) {
    while changes.next().await.expect("the watch ended").unwrap().kind != kind {}
}

/// Names in a listing; collections end in a slash.
pub(crate) async fn names(store: &dyn Store, path: &str) -> Option<Vec<String>> {
    let entries = store.list(&at(path), &Context::default()).await.unwrap()?;
    let name = |entry: runnel_store::Entry| entry.name + if entry.collection { "/" } else { "" };
    Some(entries.into_iter().map(name).collect())
}
