//! Answers, changes and listings as several combinators need them.

use crate::{
    Answer, Body, Change, Changes, Content, Context, Entry, Error, Kind, Reference, Result, Store,
    Value, decode_segment,
};
use futures_util::{StreamExt, future, stream};
use std::collections::BTreeSet;
use std::rc::Rc;

/// Maps found content, unless it is the short answer to a caller who has it already.
pub(super) fn when_new(
    found: Answer<Option<Content>>,
    context: &Context,
    change: impl FnOnce(Content) -> Answer<Content> + 'static,
) -> Answer<Option<Content>> {
    // Remembered here, because the closure may outlive the context.
    let known = Context { known: context.known.clone(), ..Context::default() };
    found.and_then(move |found| match found {
        Some(content) if !known.knows(&content) => change(content).map(Some),
        found => Answer::ok(found),
    })
}

/// Changes with their references as the watcher names them. A change without a name above is
/// reported as lost at the watched reference.
pub(super) fn renamed(
    changes: Answer<Changes>,
    watched: &Reference,
    rename: impl Fn(&Reference) -> Option<Reference> + 'static,
) -> Answer<Changes> {
    let watched = watched.clone();
    changes.map(move |changes| -> Changes {
        Box::pin(changes.map(move |change| {
            let change = change?;
            Ok(match rename(&change.reference) {
                Some(reference) => Change { reference, ..change },
                None => Change::lost(watched.clone()),
            })
        }))
    })
}

/// Changes without their content, where it is not what a get here answers.
pub(super) fn without_content(changes: Answer<Changes>) -> Answer<Changes> {
    changes.map(|changes| -> Changes {
        Box::pin(changes.map(|change| Ok(Change { content: None, ..change? })))
    })
}

/// Changes that end with the first error, which is their last item.
pub(super) fn until_error(changes: Changes) -> Changes {
    let until_error = stream::unfold(Some(changes), |changes| async move {
        let mut changes = changes?;
        let change = changes.next().await?;
        let rest = change.is_ok().then_some(changes);
        Some((change, rest))
    });
    Box::pin(until_error.fuse())
}

/// A listing by name, each name once: a collection where it is one in any of the stores.
pub(super) fn in_order(mut entries: Vec<Entry>) -> Vec<Entry> {
    entries.sort_unstable();
    entries.dedup_by(|later, earlier| {
        let same = later.name == earlier.name;
        earlier.collection |= same && later.collection;
        same
    });
    entries
}

/// The approximate size of content in memory, in bytes.
pub(super) fn size(content: &Content) -> u64 {
    match &content.body {
        Body::Bytes(bytes) => bytes.len() as u64,
        Body::Text(text) => text.len() as u64,
        Body::Value(value) => size_of_value(value),
        Body::Empty | Body::Stream(..) | Body::Lazy(_) => 0,
    }
}

fn size_of_value(value: &Value) -> u64 {
    let inner: u64 = match value {
        Value::Text(text) => text.len() as u64,
        Value::Big(digits) => digits.len() as u64,
        Value::Bytes(bytes) => bytes.len() as u64,
        Value::List(elements) => elements.iter().map(size_of_value).sum(),
        Value::Record(fields) => {
            let fields = fields.iter();
            fields.map(|(name, value)| 24 + name.len() as u64 + size_of_value(value)).sum()
        }
        Value::Nil | Value::Bool(_) | Value::Int(_) | Value::Float(_) => 0,
    };
    inner + size_of::<Value>() as u64
}

/// Asks the stores in order while `goes_on` holds for their answers; the last answer counts. `None`
/// without a store.
pub(super) fn first_answer<T: 'static>(
    stores: &[Rc<dyn Store>],
    ask: impl Fn(&dyn Store) -> Answer<T> + 'static,
    goes_on: fn(&Result<T>) -> bool,
) -> Option<Answer<T>> {
    let (first, rest) = stores.split_first()?;
    match ask(&**first) {
        Answer::Ready(result) if goes_on(&result) && !rest.is_empty() => {
            first_answer(rest, ask, goes_on)
        }
        Answer::Ready(result) => Some(Answer::Ready(result)),
        Answer::Later(found) => {
            let rest = rest.to_vec();
            Some(Answer::later(async move {
                let mut found = found.await;
                for store in rest {
                    if !goes_on(&found) {
                        break;
                    }
                    found = ask(&*store).await;
                }
                found
            }))
        }
    }
}

/// The good answers of several verbs, which are under way at the same time, or the first error among
/// them. Ready when all are.
pub(super) fn all_answers<T: 'static>(answers: Vec<Answer<T>>) -> Answer<Vec<T>> {
    if answers.iter().all(|answer| matches!(answer, Answer::Ready(_))) {
        let ready = answers.into_iter().filter_map(|answer| match answer {
            Answer::Ready(result) => Some(result),
            Answer::Later(_) => None,
        });
        return ready.collect::<Result<Vec<T>>>().into();
    }
    Answer::later(future::try_join_all(answers))
}

/// Whether content is what a store answers for a collection itself, the list of its names: it is no
/// content that was put.
pub(super) async fn is_listing(
    store: &dyn Store,
    reference: &Reference,
    content: &Content,
) -> Result<bool> {
    let Body::Value(Value::List(names)) = &content.body else { return Ok(false) };
    if content.entity_tag.is_some() {
        return Ok(false);
    }
    let Some(entries) = store.list(reference, &Context::default()).await? else { return Ok(false) };
    // A store of one level names the whole paths below.
    let first = |name: &Value| Some(name.as_str()?.split('/').next()?.to_string());
    let names: Option<BTreeSet<String>> = names.iter().map(first).collect();
    let name = |entry: Entry| decode_segment(&entry.name).into_owned();
    Ok(names.is_some_and(|names| names == entries.into_iter().map(name).collect()))
}

/// Whether a store could not answer, rather than refused to.
pub(super) fn is_failure(error: &Error) -> bool {
    error.temporary || matches!(error.kind, Kind::Failed | Kind::InDoubt)
}
