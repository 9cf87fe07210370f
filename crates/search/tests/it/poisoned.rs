//! Documents whose analysis panics: they concern themselves alone, live and at the next start.
#![allow(clippy::unwrap_used)]

use runnel_search::{
    Category, Collection, CollectionDefinition, Id, IndexConfig, Rejection, Request, Tokenizer,
};
use runnel_store::{Count, Counters};
use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use tracing::field::Field;
use tracing::span::{Attributes, Record};
use tracing::{Event, Metadata, Subscriber};

/// An index whose analysis panics at the word `poison` once `is_armed`.
fn definition(name: &str, folder: &Path, is_armed: &Arc<AtomicBool>) -> CollectionDefinition {
    let is_armed = is_armed.clone();
    let reject = move |word: &str| {
        assert!(word != "poison" || !is_armed.load(Ordering::Relaxed), "a stemmer broke");
        false
    };
    let tokenizer = Tokenizer::new().rejects(Rejection::Function(Arc::new(reject)));
    let index = IndexConfig::new(name).tokenizer(tokenizer).category(Category::new("title"));
    CollectionDefinition { folder: Some(folder.to_owned()), ..CollectionDefinition::new(index) }
}

fn put(books: &Collection, id: i64, title: &str) {
    let record = format!("{{\"title\":\"{title}\"}}");
    books.put(Id::from(id), record.as_bytes()).unwrap().wait().unwrap();
}

fn found(books: &Collection, query: &str) -> usize {
    books.search(query, &Request::new()).total()
}

fn set_aside(name: &str) -> u64 {
    Counters::of("search", name).count(Count::SetAside)
}

/// The lines that a block of code logs.
fn logged<T>(run: impl FnOnce() -> T) -> (T, Vec<String>) {
    let lines = Arc::default();
    let done = tracing::subscriber::with_default(LogLines(Arc::clone(&lines)), run);
    let lines = lines.lock().unwrap().clone();
    (done, lines)
}

struct LogLines(Arc<Mutex<Vec<String>>>);

impl Subscriber for LogLines {
    fn enabled(&self, about: &Metadata<'_>) -> bool {
        about.target().starts_with("runnel")
    }

    fn event(&self, event: &Event<'_>) {
        let mut line = String::new();
        event.record(&mut |field: &Field, value: &dyn fmt::Debug| {
            line += &format!("{field}={value:?} ");
        });
        self.0.lock().unwrap().push(line);
    }

    fn new_span(&self, _: &Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}
}

#[test]
fn the_replay_of_a_log_sets_a_poisoned_document_aside() {
    let folder = tempfile::tempdir().unwrap();
    let is_armed = Arc::new(AtomicBool::new(false));
    let open = || Collection::open(definition("replayed", folder.path(), &is_armed)).unwrap();
    let books = open();
    for (id, title) in [(1, "emma first"), (2, "emma poison"), (3, "emma last")] {
        put(&books, id, title);
    }
    drop(books);
    is_armed.store(true, Ordering::Relaxed);
    let (books, log) = logged(open);
    assert_eq!((books.len(), found(&books, "emma"), set_aside("replayed")), (3, 2, 1));
    assert!(matches!(&log[..], [line] if line.contains("the first is 2")), "{log:?}");
    assert!(log[0].contains("count=1"), "{log:?}");
    // A snapshot reads the same log on a thread of its own, and keeps the document.
    books.snapshot().unwrap();
    put(&books, 4, "emma later");
    drop(books);
    let books = open();
    assert_eq!((books.len(), found(&books, "emma"), set_aside("replayed")), (4, 3, 1));
    assert_eq!(books.document(&Id::from(2)).unwrap(), &br#"{"title":"emma poison"}"#[..]);
    put(&books, 2, "emma mended");
    assert_eq!(found(&books, "emma"), 4);
}

#[test]
fn a_poisoned_put_leaves_the_index_as_good_as_before() {
    let folder = tempfile::tempdir().unwrap();
    let is_armed = Arc::new(AtomicBool::new(true));
    let open = || Collection::open(definition("living", folder.path(), &is_armed)).unwrap();
    let books = open();
    let ((), log) = logged(|| {
        put(&books, 1, "emma");
        put(&books, 2, "emma poison");
        put(&books, 1, "poison emma");
        put(&books, 3, "emma");
    });
    assert_eq!((books.len(), found(&books, "emma"), set_aside("living")), (3, 1, 2));
    assert!(matches!(&log[..], [line] if line.contains("keeps the document 2")), "{log:?}");
    assert!(books.remove(&Id::from(2)).unwrap().0);
    drop(books);
    let books = open();
    // The log has both of them again.
    assert_eq!((books.len(), found(&books, "emma"), set_aside("living")), (2, 1, 4));
}

#[test]
fn a_load_goes_on_after_a_poisoned_document() {
    let folder = tempfile::tempdir().unwrap();
    let is_armed = Arc::new(AtomicBool::new(true));
    let books = Collection::open(definition("loaded", folder.path(), &is_armed)).unwrap();
    let mut loader = books.load();
    for (id, title) in [(1, "emma"), (2, "poison"), (3, "emma")] {
        let record = format!("{{\"title\":\"{title}\"}}");
        loader.put(Id::from(id), record.as_bytes()).unwrap();
    }
    assert_eq!(loader.finish().unwrap().documents, 3);
    assert_eq!((found(&books, "emma"), set_aside("loaded")), (2, 1));
}
