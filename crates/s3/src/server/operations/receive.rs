//! Receives the content of an object or a part: small content into memory, large content into the
//! store, so that memory does not grow with it.

use crate::server::call::S3Call;
use crate::server::catalog::attributes::milliseconds;
use crate::server::catalog::attributes::{CHECKSUM, ETAG, MODIFIED, SIZE, StoredChecksum};
use crate::server::catalog::object_commit::DraftContent;
use crate::server::catalog::state::Catalog;
use crate::server::fault::{FaultCode, S3Fault, S3Result};
use crate::server::payload::body::PayloadBody;
use crate::server::payload::checksum::ChecksumAlgorithm;
use bytes::BytesMut;
use futures_util::StreamExt;
use runnel_store::{Attributes, Body, Metadata, Reference};
use std::time::SystemTime;

/// The largest object of one put, and the largest part, in bytes.
pub(crate) const PUT_LIMIT: u64 = 5 << 30;

/// Content up to this size, in bytes, is collected in memory.
const SMALL: u64 = 64 << 10;

/// Content that arrived whole and as it was announced.
pub(crate) struct ReceivedContent {
    pub(crate) content: DraftContent,
    pub(crate) length: u64,
    /// The MD5 in hexadecimal digits.
    pub(crate) etag: String,
    pub(crate) checksum: Option<StoredChecksum>,
}

impl ReceivedContent {
    /// Keeps what is known of the content among the attributes of an object.
    pub(crate) fn describe(&self, attributes: &mut Metadata, modified: SystemTime) {
        let mut set = |name: &str, value: String| attributes.insert(name.to_string(), value);
        set(ETAG, self.etag.clone());
        set(SIZE, self.length.to_string());
        set(MODIFIED, milliseconds(modified).to_string());
        if let Some(checksum) = &self.checksum {
            set(CHECKSUM, checksum.text());
        }
    }
}

/// Receives the body of a request. Large content is put at a reference.
pub(crate) async fn receive(call: &S3Call, at: &Reference) -> S3Result<ReceivedContent> {
    let payload = request_payload(call, Some(ChecksumAlgorithm::Crc64Nvme))?;
    receive_payload(&call.state.catalog, payload, at).await
}

/// The body of a request within the limit, with a checksum where the request has none.
pub(crate) fn request_payload(
    call: &S3Call,
    usual: Option<ChecksumAlgorithm>,
) -> S3Result<PayloadBody> {
    within_limit(call.payload(usual)?)
}

/// Refuses a body beyond the limit.
pub(crate) fn within_limit(payload: PayloadBody) -> S3Result<PayloadBody> {
    match payload.length {
        Some(length) if length > PUT_LIMIT => Err(too_large(length)),
        _ => Ok(payload),
    }
}

/// Receives content with its checks.
pub(crate) async fn receive_payload(
    catalog: &Catalog,
    payload: PayloadBody,
    at: &Reference,
) -> S3Result<ReceivedContent> {
    let PayloadBody { stream, length, checks } = payload;
    let is_small = length.is_some_and(|length| length <= SMALL);
    let content = if is_small {
        let mut stream = stream;
        let mut bytes = BytesMut::new();
        while let Some(piece) = stream.next().await {
            let piece = piece.map_err(|error| checks.fault().unwrap_or(error.into()))?;
            bytes.extend_from_slice(&piece);
        }
        DraftContent::Bytes(bytes.freeze())
    } else {
        let body = Body::Stream(stream, length);
        let put = catalog.contents.write(at, body, Attributes::default(), None).await;
        put.map_err(|error| checks.fault().unwrap_or(error.into()))?;
        DraftContent::Staged(at.clone())
    };
    Ok(ReceivedContent {
        content,
        length: checks.length(),
        etag: checks.md5().map_or_else(String::new, hex_digits),
        checksum: checks.checksum().as_ref().map(StoredChecksum::of),
    })
}

/// Bytes in hexadecimal digits.
fn hex_digits(bytes: [u8; 16]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The fault of content beyond the limit.
pub(crate) fn too_large(proposed: u64) -> S3Fault {
    S3Fault::new(FaultCode::EntityTooLarge)
        .with("ProposedSize", proposed.to_string())
        .with("MaxSizeAllowed", PUT_LIMIT.to_string())
}
