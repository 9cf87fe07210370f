//! More connections than there may be: one client cannot take all of them.

use crate::helper::{Fake, Peer, run, site, soon, start_with};
use runnel_http::{AccessPolicy, HttpServer, Limits, TrustedProxy};
use runnel_store::{Answer, Content};
use std::rc::Rc;
use tokio::sync::Notify;

const HI: &str = "GET /hi HTTP/1.1\r\nHost: t\r\n\r\n";

async fn start(limits: Limits) -> HttpServer {
    start_with(site(&[("/hi", "hi")]).await, limits).await
}

/// A connection from 127.0.0.`host` that has been answered once and is idle.
async fn idle(server: &HttpServer, host: u8) -> Peer {
    let mut peer = Peer::connect_from(server, host).await;
    assert_eq!(ask(&mut peer).await, 200);
    peer
}

async fn ask(peer: &mut Peer) -> u16 {
    peer.send(HI).await;
    soon("an answer", peer.receive()).await.status
}

#[test]
fn an_idle_connection_of_the_client_that_holds_most_is_closed_for_a_new_one() {
    run(async {
        let server = start(Limits { connections: 4, ..Limits::default() }).await;
        let mut few = idle(&server, 2).await;
        let mut many = Vec::new();
        for _ in 0..3 {
            many.push(idle(&server, 1).await);
        }
        let mut others = Vec::new();
        for host in 3..5 {
            others.push(idle(&server, host).await);
        }
        // The two that were idle for longest.
        assert!(many[0].is_closed().await && many[1].is_closed().await);
        for peer in others.iter_mut().chain([&mut few, &mut many[2]]) {
            assert_eq!(ask(peer).await, 200);
        }
        assert_eq!(server.connections(), 4);
    });
}

#[test]
fn one_client_that_takes_all_gives_up_its_own() {
    run(async {
        let server = start(Limits { connections: 10, ..Limits::default() }).await;
        let mut peers = Vec::new();
        for _ in 0..30 {
            peers.push(idle(&server, 1).await);
        }
        assert_eq!(ask(&mut idle(&server, 2).await).await, 200);
        assert!(server.connections() <= 10);
    });
}

#[test]
fn a_half_open_connection_is_closed_where_none_is_idle() {
    run(async {
        let open = Rc::new(Notify::new());
        let opened = open.clone();
        let store = Fake::get(move |reference, _| {
            if reference.path() != "/slow" {
                return Answer::ok(Some(Content::text("hi")));
            }
            let open = opened.clone();
            Answer::later(async move {
                open.notified().await;
                Ok(Some(Content::text("slow")))
            })
        });
        let limits = Limits { connections: 4, ..Limits::default() };
        let server = start_with(Rc::new(store), limits).await;
        let mut busy = Peer::connect(&server).await;
        busy.send("GET /slow HTTP/1.1\r\nHost: t\r\n\r\n").await;
        let mut half = Vec::new();
        for text in ["GET /hi HT", "GET /hi HTTP/1.1\r\nHost: t\r\n", ""] {
            let mut peer = Peer::connect(&server).await;
            peer.send(text).await;
            half.push(peer);
        }
        for host in 2..5 {
            let mut peer = idle(&server, host).await;
            assert_eq!(ask(&mut peer).await, 200);
            drop(peer);
        }
        let mut kept = Vec::new();
        for host in 2..5 {
            kept.push(idle(&server, host).await);
        }
        for peer in &mut half {
            assert!(peer.is_closed().await);
        }
        open.notify_one();
        assert_eq!(soon("the slow answer", busy.receive()).await.text(), "slow");
    });
}

#[test]
fn a_busy_connection_becomes_idle_and_makes_room() {
    run(async {
        let open = Rc::new(Notify::new());
        let opened = open.clone();
        let store = Fake::get(move |_, _| {
            let open = opened.clone();
            Answer::later(async move {
                open.notified().await;
                Ok(Some(Content::text("slow")))
            })
        });
        let limits = Limits { connections: 1, ..Limits::default() };
        let server = start_with(Rc::new(store), limits).await;
        let mut first = Peer::connect(&server).await;
        first.send(HI).await;
        let mut second = Peer::connect(&server).await;
        second.send(HI).await;
        tokio::task::yield_now().await;
        open.notify_one();
        assert_eq!(soon("the first answer", first.receive()).await.status, 200);
        open.notify_one();
        assert_eq!(soon("the second answer", second.receive()).await.status, 200);
        assert!(first.is_closed().await);
    });
}

#[test]
fn a_client_may_have_a_number_of_its_own() {
    run(async {
        let server = start(Limits { client_connections: Some(2), ..Limits::default() }).await;
        let mut peers = vec![idle(&server, 1).await, idle(&server, 1).await];
        assert!(Peer::connect_from(&server, 1).await.is_closed().await);
        peers.push(idle(&server, 2).await);
        drop(peers.remove(0));
        soon("the end", async {
            while server.connections() > 2 {
                tokio::task::yield_now().await;
            }
        })
        .await;
        peers.push(idle(&server, 1).await);
        for peer in &mut peers {
            assert_eq!(ask(peer).await, 200);
        }
    });
}

/// A request that a proxy passes on.
async fn forwarded(peer: &mut Peer, client: &str) -> (u16, Option<String>) {
    peer.send(format!("GET /hi HTTP/1.1\r\nHost: t\r\nX-Forwarded-For: {client}\r\n\r\n")).await;
    let response = soon("an answer", peer.receive()).await;
    (response.status, response.header("connection").map(str::to_string))
}

#[test]
fn connections_of_a_trusted_proxy_are_those_of_its_clients() {
    run(async {
        let trusted_proxies = vec![TrustedProxy::parse("127.0.0.1").unwrap()];
        let access = AccessPolicy { trusted_proxies, ..AccessPolicy::default() };
        let limits =
            Limits { client_connections: Some(2), access, connections: 6, ..Limits::default() };
        let server = start(limits).await;
        let mut peers = Vec::new();
        for client in ["10.0.0.1", "10.0.0.1", "10.0.0.2", "2001:db8::1", "2001:db8::2"] {
            let mut peer = Peer::connect(&server).await;
            assert_eq!(forwarded(&mut peer, client).await, (200, None), "{client}");
            peers.push(peer);
        }
        for client in ["10.0.0.1", "2001:db8::3"] {
            let mut peer = Peer::connect(&server).await;
            let refused = (429, Some("close".to_string()));
            assert_eq!(forwarded(&mut peer, client).await, refused, "{client}");
            assert!(peer.is_closed().await);
        }
        // A stranger cannot make others hold its connections.
        let mut stranger = Peer::connect_from(&server, 2).await;
        assert_eq!(forwarded(&mut stranger, "10.0.0.1").await, (200, None));
        let mut other = Peer::connect_from(&server, 3).await;
        assert_eq!(forwarded(&mut other, "10.0.0.1").await, (200, None));
        assert!(peers[0].is_closed().await);
        assert_eq!(forwarded(&mut peers[2], "10.0.0.2").await, (200, None));
    });
}
