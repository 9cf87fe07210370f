//! One request as operations see it: what it asks of which bucket and key, who asks, and its body.

use super::access::users::{Requester, Users};
use super::bucket::record::BucketRecord;
use super::bucket::versioning::Versioning;
use super::catalog::state::Catalog;
use super::fault::{FaultCode, S3Fault, S3Result};
use super::payload::body::{BodyOptions, PayloadBody, body};
use super::payload::checksum::ChecksumAlgorithm;
use super::payload::plan::PayloadPlan;
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use http::{HeaderMap, Method};
use runnel_store::{Allowance, ByteStream};
use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Instant;

/// Who owns what is made on a server without users.
pub(crate) const ANONYMOUS: &str = "anonymous";

/// The largest document of a request, in bytes.
const DOCUMENT_LIMIT: usize = 4 << 20;

/// What all requests of a worker share.
pub(crate) struct ServerState {
    pub(crate) catalog: Catalog,
    pub(crate) users: Users,
    pub(crate) region: String,
    /// The host name below which buckets are hosts.
    pub(crate) host: Option<String>,
}

/// One request.
pub(crate) struct S3Call {
    pub(crate) state: Rc<ServerState>,
    pub(crate) method: Method,
    /// Empty for requests to the service.
    pub(crate) bucket: String,
    /// Empty for requests to a bucket.
    pub(crate) key: String,
    /// The decoded parameters in order.
    pub(crate) query: Vec<(String, String)>,
    pub(crate) headers: HeaderMap,
    pub(crate) requester: Requester,
    /// The record of the bucket, where it exists.
    pub(crate) record: Option<Rc<BucketRecord>>,
    pub(crate) body: RefCell<Option<CallBody>>,
    pub(crate) request_id: String,
    pub(crate) is_secure: bool,
    /// Whether the host names the bucket.
    pub(crate) is_host_style: bool,
    pub(crate) peer: SocketAddr,
    /// The operation as the API names it.
    pub(crate) operation: &'static str,
    pub(crate) deadline: Option<Instant>,
    pub(crate) allowance: Rc<Allowance>,
}

/// The body of a request as it was sent.
pub(crate) struct CallBody {
    pub(crate) raw: ByteStream,
    pub(crate) length: Option<u64>,
    pub(crate) plan: PayloadPlan,
}

impl S3Call {
    /// The first value of a parameter.
    pub(crate) fn parameter(&self, name: &str) -> Option<&str> {
        let found = self.query.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The first value of a parameter, where it is not empty.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.parameter(name).filter(|value| !value.is_empty())
    }

    /// A header field, where it is text and not empty.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let value = self.headers.get(name)?;
        std::str::from_utf8(value.as_bytes()).ok().filter(|text| !text.is_empty())
    }

    /// The version that is asked for; an empty one, which some clients send, is none.
    ///
    /// # Errors
    /// [`FaultCode::InvalidArgument`] for what cannot be one.
    pub(crate) fn version(&self) -> S3Result<Option<&str>> {
        let Some(version) = self.value("versionId") else { return Ok(None) };
        check_version(version)?;
        Ok(Some(version))
    }

    /// The owner of what the requester makes.
    pub(crate) fn owner(&self) -> &str {
        self.requester.key().unwrap_or(ANONYMOUS)
    }

    /// The record of the bucket.
    ///
    /// # Errors
    /// [`FaultCode::NoSuchBucket`].
    pub(crate) fn record(&self) -> S3Result<&Rc<BucketRecord>> {
        self.record.as_ref().ok_or_else(|| no_such_bucket(&self.bucket))
    }

    /// Whether the bucket keeps versions.
    pub(crate) fn versioning(&self) -> Versioning {
        self.record.as_ref().map_or(Versioning::Off, |record| record.versioning)
    }

    /// Whether the bucket ever kept versions.
    pub(crate) fn has_versions(&self) -> bool {
        self.versioning() != Versioning::Off
    }

    /// Whether the request has no signature, on a server with users.
    pub(crate) fn is_anonymous(&self) -> bool {
        self.requester.key().is_none() && !self.state.users.is_open()
    }

    /// The body with its checks, and a checksum where the request has none. It can be taken once.
    pub(crate) fn payload(&self, usual: Option<ChecksumAlgorithm>) -> S3Result<PayloadBody> {
        self.checked_payload(usual, &self.headers)
    }

    fn checked_payload(
        &self,
        usual: Option<ChecksumAlgorithm>,
        headers: &HeaderMap,
    ) -> S3Result<PayloadBody> {
        let taken = self.body.borrow_mut().take();
        let Some(taken) = taken else { return Err(FaultCode::InternalError.into()) };
        let options = BodyOptions { usual_checksum: usual, ..BodyOptions::default() };
        body(taken.plan, taken.raw, taken.length, headers, options)
    }

    /// The length of the body as it was announced.
    pub(crate) fn body_length(&self) -> Option<u64> {
        self.body.borrow().as_ref().and_then(|body| body.length)
    }

    /// The address of the object of the request.
    pub(crate) fn location(&self) -> String {
        self.location_at(self.header("host").unwrap_or_default())
    }

    /// The address of the object of the request at a host.
    pub(crate) fn location_at(&self, host: &str) -> String {
        let scheme = if self.is_secure { "https" } else { "http" };
        let key = super::xml::url_encode(&self.key).replace('+', "%20");
        match self.is_host_style {
            true => format!("{scheme}://{host}/{key}"),
            false => format!("{scheme}://{host}/{}/{key}", self.bucket),
        }
    }

    /// The body as a document, checked against the headers.
    ///
    /// # Errors
    /// [`FaultCode::MaxMessageLengthExceeded`], and those of the checks.
    pub(crate) async fn document(&self) -> S3Result<Bytes> {
        self.document_of(&self.headers).await
    }

    /// The body of an operation whose checksum headers are about an object: checked by its hash only.
    ///
    /// # Errors
    /// As [`S3Call::document`].
    pub(crate) async fn document_about_object(&self) -> S3Result<Bytes> {
        let mut headers = self.headers.clone();
        ChecksumAlgorithm::all().for_each(|algorithm| drop(headers.remove(algorithm.header())));
        self.document_of(&headers).await
    }

    async fn document_of(&self, headers: &HeaderMap) -> S3Result<Bytes> {
        let mut payload = self.checked_payload(None, headers)?;
        let mut document = BytesMut::new();
        while let Some(piece) = payload.stream.next().await {
            let piece = piece.map_err(|error| payload.checks.fault().unwrap_or(error.into()))?;
            if document.len() + piece.len() > DOCUMENT_LIMIT {
                return Err(FaultCode::MaxMessageLengthExceeded.into());
            }
            document.extend_from_slice(&piece);
        }
        Ok(document.freeze())
    }
}

/// Refuses a version that no object can have.
pub(crate) fn check_version(version: &str) -> S3Result<()> {
    let is_one =
        version == "null" || super::catalog::version_id::VersionId::read(version).is_some();
    match is_one {
        true => Ok(()),
        false => Err(invalid_argument("Invalid version id specified", "versionId", version)),
    }
}

/// The fault of an argument with its name and its value.
pub(crate) fn invalid_argument(
    message: impl Into<std::borrow::Cow<'static, str>>,
    name: &str,
    value: &str,
) -> S3Fault {
    S3Fault::new(FaultCode::InvalidArgument)
        .because(message)
        .with("ArgumentName", name)
        .with("ArgumentValue", value)
}

/// The fault of a bucket that does not exist.
pub(crate) fn no_such_bucket(bucket: &str) -> S3Fault {
    S3Fault::new(FaultCode::NoSuchBucket).with("BucketName", bucket)
}

/// The fault of a header that means something that this server does not do.
pub(crate) fn not_implemented(header: &str, message: &str) -> S3Fault {
    S3Fault::new(FaultCode::NotImplemented)
        .with("Header", header)
        .with("additionalMessage", message)
}
