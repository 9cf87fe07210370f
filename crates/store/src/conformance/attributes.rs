//! Attributes stay with the content, are replaced alone, and go with it to another place.

use super::Keeps;
use super::subject::{Subject, at, streamed};
use crate::{
    Attributes, Body, Condition, Conditions, Content, Context, EntityTag, Kind, Metadata, Result,
};
use bytes::Bytes;
use std::rc::Rc;

/// Attributes with the characters that headers of HTTP carry.
const PLAIN: [(&str, &str); 3] =
    [("x-amz-meta-colour", "blue"), ("cache-control", "max-age=60"), ("x-amz-meta-empty", "")];

const OTHER: [(&str, &str); 1] = [("x-amz-meta-colour", "red")];

pub(super) async fn check(subject: &Subject) {
    refusals(subject).await;
    if subject.abilities.attributes {
        kept(subject).await;
        streams(subject).await;
        annotated(subject).await;
    }
    if subject.abilities.relocation {
        moved(subject).await;
        moved_under_a_condition(subject).await;
    }
}

fn attributes(pairs: &[(&str, &str)]) -> Attributes {
    let pairs = pairs.iter().map(|(name, value)| ((*name).to_string(), (*value).to_string()));
    let metadata: Metadata = pairs.collect();
    Attributes { media_type: Some("image/x-test".into()), metadata: Some(Rc::new(metadata)) }
}

impl Subject {
    async fn attributes(&self, path: &str) -> Attributes {
        match self.content(path).await {
            Some(content) => content.attributes(),
            None => self.fail(&format!("{path} is missing")),
        }
    }

    /// Text as content, in the form that the store takes, with attributes.
    fn described(&self, text: &str, attributes: Attributes) -> Content {
        let content = match self.abilities.keeps {
            Keeps::Json => Content::bytes(self.bytes(&text.into())),
            _ => Content::text(text),
        };
        content.with_attributes(attributes)
    }

    async fn check_attributes(&self, path: &str, expected: &Attributes) {
        let found = self.attributes(path).await;
        self.same(&format!("the metadata of {path}"), found.metadata, expected.metadata.clone());
        if self.abilities.media_types {
            let (own, expected) = (found.media_type, expected.media_type.clone());
            self.same(&format!("the media type of {path}"), own, expected);
        }
    }

    async fn annotate(&self, path: &str, attributes: &Attributes) -> Result<()> {
        let context = Context::default();
        self.store.annotate(&at(path), attributes.clone(), &context).await.map(drop)
    }
}

/// A store that cannot do it refuses before it changes anything.
async fn refusals(subject: &Subject) {
    subject.checking("what is not kept is refused");
    let path = "attributes/none";
    let keeps = subject.store.keeps_metadata(&at(path));
    subject.same("it says that it keeps attributes", keeps, subject.abilities.attributes);
    let annotated = subject.annotate(path, &attributes(&PLAIN)).await;
    let expected = if keeps { Kind::NotFound } else { Kind::NotAllowed };
    subject.same("attributes of nothing", annotated.err().map(|error| error.kind), Some(expected));
    let moved = subject.store.relocate(&at(path), &at("attributes/moved"), &Context::default());
    let moved = moved.await.map_err(|error| error.kind);
    let expected = if subject.abilities.relocation { Ok(false) } else { Err(Kind::NotAllowed) };
    subject.same("a move of nothing", moved, expected);
}

async fn kept(subject: &Subject) {
    subject.checking("a put keeps attributes");
    let path = "attributes/kept";
    let expected = attributes(&PLAIN);
    subject.put(path, subject.described("one", expected.clone())).await;
    subject.check_attributes(path, &expected).await;
    // Without a body, for a reader who has the content, too.
    let tag = subject.content(path).await.and_then(|content| content.entity_tag);
    let context = Context { known: tag, attributes: true, ..Context::default() };
    let known = subject.store.get(&at(path), &context).await;
    let known = subject.good("get with a known tag", known).map(|content| content.metadata);
    subject.same("the metadata with a known tag", known, Some(expected.metadata.clone()));
    // Another put replaces all of them.
    let other = attributes(&OTHER);
    subject.put(path, subject.described("two", other.clone())).await;
    subject.check_attributes(path, &other).await;
    subject.put_text(path, "three").await;
    subject.same("metadata after a plain put", subject.attributes(path).await.metadata, None);
    // What was deleted leaves nothing to what follows.
    subject.put(path, subject.described("four", expected)).await;
    subject.delete(path).await;
    subject.put_text(path, "four").await;
    subject.same("metadata after a delete", subject.attributes(path).await.metadata, None);
    large(subject, path).await;
    subject.clean(&[path]).await;
}

/// Attributes of almost 2 KB, which is what S3 takes.
async fn large(subject: &Subject, path: &str) {
    let pairs: Vec<(String, String)> =
        (0..15).map(|at| (format!("x-amz-meta-{at}"), "v".repeat(110))).collect();
    let pairs: Vec<(&str, &str)> = pairs.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    let expected = attributes(&pairs);
    subject.put(path, subject.described("large", expected.clone())).await;
    let found = subject.attributes(path).await;
    subject.same("large metadata", found.metadata, expected.metadata);
}

async fn streams(subject: &Subject) {
    subject.checking("a put of a stream keeps attributes");
    let (path, expected) = ("attributes/streamed", attributes(&PLAIN));
    let bytes = subject.bytes(&"x".repeat(280_000).into());
    let chunks = || bytes.chunks(70_000).map(|chunk| Ok(Bytes::copy_from_slice(chunk))).collect();
    subject.put(path, streamed(chunks()).with_attributes(expected.clone())).await;
    subject.check_attributes(path, &expected).await;
    // A stream that fails changes neither content nor attributes.
    let mut failing: Vec<Result<Bytes>> = chunks();
    failing.push(Err(crate::Error::new(Kind::Failed, "broken off")));
    let content = streamed(failing).with_attributes(attributes(&OTHER));
    let put = subject.store.put(&at(path), content, &Context::default()).await;
    subject.is(put.is_err(), "a stream that fails is put");
    subject.check_attributes(path, &expected).await;
    subject.clean(&[path]).await;
}

async fn annotated(subject: &Subject) {
    subject.checking("attributes are replaced and the content stays");
    let (path, first, second) = ("attributes/annotated", attributes(&PLAIN), attributes(&OTHER));
    subject.put_text(path, "content").await;
    for attributes in [&first, &second, &first] {
        subject.good("annotate", subject.annotate(path, attributes).await);
        subject.check_attributes(path, attributes).await;
        let expected = subject.expected(&"content".into());
        subject.same("the content", subject.get(path).await, Some(expected));
    }
    let none = Attributes { media_type: first.media_type.clone(), metadata: None };
    subject.good("annotate with nothing", subject.annotate(path, &none).await);
    subject.same("no metadata", subject.attributes(path).await.metadata, None);
    if subject.abilities.conditions == Conditions::Tags {
        subject.good("annotate", subject.annotate(path, &first).await);
        let only_if = Some(Condition::Tag(EntityTag::strong("no-such-tag")));
        let context = Context { only_if, ..Context::default() };
        let annotated = subject.store.annotate(&at(path), second, &context).await;
        let kind = annotated.err().map(|error| error.kind);
        subject.same("under a condition that fails", kind, Some(Kind::Precondition));
        subject.check_attributes(path, &first).await;
    }
    subject.clean(&[path]).await;
}

async fn moved(subject: &Subject) {
    subject.checking("content is moved with its attributes");
    let (from, to) = ("attributes/from", "attributes/made/to");
    let expected = attributes(&PLAIN);
    subject.put(from, subject.described("moved", expected.clone())).await;
    for _ in 0..2 {
        let moved = subject.store.relocate(&at(from), &at(to), &Context::default()).await;
        subject.is(subject.good("relocate", moved), "there was nothing to move");
        subject.same("what was moved", subject.get(from).await, None);
        let content = subject.expected(&"moved".into());
        subject.same("what was moved to", subject.get(to).await, Some(content));
        if subject.abilities.attributes {
            subject.check_attributes(to, &expected).await;
        }
        // Once more, onto existing content.
        subject.put(from, subject.described("moved", expected.clone())).await;
    }
    let moved = subject.store.relocate(&at(to), &at(to), &Context::default()).await;
    subject.is(subject.good("relocate onto itself", moved), "there was nothing to move");
    let empty = subject.content(to).await.is_none_or(|content| matches!(content.body, Body::Empty));
    subject.is(!empty, "a move onto itself takes the content away");
    subject.clean(&["attributes/from", "attributes/made", "attributes/made/to"]).await;
}

async fn moved_under_a_condition(subject: &Subject) {
    if subject.abilities.conditions == Conditions::None {
        return;
    }
    subject.checking("a move under a condition on its target");
    let (from, to) = ("attributes/source", "attributes/target");
    subject.put_text(from, "source").await;
    subject.put_text(to, "target").await;
    let context = Context { only_if: Some(Condition::Absent), ..Context::default() };
    let moved = subject.store.relocate(&at(from), &at(to), &context).await;
    let kind = moved.err().map(|error| error.kind);
    subject.same("onto what is there", kind, Some(Kind::Precondition));
    let expected = subject.expected(&"target".into());
    subject.same("the target", subject.get(to).await, Some(expected));
    subject.delete(to).await;
    let moved = subject.store.relocate(&at(from), &at(to), &context).await;
    subject.is(subject.good("onto nothing", moved), "there was nothing to move");
    subject.same("the source", subject.get(from).await, None);
    subject.clean(&[from, to]).await;
}
