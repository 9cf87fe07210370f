//! The statements of a key-value store, each call within one transaction of a connection.
//!
//! A write locks its key, present or not, before it reads it: the second of two writers sees what
//! the first has done.

use crate::key_value::backend::KeyStart;
use crate::key_value::entry::{
    EntryWrite, FoundObject, ObjectEntry, ReplacedObject, StoredAttributes, WriteStamp,
    WrittenContent,
};
use crate::key_value::layout::{OBJECT_CHUNK, REPLACED_TIME, UPLOAD_TIME, damaged, given_up};
use crate::key_value::upload::appended;
use crate::postgres::connection::client::PostgresConnection;
use crate::postgres::fault::{SqlFault, SqlResult};
use crate::postgres::schema::catalog::quoted;
use crate::postgres::schema::read_catalog::field;
use crate::postgres::value::parameter::Parameter;
use bytes::Bytes;
use futures_util::future::try_join_all;
use runnel_store::{Condition, EntityTag, Kind};
use tokio_postgres::Row;

/// Chunks that are freed in one transaction: 8 MiB.
const SWEPT: u64 = 32;

/// The columns of an entry, as [`entry`] reads them.
const ENTRY: &str = "k.key, k.length, k.entity_tag, k.modified, k.media_type, k.metadata, k.object";

/// The statements of one store.
pub(super) struct KeyValueQueries {
    pub(super) name: String,
    find: String,
    chunk: String,
    from: String,
    after: String,
    children: String,
    lock: String,
    look: String,
    next_object: String,
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
    end: String,
    claim: String,
    forget: String,
    over: String,
}

/// A key as a write finds it.
struct PresentKey {
    object: i64,
    length: u64,
    tag: EntityTag,
}

fn text(text: &str) -> Parameter {
    Parameter::text(text)
}

fn optional(text: Option<&String>) -> Parameter {
    text.map_or(Parameter::Null, Parameter::text)
}

fn number(number: u64) -> Parameter {
    Parameter::Text(number.to_string())
}

impl KeyValueQueries {
    pub(super) fn new(name: String) -> Self {
        let [keys, chunks, unused, objects] =
            ["", "_chunks", "_unused", "_objects"].map(|end| quoted(&format!("{name}{end}")));
        let page = |comparison: &str| {
            format!(
                "SELECT k.key, k.length, k.entity_tag, k.modified, NULL::text, \
                 CASE WHEN $3::bool THEN k.metadata END, k.object FROM {keys} k \
                 WHERE k.key {comparison} $1 ORDER BY k.key LIMIT $2::int8"
            )
        };
        KeyValueQueries {
            find: format!(
                "SELECT {ENTRY}, c.bytes FROM {keys} k LEFT JOIN {chunks} c \
                 ON c.object = k.object AND c.part = 0 AND k.length <= {OBJECT_CHUNK} \
                 AND k.entity_tag IS DISTINCT FROM $2::text WHERE k.key = $1"
            ),
            chunk: format!("SELECT bytes FROM {chunks} WHERE object = $1 AND part = $2"),
            from: page(">="),
            after: page(">"),
            children: children(&keys),
            lock: "SELECT pg_advisory_xact_lock(hashtext($1), key) FROM (SELECT DISTINCT \
                   hashtext(k) AS key FROM unnest(ARRAY[$2::text, $3::text]) k ORDER BY 1) AS keys"
                .to_string(),
            look: format!("SELECT object, length, entity_tag FROM {keys} WHERE key = $1"),
            next_object: format!("SELECT nextval('{objects}')"),
            insert: format!(
                "INSERT INTO {keys} (length, entity_tag, modified, media_type, metadata, object, \
                 key) VALUES ($1, $2, $3, $4, $5, $6, $7)"
            ),
            update: format!(
                "UPDATE {keys} SET length = $1, entity_tag = $2, modified = $3, media_type = $4, \
                 metadata = $5, object = $6 WHERE key = $7"
            ),
            grow: format!(
                "UPDATE {keys} SET length = $1, entity_tag = $2, modified = $3, object = $4 \
                 WHERE key = $5"
            ),
            annotate: format!("UPDATE {keys} SET media_type = $1, metadata = $2 WHERE key = $3"),
            rename: format!("UPDATE {keys} SET key = $1 WHERE key = $2"),
            delete: format!("DELETE FROM {keys} WHERE key = $1"),
            put_chunk: format!(
                "INSERT INTO {chunks} (object, part, bytes) VALUES ($1, $2, $3) \
                 ON CONFLICT (object, part) DO UPDATE SET bytes = excluded.bytes"
            ),
            free_chunk: format!("DELETE FROM {chunks} WHERE object = $1"),
            free_chunks: format!(
                "DELETE FROM {chunks} WHERE object = $1 AND part IN \
                 (SELECT part FROM {chunks} WHERE object = $1 LIMIT {SWEPT})"
            ),
            unused: format!("INSERT INTO {unused} (object, free_after) VALUES ($1, $2)"),
            touch: format!(
                "UPDATE {unused} SET free_after = $2 WHERE object = $1 AND free_after <> 0"
            ),
            end: format!("UPDATE {unused} SET free_after = 0 WHERE object = $1"),
            claim: format!("DELETE FROM {unused} WHERE object = $1 AND free_after <> 0"),
            forget: format!("DELETE FROM {unused} WHERE object = $1"),
            over: format!(
                "SELECT object FROM {unused} WHERE free_after <= $1 ORDER BY free_after \
                 LIMIT $2::int8"
            ),
            name,
        }
    }

    // Reading ------------------------------------------------------------------------------------

    pub(super) async fn find(
        &self,
        connection: &PostgresConnection,
        key: &str,
        known: Option<&String>,
    ) -> SqlResult<Option<FoundObject>> {
        let rows = connection.all(&self.find, &[text(key), optional(known)]).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let bytes = field::<Option<&[u8]>>(row, 7)?.map(Bytes::copy_from_slice);
        Ok(Some(FoundObject { entry: entry(row)?, bytes }))
    }

    pub(super) async fn chunk(
        &self,
        connection: &PostgresConnection,
        object: i64,
        part: u64,
    ) -> SqlResult<Option<Bytes>> {
        let rows = connection.all(&self.chunk, &[Parameter::int(object), number(part)]).await?;
        let bytes = rows.first().map(|row| field::<&[u8]>(row, 0)).transpose()?;
        Ok(bytes.map(Bytes::copy_from_slice))
    }

    pub(super) async fn page(
        &self,
        connection: &PostgresConnection,
        start: &KeyStart,
        limit: usize,
        metadata: bool,
    ) -> SqlResult<Vec<ObjectEntry>> {
        let (sql, key) = match start {
            KeyStart::From(key) => (&self.from, key),
            KeyStart::After(key) => (&self.after, key),
        };
        let parameters = [text(key), number(limit as u64), text(&metadata.to_string())];
        connection.all(sql, &parameters).await?.iter().map(entry).collect()
    }

    pub(super) async fn children(
        &self,
        connection: &PostgresConnection,
        prefix: &str,
        limit: usize,
    ) -> SqlResult<Vec<String>> {
        let rows = connection.all(&self.children, &[text(prefix), number(limit as u64)]).await?;
        rows.iter().map(|row| field(row, 0)).collect()
    }

    // Writing ------------------------------------------------------------------------------------

    pub(super) async fn begin(
        &self,
        connection: &PostgresConnection,
        chunks: &[Bytes],
        stamp: &WriteStamp,
    ) -> SqlResult<i64> {
        let object = self.next_object(connection).await?;
        let end = Parameter::int(stamp.after(UPLOAD_TIME));
        connection.execute(&self.unused, &[Parameter::int(object), end]).await?;
        self.put_chunks(connection, object, 0, chunks).await?;
        Ok(object)
    }

    pub(super) async fn extend(
        &self,
        connection: &PostgresConnection,
        object: i64,
        part: u64,
        chunks: &[Bytes],
        stamp: &WriteStamp,
    ) -> SqlResult<()> {
        let end = Parameter::int(stamp.after(UPLOAD_TIME));
        if connection.execute(&self.touch, &[Parameter::int(object), end]).await? == 0 {
            return Err(given_up());
        }
        self.put_chunks(connection, object, part, chunks).await
    }

    /// Lets an upload be swept.
    pub(super) async fn abandon(
        &self,
        connection: &PostgresConnection,
        object: i64,
    ) -> SqlResult<()> {
        connection.execute(&self.end, &[Parameter::int(object)]).await.map(drop)
    }

    pub(super) async fn put(
        &self,
        connection: &PostgresConnection,
        write: &EntryWrite,
    ) -> SqlResult<Option<ReplacedObject>> {
        let present = self.check(connection, &write.key, write.only_if.as_ref()).await?;
        let object = match &write.content {
            WrittenContent::Object { object, .. } => {
                if connection.execute(&self.claim, &[Parameter::int(*object)]).await? == 0 {
                    return Err(given_up());
                }
                *object
            }
            WrittenContent::Whole(bytes) if bytes.is_empty() => 0,
            WrittenContent::Whole(bytes) => {
                let object = self.next_object(connection).await?;
                let chunks = std::slice::from_ref(bytes);
                self.put_chunks(connection, object, 0, chunks).await?;
                object
            }
        };
        let sql = if present.is_some() { &self.update } else { &self.insert };
        let (stamp, attributes) = (&write.stamp, &write.attributes);
        let parameters = [
            number(write.content.length()),
            text(&stamp.entity_tag),
            Parameter::int(stamp.now),
            optional(attributes.media_type.as_ref()),
            optional(attributes.metadata.as_ref()),
            Parameter::int(object),
            text(&write.key),
        ];
        connection.execute(sql, &parameters).await?;
        self.free(connection, present.as_ref(), stamp).await
    }

    pub(super) async fn append(
        &self,
        connection: &PostgresConnection,
        key: &str,
        bytes: &Bytes,
        only_if: Option<&Condition>,
        stamp: &WriteStamp,
    ) -> SqlResult<bool> {
        let present = self.check(connection, key, only_if).await?;
        let (mut object, old) = present.as_ref().map_or((0, 0), |one| (one.object, one.length));
        if object == 0 && !bytes.is_empty() {
            object = self.next_object(connection).await?;
        }
        let (part, filled) = (old / OBJECT_CHUNK as u64, (old % OBJECT_CHUNK as u64) as usize);
        let last = match filled {
            0 => Bytes::new(),
            _ => self.chunk(connection, object, part).await?.ok_or_else(damaged)?,
        };
        let chunks = appended(&last, filled, bytes.clone());
        self.put_chunks(connection, object, part, &chunks).await?;
        let [length, tag] = [number(old + bytes.len() as u64), text(&stamp.entity_tag)];
        let [now, object] = [stamp.now, object].map(Parameter::int);
        match present {
            Some(_) => {
                connection.execute(&self.grow, &[length, tag, now, object, text(key)]).await?
            }
            None => {
                let [media_type, metadata] = [Parameter::Null, Parameter::Null];
                let row = [length, tag, now, media_type, metadata, object, text(key)];
                connection.execute(&self.insert, &row).await?
            }
        };
        Ok(present.is_some())
    }

    pub(super) async fn delete(
        &self,
        connection: &PostgresConnection,
        key: &str,
        only_if: Option<&Condition>,
        stamp: &WriteStamp,
    ) -> SqlResult<Option<ReplacedObject>> {
        let present = self.check(connection, key, only_if).await?;
        if present.is_some() {
            connection.execute(&self.delete, &[text(key)]).await?;
        }
        self.free(connection, present.as_ref(), stamp).await
    }

    /// Answers the entity tag.
    pub(super) async fn annotate(
        &self,
        connection: &PostgresConnection,
        key: &str,
        attributes: &StoredAttributes,
        only_if: Option<&Condition>,
    ) -> SqlResult<EntityTag> {
        let Some(present) = self.check(connection, key, only_if).await? else {
            let message = "there is no content to give attributes to";
            return Err(SqlFault::new(Kind::NotFound, message));
        };
        let StoredAttributes { media_type, metadata } = attributes;
        let row = [optional(media_type.as_ref()), optional(metadata.as_ref()), text(key)];
        connection.execute(&self.annotate, &row).await?;
        Ok(present.tag)
    }

    pub(super) async fn relocate(
        &self,
        connection: &PostgresConnection,
        (from, to): (&str, &str),
        only_if: Option<&Condition>,
        stamp: &WriteStamp,
    ) -> SqlResult<(bool, Option<ReplacedObject>)> {
        self.lock(connection, from, to).await?;
        if self.look(connection, from).await?.is_none() {
            return Ok((false, None));
        }
        let target = self.check(connection, to, only_if).await?;
        if from == to {
            return Ok((true, None));
        }
        if target.is_some() {
            connection.execute(&self.delete, &[text(to)]).await?;
        }
        connection.execute(&self.rename, &[text(to), text(from)]).await?;
        Ok((true, self.free(connection, target.as_ref(), stamp).await?))
    }

    /// Frees some chunks of one object whose time is over. Answers whether there may be more.
    pub(super) async fn sweep(
        &self,
        connection: &PostgresConnection,
        in_use: &[i64],
        now: i64,
    ) -> SqlResult<bool> {
        let limit = number(in_use.len() as u64 + 1);
        let rows = connection.all(&self.over, &[Parameter::int(now), limit]).await?;
        let over: Vec<i64> = rows.iter().map(|row| field(row, 0)).collect::<SqlResult<_>>()?;
        let Some(object) = over.into_iter().find(|object| !in_use.contains(object)) else {
            return Ok(false);
        };
        let object = [Parameter::int(object)];
        // From now on no upload can go on with it.
        connection.execute(&self.end, &object).await?;
        if connection.execute(&self.free_chunks, &object).await? < SWEPT {
            connection.execute(&self.forget, &object).await?;
        }
        Ok(true)
    }

    /// Locks two keys, in an order that is the same for all.
    async fn lock(&self, connection: &PostgresConnection, one: &str, other: &str) -> SqlResult<()> {
        let parameters = [text(&self.name), text(one), text(other)];
        connection.all(&self.lock, &parameters).await.map(drop)
    }

    async fn look(
        &self,
        connection: &PostgresConnection,
        key: &str,
    ) -> SqlResult<Option<PresentKey>> {
        let rows = connection.all(&self.look, &[text(key)]).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let tag = EntityTag::strong(field::<String>(row, 2)?);
        Ok(Some(PresentKey { object: field(row, 0)?, length: unsigned(field(row, 1)?), tag }))
    }

    /// What is at a key from now until the end of the transaction, where the condition holds.
    async fn check(
        &self,
        connection: &PostgresConnection,
        key: &str,
        only_if: Option<&Condition>,
    ) -> SqlResult<Option<PresentKey>> {
        self.lock(connection, key, key).await?;
        let present = self.look(connection, key).await?;
        if let Some(condition) = only_if {
            let tag = present.as_ref().map(|present| Some(&present.tag));
            condition.check(tag).map_err(|error| SqlFault::new(error.kind, error.message))?;
        }
        Ok(present)
    }

    /// Frees what no key names any more: small objects at once, larger ones after their readers.
    async fn free(
        &self,
        connection: &PostgresConnection,
        old: Option<&PresentKey>,
        stamp: &WriteStamp,
    ) -> SqlResult<Option<ReplacedObject>> {
        let Some(old) = old else { return Ok(None) };
        let old = ReplacedObject { object: old.object, length: old.length };
        if old.is_large() {
            let row = [old.object, stamp.after(REPLACED_TIME)].map(Parameter::int);
            connection.execute(&self.unused, &row).await?;
        } else if old.object != 0 {
            connection.execute(&self.free_chunk, &[Parameter::int(old.object)]).await?;
        }
        Ok(Some(old))
    }

    async fn next_object(&self, connection: &PostgresConnection) -> SqlResult<i64> {
        let rows = connection.all(&self.next_object, &[]).await?;
        rows.first().map_or(Ok(0), |row| field(row, 0))
    }

    async fn put_chunks(
        &self,
        connection: &PostgresConnection,
        object: i64,
        part: u64,
        chunks: &[Bytes],
    ) -> SqlResult<()> {
        // All are on their way before the first one is answered.
        let puts = chunks.iter().enumerate().map(async |(at, chunk)| {
            let part = number(part + at as u64);
            let row = [Parameter::int(object), part, Parameter::Bytes(chunk.clone())];
            connection.execute(&self.put_chunk, &row).await
        });
        try_join_all(puts).await.map(drop)
    }
}

/// The statement that jumps from child to child over what lies below them: `0` follows `/`.
fn children(keys: &str) -> String {
    let rest = "substr(c.key, length($1::text) + 1)";
    let next = |condition: &str| {
        format!("(SELECT k.key FROM {keys} k WHERE k.key {condition} ORDER BY k.key LIMIT 1)")
    };
    format!(
        "WITH RECURSIVE child(key) AS ({first} UNION ALL SELECT (CASE \
         WHEN strpos({rest}, '/') = 0 THEN {after} ELSE {behind} END) COLLATE \"C\" \
         FROM child c WHERE starts_with(c.key, $1::text)) \
         SELECT key FROM child WHERE starts_with(key, $1::text) LIMIT $2::int8",
        first = next("> $1::text"),
        after = next("> c.key"),
        behind = next(&format!(">= $1::text || split_part({rest}, '/', 1) || '0'")),
    )
}

fn entry(row: &Row) -> SqlResult<ObjectEntry> {
    Ok(ObjectEntry {
        key: field(row, 0)?,
        length: unsigned(field(row, 1)?),
        entity_tag: field(row, 2)?,
        modified: field(row, 3)?,
        media_type: field(row, 4)?,
        metadata: field(row, 5)?,
        object: field(row, 6)?,
    })
}

fn unsigned(length: i64) -> u64 {
    u64::try_from(length).unwrap_or_default()
}
