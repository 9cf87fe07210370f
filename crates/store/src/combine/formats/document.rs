//! Changes of JSON documents in stores that keep bytes: a document is read, changed and put back if it is
//! still the same.

use crate::{
    Body, Condition, Conditions, Content, Context, Error, Form, Kind, Outcome, Reference, Result,
    Store, Value, Verb, json,
};
use bytes::Bytes;
use std::rc::Rc;

/// How often a change is tried when others change the same document at the same time.
const ATTEMPTS: usize = 100;

/// How a document changes.
pub(super) enum DocumentChange {
    /// A list gets a further element, a text more text.
    Append(Value),
    /// Fields of a record get new values; anything else replaces the document, as in [`crate::Memory`].
    Merge(Value),
}

/// Whether a verb on the source would break a document, or does not exist there. Where bytes are
/// appended, content is no document: they are no element of a list, and its fields are unknown.
pub(super) fn is_needed(source: &dyn Store, verb: Verb, reference: &Reference) -> bool {
    let verbs = source.verbs(reference);
    verbs.has(Verb::Put) && (source.appends(reference) || !verbs.has(verb))
}

/// Changes a document.
///
/// # Errors
/// [`Kind::NotAllowed`] where the store has no conditional writes: others' changes would be lost.
pub(super) async fn change(
    source: Rc<dyn Store>,
    reference: &Reference,
    change: DocumentChange,
    limit: usize,
    context: &Context,
) -> Result<Outcome> {
    if source.conditions(reference) != Conditions::Tags {
        let message = "a document here cannot be changed in part: its store has no entity tags; \
                       put replaces it";
        return Err(Error::new(Kind::NotAllowed, message));
    }
    let reading = Context { known: None, only_if: None, attributes: true, ..context.clone() };
    for _ in 0..ATTEMPTS {
        let found = source.get(reference, &reading).await?;
        let tag = found.as_ref().and_then(|content| content.entity_tag.clone());
        if let Some(condition) = &context.only_if {
            condition.check(found.is_some().then_some(tag.as_ref()))?;
        }
        let only_if = match (&found, tag) {
            (None, _) => Condition::Absent,
            (Some(_), Some(tag)) => Condition::Tag(tag),
            // Written between two looks.
            (Some(_), None) => continue,
        };
        let media_type = found.as_ref().and_then(|content| content.media_type.clone());
        let metadata = found.as_ref().and_then(|content| content.metadata.clone());
        let before = match found {
            Some(content) => Some(json_of(content, limit).await?),
            None => None,
        };
        let bytes = changed(before, &change, limit)?;
        let content = Content { media_type, metadata, ..Content::bytes(bytes) };
        let writing = Context { known: None, only_if: Some(only_if), ..context.clone() };
        match source.put(reference, content, &writing).await {
            Err(error) if error.kind == Kind::Precondition => {}
            done => return done,
        }
    }
    let message = format!("others changed it {ATTEMPTS} times in a row meanwhile");
    Err(Error::new(Kind::Conflict, message).with_temporary(true))
}

/// The JSON text of a document: kept as such, or as a value.
async fn json_of(content: Content, limit: usize) -> Result<Bytes> {
    match content.body {
        Body::Value(_) | Body::Lazy(_) => content.encode(Form::Json).await,
        _ => content.read(limit).await,
    }
}

fn changed(before: Option<Bytes>, change: &DocumentChange, limit: usize) -> Result<Bytes> {
    let after: Bytes = match (before, change) {
        (None, DocumentChange::Append(value)) => {
            Value::List(vec![value.clone()]).encode(Form::Json).into()
        }
        (Some(before), DocumentChange::Append(value)) => match json::parse(&before)? {
            Value::List(mut list) => {
                list.push(value.clone());
                Value::List(list).encode(Form::Json).into()
            }
            Value::Text(text) => {
                let more = String::from_utf8_lossy(&value.encode(Form::Text)).into_owned();
                Value::Text(text + &more).encode(Form::Json).into()
            }
            _ => {
                let message = "what is there is neither a list nor text; put replaces it";
                return Err(Error::new(Kind::Conflict, message));
            }
        },
        (None, DocumentChange::Merge(_)) => {
            let message = "there is nothing to merge into; put creates it";
            return Err(Error::new(Kind::NotFound, message));
        }
        (Some(before), DocumentChange::Merge(part)) => match (json::parse(&before)?, part) {
            (mut record @ Value::Record(_), Value::Record(fields)) => {
                for (name, value) in fields {
                    record.set(name.as_str(), value.clone());
                }
                record.encode(Form::Json).into()
            }
            (_, part) => part.encode(Form::Json).into(),
        },
    };
    if after.len() > limit {
        let message = format!("the document would have more than {limit} bytes");
        return Err(Error::new(Kind::TooLarge, message));
    }
    Ok(after)
}
