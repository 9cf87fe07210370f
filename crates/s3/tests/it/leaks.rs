//! Ten thousand failures cost no memory and no file descriptor.

use crate::support::*;
use crate::wrong::*;
use futures_util::future;
use runnel_s3::{S3, S3Options};
use runnel_scratch::{alone, usage};
use runnel_store::{Content, Store};
use std::time::Duration;

/// What is used once everything that was given up is closed: when it does not get less any more.
async fn settled() -> (usize, usize) {
    let mut least = usage();
    for _ in 0..20 {
        tokio::time::sleep(Duration::from_millis(20)).await;
        least = least.min(usage());
    }
    least
}

/// A verb of each kind, which has to fail.
async fn fail(store: &S3, number: usize) {
    let is_good = match number % 4 {
        0 => match store.get(&at("a"), &none()).await {
            Ok(Some(content)) => content.read(usize::MAX).await.is_ok(),
            found => found.is_ok(),
        },
        1 => store.put(&at("a"), Content::text("x"), &none()).await.is_ok(),
        2 => store.list(&at("a"), &none()).await.is_ok(),
        _ => store.delete(&at("a"), &none()).await.is_ok(),
    };
    assert!(!is_good, "a verb succeeded");
}

#[test]
fn thousands_of_failures_leave_nothing_behind() {
    alone("leaks::thousands_of_failures_leave_nothing_behind", thousands_of_failures);
}

fn thousands_of_failures() {
    const ROUNDS: usize = 40;
    const AT_ONCE: usize = 64;
    run(async {
        let half = "HTTP/1.1 200 OK\r\ncontent-length: 100000000\r\n\r\n<ListBucketResult>";
        let busy = "HTTP/1.1 503 Slow Down\r\ncontent-length: 0\r\n\r\n";
        let mut stores = Vec::new();
        for (says, closes) in [("", false), ("", true), ("nonsense\r\n", true), (busy, false)] {
            let (endpoint, _) = server(Says { answers: vec![says.into()], closes }).await;
            stores.push(endpoint);
        }
        let (endpoint, _) = server(Says { answers: vec![half.into()], closes: false }).await;
        let quick = |endpoint: &str| {
            let time = Duration::from_millis(20);
            let bucket = Some("cats".to_string());
            let (connect_time, answer_time) = (time, time);
            S3::new(S3Options { bucket, connect_time, answer_time, ..options(endpoint) }).unwrap()
        };
        let stores: Vec<S3> = stores.iter().map(|endpoint| quick(endpoint)).collect();
        let stopping = quick(&endpoint);
        let mut before = None;
        for round in 0..ROUNDS {
            for store in &stores {
                future::join_all((0..AT_ONCE).map(|number| fail(store, number))).await;
            }
            // What stops in the middle fails where the answer has a body: get and list.
            future::join_all((0..AT_ONCE).map(|number| fail(&stopping, number % 2 * 2))).await;
            if round == ROUNDS / 4 {
                before = Some(settled().await);
            }
        }
        let (descriptors, memory) = before.unwrap();
        let (mut descriptors_now, mut memory_now) = settled().await;
        for _ in 0..10 {
            if descriptors_now > descriptors {
                (descriptors_now, memory_now) = settled().await;
            }
        }
        assert!(descriptors_now <= descriptors, "{descriptors} became {descriptors_now}");
        assert!(memory_now <= memory + (8 << 10), "{memory} KiB became {memory_now} KiB");
    });
}
