//! Media types of outgoing and incoming content.

use bytes::Bytes;
use hyper::header::{self, HeaderMap, HeaderValue};
use runnel_store::{Body, DOWNLOAD, Form, Text, Value, charset, is_text_type as is_text, json};
use std::borrow::Cow;

/// HTML.
pub(crate) const HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");
/// Unknown bytes.
pub(crate) const OCTETS: HeaderValue = HeaderValue::from_static("application/octet-stream");
/// JSON.
pub(crate) const JSON: HeaderValue = HeaderValue::from_static("application/json");
/// Plain text.
pub(crate) const PLAIN: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");

/// URL-encoded form.
pub(crate) fn of_form(form: Form) -> HeaderValue {
    match form {
        Form::Json => JSON,
        Form::Csv => HeaderValue::from_static("text/csv; charset=utf-8"),
        Form::Text => PLAIN,
    }
}

/// The `Content-Type` for a store's media type. With `utf8`, a text type without a charset gets
/// `charset=utf-8`.
pub(crate) fn content_type(media_type: Cow<'static, str>, utf8: bool) -> HeaderValue {
    match (&*media_type, utf8) {
        ("text/html", true) => return HTML,
        ("text/plain", true) => return PLAIN,
        ("application/json", _) => return JSON,
        _ => {}
    }
    let value = if utf8 && media_type.starts_with("text/") && !media_type.contains("charset") {
        HeaderValue::try_from(format!("{media_type}; charset=utf-8"))
    } else {
        match media_type {
            Cow::Borrowed(text) => {
                HeaderValue::from_maybe_shared(Bytes::from_static(text.as_bytes()))
            }
            Cow::Owned(text) => HeaderValue::try_from(text),
        }
    };
    value.unwrap_or(OCTETS)
}

/// Sets the type of a response. A client's page or script is downloaded.
pub(crate) fn set_content_type(headers: &mut HeaderMap, kind: HeaderValue) {
    let is_download = kind == DOWNLOAD;
    headers.insert(header::CONTENT_TYPE, if is_download { OCTETS } else { kind });
    if is_download {
        headers.insert(header::CONTENT_DISPOSITION, HeaderValue::from_static("attachment"));
    }
}

/// A value as bytes with its default media type: text and bytes unchanged, anything else as JSON,
/// which for a number is also its readable form.
pub(crate) fn of_value(value: Value) -> (Option<HeaderValue>, Bytes) {
    match value {
        Value::Text(text) => (None, text.into()),
        Value::Bytes(bytes) => (Some(OCTETS), bytes),
        Value::Bool(_) | Value::Int(_) | Value::Big(_) | Value::Float(_) => {
            (None, json::text(&value).into())
        }
        Value::Nil | Value::List(_) | Value::Record(_) => (Some(JSON), json::text(&value).into()),
    }
}

/// Incoming content with its media type: text for a text type when the bytes are UTF-8, bytes
/// otherwise. The `charset` of text is dropped.
pub(crate) fn text_or_bytes(
    bytes: Bytes,
    media_type: Option<Cow<'static, str>>,
) -> (Body, Option<Cow<'static, str>>) {
    let is_text = media_type.as_deref().is_some_and(is_text);
    let text = if is_text { Text::from_utf8(bytes) } else { Err(bytes) };
    match text {
        Ok(text) => (Body::Text(text), media_type.map(without_charset)),
        Err(bytes) => (Body::Bytes(bytes), media_type),
    }
}

fn without_charset(media_type: Cow<'static, str>) -> Cow<'static, str> {
    if !media_type.contains(';') {
        return media_type;
    }
    let kept: Vec<&str> = media_type
        .split(';')
        .map(str::trim)
        .filter(|parameter| charset(parameter).is_none())
        .collect();
    kept.join("; ").into()
}

/// A client's media type; common ones without an allocation.
pub(crate) fn named(text: &str) -> Cow<'static, str> {
    match USUAL.iter().find(|usual| **usual == text) {
        Some(usual) => Cow::Borrowed(usual),
        None => Cow::Owned(text.to_string()),
    }
}

const USUAL: [&str; 4] = [
    "application/json",
    "application/x-www-form-urlencoded",
    "text/plain",
    "application/octet-stream",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_says_its_encoding() {
        let of = |text: &'static str, utf8| content_type(Cow::Borrowed(text), utf8);
        assert_eq!(of("text/css", true), "text/css; charset=utf-8");
        assert_eq!(of("text/css", false), "text/css");
        assert_eq!(of("text/css; charset=latin1", true), "text/css; charset=latin1");
        assert_eq!(of("image/png", false), "image/png");
        assert_eq!(of("application/json", true), "application/json");
        assert_eq!(of("a\r\nb: c", true), OCTETS);
        assert_eq!(content_type(Cow::Owned("x/y".to_string()), false), "x/y");
    }

    #[test]
    fn what_is_text() {
        for text in [
            "text/plain",
            "Text/HTML; charset=UTF-8",
            "application/json",
            "application/problem+json",
            "image/svg+xml",
            "application/x-www-form-urlencoded",
        ] {
            assert!(is_text(text), "{text}");
        }
        for other in ["image/png", "text/plain; charset=latin1", "application/octet-stream", ""] {
            assert!(!is_text(other), "{other}");
        }
    }

    #[test]
    fn text_loses_its_charset() {
        let of = |bytes: &'static [u8], kind: Option<&str>| {
            let (body, kind) = text_or_bytes(Bytes::from_static(bytes), kind.map(named));
            (matches!(body, Body::Text(_)), kind)
        };
        let kind = "text/x; charset=UTF-8; a=b";
        assert_eq!(of(b"x", Some(kind)), (true, Some("text/x; a=b".into())));
        assert_eq!(of(b"\xff", Some(kind)), (false, Some(kind.into())));
        assert_eq!(of(b"x", None), (false, None));
    }
}
