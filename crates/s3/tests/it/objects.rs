//! Objects and buckets of a real server.

use crate::support::*;
use bytes::Bytes;
use futures_util::{StreamExt, future, stream};
use runnel_s3::{PART, S3, S3Options, s3_scheme};
use runnel_store::{Body, ByteStream, Content, Error, Kind, Result, Seekable, Store, Verb};
use std::time::{Duration, Instant};

fn streamed(pieces: ByteStream) -> Content {
    Content { body: Body::Stream(pieces, None), ..Content::default() }
}

/// Bytes in which every place looks different.
fn large(size: usize) -> Bytes {
    (0..size).map(|place| (place % 251) as u8 ^ (place >> 12) as u8).collect()
}

/// Waits until the server has no upload that is neither complete nor removed.
async fn no_uploads(endpoint: &str, bucket: &str) {
    let until = Instant::now() + Duration::from_secs(30);
    while ask(&format!("{endpoint}/{bucket}?uploads")).await.contains("<UploadId>") {
        assert!(Instant::now() < until, "an upload is left behind");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[test]
fn what_is_large_goes_in_parts_and_comes_as_a_stream() {
    let Some(endpoint) = endpoint() else { return };
    run(async {
        let (name, store) = bucket(endpoint).await;
        let bytes = large(20 << 20);
        let pieces: Vec<Result<Bytes>> =
            bytes.chunks(300_000).map(|piece| Ok(Bytes::copy_from_slice(piece))).collect();
        let contents = [
            ("a/bytes.bin", Content::bytes(bytes.clone())),
            ("a/stream.bin", streamed(Box::pin(stream::iter(pieces)))),
            ("a/exact.bin", Content::bytes(bytes.slice(..2 * PART))),
        ];
        for (path, content) in contents {
            let content = content.with_media_type("video/mp4");
            assert!(store.put(&at(path), content, &none()).await.unwrap().is_created());
            let found = store.get(&at(path), &none()).await.unwrap().unwrap();
            assert_eq!(found.media_type.as_deref(), Some("video/mp4"));
            let size = if path.contains("exact") { 2 * PART } else { bytes.len() };
            let Body::Stream(_, length) = &found.body else { panic!("it is collected") };
            assert_eq!(*length, Some(size as u64));
            assert!(found.read(usize::MAX).await.unwrap() == bytes[..size], "{path} is changed");
        }
        // The tag of what came in parts says in how many.
        let found = store.get(&at("a/stream.bin"), &none()).await.unwrap().unwrap();
        assert!(found.entity_tag.unwrap().text.ends_with("-3"));
        no_uploads(endpoint, &name).await;
    });
}

#[test]
fn a_part_of_an_object_is_asked_for() {
    let Some(endpoint) = endpoint() else { return };
    run(async {
        let (_, store) = bucket(endpoint).await;
        let bytes = large(9 << 20);
        let put = store.put(&at("film"), Content::bytes(bytes.clone()), &none());
        put.await.unwrap();
        for (from, length) in [(0, 10), (5 << 20, 1000), ((9 << 20) - 7, 7), (3, 0)] {
            let found = store.get(&at("film"), &none()).await.unwrap().unwrap();
            let Body::Stream(stream, _) = &found.body else { panic!("it is collected") };
            let part = Seekable::of(stream).unwrap().part(from, length);
            let part: Vec<Bytes> = part.map(Result::unwrap).collect().await;
            let (from, length) = (from as usize, length as usize);
            assert!(part.concat() == bytes[from..from + length], "{from} {length}");
        }
        // Of another object there is no part, also where the key is the same.
        let found = store.get(&at("film"), &none()).await.unwrap().unwrap();
        put_bytes(&*store, "film", large(10 << 20)).await;
        let Body::Stream(stream, _) = &found.body else { panic!("it is collected") };
        let part = Seekable::of(stream).unwrap().part(8 << 20, 9);
        let part: Vec<Result<Bytes>> = part.collect().await;
        let error = part[0].as_ref().unwrap_err();
        assert_eq!((error.kind, part.len()), (Kind::Conflict, 1), "{error:?}");
    });
}

async fn put_bytes(store: &dyn Store, path: &str, bytes: Bytes) {
    store.put(&at(path), Content::bytes(bytes), &none()).await.unwrap();
}

#[test]
fn an_upload_that_ends_early_leaves_nothing_behind() {
    let Some(endpoint) = endpoint() else { return };
    run(async {
        let (name, store) = bucket(endpoint).await;
        put(&*store, "kept", "before").await;
        let two = || stream::iter([Ok(large(PART)), Ok(large(PART))]);
        // The content breaks off.
        let broken = Error::new(Kind::Failed, "the source broke off");
        let pieces = two().chain(stream::iter([Err(broken)]));
        let failed = store.put(&at("kept"), streamed(Box::pin(pieces)), &none()).await;
        assert_eq!(failed.unwrap_err().message, "the source broke off");
        no_uploads(endpoint, &name).await;
        // The caller goes away while the content waits.
        let waiting = streamed(Box::pin(two().chain(stream::pending())));
        let mut answer = store.put(&at("kept"), waiting, &none());
        loop {
            let more = tokio::time::timeout(Duration::from_millis(20), &mut answer).await;
            assert!(more.is_err(), "an endless put was answered");
            if ask(&format!("{endpoint}/{name}?uploads")).await.contains("<UploadId>") {
                break;
            }
        }
        drop(answer);
        no_uploads(endpoint, &name).await;
        // The time is over while the content waits.
        let waiting = streamed(Box::pin(two().chain(stream::pending())));
        let context = runnel_store::Context {
            deadline: Some(Instant::now() + Duration::from_secs(2)),
            ..none()
        };
        let late = store.put(&at("kept"), waiting, &context).await.unwrap_err();
        assert_eq!((late.kind, late.verb), (Kind::Timeout, Some(Verb::Put)));
        no_uploads(endpoint, &name).await;
        assert_eq!(get(&*store, "kept").await, Some("before".into()));
    });
}

/// Somebody else creates the object while the content is still coming: the look before has seen
/// nothing, and the server itself refuses.
#[test]
fn what_is_created_meanwhile_is_not_replaced() {
    let Some(endpoint) = endpoint() else { return };
    run(async {
        let (name, store) = bucket(endpoint).await;
        let only_if = Some(runnel_store::Condition::Absent);
        let context = runnel_store::Context { only_if, ..none() };
        for (key, parts) in [("small", 0), ("large", 2)] {
            let other = store.clone();
            let meanwhile = stream::once(async move {
                put(&*other, key, "theirs").await;
                Ok(bytes::Bytes::from_static(b"mine"))
            });
            let before = stream::iter((0..parts).map(|_| Ok(large(PART))));
            let mine = streamed(Box::pin(before.chain(meanwhile)));
            let refused = store.put(&at(key), mine, &context).await.unwrap_err();
            assert_eq!(refused.kind, Kind::Precondition, "{key}: {refused}");
            assert_eq!(get(&*store, key).await, Some("theirs".into()), "{key}");
        }
        no_uploads(endpoint, &name).await;
        let created = store
            .put(
                &at("new"),
                streamed(Box::pin(stream::iter([Ok(large(PART)), Ok(large(PART))]))),
                &context,
            )
            .await;
        assert!(created.unwrap().is_created());
    });
}

#[test]
fn names_can_have_any_characters() {
    let Some(endpoint) = endpoint() else { return };
    run(async {
        let (_, store) = bucket(endpoint).await;
        let names = [
            "a b",
            "a%20b",
            "50%",
            "1+1=2",
            "ü/日本",
            "a&b?c#d",
            "<x>&amp;",
            "\u{1}\ttab",
            "a:b@c",
            "*'()!$,;",
            "\\",
            "…",
        ];
        for name in names {
            let path = format!("odd/{name}");
            assert!(put(&*store, &path, name).await, "{name}");
            assert!(!put(&*store, &path, name).await, "{name} was there");
        }
        for name in names {
            assert_eq!(get(&*store, &format!("odd/{name}")).await, Some(name.into()));
        }
        let mut expected: Vec<String> =
            names.iter().map(|name| name.replace("ü/日本", "ü/")).collect();
        expected.sort();
        assert_eq!(crate::support::names(&*store, "odd").await, Some(expected));
        assert_eq!(crate::support::names(&*store, "odd/ü").await, Some(vec!["日本".into()]));
        for name in names {
            assert!(
                store.delete(&at(&format!("odd/{name}")), &none()).await.unwrap().is_something(),
                "{name}"
            );
        }
        assert_eq!(crate::support::names(&*store, "odd").await, None);
    });
}

#[test]
fn a_listing_has_more_than_a_page() {
    let Some(endpoint) = endpoint() else { return };
    run(async {
        let (bucket, store) = bucket(endpoint).await;
        // The server's own door, which needs no look at what was there.
        let client = runnel_http::client(runnel_http::ClientOptions::default());
        let put = async |number: usize| {
            let url = format!("{endpoint}/{bucket}/many/{number:04}");
            client.put(&web(&url), Content::text("x"), &none()).await.unwrap();
        };
        for start in (0..1104).step_by(16) {
            future::join_all((start..start + 16).map(put)).await;
        }
        let names = crate::support::names(&*store, "many").await.unwrap();
        let expected: Vec<String> = (0..1104).map(|number| format!("{number:04}")).collect();
        assert_eq!(names, expected);
        assert_eq!(crate::support::names(&*store, "").await, Some(vec!["many/".into()]));
    });
}

#[test]
fn an_object_is_what_is_known_of_it() {
    let Some(endpoint) = endpoint() else { return };
    run(async {
        let (_, store) = bucket(endpoint).await;
        for (path, content, media_type) in [
            ("page.html", Content::text("<p>"), Some("text/html")),
            ("note", Content::text("ü"), Some("text/plain")),
            ("raw", Content::bytes(vec![0xff]), None),
            ("given", Content::text("x").with_media_type("text/x-own"), Some("text/x-own")),
            ("list", Content::value(vec![1i64.into()].into()), Some("application/json")),
        ] {
            store.put(&at(path), content, &none()).await.unwrap();
            let found = store.get(&at(path), &none()).await.unwrap().unwrap();
            assert_eq!(found.media_type.as_deref(), media_type, "{path}");
            assert!(found.modified.is_some() && found.entity_tag.is_some());
            assert_eq!(matches!(found.body, Body::Text(_)), media_type.is_some(), "{path}");
        }
        let tag = store.get(&at("note"), &none()).await.unwrap().unwrap().entity_tag;
        let knows = runnel_store::Context { known: tag, ..none() };
        let short = store.get(&at("note"), &knows).await.unwrap().unwrap();
        assert!(knows.knows(&short));
        put(&*store, "note", "another").await;
        let whole = store.get(&at("note"), &knows).await.unwrap().unwrap();
        assert!(!knows.knows(&whole));
    });
}

#[test]
fn buckets_are_made_listed_and_removed() {
    let Some(endpoint) = endpoint() else { return };
    run(async {
        let scheme = s3_scheme(options(endpoint));
        let context = none();
        let empty = || Content::default();
        assert!(scheme.put(&at("made-here"), empty(), &context).await.unwrap().is_created());
        assert!(!scheme.put(&at("made-here/"), empty(), &context).await.unwrap().is_created());
        let listed = scheme.list(&at(""), &context).await.unwrap().unwrap();
        assert!(listed.iter().any(|entry| entry.name == "made-here" && entry.collection));
        assert_eq!(crate::support::names(&*scheme, "made-here").await, Some(vec![]));
        assert_eq!(crate::support::names(&*scheme, "not-there").await, None);
        assert_eq!(get(&*scheme, "made-here").await, None);
        assert_eq!(get(&*scheme, "not-there/x").await, None);
        let full = scheme.put(&at("made-here"), Content::text("x"), &context).await.unwrap_err();
        assert_eq!(full.kind, Kind::Conflict);
        put(&*scheme, "made-here/x", "y").await;
        let held = scheme.delete(&at("made-here"), &context).await.unwrap_err();
        assert_eq!(held.to_string(), "delete made-here: the bucket made-here is not empty");
        assert!(scheme.delete(&at("made-here/x"), &context).await.unwrap().is_something());
        assert!(scheme.delete(&at("made-here"), &context).await.unwrap().is_something());
        assert!(!scheme.delete(&at("made-here"), &context).await.unwrap().is_something());
        let missing = scheme.put(&at("not-there/x"), Content::text("y"), &context).await;
        let missing = missing.unwrap_err();
        assert_eq!(missing.kind, Kind::NotFound);
        assert_eq!(missing.to_string(), "put not-there/x: there is no bucket not-there");
        let root = scheme.put(&at(""), empty(), &context).await.unwrap_err();
        assert_eq!(root.kind, Kind::NotAllowed);
    });
}

#[test]
fn a_store_has_a_bucket_and_verbs() {
    let without = S3::new(S3Options::default()).err().unwrap();
    assert_eq!(without.kind, Kind::Invalid);
    let bucket = Some("No Bucket".to_string());
    let odd = S3::new(S3Options { bucket, ..S3Options::default() }).err().unwrap();
    assert_eq!(odd.kind, Kind::Invalid);
    let scheme = s3_scheme(options("http://127.0.0.1:1"));
    assert!(scheme.verbs(&at("")).has(Verb::List) && !scheme.verbs(&at("")).has(Verb::Put));
    assert!(scheme.verbs(&at("abc/x")).has(Verb::Get));
    for verb in [Verb::Post, Verb::Merge, Verb::Watch, Verb::Query] {
        assert!(!scheme.verbs(&at("abc/x")).has(verb));
    }
    let posted = run(async { scheme.post(&at("abc/x"), Content::text("y"), &none()).await });
    assert_eq!(posted.err().unwrap().kind, Kind::NotAllowed);
}
