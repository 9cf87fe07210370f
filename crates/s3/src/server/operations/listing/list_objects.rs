//! ListObjects in both versions: the keys of a bucket in byte order, page by page.

use super::paging::ListParameters;
use crate::server::call::{S3Call, invalid_argument};
use crate::server::catalog::attributes::{OWNER, ObjectInfo};
use crate::server::catalog::key_walk::{ListedKey, ListedObject};
use crate::server::catalog::state::Catalog;
use crate::server::fault::S3Result;
use crate::server::reply::{S3Reply, iso_time};
use crate::server::xml::XmlWriter;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use std::rc::Rc;

/// A page of a listing.
#[derive(Default)]
pub(crate) struct ObjectPage {
    pub(crate) objects: Vec<(String, ObjectInfo)>,
    pub(crate) prefixes: Vec<String>,
    /// The last key or prefix of the page, where more follow.
    pub(crate) next: Option<String>,
}

/// The listed bucket.
#[derive(Clone, Copy)]
pub(crate) struct ListedBucket<'a> {
    pub(crate) catalog: &'a Catalog,
    pub(crate) name: &'a str,
    /// Whether objects can be among the versions, which only a kill leaves there.
    pub(crate) has_versions: bool,
}

/// Answers ListObjects, or ListObjectsV2 for `list-type=2`.
pub(crate) async fn list_objects(call: Rc<S3Call>) -> S3Result<S3Reply> {
    let parameters = ListParameters::of(&call, "max-keys")?;
    call.record()?;
    let mut reply = match call.parameter("list-type") {
        Some("2") => list_v2(&call, &parameters).await?,
        _ => list_v1(&call, &parameters).await?,
    };
    reply.set("x-amz-bucket-region", &call.state.region);
    Ok(reply)
}

async fn list_v1(call: &S3Call, parameters: &ListParameters) -> S3Result<S3Reply> {
    let marker = call.parameter("marker").unwrap_or_default();
    let page = read_page(bucket_of(call), parameters, marker).await?;
    Ok(S3Reply::xml(XmlWriter::document("ListBucketResult", |xml| {
        xml.text("Name", &call.bucket);
        parameters.write(xml, "Prefix", &parameters.prefix);
        parameters.write(xml, "Marker", marker);
        parameters.write(xml, "NextMarker", page.next.as_deref().unwrap_or_default());
        write_page(xml, call, parameters, &page, true);
    })))
}

async fn list_v2(call: &S3Call, parameters: &ListParameters) -> S3Result<S3Reply> {
    let start = call.parameter("start-after").unwrap_or_default();
    let token = call.parameter("continuation-token");
    let from_token = token.filter(|token| !token.is_empty()).map(read_token).transpose()?;
    let after = from_token.as_deref().unwrap_or_default().max(start);
    let page = read_page(bucket_of(call), parameters, after).await?;
    let with_owner =
        call.value("fetch-owner").is_some_and(|text| text.eq_ignore_ascii_case("true"));
    Ok(S3Reply::xml(XmlWriter::document("ListBucketResult", |xml| {
        xml.text("Name", &call.bucket);
        parameters.write(xml, "Prefix", &parameters.prefix);
        parameters.write(xml, "StartAfter", start);
        xml.optional("ContinuationToken", token.filter(|token| !token.is_empty()));
        let next = page.next.as_deref().map(write_token);
        xml.optional("NextContinuationToken", next.as_deref());
        xml.value("KeyCount", page.objects.len() + page.prefixes.len());
        write_page(xml, call, parameters, &page, with_owner);
    })))
}

/// What begins a token in base 64.
const ENCODED: &str = "base64:";

/// The key after which a page begins, as clients pass it on: in base 64 where it has characters that
/// documents change.
fn write_token(key: &str) -> String {
    match key.chars().any(char::is_control) || key.starts_with(ENCODED) {
        true => format!("{ENCODED}{}", BASE64_URL_SAFE_NO_PAD.encode(key)),
        false => key.to_string(),
    }
}

fn read_token(token: &str) -> S3Result<String> {
    let Some(encoded) = token.strip_prefix(ENCODED) else { return Ok(token.to_string()) };
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(encoded).ok();
    bytes.and_then(|bytes| String::from_utf8(bytes).ok()).ok_or_else(|| {
        let words = "The continuation token provided is incorrect";
        invalid_argument(words, "continuation-token", token)
    })
}

fn bucket_of(call: &S3Call) -> ListedBucket<'_> {
    let (catalog, has_versions) = (&call.state.catalog, call.has_versions());
    ListedBucket { catalog, name: &call.bucket, has_versions }
}

/// Reads the keys and common prefixes that follow `after`.
pub(crate) async fn read_page(
    bucket: ListedBucket<'_>,
    parameters: &ListParameters,
    after: &str,
) -> S3Result<ObjectPage> {
    let mut page = ObjectPage::default();
    if parameters.limit == 0 {
        return Ok(page);
    }
    let ListedBucket { catalog, name, has_versions } = bucket;
    let after = Some(after).filter(|after| !after.is_empty());
    // A further key says that there are more, and the walk looks at the one after it.
    let wanted = parameters.limit + 2;
    let mut walk = catalog.walk(name, &parameters.prefix, after, has_versions, wanted);
    // A page that ended in a common prefix does not begin within it again.
    if let Some(prefix) = after.and_then(|after| parameters.common_prefix(after))
        && after == Some(prefix)
    {
        walk.skip(prefix);
    }
    let mut last = None;
    while let Some(listed) = walk.next().await? {
        let Some(current) = current_of(&listed) else { continue };
        let is_full = page.objects.len() + page.prefixes.len() == parameters.limit;
        if let Some(prefix) = parameters.common_prefix(&listed.key) {
            if is_full {
                page.next = last;
                return Ok(page);
            }
            // The marker can lie within the prefix, which then is not repeated.
            page.prefixes.push(prefix.to_string());
            last = Some(prefix.to_string());
            walk.skip(prefix);
            continue;
        }
        if is_full {
            page.next = last;
            return Ok(page);
        }
        // An object that was deleted since is left out.
        if let Some(info) = catalog.listed_info(current).await? {
            page.objects.push((listed.key.clone(), info));
            last = Some(listed.key);
        }
    }
    Ok(page)
}

/// The current object of a key: the one in its place, or the newest version.
fn current_of(listed: &ListedKey) -> Option<&ListedObject> {
    if let Some(present) = &listed.present {
        return Some(present);
    }
    let (newest, object) = listed.versions.first()?;
    (!newest.is_marker).then_some(object)
}

fn write_page(
    xml: &mut XmlWriter,
    call: &S3Call,
    parameters: &ListParameters,
    page: &ObjectPage,
    with_owner: bool,
) {
    xml.value("MaxKeys", parameters.limit);
    parameters.write(xml, "Delimiter", &parameters.delimiter);
    if parameters.is_encoded {
        xml.text("EncodingType", "url");
    }
    xml.value("IsTruncated", page.next.is_some());
    let owner = call.record.as_ref().map_or("", |record| record.owner.as_str());
    for (key, info) in &page.objects {
        xml.element("Contents", |xml| {
            xml.text("Key", &parameters.name(key));
            write_info(xml, info);
            if with_owner {
                write_owner(xml, "Owner", info.attributes.get(OWNER).map_or(owner, |key| key));
            }
        });
    }
    for prefix in &page.prefixes {
        xml.element("CommonPrefixes", |xml| xml.text("Prefix", &parameters.name(prefix)));
    }
}

/// What listings say of an object.
pub(crate) fn write_info(xml: &mut XmlWriter, info: &ObjectInfo) {
    xml.text("LastModified", &iso_time(info.modified));
    xml.text("ETag", &format!("\"{}\"", info.etag));
    if let Some(checksum) = info.checksum() {
        xml.text("ChecksumAlgorithm", checksum.algorithm.name());
        xml.text("ChecksumType", checksum.kind.name());
    }
    xml.value("Size", info.length);
    xml.text("StorageClass", "STANDARD");
}

/// An owner with the same name.
pub(crate) fn write_owner(xml: &mut XmlWriter, element: &str, key: &str) {
    xml.element(element, |xml| {
        xml.text("ID", key);
        xml.text("DisplayName", key);
    });
}
