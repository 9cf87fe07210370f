//! Multipart uploads: a record for each, and for each part its content and a record that names it.
//!
//! A part is replaced by writing new content first and then the record, so that a kill leaves the old
//! part or the new one. An upload is there as long as its record is.

use super::attributes::{ETAG, MODIFIED, SIZE, StoredChecksum};
use super::contents::{parse_record, write_record};
use super::layout;
use super::state::Catalog;
use super::version_id::{VersionId, random};
use crate::server::fault::S3Result;
use runnel_store::{
    COLLECT_LIMIT, Content, Context, KeyRange, Metadata, Reference, Result, list_keys,
};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The name of a part's content below [`layout::part_data`].
const DATA: &str = "s3-data";
const CHECKSUM: &str = super::attributes::CHECKSUM;
const CRC64: &str = "s3-crc64nvme";

/// A multipart upload that is not completed.
#[derive(Clone, Debug)]
pub(crate) struct UploadRecord {
    pub(crate) key: String,
    pub(crate) id: String,
    /// The attributes of the object, and what was said of the upload.
    pub(crate) attributes: Metadata,
    pub(crate) media_type: Option<String>,
}

/// A part of an upload.
#[derive(Clone, Debug)]
pub(crate) struct PartRecord {
    pub(crate) number: u32,
    /// Its MD5, without quotes.
    pub(crate) etag: String,
    pub(crate) length: u64,
    pub(crate) modified: SystemTime,
    /// The checksum that the client asked for.
    pub(crate) checksum: Option<StoredChecksum>,
    /// The CRC64NVME, where the upload has no other checksum.
    pub(crate) crc64: Option<String>,
    /// The name of its content.
    pub(crate) data: String,
}

/// The identifier of a new upload.
pub(crate) fn new_upload_id() -> String {
    format!("{}{:016x}", VersionId::new().text(), random() as u64)
}

/// Whether a text can be the identifier of an upload.
pub(super) fn is_upload_id(id: &str) -> bool {
    !id.is_empty() && id.len() <= 64 && id.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

impl Catalog {
    /// Keeps a new upload.
    pub(crate) async fn create_upload(&self, bucket: &str, upload: &UploadRecord) -> S3Result<()> {
        let mut record = upload.attributes.clone();
        if let Some(media_type) = &upload.media_type {
            record.insert("content-type".to_string(), media_type.clone());
        }
        let at = layout::upload(bucket, &upload.key, &upload.id);
        let content = Content::bytes(write_record(&record));
        self.contents.store.put(&at, content, &Context::default()).await?;
        Ok(())
    }

    /// The upload of a key, if there is one.
    pub(crate) async fn upload(
        &self,
        bucket: &str,
        key: &str,
        id: &str,
    ) -> S3Result<Option<UploadRecord>> {
        if !is_upload_id(id) {
            return Ok(None);
        }
        Ok(self.read_upload(bucket, key, id).await?)
    }

    async fn read_upload(&self, bucket: &str, key: &str, id: &str) -> Result<Option<UploadRecord>> {
        let at = layout::upload(bucket, key, id);
        let Some(record) = self.contents.store.get(&at, &Context::default()).await? else {
            return Ok(None);
        };
        let bytes = record.read(COLLECT_LIMIT).await?;
        let record = parse_record(&bytes);
        Ok(record.map(|(attributes, media_type)| UploadRecord {
            key: key.to_string(),
            id: id.to_string(),
            attributes,
            media_type,
        }))
    }

    /// Uploads in the order of their keys, from a position on: those whose key has the prefix and
    /// which follow the key and the identifier. Answers one more than `limit` where there are.
    pub(crate) async fn uploads(
        &self,
        bucket: &str,
        prefix: &str,
        after: Option<(&str, Option<&str>)>,
        limit: usize,
    ) -> S3Result<Vec<UploadRecord>> {
        let at = layout::uploads(bucket);
        let after = after.map(|(key, id)| {
            let path = layout::hex_path(key);
            format!("{path}/{}", id.unwrap_or("\u{10ffff}"))
        });
        let prefix = layout::hex_prefix(prefix);
        let mut range = KeyRange { prefix, after, ..KeyRange::default() };
        let mut uploads = Vec::new();
        while uploads.len() <= limit {
            let context = Context::default();
            let page = list_keys(&self.contents.store, &at, &range, &context).await?;
            for listed in &page.keys {
                let Some((key, id)) = layout::read_hex_path(&listed.name) else { continue };
                uploads.extend(self.read_upload(bucket, &key, id).await?);
                if uploads.len() > limit {
                    return Ok(uploads);
                }
            }
            match page.keys.last() {
                Some(last) if page.more => range.after = Some(last.name.clone()),
                _ => break,
            }
        }
        Ok(uploads)
    }

    /// Forgets an upload with its parts. The record goes first: without it there is no upload.
    pub(crate) async fn remove_upload(&self, bucket: &str, key: &str, id: &str) -> S3Result<()> {
        let at = layout::upload(bucket, key, id);
        self.contents.store.delete(&at, &Context::default()).await?;
        self.contents.prune(&at, 3).await;
        Ok(self.remove_parts(bucket, id).await?)
    }

    /// Removes the parts of an upload that is no more. What a kill leaves of them is removed later
    /// ([`Catalog::remove_orphaned_parts`]).
    pub(super) async fn remove_parts(&self, bucket: &str, id: &str) -> Result<()> {
        self.remove_tree(&layout::parts(bucket, id)).await?;
        self.remove_tree(&layout::part_data(bucket, id)).await
    }

    /// A place for the content of a part.
    pub(crate) fn new_part_data(number: u32) -> String {
        format!("{number:05}-{:016x}", random() as u64)
    }

    /// Keeps a part whose content is in its place, instead of one of the same number.
    pub(crate) async fn keep_part(
        &self,
        bucket: &str,
        id: &str,
        part: &PartRecord,
    ) -> S3Result<()> {
        let _alone = super::key_locks::lock_upload(bucket, id).await;
        let old = self.part(bucket, id, part.number).await?;
        let mut record = Metadata::new();
        let mut set = |name: &str, value: String| record.insert(name.to_string(), value);
        set(ETAG, part.etag.clone());
        set(SIZE, part.length.to_string());
        set(MODIFIED, super::attributes::milliseconds(part.modified).to_string());
        set(DATA, part.data.clone());
        if let Some(checksum) = &part.checksum {
            set(CHECKSUM, checksum.text());
        }
        if let Some(crc64) = &part.crc64 {
            set(CRC64, crc64.clone());
        }
        let content = Content::bytes(write_record(&record));
        let at = part_record(bucket, id, part.number);
        self.contents.store.put(&at, content, &Context::default()).await?;
        if let Some(old) = old {
            let data = layout::part_data(bucket, id).join(&old.data);
            self.contents.remove(&data, None).await?;
        }
        Ok(())
    }

    /// A part of an upload.
    pub(crate) async fn part(
        &self,
        bucket: &str,
        id: &str,
        number: u32,
    ) -> Result<Option<PartRecord>> {
        let at = part_record(bucket, id, number);
        let Some(record) = self.contents.store.get(&at, &Context::default()).await? else {
            return Ok(None);
        };
        let bytes = record.read(COLLECT_LIMIT).await?;
        Ok(parse_record(&bytes).and_then(|(record, _)| read_part(number, &record)))
    }

    /// The parts after a number, in order; one more than `limit` where there are.
    pub(crate) async fn parts(
        &self,
        bucket: &str,
        id: &str,
        after: u32,
        limit: usize,
    ) -> S3Result<Vec<PartRecord>> {
        let at = layout::parts(bucket, id);
        let after = (after > 0).then(|| format!("{after:05}"));
        let mut range = KeyRange { after, ..KeyRange::default() };
        let mut parts = Vec::new();
        loop {
            let context = Context::default();
            let page = list_keys(&self.contents.store, &at, &range, &context).await?;
            for listed in &page.keys {
                let Ok(number) = listed.name.parse() else { continue };
                parts.extend(self.part(bucket, id, number).await?);
                if parts.len() > limit {
                    return Ok(parts);
                }
            }
            match page.keys.last() {
                Some(last) if page.more => range.after = Some(last.name.clone()),
                _ => return Ok(parts),
            }
        }
    }
}

fn part_record(bucket: &str, id: &str, number: u32) -> Reference {
    layout::parts(bucket, id).join(&format!("{number:05}"))
}

fn read_part(number: u32, record: &Metadata) -> Option<PartRecord> {
    let modified = record.get(MODIFIED)?.parse().ok()?;
    Some(PartRecord {
        number,
        etag: record.get(ETAG)?.clone(),
        length: record.get(SIZE)?.parse().ok()?,
        modified: UNIX_EPOCH + Duration::from_millis(modified),
        checksum: record.get(CHECKSUM).and_then(|text| StoredChecksum::read(text)),
        crc64: record.get(CRC64).cloned(),
        data: record.get(DATA)?.clone(),
    })
}
