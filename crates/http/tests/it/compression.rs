//! Packed answers: for whom, of what, and what a client may then ask.

use crate::helper::{Fake, Response, ask, run, start, start_with};
use bytes::Bytes;
use futures_util::stream;
use runnel_http::{HttpServer, Limits};
use runnel_store::{
    Answer, Body, Compressed, Content, Context, EntityTag, Memory, Reference, Store,
};
use std::rc::Rc;

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

#[test]
fn packed_for_those_who_ask() {
    run(async {
        let server = start(pages()).await;
        for path in ["/page/5000", "/page/300000", "/stream/5000"] {
            let length: usize = path.rsplit('/').next().unwrap().parse().unwrap();
            let response = page(&server, path, "Accept-Encoding: br;q=1.0, gzip;q=0.8").await;
            assert_eq!(response.header("content-encoding"), Some("gzip"), "{path}");
            assert_eq!(response.header("vary"), Some("accept-encoding"));
            assert_eq!(response.header("etag"), Some("\"v1--gzip\""));
            assert_eq!(response.header("accept-ranges"), None);
            assert!(response.body.len() < length / 2);
            assert_eq!(unpacked(&response.body).await, text(length));
            for fields in
                ["X: y", "Accept-Encoding: gzip;q=0, br", "Accept-Encoding: identity, gzip;q=0.5"]
            {
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
