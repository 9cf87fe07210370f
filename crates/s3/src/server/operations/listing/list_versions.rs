//! ListObjectVersions: all versions of the keys of a bucket, newest first, with delete markers.

use super::list_objects::{write_info, write_owner};
use super::paging::ListParameters;
use crate::server::call::{S3Call, check_version};
use crate::server::catalog::attributes::{OWNER, ObjectInfo};
use crate::server::catalog::key_walk::ListedKey;
use crate::server::fault::S3Result;
use crate::server::reply::{S3Reply, iso_time};
use crate::server::xml::XmlWriter;
use std::rc::Rc;
use std::time::SystemTime;

/// One entry of a page.
enum VersionEntry {
    Object { key: String, info: Box<ObjectInfo>, version: String, is_latest: bool },
    Marker { key: String, version: String, modified: SystemTime, is_latest: bool },
}

#[derive(Default)]
struct VersionPage {
    entries: Vec<VersionEntry>,
    prefixes: Vec<String>,
    /// The key or prefix and the version that end the page, where more follow.
    next: Option<(String, Option<String>)>,
}

/// Lists versions.
pub(crate) async fn list_versions(call: Rc<S3Call>) -> S3Result<S3Reply> {
    let mut parameters = ListParameters::of(&call, "max-keys").map_err(|mut fault| {
        if fault.message.starts_with("Argument") {
            fault.message = "max-keys cannot be negative".into();
            fault.details[0].1 = "maxKeys".to_string();
        }
        fault
    })?;
    let record = call.record()?.clone();
    let key_marker = call.parameter("key-marker").unwrap_or_default();
    let version_marker = call.value("version-id-marker").filter(|_| !key_marker.is_empty());
    version_marker.map_or(Ok(()), check_version)?;
    let page = read_page(&call, &mut parameters, key_marker, version_marker).await?;
    let parameters = &parameters;
    Ok(S3Reply::xml(XmlWriter::document("ListVersionsResult", |xml| {
        xml.text("Name", &call.bucket);
        parameters.write(xml, "Prefix", &parameters.prefix);
        parameters.write(xml, "KeyMarker", key_marker);
        xml.optional("VersionIdMarker", version_marker);
        if let Some((key, version)) = &page.next {
            xml.text("NextKeyMarker", &parameters.name(key));
            xml.optional("NextVersionIdMarker", version.as_deref());
        }
        xml.value("MaxKeys", parameters.limit);
        parameters.write(xml, "Delimiter", &parameters.delimiter);
        if parameters.is_encoded {
            xml.text("EncodingType", "url");
        }
        xml.value("IsTruncated", page.next.is_some());
        for entry in &page.entries {
            write_entry(xml, parameters, entry, &record.owner);
        }
        for prefix in &page.prefixes {
            xml.element("CommonPrefixes", |xml| xml.text("Prefix", &parameters.name(prefix)));
        }
    })))
}

async fn read_page(
    call: &S3Call,
    parameters: &mut ListParameters,
    key_marker: &str,
    version_marker: Option<&str>,
) -> S3Result<VersionPage> {
    let mut page = VersionPage::default();
    if parameters.limit == 0 {
        return Ok(page);
    }
    let catalog = &call.state.catalog;
    // With a version the page begins within the versions of the key.
    let before = version_marker.map(|_| key_before(key_marker));
    let after = before.as_deref().unwrap_or(key_marker);
    let after = Some(after).filter(|after| !after.is_empty());
    let wanted = parameters.limit + 1;
    let mut walk = catalog.walk(&call.bucket, &parameters.prefix, after, true, wanted);
    if parameters.common_prefix(key_marker) == Some(key_marker) {
        walk.skip(key_marker);
    }
    let mut last: Option<(String, Option<String>)> = None;
    while let Some(listed) = walk.next().await? {
        if version_marker.is_some() && listed.key.as_str() < key_marker {
            continue;
        }
        if let Some(prefix) = parameters.common_prefix(&listed.key) {
            if page.entries.len() + page.prefixes.len() == parameters.limit {
                page.next = last;
                return Ok(page);
            }
            page.prefixes.push(prefix.to_string());
            last = Some((prefix.to_string(), None));
            walk.skip(prefix);
            continue;
        }
        let mut skips = version_marker.filter(|_| listed.key == key_marker);
        for entry in entries_of(call, &listed).await? {
            let version = entry.version().to_string();
            if let Some(marker) = skips {
                if version == marker {
                    skips = None;
                }
                continue;
            }
            if page.entries.len() + page.prefixes.len() == parameters.limit {
                page.next = last;
                return Ok(page);
            }
            last = Some((listed.key.clone(), Some(version)));
            page.entries.push(entry);
        }
    }
    Ok(page)
}

/// A text after which a key comes, with few keys between: the character before its last one, and the
/// greatest one.
fn key_before(key: &str) -> String {
    let mut before = key.to_string();
    let last = before.pop().map_or(0, u32::from);
    let earlier = last.checked_sub(1).and_then(char::from_u32);
    before.extend(earlier.map(|earlier| [earlier, '\u{10ffff}']).into_iter().flatten());
    before
}

/// The versions of a key, newest first.
async fn entries_of(call: &S3Call, listed: &ListedKey) -> S3Result<Vec<VersionEntry>> {
    let catalog = &call.state.catalog;
    let mut entries = Vec::new();
    if let Some(present) = &listed.present
        && let Some(info) = catalog.listed_info(present).await?
    {
        let version = info.version().to_string();
        let (key, info) = (listed.key.clone(), Box::new(info));
        entries.push(VersionEntry::Object { key, info, version, is_latest: true });
    }
    for (name, object) in &listed.versions {
        let (key, version, is_latest) = (listed.key.clone(), name.version(), entries.is_empty());
        if name.is_marker {
            let modified = name.id.time();
            entries.push(VersionEntry::Marker { key, version, modified, is_latest });
        } else if let Some(info) = catalog.listed_info(object).await? {
            let info = Box::new(info);
            entries.push(VersionEntry::Object { key, info, version, is_latest });
        }
    }
    Ok(entries)
}

impl VersionEntry {
    fn version(&self) -> &str {
        match self {
            VersionEntry::Object { version, .. } | VersionEntry::Marker { version, .. } => version,
        }
    }
}

fn write_entry(
    xml: &mut XmlWriter,
    parameters: &ListParameters,
    entry: &VersionEntry,
    bucket_owner: &str,
) {
    match entry {
        VersionEntry::Object { key, info, version, is_latest } => {
            xml.element("Version", |xml| {
                xml.text("Key", &parameters.name(key));
                xml.text("VersionId", version);
                xml.value("IsLatest", is_latest);
                write_info(xml, info);
                let owner = info.attributes.get(OWNER).map_or(bucket_owner, |key| key);
                write_owner(xml, "Owner", owner);
            });
        }
        VersionEntry::Marker { key, version, modified, is_latest } => {
            xml.element("DeleteMarker", |xml| {
                xml.text("Key", &parameters.name(key));
                xml.text("VersionId", version);
                xml.value("IsLatest", is_latest);
                xml.text("LastModified", &iso_time(*modified));
                write_owner(xml, "Owner", bucket_owner);
            });
        }
    }
}
