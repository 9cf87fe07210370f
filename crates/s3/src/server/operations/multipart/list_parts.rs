//! ListParts: the parts of an upload so far.

use super::create::find_upload;
use crate::server::call::S3Call;
use crate::server::catalog::attributes::OWNER;
use crate::server::fault::S3Result;
use crate::server::operations::listing::list_objects::write_owner;
use crate::server::operations::listing::paging::read_limit;
use crate::server::reply::{S3Reply, iso_time};
use crate::server::xml::XmlWriter;
use std::rc::Rc;

/// Lists parts after a number.
pub(crate) async fn list_parts(call: Rc<S3Call>) -> S3Result<S3Reply> {
    let text = call.value("part-number-marker");
    read_limit(text, "part-number-marker")?;
    let marker: u32 = text.and_then(|text| text.parse().ok()).unwrap_or(0);
    let limit = read_limit(call.value("max-parts"), "max-parts")?;
    let upload = find_upload(&call).await?;
    let catalog = &call.state.catalog;
    let mut parts = catalog.parts(&call.bucket, &upload.id, marker, limit).await?;
    let is_truncated = limit > 0 && parts.len() > limit;
    parts.truncate(limit);
    let owner = upload.attributes.get(OWNER).map_or("", String::as_str);
    let checksum = upload.checksum();
    Ok(S3Reply::xml(XmlWriter::document("ListPartsResult", |xml| {
        xml.text("Bucket", &call.bucket);
        xml.text("Key", &call.key);
        xml.text("UploadId", &upload.id);
        xml.text("ChecksumAlgorithm", checksum.map_or("null", |(algorithm, _)| algorithm.name()));
        xml.text("ChecksumType", checksum.map_or("null", |(_, kind)| kind.name()));
        write_owner(xml, "Initiator", owner);
        write_owner(xml, "Owner", owner);
        xml.text("StorageClass", "STANDARD");
        xml.value("PartNumberMarker", marker);
        xml.value("NextPartNumberMarker", parts.last().map_or(0, |part| part.number));
        xml.value("MaxParts", limit);
        xml.value("IsTruncated", is_truncated);
        for part in &parts {
            xml.element("Part", |xml| {
                xml.value("PartNumber", part.number);
                xml.text("LastModified", &iso_time(part.modified));
                xml.text("ETag", &format!("\"{}\"", part.etag));
                xml.value("Size", part.length);
                if let Some(checksum) = &part.checksum {
                    xml.text(checksum.algorithm.element(), &checksum.value);
                }
            });
        }
    })))
}
