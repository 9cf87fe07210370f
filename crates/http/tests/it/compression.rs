//! Packed answers: for whom, of what, and what a client may then ask.

use crate::helper::{Fake, Response, ask, run, start, start_with};
use bytes::Bytes;
use futures_util::stream;
use runnel_http::{ContentEncoding, HttpServer, Limits};
use runnel_store::{
    Answer, Body, ByteStream, Compressed, Content, Context, EntityTag, Memory, Reference, Store,
};
use std::cell::RefCell;
use std::rc::Rc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

async fn page(server: &HttpServer, path: &str, fields: &str) -> Response {
    ask(server, &format!("GET {path} HTTP/1.1\r\nHost: t\r\n{fields}\r\n\r\n")).await
}

fn text(length: usize) -> String {
    "So it goes. ".chars().cycle().take(length).collect()
}

/// `/page/5000` has so many letters, `/stream/5000` the same as a stream.
fn pages() -> Rc<dyn Store> {
    Rc::new(Fake::get(|reference, context| {
        let (kind, length) = reference.path()[1..].split_once('/').unwrap_or_default();
        let text = text(length.parse().unwrap_or_default());
        let body = match kind {
            "stream" => {
                let pieces: Vec<_> =
                    text.as_bytes().chunks(1000).map(|p| Ok(Bytes::copy_from_slice(p))).collect();
                Body::Stream(Box::pin(stream::iter(pieces)), None)
            }
            _ => Body::Bytes(text.into()),
        };
        if kind == "kept" {
            let exchange = context.exchange.as_ref().unwrap();
            exchange.set_header("cache-control", "public, no-transform").unwrap();
        }
        let media_type = Some(if kind == "image" { "image/png" } else { "text/css" }.into());
        let entity_tag = Some(EntityTag { text: "v1".into(), weak: kind == "weak" });
        Answer::ok(Some(Content { body, media_type, entity_tag, ..Content::default() }))
    }))
}

/// What is in a gzip, by the store that unpacks.
async fn unpacked(bytes: &[u8]) -> String {
    let memory = Rc::new(Memory::site());
    let reference = Reference::from_path("/x");
    let content = Content::bytes(bytes.to_vec());
    memory.put(&reference, content, &Context::default()).await.unwrap();
    let plain = Compressed::gzip(memory).get(&reference, &Context::default()).await.unwrap();
    let read = plain.unwrap().read(1 << 24).await.unwrap();
    String::from_utf8(read.to_vec()).unwrap()
}

/// What is in a body, by its encoding.
async fn expanded(encoding: &str, bytes: &[u8]) -> String {
    match encoding {
        "zstd" => String::from_utf8(zstd::stream::decode_all(bytes).unwrap()).unwrap(),
        "br" => {
            let mut plain = Vec::new();
            let mut reader = brotli::Decompressor::new(bytes, 4096);
            std::io::copy(&mut reader, &mut plain).unwrap();
            String::from_utf8(plain).unwrap()
        }
        _ => unpacked(bytes).await,
    }
}

#[test]
fn packed_for_those_who_ask() {
    run(async {
        let server = start(pages()).await;
        for path in ["/page/5000", "/page/300000", "/stream/5000"] {
            let length: usize = path.rsplit('/').next().unwrap().parse().unwrap();
            let response = page(&server, path, "Accept-Encoding: compress, gzip;q=0.8").await;
            assert_eq!(response.header("content-encoding"), Some("gzip"), "{path}");
            assert_eq!(response.header("vary"), Some("accept-encoding"));
            assert_eq!(response.header("etag"), Some("\"v1--gzip\""));
            assert_eq!(response.header("accept-ranges"), None);
            assert!(response.body.len() < length / 2);
            assert_eq!(unpacked(&response.body).await, text(length));
            for fields in [
                "X: y",
                "Accept-Encoding: gzip;q=0, compress",
                "Accept-Encoding: identity, gzip;q=0.5",
            ] {
                let plain = page(&server, path, fields).await;
                assert_eq!(plain.header("content-encoding"), None, "{path} {fields}");
                assert_eq!(plain.header("vary"), Some("accept-encoding"));
                assert_eq!(plain.header("etag"), Some("\"v1\""));
                assert_eq!(plain.text(), text(length));
            }
        }
    });
}

#[test]
fn each_encoding_is_sent_to_who_prefers_it() {
    run(async {
        let server = start(pages()).await;
        for path in ["/page/5000", "/page/300000", "/stream/5000"] {
            let length: usize = path.rsplit('/').next().unwrap().parse().unwrap();
            for (accepted, encoding) in [
                ("gzip, deflate, br, zstd", "zstd"),
                ("gzip, deflate, br", "br"),
                ("gzip, br;q=0.9, zstd;q=0.8", "gzip"),
                ("*", "zstd"),
            ] {
                let fields = format!("Accept-Encoding: {accepted}");
                let response = page(&server, path, &fields).await;
                assert_eq!(response.header("content-encoding"), Some(encoding), "{path}");
                assert_eq!(response.header("vary"), Some("accept-encoding"));
                let tag = format!("\"v1--{encoding}\"");
                assert_eq!(response.header("etag"), Some(&*tag));
                assert!(response.body.len() < length / 2);
                assert_eq!(expanded(encoding, &response.body).await, text(length), "{encoding}");
                let known = format!("{fields}\r\nIf-None-Match: {tag}");
                let known = page(&server, path, &known).await;
                assert_eq!((known.status, known.header("etag")), (304, Some(&*tag)));
            }
        }
    });
}

#[test]
fn the_server_decides_which_encodings_there_are() {
    run(async {
        let encodings = vec![ContentEncoding::Gzip, ContentEncoding::Brotli];
        let server = start_with(pages(), Limits { encodings, ..Limits::default() }).await;
        for (accepted, encoding) in
            [("zstd, br, gzip", Some("gzip")), ("zstd, br", Some("br")), ("zstd", None)]
        {
            let fields = format!("Accept-Encoding: {accepted}");
            let response = page(&server, "/page/5000", &fields).await;
            assert_eq!(response.header("content-encoding"), encoding, "{accepted}");
            assert_eq!(response.header("vary"), Some("accept-encoding"));
        }
        let never = Limits { encodings: Vec::new(), ..Limits::default() };
        let server = start_with(pages(), never).await;
        let response = page(&server, "/page/5000", "Accept-Encoding: zstd, br, gzip").await;
        assert_eq!((response.header("content-encoding"), response.header("vary")), (None, None));
    });
}

/// A client reads what a program sends, before the program continues.
#[test]
fn each_piece_of_a_stream_arrives_at_once() {
    run(async {
        for encoding in ["zstd", "br", "gzip"] {
            let (sender, receiver) = channel_of_texts();
            let receiver = RefCell::new(Some(receiver));
            let pages = Fake::get(move |_, _| {
                let pieces = receiver.take().unwrap();
                let body = Body::Stream(pieces, None);
                let media_type = Some("text/plain".into());
                Answer::ok(Some(Content { body, media_type, ..Content::default() }))
            });
            let server = start(Rc::new(pages)).await;
            let mut client = TcpStream::connect(server.address()).await.unwrap();
            let asked = format!("GET / HTTP/1.1\r\nHost: t\r\nAccept-Encoding: {encoding}\r\n\r\n");
            client.write_all(asked.as_bytes()).await.unwrap();
            // The first piece comes with the head or after it.
            for _ in 0..3 {
                sender.send("a piece of text").unwrap();
                let mut piece = [0; 4096];
                let count = client.read(&mut piece).await.unwrap();
                assert!(count > 0, "{encoding}");
            }
        }
    });
}

/// A stream of texts, and its sender.
fn channel_of_texts() -> (UnboundedSender<&'static str>, ByteStream) {
    let (sender, receiver) = unbounded_channel();
    let pieces = stream::unfold(receiver, |mut receiver| async move {
        let text: &str = receiver.recv().await?;
        Some((Ok(Bytes::from_static(text.as_bytes())), receiver))
    });
    (sender, Box::pin(pieces))
}

#[test]
fn what_stays_as_it_is() {
    run(async {
        let server = start(pages()).await;
        for path in ["/page/1023", "/image/5000", "/kept/5000"] {
            let response = page(&server, path, "Accept-Encoding: gzip").await;
            assert_eq!(response.header("content-encoding"), None, "{path}");
            assert_eq!(response.header("vary"), None, "{path}");
        }
        let weak = page(&server, "/weak/5000", "Accept-Encoding: gzip").await;
        assert_eq!(weak.header("content-encoding"), Some("gzip"));
        assert_eq!(weak.header("etag"), Some("W/\"v1\""));
        let never = Limits { min_compress_size: u64::MAX, ..Limits::default() };
        let server = start_with(pages(), never).await;
        let response = page(&server, "/page/5000", "Accept-Encoding: gzip").await;
        assert_eq!((response.header("content-encoding"), response.header("vary")), (None, None));
    });
}

#[test]
fn conditions_and_parts() {
    run(async {
        let server = start(pages()).await;
        let had = "Accept-Encoding: gzip\r\nIf-None-Match: \"v1--gzip\"";
        let response = page(&server, "/page/5000", had).await;
        assert_eq!((response.status, response.header("etag")), (304, Some("\"v1--gzip\"")));
        assert_eq!(response.header("vary"), Some("accept-encoding"));
        let plain = page(&server, "/page/5000", "If-None-Match: \"v1\"").await;
        assert_eq!((plain.status, plain.header("etag")), (304, Some("\"v1\"")));
        // Parts are parts of the plain content.
        let part = page(&server, "/page/5000", "Accept-Encoding: gzip\r\nRange: bytes=0-4").await;
        assert_eq!((part.status, part.text()), (206, "So it"));
        assert_eq!(part.header("etag"), Some("\"v1\""));
        let mixed = "Accept-Encoding: gzip\r\nRange: bytes=0-4\r\nIf-Range: \"v1--gzip\"";
        assert_eq!(page(&server, "/page/5000", mixed).await.status, 200);
    });
}
