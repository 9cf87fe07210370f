//! CSV, plain text and gzip between a store and its users.

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use runnel_store::conformance::{Abilities, Keeps, Posting, check};
use runnel_store::{
    Answer, Body, Compressed, Content, Context, Csv, Error, Kind, Memory, Reference, Result, Store,
    TextCodec, Value, json,
};
use std::rc::Rc;

fn at(path: &str) -> Reference {
    Reference::from_path(path)
}

fn now<T>(answer: Answer<T>) -> Result<T> {
    let Answer::Ready(result) = answer else { panic!("this is answered at once") };
    result
}

fn put(store: &dyn Store, path: &str, content: Content) -> Result<bool> {
    now(store.put(&at(path), content, &Context::default())).map(|put| put.is_created())
}

fn get(store: &dyn Store, path: &str) -> Content {
    now(store.get(&at(path), &Context::default())).unwrap().unwrap()
}

async fn bytes(content: Content) -> Result<Bytes> {
    content.read(1 << 30).await
}

fn streamed(chunks: Vec<Result<Bytes>>) -> Content {
    Content { body: Body::Stream(Box::pin(stream::iter(chunks)), None), ..Content::default() }
}

#[test]
fn csv_above_values() {
    let below = Rc::new(Memory::site());
    let store = Csv::up(below.clone());
    let table = json::parse(br#"[{"a":1,"b":"x,y"},{"a":2,"b":null}]"#).unwrap();
    put(&*below, "t", Content::value(table)).unwrap();
    let content = get(&store, "t");
    assert_eq!(content.media_type.as_deref(), Some("text/csv; charset=utf-8"));
    let Body::Bytes(text) = content.body else { panic!("bytes") };
    assert_eq!(text, "a,b\r\n1,\"x,y\"\r\n2,\r\n");
    put(&store, "t", Content::text("a\n5\n")).unwrap();
    let value = now(get(&*below, "t").into_value(99)).unwrap();
    assert_eq!(value, json::parse(br#"[{"a":"5"}]"#).unwrap());
    let error = put(&store, "t", Content::text("a\n5,6\n")).unwrap_err();
    assert_eq!(error.to_string(), "put t: CSV, line 2: 2 cells, and the header has 1");
    put(&store, "t", Content::value(Value::Nil)).unwrap();
    assert!(now(below.get(&at("t"), &Context::default())).unwrap().is_none());
}

#[test]
fn csv_below_values() {
    let below = Rc::new(Memory::site());
    let store = Csv::down(below.clone());
    let table = json::parse(br#"[{"a":"1","b":""},{"a":"2","b":null}]"#).unwrap();
    put(&store, "t", Content::value(table.clone())).unwrap();
    let kept = get(&*below, "t");
    assert_eq!(kept.media_type.as_deref(), Some("text/csv; charset=utf-8"));
    assert_eq!(now(kept.read(99)).unwrap(), "a,b\r\n1,\"\"\r\n2,\r\n");
    assert_eq!(now(get(&store, "t").into_value(99)).unwrap(), table);
}

#[test]
fn text_is_text() {
    let below = Rc::new(Memory::site());
    let store = TextCodec::down(below.clone());
    put(&*below, "t", Content::bytes("é")).unwrap();
    assert!(matches!(get(&store, "t").body, Body::Text(text) if &*text == "é"));
    put(&store, "t", Content::value(5.into())).unwrap();
    assert!(matches!(get(&*below, "t").body, Body::Bytes(bytes) if bytes == "5"));
    put(&*below, "t", Content::bytes(&[0xff][..])).unwrap();
    let error = now(store.get(&at("t"), &Context::default())).map(|_| ()).unwrap_err();
    assert_eq!(error.kind, Kind::Invalid);
}

#[tokio::test(flavor = "current_thread")]
async fn gzip_small_and_large() {
    let below: Rc<dyn Store> = Rc::new(Memory::site());
    let store = Compressed::gzip(below.clone());
    let page = Content::text("<p>".repeat(1000)).with_media_type("text/html");
    put(&store, "page", page).unwrap();
    let kept = get(&*below, "page");
    assert_eq!(kept.media_type.as_deref(), Some("text/html"));
    let kept = bytes(kept).await.unwrap();
    assert!(kept.starts_with(&[0x1f, 0x8b]) && kept.len() < 200);
    let page = get(&store, "page");
    assert_eq!(page.media_type.as_deref(), Some("text/html"));
    assert!(matches!(page.body, Body::Bytes(bytes) if bytes == "<p>".repeat(1000)));
    // Noise, so that both sides are large.
    let mut seed = 1_u64;
    let noise: Vec<u8> = (0..3_000_000)
        .map(|_| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 56) as u8
        })
        .collect();
    let chunks = noise.chunks(70_001).map(|chunk| Ok(Bytes::copy_from_slice(chunk))).collect();
    for content in [Content::bytes(noise.clone()), streamed(chunks)] {
        store.put(&at("large"), content, &Context::default()).await.unwrap();
        let content = get(&store, "large");
        assert!(matches!(content.body, Body::Stream(..)));
        assert!(bytes(content).await.unwrap() == noise);
    }
    put(&store, "empty", Content::bytes("")).unwrap();
    assert!(bytes(get(&store, "empty")).await.unwrap().is_empty());
}

#[tokio::test(flavor = "current_thread")]
async fn what_is_no_gzip_is_an_error() {
    let below: Rc<dyn Store> = Rc::new(Memory::site());
    let store = Compressed::gzip(below.clone());
    put(&store, "good", Content::text("good ".repeat(100))).unwrap();
    let good = bytes(get(&*below, "good")).await.unwrap();
    let mut damaged = good.to_vec();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 0x40;
    let cut = good.slice(..good.len() - 3);
    for bad in [Bytes::from_static(b"plain text"), cut.clone(), damaged.into()] {
        put(&*below, "bad", Content::bytes(bad)).unwrap();
        let error = now(store.get(&at("bad"), &Context::default())).map(|_| ()).unwrap_err();
        assert_eq!((error.kind, error.reference.as_deref()), (Kind::Invalid, Some("bad")));
    }
    // Two members after each other, as a post that appends makes them.
    put(&*below, "two", Content::bytes([&good[..], &good[..]].concat())).unwrap();
    assert_eq!(bytes(get(&store, "two")).await.unwrap(), "good ".repeat(200));
    // In a stream the error comes where the damage is.
    struct Streams(Bytes);
    impl Store for Streams {
        fn get(&self, _: &Reference, _: &Context) -> Answer<Option<Content>> {
            Answer::ok(Some(streamed(vec![Ok(self.0.clone())])))
        }
        runnel_store::without!(links);
        fn describe(&self) -> String {
            "streams".to_string()
        }
    }
    let store = Compressed::gzip(Rc::new(Streams(cut)));
    let error = bytes(get(&store, "")).await.unwrap_err();
    assert_eq!(error.kind, Kind::Invalid);
}

#[tokio::test(flavor = "current_thread")]
async fn a_bomb_stops_at_the_limit() {
    let below: Rc<dyn Store> = Rc::new(Memory::site());
    let zeros = stream::repeat(Bytes::from(vec![0_u8; 1 << 20])).take(64).map(Ok::<_, Error>);
    let body = Body::Stream(Box::pin(zeros), None);
    let plain = Compressed::gzip(below.clone());
    let content = Content { body, ..Content::default() };
    plain.put(&at("bomb"), content, &Context::default()).await.unwrap();
    assert!(bytes(get(&*below, "bomb")).await.unwrap().len() < 100_000);
    let store = Compressed::gzip_up_to(below, 10 << 20);
    let Body::Stream(mut pieces, _) = get(&store, "bomb").body else { panic!("a stream") };
    let mut total = 0;
    let error = loop {
        match pieces.next().await.unwrap() {
            Ok(piece) => {
                assert!(piece.len() < 8 << 20, "{}", piece.len());
                total += piece.len();
            }
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind, Kind::TooLarge);
    assert!(total <= 10 << 20);
}

#[tokio::test(flavor = "current_thread")]
async fn the_laws_of_a_store() {
    let abilities = Abilities {
        keeps: Keeps::Text,
        posting: Posting::Other,
        merge: false,
        query: false,
        ..Abilities::ALL
    };
    check(Rc::new(Compressed::gzip(Rc::new(Memory::site()))), abilities).await;
    let text = Abilities { binary: false, ..abilities };
    check(Rc::new(TextCodec::down(Rc::new(Memory::site()))), text).await;
}
