//! Objects as content, and content as what goes out.

pub(crate) mod range;

use crate::client::attributes;
use crate::client::body::range::{ObjectParts, pieces};
use crate::client::endpoint::S3Server;
use bytes::{Bytes, BytesMut};
use futures_util::{StreamExt, stream};
use http::header::{self, HeaderName, HeaderValue};
use http::{HeaderMap, Response};
use runnel_http::Received;
use runnel_store::{
    Body, ByteStream, Content, EntityTag, Error, Form, Kind, Metadata, Reference, Result, Seekable,
    Text, Value,
};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

/// What S3 says of an object of which nothing is known, and what we say.
const UNKNOWN: [&str; 2] = ["binary/octet-stream", "application/octet-stream"];

/// The body of a request, piece by piece, and its media type.
pub(crate) struct RequestBody {
    pub(crate) media_type: HeaderValue,
    pub(crate) pieces: ByteStream,
}

impl RequestBody {
    /// Content for a key. A type that is not said is that of the name's ending, or of the content.
    pub(crate) async fn read(content: Content, key: &str) -> Result<RequestBody> {
        let (usual, pieces) = match content.body {
            Body::Empty => ("application/octet-stream", one(Bytes::new())),
            Body::Bytes(bytes) => ("application/octet-stream", one(bytes)),
            Body::Text(text) => ("text/plain", one(text.into_bytes())),
            Body::Value(value) => {
                let usual = match &value {
                    Value::List(_) | Value::Record(_) => "application/json",
                    Value::Bytes(_) => "application/octet-stream",
                    _ => "text/plain",
                };
                (usual, one(value.encode(Form::Text).into()))
            }
            Body::Stream(stream, _) => ("application/octet-stream", stream),
            Body::Lazy(lazy) => {
                let pieces = match lazy.stream(Form::Json) {
                    Some(stream) => stream,
                    None => one(lazy.encode(Form::Json).await?),
                };
                let own = lazy.media_type(Form::Json).unwrap_or("application/json".into());
                let given = content.media_type.unwrap_or(own);
                return Ok(RequestBody { media_type: header_value(&given), pieces });
            }
        };
        let media_type = media_type(content.media_type.as_deref(), key, usual);
        Ok(RequestBody { media_type, pieces })
    }

    /// The next part of at least a size; a shorter one is the last, and after it there is nothing.
    /// A large piece is handed on in slices, without a copy.
    pub(crate) async fn part(&mut self, size: usize) -> Result<Bytes> {
        let mut part = BytesMut::new();
        while part.len() < size {
            let Some(piece) = self.pieces.next().await else { break };
            let piece = piece?;
            let wanted = size - part.len();
            if part.is_empty() && piece.len() >= size {
                return Ok(self.cut(piece, wanted));
            }
            part.extend_from_slice(&self.cut(piece, wanted));
        }
        Ok(part.freeze())
    }

    /// Takes so much of a piece and puts the rest back.
    fn cut(&mut self, mut piece: Bytes, most: usize) -> Bytes {
        if piece.len() <= most {
            return piece;
        }
        let rest = piece.split_off(most);
        let pieces = std::mem::replace(&mut self.pieces, Box::pin(stream::empty()));
        self.pieces = Box::pin(stream::iter([Ok(rest)]).chain(pieces));
        piece
    }
}

fn one(bytes: Bytes) -> ByteStream {
    Box::pin(stream::iter([Ok(bytes)]))
}

/// The media type that is given, or that of the key's ending, or a usual one.
pub(crate) fn media_type(given: Option<&str>, key: &str, usual: &str) -> HeaderValue {
    let guess = || mime_guess::from_path(key).first_raw().unwrap_or(usual);
    header_value(given.unwrap_or_else(guess))
}

fn header_value(media_type: &str) -> HeaderValue {
    let usual = HeaderValue::from_static("application/octet-stream");
    let is_plain = media_type.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
    if is_plain { HeaderValue::from_str(media_type).unwrap_or(usual) } else { usual }
}

/// The headers of an object.
pub(crate) struct ObjectHeaders {
    pub(crate) media_type: Option<String>,
    pub(crate) entity_tag: Option<EntityTag>,
    pub(crate) modified: Option<std::time::SystemTime>,
    pub(crate) length: Option<u64>,
    pub(crate) metadata: Option<Rc<Metadata>>,
}

impl ObjectHeaders {
    pub(crate) fn read(headers: &HeaderMap) -> ObjectHeaders {
        let text = |name: HeaderName| headers.get(name)?.to_str().ok();
        let media_type = text(header::CONTENT_TYPE).filter(|kind| !UNKNOWN.contains(kind));
        ObjectHeaders {
            media_type: media_type.map(String::from),
            entity_tag: text(header::ETAG).and_then(entity_tag),
            modified: text(header::LAST_MODIFIED)
                .and_then(|date| httpdate::parse_http_date(date).ok()),
            length: text(header::CONTENT_LENGTH).and_then(|length| length.parse().ok()),
            metadata: attributes::metadata(headers),
        }
    }
}

/// `"text"` or `W/"text"` (RFC 9110 section 8.8.3).
pub(crate) fn entity_tag(field: &str) -> Option<EntityTag> {
    let (weak, quoted) = match field.strip_prefix("W/") {
        Some(rest) => (true, rest),
        None => (false, field),
    };
    let text = quoted.strip_prefix('"')?.strip_suffix('"')?;
    let is_plain = text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"');
    is_plain.then(|| EntityTag { text: Text::from(text), weak })
}

/// An object as content: small ones as they are, large ones as streams, of which parts can be read
/// where the object has a tag to know it by.
pub(crate) async fn content(
    server: &Arc<S3Server>,
    response: Response<Received>,
    (bucket, key): (&str, &str),
    reference: &Reference,
    deadline: Option<Instant>,
) -> Result<Content> {
    let about = ObjectHeaders::read(response.headers());
    let mut body = response.into_body();
    let until = server.until(deadline, 0);
    let mut collected = BytesMut::new();
    let is_large = about.length.is_some_and(|length| length > server.collect as u64);
    while !is_large && collected.len() <= server.collect {
        match tokio::time::timeout_at(until.into(), body.next()).await {
            Ok(Some(piece)) => collected.extend_from_slice(&piece?),
            Ok(None) => {
                let (body, media_type) = whole(collected.freeze(), about.media_type.clone());
                let media_type = media_type.map(Into::into);
                let ObjectHeaders { entity_tag, modified, metadata, .. } = about;
                return Ok(Content {
                    body,
                    media_type,
                    entity_tag,
                    metadata,
                    modified,
                    ..Content::default()
                });
            }
            Err(_) => {
                let message = "the server took too long to send the object";
                return Err(Error::new(Kind::Timeout, message));
            }
        }
    }
    let start = (!collected.is_empty()).then(|| Ok(collected.freeze()));
    let rest = pieces(body, reference.clone());
    let all: ByteStream = Box::pin(stream::iter(start).chain(rest));
    let body = match (about.length, about.entity_tag.clone().filter(|tag| !tag.weak)) {
        (Some(length), Some(tag)) => {
            let parts = Arc::new(ObjectParts {
                server: server.clone(),
                bucket: bucket.to_string(),
                key: key.to_string(),
                tag,
                reference: reference.clone(),
                deadline,
            });
            // What has begun to arrive is the whole object.
            let begun = RefCell::new(Some(all));
            Seekable::body(length, move |from, part| {
                let begun = begun.take().filter(|_| (from, part) == (0, length));
                begun.unwrap_or_else(|| parts.clone().part(from, part))
            })
        }
        (length, _) => Body::Stream(all, length),
    };
    Ok(Content {
        body,
        media_type: about.media_type.map(Into::into),
        entity_tag: about.entity_tag,
        metadata: about.metadata,
        modified: about.modified,
        ..Content::default()
    })
}

/// Text if the media type is textual and the bytes are UTF-8, bytes otherwise. Text needs no
/// `charset`.
fn whole(bytes: Bytes, media_type: Option<String>) -> (Body, Option<String>) {
    let is_text = media_type.as_deref().is_some_and(is_text);
    match if is_text { Text::from_utf8(bytes) } else { Err(bytes) } {
        Ok(text) => {
            let plain = media_type.map(|kind| match kind.split_once(';') {
                Some((essence, parameter)) if is_utf8(parameter) => essence.trim_end().to_string(),
                _ => kind,
            });
            (Body::Text(text), plain)
        }
        Err(bytes) => (Body::Bytes(bytes), media_type),
    }
}

fn is_text(media_type: &str) -> bool {
    let (essence, parameter) = media_type.split_once(';').unwrap_or((media_type, ""));
    let essence = essence.trim().to_ascii_lowercase();
    let is_textual = essence.starts_with("text/")
        || essence.ends_with("+json")
        || essence.ends_with("+xml")
        || matches!(
            essence.as_str(),
            "application/json"
                | "application/xml"
                | "application/javascript"
                | "application/x-ndjson"
        );
    is_textual && (is_utf8(parameter) || !parameter.to_ascii_lowercase().contains("charset"))
}

fn is_utf8(parameter: &str) -> bool {
    let parameter = parameter.trim().to_ascii_lowercase();
    matches!(parameter.as_str(), "charset=utf-8" | "charset=\"utf-8\"" | "charset=us-ascii")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::client::body::range::unless_known;

    fn parts(pieces: &[usize], size: usize) -> Vec<usize> {
        let pieces: Vec<Result<Bytes>> =
            pieces.iter().map(|length| Ok(Bytes::from(vec![7; *length]))).collect();
        let mut outgoing = RequestBody {
            media_type: HeaderValue::from_static("text/plain"),
            pieces: Box::pin(stream::iter(pieces)),
        };
        let mut sizes = Vec::new();
        loop {
            let part = outgoing.part(size);
            let part = futures_util::FutureExt::now_or_never(part).unwrap().unwrap();
            sizes.push(part.len());
            if part.len() < size {
                return sizes;
            }
        }
    }

    #[test]
    fn pieces_become_parts() {
        assert_eq!(parts(&[], 4), [0]);
        assert_eq!(parts(&[3], 4), [3]);
        assert_eq!(parts(&[4], 4), [4, 0]);
        assert_eq!(parts(&[11], 4), [4, 4, 3]);
        assert_eq!(parts(&[1, 0, 2, 3, 9], 4), [4, 4, 4, 3]);
    }

    #[test]
    fn types_of_text() {
        let typed = |kind: &str| {
            let (body, kind) = whole(Bytes::from_static("ü".as_bytes()), Some(kind.to_string()));
            (matches!(body, Body::Text(_)), kind.unwrap())
        };
        assert_eq!(typed("text/html; charset=UTF-8"), (true, "text/html".into()));
        assert_eq!(typed("application/json"), (true, "application/json".into()));
        let latin = "text/plain; charset=latin1";
        assert_eq!(typed(latin), (false, latin.into()));
        assert_eq!(typed("image/png"), (false, "image/png".into()));
        assert!(matches!(
            whole(Bytes::from_static(b"\xff"), Some("text/x".into())).0,
            Body::Bytes(_)
        ));
    }

    #[test]
    fn tags_are_read_and_written() {
        for (field, tag) in [
            ("\"abc-2\"", Some(EntityTag::strong("abc-2"))),
            ("W/\"a\"", Some(EntityTag { text: "a".into(), weak: true })),
            ("abc", None),
            ("\"a\"b\"", None),
        ] {
            assert_eq!(entity_tag(field), tag);
            if let Some(tag) = tag {
                assert_eq!(unless_known(&tag).unwrap(), field);
            }
        }
    }
}
