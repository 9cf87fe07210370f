//! Keys of rows, as references name them.

use crate::database::description::TableDescription;
use crate::database::key_parts;
use crate::sqlite::connection::cell::SqliteValue;
use crate::sqlite::fault::SqlResult;
use crate::sqlite::schema::catalog::{ColumnInfo, RowKey, TableInfo, quoted};
use crate::sqlite::write::change::key_cell;
use runnel_store::{FieldType, Value};

/// The key of a row to be written; a path that names no row is an error.
pub(crate) fn target_key(table: &TableInfo, path: &str) -> SqlResult<SqliteValue> {
    match key_cell(table, path) {
        Some(key) => Ok(key),
        None if table.key == RowKey::None => Err(table.no_key()),
        None => Err(table.not_a_key(path)),
    }
}

/// The statement that reads the keys as text, in bytewise order. Keys with a slash are not names
/// of children.
pub(crate) fn keys_sql(table: &TableInfo) -> SqlResult<Option<String>> {
    let names_none = |column: &ColumnInfo| column.kind == FieldType::Bytes;
    match &table.key {
        RowKey::Columns(_) => return Err(table.no_list()),
        RowKey::Column(column) if names_none(column) => return Ok(None),
        _ => {}
    }
    let Some(key) = table.key_sql() else { return Ok(None) };
    let (text, name) = (table.key_text(&key), quoted(&table.name));
    Ok(Some(format!(
        "SELECT {text} AS name FROM {name} \
         WHERE {key} IS NOT NULL AND instr({text}, '/') = 0 ORDER BY name LIMIT ?1"
    )))
}

/// The path of a row that was inserted, from its key.
pub(crate) fn key_path(table: &TableInfo, key: &Value) -> Option<String> {
    match (&table.key, key) {
        (RowKey::Columns(_), Value::Text(document)) => key_parts::path(document),
        (_, Value::Int(number)) => Some(number.to_string()),
        (_, Value::Text(text)) => Some(text.clone()),
        _ => None,
    }
}
