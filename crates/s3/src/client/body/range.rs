//! Parts of an object, for those who do not want all of it.

use crate::client::endpoint::{S3Request, S3Server};
use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use http::{HeaderValue, Method, StatusCode, header};
use runnel_http::Received;
use runnel_store::{ByteStream, EntityTag, Error, Kind, Reference, Result, Verb};
use std::sync::Arc;
use std::time::Instant;

/// An object of which parts can be asked for, as long as it is the same one.
pub(crate) struct ObjectParts {
    pub(crate) server: Arc<S3Server>,
    pub(crate) bucket: String,
    pub(crate) key: String,
    pub(crate) tag: EntityTag,
    pub(crate) reference: Reference,
    pub(crate) deadline: Option<Instant>,
}

impl ObjectParts {
    /// A part of the object as a stream (RFC 9110 section 14.2). The server is asked by the first
    /// read.
    pub(crate) fn part(self: Arc<Self>, from: u64, length: u64) -> ByteStream {
        if length == 0 {
            return Box::pin(stream::empty());
        }
        let opened = async move { self.open(from, length).await };
        Box::pin(stream::once(opened).try_flatten())
    }

    async fn open(&self, from: u64, length: u64) -> Result<ByteStream> {
        let opened = self.ask(from, length).await;
        let stream = opened.map_err(|error| error.on(Verb::Get, &self.reference))?;
        Ok(counted(stream, length, self.reference.clone()))
    }

    async fn ask(&self, from: u64, length: u64) -> Result<ByteStream> {
        let mut ask = S3Request::new(Method::GET, &self.bucket, &self.key);
        let range = format!("bytes={from}-{}", from.saturating_add(length - 1));
        if let Ok(range) = HeaderValue::try_from(range) {
            ask.headers.insert(header::RANGE, range);
        }
        if let Some(tag) = unless_known(&self.tag) {
            ask.headers.insert(header::IF_MATCH, tag);
        }
        let response = self.server.send(&ask, self.deadline).await?;
        match response.status() {
            StatusCode::PARTIAL_CONTENT => Ok(pieces(response.into_body(), self.reference.clone())),
            StatusCode::PRECONDITION_FAILED | StatusCode::NOT_FOUND => {
                let message = "the object was changed while it was read";
                Err(Error::new(Kind::Conflict, message).with_temporary(true))
            }
            status if status.is_success() => {
                Err(Error::new(Kind::Failed, "the server does not answer with parts of objects"))
            }
            _ => Err(self.server.refused(response, Some(&self.bucket), self.deadline).await),
        }
    }
}

/// Fails where a part is shorter or longer than asked for.
fn counted(part: ByteStream, length: u64, reference: Reference) -> ByteStream {
    let wrong = move || {
        let message = "the server sent another part of the object than it was asked for";
        Error::new(Kind::Failed, message).on(Verb::Get, &reference)
    };
    let next = move |(mut part, left): (ByteStream, Option<u64>)| {
        let wrong = wrong.clone();
        async move {
            let left = left?;
            let piece: Option<Result<Bytes>> = part.next().await;
            match piece {
                Some(Ok(piece)) => match left.checked_sub(piece.len() as u64) {
                    Some(left) => Some((Ok(piece), (part, Some(left)))),
                    None => Some((Err(wrong()), (part, None))),
                },
                Some(Err(error)) => Some((Err(error), (part, None))),
                None if left > 0 => Some((Err(wrong()), (part, None))),
                None => None,
            }
        }
    };
    Box::pin(stream::unfold((part, Some(length)), next))
}

/// The body of an answer as a stream, with the reference in its errors.
pub(crate) fn pieces(body: Received, reference: Reference) -> ByteStream {
    Box::pin(stream::unfold(Some(body), move |body| {
        let reference = reference.clone();
        async move {
            let mut body = body?;
            match body.next().await? {
                Ok(piece) => Some((Ok(piece), Some(body))),
                Err(error) => Some((Err(Error::from(error).on(Verb::Get, &reference)), None)),
            }
        }
    }))
}

/// The headers that make a read conditional on a change of the known object.
pub(crate) fn unless_known(tag: &EntityTag) -> Option<HeaderValue> {
    let weak = if tag.weak { "W/" } else { "" };
    HeaderValue::from_str(&format!("{weak}\"{}\"", tag.text.as_str())).ok()
}
