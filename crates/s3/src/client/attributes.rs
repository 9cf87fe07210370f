//! Metadata of content as headers of objects.
//!
//! The headers that S3 stores keep their names, and so do those that begin with `x-amz-meta-`. Any
//! other name becomes `x-amz-meta-runnel-NAME`, in URL encoding where it is none of a header. S3
//! takes 2 KB of metadata for an object.

use http::HeaderMap;
use http::header::{HeaderName, HeaderValue};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use runnel_store::Metadata;
use std::rc::Rc;

/// The headers beside `Content-Type` that S3 stores with an object.
const STORED: [&str; 5] =
    ["cache-control", "content-disposition", "content-encoding", "content-language", "expires"];

const USER: &str = "x-amz-meta-";

const OTHER: &str = "x-amz-meta-runnel-";

/// Names of headers have no capitals.
const ENCODED: &AsciiSet = &{
    let mut set = NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.');
    let mut capital = b'A';
    while capital <= b'Z' {
        set = set.add(capital);
        capital += 1;
    }
    set
};

/// Metadata as headers of a request. What cannot be a header is left out.
pub(crate) fn headers(metadata: Option<&Metadata>) -> HeaderMap {
    let pairs = metadata.into_iter().flatten().filter_map(|(name, value)| {
        let name = match STORED.contains(&name.as_str()) || is_user(name) {
            true => HeaderName::from_bytes(name.as_bytes()),
            false => format!("{OTHER}{}", utf8_percent_encode(name, ENCODED)).parse(),
        };
        Some((name.ok()?, HeaderValue::from_bytes(value.as_bytes()).ok()?))
    });
    pairs.collect()
}

fn is_user(name: &str) -> bool {
    name.starts_with(USER) && !name.starts_with(OTHER) && name == name.to_ascii_lowercase()
}

/// The metadata in the headers of an answer; `None` without any.
pub(crate) fn metadata(headers: &HeaderMap) -> Option<Rc<Metadata>> {
    let pairs = headers.iter().filter_map(|(name, value)| {
        let name = name.as_str();
        let name = match name.strip_prefix(OTHER) {
            Some(encoded) => percent_decode_str(encoded).decode_utf8().ok()?.into_owned(),
            None if name.starts_with(USER) || STORED.contains(&name) => name.to_string(),
            None => return None,
        };
        Some((name, std::str::from_utf8(value.as_bytes()).ok()?.to_string()))
    });
    let metadata: Metadata = pairs.collect();
    (!metadata.is_empty()).then(|| Rc::new(metadata))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_comes_back() {
        let pairs = [
            ("cache-control", "max-age=60"),
            ("x-amz-meta-colour", "blau \u{fc}"),
            ("x-amz-meta-empty", ""),
            ("Content Kind", "1"),
            ("etag", "\"a\""),
            ("x-amz-meta-runnel-x", "nested"),
            ("\u{fc}", "2"),
        ];
        let pairs = pairs.map(|(name, value)| (name.to_string(), value.to_string()));
        let expected = Metadata::from(pairs);
        let mut answer = headers(Some(&expected));
        assert_eq!(answer.len(), expected.len());
        answer.insert("content-type", HeaderValue::from_static("text/plain"));
        answer.insert("etag", HeaderValue::from_static("\"other\""));
        assert_eq!(metadata(&answer).as_deref(), Some(&expected));
    }

    #[test]
    fn other_headers_are_no_metadata() {
        let mut answer = HeaderMap::new();
        answer.insert("content-type", HeaderValue::from_static("text/plain"));
        answer.insert("x-amz-request-id", HeaderValue::from_static("7"));
        assert_eq!(metadata(&answer), None);
    }

    #[test]
    fn what_is_no_header_is_left_out() {
        let broken = Metadata::from([("x-amz-meta-a".to_string(), "a\nb".to_string())]);
        assert!(headers(Some(&broken)).is_empty());
    }
}
