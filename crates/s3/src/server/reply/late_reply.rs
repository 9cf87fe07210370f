//! Answers of operations that can take longer than clients wait: while one runs, white space keeps the
//! connection alive.
//!
//! The status is 200 then, before the outcome is known, and a fault is the document of the body.
//! Fields that the answer would have, such as the version, are left out.
//!
//! Source: Amazon S3 API reference, "CompleteMultipartUpload" and "CopyObject".

use super::S3Reply;
use crate::server::fault::S3Result;
use crate::server::route::ReplyFuture;
use crate::server::xml::DECLARATION;
use bytes::Bytes;
use futures_util::stream;
use http::Method;
use runnel_http::HandlerResponse;
use runnel_store::{Body, ByteStream};
use std::time::Duration;
use tokio::time::timeout;

/// The longest time without a byte. Clients wait for 10 seconds at least.
pub(crate) const SILENCE: Duration = Duration::from_secs(5);

/// What an answer says of its request.
pub(crate) struct ReplyContext {
    pub(crate) method: Method,
    pub(crate) resource: String,
    pub(crate) request_id: String,
}

impl ReplyContext {
    /// The response to an operation that has ended.
    pub(crate) fn response(&self, outcome: S3Result<S3Reply>) -> HandlerResponse {
        let reply = outcome.unwrap_or_else(S3Reply::fault);
        reply.into_response(&self.method, &self.resource, &self.request_id)
    }
}

/// The response to an operation that is running.
pub(crate) async fn answer(
    mut running: ReplyFuture,
    context: ReplyContext,
    silence: Duration,
) -> HandlerResponse {
    if let Ok(outcome) = timeout(silence, &mut running).await {
        return context.response(outcome);
    }
    let mut response = context.response(Ok(S3Reply::xml(String::new())));
    response.body = Body::Stream(kept_alive(running, context, silence), None);
    response
}

/// The document of an operation that is running, after white space. Its declaration comes first, as
/// nothing may precede it.
fn kept_alive(running: ReplyFuture, context: ReplyContext, silence: Duration) -> ByteStream {
    let begun = stream::once(async { Ok(Bytes::from_static(DECLARATION.as_bytes())) });
    let rest = stream::unfold(Some((running, context)), move |state| async move {
        let (mut running, context) = state?;
        match timeout(silence, &mut running).await {
            Err(_) => Some((Ok(Bytes::from_static(b" ")), Some((running, context)))),
            Ok(outcome) => Some((Ok(document(&context, outcome)), None)),
        }
    });
    Box::pin(stream::StreamExt::chain(begun, rest))
}

/// The document of an outcome without its declaration.
fn document(context: &ReplyContext, outcome: S3Result<S3Reply>) -> Bytes {
    let text = match context.response(outcome).body {
        Body::Text(text) => text.into_bytes(),
        _ => Bytes::new(),
    };
    match text.strip_prefix(DECLARATION.as_bytes()) {
        Some(rest) => text.slice_ref(rest),
        None => text,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::server::fault::FaultCode;
    use futures_util::StreamExt;
    use http::StatusCode;
    use tokio::sync::oneshot::{Receiver, Sender, channel};

    /// An operation that ends with what the sender sends.
    fn operation() -> (Sender<S3Result<S3Reply>>, ReplyFuture) {
        let (end, ended): (_, Receiver<S3Result<S3Reply>>) = channel();
        (end, Box::pin(async { ended.await.unwrap() }))
    }

    /// What is answered to an operation that ends after the first white space.
    async fn late_answer(outcome: S3Result<S3Reply>) -> (StatusCode, String) {
        let (end, running) = operation();
        let context = ReplyContext {
            method: Method::POST,
            resource: "/bucket/key".to_string(),
            request_id: "1".to_string(),
        };
        let response = answer(running, context, Duration::from_millis(1)).await;
        let Body::Stream(mut pieces, None) = response.body else { panic!("no stream") };
        let mut sent = Vec::new();
        let (mut end, mut outcome) = (Some(end), Some(outcome));
        while let Some(piece) = pieces.next().await {
            let piece = piece.unwrap();
            if piece == " "
                && let (Some(end), Some(outcome)) = (end.take(), outcome.take())
            {
                assert!(end.send(outcome).is_ok());
            }
            sent.extend_from_slice(&piece);
        }
        (response.status, String::from_utf8(sent).unwrap())
    }

    #[tokio::test]
    async fn white_space_comes_between_the_declaration_and_the_document() {
        let document = format!("{DECLARATION}<Done/>");
        let (status, text) = late_answer(Ok(S3Reply::xml(document))).await;
        assert_eq!(status, StatusCode::OK);
        let rest = text.strip_prefix(DECLARATION).unwrap();
        assert!(rest.starts_with(' '), "{text}");
        assert_eq!(rest.trim_start(), "<Done/>");
    }

    #[tokio::test]
    async fn a_late_fault_is_the_document() {
        let (status, text) = late_answer(Err(FaultCode::InvalidPart.into())).await;
        assert_eq!(status, StatusCode::OK);
        let rest = text.strip_prefix(DECLARATION).unwrap().trim_start();
        assert!(rest.starts_with("<Error><Code>InvalidPart</Code>"), "{text}");
    }

    #[tokio::test]
    async fn an_answer_in_time_is_as_it_was() {
        let context = ReplyContext {
            method: Method::POST,
            resource: "/bucket/key".to_string(),
            request_id: "1".to_string(),
        };
        let running: ReplyFuture = Box::pin(std::future::ready(Err(FaultCode::InvalidPart.into())));
        assert_eq!(answer(running, context, SILENCE).await.status, StatusCode::BAD_REQUEST);
    }
}
