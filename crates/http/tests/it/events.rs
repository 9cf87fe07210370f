//! HttpServer-sent events over a connection: each arrives when it is there, and the end is noticed.

use crate::helper::{Fake, Peer, run, soon, start_with};
use bytes::Bytes;
use futures_util::stream;
use runnel_http::Limits;
use runnel_store::{Answer, ByteStream, Content, Form, Lazy, Result, Value};
use std::any::Any;
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::mpsc;

/// Events that a test sends.
struct Events {
    events: RefCell<Option<mpsc::UnboundedReceiver<&'static str>>>,
    open: Rc<Cell<bool>>,
}

struct Open(Rc<Cell<bool>>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.set(false);
    }
}

impl Lazy for Events {
    fn encode(&self, _: Form) -> Answer<Bytes> {
        Answer::ok(Bytes::new())
    }

    fn media_type(&self, _: Form) -> Option<Cow<'static, str>> {
        Some("text/event-stream".into())
    }

    fn stream(&self, _: Form) -> Option<ByteStream> {
        let events = self.events.take()?;
        let open = Open(self.open.clone());
        Some(Box::pin(stream::unfold((events, open), |(mut events, open)| async move {
            let event = events.recv().await?;
            let bytes: Result<Bytes> = Ok(Bytes::from_static(event.as_bytes()));
            Some((bytes, (events, open)))
        })))
    }

    fn value(&self) -> Answer<Value> {
        Answer::ok(Value::Nil)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

#[test]
fn an_event_arrives_when_it_is_there_and_nobody_is_cut_for_silence() {
    run(async {
        let (send, events) = mpsc::unbounded_channel();
        let open = Rc::new(Cell::new(true));
        let events = RefCell::new(Some(events));
        let lazy = Rc::new(Events { events, open: open.clone() });
        let short = Duration::from_millis(50);
        let limits = Limits {
            request_time: short,
            keep_alive: short,
            write_idle: short,
            ..Limits::default()
        };
        let store = Fake::get(move |_, _| Answer::ok(Some(Content::lazy(lazy.clone()))));
        let server = start_with(Rc::new(store), limits).await;
        let mut peer = Peer::connect(&server).await;
        peer.send("GET / HTTP/1.1\r\nHost: t\r\nAccept: text/event-stream\r\n\r\n").await;
        // The head comes before the first event.
        let head = soon("the head", peer.receive_head()).await;
        assert_eq!(head.status, 200);
        assert_eq!(head.header("cache-control"), Some("no-cache"));
        assert!(head.header("content-type").unwrap().starts_with("text/event-stream"));
        assert_eq!(head.header("content-encoding"), None);
        for event in ["data: 1\n\n", "id: 2\ndata: two\n\n"] {
            tokio::time::sleep(short * 2).await;
            send.send(event).unwrap();
            assert_eq!(soon("an event", peer.chunk()).await.unwrap(), event.as_bytes());
        }
        drop(peer);
        soon("the end", async {
            while open.get() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        })
        .await;
    });
}

#[test]
fn a_server_that_stops_ends_the_events() {
    run(async {
        let (send, events) = mpsc::unbounded_channel();
        let events = RefCell::new(Some(events));
        let lazy = Rc::new(Events { events, open: Rc::default() });
        let store = Fake::get(move |_, _| Answer::ok(Some(Content::lazy(lazy.clone()))));
        let server = start_with(Rc::new(store), Limits::default()).await;
        let mut peer = Peer::connect(&server).await;
        peer.send("GET / HTTP/1.1\r\nHost: t\r\n\r\n").await;
        soon("the head", peer.receive_head()).await;
        send.send("data: 1\n\n").unwrap();
        assert_eq!(peer.chunk().await.unwrap(), b"data: 1\n\n");
        assert!(soon("the stop", server.stop(Duration::from_secs(10))).await);
        assert_eq!(peer.chunk().await, None);
    });
}

#[test]
fn an_end_of_the_events_is_the_end_of_the_answer() {
    run(async {
        let (send, events) = mpsc::unbounded_channel();
        let events = RefCell::new(Some(events));
        let lazy = Rc::new(Events { events, open: Rc::default() });
        let store = Fake::get(move |_, _| Answer::ok(Some(Content::lazy(lazy.clone()))));
        let server = start_with(Rc::new(store), Limits::default()).await;
        let mut peer = Peer::connect(&server).await;
        peer.send("GET / HTTP/1.1\r\nHost: t\r\n\r\n").await;
        soon("the head", peer.receive_head()).await;
        send.send("data: 1\n\n").unwrap();
        drop(send);
        assert_eq!(peer.chunk().await.unwrap(), b"data: 1\n\n");
        assert_eq!(peer.chunk().await, None);
    });
}
