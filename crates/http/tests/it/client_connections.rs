//! The connections of the client to one host: bounded, handed out in order, and counted.

use crate::helper::{Fake, run, soon, start};
use futures_util::StreamExt;
use runnel_http::{ClientOptions, HttpServer, Transport, TransportFault, TransportOptions, client};
use runnel_store::{
    Answer, Body, Content, Context, Count, Counters, Kind, Level, Reference, Store,
};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;

/// A server that answers `/held` when it is let, everything else at once, and how many requests
/// are under way in it.
struct Upstream {
    server: HttpServer,
    let_go: Rc<Semaphore>,
    most: Rc<Cell<usize>>,
}

async fn upstream() -> Upstream {
    let (let_go, most, now) =
        (Rc::new(Semaphore::new(0)), Rc::new(Cell::new(0)), Rc::new(Cell::new(0_usize)));
    let (gate, highest) = (let_go.clone(), most.clone());
    let store = Fake::get(move |reference, _| {
        let (gate, highest, now) = (gate.clone(), highest.clone(), now.clone());
        let is_held = reference.path().contains("held");
        let large = reference.path().contains("large");
        Answer::later(async move {
            now.set(now.get() + 1);
            highest.set(highest.get().max(now.get()));
            if is_held {
                gate.acquire().await.unwrap().forget();
            }
            now.set(now.get() - 1);
            Ok(Some(Content::text(if large { "x".repeat(4 << 20) } else { "here".into() })))
        })
    });
    Upstream { server: start(Rc::new(store)).await, let_go, most }
}

impl Upstream {
    fn at(&self, path: &str) -> Reference {
        Reference::parse(&format!("//{}{path}", self.server.address())).with_scheme("http")
    }

    fn counters(&self) -> Arc<Counters> {
        Counters::of("http", &self.server.address().to_string())
    }
}

fn few(connections: usize, wait: Duration) -> Rc<dyn Store> {
    client(ClientOptions { connections, waiting: 3, wait, ..ClientOptions::default() })
}

const LONG: Duration = Duration::from_secs(30);

#[test]
fn requests_wait_for_their_turn() {
    run(async {
        let upstream = upstream().await;
        let (web, counters) = (few(1, LONG), upstream.counters());
        let served = Rc::new(RefCell::new(Vec::new()));
        let get = |name: u32| {
            let answer = web.get(&upstream.at("/held"), &Context::default());
            let served = served.clone();
            tokio::task::spawn_local(async move {
                let result = answer.await;
                served.borrow_mut().push(name);
                result.map(drop)
            })
        };
        let first = get(0);
        soon("the first is under way", until(|| upstream.most.get() == 1)).await;
        let waiting = [get(1), get(2), get(3)];
        soon("three wait", until(|| counters.level(Level::Waiting) == 3)).await;
        let refused = soon("one too many", get(4)).await.unwrap().unwrap_err();
        assert!(refused.kind == Kind::Unavailable && refused.temporary, "{refused}");
        assert!(refused.message.contains("3 wait for one already"), "{refused}");
        // Who gives up leaves the line.
        waiting[1].abort();
        soon("two wait", until(|| counters.level(Level::Waiting) == 2)).await;
        upstream.let_go.add_permits(10);
        soon("the first", first).await.unwrap().unwrap();
        for one in waiting {
            if let Ok(result) = soon("its turn", one).await {
                result.unwrap();
            }
        }
        assert_eq!(*served.borrow(), [4, 0, 1, 3]);
        assert_eq!(upstream.most.get(), 1);
        assert_eq!((counters.level(Level::Used), counters.level(Level::Waiting)), (0, 0));
        assert_eq!((counters.count(Count::Requests), counters.count(Count::Refused)), (3, 1));
        assert_eq!((counters.count(Count::Opened), counters.count(Count::Failures)), (1, 0));
    });
}

#[test]
fn waiting_ends() {
    run(async {
        let upstream = upstream().await;
        let web = few(1, Duration::from_millis(100));
        let held = web.get(&upstream.at("/held"), &Context::default());
        let held = tokio::task::spawn_local(async move { held.await.map(drop) });
        soon("it is under way", until(|| upstream.most.get() == 1)).await;
        let late = soon("late", web.get(&upstream.at("/x"), &Context::default())).await;
        let late = late.map(drop).unwrap_err();
        assert!(late.kind == Kind::Unavailable && late.temporary, "{late}");
        let place = upstream.server.address().to_string();
        assert!(late.message.contains(&format!("all 1 connections to {place}")), "{late}");
        let deadline = Some(Instant::now() + Duration::from_millis(20));
        let context = Context { deadline, ..Context::default() };
        let late = soon("the deadline", web.get(&upstream.at("/x"), &context)).await;
        assert_eq!(late.map(drop).unwrap_err().kind, Kind::Timeout);
        upstream.let_go.add_permits(1);
        soon("held", held).await.unwrap().unwrap();
        soon("free again", web.get(&upstream.at("/x"), &Context::default())).await.unwrap();
    });
}

#[test]
fn a_connection_is_in_use_until_its_answer_was_read() {
    run(async {
        let upstream = upstream().await;
        let (web, counters) = (few(1, Duration::from_millis(50)), upstream.counters());
        let large = web.get(&upstream.at("/large"), &Context::default()).await.unwrap().unwrap();
        let Body::Stream(mut stream, _) = large.body else { panic!("it is large") };
        assert_eq!(counters.level(Level::Used), 1);
        let late = web.get(&upstream.at("/x"), &Context::default()).await.map(drop).unwrap_err();
        assert_eq!(late.kind, Kind::Unavailable);
        while let Some(piece) = soon("a piece", stream.next()).await {
            piece.unwrap();
        }
        assert_eq!(counters.level(Level::Used), 0);
        web.get(&upstream.at("/x"), &Context::default()).await.unwrap();
        // One that nobody reads on frees its place when it is dropped.
        let large = web.get(&upstream.at("/large"), &Context::default()).await.unwrap();
        assert_eq!(counters.level(Level::Used), 1);
        drop(large);
        assert_eq!(counters.level(Level::Used), 0);
    });
}

#[test]
fn redirects_need_one_connection_at_a_time() {
    run(async {
        let store = Fake::get(|reference, context| {
            if reference.path().contains("old") {
                let exchange = context.exchange.clone().unwrap();
                exchange.set_status(302);
                exchange.set_header("location", "/new").unwrap();
            }
            Answer::ok(Some(Content::text("here")))
        });
        let server = start(Rc::new(store)).await;
        let web = few(1, Duration::from_millis(50));
        let old = Reference::parse(&format!("//{}/old", server.address())).with_scheme("http");
        soon("it leads on", web.get(&old, &Context::default())).await.unwrap().unwrap();
    });
}

#[test]
fn transports_are_bounded_as_well() {
    run(async {
        let upstream = upstream().await;
        let wait = Duration::from_millis(50);
        let options = TransportOptions { connections: 1, wait, ..TransportOptions::default() };
        let transport = Transport::new(options);
        let ask = |path: &str| {
            let target = format!("http://{}{path}", upstream.server.address());
            let body = http_body_util::Empty::<bytes::Bytes>::new();
            let request = hyper::Request::get(target).body(body).unwrap();
            let transport = transport.clone();
            async move { transport.send(request, Instant::now() + LONG).await }
        };
        let held = tokio::task::spawn_local(ask("/held/large"));
        soon("it is under way", until(|| upstream.most.get() == 1)).await;
        let late = soon("late", ask("/x")).await.unwrap_err();
        assert_eq!(late.fault, TransportFault::Crowded, "{late}");
        upstream.let_go.add_permits(1);
        let answer = soon("held", held).await.unwrap().unwrap();
        assert_eq!(soon("late", ask("/x")).await.unwrap_err().fault, TransportFault::Crowded);
        drop(answer);
        // An answer that has come as a whole needs its connection no longer.
        let answer = soon("free again", ask("/x")).await.unwrap();
        soon("free again", ask("/x")).await.unwrap();
        drop(answer);
    });
}

/// Waits until something is so.
async fn until(is_so: impl Fn() -> bool) {
    while !is_so() {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}
