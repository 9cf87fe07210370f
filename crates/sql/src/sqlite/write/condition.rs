//! What has to be so of a row for it to be written.

use crate::sqlite::connection::cell::SqliteValue;
use crate::sqlite::fault::{SqlFault, SqlResult};
use crate::sqlite::read::row::row_content;
use crate::sqlite::write::change::WriteTarget;
use runnel_store::{Condition, Context};
use rusqlite::Connection;

/// Checks the row of a key on the connection that writes, and so in the transaction, which excludes
/// other writers. No key is no row.
pub(crate) fn check(
    only_if: Option<&Condition>,
    target: &WriteTarget,
    connection: &Connection,
    key: Option<&SqliteValue>,
) -> SqlResult<()> {
    let Some(condition) = only_if else { return Ok(()) };
    let row = match (&target.one, key) {
        (Some(sql), Some(key)) => {
            row_content(connection, sql, key, &target.columns, &Context::default())?
        }
        _ => None,
    };
    let tag = row.as_ref().map(|row| row.entity_tag.as_ref());
    let checked = condition.check(tag);
    checked.map_err(|error| SqlFault::new(error.kind, error.message))
}
