//! Heads with a fault that the parser would forgive: what came before them is answered, in order,
//! and nothing after them is.

use crate::helper::{Fake, Peer, run, soon, start};
use runnel_store::{Answer, Content, Store};
use std::rc::Rc;
use std::time::Duration;

const BAD: &str =
    "POST /x HTTP/1.1\r\nHost: t\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n";

/// Answers the path, `/slow` after a while.
fn store() -> Rc<dyn Store> {
    Rc::new(Fake::get(|reference, _| {
        let content = Content::text(reference.path());
        if reference.path() != "/slow" {
            return Answer::ok(Some(content));
        }
        Answer::later(async move {
            tokio::time::sleep(Duration::from_millis(50)).await;
            Ok(Some(content))
        })
    }))
}

fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: t\r\n\r\n")
}

#[test]
fn what_came_before_is_answered_first() {
    run(async {
        let server = start(store()).await;
        // More than hyper answers at one go, and one that takes a while.
        for (paths, in_parts) in [
            (vec!["/a".to_string()], false),
            ((0..100).map(|number| format!("/{number}")).collect(), false),
            (vec!["/a".into(), "/slow".into(), "/b".into()], false),
            (vec!["/a".into(), "/slow".into()], true),
            (Vec::new(), false),
        ] {
            let mut peer = Peer::connect(&server).await;
            let mut sent: String = paths.iter().map(|path| get(path)).collect();
            sent.push_str(BAD);
            sent.push_str("3\r\nabc\r\n0\r\n\r\n");
            sent.push_str(&get("/after"));
            if in_parts {
                for byte in sent.as_bytes().chunks(7) {
                    peer.send(byte).await;
                    tokio::task::yield_now().await;
                }
            } else {
                peer.send(&sent).await;
            }
            for path in &paths {
                let answer = soon("an answer", peer.receive()).await;
                assert_eq!((answer.status, answer.text()), (200, path.as_str()));
            }
            let refusal = soon("the refusal", peer.receive()).await;
            assert_eq!(refusal.status, 400);
            assert_eq!(refusal.header("connection"), Some("close"));
            assert!(refusal.text().contains("Transfer-Encoding"), "{}", refusal.text());
            assert!(peer.is_closed().await);
        }
    });
}

#[test]
fn a_body_that_looks_like_a_bad_head_is_a_body() {
    run(async {
        let store = Fake::get(|_, _| Answer::ok(None)).put(|_, content, _| {
            Answer::later(async move {
                let bytes = content.read(1000).await?;
                assert!(bytes.starts_with(b"POST"));
                Ok(false)
            })
        });
        let server = start(Rc::new(store)).await;
        let mut peer = Peer::connect(&server).await;
        let length = BAD.len();
        let whole = format!("PUT /x HTTP/1.1\r\nHost: t\r\nContent-Length: {length}\r\n\r\n{BAD}");
        let chunks = format!(
            "PUT /x HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n{length:x}\r\n{BAD}\r\n0\r\n\r\n"
        );
        for _ in 0..3 {
            peer.send(whole.as_str()).await;
            peer.send(chunks.as_str()).await;
            assert_eq!(soon("whole", peer.receive()).await.status, 204);
            assert_eq!(soon("in chunks", peer.receive()).await.status, 204);
        }
    });
}
