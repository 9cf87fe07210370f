//! An answer as it is kept: what the source answered, and what its program set of the response.

use crate::{
    Answer, Body, Content, Context, Effect, EntityTag, Error, Form, Kind, Outcome,
    RecordingExchange, Reference, Result, Store, Value, Verb, json,
};
use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;

/// The longest answer that is kept, in bytes.
const ANSWER: usize = 1 << 20;

/// Headers that are not kept: what lets a client in belongs to one answer.
const SECRET: &str = "set-cookie";

/// An answer, as a record.
pub(super) struct KeptAnswer(Value);

/// A digest of several texts, each with its length.
pub(super) fn digest<'a>(texts: impl Iterator<Item = &'a [u8]>) -> String {
    let mut digest = Sha256::new();
    for text in texts {
        digest.update((text.len() as u64).to_be_bytes());
        digest.update(text);
    }
    BASE64_URL_SAFE_NO_PAD.encode(digest.finalize())
}

/// A digest of headers of the request, of which some may be secrets.
fn digest_of_headers<'a>(names: impl Iterator<Item = &'a str>, context: &Context) -> String {
    let header = |name| context.exchange.as_ref().and_then(|exchange| exchange.header(name));
    let values: Vec<String> = names.map(|name| header(name).unwrap_or_default()).collect();
    digest(values.iter().map(String::as_bytes))
}

impl KeptAnswer {
    /// The answer to a request, with what was read and asked of it.
    pub(super) async fn of(
        outcome: Outcome,
        recording: Option<&RecordingExchange>,
        context: &Context,
    ) -> Result<KeptAnswer> {
        let mut kept = Value::record([("created", Value::Bool(outcome.is_created()))]);
        if let Some(reference) = &outcome.reference {
            kept.set("reference", reference.to_string().into());
        }
        if let Some(tag) = &outcome.entity_tag {
            kept.set(if tag.weak { "weak" } else { "tag" }, tag.text.to_string().into());
        }
        if let Some(content) = outcome.content {
            let kind = content.media_type.as_deref().map(String::from);
            let (name, body) = match content.body {
                Body::Empty => ("empty", Value::Nil),
                Body::Text(text) => ("text", text.to_string().into()),
                Body::Value(value) => ("value", value),
                Body::Lazy(lazy) => {
                    let own = lazy.media_type(Form::Json);
                    let kind = kind.clone().or(own.map(|own| own.into_owned()));
                    kept.set("media", kind.unwrap_or_else(|| "application/json".into()).into());
                    ("bytes", BASE64_STANDARD.encode(lazy.encode(Form::Json).await?).into())
                }
                body @ (Body::Bytes(_) | Body::Stream(..)) => {
                    let bytes = Content { body, ..Content::default() }.read(ANSWER).await?;
                    ("bytes", BASE64_STANDARD.encode(bytes).into())
                }
            };
            if let (Some(kind), None) = (kind, kept.get("media")) {
                kept.set("media", kind.into());
            }
            kept.set(name, body);
        }
        let set = context.exchange.as_ref().map(|exchange| exchange.overrides());
        let set = set.unwrap_or_default().into_iter().filter(|(name, _)| name != SECRET);
        let set = set.map(|(name, value)| Value::List(vec![name.into(), value.into()]));
        kept.set("set", Value::List(set.collect()));
        let read = recording.map(RecordingExchange::headers_read).unwrap_or_default();
        let users = recording.map(RecordingExchange::users).unwrap_or_default();
        let users = users.iter().map(|proof| digest([proof.as_bytes()].into_iter()).into());
        kept.set("users", Value::List(users.collect()));
        let guards = recording.map_or(0, RecordingExchange::guards);
        kept.set("guards", Value::Int(guards.into()));
        let values = digest_of_headers(read.iter().map(String::as_str), context);
        kept.set("read", Value::List(read.into_iter().map(Value::from).collect()));
        kept.set("values", values.into());
        Ok(KeptAnswer(kept))
    }

    /// Whether the headers that were read have the same values in the request of a context.
    pub(super) fn is_for(&self, context: &Context) -> bool {
        let read = self.0.get("read").and_then(Value::as_list).unwrap_or_default();
        let values = digest_of_headers(read.iter().filter_map(Value::as_str), context);
        self.0.get("values").and_then(Value::as_str) == Some(&values)
    }

    /// How many guards of handlers it has passed.
    pub(super) fn guards(&self) -> u32 {
        let guards = self.0.get("guards").and_then(Value::as_i64).unwrap_or_default();
        u32::try_from(guards).unwrap_or_default()
    }

    /// Whether the users that were asked for are among these, which a request proves now.
    pub(super) fn is_of_users(&self, proofs: &BTreeSet<String>) -> bool {
        let known: BTreeSet<String> =
            proofs.iter().map(|proof| digest([proof.as_bytes()].into_iter())).collect();
        let users = self.0.get("users").and_then(Value::as_list).unwrap_or_default();
        users.iter().all(|user| user.as_str().is_some_and(|user| known.contains(user)))
    }

    pub(super) fn write(&self) -> Result<String> {
        let mut text = Vec::new();
        json::write(&self.0, &mut text);
        if text.len() > ANSWER {
            let message =
                format!("an answer of more than {ANSWER} bytes is not kept for an Idempotency-Key");
            return Err(Error::new(Kind::TooLarge, message));
        }
        String::from_utf8(text).map_err(|_| Error::new(Kind::Failed, "an answer is no text"))
    }

    pub(super) fn read(text: &str) -> Result<KeptAnswer> {
        json::parse(text.as_bytes()).map(KeptAnswer)
    }

    /// The outcome again. What the program set of the response is set for the exchange of the context.
    pub(super) fn outcome(self, context: &Context) -> Result<Outcome> {
        let text = |name: &str| self.0.get(name).and_then(Value::as_str);
        let body = match (text("text"), text("bytes"), self.0.get("value")) {
            (Some(text), _, _) => Some(Body::Text(text.to_string().into())),
            (_, Some(bytes), _) => {
                let bytes = BASE64_STANDARD.decode(bytes);
                let broken = |_| Error::new(Kind::Failed, "a kept answer cannot be read");
                Some(Body::Bytes(bytes.map_err(broken)?.into()))
            }
            (_, _, Some(value)) => Some(Body::Value(value.clone())),
            _ => self.0.get("empty").map(|_| Body::Empty),
        };
        let media_type = text("media").map(|kind| kind.to_string().into());
        let tag = |name: &str, weak| {
            text(name).map(|text| EntityTag { text: text.to_string().into(), weak })
        };
        if let Some(exchange) = &context.exchange {
            for pair in self.0.get("set").and_then(Value::as_list).unwrap_or_default() {
                let Some([name, value]) = pair.as_list() else { continue };
                let (name, value) =
                    (name.as_str().unwrap_or_default(), value.as_str().unwrap_or_default());
                match (name, value.parse()) {
                    ("status", Ok(status)) => exchange.set_status(status),
                    _ => exchange.set_header(name, value)?,
                }
            }
        }
        let created = self.0.get("created").and_then(Value::as_bool) == Some(true);
        Ok(Outcome {
            effect: if created { Effect::Created } else { Effect::Changed },
            reference: text("reference").map(Reference::parse),
            entity_tag: tag("weak", true).or(tag("tag", false)),
            content: body.map(|body| Content { body, media_type, ..Content::default() }),
        })
    }
}

/// Whether the whole transaction is to be tried again.
pub(super) fn is_again(error: &Error) -> bool {
    error.temporary && error.kind == Kind::Conflict
}

/// A post or a merge.
pub(super) fn forward(
    store: &dyn Store,
    verb: Verb,
    reference: &Reference,
    content: Content,
    context: &Context,
) -> Answer<Outcome> {
    match verb {
        Verb::Merge => store.merge(reference, content, context),
        _ => store.post(reference, content, context),
    }
}
