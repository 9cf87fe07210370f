//! Tags of buckets and objects.

use crate::server::fault::{FaultCode, S3Fault, S3Result};
use crate::server::target::has_broken_escape;
use crate::server::xml::{self, Element, XmlWriter};
use runnel_text::form;

/// Tags of one object.
const OBJECT_TAGS: usize = 10;
/// Tags of one bucket.
const BUCKET_TAGS: usize = 50;
/// The longest key, in characters.
const KEY_LENGTH: usize = 128;
/// The longest value, in characters.
const VALUE_LENGTH: usize = 256;

/// What carries tags, which limits their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TagOwner {
    /// An object, or a version of one.
    Object,
    /// A bucket.
    Bucket,
}

/// Keys with values, in the order of the client. No key occurs twice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tagging {
    /// Keys and values.
    pub(crate) tags: Vec<(String, String)>,
}

impl Tagging {
    /// Reads the body of PutBucketTagging and PutObjectTagging.
    pub(crate) fn parse(document: &[u8], owner: TagOwner) -> S3Result<Tagging> {
        let root = xml::read(document)?;
        let set = root.child("TagSet").filter(|_| &*root.name == "Tagging");
        Tagging::from_set(set.ok_or(FaultCode::MalformedXML)?, owner)
    }

    /// Reads an element whose children are the elements `Tag`, as CreateBucket has one, too.
    pub(crate) fn from_set(set: &Element, owner: TagOwner) -> S3Result<Tagging> {
        let tag = |tag: &Element| {
            let key = tag.text_of("Key").ok_or(FaultCode::MalformedXML)?;
            let value = tag.text_of("Value").ok_or(FaultCode::MalformedXML)?;
            Ok((key.to_string(), value.to_string()))
        };
        Tagging::checked(set.all("Tag").map(tag).collect::<S3Result<_>>()?, owner)
    }

    /// Reads the header `x-amz-tagging`: `key=value&other=value`, in percent encoding.
    pub(crate) fn from_header(header: &str) -> S3Result<Tagging> {
        let refused = || {
            S3Fault::new(FaultCode::InvalidArgument)
                .because(
                    "The header 'x-amz-tagging' shall be encoded as UTF-8 then URLEncoded URL query \
                     parameters without tag name duplicates.",
                )
                .with("ArgumentName", "x-amz-tagging")
                .with("ArgumentValue", header)
        };
        let mut tags: Vec<(String, String)> = Vec::new();
        for pair in header.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            if key.is_empty() || has_broken_escape(pair) {
                return Err(refused());
            }
            let decode = |text| form::decode(text).map_err(|_| refused());
            let (key, value) = (decode(key)?.into_owned(), decode(value)?.into_owned());
            if tags.iter().any(|(known, _)| *known == key) {
                return Err(refused());
            }
            tags.push((key, value));
            if tags.len() > OBJECT_TAGS {
                break;
            }
        }
        Tagging::checked(tags, TagOwner::Object)
    }

    /// The tags as the value of the header `x-amz-tagging`.
    pub(crate) fn to_header(&self) -> String {
        let pairs: Vec<String> = self
            .tags
            .iter()
            .map(|(key, value)| format!("{}={}", form::encode(key), form::encode(value)))
            .collect();
        pairs.join("&")
    }

    /// The answer of GetBucketTagging and GetObjectTagging.
    pub(crate) fn to_xml(&self) -> String {
        XmlWriter::document("Tagging", |xml| {
            xml.element("TagSet", |xml| {
                for (key, value) in &self.tags {
                    xml.element("Tag", |xml| {
                        xml.text("Key", key);
                        xml.text("Value", value);
                    });
                }
            });
        })
    }

    /// The value of a key.
    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.tags.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }

    fn checked(tags: Vec<(String, String)>, owner: TagOwner) -> S3Result<Tagging> {
        let (limit, words) = match owner {
            TagOwner::Object => (OBJECT_TAGS, "Object tags cannot be greater than 10"),
            TagOwner::Bucket => (BUCKET_TAGS, "Bucket tag count cannot be greater than 50"),
        };
        if tags.len() > limit {
            return Err(S3Fault::new(FaultCode::BadRequest).because(words));
        }
        for (at, (key, value)) in tags.iter().enumerate() {
            let invalid = |words: &'static str| {
                S3Fault::new(FaultCode::InvalidTag).because(words).with("TagKey", key)
            };
            if key.is_empty() || !is_tag_text(key, KEY_LENGTH) {
                return Err(invalid("The TagKey you have provided is invalid"));
            }
            if !is_tag_text(value, VALUE_LENGTH) {
                return Err(
                    invalid("The TagValue you have provided is invalid").with("TagValue", value)
                );
            }
            if tags[..at].iter().any(|(known, _)| known == key) {
                return Err(invalid("Cannot provide multiple Tags with the same key"));
            }
        }
        Ok(Tagging { tags })
    }
}

/// Letters, digits and spaces of any script, and `_ . : / = + - @`.
fn is_tag_text(text: &str, length: usize) -> bool {
    let allowed = |character: char| {
        character.is_alphanumeric()
            || (character.is_whitespace() && !character.is_control())
            || "_.:/=+-@".contains(character)
    };
    text.chars().count() <= length && text.chars().all(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(tags: &[(&str, &str)]) -> String {
        let tag = |(k, v): &(&str, &str)| format!("<Tag><Key>{k}</Key><Value>{v}</Value></Tag>");
        format!("<Tagging><TagSet>{}</TagSet></Tagging>", tags.iter().map(tag).collect::<String>())
    }

    #[test]
    fn tags_are_read_and_written() {
        let tagging =
            Tagging::parse(document(&[("a b", "x+y"), ("ä", "")]).as_bytes(), TagOwner::Object);
        let tagging = tagging.unwrap();
        assert_eq!(tagging.get("a b"), Some("x+y"));
        assert_eq!(Tagging::parse(tagging.to_xml().as_bytes(), TagOwner::Bucket).unwrap(), tagging);
        assert_eq!(tagging.to_header(), "a+b=x%2By&%C3%A4=");
        assert_eq!(Tagging::from_header(&tagging.to_header()).unwrap(), tagging);
        assert_eq!(Tagging::from_header("").unwrap(), Tagging::default());
    }

    #[test]
    fn invalid_tags_are_refused() {
        let long = "k".repeat(129);
        let long_value = "v".repeat(257);
        for (tags, words) in [
            (vec![("", "v")], "The TagKey you have provided is invalid"),
            (vec![("a!", "v")], "The TagKey you have provided is invalid"),
            (vec![(long.as_str(), "v")], "The TagKey you have provided is invalid"),
            (vec![("a", "b,c")], "The TagValue you have provided is invalid"),
            (vec![("a", long_value.as_str())], "The TagValue you have provided is invalid"),
            (vec![("a", "1"), ("a", "2")], "Cannot provide multiple Tags with the same key"),
        ] {
            let fault = Tagging::parse(document(&tags).as_bytes(), TagOwner::Object).unwrap_err();
            assert_eq!((fault.code, &*fault.message), (FaultCode::InvalidTag, words));
        }
        let keys: Vec<String> = (0..51).map(|at| format!("k{at}")).collect();
        let many: Vec<(&str, &str)> = keys.iter().map(|key| (key.as_str(), "")).collect();
        for (count, owner) in [(11, TagOwner::Object), (51, TagOwner::Bucket)] {
            let fault = Tagging::parse(document(&many[..count]).as_bytes(), owner).unwrap_err();
            assert_eq!(fault.code, FaultCode::BadRequest);
        }
        for header in ["a=%ff", "a=1&a=2"] {
            assert_eq!(Tagging::from_header(header).unwrap_err().code, FaultCode::InvalidArgument);
        }
        for text in ["<Tagging/>", "<T><TagSet/></T>", "<Tagging><TagSet><Tag/></TagSet></Tagging>"]
        {
            let fault = Tagging::parse(text.as_bytes(), TagOwner::Object).unwrap_err();
            assert_eq!(fault.code, FaultCode::MalformedXML);
        }
    }
}
