//! Unique fields of documents. For each value an entry, `PLACE/unique/FIELDS/HASH`, names the row that has
//! it: a writer makes the entry before it writes its row, under a condition, so that only one can.

use crate::sqlite::documents::folder::{DocumentFolder, inner};
use runnel_store::{
    Condition, Content, Context, EntityTag, Error, Kind, Reference, Result, Shape, Value,
    encode_segment, fill_random, json, pointer_of,
};
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How long an entry without its row belongs to the one who made it, who may still write the row.
const CLAIM_TIME: Duration = Duration::from_secs(120);
/// How soon after its entries a row is written, or not at all.
const WRITE_TIME: Duration = Duration::from_secs(30);
/// The pause for another writer of the same row.
const AGAIN: Duration = Duration::from_millis(5);
/// How often an entry is tried when others change it.
const CLAIM_ATTEMPTS: usize = 100;

/// The unique fields of a table of documents.
pub(super) struct UniqueFields {
    folder: DocumentFolder,
    indexes: Vec<Vec<String>>,
}

/// The entry of a value of a row.
#[derive(Clone, PartialEq)]
pub(super) struct UniqueValue {
    index: usize,
    at: Reference,
}

/// Entries as they were seen: they are deleted if they are still the same.
#[derive(Default)]
pub(super) struct SeenEntries(Vec<(Reference, Option<EntityTag>)>);

/// Entries that were made for a row that is not written yet.
pub(super) struct Claims {
    entries: SeenEntries,
    since: Instant,
}

struct UniqueEntry {
    row: String,
    since: u64,
    tag: Option<EntityTag>,
}

impl UniqueFields {
    pub(super) fn new(folder: DocumentFolder, shape: &Shape) -> Self {
        let unique = shape.indexes.iter().filter(|index| index.unique);
        UniqueFields { folder, indexes: unique.map(|index| index.fields.clone()).collect() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.indexes.is_empty()
    }

    /// The values of a row that no other may have; nil is no value.
    pub(super) fn values(&self, row: &Value) -> Vec<UniqueValue> {
        let value = |(index, fields): (usize, &Vec<String>)| {
            let mut digest = Sha256::new();
            for field in fields {
                let value = row.get(field).filter(|value| !value.is_nil())?;
                digest.update(json::text(value));
                digest.update([0]);
            }
            let mut path = format!("unique/{}/", encode_segment(&fields.join(",")));
            for byte in digest.finalize() {
                let _ = write!(path, "{byte:02x}");
            }
            Some(UniqueValue { index, at: self.folder.place().join(&path) })
        };
        self.indexes.iter().enumerate().filter_map(value).collect()
    }

    /// Makes the entries of values for the row of a key. `holds` says whether the row of a key has the
    /// value. `None`: others change this row to the same value; look at it again.
    ///
    /// # Errors
    /// [`Kind::Conflict`] for a value of another row, written or not yet.
    pub(super) async fn claim(
        &self,
        key: &str,
        values: &[UniqueValue],
        holds: impl AsyncFn(&str, &UniqueValue) -> Result<bool>,
        context: &Context,
    ) -> Result<Option<Claims>> {
        let mut claims = Claims { entries: SeenEntries::default(), since: Instant::now() };
        for value in values {
            match self.claim_one(key, value, &holds, &mut claims, context).await {
                Ok(true) => {}
                others => {
                    self.delete(claims.entries, context).await;
                    return others.map(|_| None);
                }
            }
        }
        Ok(Some(claims))
    }

    async fn claim_one(
        &self,
        key: &str,
        value: &UniqueValue,
        holds: &impl AsyncFn(&str, &UniqueValue) -> Result<bool>,
        claims: &mut Claims,
        context: &Context,
    ) -> Result<bool> {
        for _ in 0..CLAIM_ATTEMPTS {
            let only_if = match self.entry(&value.at, context).await? {
                None => Condition::Absent,
                Some(entry) => {
                    let age = Duration::from_millis(now().saturating_sub(entry.since));
                    if age < CLAIM_TIME || holds(&entry.row, value).await? {
                        if entry.row != key {
                            return Err(self.taken(value));
                        }
                        tokio::time::sleep(AGAIN).await;
                        return Ok(false);
                    }
                    entry.tag.map_or(Condition::Present, Condition::Tag)
                }
            };
            // No two entries are the same, so that none is deleted for another.
            let mut own = [0; 8];
            fill_random(&mut own)?;
            let entry = Value::record([
                ("row", key.into()),
                ("since", Value::from(now())),
                ("claim", Value::from(u64::from_le_bytes(own) >> 11)),
            ]);
            let content = Content::bytes(json::text(&entry)).with_media_type("application/json");
            let source = self.folder.source();
            match source.put(&value.at, content, &inner(context, Some(only_if))).await {
                Ok(_) => {
                    let tag = self.entry(&value.at, context).await?.and_then(|entry| entry.tag);
                    claims.entries.0.push((value.at.clone(), tag));
                    return Ok(true);
                }
                Err(error) if error.kind == Kind::Precondition => {}
                Err(error) => return Err(error),
            }
        }
        Err(self.taken(value).with_temporary(true))
    }

    /// Deletes the entries of a row that was not written.
    pub(super) async fn release(&self, claims: Claims, context: &Context) {
        self.delete(claims.entries, context).await;
    }

    /// The entries of values of the row of a key, to delete them when the row has them no more.
    pub(super) async fn seen(
        &self,
        key: &str,
        values: &[UniqueValue],
        context: &Context,
    ) -> Result<SeenEntries> {
        let mut seen = SeenEntries::default();
        for value in values {
            if let Some(entry) = self.entry(&value.at, context).await?
                && entry.row == key
            {
                seen.0.push((value.at.clone(), entry.tag));
            }
        }
        Ok(seen)
    }

    /// Deletes entries that are as they were seen. Others are taken over later.
    pub(super) async fn delete(&self, entries: SeenEntries, context: &Context) {
        for (at, tag) in entries.0 {
            let context = inner(context, Some(tag.map_or(Condition::Present, Condition::Tag)));
            match self.folder.source().delete(&at, &context).await {
                Ok(_) => {}
                Err(error) if error.kind == Kind::Precondition => {}
                Err(error) => {
                    tracing::warn!(entry = %at, %error, "an entry of a unique value is left")
                }
            }
        }
    }

    /// Where it stands that all rows have their entries.
    fn marks(&self) -> impl Iterator<Item = Reference> {
        let mark =
            |fields: &Vec<String>| format!("unique/{}/all", encode_segment(&fields.join(",")));
        self.indexes.iter().map(move |fields| self.folder.place().join(&mark(fields)))
    }

    pub(super) async fn is_complete(&self, context: &Context) -> Result<bool> {
        for mark in self.marks() {
            if self.entry(&mark, context).await?.is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Says that all rows have their entries.
    pub(super) async fn complete(&self, context: &Context) -> Result<()> {
        for mark in self.marks() {
            let content = Content::bytes("{}").with_media_type("application/json");
            self.folder.source().put(&mark, content, &inner(context, None)).await?;
        }
        Ok(())
    }

    async fn entry(&self, at: &Reference, context: &Context) -> Result<Option<UniqueEntry>> {
        let Some((found, tag, _)) = self.folder.read_at(at, context).await? else {
            return Ok(None);
        };
        let row = found.get("row").and_then(Value::as_str).unwrap_or_default().to_string();
        let since = found.get("since").and_then(Value::as_i64).unwrap_or_default();
        Ok(Some(UniqueEntry { row, since: u64::try_from(since).unwrap_or(0), tag }))
    }

    fn taken(&self, value: &UniqueValue) -> Error {
        let fields = &self.indexes[value.index];
        let message = format!("another row has the same {}", fields.join(" and "));
        let error = Error::new(Kind::Conflict, message.clone());
        fields.iter().fold(error, |error, field| error.with_field(pointer_of(field), &message))
    }
}

impl Claims {
    /// Whether the row may still be written: later another writer may take its values.
    pub(super) fn check(&self) -> Result<()> {
        if self.since.elapsed() < WRITE_TIME {
            return Ok(());
        }
        let message = "the store was too slow to keep the values of the row unique";
        Err(Error::new(Kind::Unavailable, message).with_temporary(true))
    }
}

/// Milliseconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
