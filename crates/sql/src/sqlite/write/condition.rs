//! What has to be so of a row for it to be written.

use crate::sqlite::connection::cell::Cell;
use crate::sqlite::fault::Fault;
use crate::sqlite::read::row::row_content;
use crate::sqlite::write::change::Target;
use runnel_store::{Condition, Context};
use rusqlite::Connection;

/// Looks at the row of a key on the connection that writes, and so in the transaction: nobody comes
/// in between. No key is no row.
pub(crate) fn check(
    only_if: Option<&Condition>,
    target: &Target,
    connection: &Connection,
    key: Option<&Cell>,
) -> Result<(), Fault> {
    let Some(condition) = only_if else { return Ok(()) };
    let row = match (&target.one, key) {
        (Some(sql), Some(key)) => {
            row_content(connection, sql, key, &target.columns, &Context::default())?
        }
        _ => None,
    };
    let tag = row.as_ref().map(|row| row.entity_tag.as_ref());
    let checked = condition.check(tag);
    checked.map_err(|error| Fault::new(error.kind, error.message))
}
