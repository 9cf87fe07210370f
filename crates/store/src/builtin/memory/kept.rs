//! The stored form of content: unchanged, or in a form that all threads can read.

use crate::{Answer, Body, Content, EntityTag, Form, Metadata, Value};
use bytes::Bytes;
use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;
use std::time::SystemTime;

/// Content in a table. It is never a stream: those are read before.
pub(super) trait StoredContent: Default {
    /// Stores content that has been read and evaluated as required.
    fn keep(content: Content) -> Self;
    /// Content again, without a copy.
    fn into_content(self) -> Content;
    /// A second handle on the content.
    fn share(&self) -> Content;
    /// The metadata, without the body.
    fn without_body(&self) -> Content;
    /// Its validator.
    fn entity_tag(&self) -> Option<&EntityTag>;
    /// Its metadata.
    fn metadata(&self) -> Option<Rc<Metadata>>;
    /// When it was put.
    fn modified(&self) -> Option<SystemTime>;
    /// Its length in bytes, where it is bytes or text.
    fn length(&self) -> Option<u64>;
}

impl StoredContent for Content {
    fn keep(content: Content) -> Self {
        content
    }

    fn into_content(self) -> Content {
        self
    }

    fn share(&self) -> Content {
        Content::share(self).unwrap_or_default()
    }

    fn without_body(&self) -> Content {
        Content {
            body: Body::Empty,
            media_type: self.media_type.clone(),
            entity_tag: self.entity_tag.clone(),
            metadata: self.metadata.clone(),
            modified: self.modified,
            class: self.class.clone(),
            next: self.next.clone(),
        }
    }

    fn entity_tag(&self) -> Option<&EntityTag> {
        self.entity_tag.as_ref()
    }

    fn metadata(&self) -> Option<Rc<Metadata>> {
        self.metadata.clone()
    }

    fn modified(&self) -> Option<SystemTime> {
        self.modified
    }

    fn length(&self) -> Option<u64> {
        match &self.body {
            Body::Empty => Some(0),
            Body::Bytes(bytes) => Some(bytes.len() as u64),
            Body::Text(text) => Some(text.len() as u64),
            _ => None,
        }
    }
}

/// Content that threads share: bytes and text without a copy, values as copies.
#[derive(Default)]
pub(super) struct SharedContent {
    body: SharedBody,
    media_type: Option<Cow<'static, str>>,
    entity_tag: Option<EntityTag>,
    metadata: Option<Arc<Metadata>>,
    modified: Option<SystemTime>,
    class: Option<Arc<str>>,
    next: Option<Arc<str>>,
}

#[derive(Clone, Default)]
enum SharedBody {
    #[default]
    Empty,
    Bytes(Bytes),
    Text(crate::Text),
    Value(Value),
}

impl SharedBody {
    fn into_body(self) -> Body {
        match self {
            SharedBody::Empty => Body::Empty,
            SharedBody::Bytes(bytes) => Body::Bytes(bytes),
            SharedBody::Text(text) => Body::Text(text),
            SharedBody::Value(value) => Body::Value(value),
        }
    }
}

impl StoredContent for SharedContent {
    fn keep(content: Content) -> Self {
        let body = match content.body {
            Body::Bytes(bytes) => SharedBody::Bytes(bytes),
            Body::Text(text) => SharedBody::Text(text),
            Body::Value(value) => SharedBody::Value(value),
            // Streams and lazy content were read before.
            Body::Empty | Body::Stream(..) | Body::Lazy(_) => SharedBody::Empty,
        };
        SharedContent {
            body,
            media_type: content.media_type,
            entity_tag: content.entity_tag,
            metadata: content.metadata.map(|metadata| Arc::new((*metadata).clone())),
            modified: content.modified,
            class: content.class.map(|class| Arc::from(&*class)),
            next: content.next.map(|next| Arc::from(&*next)),
        }
    }

    fn into_content(mut self) -> Content {
        let body = std::mem::take(&mut self.body).into_body();
        Content { body, ..self.without_body() }
    }

    fn share(&self) -> Content {
        Content { body: self.body.clone().into_body(), ..self.without_body() }
    }

    fn without_body(&self) -> Content {
        Content {
            body: Body::Empty,
            media_type: self.media_type.clone(),
            entity_tag: self.entity_tag.clone(),
            metadata: self.metadata.as_deref().map(|metadata| Rc::new(metadata.clone())),
            modified: self.modified,
            class: self.class.as_deref().map(Rc::from),
            next: self.next.as_deref().map(Rc::from),
        }
    }

    fn entity_tag(&self) -> Option<&EntityTag> {
        self.entity_tag.as_ref()
    }

    fn metadata(&self) -> Option<Rc<Metadata>> {
        self.metadata.as_deref().map(|metadata| Rc::new(metadata.clone()))
    }

    fn modified(&self) -> Option<SystemTime> {
        self.modified
    }

    fn length(&self) -> Option<u64> {
        match &self.body {
            SharedBody::Empty => Some(0),
            SharedBody::Bytes(bytes) => Some(bytes.len() as u64),
            SharedBody::Text(text) => Some(text.len() as u64),
            _ => None,
        }
    }
}

/// Content in a form for all threads. Streams are read, and lazy content is evaluated: as text if
/// its media type is text (a page), and otherwise as plain data.
pub(super) fn for_all_threads(content: Content, limit: usize) -> Answer<Content> {
    let Body::Lazy(lazy) = &content.body else { return content.collected(limit) };
    let Some(media_type) = lazy.media_type(Form::Text) else {
        return lazy.value().map(move |value| Content { body: Body::Value(value), ..content });
    };
    lazy.encode(Form::Text).map(move |bytes| Content {
        body: Body::Bytes(bytes),
        media_type: content.media_type.or(Some(media_type)),
        ..content
    })
}
