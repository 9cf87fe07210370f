//! The statements of a key-value store, each call within one transaction of a connection.
//!
//! The number of a chunk is the number of its object, shifted, and its place within that: one
//! integer key is the smallest index there is. `AUTOINCREMENT` never gives a number out twice, so a
//! slow reader of freed chunks finds nothing and never the content of another object.

use crate::key_value::backend::KeyStart;
use crate::key_value::entry::{
    EntryWrite, FoundObject, ObjectEntry, ReplacedObject, StoredAttributes, WriteStamp,
    WrittenContent,
};
use crate::key_value::layout::{
    self, OBJECT_CHUNK, REPLACED_TIME, TableRole, UPLOAD_TIME, damaged, given_up,
};
use crate::key_value::upload::appended;
use crate::sqlite::fault::{SqlFault, SqlResult};
use crate::sqlite::schema::catalog::{TableInfo, quoted};
use bytes::Bytes;
use runnel_store::{Condition, EntityTag, Kind};
use rusqlite::{Connection, OptionalExtension, Row, params};

/// Bits of a chunk's number that count the chunks of an object: up to 4 TiB.
const PART_BITS: u32 = 24;

/// Chunks that are freed in one transaction: 8 MiB.
const SWEPT: usize = 32;

/// The columns of an entry, as [`entry`] reads them.
const ENTRY: &str = "k.key, k.length, k.entity_tag, k.modified, k.media_type, k.metadata, k.object";

/// The statements of one store: made once, so that each finds its prepared statement by its text.
pub(super) struct KeyValueStatements {
    pub(super) name: String,
    /// The name of the table of chunks, as SQLite counts its numbers.
    chunks: String,
    find: String,
    chunk: String,
    from: String,
    after: String,
    next_from: String,
    next_after: String,
    look: String,
    insert: String,
    update: String,
    grow: String,
    annotate: String,
    rename: String,
    delete: String,
    put_chunk: String,
    free_chunk: String,
    free_chunks: String,
    unused: String,
    touch: String,
    claim: String,
    forget: String,
    over: String,
}

/// A key as a write finds it.
struct PresentEntry {
    object: i64,
    length: u64,
    tag: EntityTag,
}

impl From<&PresentEntry> for ReplacedObject {
    fn from(present: &PresentEntry) -> Self {
        ReplacedObject { object: present.object, length: present.length }
    }
}

/// Whether the tables are there, and the name as it was declared. Another table of that name is a
/// conflict.
pub(super) fn existing(connection: &Connection, name: &str) -> SqlResult<Option<String>> {
    let Some(info) = TableInfo::read(connection, name)? else { return Ok(None) };
    let columns = info.columns.iter().map(|column| column.name.as_str());
    if layout::role(&info.name, columns) != Some(TableRole::Keys) || info.view {
        return Err(layout::taken(name));
    }
    for end in ["_chunks", "_unused"] {
        if TableInfo::read(connection, &format!("{name}{end}"))?.is_none() {
            let message = format!("the table {name}{end} of the key-value store is missing");
            return Err(SqlFault::new(Kind::Conflict, message));
        }
    }
    Ok(Some(info.name))
}

/// Makes the tables, where they are not there. Answers the name.
pub(super) fn make(connection: &Connection, name: &str) -> SqlResult<String> {
    if let Some(name) = existing(connection, name)? {
        return Ok(name);
    }
    let [chunks, unused] = ["_chunks", "_unused"].map(|end| format!("{name}{end}"));
    for other in [&chunks, &unused] {
        if TableInfo::read(connection, other)?.is_some() {
            return Err(layout::taken(other));
        }
    }
    connection.execute_batch(&format!(
        "CREATE TABLE {} (key TEXT PRIMARY KEY NOT NULL, length INTEGER NOT NULL, \
         entity_tag TEXT NOT NULL, modified INTEGER NOT NULL, media_type TEXT, metadata TEXT, \
         object INTEGER NOT NULL); \
         CREATE TABLE {} (chunk INTEGER PRIMARY KEY AUTOINCREMENT, bytes BLOB NOT NULL); \
         CREATE TABLE {} (object INTEGER PRIMARY KEY, free_after INTEGER NOT NULL)",
        quoted(name),
        quoted(&chunks),
        quoted(&unused),
    ))?;
    Ok(name.to_string())
}

impl KeyValueStatements {
    pub(super) fn new(name: String) -> Self {
        let keys = quoted(&name);
        let chunks = quoted(&format!("{name}_chunks"));
        let unused = quoted(&format!("{name}_unused"));
        let page = |comparison: &str| {
            format!(
                "SELECT k.key, k.length, k.entity_tag, k.modified, NULL, \
                 CASE WHEN ?3 THEN k.metadata END, k.object FROM {keys} k \
                 WHERE k.key {comparison} ?1 ORDER BY k.key LIMIT ?2"
            )
        };
        let next = |comparison: &str| {
            format!("SELECT key FROM {keys} WHERE key {comparison} ?1 ORDER BY key LIMIT 1")
        };
        KeyValueStatements {
            // One statement, so that key and content belong to one snapshot everywhere.
            find: format!(
                "SELECT {ENTRY}, c.bytes FROM {keys} k LEFT JOIN {chunks} c \
                 ON c.chunk = k.object << {PART_BITS} AND k.length <= {OBJECT_CHUNK} \
                 AND k.object <> 0 AND k.entity_tag IS NOT ?2 WHERE k.key = ?1"
            ),
            chunk: format!("SELECT bytes FROM {chunks} WHERE chunk = ?1"),
            from: page(">="),
            after: page(">"),
            next_from: next(">="),
            next_after: next(">"),
            look: format!("SELECT object, length, entity_tag FROM {keys} WHERE key = ?1"),
            insert: format!(
                "INSERT INTO {keys} (length, entity_tag, modified, media_type, metadata, object, \
                 key) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"
            ),
            update: format!(
                "UPDATE {keys} SET length = ?1, entity_tag = ?2, modified = ?3, media_type = ?4, \
                 metadata = ?5, object = ?6 WHERE key = ?7"
            ),
            grow: format!(
                "UPDATE {keys} SET length = ?1, entity_tag = ?2, modified = ?3, object = ?4 \
                 WHERE key = ?5"
            ),
            annotate: format!("UPDATE {keys} SET media_type = ?1, metadata = ?2 WHERE key = ?3"),
            rename: format!("UPDATE {keys} SET key = ?1 WHERE key = ?2"),
            delete: format!("DELETE FROM {keys} WHERE key = ?1"),
            put_chunk: format!(
                "INSERT INTO {chunks} (chunk, bytes) VALUES (?1, ?2) \
                 ON CONFLICT (chunk) DO UPDATE SET bytes = excluded.bytes"
            ),
            free_chunk: format!("DELETE FROM {chunks} WHERE chunk = ?1"),
            free_chunks: format!(
                "DELETE FROM {chunks} WHERE chunk IN (SELECT chunk FROM {chunks} \
                 WHERE chunk >= ?1 AND chunk < ?2 LIMIT {SWEPT})"
            ),
            unused: format!("INSERT INTO {unused} (object, free_after) VALUES (?1, ?2)"),
            touch: format!(
                "UPDATE {unused} SET free_after = ?2 WHERE object = ?1 AND free_after <> 0"
            ),
            claim: format!("DELETE FROM {unused} WHERE object = ?1 AND free_after <> 0"),
            forget: format!("DELETE FROM {unused} WHERE object = ?1"),
            over: format!(
                "SELECT object FROM {unused} WHERE free_after <= ?1 ORDER BY free_after \
                 LIMIT ?2"
            ),
            chunks: format!("{name}_chunks"),
            name,
        }
    }

    // Reading ------------------------------------------------------------------------------------

    pub(super) fn find(
        &self,
        connection: &Connection,
        key: &str,
        known: Option<&str>,
    ) -> SqlResult<Option<FoundObject>> {
        let mut statement = connection.prepare_cached(&self.find)?;
        let found = statement.query_row(params![key, known], |row| {
            let bytes = row.get_ref(7)?.as_blob_or_null()?;
            Ok(FoundObject { entry: entry(row)?, bytes: bytes.map(Bytes::copy_from_slice) })
        });
        Ok(found.optional()?)
    }

    pub(super) fn chunk(
        &self,
        connection: &Connection,
        object: i64,
        part: u64,
    ) -> SqlResult<Option<Bytes>> {
        let mut statement = connection.prepare_cached(&self.chunk)?;
        let found = statement.query_row([number(object, part)?], |row| {
            Ok(Bytes::copy_from_slice(row.get_ref(0)?.as_blob()?))
        });
        Ok(found.optional()?)
    }

    pub(super) fn page(
        &self,
        connection: &Connection,
        start: &KeyStart,
        limit: usize,
        metadata: bool,
    ) -> SqlResult<Vec<ObjectEntry>> {
        let (sql, key) = match start {
            KeyStart::From(key) => (&self.from, key),
            KeyStart::After(key) => (&self.after, key),
        };
        let mut statement = connection.prepare_cached(sql)?;
        let entries = statement.query_map(params![key, limit as i64, metadata], entry)?;
        Ok(entries.collect::<rusqlite::Result<_>>()?)
    }

    /// Jumps from child to child over what lies below them.
    pub(super) fn children(
        &self,
        connection: &Connection,
        prefix: &str,
        limit: usize,
    ) -> SqlResult<Vec<String>> {
        let mut after = connection.prepare_cached(&self.next_after)?;
        let mut from = connection.prepare_cached(&self.next_from)?;
        let mut found: Vec<String> = Vec::new();
        let mut next = (prefix.to_string(), true);
        while found.len() < limit {
            let statement = if next.1 { &mut after } else { &mut from };
            let key = statement.query_row([&next.0], |row| row.get::<_, String>(0)).optional()?;
            let Some(key) = key.filter(|key| key.starts_with(prefix)) else { break };
            next = match key[prefix.len()..].split_once('/') {
                // `0` follows `/`: the first key behind everything below this child.
                Some((name, _)) => (format!("{prefix}{name}0"), false),
                None => (key.clone(), true),
            };
            found.push(key);
        }
        Ok(found)
    }

    // Writing ------------------------------------------------------------------------------------

    pub(super) fn begin(
        &self,
        connection: &Connection,
        chunks: &[Bytes],
        stamp: &WriteStamp,
    ) -> SqlResult<i64> {
        let object = self.next_object(connection)?;
        self.put_chunks(connection, object, 0, chunks)?;
        let end = stamp.after(UPLOAD_TIME);
        connection.prepare_cached(&self.unused)?.execute(params![object, end])?;
        Ok(object)
    }

    pub(super) fn extend(
        &self,
        connection: &Connection,
        object: i64,
        part: u64,
        chunks: &[Bytes],
        stamp: &WriteStamp,
    ) -> SqlResult<()> {
        let end = stamp.after(UPLOAD_TIME);
        let touched = connection.prepare_cached(&self.touch)?.execute(params![object, end])?;
        if touched == 0 {
            return Err(given_up());
        }
        self.put_chunks(connection, object, part, chunks)
    }

    /// Lets an upload be swept.
    pub(super) fn abandon(&self, connection: &Connection, object: i64) -> SqlResult<()> {
        connection.prepare_cached(&self.touch)?.execute(params![object, 0])?;
        Ok(())
    }

    pub(super) fn put(
        &self,
        connection: &Connection,
        write: &EntryWrite,
    ) -> SqlResult<Option<ReplacedObject>> {
        let present = self.check(connection, &write.key, write.only_if.as_ref())?;
        let object = match &write.content {
            WrittenContent::Object { object, .. } => {
                if connection.prepare_cached(&self.claim)?.execute([object])? == 0 {
                    return Err(given_up());
                }
                *object
            }
            WrittenContent::Whole(bytes) if bytes.is_empty() => 0,
            WrittenContent::Whole(bytes) => {
                let object = self.next_object(connection)?;
                self.put_chunks(connection, object, 0, std::slice::from_ref(bytes))?;
                object
            }
        };
        let sql = if present.is_some() { &self.update } else { &self.insert };
        let (stamp, attributes) = (&write.stamp, &write.attributes);
        connection.prepare_cached(sql)?.execute(params![
            write.content.length() as i64,
            stamp.entity_tag,
            stamp.now,
            attributes.media_type,
            attributes.metadata,
            object,
            write.key,
        ])?;
        self.free(connection, present.as_ref(), stamp)
    }

    pub(super) fn append(
        &self,
        connection: &Connection,
        key: &str,
        bytes: &Bytes,
        only_if: Option<&Condition>,
        stamp: &WriteStamp,
    ) -> SqlResult<bool> {
        let present = self.check(connection, key, only_if)?;
        let (mut object, old) = present.as_ref().map_or((0, 0), |one| (one.object, one.length));
        if object == 0 && !bytes.is_empty() {
            object = self.next_object(connection)?;
        }
        let (part, filled) = (old / OBJECT_CHUNK as u64, (old % OBJECT_CHUNK as u64) as usize);
        let last = match filled {
            0 => Bytes::new(),
            _ => self.chunk(connection, object, part)?.ok_or_else(damaged)?,
        };
        let chunks = appended(&last, filled, bytes.clone());
        self.put_chunks(connection, object, part, &chunks)?;
        let length = (old + bytes.len() as u64) as i64;
        let (tag, now) = (&stamp.entity_tag, stamp.now);
        let none = None::<String>;
        match present {
            Some(_) => connection
                .prepare_cached(&self.grow)?
                .execute(params![length, tag, now, object, key])?,
            None => connection
                .prepare_cached(&self.insert)?
                .execute(params![length, tag, now, none, none, object, key])?,
        };
        Ok(present.is_some())
    }

    pub(super) fn delete(
        &self,
        connection: &Connection,
        key: &str,
        only_if: Option<&Condition>,
        stamp: &WriteStamp,
    ) -> SqlResult<Option<ReplacedObject>> {
        let present = self.check(connection, key, only_if)?;
        if present.is_some() {
            connection.prepare_cached(&self.delete)?.execute([key])?;
        }
        self.free(connection, present.as_ref(), stamp)
    }

    /// Answers the entity tag.
    pub(super) fn annotate(
        &self,
        connection: &Connection,
        key: &str,
        attributes: &StoredAttributes,
        only_if: Option<&Condition>,
    ) -> SqlResult<String> {
        let Some(present) = self.check(connection, key, only_if)? else {
            let message = "there is no content to give attributes to";
            return Err(SqlFault::new(Kind::NotFound, message));
        };
        let StoredAttributes { media_type, metadata } = attributes;
        connection.prepare_cached(&self.annotate)?.execute(params![media_type, metadata, key])?;
        Ok(present.tag.text.as_str().to_string())
    }

    pub(super) fn relocate(
        &self,
        connection: &Connection,
        (from, to): (&str, &str),
        only_if: Option<&Condition>,
        stamp: &WriteStamp,
    ) -> SqlResult<(bool, Option<ReplacedObject>)> {
        if self.look(connection, from)?.is_none() {
            return Ok((false, None));
        }
        let target = self.check(connection, to, only_if)?;
        if from == to {
            return Ok((true, None));
        }
        if target.is_some() {
            connection.prepare_cached(&self.delete)?.execute([to])?;
        }
        connection.prepare_cached(&self.rename)?.execute([to, from])?;
        Ok((true, self.free(connection, target.as_ref(), stamp)?))
    }

    /// Frees some chunks of one object whose time is over. Answers whether there may be more.
    pub(super) fn sweep(
        &self,
        connection: &Connection,
        in_use: &[i64],
        now: i64,
    ) -> SqlResult<bool> {
        let limit = in_use.len() as i64 + 1;
        let mut over = connection.prepare_cached(&self.over)?;
        let over: Vec<i64> =
            over.query_map(params![now, limit], |row| row.get(0))?.collect::<Result<_, _>>()?;
        let Some(object) = over.into_iter().find(|object| !in_use.contains(object)) else {
            return Ok(false);
        };
        // From now on no upload can go on with it.
        self.abandon(connection, object)?;
        let range = [number(object, 0)?, number(object + 1, 0)?];
        let freed = connection.prepare_cached(&self.free_chunks)?.execute(range)?;
        if freed < SWEPT {
            connection.prepare_cached(&self.forget)?.execute([object])?;
        }
        Ok(true)
    }

    /// Whether a sweep would find something, for readers that only look.
    pub(super) fn is_due(&self, connection: &Connection, now: i64) -> SqlResult<bool> {
        Ok(connection.prepare_cached(&self.over)?.exists(params![now, 1])?)
    }

    fn look(&self, connection: &Connection, key: &str) -> SqlResult<Option<PresentEntry>> {
        let mut statement = connection.prepare_cached(&self.look)?;
        let found = statement.query_row([key], |row| {
            let tag = EntityTag::strong(row.get::<_, String>(2)?);
            Ok(PresentEntry { object: row.get(0)?, length: unsigned(row.get(1)?), tag })
        });
        Ok(found.optional()?)
    }

    /// What is at a key, where the condition holds.
    fn check(
        &self,
        connection: &Connection,
        key: &str,
        only_if: Option<&Condition>,
    ) -> SqlResult<Option<PresentEntry>> {
        let present = self.look(connection, key)?;
        if let Some(condition) = only_if {
            let tag = present.as_ref().map(|present| Some(&present.tag));
            condition.check(tag).map_err(|error| SqlFault::new(error.kind, error.message))?;
        }
        Ok(present)
    }

    /// Frees what no key names any more: small objects at once, larger ones after their readers.
    fn free(
        &self,
        connection: &Connection,
        old: Option<&PresentEntry>,
        stamp: &WriteStamp,
    ) -> SqlResult<Option<ReplacedObject>> {
        let Some(old) = old.map(ReplacedObject::from) else { return Ok(None) };
        if old.is_large() {
            let end = stamp.after(REPLACED_TIME);
            connection.prepare_cached(&self.unused)?.execute(params![old.object, end])?;
        } else if old.object != 0 {
            let chunk = number(old.object, 0)?;
            connection.prepare_cached(&self.free_chunk)?.execute([chunk])?;
        }
        Ok(Some(old))
    }

    fn next_object(&self, connection: &Connection) -> SqlResult<i64> {
        let sql = "SELECT seq FROM sqlite_sequence WHERE name = ?1";
        let mut statement = connection.prepare_cached(sql)?;
        let last: Option<i64> = statement.query_row([&self.chunks], |row| row.get(0)).optional()?;
        Ok(last.map_or(0, |last| last >> PART_BITS) + 1)
    }

    fn put_chunks(
        &self,
        connection: &Connection,
        object: i64,
        part: u64,
        chunks: &[Bytes],
    ) -> SqlResult<()> {
        let mut statement = connection.prepare_cached(&self.put_chunk)?;
        for (at, chunk) in chunks.iter().enumerate() {
            statement.execute(params![number(object, part + at as u64)?, &chunk[..]])?;
        }
        Ok(())
    }
}

/// The number of a chunk.
fn number(object: i64, part: u64) -> SqlResult<i64> {
    let part = i64::try_from(part).ok().filter(|part| *part < 1 << PART_BITS);
    part.and_then(|part| object.checked_mul(1 << PART_BITS)?.checked_add(part)).ok_or_else(|| {
        SqlFault::new(Kind::TooLarge, "content in a key-value store has at most 4 TiB")
    })
}

fn entry(row: &Row<'_>) -> rusqlite::Result<ObjectEntry> {
    Ok(ObjectEntry {
        key: row.get(0)?,
        length: unsigned(row.get(1)?),
        entity_tag: row.get(2)?,
        modified: row.get(3)?,
        media_type: row.get(4)?,
        metadata: row.get(5)?,
        object: row.get(6)?,
    })
}

fn unsigned(length: i64) -> u64 {
    u64::try_from(length).unwrap_or_default()
}
