//! What a verb carries: bytes, a value, a stream, or something lazy.

pub(crate) mod coding;
pub(crate) mod encode;
pub(crate) mod file_part;
pub(crate) mod form_data;
pub(crate) mod image;
pub(crate) mod media_type;
pub(crate) mod parts;
pub(crate) mod port;
pub(crate) mod seekable;
pub(crate) mod text;
pub(crate) mod zstd_file;

use crate::{Answer, ByteStream, FilePart, Seekable, Value};
use bytes::Bytes;
use std::any::Any;
use std::borrow::Cow;
use std::rc::Rc;
use std::time::SystemTime;

/// Content with its metadata.
#[derive(Default)]
pub struct Content {
    /// The content itself.
    pub body: Body,
    /// Its media type such as `application/json`, where the store knows it.
    pub media_type: Option<Cow<'static, str>>,
    /// Its validator, where the store has one.
    pub entity_tag: Option<EntityTag>,
    /// Attributes beside the media type, by name: what a client stored with the content, such as
    /// `x-amz-meta-…` of S3. A store that cannot keep them drops them.
    pub metadata: Option<Rc<Metadata>>,
    /// When it was last changed, where the store knows it.
    pub modified: Option<SystemTime>,
    /// The class of a record in this content, for stores that create objects.
    pub class: Option<Rc<str>>,
    /// The next part of a list that is answered in part: the query of its reference.
    pub next: Option<Rc<str>>,
}

/// Attributes of content by their names.
pub type Metadata = std::collections::BTreeMap<String, String>;

/// What describes content and can be replaced without it ([`crate::Store::annotate`]).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    /// The media type, as in [`Content::media_type`].
    pub media_type: Option<Cow<'static, str>>,
    /// The other attributes, as in [`Content::metadata`].
    pub metadata: Option<Rc<Metadata>>,
}

/// The content itself.
#[derive(Default)]
pub enum Body {
    /// Nothing: an answer without content. Not the same as a missing reference.
    #[default]
    Empty,
    /// Bytes in memory.
    Bytes(Bytes),
    /// Text in memory, always UTF-8. Sharing it costs no copy.
    Text(crate::Text),
    /// Plain data.
    Value(Value),
    /// A stream of bytes with its length where it is known.
    Stream(ByteStream, Option<u64>),
    /// Something that is encoded when it is wanted and not before: rows of a query, an object of
    /// the program.
    Lazy(Rc<dyn Lazy>),
}

impl Seekable {
    /// A stream body of known length. `open` takes an offset and a length in bytes, always within
    /// the content, and returns that range.
    pub fn body(length: u64, open: impl Fn(u64, u64) -> ByteStream + 'static) -> Body {
        Body::Stream(Seekable::stream(length, None, open), Some(length))
    }

    /// Content that is a range of an open file, which the system can send without a read by the
    /// caller. `open` is as for [`Seekable::body`]; its offsets count from the beginning of the
    /// range.
    pub fn of_file(file: FilePart, open: impl Fn(u64, u64) -> ByteStream + 'static) -> Body {
        let length = file.length();
        Body::Stream(Seekable::stream(length, Some(file), open), Some(length))
    }
}

/// The form in which lazy content is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// JSON text, RFC 8259.
    Json,
    /// Comma-separated values with a header line, RFC 4180.
    Csv,
    /// What a person reads: the text itself, a number, JSON for anything with structure.
    Text,
}

/// A format that the address of a request names, instead of its `Accept`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChosenFormat {
    /// Data in a form.
    Data(Form),
    /// The HTML page of a handler that has one.
    Page,
}

/// Content that knows how to encode itself. Encoding may happen more than once, or never.
pub trait Lazy {
    /// The whole encoding. Large results should bound their memory by [`Lazy::stream`] instead.
    fn encode(&self, form: Form) -> Answer<Bytes>;

    /// The media type of an encoding, when it is not the form's usual one (a page is
    /// `text/html`).
    fn media_type(&self, _form: Form) -> Option<Cow<'static, str>> {
        None
    }

    /// The encoding piece by piece; `None` when encoding in one piece is as good.
    fn stream(&self, _form: Form) -> Option<ByteStream> {
        None
    }

    /// Whether storing this object preserves it and its value is available. Content that is
    /// recomputed on demand, such as the rows of a query, is not settled.
    fn is_settled(&self) -> bool {
        false
    }

    /// The same as plain data.
    fn value(&self) -> Answer<Value>;

    /// For the store or runtime that made it, to take it back unchanged.
    fn as_any(&self) -> &dyn Any;
}

/// A strong or weak validator (RFC 9110 section 8.8.3), without quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntityTag {
    /// The opaque text: printable ASCII without quotes.
    pub text: crate::Text,
    /// Weak tags say "equivalent", strong ones "the same bytes".
    pub weak: bool,
}

impl EntityTag {
    /// A strong tag.
    pub fn strong(text: impl Into<crate::Text>) -> Self {
        EntityTag { text: text.into(), weak: false }
    }
}

impl Content {
    /// Text content.
    pub fn text(text: impl Into<crate::Text>) -> Self {
        Content { body: Body::Text(text.into()), ..Content::default() }
    }

    /// Bytes.
    pub fn bytes(bytes: impl Into<Bytes>) -> Self {
        Content { body: Body::Bytes(bytes.into()), ..Content::default() }
    }

    /// Plain data.
    pub fn value(value: Value) -> Self {
        Content { body: Body::Value(value), ..Content::default() }
    }

    /// Lazy content.
    pub fn lazy(lazy: Rc<dyn Lazy>) -> Self {
        Content { body: Body::Lazy(lazy), ..Content::default() }
    }

    /// Says what media type it is.
    pub fn with_media_type(mut self, media_type: impl Into<Cow<'static, str>>) -> Self {
        self.media_type = Some(media_type.into());
        self
    }

    /// Replaces the attributes; the content stays.
    pub fn with_attributes(self, attributes: Attributes) -> Self {
        let Attributes { media_type, metadata } = attributes;
        Content { media_type, metadata, ..self }
    }

    /// The attributes beside the content.
    pub fn attributes(&self) -> Attributes {
        Attributes { media_type: self.media_type.clone(), metadata: self.metadata.clone() }
    }

    /// A second handle on the same content; `None` for a stream, which can be read only once.
    pub fn share(&self) -> Option<Content> {
        let body = match &self.body {
            Body::Empty => Body::Empty,
            Body::Bytes(bytes) => Body::Bytes(bytes.clone()),
            Body::Text(text) => Body::Text(text.clone()),
            Body::Value(value) => Body::Value(value.clone()),
            Body::Lazy(lazy) => Body::Lazy(lazy.clone()),
            Body::Stream(..) => return None,
        };
        Some(Content {
            body,
            media_type: self.media_type.clone(),
            entity_tag: self.entity_tag.clone(),
            metadata: self.metadata.clone(),
            modified: self.modified,
            class: self.class.clone(),
            next: self.next.clone(),
        })
    }
}
