//! Several upstreams of a reverse proxy: balancing, health, sticky sessions, restarts.

use crate::helper::{Peer, get, run, soon};
use crate::proxy_upstream::{Act, Upstream, ask, relay};
use runnel_http::{Balance, ProxyOptions, StickySessions};
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

async fn named(name: &str) -> Upstream {
    Upstream::saying(&format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{name}", name.len()))
        .await
}

fn to(upstreams: &[&Upstream]) -> ProxyOptions {
    let to = upstreams.iter().map(|upstream| upstream.address()).collect();
    ProxyOptions { to, ..ProxyOptions::default() }
}

#[test]
fn requests_go_to_one_after_the_other() {
    run(async {
        let (a, b, c) = (named("a").await, named("b").await, named("c").await);
        let server =
            relay(ProxyOptions { balance: Balance::RoundRobin, ..to(&[&a, &b, &c]) }).await;
        let mut names = String::new();
        for _ in 0..6 {
            names.push_str(get(&server, "/").await.text());
        }
        assert_eq!(names, "abcabc");
    });
}

#[test]
fn a_busy_upstream_gets_no_more() {
    run(async {
        let (busy, idle) = (Upstream::start(|_| Act::Hang).await, named("idle").await);
        let server = relay(to(&[&busy, &idle])).await;
        let mut waiting = Vec::new();
        while busy.seen.borrow().is_empty() {
            let mut peer = Peer::connect(&server).await;
            peer.send("GET / HTTP/1.1\r\nHost: t\r\n\r\n").await;
            waiting.push(peer);
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        for _ in 0..10 {
            assert_eq!(get(&server, "/").await.text(), "idle");
        }
        assert_eq!(busy.seen.borrow().len(), 1);
    });
}

#[test]
fn a_client_stays_with_its_upstream() {
    run(async {
        let upstreams = [named("a").await, named("b").await, named("c").await];
        let all: Vec<&Upstream> = upstreams.iter().collect();
        for sticky in [StickySessions::On, StickySessions::Secret("a secret of the test".into())] {
            let options = || ProxyOptions {
                sticky: sticky.clone(),
                balance: Balance::RoundRobin,
                ..to(&all)
            };
            // Another proxy with the same key, such as one of another worker.
            let (server, other) = (relay(options()).await, relay(options()).await);
            let first = get(&server, "/").await;
            let cookie = first.header("set-cookie").unwrap();
            assert!(cookie.ends_with("; Path=/; HttpOnly; SameSite=Lax"), "{cookie}");
            let pair = cookie.split(';').next().unwrap();
            let request = format!("GET / HTTP/1.1\r\nHost: t\r\nCookie: x=y; {pair}\r\n\r\n");
            for server in [&server, &other] {
                for _ in 0..4 {
                    let answer = ask(server, &request).await;
                    assert_eq!((answer.text(), answer.header("set-cookie")), (first.text(), None));
                }
            }
            let answer =
                ask(&server, "GET / HTTP/1.1\r\nHost: t\r\nCookie: upstream=forged\r\n\r\n").await;
            assert!(answer.header("set-cookie").is_some());
        }
    });
}

#[test]
fn an_upstream_that_fails_its_checks_gets_no_requests() {
    run(async {
        let is_ill = Rc::new(Cell::new(true));
        let ill = is_ill.clone();
        let a = Upstream::start(move |request| {
            let is_check = request.starts_with("GET /health ");
            Act::Answer(match is_check && ill.get() {
                true => "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n".into(),
                false => "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na".into(),
            })
        })
        .await;
        let b = named("b").await;
        let server = relay(ProxyOptions {
            health_check: Some("/health".into()),
            interval: Duration::from_millis(20),
            balance: Balance::RoundRobin,
            ..to(&[&a, &b])
        })
        .await;
        let names = async || {
            let (one, other) = (get(&server, "/").await, get(&server, "/").await);
            [one.text(), other.text()].concat()
        };
        let settles = async |wanted: &[&str]| {
            soon("the checks", async {
                while !wanted.contains(&&*names().await) {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            })
            .await;
        };
        settles(&["bb"]).await;
        assert_eq!(names().await, "bb");
        is_ill.set(false);
        settles(&["ab", "ba"]).await;
    });
}

/// An upstream that never answers `/slow`.
async fn slow(name: &'static str) -> Upstream {
    let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{name}", name.len());
    Upstream::start(move |request| match request.starts_with("GET /slow ") {
        true => Act::Hang,
        false => Act::Answer(answer.clone()),
    })
    .await
}

#[test]
fn an_upstream_alone_never_rests() {
    run(async {
        let only = slow("a").await;
        let answer_time = Duration::from_millis(20);
        let server = relay(ProxyOptions { max_fails: 1, answer_time, ..to(&[&only]) }).await;
        for _ in 0..3 {
            assert_eq!(get(&server, "/slow").await.status, 504);
        }
        assert_eq!(get(&server, "/").await.text(), "a");
    });
}

#[test]
fn a_slow_url_rests_no_upstream_of_a_group() {
    run(async {
        let (a, b) = (slow("a").await, slow("b").await);
        let options = ProxyOptions {
            max_fails: 1,
            answer_time: Duration::from_millis(200),
            balance: Balance::RoundRobin,
            ..to(&[&a, &b])
        };
        let server = relay(options).await;
        let waits = async || get(&server, "/slow").await.status;
        let others = async {
            // The slow requests have gone to both.
            while [&a, &b].iter().any(|one| one.seen.borrow().is_empty()) {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            [get(&server, "/").await, get(&server, "/").await]
        };
        let (one, other, _) = tokio::join!(waits(), waits(), others);
        assert_eq!((one, other), (504, 504));
        let mut names = String::new();
        for _ in 0..4 {
            names.push_str(get(&server, "/").await.text());
        }
        assert_eq!(names.matches('a').count(), 2, "{names}");
    });
}
