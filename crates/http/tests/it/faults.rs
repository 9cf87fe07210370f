//! Stores that break down take one request with them and nothing else.

use crate::helper::{Fake, Peer, get, run, send, start};
use runnel_store::{Answer, Content, Form, Lazy, Value};
use std::any::Any;
use std::rc::Rc;

/// Lazy content that breaks down when it is encoded, or when it is asked whether it streams.
struct Broken {
    at_once: bool,
}

impl Lazy for Broken {
    fn encode(&self, _: Form) -> Answer<bytes::Bytes> {
        panic!("encoding panics")
    }

    fn stream(&self, _: Form) -> Option<runnel_store::ByteStream> {
        assert!(!self.at_once, "streaming panics");
        None
    }

    fn value(&self) -> Answer<Value> {
        Answer::ok(Value::Nil)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

#[test]
fn a_panic_is_one_500() {
    run(async {
        let store = Fake::get(|reference, _| match reference.path() {
            "/now" => panic!("the verb panics"),
            "/later" => Answer::later(async { panic!("the answer panics") }),
            "/encode" => Answer::ok(Some(Content::lazy(Rc::new(Broken { at_once: false })))),
            "/stream" => Answer::ok(Some(Content::lazy(Rc::new(Broken { at_once: true })))),
            _ => Answer::ok(Some(Content::text("fine"))),
        })
        .put(|_, _, _| panic!("the put panics"));
        let server = start(Rc::new(store)).await;
        let mut peer = Peer::connect(&server).await;
        for path in ["/now", "/later", "/encode", "/stream"] {
            peer.send(format!("GET {path} HTTP/1.1\r\nHost: t\r\n\r\n")).await;
            let response = peer.receive().await;
            assert_eq!((response.status, response.text()), (500, "500 Internal Server Error"));
        }
        assert_eq!(send(&server, "PUT", "/", "", "x").await.status, 500);
        peer.send("GET /fine HTTP/1.1\r\nHost: t\r\n\r\n").await;
        assert_eq!(peer.receive().await.text(), "fine");
        assert_eq!(get(&server, "/fine").await.text(), "fine");
    });
}
