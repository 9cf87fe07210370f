//! CreateMultipartUpload and AbortMultipartUpload.

use crate::server::bucket::acl::check_object_headers;
use crate::server::call::S3Call;
use crate::server::catalog::attributes::milliseconds;
use crate::server::catalog::uploads::{UploadRecord, new_upload_id};
use crate::server::fault::{FaultCode, S3Fault, S3Result};
use crate::server::operations::objects::conditions::{failed, past_date};
use crate::server::operations::objects::fields::NewFields;
use crate::server::payload::checksum::{ChecksumAlgorithm, ChecksumType};
use crate::server::reply::S3Reply;
use crate::server::xml::XmlWriter;
use http::StatusCode;
use std::rc::Rc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// When the upload began, in milliseconds since 1970.
const INITIATED: &str = "s3-initiated";
/// The checksum of the upload: `CRC32 COMPOSITE`.
const ALGORITHM: &str = "s3-upload-checksum";

/// The checksum that an upload asks for.
pub(crate) type UploadChecksum = (ChecksumAlgorithm, ChecksumType);

/// Begins an upload.
pub(crate) async fn create_upload(call: Rc<S3Call>) -> S3Result<S3Reply> {
    check_object_headers(&call.headers)?;
    call.record()?;
    let mut fields = NewFields::of(&call)?;
    let checksum = wanted_checksum(&call)?;
    if let Some((algorithm, kind)) = checksum {
        let text = format!("{} {}", algorithm.name(), kind.name());
        fields.attributes.insert(ALGORITHM.to_string(), text);
    }
    let now = milliseconds(SystemTime::now()).to_string();
    fields.attributes.insert(INITIATED.to_string(), now);
    let upload = UploadRecord {
        key: call.key.clone(),
        id: new_upload_id(),
        attributes: fields.attributes,
        media_type: Some(fields.media_type),
    };
    call.state.catalog.create_upload(&call.bucket, &upload).await?;
    let document = XmlWriter::document("InitiateMultipartUploadResult", |xml| {
        xml.text("Bucket", &call.bucket);
        xml.text("Key", &call.key);
        xml.text("UploadId", &upload.id);
    });
    let mut reply = S3Reply::xml(document);
    if let Some((algorithm, kind)) = checksum {
        reply.set("x-amz-checksum-algorithm", algorithm.name());
        reply.set("x-amz-checksum-type", kind.name());
    }
    Ok(reply)
}

/// Forgets an upload with its parts.
pub(crate) async fn abort_upload(call: Rc<S3Call>) -> S3Result<S3Reply> {
    let upload = find_upload(&call).await?;
    let expected = call.header("x-amz-if-match-initiated-time").and_then(past_date);
    let seconds = |time: SystemTime| milliseconds(time) / 1_000;
    if expected.is_some_and(|time| seconds(time) != seconds(upload.initiated())) {
        return Err(failed("If-Match-Initiated-Time"));
    }
    call.state.catalog.remove_upload(&call.bucket, &call.key, &upload.id).await?;
    Ok(S3Reply::empty(StatusCode::NO_CONTENT))
}

/// The upload that a request names.
pub(crate) async fn find_upload(call: &S3Call) -> S3Result<UploadRecord> {
    call.record()?;
    let id = call.parameter("uploadId").unwrap_or_default();
    let upload = call.state.catalog.upload(&call.bucket, &call.key, id).await?;
    upload.ok_or_else(|| no_such_upload(id))
}

/// The fault of an upload that does not exist.
pub(crate) fn no_such_upload(id: &str) -> S3Fault {
    S3Fault::new(FaultCode::NoSuchUpload).with("UploadId", id)
}

impl UploadRecord {
    /// When the upload began.
    pub(crate) fn initiated(&self) -> SystemTime {
        let text = self.attributes.get(INITIATED).and_then(|text| text.parse().ok());
        UNIX_EPOCH + Duration::from_millis(text.unwrap_or_default())
    }

    /// The checksum that was asked for.
    pub(crate) fn checksum(&self) -> Option<UploadChecksum> {
        let (algorithm, kind) = self.attributes.get(ALGORITHM)?.split_once(' ')?;
        Some((ChecksumAlgorithm::of_name(algorithm)?, ChecksumType::of_name(kind)?))
    }

    /// What the object keeps of the upload.
    pub(crate) fn object_fields(&self) -> NewFields {
        let mut attributes = self.attributes.clone();
        attributes.remove(INITIATED);
        attributes.remove(ALGORITHM);
        let media_type = self.media_type.clone().unwrap_or_default();
        NewFields { media_type, attributes }
    }
}

/// The checksum that the headers ask for.
fn wanted_checksum(call: &S3Call) -> S3Result<Option<UploadChecksum>> {
    let algorithm = match call.header("x-amz-checksum-algorithm") {
        None => None,
        Some(name) => {
            let algorithm = ChecksumAlgorithm::of_name(name);
            Some(algorithm.ok_or_else(crate::server::payload::asked::unknown_algorithm)?)
        }
    };
    let kind = match call.header("x-amz-checksum-type") {
        None => None,
        Some(name) => Some(read_checksum_type(name)?),
    };
    let invalid = |words: String| S3Fault::new(FaultCode::InvalidRequest).because(words);
    match (algorithm, kind) {
        (None, None) => Ok(None),
        (None, Some(_)) => {
            let words = "The x-amz-checksum-type header can only be used with the \
                         x-amz-checksum-algorithm header.";
            Err(invalid(words.to_string()))
        }
        (Some(algorithm), Some(kind)) if !algorithm.supports(kind) => {
            let name = algorithm.name().to_ascii_lowercase();
            Err(invalid(format!(
                "The {} checksum type cannot be used with the {name} checksum algorithm.",
                kind.name()
            )))
        }
        (Some(algorithm), kind) => {
            Ok(Some((algorithm, kind.unwrap_or_else(|| algorithm.usual_type()))))
        }
    }
}

/// The type of a checksum by its word.
pub(crate) fn read_checksum_type(name: &str) -> S3Result<ChecksumType> {
    let invalid = || crate::server::payload::asked::invalid_header("x-amz-checksum-type");
    ChecksumType::of_name(name).ok_or_else(invalid)
}
