//! Content with attributes in any store: attributes are the store's, or records beside the content
//! where the store keeps none.

use super::layout;
use bytes::Bytes;
use runnel_store::{
    Attributes, Body, COLLECT_LIMIT, Condition, Conditions, Content, Context, EntityTag, Error,
    Form, Kind, Metadata, Reference, Result, Store, Value, json,
};
use std::rc::Rc;

/// Names in a record of attributes that are no attributes.
const MEDIA_TYPE: &str = "content-type";
const BELONGS_TO: &str = "s3-content";

/// A store of content with attributes.
pub(crate) struct ContentStore {
    pub(crate) store: Rc<dyn Store>,
}

impl ContentStore {
    pub(super) fn new(store: Rc<dyn Store>) -> Self {
        ContentStore { store }
    }

    /// Reads content with its attributes. A collection is none, and neither is what lies below
    /// content. With a known validator the body may be empty.
    pub(crate) async fn read(
        &self,
        at: &Reference,
        known: Option<EntityTag>,
    ) -> Result<Option<Content>> {
        let context = Context { known, attributes: true, ..Context::default() };
        let found = match self.store.get(at, &context).await {
            Ok(Some(content)) => content,
            Ok(None) => return Ok(None),
            Err(error) if is_nothing(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        if matches!(found.body, Body::Value(Value::List(_) | Value::Nil)) {
            return Ok(None);
        }
        let mut content = sized(found).await?;
        if !self.store.keeps_metadata(at)
            && let Some(attributes) = self.read_record(at, &content).await?
        {
            content = content.with_attributes(attributes);
        }
        Ok(Some(content))
    }

    /// Replaces content and its attributes.
    pub(crate) async fn write(
        &self,
        at: &Reference,
        body: Body,
        attributes: Attributes,
        only_if: Option<Condition>,
    ) -> Result<()> {
        let context = Context { only_if: self.admitted(at, only_if), ..Context::default() };
        let content = Content { body, ..Content::default() };
        if self.store.keeps_metadata(at) {
            let put = self.store.put(at, content.with_attributes(attributes), &context);
            return put.await.map(drop);
        }
        let media_type = attributes.media_type.clone();
        let put = self.store.put(at, Content { media_type, ..content }, &context).await?;
        self.write_record(at, put.entity_tag, attributes).await
    }

    /// Replaces the attributes of content.
    pub(crate) async fn annotate(
        &self,
        at: &Reference,
        attributes: Attributes,
        only_if: Option<Condition>,
    ) -> Result<()> {
        if !self.store.keeps_metadata(at) {
            return self.write_record(at, None, attributes).await;
        }
        let context = Context { only_if: self.admitted(at, only_if), ..Context::default() };
        match self.store.annotate(at, attributes.clone(), &context).await {
            Err(error) if error.kind == Kind::NotAllowed => {
                let Some(content) = self.read(at, None).await? else { return Ok(()) };
                self.write(at, content.body, attributes, None).await
            }
            annotated => annotated.map(drop),
        }
    }

    /// Moves content with its attributes. Answers whether there was content to move.
    pub(crate) async fn relocate(
        &self,
        from: &Reference,
        to: &Reference,
        only_if: Option<Condition>,
    ) -> Result<bool> {
        let only_if = self.admitted(to, only_if);
        if self.store.keeps_metadata(from) {
            let context = Context { only_if: only_if.clone(), ..Context::default() };
            // Each answer is about these two places: others may be on one file system.
            match self.store.relocate(from, to, &context).await {
                Err(error) if error.kind == Kind::NotAllowed => {}
                relocated => return relocated,
            }
        }
        let Some(content) = self.read(from, None).await? else { return Ok(false) };
        let attributes = content.attributes();
        self.write(to, content.body, attributes, only_if).await?;
        self.remove(from, None).await?;
        Ok(true)
    }

    /// Removes content with its attributes. Answers whether there was content.
    pub(crate) async fn remove(&self, at: &Reference, only_if: Option<Condition>) -> Result<bool> {
        let context = Context { only_if: self.admitted(at, only_if), ..Context::default() };
        let removed = match self.store.delete(at, &context).await {
            Err(error) if is_nothing(&error) => false,
            removed => removed?.is_something(),
        };
        if removed && !self.store.keeps_metadata(at) {
            let record = layout::attributes(at);
            self.store.delete(&record, &Context::default()).await?;
        }
        Ok(removed)
    }

    /// Removes the collections above a reference that are empty now, up to a number of segments.
    pub(crate) async fn prune(&self, removed: &Reference, kept: usize) {
        let mut above = removed.parent();
        while let Some(collection) = above {
            if collection.segments().count() <= kept {
                return;
            }
            // A collection that is not empty refuses, and a store without collections has none.
            match self.store.delete(&collection, &Context::default()).await {
                Ok(outcome) if outcome.is_something() => above = collection.parent(),
                _ => return,
            }
        }
    }

    /// A condition that the store can check. Commits are serialized within this process; the store
    /// excludes other writers where it can.
    pub(super) fn admitted(&self, at: &Reference, only_if: Option<Condition>) -> Option<Condition> {
        let kept = self.store.conditions(at);
        only_if.filter(|condition| match condition {
            Condition::Tag(tag) => kept >= Conditions::Tags && !tag.weak,
            Condition::Absent | Condition::Present => kept >= Conditions::Presence,
        })
    }

    async fn read_record(&self, at: &Reference, content: &Content) -> Result<Option<Attributes>> {
        let record = self.store.get(&layout::attributes(at), &Context::default()).await?;
        let Some(record) = record else { return Ok(None) };
        let bytes = record.read(COLLECT_LIMIT).await?;
        let Some((mut attributes, media_type)) = parse_record(&bytes) else { return Ok(None) };
        // A record of content that was replaced since does not count.
        let belongs_to = attributes.remove(BELONGS_TO).unwrap_or_default();
        if belongs_to != tag_text(content.entity_tag.as_ref()) {
            return Ok(None);
        }
        let media_type = media_type.map(Into::into).or(content.media_type.clone());
        Ok(Some(Attributes { media_type, metadata: Some(Rc::new(attributes)) }))
    }

    async fn write_record(
        &self,
        at: &Reference,
        tag: Option<EntityTag>,
        attributes: Attributes,
    ) -> Result<()> {
        let tag = match tag {
            Some(tag) => Some(tag),
            None => {
                let found = self.store.get(at, &Context::default()).await?;
                found.and_then(|content| content.entity_tag)
            }
        };
        let mut record = attributes.metadata.as_deref().cloned().unwrap_or_default();
        record.insert(BELONGS_TO.to_string(), tag_text(tag.as_ref()));
        if let Some(media_type) = attributes.media_type {
            record.insert(MEDIA_TYPE.to_string(), media_type.into_owned());
        }
        let content = Content::bytes(write_record(&record));
        self.store.put(&layout::attributes(at), content, &Context::default()).await.map(drop)
    }
}

fn tag_text(tag: Option<&EntityTag>) -> String {
    tag.map_or_else(String::new, |tag| tag.text.to_string())
}

/// Attributes as a text.
pub(crate) fn write_record(attributes: &Metadata) -> Bytes {
    let value = |text: &String| Value::Text(text.clone());
    let fields = attributes.iter().map(|(name, text)| (name.clone(), value(text)));
    json::text(&Value::record(fields)).into()
}

/// Reads what [`write_record`] wrote, with the media type apart.
pub(crate) fn parse_record(bytes: &[u8]) -> Option<(Metadata, Option<String>)> {
    let Value::Record(fields) = json::parse(bytes).ok()? else { return None };
    let text = |(name, value): (String, Value)| Some((name, value.as_str()?.to_string()));
    let mut attributes: Metadata = fields.into_iter().filter_map(text).collect();
    let media_type = attributes.remove(MEDIA_TYPE);
    Some((attributes, media_type))
}

/// Whether an error says that nothing can be at a reference: something above it is no collection,
/// or its name cannot be one.
fn is_nothing(error: &Error) -> bool {
    matches!(error.kind, Kind::NotFound | Kind::Conflict) || error.of_reference
}

/// Content of which the length is known.
async fn sized(content: Content) -> Result<Content> {
    let media_type = match &content.body {
        Body::Empty | Body::Bytes(_) | Body::Text(_) | Body::Stream(_, Some(_)) => {
            return Ok(content);
        }
        Body::Stream(_, None) => return content.collected(COLLECT_LIMIT).await,
        Body::Value(_) | Body::Lazy(_) => content.media_type_in(Form::Json).into_owned(),
    };
    let (entity_tag, metadata) = (content.entity_tag.clone(), content.metadata.clone());
    let modified = content.modified;
    let bytes = content.encode(Form::Json).await?;
    let media_type = Some(media_type.into());
    let body = Body::Bytes(bytes);
    Ok(Content { body, media_type, entity_tag, metadata, modified, ..Content::default() })
}

/// The length of content of a known length.
pub(crate) fn length(body: &Body) -> u64 {
    match body {
        Body::Bytes(bytes) => bytes.len() as u64,
        Body::Text(text) => text.len() as u64,
        Body::Stream(_, Some(length)) => *length,
        _ => 0,
    }
}
