//! ListBuckets, HeadBucket and GetBucketLocation.

use crate::server::call::{S3Call, invalid_argument};
use crate::server::fault::{FaultCode, S3Result};
use crate::server::operations::listing::list_objects::write_owner;
use crate::server::options::DEFAULT_REGION;
use crate::server::reply::{S3Reply, iso_time};
use crate::server::target::is_bucket_name;
use crate::server::xml::XmlWriter;
use http::StatusCode;
use std::rc::Rc;
use std::time::{Duration, UNIX_EPOCH};

/// Most buckets of a page.
const PAGE: usize = 10_000;

/// Lists the buckets of the requester; those of everybody for who owns them all.
pub(crate) async fn list_buckets(call: Rc<S3Call>) -> S3Result<S3Reply> {
    if call.is_anonymous() {
        return Err(FaultCode::AccessDenied.into());
    }
    let limit = max_buckets(&call)?;
    let prefix = call.parameter("prefix").unwrap_or_default();
    let token = call.parameter("continuation-token").unwrap_or_default();
    let catalog = &call.state.catalog;
    let mut buckets = Vec::new();
    let mut next = None;
    for name in catalog.bucket_names().await? {
        if !name.starts_with(prefix) || name.as_str() <= token || !is_bucket_name(&name) {
            continue;
        }
        let Some(record) = catalog.bucket(&name).await? else { continue };
        if !sees(&call, &name, &record.owner) {
            continue;
        }
        if buckets.len() == limit {
            next = buckets.last().map(|(name, _): &(String, i64)| name.clone());
            break;
        }
        buckets.push((name, record.created));
    }
    Ok(S3Reply::xml(XmlWriter::document("ListAllMyBucketsResult", |xml| {
        write_owner(xml, "Owner", call.owner());
        xml.element("Buckets", |xml| {
            for (name, created) in &buckets {
                xml.element("Bucket", |xml| {
                    let created = Duration::from_micros(u64::try_from(*created).unwrap_or(0));
                    xml.text("Name", name);
                    xml.text("CreationDate", &iso_time(UNIX_EPOCH + created));
                    xml.text("BucketRegion", &call.state.region);
                });
            }
        });
        xml.optional("ContinuationToken", next.as_deref());
        xml.optional("Prefix", call.value("prefix"));
    })))
}

fn sees(call: &S3Call, bucket: &str, owner: &str) -> bool {
    match &call.requester {
        crate::server::access::users::Requester::Anonymous => true,
        crate::server::access::users::Requester::User(user) => {
            let allowed = user.buckets.as_ref();
            let is_allowed = allowed.is_some_and(|names| names.iter().any(|name| name == bucket));
            user.admin || is_allowed || owner == user.key
        }
    }
}

fn max_buckets(call: &S3Call) -> S3Result<usize> {
    let Some(text) = call.value("max-buckets") else { return Ok(PAGE) };
    let number: i32 = text.parse().map_err(|_| {
        let words = format!("Provided {text} not an integer or within integer range");
        invalid_argument(words, "max-buckets", text)
    })?;
    let number = usize::try_from(number).ok().filter(|number| (1..=PAGE).contains(number));
    number.ok_or_else(|| {
        let words = "Argument max-buckets must be an integer between 1 and 10000.";
        invalid_argument(words, "max-buckets", text)
    })
}

/// Says whether a bucket is there.
pub(crate) async fn head_bucket(call: Rc<S3Call>) -> S3Result<S3Reply> {
    call.record()?;
    let mut reply = S3Reply::empty(StatusCode::OK);
    reply.set("x-amz-bucket-region", &call.state.region);
    reply.set("x-amz-access-point-alias", "false");
    Ok(reply)
}

/// Says in which region a bucket is; the first region has no name.
pub(crate) async fn get_bucket_location(call: Rc<S3Call>) -> S3Result<S3Reply> {
    call.record()?;
    let region = call.state.region.as_str();
    let shown = if region == DEFAULT_REGION { "" } else { region };
    let document = XmlWriter::document("LocationConstraint", |xml| xml.content(shown));
    Ok(S3Reply::xml(document))
}
