//! What the tests of this crate share.

use runnel_s3::{S3, S3Options, s3_scheme};
use runnel_scratch::{Server, Service};
use runnel_store::{Content, Context, Reference, Store, Value};
use std::future::Future;
use std::rc::Rc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// How long anything may take before a test fails.
pub(crate) const PATIENCE: Duration = Duration::from_secs(240);

/// The server of the test file, started by the first test that needs it.
pub(crate) fn endpoint() -> Option<&'static str> {
    static SERVER: OnceLock<Option<(Server, String)>> = OnceLock::new();
    let server = SERVER.get_or_init(|| {
        let server = Server::for_test(Service::S3)?;
        let url = server.url();
        Some((server, url))
    });
    server.as_ref().map(|(_, url)| url.as_str())
}

/// Runs a test as a worker does.
pub(crate) fn run<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, async {
        tokio::time::timeout(PATIENCE, test).await.expect("the test took too long")
    })
}

/// Without the variables of the process around the tests.
pub(crate) fn options(endpoint: &str) -> S3Options {
    S3Options {
        endpoint: Some(endpoint.to_string()),
        key: Some("key".into()),
        secret: Some("secret".into()),
        variable: Rc::new(|_| None),
        ..S3Options::default()
    }
}

/// A bucket of its own for a test.
pub(crate) async fn bucket(endpoint: &str) -> (String, Rc<dyn Store>) {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let name = format!("bucket-{}", NUMBER.fetch_add(1, Ordering::Relaxed));
    let made = s3_scheme(options(endpoint)).put(&at(&name), Content::default(), &none()).await;
    assert!(made.unwrap().is_created());
    let options = S3Options { bucket: Some(name.clone()), ..options(endpoint) };
    (name, Rc::new(S3::new(options).unwrap()))
}

pub(crate) fn none() -> Context {
    Context::default()
}

pub(crate) fn at(path: &str) -> Reference {
    Reference::from_path(path)
}

pub(crate) async fn get(store: &dyn Store, path: &str) -> Option<Value> {
    let found = store.get(&at(path), &none()).await.unwrap();
    Some(found?.into_value(usize::MAX).await.unwrap())
}

pub(crate) async fn put(store: &dyn Store, path: &str, text: &str) -> bool {
    let put = store.put(&at(path), Content::text(text.to_string()), &none());
    put.await.unwrap().is_created()
}

pub(crate) async fn names(store: &dyn Store, path: &str) -> Option<Vec<String>> {
    let listed = store.list(&at(path), &none()).await.unwrap()?;
    let shown = |entry: runnel_store::Entry| entry.name + if entry.collection { "/" } else { "" };
    Some(listed.into_iter().map(shown).collect())
}

/// A URL as a reference.
pub(crate) fn web(url: &str) -> Reference {
    Reference::parse(url.strip_prefix("http:").unwrap()).with_scheme("http")
}

/// What the server answers to an unsigned request, which its own tools may send.
pub(crate) async fn ask(url: &str) -> String {
    let client = runnel_http::client(runnel_http::ClientOptions::default());
    let found = client.get(&web(url), &none()).await.unwrap().unwrap();
    let bytes = found.read(1 << 20).await.unwrap();
    String::from_utf8(bytes.to_vec()).unwrap()
}
