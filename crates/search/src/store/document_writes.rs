//! Writes of single documents: put, merge, delete.

use super::content::tag_of;
use super::{SearchMember, is_nil};
use crate::collection::id::Id;
use crate::collection::pending_write::PendingWrite;
use crate::limits::MAX_RECORD_BYTES;
use bytes::Bytes;
use runnel_store::{
    Answer, Body, Condition, Content, Context, Error, Form, Kind, Result, Value, json,
};

/// Puts a document.
pub(super) fn put(
    member: SearchMember,
    id: Id,
    content: Content,
    context: &Context,
) -> Answer<bool> {
    if is_nil(&content) {
        // The document does not exist afterwards, so nothing was created.
        return delete(&member, &id, context).map(|_| false);
    }
    let only_if = context.only_if.clone();
    text_of(content).and_then(move |text| {
        let written = (|| {
            let record = record_of(&text)?;
            member.keys.check_key(&record, &id)?;
            let _writing = member.shared.write_lock();
            member.shared.check_writable()?;
            let there = check_condition(&member, &id, only_if.as_ref())?;
            Ok((!there, member.collection().put(id.clone(), &text)?))
        })();
        answer_when_durable(written)
    })
}

/// Changes fields of a document.
pub(super) fn merge(
    member: SearchMember,
    id: Id,
    content: Content,
    context: &Context,
) -> Answer<()> {
    let only_if = context.only_if.clone();
    text_of(content).and_then(move |text| {
        let written = (|| {
            let changes = record_of(&text)?;
            member.keys.check_key(&changes, &id)?;
            let _writing = member.shared.write_lock();
            member.shared.check_writable()?;
            check_condition(&member, &id, only_if.as_ref())?;
            let document = member.collection().document(&id).ok_or_else(|| {
                match member.collection().contains(&id) {
                    true => not_stored_error(),
                    false => missing_error(),
                }
            })?;
            let mut record = record_of(&document)?;
            if let Value::Record(fields) = changes {
                for (name, value) in fields {
                    record.set(name, value);
                }
            }
            Ok(((), member.collection().put(id.clone(), &json::text(&record))?))
        })();
        answer_when_durable(written)
    })
}

/// Removes a document.
pub(super) fn delete(member: &SearchMember, id: &Id, context: &Context) -> Answer<bool> {
    let removed = (|| {
        let _writing = member.shared.write_lock();
        member.shared.check_writable()?;
        check_condition(member, id, context.only_if.as_ref())?;
        member.collection().remove(id)
    })();
    answer_when_durable(removed)
}

/// The error of a merge into a missing document.
pub(super) fn missing_error() -> Error {
    Error::new(Kind::NotFound, "there is no such document; put it first")
}

fn not_stored_error() -> Error {
    let message = "the index does not keep documents (`stored: false`); put the whole document";
    Error::new(Kind::Conflict, message)
}

/// Checks the condition of a write and returns whether the document exists.
fn check_condition(member: &SearchMember, id: &Id, only_if: Option<&Condition>) -> Result<bool> {
    let there = member.collection().contains(id);
    if let Some(condition) = only_if {
        let tag = member.collection().document(id).map(|document| tag_of(&document));
        condition.check(there.then_some(tag.as_ref()))?;
    }
    Ok(there)
}

/// Answers once a write is durable.
fn answer_when_durable<T: 'static>(written: Result<(T, PendingWrite)>) -> Answer<T> {
    match written {
        Ok((answer, pending)) => Answer::later(async move { pending.await.map(|()| answer) }),
        Err(error) => error.into(),
    }
}

/// Parses a record.
pub(super) fn record_of(text: &[u8]) -> Result<Value> {
    match json::parse(text)? {
        record @ Value::Record(_) => Ok(record),
        other => {
            let message = format!(
                "a document is a JSON object such as {{\"title\":\"Emma\"}}, not {}",
                other.kind_name()
            );
            Err(Error::new(Kind::Invalid, message))
        }
    }
}

/// Content as JSON text: encodes values and objects; text must be JSON.
pub(super) fn text_of(content: Content) -> Answer<Bytes> {
    match &content.body {
        Body::Value(_) | Body::Lazy(_) => content.encode(Form::Json),
        Body::Empty => {
            let message = "an empty document cannot be indexed; send a JSON object";
            Error::new(Kind::Invalid, message).into()
        }
        Body::Bytes(_) | Body::Text(_) | Body::Stream(..) => match content.media_type.as_deref() {
            Some(kind) if !is_json(kind) => unsupported(kind).into(),
            _ => content.read(MAX_RECORD_BYTES),
        },
    }
}

/// Whether a media type allows JSON. The defaults of browsers and tools count as no media type.
pub(super) fn is_json(media_type: &str) -> bool {
    let kind = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    matches!(
        kind.as_str(),
        "" | "application/json" | "text/json" | "application/octet-stream" | "text/plain"
    ) || kind.ends_with("+json")
}

pub(super) fn unsupported(media_type: &str) -> Error {
    let shown: String = media_type.chars().take(80).collect();
    let message = format!("an index takes documents as application/json, not {shown}");
    Error::new(Kind::Unsupported, message)
}
