//! Checks of writing under conditions.

use super::Keeps;
use super::subject::{Subject, at};
use crate::{Condition, Conditions, Content, Context, EntityTag, Kind, Result, Value};
use futures_util::future::join_all;

/// Clients that write at the same time.
const CLIENTS: usize = 8;

/// What each of them adds to a counter.
const ADDED: usize = 3;

pub(super) async fn check(subject: &Subject) {
    subject.checking("the store says which conditions it keeps");
    let kept = subject.store.conditions(&at("condition"));
    subject.same("conditions", kept, subject.abilities.conditions);
    refused(subject, kept).await;
    if kept >= Conditions::Presence {
        presence(subject).await;
        one_creates(subject).await;
    }
    if kept >= Conditions::Tags {
        tags(subject).await;
        nothing_is_lost(subject).await;
    }
}

async fn put(subject: &Subject, text: &str, condition: Condition) -> Result<bool> {
    let context = Context { only_if: Some(condition), ..Context::default() };
    subject
        .store
        .put(&at("condition"), Content::value(text.into()), &context)
        .await
        .map(|it| it.is_created())
}

async fn delete(subject: &Subject, condition: Condition) -> Result<bool> {
    let context = Context { only_if: Some(condition), ..Context::default() };
    subject.store.delete(&at("condition"), &context).await.map(|it| it.is_something())
}

fn failed(subject: &Subject, what: &str, result: Result<bool>) {
    let kind = result.map_err(|error| error.kind);
    subject.same(what, kind, Err(Kind::Precondition));
}

/// A condition that is not kept is refused and never ignored.
async fn refused(subject: &Subject, kept: Conditions) {
    subject.checking("a condition that is not kept is refused, and nothing is written");
    subject.put_text("condition", "old").await;
    let all = [
        (Conditions::Presence, Condition::Present),
        (Conditions::Tags, Condition::Tag(EntityTag::strong("none"))),
    ];
    for (needed, condition) in all {
        if kept >= needed {
            continue;
        }
        let what = format!("{condition:?}");
        let put = put(subject, "new", condition.clone()).await;
        subject.same(&what, put.map_err(|error| error.kind), Err(Kind::NotAllowed));
        let deleted = delete(subject, condition).await;
        subject.same(&what, deleted.map_err(|error| error.kind), Err(Kind::NotAllowed));
        subject.same("get", subject.get("condition").await, Some("old".into()));
    }
    subject.clean(&["condition"]).await;
}

async fn presence(subject: &Subject) {
    subject.checking("writing only where something is, or nothing is");
    failed(subject, "replacing nothing", put(subject, "a", Condition::Present).await);
    failed(subject, "deleting nothing", delete(subject, Condition::Present).await);
    subject.same("get", subject.get("condition").await, None);
    let created = put(subject, "b", Condition::Absent).await;
    subject.same("created", subject.good("put where nothing is", created), true);
    failed(subject, "creating it again", put(subject, "c", Condition::Absent).await);
    failed(subject, "deleting it as absent", delete(subject, Condition::Absent).await);
    subject.same("get", subject.get("condition").await, Some("b".into()));
    let created = put(subject, "d", Condition::Present).await;
    subject.same("created", subject.good("put where something is", created), false);
    subject.same("get", subject.get("condition").await, Some("d".into()));
    let deleted = delete(subject, Condition::Present).await;
    subject.same("deleted", subject.good("delete what is there", deleted), true);
    let deleted = delete(subject, Condition::Absent).await;
    subject.same("deleted", subject.good("delete what is not there", deleted), false);
    subject.clean(&["condition"]).await;
}

/// The tag of the current content.
async fn tag(subject: &Subject) -> EntityTag {
    match subject.content("condition").await.and_then(|content| content.entity_tag) {
        Some(tag) => tag,
        None => subject.fail("there is no entity tag"),
    }
}

async fn tags(subject: &Subject) {
    subject.checking("writing only what is still as it was");
    let unknown = Condition::Tag(EntityTag::strong("none"));
    failed(subject, "replacing nothing", put(subject, "a", unknown.clone()).await);
    subject.put_text("condition", "one").await;
    let first = tag(subject).await;
    failed(subject, "an unknown tag", put(subject, "a", unknown.clone()).await);
    let weak = Condition::Tag(EntityTag { weak: true, ..first.clone() });
    failed(subject, "a weak tag", put(subject, "a", weak).await);
    let put_it = put(subject, "other", Condition::Tag(first.clone())).await;
    subject.same("created", subject.good("put over the tag", put_it), false);
    let second = tag(subject).await;
    failed(subject, "an old tag", put(subject, "a", Condition::Tag(first.clone())).await);
    failed(subject, "deleting by an old tag", delete(subject, Condition::Tag(first)).await);
    subject.same("get", subject.get("condition").await, Some("other".into()));
    if subject.abilities.merge {
        merges(subject).await;
    }
    let second = if subject.abilities.merge { tag(subject).await } else { second };
    let deleted = delete(subject, Condition::Tag(second)).await;
    subject.same("deleted", subject.good("delete by its tag", deleted), true);
    subject.clean(&["condition"]).await;
}

async fn merges(subject: &Subject) {
    let record = |number: i64| {
        let record = Value::record([("a", Value::Int(number))]);
        match subject.abilities.keeps {
            Keeps::Json => Content::bytes(subject.bytes(&record)),
            _ => Content::value(record),
        }
    };
    subject.put("condition", record(1)).await;
    let only_if = Some(Condition::Tag(tag(subject).await));
    let context = Context { only_if, ..Context::default() };
    let merged = subject.store.merge(&at("condition"), record(2), &context).await;
    subject.good("merge over its tag", merged);
    let merged = subject.store.merge(&at("condition"), record(3), &context).await;
    let kind = merged.map(|_| ()).map_err(|error| error.kind);
    subject.same("merge over an old tag", kind, Err(Kind::Precondition));
}

async fn one_creates(subject: &Subject) {
    subject.checking("of many who create the same, one succeeds");
    let texts: Vec<String> = (0..CLIENTS).map(|client| format!("client {client}")).collect();
    let put = join_all(texts.iter().map(|text| put(subject, text, Condition::Absent))).await;
    let mut winners = Vec::new();
    for (client, put) in put.into_iter().enumerate() {
        match put {
            Ok(true) => winners.push(texts[client].clone()),
            other => failed(subject, "creating what another created", other),
        }
    }
    subject.same("those who created", winners.len(), 1);
    let winner = winners.pop().map(Value::from);
    subject.same("get", subject.get("condition").await, winner);
    subject.clean(&["condition"]).await;
}

/// A counter under optimistic locking: reads, then writes if it is unchanged.
async fn nothing_is_lost(subject: &Subject) {
    subject.checking("what many add under the condition that nobody else wrote is all there");
    subject.put_text("condition", "0").await;
    let client = || async {
        for _ in 0..ADDED {
            loop {
                let tag = tag(subject).await;
                let now = subject.get("condition").await;
                let number = match now.as_ref().and_then(Value::as_str) {
                    Some(text) => text.parse::<usize>().ok(),
                    None => None,
                };
                let Some(number) = number else { subject.fail(&format!("it became {now:?}")) };
                let next = (number + 1).to_string();
                match put(subject, &next, Condition::Tag(tag)).await {
                    Ok(_) => break,
                    Err(error) if error.kind == Kind::Precondition => {}
                    Err(error) => subject.fail(&format!("put: {error}")),
                }
            }
        }
    };
    join_all((0..CLIENTS).map(|_| client())).await;
    let total = (CLIENTS * ADDED).to_string();
    subject.same("get", subject.get("condition").await, Some(total.as_str().into()));
    subject.clean(&["condition"]).await;
}
