//! Early hints: an interim response before the final one, for clients that understand it.

use crate::helper::{Fake, Peer, run, soon, start_with};
use runnel_http::Limits;
use runnel_store::{Answer, Content, Context, Store};
use std::rc::Rc;
use tokio::sync::Notify;

const LINK: &str = "</site.css>; rel=preload; as=style";
const BROWSER: &str = "Host: t\r\nSec-Fetch-Mode: navigate\r\n\r\n";

fn hint(context: &Context, link: &str) {
    context.exchange.as_ref().unwrap().add_early_hint(link).unwrap();
}

/// A page that names its style, and is ready once the notification comes.
fn page(ready: &Rc<Notify>) -> Rc<dyn Store> {
    let ready = ready.clone();
    Rc::new(Fake::get(move |reference, context| {
        hint(context, LINK);
        if reference.path() == "/now" {
            return Answer::ok(Some(Content::text("now")));
        }
        let ready = ready.clone();
        Answer::later(async move {
            ready.notified().await;
            Ok(Some(Content::text("the page")))
        })
    }))
}

fn hinting() -> Limits {
    Limits { early_hints: true, ..Limits::default() }
}

#[test]
fn a_browser_gets_the_links_before_the_page() {
    run(async {
        let ready = Rc::new(Notify::new());
        let server = start_with(page(&ready), hinting()).await;
        let mut peer = Peer::connect(&server).await;
        for method in ["GET", "HEAD"] {
            peer.send(format!("{method} / HTTP/1.1\r\n{BROWSER}")).await;
            let early = soon("the hints", peer.head()).await;
            assert_eq!(early, format!("HTTP/1.1 103 Early Hints\r\nlink: {LINK}\r\n\r\n"));
            ready.notify_one();
            let last = match method {
                "HEAD" => peer.receive_head().await,
                _ => peer.receive().await,
            };
            assert_eq!((last.status, last.header("link")), (200, Some(LINK)));
        }
        // A response that is ready at once has its links in its own head.
        peer.send(format!("GET /now HTTP/1.1\r\n{BROWSER}")).await;
        let last = peer.receive().await;
        assert_eq!((last.status, last.text(), last.header("link")), (200, "now", Some(LINK)));
    });
}

#[test]
fn pipelined_pages_have_their_hints_in_order() {
    run(async {
        let ready = Rc::new(Notify::new());
        let server = start_with(page(&ready), hinting()).await;
        let mut peer = Peer::connect(&server).await;
        let one = format!("GET / HTTP/1.1\r\n{BROWSER}");
        peer.send(format!("{one}{one}")).await;
        for _ in 0..2 {
            assert!(soon("the hints", peer.head()).await.contains(" 103 "));
            ready.notify_one();
            assert_eq!(peer.receive().await.text(), "the page");
        }
    });
}

#[test]
fn other_clients_get_the_final_response_alone() {
    run(async {
        let ready = Rc::new(Notify::new());
        for (limits, version, fields) in [
            (hinting(), "HTTP/1.1", "Host: t\r\n\r\n"),
            (hinting(), "HTTP/1.1", "Host: t\r\nSec-Fetch-Mode: cors\r\n\r\n"),
            (hinting(), "HTTP/1.0", BROWSER),
            (Limits::default(), "HTTP/1.1", BROWSER),
        ] {
            let server = start_with(page(&ready), limits).await;
            let mut peer = Peer::connect(&server).await;
            peer.send(format!("GET / {version}\r\n{fields}")).await;
            ready.notify_one();
            let only = peer.receive().await;
            assert_eq!((only.status, only.header("link")), (200, Some(LINK)), "{version} {fields}");
        }
    });
}
