//! What is known of an object beside its content, and how it is kept as attributes of content.
//!
//! The names of attributes are those of the header fields that carry them, where there are such. All
//! others begin with `s3-` and are the server's own.

use crate::server::payload::checksum::{Checksum, ChecksumAlgorithm, ChecksumType};
use runnel_store::{Content, EntityTag, Key, Metadata};
use std::borrow::Cow;
use std::rc::Rc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The entity tag that clients see, without quotes: the MD5 of the content, or that of the parts.
pub(crate) const ETAG: &str = "s3-etag";
/// The length of the content that the attributes belong to.
pub(crate) const SIZE: &str = "s3-size";
/// When the object was made, in milliseconds since 1970.
pub(crate) const MODIFIED: &str = "s3-modified";
/// The version, where the bucket had versioning.
pub(crate) const VERSION: &str = "s3-version";
/// The checksum: `CRC32 FULL_OBJECT value`.
pub(crate) const CHECKSUM: &str = "s3-checksum";
/// The parts: `5242880*9 17`, each perhaps with `=checksum`.
pub(crate) const PARTS: &str = "s3-parts";
/// The key of the user who owns the object.
pub(crate) const OWNER: &str = "s3-owner";
/// The upload that made the object.
pub(crate) const UPLOAD: &str = "s3-upload";
/// The redirection of web sites.
pub(crate) const REDIRECT: &str = "x-amz-website-redirect-location";
/// The prefix of attributes that clients choose.
pub(crate) const USER_PREFIX: &str = "x-amz-meta-";

/// Fields of a request that are kept as they are, and sent with the object.
pub(crate) const KEPT_FIELDS: [&str; 5] =
    ["cache-control", "content-disposition", "content-encoding", "content-language", "expires"];

/// The media type of objects of which none is said.
pub(crate) const UNKNOWN_TYPE: &str = "binary/octet-stream";

/// Attributes are older than their content where a program wrote that later than this.
const SLACK: Duration = Duration::from_secs(3);

/// What is known of an object.
#[derive(Clone, Debug)]
pub(crate) struct ObjectInfo {
    /// The length in bytes.
    pub(crate) length: u64,
    /// The time of the last change.
    pub(crate) modified: SystemTime,
    /// The entity tag that clients see, without quotes.
    pub(crate) etag: String,
    /// The media type.
    pub(crate) media_type: Cow<'static, str>,
    /// The attributes as they are kept.
    pub(crate) attributes: Rc<Metadata>,
    /// The validator of the store, for conditional writes.
    pub(crate) store_tag: Option<EntityTag>,
}

/// A checksum that is kept with an object or a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredChecksum {
    pub(crate) algorithm: ChecksumAlgorithm,
    pub(crate) kind: ChecksumType,
    /// The value in base 64, for a composite one with the number of parts.
    pub(crate) value: String,
}

/// A part of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ObjectPart {
    /// The length in bytes.
    pub(crate) length: u64,
    /// The checksum of the object's algorithm.
    pub(crate) checksum: Option<String>,
}

impl ObjectInfo {
    /// What is known of content of a length.
    pub(crate) fn of(content: &Content, length: u64) -> Self {
        let attributes = content.metadata.clone().unwrap_or_default();
        let tag = content.entity_tag.as_ref();
        let info = ObjectInfo::of_stored(attributes, length, content.modified, tag);
        let media_type = content.media_type.clone().unwrap_or(info.media_type);
        ObjectInfo { media_type, ..info }
    }

    /// What a listing says of an object, without its media type; `None` where it says too little.
    pub(crate) fn of_listed(listed: &Key) -> Option<Self> {
        let attributes = listed.metadata.clone()?;
        if listed.modified.is_none() && !attributes.contains_key(MODIFIED) {
            return None;
        }
        let (length, tag) = (listed.length?, listed.entity_tag.as_ref());
        Some(ObjectInfo::of_stored(attributes, length, listed.modified, tag))
    }

    /// Attributes of other content are those of a file that a program changed: what they say of the
    /// content is left out.
    fn of_stored(
        mut attributes: Rc<Metadata>,
        length: u64,
        changed: Option<SystemTime>,
        tag: Option<&EntityTag>,
    ) -> Self {
        let made = attributes.get(MODIFIED).and_then(|text| text.parse().ok());
        let made = made.map(|milliseconds| UNIX_EPOCH + Duration::from_millis(milliseconds));
        let later = match (made, changed) {
            (Some(made), Some(changed)) => changed > made + SLACK,
            _ => false,
        };
        if later || attributes.get(SIZE).is_some_and(|size| size.parse() != Ok(length)) {
            let attributes = Rc::make_mut(&mut attributes);
            for name in [ETAG, SIZE, MODIFIED, CHECKSUM, PARTS] {
                attributes.remove(name);
            }
        }
        let modified = match attributes.contains_key(MODIFIED) {
            true => made.or(changed),
            false => changed.or(made),
        };
        let own_tag = || computed_tag(tag, length);
        ObjectInfo {
            length,
            modified: modified.unwrap_or(UNIX_EPOCH),
            etag: attributes.get(ETAG).cloned().unwrap_or_else(own_tag),
            media_type: Cow::Borrowed(UNKNOWN_TYPE),
            store_tag: tag.cloned(),
            attributes,
        }
    }

    /// The identifier of the version as clients see it.
    pub(crate) fn version(&self) -> &str {
        self.attributes.get(VERSION).map_or("null", String::as_str)
    }

    /// The checksum, where one is kept.
    pub(crate) fn checksum(&self) -> Option<StoredChecksum> {
        StoredChecksum::read(self.attributes.get(CHECKSUM)?)
    }

    /// The parts of an object that was uploaded in parts.
    pub(crate) fn parts(&self) -> Option<Vec<ObjectPart>> {
        read_parts(self.attributes.get(PARTS)?)
    }
}

impl StoredChecksum {
    /// The checksum of the whole content.
    pub(crate) fn of(checksum: &Checksum) -> Self {
        StoredChecksum {
            algorithm: checksum.algorithm,
            kind: ChecksumType::FullObject,
            value: checksum.text(),
        }
    }

    /// As it is kept.
    pub(crate) fn text(&self) -> String {
        format!("{} {} {}", self.algorithm.name(), self.kind.name(), self.value)
    }

    /// Reads what [`StoredChecksum::text`] wrote.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        let algorithm = ChecksumAlgorithm::of_name(words.next()?)?;
        let kind = ChecksumType::of_name(words.next()?)?;
        Some(StoredChecksum { algorithm, kind, value: words.next()?.to_string() })
    }
}

/// The tag of content that this server did not write: that of the store. The dash says that it is no
/// MD5, so that clients do not compare it with one.
fn computed_tag(tag: Option<&EntityTag>, length: u64) -> String {
    let text = tag.map_or_else(|| format!("{length:x}"), |tag| tag.text.to_string());
    let text: String = text.chars().filter(|char| char.is_ascii_alphanumeric()).collect();
    format!("{text}-1")
}

/// Milliseconds since 1970, as [`MODIFIED`] has them.
pub(crate) fn milliseconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

/// The longest text of parts, in bytes: files keep 64 KiB of attributes.
const PARTS_TEXT: usize = 40 << 10;

/// Parts as they are kept: equal neighbours are counted. Without their checksums where these are too
/// many; `None` where the sizes alone are.
pub(crate) fn write_parts(parts: &[ObjectPart]) -> Option<String> {
    let text = join_parts(parts);
    if text.len() <= PARTS_TEXT {
        return Some(text);
    }
    let without = |part: &ObjectPart| ObjectPart { length: part.length, checksum: None };
    let sizes = join_parts(&parts.iter().map(without).collect::<Vec<_>>());
    Some(sizes).filter(|sizes| sizes.len() <= PARTS_TEXT)
}

fn join_parts(parts: &[ObjectPart]) -> String {
    let mut words: Vec<String> = Vec::new();
    let mut rest = parts;
    while let Some(part) = rest.first() {
        let same = rest.iter().take_while(|next| *next == part).count();
        let same = if part.checksum.is_some() { 1 } else { same };
        let checksum = part.checksum.as_ref().map_or(String::new(), |sum| format!(":{sum}"));
        let count = if same > 1 { format!("*{same}") } else { String::new() };
        words.push(format!("{}{count}{checksum}", part.length));
        rest = &rest[same..];
    }
    words.join(" ")
}

/// Most parts that are read, as many as S3 allows.
const PARTS_LIMIT: usize = 10_000;

fn read_parts(text: &str) -> Option<Vec<ObjectPart>> {
    let mut parts = Vec::new();
    for word in text.split(' ') {
        let (sizes, checksum) = match word.split_once(':') {
            Some((sizes, checksum)) => (sizes, Some(checksum.to_string())),
            None => (word, None),
        };
        let (length, count) = sizes.split_once('*').unwrap_or((sizes, "1"));
        let count: usize = count.parse().ok()?;
        if count > PARTS_LIMIT - parts.len() {
            return None;
        }
        let part = ObjectPart { length: length.parse().ok()?, checksum };
        parts.extend(std::iter::repeat_n(part, count));
    }
    Some(parts)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_kept_in_short() {
        let part = |length, checksum: Option<&str>| ObjectPart {
            length,
            checksum: checksum.map(String::from),
        };
        let check = |parts: Vec<ObjectPart>, text: &str| {
            assert_eq!(write_parts(&parts).as_deref(), Some(text));
            assert_eq!(read_parts(text).unwrap(), parts);
        };
        check(vec![part(5, None); 3], "5*3");
        check(vec![part(5, None), part(5, None), part(1, None)], "5*2 1");
        check(vec![part(5, Some("a==")), part(5, Some("a=="))], "5:a== 5:a==");
        assert_eq!(read_parts("5*10001"), None);
        assert_eq!(read_parts("x"), None);
    }

    #[test]
    fn attributes_of_other_content_do_not_count() {
        let made = SystemTime::now();
        let attributes = [
            (ETAG, "abc".to_string()),
            (SIZE, "4".to_string()),
            (MODIFIED, milliseconds(made).to_string()),
            ("x-amz-meta-a", "b".to_string()),
        ];
        let attributes = attributes.map(|(name, value)| (name.to_string(), value));
        let mut content = Content::text("four");
        content.metadata = Some(Rc::new(Metadata::from(attributes)));
        content.modified = Some(made);
        content.entity_tag = Some(EntityTag::strong("1-2-3"));
        assert_eq!(ObjectInfo::of(&content, 4).etag, "abc");
        let other = ObjectInfo::of(&content, 5);
        assert_eq!((other.etag.as_str(), other.modified), ("123-1", made));
        assert_eq!(other.attributes.len(), 1);
        content.modified = Some(made + Duration::from_secs(60));
        assert_eq!(ObjectInfo::of(&content, 4).etag, "123-1");
    }
}
