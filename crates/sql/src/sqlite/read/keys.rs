//! Keys of rows, as references name them.

use crate::database::description::TableDescription;
use crate::sqlite::connection::cell::SqliteValue;
use crate::sqlite::fault::SqlResult;
use crate::sqlite::schema::catalog::{RowKey, TableInfo, quoted};
use crate::sqlite::write::change::key_cell;
use runnel_store::{FieldType, Value};

/// The key of a row to be written; text that no row's key can be is an error.
pub(crate) fn target_key(table: &TableInfo, text: &str) -> SqlResult<SqliteValue> {
    match key_cell(table, text) {
        Some(key) => Ok(key),
        None if table.key == RowKey::None => Err(table.no_key()),
        None => Err(table.not_a_key(text)),
    }
}

/// The statement that reads the keys as text, in bytewise order. Keys with a slash are not names
/// of children.
pub(crate) fn keys_sql(table: &TableInfo) -> Option<String> {
    if matches!(&table.key, RowKey::Column(column) if column.kind == FieldType::Bytes) {
        return None;
    }
    let (key, name) = (table.key_sql()?, quoted(&table.name));
    let text = table.key_text(&key);
    Some(format!(
        "SELECT {text} AS name FROM {name} \
         WHERE {key} IS NOT NULL AND instr(name, '/') = 0 ORDER BY name LIMIT ?1"
    ))
}

pub(crate) fn key_text(key: &Value) -> Option<String> {
    match key {
        Value::Int(number) => Some(number.to_string()),
        Value::Text(text) => Some(text.clone()),
        _ => None,
    }
}
