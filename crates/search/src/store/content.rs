//! Answers and documents as content: JSON text, parsed on demand.

use bytes::Bytes;
use futures_util::StreamExt;
use runnel_store::{Answer, Changes, Content, EntityTag, Form, Lazy, Reference, json as plain};
use std::any::Any;
use std::borrow::Cow;
use std::hash::{DefaultHasher, Hasher};
use std::rc::Rc;

const JSON: &str = "application/json";

/// JSON text, for every requested form.
struct JsonText(Bytes);

impl Lazy for JsonText {
    fn encode(&self, _: Form) -> Answer<Bytes> {
        Answer::ok(self.0.clone())
    }

    fn media_type(&self, _: Form) -> Option<Cow<'static, str>> {
        Some(Cow::Borrowed(JSON))
    }

    fn is_settled(&self) -> bool {
        true
    }

    fn value(&self) -> Answer<runnel_store::Value> {
        plain::parse(&self.0).into()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// JSON text as content.
pub(super) fn json(text: Bytes) -> Content {
    Content::lazy(Rc::new(JsonText(text))).with_media_type(JSON)
}

/// A document as content.
pub(super) fn document(text: Bytes, tag: EntityTag) -> Content {
    Content { entity_tag: Some(tag), ..json(text) }
}

/// The entity tag of a document: two 64-bit hashes, to make collisions unlikely.
pub(super) fn tag_of(document: &[u8]) -> EntityTag {
    let half = |seed: u8| {
        let mut hasher = DefaultHasher::new();
        hasher.write_u8(seed);
        hasher.write(document);
        hasher.finish()
    };
    EntityTag::strong(format!("{:016x}{:016x}", half(0), half(1)))
}

/// Prefixes changes of an index with its name.
pub(super) fn below(changes: Changes, name: String) -> Changes {
    Box::pin(changes.map(move |change| {
        change.map(|change| runnel_store::Change {
            reference: Reference::from_path(name.clone()).join(change.reference.path()),
            ..change
        })
    }))
}
