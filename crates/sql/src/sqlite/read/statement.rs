//! Statements that a program writes itself.

use crate::sqlite::connection::authorizer::WriteAuthorizer;
use crate::sqlite::connection::cell::SqliteValue;
use crate::sqlite::fault::{SqlFault, SqlResult};
use crate::sqlite::read::encode::{columns, record, records};
use crate::sqlite::read::reader::StatementTraits;
use crate::sqlite::read::select::SqliteSelect;
use runnel_store::{Kind, Value};
use rusqlite::{Connection, params_from_iter};
use std::borrow::Cow;

/// The most rows that a `RETURNING` clause answers.
pub const RETURNING_LIMIT: usize = 100_000;

/// The statement with `$1` as `?1`, so that the same text runs on PostgreSQL. To SQLite, `$1` is a name,
/// whose number is the order in which the names stand in the text.
pub(crate) fn with_numbers(sql: &str) -> Cow<'_, str> {
    if !sql.contains('$') {
        return Cow::Borrowed(sql);
    }
    let mut text = String::with_capacity(sql.len());
    let mut rest = sql;
    while let Some(at) = rest.find(['$', '\'', '"', '`', '[', '-', '/']) {
        let (before, from) = rest.split_at(at);
        text.push_str(before);
        let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
        let digits = from[1..].find(|c: char| !c.is_ascii_digit()).unwrap_or(from.len() - 1);
        if from.starts_with('$') && digits > 0 && !text.ends_with(is_part) {
            text.push('?');
            rest = &from[1..];
            continue;
        }
        let length = quoted_length(from);
        text.push_str(&from[..length]);
        rest = &from[length..];
    }
    text.push_str(rest);
    Cow::Owned(text)
}

/// The length of the literal, the quoted name or the comment that begins here, or 1.
fn quoted_length(text: &str) -> usize {
    let end = match text.as_bytes()[0] {
        b'-' if text.starts_with("--") => "\n",
        b'/' if text.starts_with("/*") => "*/",
        b'[' => "]",
        // A doubled quote ends one literal and begins the next.
        b'\'' => "'",
        b'"' => "\"",
        b'`' => "`",
        _ => return 1,
    };
    let start = if end.len() == 2 { 2 } else { 1 };
    text[start..].find(end).map_or(text.len(), |at| start + at + end.len())
}

/// Checks what can be checked before a statement runs.
pub(crate) fn check(traits: &StatementTraits, given: usize) -> SqlResult<()> {
    if traits.reads_only && traits.columns == 0 {
        return Err(SqlFault::invalid("this is no statement that reads or writes"));
    }
    if traits.parameters != given {
        let wanted = traits.parameters;
        return Err(rusqlite::Error::InvalidParameterCount(given, wanted).into());
    }
    Ok(())
}

/// Runs a statement in a transaction, on the writer's connection.
pub(crate) fn within(
    connection: &Connection,
    guard: &WriteAuthorizer,
    sql: &str,
    cells: &[SqliteValue],
) -> SqlResult<Value> {
    // Not a cached statement: it may have been authorized for another caller.
    let prepared = guard.during(|| connection.prepare(sql))?;
    let traits = StatementTraits {
        reads_only: prepared.readonly(),
        columns: prepared.column_count(),
        parameters: prepared.parameter_count(),
        steady: false,
    };
    drop(prepared);
    check(&traits, cells.len())?;
    if traits.reads_only {
        let select = SqliteSelect::new(sql.to_string(), cells.to_vec(), None, false);
        return Ok(Value::List(records(connection, &select)?));
    }
    write(connection, sql, cells, traits.columns > 0)
}

/// Runs a statement that writes, on the writer's connection.
pub(crate) fn write(
    connection: &Connection,
    sql: &str,
    cells: &[SqliteValue],
    returning: bool,
) -> SqlResult<Value> {
    let mut statement = connection.prepare_cached(sql)?;
    if !returning {
        let before = connection.total_changes();
        let changed = statement.execute(params_from_iter(cells))?;
        // After a statement that changes no rows, such as CREATE, SQLite repeats the last number.
        let changed = if connection.total_changes() == before { 0 } else { changed };
        return Ok(Value::Int(changed as i64));
    }
    let columns = columns(&statement, &SqliteSelect::new(String::new(), Vec::new(), None, false))?;
    let mut rows = statement.query(params_from_iter(cells))?;
    let mut records = Vec::new();
    while let Some(row) = rows.next()? {
        if records.len() == RETURNING_LIMIT {
            let message = format!("RETURNING answers at most {RETURNING_LIMIT} rows");
            return Err(SqlFault::new(Kind::TooLarge, message));
        }
        records.push(record(&columns, row, &mut 0)?);
    }
    Ok(Value::List(records))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_parameters_stand_for_themselves() {
        for (written, run) in [
            ("select $2, $1", "select ?2, ?1"),
            ("select '$1', \"$1\", `$1`, [$1], $12", "select '$1', \"$1\", `$1`, [$1], ?12"),
            ("select 'it''s $1' -- $1\n, $1", "select 'it''s $1' -- $1\n, ?1"),
            ("select /* $1 */ 8 / 2 - $1", "select /* $1 */ 8 / 2 - ?1"),
            ("select a$1, $name, '$1", "select a$1, $name, '$1"),
            ("select 'ä' || $1 || '/*", "select 'ä' || ?1 || '/*"),
            ("-- $1", "-- $1"),
        ] {
            assert_eq!(with_numbers(written), run);
        }
    }
}
