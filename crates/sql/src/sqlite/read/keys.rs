//! Keys of rows, as references name them.

use crate::sqlite::connection::cell::Cell;
use crate::sqlite::fault::Fault;
use crate::sqlite::schema::catalog::{Key, TableInfo, quoted};
use crate::sqlite::write::change::{key_cell, no_key};
use runnel_store::{FieldType, Value};

/// The key of a row to be written; text that no row's key can be is an error.
pub(crate) fn target_key(table: &TableInfo, text: &str) -> Result<Cell, Fault> {
    match key_cell(table, text) {
        Some(key) => Ok(key),
        None if table.key == Key::None => Err(no_key(table)),
        None => {
            let name = &table.name;
            Err(Fault::invalid(format!("'{text}' cannot be the key of a row of {name}")))
        }
    }
}

/// The statement that reads the keys as text, in bytewise order. Keys with a slash are not names
/// of children.
pub(crate) fn keys_sql(table: &TableInfo) -> Option<String> {
    if matches!(&table.key, Key::Column(column) if column.kind == FieldType::Bytes) {
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
