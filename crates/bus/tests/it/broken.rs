//! Servers that are away, silent or talk nonsense, and those that come back.

use crate::support::*;
use crate::wrong::*;
use runnel_bus::{Nats, Redis};
use runnel_scratch::{Server, Service};
use runnel_store::{ChangeKind, Changes, Content, Context, Kind, Reference, Store};
use std::time::{Duration, Instant};
use tokio::net::TcpListener;

#[test]
fn whatever_is_wrong_with_a_server_is_an_error_in_time() {
    run(async {
        let down = {
            let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
            listener.local_addr().unwrap().port()
        };
        let mut ports = vec![(down, "refused the connection")];
        for (manner, word) in [
            (Manner::Silent, "in time"),
            (Manner::Garbage, "something else than"),
            (Manner::Closing, "closed the connection"),
        ] {
            ports.push((listener(manner).await, word));
        }
        for (store, scheme, path) in schemes(quick()) {
            for (port, word) in &ports {
                let path = format!("//127.0.0.1:{port}/{path}");
                let reference = Reference::from_path(path).with_scheme(scheme);
                for number in 0..4 {
                    let error = attempt(&store, &reference, number).await;
                    check(&error, &reference, *port, scheme);
                    let message = error.to_string();
                    let late = message.contains("too long to connect");
                    assert!(message.contains(word) || (late && *word == "in time"), "{message}");
                }
            }
        }
    });
}

#[test]
fn the_callers_deadline_counts() {
    run(async {
        let port = listener(Manner::Silent).await;
        for (store, scheme, path) in schemes(options()) {
            let path = format!("//127.0.0.1:{port}/{path}");
            let reference = Reference::from_path(path).with_scheme(scheme);
            let soon = Instant::now() + Duration::from_millis(30);
            let context = Context { deadline: Some(soon), ..Context::default() };
            let error = store.get(&reference, &context).await.err().unwrap();
            assert_eq!(error.kind, Kind::Timeout);
        }
    });
}

/// Waits until a verb succeeds again after the server came back.
async fn recovered(store: &dyn Store, path: &str) {
    while store.put(&at(path), Content::text("x"), &Context::default()).await.is_err() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Tells of something until the watcher hears of it.
async fn heard(store: &dyn Store, path: &str, changes: &mut Changes) {
    loop {
        put(store, path, "again").await;
        let told = tokio::time::timeout(Duration::from_millis(100), next(changes)).await;
        if told.is_ok_and(|told| told.starts_with(&format!("changed {path}"))) {
            return;
        }
    }
}

#[test]
fn redis_comes_back() {
    let Some(mut server) = Server::for_test(Service::Redis) else { return };
    run(async {
        let redis = Redis::open(&server.url(), &options()).unwrap();
        let channels = redis.channels();
        put(&*redis, "a", "x").await;
        let mut keys = watch(&*redis, "").await;
        let mut messages = watch(&*channels, "news").await;
        put(&*redis, "a", "y").await;
        assert_eq!(next(&mut keys).await, "changed a");
        server.kill();
        let down = redis.get(&at("a"), &Context::default()).await.err().unwrap();
        assert_eq!(down.kind, Kind::Unavailable);
        // Watchers hear that they miss changes, and again when they miss none any more.
        until(&mut keys, ChangeKind::Lost).await;
        until(&mut messages, ChangeKind::Lost).await;
        server.restart().unwrap();
        recovered(&*redis, "a").await;
        until(&mut keys, ChangeKind::Lost).await;
        until(&mut messages, ChangeKind::Lost).await;
        heard(&*redis, "a", &mut keys).await;
        post(&*channels, "news", "hello").await;
        assert_eq!(next(&mut messages).await, "changed news hello");
    });
}

#[test]
fn nats_comes_back() {
    let Some(mut server) = Server::for_test(Service::Nats) else { return };
    run(async {
        let nats = Nats::open(&server.url(), &options()).unwrap();
        put(&*nats, "kv/b/a", "x").await;
        let mut keys = watch(&*nats, "kv/b").await;
        let mut messages = watch(&*nats, "subjects/news").await;
        put(&*nats, "kv/b/a", "y").await;
        assert_eq!(next(&mut keys).await, "changed kv/b/a y");
        server.kill();
        loop {
            let down = nats.get(&at("kv/b/a"), &Context::default()).await;
            if let Err(error) = down {
                assert!(matches!(error.kind, Kind::Unavailable | Kind::Timeout), "{error}");
                break;
            }
        }
        server.restart().unwrap();
        recovered(&*nats, "kv/b/c").await;
        assert!(get(&*nats, "kv/b/a").await.is_some(), "what was put is gone");
        until(&mut messages, ChangeKind::Lost).await;
        heard(&*nats, "kv/b/c", &mut keys).await;
        loop {
            post(&*nats, "subjects/news", "hello").await;
            let told = tokio::time::timeout(Duration::from_millis(100), next(&mut messages)).await;
            if told.is_ok_and(|told| told == "changed subjects/news hello") {
                break;
            }
        }
    });
}
