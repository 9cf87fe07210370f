//! What key-value stores of both systems have to do beyond the suite of stores.

use crate::common::{now, reference, refused};
use futures_util::{StreamExt, stream};
use runnel_sql::OBJECT_CHUNK;
use runnel_store::conformance::{Abilities, Keeps, Posting};
use runnel_store::{
    Body, ByteStream, Content, Context, Error, KeyRange, Kind, Result, Seekable, Store,
};
use std::rc::Rc;

pub(crate) const ABILITIES: Abilities = Abilities {
    keeps: Keeps::Text,
    posting: Posting::Appends,
    merge: false,
    query: false,
    // The database may have begun.
    cancels_at_once: false,
    ..Abilities::ALL
};

/// Content that repeats nowhere near.
pub(crate) fn pattern(length: usize) -> bytes::Bytes {
    (0..length).map(|at| (at / 251 + at % 251 + at / 65_536) as u8).collect()
}

pub(crate) async fn put(store: &dyn Store, path: &str, bytes: impl Into<bytes::Bytes>) {
    store.put(&reference(path), Content::bytes(bytes), &now()).await.unwrap();
}

pub(crate) async fn read(store: &dyn Store, path: &str) -> Option<bytes::Bytes> {
    let content = store.get(&reference(path), &now()).await.unwrap()?;
    Some(content.read(usize::MAX).await.unwrap())
}

fn stream_of(content: Content) -> ByteStream {
    match content.body {
        Body::Stream(stream, _) => stream,
        _ => panic!("it is no stream"),
    }
}

async fn collect(stream: ByteStream) -> Vec<u8> {
    let pieces: Vec<_> = stream.map(Result::unwrap).collect().await;
    pieces.concat()
}

/// Content around the borders of chunks and batches, whole and in ranges.
pub(crate) async fn lengths(store: &dyn Store) {
    for length in [0, 1, OBJECT_CHUNK - 1, OBJECT_CHUNK, OBJECT_CHUNK + 1, 9 * OBJECT_CHUNK + 7] {
        let all = pattern(length);
        let pieces: Vec<Result<bytes::Bytes>> =
            all.chunks(70_001).map(|piece| Ok(bytes::Bytes::copy_from_slice(piece))).collect();
        let stream: ByteStream = Box::pin(stream::iter(pieces));
        let content = Content { body: Body::Stream(stream, None), ..Content::default() };
        store.put(&reference("a/long"), content, &now()).await.unwrap();
        assert!(read(store, "a/long").await.unwrap() == all, "{length} bytes came back changed");
        if length <= OBJECT_CHUNK {
            continue;
        }
        let content = store.get(&reference("a/long"), &now()).await.unwrap().unwrap();
        let stream = stream_of(content);
        let seekable = Seekable::of(&stream).unwrap();
        for (from, part) in [(0, 1), (OBJECT_CHUNK - 1, 2), (length - 1, 1), (5, length)] {
            let found = collect(seekable.part(from as u64, part as u64)).await;
            assert!(found == all[from..length.min(from + part)], "{from} {part} of {length}");
        }
    }
    store.delete(&reference("a/long"), &now()).await.unwrap();
}

/// A reader finishes the content that it began, whatever becomes of the key meanwhile.
pub(crate) async fn replaced_while_read(store: &dyn Store) {
    let [old, new] = [5, 3].map(|chunks| pattern(chunks * OBJECT_CHUNK + 11));
    put(store, "read", old.clone()).await;
    let content = store.get(&reference("read"), &now()).await.unwrap().unwrap();
    let mut stream = stream_of(content);
    let first = stream.next().await.unwrap().unwrap();
    put(store, "read", new.clone()).await;
    assert!(read(store, "read").await.unwrap() == new);
    store.delete(&reference("read"), &now()).await.unwrap();
    assert_eq!(read(store, "read").await, None);
    let rest = collect(stream).await;
    assert!([&first[..], &rest].concat() == old);
}

/// A post makes content of several chunks out of small content.
pub(crate) async fn appends(store: &dyn Store) {
    let all = pattern(3 * OBJECT_CHUNK + 5);
    let mut from = 0;
    for length in [0, 10, OBJECT_CHUNK - 10, 7, 2 * OBJECT_CHUNK, all.len()] {
        let to = all.len().min(from + length);
        let content = Content::bytes(all.slice(from..to));
        store.post(&reference("appended"), content, &now()).await.unwrap();
        from = to;
        assert!(read(store, "appended").await.unwrap() == all[..to], "after {to} bytes");
    }
    let huge = Content::bytes(vec![0; runnel_sql::APPEND_LIMIT + 1]);
    let posted = store.post(&reference("appended"), huge, &now()).await;
    assert_eq!(refused(posted).0, Kind::TooLarge);
    store.delete(&reference("appended"), &now()).await.unwrap();
}

/// Keys are opaque, and what cannot be a key is said.
pub(crate) async fn odd_keys(store: &dyn Store) {
    let keys = ["a", "a/", "a//b", "a%2Fb", "a b", "\u{10ffff}", &"k".repeat(2_600)];
    for key in keys {
        let put = store.put(&runnel_store::Reference::from_path(key), Content::text(key), &now());
        put.await.unwrap();
    }
    let page = store.keys(&reference(""), &KeyRange::default(), &now()).await.unwrap().unwrap();
    let mut expected = keys.to_vec();
    expected.sort_unstable();
    assert_eq!(page.keys.iter().map(|key| key.name.as_str()).collect::<Vec<_>>(), expected);
    for key in keys {
        let reference = runnel_store::Reference::from_path(key);
        assert!(store.delete(&reference, &now()).await.unwrap().is_something(), "{key}");
    }
    for (key, part) in
        [("k".repeat(2_601), "2600"), ("a\0b".into(), "NUL"), (String::new(), "name")]
    {
        let reference = runnel_store::Reference::from_path(key);
        let (kind, message) = refused(store.put(&reference, Content::text("x"), &now()).await);
        assert_eq!(kind, Kind::Invalid, "{message}");
        assert!(message.contains(part), "{message}");
        assert!(store.get(&reference, &now()).await.unwrap().is_none());
    }
}

/// A stream that fails after many chunks leaves the old content and, in the end, nothing else.
pub(crate) async fn failing_upload(store: &dyn Store) {
    put(store, "kept", "old").await;
    let piece = bytes::Bytes::from(vec![7; 1 << 20]);
    let pieces = (0..6).map(|at| match at {
        5 => Err(Error::new(Kind::Unavailable, "the stream broke")),
        _ => Ok(piece.clone()),
    });
    let pieces: Vec<_> = pieces.collect();
    let stream: ByteStream = Box::pin(stream::iter(pieces));
    let content = Content { body: Body::Stream(stream, None), ..Content::default() };
    let (kind, _) = refused(store.put(&reference("kept"), content, &Context::default()).await);
    assert_eq!(kind, Kind::Unavailable);
    assert_eq!(read(store, "kept").await.unwrap(), "old");
    store.delete(&reference("kept"), &now()).await.unwrap();
}

/// All of these.
pub(crate) async fn all(store: &Rc<dyn Store>) {
    lengths(&**store).await;
    replaced_while_read(&**store).await;
    appends(&**store).await;
    odd_keys(&**store).await;
    failing_upload(&**store).await;
}
