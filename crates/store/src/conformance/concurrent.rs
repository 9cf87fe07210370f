//! Checks of clients that work at the same time.

use super::chance::Random;
use super::subject::{Subject, at};
use super::{Keeps, Posting};
use crate::{Content, Context, Value};
use futures_util::future::{self, FutureExt};
use std::cell::RefCell;
use std::collections::BTreeMap;

const CLIENTS: u64 = 4;
const WRITES: usize = 6;
const PATHS: [&str; 3] = ["together/a", "together/b", "together/c/d"];

pub(super) async fn check(subject: &Subject) {
    writers_and_readers(subject).await;
    posts(subject).await;
    merges(subject).await;
}

/// What a client writes: long enough that half of it would be noticed.
fn text(client: u64, write: usize) -> String {
    format!("client {client} write {write}, ").repeat(400)
}

async fn pause(random: &mut Random) {
    for _ in 0..random.below(4) {
        tokio::task::yield_now().await;
    }
}

async fn writers_and_readers(subject: &Subject) {
    subject.checking("of clients that write at the same time one was the last, and none is mixed");
    // The last text that each client has written to each path.
    let last: RefCell<BTreeMap<(&str, u64), String>> = RefCell::default();
    let writer = |client: u64| {
        let last = &last;
        async move {
            let mut random = Random(client);
            for write in 0..WRITES {
                let (path, text) = (random.of(&PATHS), text(client, write));
                subject.put_text(path, &text).await;
                last.borrow_mut().insert((path, client), text);
                pause(&mut random).await;
            }
        }
    };
    let reader = |client: u64| async move {
        let mut random = Random(client);
        for _ in 0..2 * WRITES {
            if let Some(found) = subject.get(random.of(&PATHS)).await {
                let whole = (0..CLIENTS).any(|client| {
                    (0..WRITES).any(|write| found == Value::from(text(client, write)))
                });
                subject.is(whole, "a mixture was read");
            }
            pause(&mut random).await;
        }
    };
    let writers = (0..CLIENTS).map(|client| writer(client).left_future());
    let readers = (CLIENTS..2 * CLIENTS).map(|client| reader(client).right_future());
    future::join_all(writers.chain(readers)).await;
    for path in PATHS {
        let found = subject.get(path).await;
        let last = last.borrow();
        let mut candidates = last.iter().filter(|((on, _), _)| *on == path).peekable();
        let right = match &found {
            None => candidates.peek().is_none(),
            Some(found) => candidates.any(|(_, text)| *found == Value::from(text.as_str())),
        };
        subject.is(right, &format!("what is at {path} is no client's last write"));
    }
    subject.clean(&PATHS).await;
    subject.delete("together/c").await;
    subject.delete("together").await;
}

async fn posts(subject: &Subject) {
    subject.checking("posts at the same time are all there");
    if subject.abilities.posting == Posting::Other {
        return;
    }
    let context = Context::default();
    let post = |client: u64| {
        let content = Content::value(client.to_string().into());
        subject.store.post(&at("posts"), content, &context)
    };
    for posted in future::join_all((0..CLIENTS).map(post)).await {
        subject.good("post", posted);
    }
    let mut found: Vec<String> = match subject.get("posts").await {
        Some(Value::List(elements)) => {
            elements.iter().filter_map(Value::as_str).map(String::from).collect()
        }
        Some(Value::Text(text)) => text.chars().map(String::from).collect(),
        found => subject.fail(&format!("found {found:?}")),
    };
    found.sort_unstable();
    let all: Vec<String> = (0..CLIENTS).map(|client| client.to_string()).collect();
    subject.same("get", found, all);
    subject.clean(&["posts"]).await;
}

async fn merges(subject: &Subject) {
    subject.checking("merges at the same time are all there");
    if !subject.abilities.merge {
        return;
    }
    let record = |name: &str| Value::record([(name, Value::Int(1))]);
    subject.put("merges", Content::value(record("start"))).await;
    let context = Context::default();
    let merge = |client: u64| {
        let fields = record(&format!("client-{client}"));
        let content = match subject.abilities.keeps {
            Keeps::Json => Content::bytes(subject.bytes(&fields)),
            _ => Content::value(fields),
        };
        subject.store.merge(&at("merges"), content, &context)
    };
    for merged in future::join_all((0..CLIENTS).map(merge)).await {
        subject.good("merge", merged);
    }
    let found = subject.get("merges").await.unwrap_or_default();
    for client in 0..CLIENTS {
        let field = found.get(&format!("client-{client}"));
        subject.same("field", field, Some(&Value::Int(1)));
    }
    subject.clean(&["merges"]).await;
}
