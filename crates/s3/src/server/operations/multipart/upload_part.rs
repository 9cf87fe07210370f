//! UploadPart and UploadPartCopy: one part of an upload, from the request or from another object.

use super::create::{UploadChecksum, find_upload};
use crate::server::call::{S3Call, invalid_argument};
use crate::server::catalog::attributes::StoredChecksum;
use crate::server::catalog::layout;
use crate::server::catalog::object_commit::DraftContent;
use crate::server::catalog::state::Catalog;
use crate::server::catalog::uploads::{PartRecord, UploadRecord};
use crate::server::fault::{FaultCode, S3Fault, S3Result};
use crate::server::operations::objects::copy_object::{as_stream, result};
use crate::server::operations::objects::copy_source::CopySource;
use crate::server::operations::objects::ranges::{ByteRange, cut};
use crate::server::operations::receive::{
    PUT_LIMIT, ReceivedContent, receive_payload, request_payload, too_large,
};
use crate::server::payload::asked::AskedChecks;
use crate::server::payload::body::{BodyOptions, PayloadBody, body};
use crate::server::payload::checksum::{Checksum, ChecksumAlgorithm, ChecksumHasher, ChecksumType};
use crate::server::payload::plan::PayloadPlan;
use crate::server::reply::S3Reply;
use futures_util::{TryStreamExt, stream};
use http::{HeaderMap, StatusCode};
use runnel_store::{Attributes, Body};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::SystemTime;

/// Most parts of an upload.
const PARTS: u32 = 10_000;

/// Receives a part.
pub(crate) async fn upload_part(call: Rc<S3Call>) -> S3Result<S3Reply> {
    let number = part_number(&call)?;
    let asked = AskedChecks::read(&call.headers)?;
    let upload = find_upload(&call).await?;
    let wanted = upload.checksum();
    check_algorithm(wanted, asked.algorithm())?;
    let usual = wanted.map_or(ChecksumAlgorithm::Crc64Nvme, |(algorithm, _)| algorithm);
    let mut payload = request_payload(&call, Some(usual))?;
    // Without a checksum of the upload, the CRC64NVME of each part makes that of the object.
    let is_counted = wanted.is_none() && asked.algorithm().is_some();
    let crc64 = is_counted.then(|| count_crc64(&mut payload));
    let data = Catalog::new_part_data(number);
    let at = layout::part_data(&call.bucket, &upload.id).join(&data);
    let received = receive_payload(&call.state.catalog, payload, &at).await?;
    let etag = received.etag.clone();
    let checksum = received.checksum.clone();
    let crc64 = crc64.map(|hasher| hasher.take().finish().text());
    let sums = PartSums { is_own: asked.algorithm().is_some(), crc64 };
    keep(&call, &upload, number, received, data, sums).await?;
    let mut reply = S3Reply::empty(StatusCode::OK);
    reply.set("etag", &format!("\"{etag}\""));
    // The usual checksum of a part is internal.
    if let Some(checksum) = checksum
        && (wanted.is_some() || asked.algorithm().is_some())
    {
        reply.set(checksum.algorithm.header(), &checksum.value);
    }
    Ok(reply)
}

/// Copies an object, or a range of it, into a part.
pub(crate) async fn upload_part_copy(call: Rc<S3Call>) -> S3Result<S3Reply> {
    let number = part_number(&call)?;
    if call.body_length().is_none_or(|length| length > 0) {
        let words = "The request included a body. Requests of this type must not include a \
                     non-empty body.";
        return Err(S3Fault::new(FaultCode::InvalidRequest).because(words));
    }
    let source = CopySource::find(&call).await?;
    let upload = find_upload(&call).await?;
    let length = source.found.info.length;
    let range = match call.header("x-amz-copy-source-range") {
        Some(text) => ByteRange::of_source(text, length)?,
        None => ByteRange { from: 0, length },
    };
    if range.length > PUT_LIMIT {
        return Err(too_large(range.length));
    }
    let version = source.version().map(String::from);
    let wanted = upload.checksum().map(|(algorithm, _)| algorithm);
    let usual = wanted.unwrap_or(ChecksumAlgorithm::Crc64Nvme);
    let stream = as_stream(cut(source.found.content.body, range));
    let usual_checksum = Some(usual);
    let options = BodyOptions { usual_checksum, is_sent: false, ..BodyOptions::default() };
    let payload =
        body(PayloadPlan::Unsigned, stream, Some(range.length), &HeaderMap::new(), options)?;
    let data = Catalog::new_part_data(number);
    let at = layout::part_data(&call.bucket, &upload.id).join(&data);
    let received = receive_payload(&call.state.catalog, payload, &at).await?;
    let etag = received.etag.clone();
    let shown = received.checksum.clone().filter(|_| wanted.is_some());
    let sums = PartSums { is_own: false, crc64: None };
    keep(&call, &upload, number, received, data, sums).await?;
    let mut reply = S3Reply::xml(result("CopyPartResult", &etag, shown.as_ref()));
    reply.set_some("x-amz-copy-source-version-id", version.as_deref());
    Ok(reply)
}

fn part_number(call: &S3Call) -> S3Result<u32> {
    let text = call.parameter("partNumber").unwrap_or_default();
    let number = text.parse().ok().filter(|number| (1..=PARTS).contains(number));
    number.ok_or_else(|| {
        let words = "Part number must be an integer between 1 and 10000, inclusive.";
        invalid_argument(words, "partNumber", text)
    })
}

/// Refuses a checksum of another algorithm than that of the upload.
fn check_algorithm(
    upload: Option<UploadChecksum>,
    part: Option<ChecksumAlgorithm>,
) -> S3Result<()> {
    let name =
        |algorithm: Option<ChecksumAlgorithm>| algorithm.map_or("null", ChecksumAlgorithm::name);
    let is_fit = match (upload, part) {
        (Some((algorithm, _)), Some(part)) => algorithm == part,
        // Parts of a checksum of checksums need one each.
        (Some((_, ChecksumType::Composite)), None) => false,
        _ => true,
    };
    if is_fit {
        return Ok(());
    }
    let expected = name(upload.map(|(algorithm, _)| algorithm));
    let words = format!(
        "Checksum Type mismatch occurred, expected checksum Type: {expected}, actual checksum \
         Type: {}",
        name(part)
    );
    Err(S3Fault::new(FaultCode::InvalidRequest).because(words))
}

/// A CRC64NVME that is being calculated.
type Crc64Counter = Rc<RefCell<Crc64Sum>>;

/// Calculates the CRC64NVME of a body, too.
fn count_crc64(payload: &mut PayloadBody) -> Crc64Counter {
    let counter = Crc64Counter::default();
    let counting = counter.clone();
    let stream = std::mem::replace(&mut payload.stream, Box::pin(stream::empty()));
    payload.stream =
        Box::pin(stream.inspect_ok(move |piece| counting.borrow_mut().0.update(piece)));
    counter
}

struct Crc64Sum(ChecksumHasher);

impl Default for Crc64Sum {
    fn default() -> Self {
        Crc64Sum(ChecksumHasher::new(ChecksumAlgorithm::Crc64Nvme))
    }
}

impl Crc64Sum {
    fn finish(self) -> Checksum {
        self.0.finish()
    }
}

/// What is known of the checksums of a part.
struct PartSums {
    /// Whether the client sent the checksum.
    is_own: bool,
    crc64: Option<String>,
}

/// Keeps a part that was received.
async fn keep(
    call: &S3Call,
    upload: &UploadRecord,
    number: u32,
    received: ReceivedContent,
    data: String,
    sums: PartSums,
) -> S3Result<()> {
    let catalog = &call.state.catalog;
    let bucket = call.bucket.as_str();
    if let DraftContent::Bytes(bytes) = received.content {
        let at = layout::part_data(bucket, &upload.id).join(&data);
        catalog.contents.write(&at, Body::Bytes(bytes), Attributes::default(), None).await?;
    }
    let checksum = received.checksum;
    let is_crc64 = |sum: &StoredChecksum| sum.algorithm == ChecksumAlgorithm::Crc64Nvme;
    let part = PartRecord {
        number,
        etag: received.etag,
        length: received.length,
        modified: SystemTime::now(),
        crc64: sums
            .crc64
            .or_else(|| checksum.as_ref().filter(|sum| is_crc64(sum)).map(|sum| sum.value.clone())),
        checksum: checksum.filter(|_| sums.is_own || upload.checksum().is_some()),
        data,
    };
    catalog.keep_part(bucket, &upload.id, &part).await?;
    // An upload that was completed or aborted meanwhile has no parts.
    if catalog.upload(bucket, &upload.key, &upload.id).await?.is_none() {
        catalog.remove_upload(bucket, &upload.key, &upload.id).await?;
        return Err(super::create::no_such_upload(&upload.id));
    }
    Ok(())
}
