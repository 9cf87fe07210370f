//! Parts of content: single, several, none; of what is in memory, on disk, and only streamed.

use crate::helper::{Fake, Peer, Response, ask, run, start};
use bytes::Bytes;
use futures_util::stream;
use runnel_http::HttpServer;
use runnel_store::{Answer, Body, Content, Disk, EntityTag, Memory, Reference, Store};
use std::path::PathBuf;
use std::rc::Rc;

const ALPHABET: &str = "abcdefghijklmnopqrstuvwxyz";

async fn part(server: &HttpServer, path: &str, fields: &str) -> Response {
    ask(server, &format!("GET {path} HTTP/1.1\r\nHost: t\r\n{fields}\r\n\r\n")).await
}

/// A store with the same content in memory and as a stream that only goes forward.
fn alphabet() -> Rc<dyn Store> {
    Rc::new(Fake::get(|reference, _| {
        let body = match reference.path() {
            "/memory" | "/untagged" => Body::Bytes(ALPHABET.into()),
            "/text" => Body::Text(ALPHABET.into()),
            "/stream" => {
                let pieces = ALPHABET.as_bytes().chunks(4).map(|p| Ok(Bytes::from_static(p)));
                Body::Stream(Box::pin(stream::iter(pieces)), Some(26))
            }
            "/endless" => Body::Stream(Box::pin(stream::empty()), None),
            _ => return Answer::ok(None),
        };
        let tagged = reference.path() != "/untagged";
        let entity_tag = tagged.then(|| EntityTag::strong("v1"));
        Answer::ok(Some(Content { body, entity_tag, ..Content::default() }))
    }))
}

#[test]
fn one_part() {
    run(async {
        let server = start(alphabet()).await;
        for path in ["/memory", "/text", "/stream"] {
            for (range, place, text) in [
                ("0-2", "bytes 0-2/26", "abc"),
                ("3-8", "bytes 3-8/26", "defghi"),
                ("24-", "bytes 24-25/26", "yz"),
                ("-1", "bytes 25-25/26", "z"),
                ("0-999", "bytes 0-25/26", ALPHABET),
            ] {
                let response = part(&server, path, &format!("Range: bytes={range}")).await;
                assert_eq!((response.status, response.text()), (206, text), "{path} {range}");
                assert_eq!(response.header("content-range"), Some(place));
                assert_eq!(response.header("etag"), Some("\"v1\""));
                assert_eq!(response.header("content-length"), Some(&*text.len().to_string()));
            }
            let whole = part(&server, path, "X: y").await;
            assert_eq!((whole.status, whole.header("accept-ranges")), (200, Some("bytes")));
        }
    });
}

#[test]
fn what_is_not_there() {
    run(async {
        let server = start(alphabet()).await;
        for range in ["26-", "99-100", "-0"] {
            let response = part(&server, "/memory", &format!("Range: bytes={range}")).await;
            assert_eq!(response.status, 416);
            assert_eq!(response.header("content-range"), Some("bytes */26"));
        }
    });
}

#[test]
fn what_means_nothing_is_the_whole() {
    run(async {
        let server = start(alphabet()).await;
        let many = vec!["1-1"; 1000].join(",");
        for field in [
            "Range: lines=0-9".to_string(),
            "Range: bytes=5-2".to_string(),
            "Range: bytes=0-1\r\nRange: bytes=2-3".to_string(),
            format!("Range: bytes={many}"),
            "Range: bytes=0-1\r\nIf-Range: \"v0\"".to_string(),
            "Range: bytes=0-1\r\nIf-Range: W/\"v1\"".to_string(),
            "Range: bytes=0-1\r\nIf-Range: Thu, 01 Jan 1970 00:00:00 GMT".to_string(),
        ] {
            let response = part(&server, "/memory", &field).await;
            assert_eq!((response.status, response.text()), (200, ALPHABET), "{field}");
        }
        let current = "Range: bytes=0-1\r\nIf-Range: \"v1\"";
        assert_eq!(part(&server, "/memory", current).await.text(), "ab");
        // Without a validator nobody could tell that two parts belong together.
        assert_eq!(part(&server, "/untagged", "Range: bytes=0-1").await.status, 200);
        assert_eq!(part(&server, "/endless", "Range: bytes=0-1").await.status, 200);
        let conditional = "Range: bytes=0-1\r\nIf-None-Match: \"v1\"";
        assert_eq!(part(&server, "/memory", conditional).await.status, 304);
        let mut peer = Peer::connect(&server).await;
        peer.send("HEAD /memory HTTP/1.1\r\nHost: t\r\nRange: bytes=0-1\r\n\r\n").await;
        let head = peer.receive_head().await;
        assert_eq!((head.status, head.header("content-length")), (200, Some("26")));
    });
}

/// The parts of a `multipart/byteranges` answer: the place and the bytes of each.
fn parts(response: &Response) -> Vec<(String, Vec<u8>)> {
    let kind = response.header("content-type").unwrap();
    let boundary = kind.strip_prefix("multipart/byteranges; boundary=").unwrap();
    let mut rest = &response.body[..];
    let mut parts = Vec::new();
    let line = format!("--{boundary}");
    loop {
        rest = rest.strip_prefix(line.as_bytes()).unwrap();
        if rest == b"--\r\n" {
            return parts;
        }
        let end = rest.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
        let head = std::str::from_utf8(&rest[..end]).unwrap();
        assert!(head.contains("Content-Type: "), "{head}");
        let place = head.lines().find_map(|line| line.strip_prefix("Content-Range: ")).unwrap();
        rest = &rest[end + 4..];
        let next = format!("\r\n{line}");
        let end = rest.windows(next.len()).position(|window| window == next.as_bytes()).unwrap();
        parts.push((place.to_string(), rest[..end].to_vec()));
        rest = &rest[end + 2..];
    }
}

#[test]
fn several_parts() {
    run(async {
        let server = start(alphabet()).await;
        let response = part(&server, "/memory", "Range: bytes=20-21,0-2,5-9,7-11").await;
        assert_eq!(response.status, 206);
        assert_eq!(response.header("content-range"), None);
        assert_eq!(response.header("content-length"), Some(&*response.body.len().to_string()));
        let expected = [("20-21", "uv"), ("0-2", "abc"), ("5-11", "fghijkl")];
        let expected =
            expected.map(|(at, text)| (format!("bytes {at}/26"), text.as_bytes().to_vec()));
        assert_eq!(parts(&response), expected);
        let touching = part(&server, "/memory", "Range: bytes=0-2,3-5").await;
        assert_eq!(touching.header("content-range"), Some("bytes 0-5/26"));
        // A stream that only goes forward is sent as a whole.
        assert_eq!(part(&server, "/stream", "Range: bytes=20-21,0-2").await.status, 200);
    });
}

/// A folder that is gone after the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("runnel-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn files_of_any_size() {
    run(async {
        let folder = Folder::new("ranges");
        let content: Vec<u8> = (0..3_000_000_u32).map(|at| (at % 251) as u8).collect();
        std::fs::write(folder.0.join("big.bin"), &content).unwrap();
        let server = start(Rc::new(Disk::new(&folder.0).unwrap())).await;
        for (from, to) in
            [(0, 9), (131_071, 131_073), (1_000_000, 2_500_000), (2_999_999, 2_999_999)]
        {
            let response = part(&server, "/big.bin", &format!("Range: bytes={from}-{to}")).await;
            assert_eq!(response.status, 206);
            assert!(response.body == content[from..=to], "{from} to {to}");
        }
        let response = part(&server, "/big.bin", "Range: bytes=2000000-2000009,10-300000").await;
        let parts = parts(&response);
        assert!(parts[0].1 == content[2_000_000..2_000_010] && parts[1].1 == content[10..=300_000]);
        let whole = part(&server, "/big.bin", "X: y").await;
        assert!(whole.body == content);
    });
}

#[test]
fn what_was_put_can_be_read_in_part() {
    run(async {
        let site = Memory::site();
        let content = Content::text(ALPHABET).with_media_type("text/plain");
        let reference = Reference::from_path("/a");
        site.put(&reference, content, &Default::default()).await.unwrap();
        let server = start(Rc::new(site)).await;
        let response = part(&server, "/a", "Range: bytes=1-3").await;
        assert_eq!((response.status, response.text()), (206, "bcd"));
        assert_eq!(response.header("content-type"), Some("text/plain; charset=utf-8"));
    });
}
