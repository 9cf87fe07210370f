//! One row as content: a record, read at once.

use crate::sqlite::connection::cell::SqliteValue;
use crate::sqlite::fault::SqlResult;
use crate::sqlite::read::encode::record;
use crate::sqlite::read::select::{ResultColumns, SEED};
use runnel_store::{Content, Context, EntityTag};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};
use std::hash::{BuildHasher, Hash, Hasher};

/// The row of a key. Its entity tag is made from what it holds, so it changes with the row and not
/// with the rest of the database, and is the same for all workers of a process.
pub(crate) fn row_content(
    connection: &Connection,
    sql: &str,
    key: &SqliteValue,
    columns: &ResultColumns,
    context: &Context,
) -> SqlResult<Option<Content>> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([key])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    if context.untagged {
        return Ok(Some(Content::value(record(columns, row, &mut 0)?)));
    }
    let tag = tag(columns, row)?;
    if let Some(known) = context.known.as_ref().filter(|known| known.text == tag.text) {
        return Ok(Some(Content { entity_tag: Some(known.clone()), ..Content::default() }));
    }
    let content = Content::value(record(columns, row, &mut 0)?);
    Ok(Some(Content { entity_tag: Some(tag), ..content }))
}

fn tag(columns: &ResultColumns, row: &Row<'_>) -> SqlResult<EntityTag> {
    let mut hasher = SEED.build_hasher();
    columns.names.hash(&mut hasher);
    for index in 0..columns.names.len() {
        match row.get_ref(index)? {
            ValueRef::Null => 0_u8.hash(&mut hasher),
            ValueRef::Integer(number) => (1_u8, number).hash(&mut hasher),
            ValueRef::Real(number) => (2_u8, number.to_bits()).hash(&mut hasher),
            ValueRef::Text(text) => (3_u8, text).hash(&mut hasher),
            ValueRef::Blob(bytes) => (4_u8, bytes).hash(&mut hasher),
        }
    }
    Ok(EntityTag::strong(format!("{:016x}", hasher.finish())))
}
