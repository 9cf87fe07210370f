//! Listings of our own server: what they say of objects, and what they ask of the store.

use crate::s3_client::{BucketServer, over_stores};
use crate::support::{at, none, run};
use runnel_store::{
    Answer, Below, Content, Context, Layer, Memory, Reference, Result, Store, Verb,
};
use std::cell::Cell;
use std::rc::Rc;

/// A store that counts how often it is read.
struct CountedStore {
    source: Rc<dyn Store>,
    reads: Rc<Cell<usize>>,
}

impl Layer for CountedStore {
    fn below<'a>(&'a self, _: Verb, reference: &'a Reference) -> Result<Below<'a>> {
        Ok(Below::same(&self.source, reference))
    }

    fn over(&self, source: Rc<dyn Store>) -> Option<Rc<dyn Store>> {
        Some(Rc::new(CountedStore { source, reads: self.reads.clone() }))
    }

    fn name(&self) -> String {
        "counted".to_string()
    }

    fn layer_get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        self.reads.set(self.reads.get() + 1);
        self.source.get(reference, context)
    }
}

#[test]
fn a_page_is_not_a_read_of_each_object() {
    run(async {
        let reads = Rc::new(Cell::new(0));
        let source: Rc<dyn Store> = Rc::new(Memory::dictionary());
        let store = Rc::new(CountedStore { source, reads: reads.clone() });
        let server = BucketServer::start(store).await;
        server.put("/bucket", "").await;
        for number in 0..50 {
            server.put(&format!("/bucket/key{number}"), "content").await;
        }
        reads.set(0);
        let keys = server.list("/bucket?list-type=2", "Key").await;
        assert_eq!(keys.len(), 50);
        assert!(reads.get() <= 1, "the record of the bucket alone: {}", reads.get());
    });
}

#[test]
fn listings_say_what_heads_say() {
    over_stores(|store| async move {
        let server = BucketServer::start(store.clone()).await;
        server.put("/bucket", "").await;
        server.put("/bucket/ours", "content").await;
        let theirs = Content::text("of a program");
        store.put(&at("bucket/theirs"), theirs, &none()).await.unwrap();
        let tags = server.list("/bucket?list-type=2", "ETag").await;
        let sizes = server.list("/bucket?list-type=2", "Size").await;
        let times = server.list("/bucket?list-type=2", "LastModified").await;
        for (number, key) in ["ours", "theirs"].into_iter().enumerate() {
            let head = server.ask("HEAD", &format!("/bucket/{key}"), &[]).await;
            assert_eq!(tags[number].replace("&quot;", "\""), head.field("etag").unwrap(), "{key}");
            assert_eq!(sizes[number], head.field("content-length").unwrap(), "{key}");
            assert!(!times[number].starts_with("1970"), "{key}: {}", times[number]);
            assert!(!head.field("last-modified").unwrap().contains("1970"), "{key}");
        }
    });
}

#[test]
fn pages_end_where_the_keys_do() {
    over_stores(|store| async move {
        let server = BucketServer::start(store).await;
        server.put("/bucket", "").await;
        for number in 0..60 {
            let key = format!("/bucket/{}/{:02}", ["a", "b", "c"][number / 20], number % 20);
            server.put(&key, "").await;
        }
        for (limit, prefixes) in [(1, 1), (2, 2), (3, 3), (4, 3)] {
            let target = format!("/bucket?list-type=2&delimiter=%2F&max-keys={limit}");
            let found = server.list(&target, "Prefix").await;
            let found = found.iter().filter(|prefix| !prefix.is_empty()).count();
            assert_eq!(found, prefixes, "{limit}");
            let more = (limit < 3).to_string();
            assert_eq!(server.list(&target, "IsTruncated").await, [more], "{limit}");
        }
        for (limit, more) in [(59, "true"), (60, "false"), (61, "false")] {
            let target = format!("/bucket?list-type=2&max-keys={limit}");
            assert_eq!(server.list(&target, "Key").await.len(), limit.min(60));
            assert_eq!(server.list(&target, "IsTruncated").await, [more], "{limit}");
        }
    });
}
