//! ListMultipartUploads: the uploads of a bucket that are not completed.

use crate::server::call::{S3Call, invalid_argument};
use crate::server::catalog::attributes::OWNER;
use crate::server::catalog::uploads::UploadRecord;
use crate::server::fault::S3Result;
use crate::server::operations::listing::list_objects::write_owner;
use crate::server::operations::listing::paging::ListParameters;
use crate::server::reply::{S3Reply, iso_time};
use crate::server::xml::XmlWriter;
use std::rc::Rc;

#[derive(Default)]
struct UploadPage {
    uploads: Vec<UploadRecord>,
    prefixes: Vec<String>,
    next: Option<(String, String)>,
}

/// Lists uploads in the order of their keys, then of their beginning.
pub(crate) async fn list_uploads(call: Rc<S3Call>) -> S3Result<S3Reply> {
    let parameters = ListParameters::of(&call, "max-uploads")?;
    call.record()?;
    let key_marker = call.parameter("key-marker").unwrap_or_default();
    // A marker of an upload counts with that of its key only.
    let id_marker = call.value("upload-id-marker").filter(|_| !key_marker.is_empty());
    let after = begin(&call, &parameters, key_marker, id_marker).await?;
    let page = read_page(&call, &parameters, after).await?;
    Ok(S3Reply::xml(XmlWriter::document("ListMultipartUploadsResult", |xml| {
        xml.text("Bucket", &call.bucket);
        parameters.write(xml, "KeyMarker", key_marker);
        xml.optional("UploadIdMarker", call.value("upload-id-marker"));
        if let Some((key, id)) = &page.next {
            xml.text("NextKeyMarker", &parameters.name(key));
            xml.text("NextUploadIdMarker", id);
        }
        parameters.write(xml, "Delimiter", &parameters.delimiter);
        parameters.write(xml, "Prefix", &parameters.prefix);
        if parameters.is_encoded {
            xml.text("EncodingType", "url");
        }
        xml.value("MaxUploads", parameters.limit);
        xml.value("IsTruncated", page.next.is_some());
        for upload in &page.uploads {
            xml.element("Upload", |xml| write_upload(xml, &parameters, upload));
        }
        for prefix in &page.prefixes {
            xml.element("CommonPrefixes", |xml| xml.text("Prefix", &parameters.name(prefix)));
        }
    })))
}

/// The upload after which the page begins: that of the marker's key, or one of the key that follows
/// the marker, as a page that ended in a common prefix tells it.
async fn begin(
    call: &S3Call,
    parameters: &ListParameters,
    key_marker: &str,
    id_marker: Option<&str>,
) -> S3Result<Option<(String, Option<String>)>> {
    let Some(id) = id_marker else {
        let marker = Some(key_marker).filter(|marker| !marker.is_empty());
        return Ok(marker.map(|marker| (marker.to_string(), None)));
    };
    let catalog = &call.state.catalog;
    let mut key = key_marker.to_string();
    if catalog.upload(&call.bucket, &key, id).await?.is_none() {
        let after = Some((key_marker, None));
        let next = catalog.uploads(&call.bucket, &parameters.prefix, after, 0).await?;
        key = next.into_iter().next().map(|upload| upload.key).unwrap_or_default();
    }
    match catalog.upload(&call.bucket, &key, id).await? {
        Some(_) => Ok(Some((key, Some(id.to_string())))),
        None => Err(invalid_argument("Invalid uploadId marker", "upload-id-marker", id)),
    }
}

async fn read_page(
    call: &S3Call,
    parameters: &ListParameters,
    mut after: Option<(String, Option<String>)>,
) -> S3Result<UploadPage> {
    let mut page = UploadPage::default();
    // A page that ended in a common prefix does not begin within it again.
    let marker = after.as_ref().filter(|(_, id)| id.is_none()).map(|(key, _)| key.clone());
    let passed = marker.filter(|key| parameters.common_prefix(key) == Some(key));
    let catalog = &call.state.catalog;
    if parameters.limit == 0 {
        return Ok(page);
    }
    loop {
        let from = after.as_ref().map(|(key, id)| (key.as_str(), id.as_deref()));
        let limit = parameters.limit;
        let uploads = catalog.uploads(&call.bucket, &parameters.prefix, from, limit).await?;
        let ended = uploads.len() <= limit;
        for upload in uploads {
            after = Some((upload.key.clone(), Some(upload.id.clone())));
            let prefix = parameters.common_prefix(&upload.key).map(String::from);
            if prefix.is_some() && (prefix == passed || page.prefixes.last() == prefix.as_ref()) {
                continue;
            }
            if page.uploads.len() + page.prefixes.len() == limit {
                return Ok(page);
            }
            page.next = Some((prefix.clone().unwrap_or(upload.key.clone()), upload.id.clone()));
            match prefix {
                Some(prefix) => page.prefixes.push(prefix),
                None => page.uploads.push(upload),
            }
        }
        if ended {
            break;
        }
    }
    page.next = None;
    Ok(page)
}

fn write_upload(xml: &mut XmlWriter, parameters: &ListParameters, upload: &UploadRecord) {
    let owner = upload.attributes.get(OWNER).map_or("", String::as_str);
    xml.text("Key", &parameters.name(&upload.key));
    xml.text("UploadId", &upload.id);
    write_owner(xml, "Initiator", owner);
    write_owner(xml, "Owner", owner);
    xml.text("StorageClass", "STANDARD");
    xml.text("Initiated", &iso_time(upload.initiated()));
    if let Some((algorithm, kind)) = upload.checksum() {
        xml.text("ChecksumAlgorithm", algorithm.name());
        xml.text("ChecksumType", kind.name());
    }
}
