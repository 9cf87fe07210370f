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
    if let Some(id) = id_marker {
        let present = call.state.catalog.upload(&call.bucket, key_marker, id).await?;
        if present.is_none() {
            let words = "Invalid uploadId marker";
            return Err(invalid_argument(words, "upload-id-marker", id));
        }
    }
    let page = read_page(&call, &parameters, key_marker, id_marker).await?;
    Ok(S3Reply::xml(XmlWriter::document("ListMultipartUploadsResult", |xml| {
        xml.text("Bucket", &call.bucket);
        xml.text("KeyMarker", &parameters.name(key_marker));
        xml.text("UploadIdMarker", call.parameter("upload-id-marker").unwrap_or_default());
        if let Some((key, id)) = &page.next {
            xml.text("NextKeyMarker", &parameters.name(key));
            xml.text("NextUploadIdMarker", id);
        }
        xml.text("Delimiter", &parameters.name(&parameters.delimiter));
        xml.text("Prefix", &parameters.name(&parameters.prefix));
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

async fn read_page(
    call: &S3Call,
    parameters: &ListParameters,
    key_marker: &str,
    id_marker: Option<&str>,
) -> S3Result<UploadPage> {
    let mut page = UploadPage::default();
    let mut after: Option<(String, Option<String>)> = match key_marker {
        "" => None,
        key => Some((key.to_string(), id_marker.map(String::from))),
    };
    // A page that ended in a common prefix does not begin within it again.
    let mut passed = parameters.common_prefix(key_marker).filter(|prefix| *prefix == key_marker);
    let passed = passed.take().map(String::from);
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
