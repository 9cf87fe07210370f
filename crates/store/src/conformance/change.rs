//! Checks of putting, posting, merging and deleting.

use super::subject::{Subject, at, streamed, turns, unending};
use super::{Keeps, Posting};
use crate::{Content, Context, Error, Kind, Value};
use bytes::Bytes;

pub(super) async fn check(subject: &Subject) {
    puts(subject).await;
    deletes(subject).await;
    inner_content(subject).await;
    nil(subject).await;
    streams(subject).await;
    cancelled(subject).await;
    overlapping(subject).await;
    posts(subject).await;
    merges(subject).await;
}

async fn puts(subject: &Subject) {
    subject.checking("a put creates with all that lies above, or replaces, and says which");
    subject.same("first", subject.put_text("put/new/deep", "one").await, true);
    subject.same("second", subject.put_text("put/new/deep", "two").await, false);
    subject.same("beside it", subject.put_text("put/other", "three").await, true);
    subject.same("get", subject.get("put/new/deep").await, Some("two".into()));
    subject.same("get", subject.get("put/other").await, Some("three".into()));
    subject.clean(&["put/new/deep", "put/other"]).await;
    subject.delete("put/new").await;
    subject.delete("put").await;
}

async fn deletes(subject: &Subject) {
    subject.checking("a delete removes one thing and says whether it was there");
    for path in ["delete/a", "delete/b"] {
        subject.put_text(path, "x").await;
    }
    subject.same("first", subject.delete("delete/a").await, true);
    subject.same("second", subject.delete("delete/a").await, false);
    subject.same("get", subject.get("delete/a").await, None);
    subject.same("get of another", subject.get("delete/b").await, Some("x".into()));
    subject.same("put again", subject.put_text("delete/a", "y").await, true);
    subject.clean(&["delete/a", "delete/b"]).await;
    subject.delete("delete").await;
}

async fn inner_content(subject: &Subject) {
    if subject.abilities.inner_content {
        subject.checking("content can lie above other content");
        for path in ["inner", "inner/a/b", "inner/a"] {
            subject.same("put", subject.put_text(path, path).await, true);
        }
        for path in ["inner", "inner/a/b", "inner/a"] {
            subject.same("get", subject.get(path).await, Some(path.into()));
        }
        subject.same("delete", subject.delete("inner/a").await, true);
        subject.same("get below", subject.get("inner/a/b").await, Some("inner/a/b".into()));
    } else {
        subject.checking("content and a collection in the same place are a conflict");
        subject.put_text("inner/a/b", "inner/a/b").await;
        for path in ["inner", "inner/a", "inner/a/b/c"] {
            let put = subject.store.put(&at(path), Content::text("1"), &Context::default()).await;
            let kind = put.map(|_| ()).map_err(|error| error.kind);
            subject.same(&format!("put {path}"), kind, Err(Kind::Conflict));
        }
        let delete = subject.store.delete(&at("inner"), &Context::default()).await;
        let kind = delete.map(|_| ()).map_err(|error| error.kind);
        subject.same("delete of what is not empty", kind, Err(Kind::Conflict));
        subject.same("get", subject.get("inner/a/b").await, Some("inner/a/b".into()));
    }
    subject.delete("inner/a/b").await;
    subject.delete("inner/a").await;
    subject.delete("inner").await;
}

async fn nil(subject: &Subject) {
    subject.checking("putting nil deletes");
    if !subject.abilities.nil_deletes {
        return;
    }
    subject.put_text("nil", "x").await;
    for _ in 0..2 {
        subject.same("put", subject.put("nil", Content::value(Value::Nil)).await, false);
        subject.same("get", subject.get("nil").await, None);
    }
    subject.same("delete", subject.delete("nil").await, false);
}

/// Text as the bytes that a store takes, in three chunks of which one is empty.
fn chunks(subject: &Subject, text: &str) -> Vec<Bytes> {
    let bytes = subject.bytes(&Value::from(text));
    let middle = bytes.len() / 2;
    vec![bytes.slice(..middle), Bytes::new(), bytes.slice(middle..)]
}

async fn streams(subject: &Subject) {
    subject.checking("a stream is put as a whole, or not at all when it fails");
    let text = "streamed ".repeat(30_000);
    let good = chunks(subject, &text).into_iter().map(Ok).collect();
    subject.same("put", subject.put("stream", streamed(good)).await, true);
    subject.is(subject.get("stream").await == Some(text.as_str().into()), "it came back changed");
    subject.put_text("stream", "old").await;
    for path in ["stream", "stream-new"] {
        let mut parts: Vec<_> = chunks(subject, &text).into_iter().map(Ok).collect();
        parts.push(Err(Error::new(Kind::Unavailable, "the stream broke")));
        let put = subject.store.put(&at(path), streamed(parts), &Context::default()).await;
        subject.is(put.is_err(), "a put of a stream that fails is answered well");
    }
    subject.same("get after that", subject.get("stream").await, Some("old".into()));
    subject.same("get of what was new", subject.get("stream-new").await, None);
    subject.clean(&["stream"]).await;
}

async fn cancelled(subject: &Subject) {
    subject.checking("a put that is given up happened as a whole or not at all");
    subject.put_text("cancel", "old").await;
    let context = Context::default();
    for work in [0, 1, 20] {
        let content = unending(chunks(subject, &"new ".repeat(50_000)));
        let mut put = subject.store.put(&at("cancel"), content, &context);
        subject.is(!turns(&mut put, work).await, "a put is done before its stream is");
        drop(put);
        subject.same("get", subject.get("cancel").await, Some("old".into()));
    }
    for work in 0..5 {
        if !subject.abilities.cancels_at_once {
            break;
        }
        let text = format!("new {work}");
        let content = Content::value(text.as_str().into());
        let before = subject.get("cancel").await;
        let mut put = subject.store.put(&at("cancel"), content, &context);
        turns(&mut put, work).await;
        drop(put);
        let found = subject.get("cancel").await;
        let whole = found == before || found == Some(text.into());
        subject.is(whole, &format!("get: found {found:?} after a put over {before:?}"));
        for _ in 0..50 {
            tokio::task::yield_now().await;
        }
        subject.same("get some turns later", subject.get("cancel").await, found);
    }
    subject.clean(&["cancel"]).await;
}

async fn overlapping(subject: &Subject) {
    subject.checking("verbs that overlap see one content or the other, never a mixture");
    let [left, right] = ["left ", "right "].map(|text| text.repeat(40_000));
    subject.put_text("overlap", &left).await;
    for _ in 0..5 {
        let put = |text: &str| {
            let content = streamed(chunks(subject, text).into_iter().map(Ok).collect());
            subject.put("overlap", content)
        };
        let reads = futures_util::future::join(subject.get("overlap"), subject.get("overlap"));
        let writes = futures_util::future::join(put(&left), put(&right));
        let ((first, second), _) = futures_util::future::join(reads, writes).await;
        for found in [first, second, subject.get("overlap").await] {
            let whole = [&left, &right].map(|text| Some(Value::from(text.as_str())));
            subject.is(whole.contains(&found), "a mixture was read");
        }
    }
    subject.clean(&["overlap"]).await;
}

async fn posts(subject: &Subject) {
    subject.checking("a post adds");
    let context = Context::default();
    let post = |value: Value| async {
        let posted = subject.store.post(&at("post"), Content::value(value), &context).await;
        subject.good("post", posted)
    };
    let expected = match subject.abilities.posting {
        Posting::Other => return,
        Posting::Lists => Value::List(vec![1.into(), "b".into()]),
        Posting::Appends => Value::from("1b"),
    };
    post(1.into()).await;
    post("b".into()).await;
    subject.same("get", subject.get("post").await, Some(subject.expected(&expected)));
    subject.clean(&["post"]).await;
}

async fn merges(subject: &Subject) {
    subject.checking("a merge changes the fields it names");
    if !subject.abilities.merge {
        return;
    }
    let record = |fields: &[(&str, i64)]| {
        Value::record(fields.iter().map(|(name, value)| (*name, Value::Int(*value))))
    };
    subject.put("merge", Content::value(record(&[("a", 1), ("b", 2)]))).await;
    let fields = record(&[("b", 3), ("c", 4)]);
    let content = match subject.abilities.keeps {
        Keeps::Json => Content::bytes(subject.bytes(&fields)),
        _ => Content::value(fields),
    };
    let merged = subject.store.merge(&at("merge"), content, &Context::default()).await;
    subject.good("merge", merged);
    let expected = record(&[("a", 1), ("b", 3), ("c", 4)]);
    subject.same("get", subject.get("merge").await, Some(expected));
    subject.clean(&["merge"]).await;
}
