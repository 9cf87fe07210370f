//! Checks of verbs that are given up in the middle.

use super::subject::{Subject, at, streamed, turns};
use super::{Keeps, Posting};
use crate::{Answer, Content, Context, Query, Store, Value};
use bytes::Bytes;
use std::rc::Rc;
use std::time::Duration;

/// After how many turns of the event loop a verb is given up.
const TURNS: [usize; 6] = [0, 1, 2, 3, 5, 9];

/// The turns within which what was given up lets go of the store.
const TRIES: usize = 100;

/// After how many looks that find nothing, with pauses, no late write is expected any more, and after
/// how many in all the check fails.
const QUIET: usize = 20;
const PAUSE: Duration = Duration::from_millis(10);
const MOST: usize = 1_000;

pub(super) async fn check(subject: &Subject) {
    let held = Rc::strong_count(&subject.store);
    reading(subject).await;
    writing(subject).await;
    // What was given up lets go of the store, at the latest when the loop has turned.
    for _ in 0..TRIES {
        if Rc::strong_count(&subject.store) == held {
            return;
        }
        tokio::task::yield_now().await;
    }
    subject.fail("verbs that were given up hold on to the store");
}

/// Begins a verb, lets it work for some turns, and gives it up.
async fn give_up<T>(mut answer: Answer<T>, work: usize) {
    turns(&mut answer, work).await;
}

async fn reading(subject: &Subject) {
    subject.checking("reading that is given up disturbs nothing");
    let text = "read ".repeat(50_000);
    subject.put_text("given-up/read", &text).await;
    let (store, on, context) = (&subject.store, at("given-up/read"), Context::default());
    for work in TURNS {
        give_up(store.get(&on, &context), work).await;
        if subject.abilities.listing {
            give_up(store.list(&at("given-up"), &context), work).await;
        }
        if subject.abilities.query {
            give_up(store.query(&on, &Query::default(), &context), work).await;
        }
        if subject.abilities.watch {
            give_up(store.watch(&on, &context), work).await;
        }
        // Content that is not read to its end is dropped with what it holds.
        drop(subject.content("given-up/read").await);
    }
    subject.same("get", subject.get("given-up/read").await, Some(text.as_str().into()));
    subject.clean(&["given-up/read"]).await;
}

/// What a verb makes of a value with a text.
type Done = fn(&Value, &str) -> Option<Value>;

type Begin = fn(&Subject, &dyn Store, &str, &str) -> Answer<()>;

/// A verb that writes a text at a path, and how.
const WRITES: [(&str, Begin); 5] = [
    ("put", |_, store, path, text| {
        let content = Content::value(text.into());
        store.put(&at(path), content, &Context::default()).map(|_| ())
    }),
    ("stream", |subject, store, path, text| {
        let bytes = subject.bytes(&text.into());
        let middle = bytes.len() / 2;
        let chunks: Vec<Bytes> = vec![bytes.slice(..middle), bytes.slice(middle..)];
        let content = streamed(chunks.into_iter().map(Ok).collect());
        store.put(&at(path), content, &Context::default()).map(|_| ())
    }),
    ("delete", |_, store, path, _| store.delete(&at(path), &Context::default()).map(|_| ())),
    ("post", |_, store, path, text| {
        let content = Content::value(text.into());
        store.post(&at(path), content, &Context::default()).map(|_| ())
    }),
    ("merge", |subject, store, path, text| {
        let fields = Value::record([("text", Value::from(text))]);
        let content = match subject.abilities.keeps {
            Keeps::Json => Content::bytes(subject.bytes(&fields)),
            _ => Content::value(fields),
        };
        store.merge(&at(path), content, &Context::default()).map(|_| ())
    }),
];

/// Each write has a path of its own: where a verb continues for a while after it was given up, its
/// late effect meets no other one.
async fn writing(subject: &Subject) {
    subject.checking("writing that is given up happened as a whole or not at all");
    let mut paths = Vec::new();
    for (verb, begin) in WRITES {
        let abilities = subject.abilities;
        let (before, done): (Value, Done) = match verb {
            "post" if abilities.posting == Posting::Lists => {
                let before = Value::List(vec![Value::from("before")]);
                (before, |_, text| Some(Value::List(vec!["before".into(), text.into()])))
            }
            "post" if abilities.posting == Posting::Appends => {
                (Value::from("before"), |_, text| Some(format!("before{text}").into()))
            }
            "merge" if abilities.merge => {
                (Value::record([("a", Value::Int(1))]), |before, text| {
                    let mut after = before.clone();
                    after.set("text", Value::from(text));
                    Some(after)
                })
            }
            "post" | "merge" => continue,
            "delete" => (Value::from("before"), |_, _| None),
            _ => (Value::from("before"), |_, text| Some(text.into())),
        };
        for work in TURNS {
            let path = format!("given-up/{verb}-{work}");
            let text = format!("{verb} {work} ").repeat(2_000);
            subject.put(&path, Content::value(before.clone())).await;
            give_up(begin(subject, &*subject.store, &path, &text), work).await;
            let found = subject.get(&path).await;
            let old = Some(subject.expected(&before));
            let new = done(&before, &text).map(|value| subject.expected(&value));
            let length = format!("{found:?}").len();
            let message = format!("after a {verb} given up at turn {work}: {length} bytes");
            subject.is(found == old || found == new, &message);
            paths.push(path);
        }
    }
    remove(subject, &paths).await;
    subject.delete("given-up").await;
}

/// Deletes, again while verbs that were given up may write late.
async fn remove(subject: &Subject, paths: &[String]) {
    let mut quiet = if subject.abilities.cancels_at_once { 1 } else { QUIET };
    for _ in 0..MOST {
        let mut is_gone = true;
        for path in paths {
            if subject.get(path).await.is_some() {
                subject.delete(path).await;
                is_gone = false;
            }
        }
        quiet -= usize::from(is_gone);
        if quiet == 0 {
            return;
        }
        tokio::time::sleep(PAUSE).await;
    }
    subject.fail("what was deleted comes again and again");
}
