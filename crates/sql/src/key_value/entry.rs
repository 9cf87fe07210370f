//! What the table of keys says of a key, and what a write makes of it.

use crate::key_value::layout::OBJECT_CHUNK;
use bytes::Bytes;
use runnel_store::{
    Attributes, Body, Condition, Content, EntityTag, Key, Metadata, Result, Value, json,
};
use std::hash::{BuildHasher, RandomState};
use std::rc::Rc;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A row of the table of keys.
#[derive(Clone, Debug)]
pub(crate) struct ObjectEntry {
    pub(crate) key: String,
    pub(crate) length: u64,
    pub(crate) entity_tag: String,
    /// In milliseconds since 1970.
    pub(crate) modified: i64,
    pub(crate) media_type: Option<String>,
    /// A record of texts in JSON.
    pub(crate) metadata: Option<String>,
    pub(crate) object: i64,
}

/// A key that was found.
pub(crate) struct FoundObject {
    pub(crate) entry: ObjectEntry,
    /// The content, where it is of one chunk and the reader does not have it.
    pub(crate) bytes: Option<Bytes>,
}

/// What a write replaces or removes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReplacedObject {
    pub(crate) object: i64,
    pub(crate) length: u64,
}

impl ReplacedObject {
    /// Whether readers may still need its chunks.
    pub(crate) fn is_large(self) -> bool {
        self.length > OBJECT_CHUNK as u64
    }
}

/// The content of a key from now on.
pub(crate) struct EntryWrite {
    pub(crate) key: String,
    pub(crate) only_if: Option<Condition>,
    pub(crate) attributes: StoredAttributes,
    pub(crate) stamp: WriteStamp,
    pub(crate) content: WrittenContent,
}

/// Content to which a key is switched.
pub(crate) enum WrittenContent {
    /// All of it: at most one chunk.
    Whole(Bytes),
    /// An object that was uploaded before.
    Object { object: i64, length: u64 },
}

impl WrittenContent {
    pub(crate) fn length(&self) -> u64 {
        match self {
            WrittenContent::Whole(bytes) => bytes.len() as u64,
            WrittenContent::Object { length, .. } => *length,
        }
    }
}

/// Attributes as they are stored.
#[derive(Clone, Debug, Default)]
pub(crate) struct StoredAttributes {
    pub(crate) media_type: Option<String>,
    pub(crate) metadata: Option<String>,
}

impl StoredAttributes {
    pub(crate) fn of(attributes: Attributes) -> Self {
        let metadata = attributes.metadata.map(|metadata| {
            let fields =
                metadata.iter().map(|(name, value)| (name.as_str(), Value::from(value.as_str())));
            String::from_utf8_lossy(&json::text(&Value::record(fields))).into_owned()
        });
        StoredAttributes { media_type: attributes.media_type.map(Into::into), metadata }
    }
}

/// The validator and the time of a write.
#[derive(Clone, Debug)]
pub(crate) struct WriteStamp {
    pub(crate) entity_tag: String,
    /// In milliseconds since 1970.
    pub(crate) now: i64,
}

impl WriteStamp {
    /// Of a write now: a tag that no other content has had, of this process or another one.
    pub(crate) fn now() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        static SEED: LazyLock<RandomState> = LazyLock::new(RandomState::new);
        let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let random = SEED.hash_one((time.as_nanos(), number));
        WriteStamp { entity_tag: format!("{:x}-{random:x}", time.as_micros()), now: millis(time) }
    }

    /// A moment that follows the write.
    pub(crate) fn after(&self, time: Duration) -> i64 {
        self.now.saturating_add(millis(time))
    }

    /// The validator as callers see it.
    pub(crate) fn tag(&self) -> EntityTag {
        EntityTag::strong(self.entity_tag.as_str())
    }
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

impl ObjectEntry {
    pub(crate) fn tag(&self) -> EntityTag {
        EntityTag::strong(self.entity_tag.as_str())
    }

    fn modified(&self) -> Option<SystemTime> {
        let time = Duration::from_millis(u64::try_from(self.modified).ok()?);
        UNIX_EPOCH.checked_add(time)
    }

    fn metadata(&self) -> Result<Option<Rc<Metadata>>> {
        let Some(text) = &self.metadata else { return Ok(None) };
        let value = json::parse(text.as_bytes())?;
        let fields = value.as_record().unwrap_or_default().iter();
        let texts = fields.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.into())));
        Ok(Some(Rc::new(texts.collect())))
    }

    /// The content of the key with a body.
    pub(crate) fn content(self, body: Body) -> Result<Content> {
        let guessed = || mime_guess::from_path(&self.key).first_raw().map(Into::into);
        Ok(Content {
            body,
            media_type: self.media_type.clone().map(Into::into).or_else(guessed),
            entity_tag: Some(self.tag()),
            metadata: self.metadata()?,
            modified: self.modified(),
            ..Content::default()
        })
    }

    /// The key in a listing below a prefix.
    pub(crate) fn listed(self, prefix: usize) -> Result<Key> {
        Ok(Key {
            name: self.key.get(prefix..).unwrap_or_default().to_string(),
            length: Some(self.length),
            entity_tag: Some(self.tag()),
            modified: self.modified(),
            metadata: self.metadata()?,
        })
    }
}
