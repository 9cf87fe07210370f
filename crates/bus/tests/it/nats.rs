//! Buckets and subjects of a real server.

use crate::support::*;
use futures_util::StreamExt;
use runnel_bus::{Nats, nats_scheme};
use runnel_scratch::Service;
use runnel_store::conformance::{Abilities, Keeps, Posting, check};
use runnel_store::{Body, Content, Context, Error, Kind, Reference, Relative, Store, Value};
use std::cell::Cell;
use std::rc::Rc;
use std::time::Instant;

/// What a bucket of keys keeps: text, no larger than a message.
const KEYS: Abilities = Abilities {
    keeps: Keeps::Text,
    posting: Posting::Appends,
    attributes: false,
    relocation: false,
    merge: false,
    query: false,
    media_types: false,
    cancels_at_once: false,
    // The key itself and those below it are told by two consumers of the server.
    watch_in_order: false,
    large: 900_000,
    ..Abilities::ALL
};

/// What a bucket of objects keeps. Older servers take long to list a bucket in which much was
/// replaced, so that listings have a test of their own.
const OBJECTS: Abilities = Abilities {
    conditions: runnel_store::Conditions::None,
    posting: Posting::Other,
    attributes: true,
    media_types: true,
    listing: false,
    large: 3 << 20,
    ..KEYS
};

fn with_server<F: Future<Output = ()>>(test: impl FnOnce(Rc<Nats>, async_nats::Client) -> F) {
    let Some(url) = url(Service::Nats) else { return };
    run(async {
        let other = async_nats::connect(url).await.unwrap();
        test(Nats::open(url, &options()).unwrap(), other).await;
    });
}

/// A bucket as a store, made by the first put.
async fn bucket(nats: Rc<Nats>, base: &str) -> Rc<dyn Store> {
    put(&*nats, &format!("{base}/first"), "x").await;
    delete(&*nats, &format!("{base}/first")).await;
    Rc::new(Relative::new(nats, Reference::from_path(base)))
}

#[test]
fn conformance_of_keys() {
    with_server(|nats, _| async move {
        check(bucket(nats, "kv/conformance").await, KEYS).await;
        KEYS.check_manual("`nats:kv/`");
    });
}

#[test]
fn conformance_of_objects() {
    with_server(|nats, _| async move {
        check(bucket(nats, "objects/conformance").await, OBJECTS).await;
        OBJECTS.check_manual("`nats:objects/`");
    });
}

#[test]
fn buckets_are_made_by_the_first_put() {
    with_server(|nats, _| async move {
        for kinds in ["kv", "objects"] {
            let at = |name: &str| format!("{kinds}/made{name}");
            assert_eq!(get(&*nats, &at("/a")).await, None);
            assert!(!delete(&*nats, &at("/a")).await);
            assert_eq!(names(&*nats, &at("")).await, None);
            assert!(put(&*nats, &at("/a"), "x").await);
            assert_eq!(names(&*nats, &at("")).await.unwrap(), ["a"]);
            assert!(names(&*nats, kinds).await.unwrap().contains(&"made/".to_string()));
            delete(&*nats, &at("/a")).await;
            assert_eq!(names(&*nats, &at("")).await.unwrap(), Vec::<String>::new());
        }
        assert_eq!(names(&*nats, "").await.unwrap(), ["kv/", "objects/", "streams/", "subjects/"]);
        for wrong in ["kv/a.b/c", "keys/a/b", "objects/a b/c"] {
            let found = nats.get(&at(wrong), &Context::default()).await;
            assert_eq!(found.err().unwrap().kind, Kind::Invalid, "{wrong}");
        }
    });
}

#[test]
fn objects_are_listed() {
    with_server(|nats, _| async move {
        for path in ["list/b", "list/a-c", "list/a/y", "list/Z", "list/a/x", "list/é", "list"] {
            put(&*nats, &format!("objects/listed/{path}"), "x").await;
        }
        let listed = |path: &'static str| {
            let nats = nats.clone();
            async move { names(&*nats, path).await }
        };
        assert_eq!(listed("objects/listed/list").await.unwrap(), ["Z", "a/", "a-c", "b", "é"]);
        assert_eq!(listed("objects/listed/list/a/").await.unwrap(), ["x", "y"]);
        assert_eq!(listed("objects/listed").await.unwrap(), ["list/"]);
        assert_eq!(listed("objects/listed/list/b").await, None);
        delete(&*nats, "objects/listed/list/a/x").await;
        delete(&*nats, "objects/listed/list/a/y").await;
        assert_eq!(listed("objects/listed/list/a").await, None);
    });
}

#[test]
fn a_listing_is_whole_and_ends_while_others_write() {
    // In seconds; a listing takes milliseconds, and an operation may take 5 s.
    const MOST: f64 = 2.0;
    with_server(|nats, _| async move {
        for bucket in ["kv/busy", "objects/busy"] {
            put(&*nats, &format!("{bucket}/first"), "x").await;
            for (writer, key) in (0..4).flat_map(|writer| (0..8).map(move |key| (writer, key))) {
                put(&*nats, &format!("{bucket}/{writer}-{key}"), "x").await;
            }
            let (over, most) = (Cell::new(false), Cell::new(0.0_f64));
            let write = async |writer: usize| {
                for key in (0..8).cycle().take_while(|_| !over.get()) {
                    put(&*nats, &format!("{bucket}/{writer}-{key}"), "y").await;
                }
            };
            let list = async || {
                for _ in 0..50 {
                    let start = Instant::now();
                    let listed = names(&*nats, bucket).await.unwrap();
                    assert_eq!(listed.len(), 33, "{bucket}: {listed:?}");
                    most.set(most.get().max(start.elapsed().as_secs_f64()));
                }
            };
            let listing = async {
                tokio::join!(list(), list(), list());
                over.set(true);
            };
            tokio::join!(write(0), write(1), write(2), write(3), listing);
            assert!(most.get() < MOST, "{bucket}: {} s", most.get());
        }
    });
}

#[test]
fn keys_of_other_programs() {
    with_server(|nats, other| async move {
        put(&*nats, "kv/shared/tasks/7.txt", "ours").await;
        let jetstream = async_nats::jetstream::new(other);
        let store = jetstream.get_key_value("shared").await.unwrap();
        assert_eq!(store.get("tasks.7=2Etxt").await.unwrap().unwrap(), "ours");
        store.put("tasks.8", "theirs".into()).await.unwrap();
        store.put("a/b", "foreign".into()).await.unwrap();
        assert_eq!(get(&*nats, "kv/shared/tasks/8").await, Some("theirs".into()));
        assert_eq!(names(&*nats, "kv/shared/tasks").await.unwrap(), ["7.txt", "8"]);
        assert_eq!(names(&*nats, "kv/shared").await.unwrap(), ["tasks/"]);
    });
}

#[test]
fn values_are_merged_and_appended_to() {
    with_server(|nats, _| async move {
        put(&*nats, "kv/merge/record", Value::record([("a", Value::Int(1))])).await;
        let merges = (0..12).map(|number| {
            let fields = Value::record([(format!("n{number}"), Value::Int(number))]);
            let nats = nats.clone();
            async move { merge(&*nats, "kv/merge/record", fields).await }
        });
        futures_util::future::join_all(merges).await;
        let Some(Value::Text(text)) = get(&*nats, "kv/merge/record").await else { panic!("text") };
        let record = runnel_store::json::parse(text.as_bytes()).unwrap();
        assert_eq!(record.as_record().unwrap().len(), 13);
        let fields = Content::value(Value::record([("a", Value::Int(1))]));
        let missing = nats.merge(&at("kv/merge/missing"), fields, &Context::default()).await;
        assert_eq!(missing.unwrap_err().kind, Kind::NotFound);
        let large = Content::text("x".repeat(2 << 20));
        let put = nats.put(&at("kv/merge/large"), large, &Context::default()).await;
        assert_eq!(put.unwrap_err().kind, Kind::TooLarge);
    });
}

#[test]
fn large_objects_are_streamed_both_ways() {
    with_server(|nats, _| async move {
        const CHUNKS: usize = 40;
        let chunk = |number: usize| Ok(bytes::Bytes::from(vec![number as u8; 300_000]));
        let body = Body::Stream(Box::pin(futures_util::stream::iter((0..CHUNKS).map(chunk))), None);
        let content = Content { body, ..Content::default() }.with_media_type("video/x");
        let context = Context::default();
        nats.put(&at("objects/large/film"), content, &context).await.unwrap();
        let found = nats.get(&at("objects/large/film"), &context).await.unwrap().unwrap();
        assert_eq!(found.media_type.as_deref(), Some("video/x"));
        let Body::Stream(mut stream, length) = found.body else { panic!("no stream") };
        assert_eq!(length, Some(CHUNKS as u64 * 300_000));
        let mut read = 0;
        while let Some(part) = stream.next().await {
            for byte in part.unwrap() {
                assert_eq!(byte as usize, read / 300_000);
                read += 1;
            }
        }
        assert_eq!(read, CHUNKS * 300_000);
        let broken = vec![chunk(1), Err(Error::new(Kind::Cancelled, "the sender went away"))];
        let body = Body::Stream(Box::pin(futures_util::stream::iter(broken)), None);
        let put =
            nats.put(&at("objects/large/film"), Content { body, ..Content::default() }, &context);
        assert_eq!(put.await.unwrap_err().message, "the sender went away");
    });
}

#[test]
fn keys_and_objects_are_watched_by_another_client() {
    with_server(|nats, _| async move {
        let other = Nats::open(url(Service::Nats).unwrap(), &options()).unwrap();
        for kinds in ["kv", "objects"] {
            put(&*nats, &format!("{kinds}/watched/before"), "x").await;
            let mut all = watch(&*other, &format!("{kinds}/watched")).await;
            let mut some = watch(&*other, &format!("{kinds}/watched/a.b")).await;
            put(&*nats, &format!("{kinds}/watched/other"), "x").await;
            put(&*nats, &format!("{kinds}/watched/a.b"), "1").await;
            put(&*nats, &format!("{kinds}/watched/a.b/c"), "2").await;
            let told = [next(&mut some).await, next(&mut some).await];
            // Of two places the order is not known.
            let one =
                format!("changed {kinds}/watched/a.b{}", if kinds == "kv" { " 1" } else { "" });
            assert!(told.contains(&one), "{told:?}");
            delete(&*nats, &format!("{kinds}/watched/a.b")).await;
            assert_eq!(next(&mut some).await, format!("deleted {kinds}/watched/a.b"));
            assert!(next(&mut all).await.starts_with(&format!("changed {kinds}/watched/other")));
        }
    });
}

#[test]
fn subjects_carry_messages() {
    with_server(|nats, other| async move {
        let mut here = watch(&*nats, "subjects/news").await;
        let mut dotted = watch(&*nats, "subjects/news.today").await;
        let mut pattern = watch(&*nats, "subjects/*/today").await;
        let mut all = watch(&*nats, "subjects/news/>").await;
        post(&*nats, "subjects/news", "one").await;
        post(&*nats, "subjects/news/today", "two").await;
        // The server hears two clients in any order.
        assert_eq!(next(&mut pattern).await, "changed subjects/news/today two");
        other.publish("news.today.late", "three".into()).await.unwrap();
        other.flush().await.unwrap();
        // Each of a watcher's subscriptions is in order, and both are not.
        let mut told = [next(&mut here).await, next(&mut here).await, next(&mut here).await];
        told.sort();
        let expected = ["news one", "news/today two", "news/today/late three"];
        assert_eq!(told, expected.map(|told| format!("changed subjects/{told}")));
        let mut told = [next(&mut dotted).await, next(&mut dotted).await];
        told.sort();
        let expected = ["news.today two", "news.today/late three"];
        assert_eq!(told, expected.map(|told| format!("changed subjects/{told}")));
        assert_eq!(next(&mut all).await, "changed subjects/news/today two");
        for wrong in ["subjects/a/*", "subjects/a b", "subjects/>"] {
            let post = nats.post(&at(wrong), Content::text("x"), &Context::default()).await;
            assert_eq!(post.err().unwrap().kind, Kind::Invalid, "{wrong}");
        }
    });
}

#[test]
fn requests_are_answered() {
    with_server(|nats, other| async move {
        assert_eq!(get(&*nats, "subjects/double").await, None);
        let mut questions = other.subscribe("double").await.unwrap();
        other.flush().await.unwrap();
        tokio::task::spawn_local(async move {
            while let Some(question) = questions.next().await {
                let twice = [question.payload.clone(), question.payload].concat();
                other.publish(question.reply.unwrap(), twice.into()).await.unwrap();
            }
        });
        let asked = at("subjects/double").with_query("reply");
        while get(&*nats, "subjects/double").await.is_none() {}
        let posted = nats.post(&asked, Content::text("ab"), &Context::default()).await.unwrap();
        assert_eq!(posted.content.unwrap().read(99).await.unwrap(), "abab");
        let nobody = at("subjects/nobody").with_query("reply");
        let posted = nats.post(&nobody, Content::text("ab"), &Context::default()).await;
        assert_eq!(posted.err().unwrap().kind, Kind::Unavailable);
    });
}

#[test]
fn the_forms_of_a_reference() {
    let Some(url) = url(Service::Nats) else { return };
    run(async {
        let host = url.strip_prefix("nats:").unwrap();
        let scheme = nats_scheme(with_variable("NATS_URL", url.to_string()));
        put(&*scheme, "kv/forms/a", "x").await;
        for same in ["/kv/forms/a", "///kv/forms/a", &format!("{host}/kv/forms/a")] {
            assert_eq!(get(&*scheme, same).await, Some("x".into()), "{same}");
        }
        for path in ["kv/forms", "///kv/forms", &format!("{host}/kv/forms")] {
            let mut changes = watch(&*scheme, path).await;
            put(&*scheme, "kv/forms/a", "y").await;
            assert_eq!(next(&mut changes).await, format!("changed {path}/a y"));
        }
        assert_eq!(
            names(&*scheme, host).await.unwrap(),
            ["kv/", "objects/", "streams/", "subjects/"]
        );
        let reference = Reference::from_path("//me:secret@127.0.0.1:1/kv/b/k").with_scheme("nats");
        let down = scheme.get(&reference, &Context::default()).await.err().unwrap();
        let message = "get nats://me@127.0.0.1:1/kv/b/k: 127.0.0.1:1 refused the connection";
        assert_eq!((down.to_string().as_str(), down.kind), (message, Kind::Unavailable));
        assert!(!format!("{down:?}").contains("secret"));
    });
}
