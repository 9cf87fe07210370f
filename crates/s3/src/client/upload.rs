//! Writing an object: in one request, or in parts.

use crate::client::attributes;
use crate::client::body::{self, RequestBody};
use crate::client::endpoint::{COPY_IF_MATCH, S3Request, S3Server};
use crate::client::fault::{self, S3Refusal};
use crate::client::settings;
use crate::client::xml;
use http::header::{self, HeaderMap, HeaderValue};
use http::{Method, StatusCode};
use object_store::aws::AwsCredential;
use runnel_store::{Attributes, Content, Error, Kind, Result};
use runnel_text::escape;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::oneshot;

/// Content up to this size goes in one request, larger content in parts of this size, of which one
/// is in memory at once. After each thousand parts they grow by as much.
pub const PART: usize = 8 * 1024 * 1024;

/// The most parts of an object (a limit of S3): 430 GiB.
pub const PARTS: usize = 10_000;

/// The most that is read of the answers about an upload, in bytes.
const ANSWER_SIZE: usize = 64 * 1024;

/// Replaces or creates an object, where the condition that the headers say holds.
pub(crate) async fn put(
    server: &Arc<S3Server>,
    bucket: &str,
    key: &str,
    content: Content,
    condition: HeaderMap,
    deadline: Option<Instant>,
) -> Result<()> {
    let mut headers = attributes::headers(content.metadata.as_deref());
    let mut outgoing = RequestBody::read(content, key).await?;
    let once = !condition.is_empty();
    headers.insert(header::CONTENT_TYPE, outgoing.media_type.clone());
    let first = within(deadline, outgoing.part(PART)).await?;
    if first.len() < PART {
        headers.extend(condition);
        let ask =
            S3Request { headers, body: first, once, ..S3Request::new(Method::PUT, bucket, key) };
        server.succeed(&ask, deadline).await?;
        return Ok(());
    }
    let mut upload = MultipartUpload::begin(server, bucket, key, headers, deadline).await?;
    let mut part = first;
    let sent = loop {
        let is_last = part.len() < size_of_part(upload.parts.len());
        if !part.is_empty()
            && let Err(error) = upload.send(part, deadline).await
        {
            break Err(error);
        }
        if is_last {
            break Ok(());
        }
        match within(deadline, outgoing.part(size_of_part(upload.parts.len()))).await {
            Ok(next) => part = next,
            Err(error) => break Err(error),
        }
    };
    match sent {
        Ok(()) => upload.complete(condition, deadline).await,
        Err(error) => {
            upload.give_up().await;
            Err(error)
        }
    }
}

/// Replaces the attributes of an object: a copy onto itself, which the server makes within itself.
/// S3 does so up to 5 GB.
pub(crate) async fn annotate(
    server: &S3Server,
    (bucket, key): (&str, &str),
    attributes: &Attributes,
    only_if: Option<HeaderValue>,
    deadline: Option<Instant>,
) -> Result<()> {
    let mut headers = attributes::headers(attributes.metadata.as_deref());
    let given = attributes.media_type.as_deref();
    headers.insert(header::CONTENT_TYPE, body::media_type(given, key, "application/octet-stream"));
    let source = settings::copy_source(bucket, key);
    let source = HeaderValue::try_from(source)
        .map_err(|_| Error::new(Kind::Invalid, "the key cannot be the source of a copy"))?;
    headers.insert("x-amz-copy-source", source);
    headers.insert("x-amz-metadata-directive", HeaderValue::from_static("REPLACE"));
    if let Some(tag) = only_if {
        headers.insert(COPY_IF_MATCH, tag);
    }
    let ask = S3Request { headers, once: true, ..S3Request::new(Method::PUT, bucket, key) };
    let response = server.succeed(&ask, deadline).await?;
    let answer = server.text(response, ANSWER_SIZE, deadline).await;
    answer.and_then(|answer| outcome(&answer, bucket)).map_err(|error| ask.lost(error))
}

/// The outcome of a step whose status is sent before its end. The body then tells.
fn outcome(answer: &str, bucket: &str) -> Result<()> {
    if xml::elements(answer, "ETag").next().is_some() {
        return Ok(());
    }
    if xml::elements(answer, "Code").next().is_none() {
        return Err(fault::garbage("the end of a write", answer));
    }
    let status = StatusCode::INTERNAL_SERVER_ERROR;
    Err(fault::of_refusal(&S3Refusal { status, body: answer, region: None, bucket: Some(bucket) }))
}

fn size_of_part(number: usize) -> usize {
    PART * (1 + number / 1000)
}

/// Reading what is to be written ends at the caller's deadline too.
async fn within<T>(
    deadline: Option<Instant>,
    reading: impl Future<Output = Result<T>>,
) -> Result<T> {
    let Some(deadline) = deadline else { return reading.await };
    tokio::time::timeout_at(deadline.into(), reading).await.unwrap_or_else(|_| {
        Err(Error::new(Kind::Timeout, "what was to be written did not get there in time"))
    })
}

/// A multipart upload. Dropping it before it is complete aborts it.
struct MultipartUpload {
    server: Arc<S3Server>,
    bucket: String,
    key: String,
    id: String,
    /// For aborting the upload without its caller.
    credential: Option<Arc<AwsCredential>>,
    /// The entity tags of the parts, as they were said.
    parts: Vec<String>,
    is_over: bool,
}

impl MultipartUpload {
    /// Begins one, in a task of its own: a caller who goes away in the middle must not leave behind
    /// what only the answer names.
    async fn begin(
        server: &Arc<S3Server>,
        bucket: &str,
        key: &str,
        headers: HeaderMap,
        deadline: Option<Instant>,
    ) -> Result<MultipartUpload> {
        let (server, bucket, key) = (server.clone(), bucket.to_string(), key.to_string());
        let (sender, receiver) = oneshot::channel();
        tokio::task::spawn_local(async move {
            // The caller may be gone: the upload is then dropped here, and so aborted.
            drop(sender.send(MultipartUpload::begun(server, bucket, key, headers).await));
        });
        let begun = async {
            let gone = |_| Error::new(Kind::Cancelled, "the program ends");
            receiver.await.map_err(gone)?
        };
        within(deadline, begun).await
    }

    async fn begun(
        server: Arc<S3Server>,
        bucket: String,
        key: String,
        headers: HeaderMap,
    ) -> Result<MultipartUpload> {
        let credential = server.settings.credentials.now().await?;
        let query = &[("uploads", "")];
        let ask =
            S3Request { query, headers, once: true, ..S3Request::new(Method::POST, &bucket, &key) };
        let response = server.succeed(&ask, None).await?;
        let answer = server.text(response, ANSWER_SIZE, None).await?;
        let id = xml::text(&answer, "UploadId").filter(|id| !id.is_empty());
        let id = id.ok_or_else(|| fault::garbage("the name of an upload", &answer))?;
        Ok(MultipartUpload {
            server,
            bucket,
            key,
            id,
            credential,
            parts: Vec::new(),
            is_over: false,
        })
    }

    async fn send(&mut self, part: bytes::Bytes, deadline: Option<Instant>) -> Result<()> {
        if self.parts.len() == PARTS {
            let message = format!("the content has more than {PARTS} parts");
            return Err(Error::new(Kind::TooLarge, message));
        }
        let number = (self.parts.len() + 1).to_string();
        let query = &[("partNumber", number.as_str()), ("uploadId", self.id.as_str())];
        let ask =
            S3Request { query, body: part, ..S3Request::new(Method::PUT, &self.bucket, &self.key) };
        let response = self.server.succeed(&ask, deadline).await?;
        let tag = response.headers().get(header::ETAG).and_then(|tag| tag.to_str().ok());
        let tag = tag.ok_or_else(|| fault::garbage("the tag of a part", ""))?;
        self.parts.push(tag.to_string());
        Ok(())
    }

    /// Makes the object of the parts.
    async fn complete(mut self, condition: HeaderMap, deadline: Option<Instant>) -> Result<()> {
        let mut list = String::from(
            "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">",
        );
        for (number, tag) in self.parts.iter().enumerate() {
            let (number, tag) = (number + 1, escape::xml(tag));
            list.push_str(&format!(
                "<Part><PartNumber>{number}</PartNumber><ETag>{tag}</ETag></Part>"
            ));
        }
        list.push_str("</CompleteMultipartUpload>");
        let completed = self.say_complete(list, condition, deadline).await;
        match completed {
            Ok(()) => self.is_over = true,
            Err(_) => self.give_up().await,
        }
        completed
    }

    /// The status is 200 long before the outcome is known, which the body then tells.
    async fn say_complete(
        &self,
        list: String,
        condition: HeaderMap,
        deadline: Option<Instant>,
    ) -> Result<()> {
        let query = &[("uploadId", self.id.as_str())];
        let mut headers = condition;
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/xml"));
        let body = list.into();
        let ask = S3Request {
            query,
            headers,
            body,
            once: true,
            ..S3Request::new(Method::POST, &self.bucket, &self.key)
        };
        let response = self.server.succeed(&ask, deadline).await?;
        let answer = self.server.late_text(response, ANSWER_SIZE, deadline).await;
        answer.and_then(|answer| outcome(&answer, &self.bucket)).map_err(|error| ask.lost(error))
    }

    /// Aborts the upload and waits for that.
    async fn give_up(&mut self) {
        let query = &[("uploadId", self.id.as_str())];
        let ask = S3Request { query, ..S3Request::new(Method::DELETE, &self.bucket, &self.key) };
        match self.server.succeed(&ask, None).await {
            Ok(_) => {}
            Err(error) if error.kind == Kind::Conflict => {}
            Err(error) => {
                tracing::warn!(%error, "an upload that was given up could not be removed");
            }
        }
        self.is_over = true;
    }
}

impl Drop for MultipartUpload {
    fn drop(&mut self) {
        if !self.is_over {
            let query = &[("uploadId", self.id.as_str())];
            let ask =
                S3Request { query, ..S3Request::new(Method::DELETE, &self.bucket, &self.key) };
            self.server.send_aside(&ask, self.credential.as_deref());
        }
    }
}
