//! Checks of reading and listing.

use super::Keeps;
use super::subject::{Subject, at};
use crate::{
    Body, ClientContent, Content, Context, Filter, Kind, Query, Sort, Value, Verb, run_query,
    runs_in_browsers,
};
use bytes::Bytes;

pub(super) async fn check(subject: &Subject) {
    missing(subject).await;
    values(subject).await;
    bytes(subject).await;
    slashes(subject).await;
    listing(subject).await;
    odd_names(subject).await;
    entity_tags(subject).await;
    media_types(subject).await;
    queries(subject).await;
    verbs(subject).await;
}

async fn missing(subject: &Subject) {
    subject.checking("what is missing is no error to get, list and delete");
    for path in ["missing", "missing/below"] {
        subject.same("get", subject.get(path).await, None);
        subject.same("delete", subject.delete(path).await, false);
        if subject.abilities.listing {
            subject.same("list", subject.list(path).await, None);
        }
    }
    if subject.abilities.merge {
        let fields = Content::value(Value::record([("a", Value::Int(1))]));
        let merged = subject.store.merge(&at("missing"), fields, &Context::default()).await;
        subject.same("merge", merged.map(|_| ()).map_err(|error| error.kind), Err(Kind::NotFound));
        subject.same("get after the merge", subject.get("missing").await, None);
    }
}

async fn values(subject: &Subject) {
    subject.checking("what was put is what the next get answers");
    let values = [
        Value::Bool(true),
        Value::Int(i64::MIN),
        Value::Big("123456789012345678901234567890".into()),
        Value::Float(0.1),
        Value::from("plain"),
        Value::from("\"quotes\", \\ and\r\nlines\u{0}\u{1f600}"),
        Value::List(vec![]),
        Value::record([("b", Value::Int(1)), ("a", Value::List(vec![Value::Nil, "x".into()]))]),
    ];
    for value in &values {
        subject.put("value", Content::value(value.clone())).await;
        let expected = Some(subject.expected(value));
        subject.same("get", subject.get("value").await, expected.clone());
        subject.same("get once more", subject.get("value").await, expected);
    }
    subject.clean(&["value"]).await;
}

async fn bytes(subject: &Subject) {
    subject.checking("bytes come back");
    let text = Value::from("x".repeat(subject.abilities.large));
    subject.put("bytes", Content::bytes(subject.bytes(&text))).await;
    subject.is(subject.get("bytes").await == Some(text), "large text came back changed");
    if subject.abilities.empty {
        subject.put("bytes", Content::default()).await;
        let content = subject.content("bytes").await;
        let Some(content) = content else { subject.fail("empty content counts as missing") };
        let read = content.read(usize::MAX).await;
        subject.same("empty content", subject.good("read", read), Bytes::new());
    }
    if subject.abilities.binary && subject.abilities.keeps != Keeps::Json {
        let all: Bytes = (0..=255).cycle().take(1000).collect();
        subject.put("bytes", Content::bytes(all.clone())).await;
        subject.same("get", subject.get("bytes").await, Some(Value::Bytes(all)));
    }
    subject.clean(&["bytes"]).await;
}

async fn slashes(subject: &Subject) {
    subject.checking("a slash at the beginning makes no difference");
    subject.put_text("/slash", "a").await;
    subject.same("get", subject.get("slash").await, Some("a".into()));
    subject.same("delete", subject.delete("slash").await, true);
    subject.same("get", subject.get("/slash").await, None);
}

async fn listing(subject: &Subject) {
    subject.checking("a listing has each child once, ordered bytewise");
    if !subject.abilities.listing {
        return;
    }
    let paths = ["list/b", "list/a-c", "list/a/y", "list/Z", "list/a/x", "list/a.b", "list/é"];
    for path in paths {
        subject.put_text(path, "x").await;
    }
    let names = |entries: Option<Vec<crate::Entry>>| {
        entries.map(|entries| {
            let show = |entry: crate::Entry| entry.name + if entry.collection { "/" } else { "" };
            entries.into_iter().map(show).collect::<Vec<_>>().join(" ")
        })
    };
    let listed = |path| async move { names(subject.list(path).await) };
    let expected = Some("Z a/ a-c a.b b é".to_string());
    subject.same("list", listed("list").await, expected);
    subject.same("list of a collection in it", listed("list/a").await, Some("x y".to_string()));
    subject.same("list of a leaf", listed("list/b").await, None);
    let root = subject.list("").await.unwrap_or_default();
    subject.is(root.iter().any(|entry| entry.name == "list"), "the root does not list it");
    subject.clean(&paths).await;
    if subject.abilities.collections_vanish {
        subject.same("list of what was deleted", listed("list").await, None);
    }
    subject.delete("list/a").await;
    subject.delete("list").await;
}

async fn odd_names(subject: &Subject) {
    subject.checking("names can have any characters but slashes");
    if !subject.abilities.odd_names {
        return;
    }
    let names = [
        ".hidden",
        "a b",
        "a%41",
        "a&b=c",
        "a+b",
        "a?b",
        "a\"b",
        "a#b",
        "a'b",
        "a;b",
        "a\\b",
        "a~",
        "日本",
        &"n".repeat(200),
    ];
    let paths: Vec<String> = names.iter().map(|name| format!("odd/{name}")).collect();
    for path in &paths {
        subject.put_text(path, path).await;
    }
    for path in &paths {
        let expected = subject.expected(&Value::from(path.as_str()));
        subject.same(&format!("get {path}"), subject.get(path).await, Some(expected));
    }
    let mut expected: Vec<String> = names.iter().map(|name| name.to_string()).collect();
    expected.sort();
    if subject.abilities.listing {
        let entries = subject.list("odd").await.unwrap_or_default();
        subject.same("list", entries.into_iter().map(|entry| entry.name).collect(), expected);
    }
    subject.clean(&paths.iter().map(String::as_str).collect::<Vec<_>>()).await;
    subject.delete("odd").await;
}

async fn entity_tags(subject: &Subject) {
    subject.checking("an entity tag stays with content and changes with it");
    if !subject.abilities.entity_tags {
        return;
    }
    subject.put_text("tag", "one").await;
    let tag = |content: Option<Content>| content.and_then(|content| content.entity_tag);
    let first = tag(subject.content("tag").await);
    subject.is(first.is_some(), "there is none");
    subject.same("second get", tag(subject.content("tag").await), first.clone());
    let known = Context { known: first.clone(), ..Context::default() };
    let again = subject.store.get(&at("tag"), &known).await;
    match subject.good("get by one who knows it", again) {
        Some(content) if known.knows(&content) => {}
        Some(content) => {
            subject.is(!matches!(content.body, Body::Empty), "the short answer has another tag");
        }
        None => subject.fail("it is missing to one who knows it"),
    }
    subject.put_text("tag", "other").await;
    subject.is(tag(subject.content("tag").await) != first, "it is the same for other content");
    let changed = subject.store.get(&at("tag"), &known).await;
    let changed = subject.good("get by one who knows the old one", changed);
    subject.is(
        changed.is_some_and(|content| !matches!(content.body, Body::Empty)),
        "one who knows the old content does not get the new",
    );
    subject.clean(&["tag"]).await;
}

async fn media_types(subject: &Subject) {
    subject.checking("the media type comes back");
    if !subject.abilities.media_types {
        return;
    }
    for media_type in ["text/markdown", "application/x-runnel"] {
        let content = Content::text("<p>").with_media_type(media_type);
        subject.put("media", content).await;
        let found = subject.content("media").await.and_then(|content| content.media_type);
        subject.same("media type", found.as_deref(), Some(media_type));
    }
    let context = Context { from_client: Some(ClientContent::default()), ..Context::default() };
    let content = Content::text("<script>").with_media_type("text/html");
    let put = subject.store.put(&at("media"), content, &context).await;
    subject.is(put.is_ok(), "a client puts a page");
    let found = subject.content("media").await.and_then(|content| content.media_type);
    let runs = found.as_deref().is_some_and(runs_in_browsers);
    subject.is(!runs, "a browser does not run what a client has put");
    subject.clean(&["media"]).await;
}

async fn queries(subject: &Subject) {
    subject.checking("a query runs over a list of records");
    if !subject.abilities.query {
        return;
    }
    let record =
        |id: i64| Value::record([("id", Value::Int(id)), ("odd", Value::Bool(id % 2 > 0))]);
    let records: Vec<Value> = (0..10).map(record).collect();
    subject.put("query", Content::value(Value::List(records.clone()))).await;
    let odd = Filter::Compare("odd".into(), crate::Comparison::Equal, Value::Bool(true));
    let sort = vec![Sort::by_field("id", true)];
    let some = Query { filter: Some(odd), sort, limit: Some(3), offset: 1, ..Query::default() };
    let count = Query { count: true, ..some.clone() };
    let fields = Query { fields: vec!["id".into()], ..some.clone() };
    for query in [Query::default(), some, count, fields] {
        let answer = subject.store.query(&at("query"), &query, &Context::default()).await;
        let found = subject.good("query", answer);
        let found = match subject.abilities.keeps {
            Keeps::Values => subject.good("value", found.into_value(usize::MAX).await),
            _ => {
                let bytes = subject.good("read", found.read(usize::MAX).await);
                subject.good("parse", crate::json::parse(&bytes))
            }
        };
        let expected = subject.good("run", run_query(records.clone(), &query));
        subject.same(&format!("{query:?}"), found, expected);
    }
    subject.clean(&["query"]).await;
}

async fn verbs(subject: &Subject) {
    subject.checking("verbs that are not claimed are not allowed, and the usual ones are claimed");
    let verbs = subject.store.verbs(&at("verbs"));
    for verb in [Verb::Get, Verb::Put, Verb::Delete, Verb::List] {
        let lacking = verb == Verb::List && !subject.abilities.listing;
        subject.is(verbs.has(verb) || lacking, verb.name());
    }
    let context = Context::default();
    let (reference, store) = (at("verbs"), &subject.store);
    let refused = |verb: Verb, result: crate::Result<()>| {
        let kind = result.map_err(|error| error.kind);
        subject.same(verb.name(), kind, Err(Kind::NotAllowed));
    };
    if !verbs.has(Verb::Post) {
        let posted = store.post(&reference, Content::text("1"), &context).await;
        refused(Verb::Post, posted.map(|_| ()));
    }
    if !verbs.has(Verb::Merge) {
        refused(
            Verb::Merge,
            store.merge(&reference, Content::text("1"), &context).await.map(|_| ()),
        );
    }
    if !verbs.has(Verb::Query) {
        let answer = store.query(&reference, &Query::default(), &context).await;
        refused(Verb::Query, answer.map(|_| ()));
    }
}
