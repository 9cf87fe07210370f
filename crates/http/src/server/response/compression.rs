//! Compression of responses for clients that accept an encoding (RFC 9110 section 8.4).

use crate::protocol::conditions;
use crate::protocol::encoding::ContentEncoding;
use crate::protocol::fields;
use crate::server::options::Limits;
use crate::server::response::body::ResponseBody;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};

/// Whether a response can be compressed, known before its headers are made.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compression {
    /// Never, for any client.
    Never,
    /// For a client that accepts an encoding.
    Possible,
    /// For this client, in this encoding.
    Wanted(ContentEncoding),
}

/// Whether a media type is compressible. Events are read one by one, and media are compressed
/// already.
fn is_compressible(kind: &HeaderValue) -> bool {
    let kind = kind.as_bytes();
    let essence = kind.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    let Ok(essence) = std::str::from_utf8(essence) else { return false };
    match essence.split_once('/') {
        Some(("text", name)) => name != "event-stream",
        Some(("application", name)) => {
            name.ends_with("json")
                || name.ends_with("xml")
                || matches!(
                    name,
                    "javascript" | "wasm" | "x-ndjson" | "manifest+json" | "x-javascript" | "rtf"
                )
        }
        Some(("image", name)) => {
            matches!(name, "svg+xml" | "bmp" | "x-icon" | "vnd.microsoft.icon")
        }
        Some(("font", name)) => matches!(name, "ttf" | "otf"),
        _ => false,
    }
}

/// Whether a response of a type and a length (`None` if unknown) is compressed for a client.
pub(crate) fn packing(
    asked: &HeaderMap,
    kind: Option<&HeaderValue>,
    length: Option<u64>,
    limits: &Limits,
) -> Compression {
    let least = limits.min_compress_size;
    let is_off = least == u64::MAX || limits.encodings.is_empty();
    if is_off || length.is_some_and(|length| length < least) {
        return Compression::Never;
    }
    if !kind.is_some_and(is_compressible) {
        return Compression::Never;
    }
    let Some(accepted) = joined_values(asked, &header::ACCEPT_ENCODING) else {
        return Compression::Possible;
    };
    if asked.contains_key(header::RANGE) || says_no_transform(asked) {
        return Compression::Possible;
    }
    match ContentEncoding::choose(&limits.encodings, &accepted) {
        Some(encoding) => Compression::Wanted(encoding),
        None => Compression::Possible,
    }
}

/// Compresses a response with complete headers, or marks it as compressible.
pub(crate) fn apply(packing: Compression, headers: &mut HeaderMap, body: &mut ResponseBody) {
    if packing == Compression::Never {
        return;
    }
    // A response has few headers: one pass costs less than three lookups.
    let stays = headers.iter().any(|(name, value)| {
        *name == header::CONTENT_ENCODING
            || *name == header::CONTENT_RANGE
            || *name == header::CACHE_CONTROL && is_no_transform(value)
    });
    if stays {
        return;
    }
    add_vary(headers);
    if let Compression::Wanted(encoding) = packing
        && body.length() != Some(0)
        && body.compress(encoding)
    {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(encoding.name()));
        headers.remove(header::ACCEPT_RANGES);
        if let Some(tag) = headers.get(header::ETAG).and_then(|tag| packed_tag(tag, encoding)) {
            headers.insert(header::ETAG, tag);
        }
    }
}

/// The tag of compressed content. A weak one stays: the same content in other bytes.
fn packed_tag(tag: &HeaderValue, encoding: ContentEncoding) -> Option<HeaderValue> {
    let tag = conditions::parse_tag(tag.to_str().ok()?)?;
    if tag.weak {
        return None;
    }
    conditions::tag_header(&conditions::encoded_tag(&tag, encoding))
}

/// Adds `Accept-Encoding` to `Vary`.
pub(crate) fn add_vary(headers: &mut HeaderMap) {
    let mut lines = headers.get_all(header::VARY).iter();
    let value = match (lines.next(), lines.next()) {
        (None, _) => HeaderValue::from_static("accept-encoding"),
        // Negotiated responses have this common value.
        (Some(only), None) if only == "accept" => {
            HeaderValue::from_static("accept, accept-encoding")
        }
        _ => {
            let vary = joined_values(headers, &header::VARY).unwrap_or_default();
            let known = |name: &str| name == "*" || name.eq_ignore_ascii_case("accept-encoding");
            if vary.split(',').map(str::trim).any(known) {
                return;
            }
            match HeaderValue::try_from(format!("{vary}, accept-encoding")) {
                Ok(value) => value,
                Err(_) => return,
            }
        }
    };
    headers.insert(header::VARY, value);
}

fn says_no_transform(headers: &HeaderMap) -> bool {
    headers.get_all(header::CACHE_CONTROL).iter().any(is_no_transform)
}

fn is_no_transform(line: &HeaderValue) -> bool {
    fields::words(line.as_bytes()).any(|directive| directive.eq_ignore_ascii_case(b"no-transform"))
}

/// The values of a field as one list.
fn joined_values(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    let mut lines = headers.get_all(name).iter().map(|line| line.to_str().unwrap_or_default());
    let first = lines.next()?.to_string();
    Some(lines.fold(first, |all, line| all + ", " + line))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_gets_smaller() {
        for (kind, smaller) in [
            ("text/html; charset=utf-8", true),
            ("application/json", true),
            ("application/problem+json", true),
            ("image/svg+xml", true),
            ("text/event-stream", false),
            ("image/png", false),
            ("application/octet-stream", false),
            ("application/zip", false),
            ("nonsense", false),
        ] {
            assert_eq!(is_compressible(&HeaderValue::from_str(kind).unwrap()), smaller, "{kind}");
        }
    }

    #[test]
    fn who_gets_it() {
        let kind = HeaderValue::from_static("text/css");
        let of = |fields: &[(&'static str, &'static str)], length| {
            let mut headers = HeaderMap::new();
            for (name, value) in fields {
                headers.append(*name, HeaderValue::from_static(value));
            }
            packing(&headers, Some(&kind), length, &Limits::default())
        };
        let gzip = ("accept-encoding", "gzip");
        let wanted = Compression::Wanted(ContentEncoding::Gzip);
        assert!(of(&[gzip], Some(1024)) == wanted);
        assert!(of(&[gzip], None) == wanted);
        let both = of(&[("accept-encoding", "br"), gzip], None);
        assert!(both == Compression::Wanted(ContentEncoding::Brotli));
        assert!(of(&[gzip], Some(1023)) == Compression::Never);
        assert!(of(&[], Some(5000)) == Compression::Possible);
        assert!(of(&[("accept-encoding", "gzip;q=0")], None) == Compression::Possible);
        assert!(of(&[("accept-encoding", "gzip;q=0.1, identity")], None) == Compression::Possible);
        assert!(of(&[gzip, ("range", "bytes=0-")], None) == Compression::Possible);
        assert!(of(&[gzip, ("cache-control", "no-transform")], None) == Compression::Possible);
    }

    #[test]
    fn vary_grows() {
        for (before, after) in [
            ("", "accept-encoding"),
            ("accept", "accept, accept-encoding"),
            ("Accept-Encoding", "Accept-Encoding"),
            ("*", "*"),
        ] {
            let mut headers = HeaderMap::new();
            if !before.is_empty() {
                headers.insert(header::VARY, HeaderValue::from_static(before));
            }
            add_vary(&mut headers);
            assert_eq!(headers[header::VARY], after);
        }
    }
}
