//! From the rows of a statement straight into JSON, CSV or values: no row becomes an object.

use crate::database::slow::RunningStatement;
use crate::rows::columns::ColumnDisplay;
use crate::rows::csv;
use crate::sqlite::connection::cell::{read, safe_text};
use crate::sqlite::connection::statement_counts;
use crate::sqlite::fault::{SqlFault, SqlResult};
use crate::sqlite::read::select::{ResultColumns, SqliteSelect};
use crate::sqlite::schema::catalog::shown;
use runnel_store::{Form, Kind, Value, json};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row, Statement, params_from_iter};
use std::sync::Arc;

/// The largest encoding in one piece, in bytes; larger results have to be streamed.
pub const ENCODING_LIMIT: usize = 256 << 20;

/// What happens when an encoding has grown.
pub(crate) struct SizeWatch<'a> {
    /// The size in bytes from which on the callback runs after each row.
    pub(crate) from: usize,
    /// May take away what there is so far; an error ends the work.
    pub(crate) tell: &'a mut dyn FnMut(&mut Vec<u8>) -> SqlResult<()>,
}

/// Runs a statement and writes its rows. Text and JSON are the same: rows have structure.
pub(crate) fn encode(
    connection: &Connection,
    select: &SqliteSelect,
    form: Form,
    watch: SizeWatch<'_>,
) -> SqlResult<Vec<u8>> {
    let _running = RunningStatement::start(&select.sql, select.place.get());
    let mut statement = connection.prepare_cached(&select.sql)?;
    let columns = columns(&statement, select)?;
    let mut rows = statement.query(params_from_iter(&select.parameters))?;
    let mut out = Vec::with_capacity(512);
    let mut count = 0;
    if form == Form::Csv {
        csv::header(&columns, &mut out);
        while let Some(row) = rows.next()? {
            csv_row(&columns, row, &mut out)?;
            count += 1;
            if out.len() >= watch.from {
                (watch.tell)(&mut out)?;
            }
        }
        statement_counts::count(count);
        return Ok(out);
    }
    out.push(b'[');
    while let Some(row) = rows.next()? {
        if count > 0 {
            out.push(b',');
        }
        count += 1;
        json_row(&columns, row, &mut out)?;
        if out.len() >= watch.from {
            (watch.tell)(&mut out)?;
        }
    }
    out.push(b']');
    statement_counts::count(count);
    Ok(out)
}

/// Runs a statement and makes a value of every row.
pub(crate) fn records(connection: &Connection, select: &SqliteSelect) -> SqlResult<Vec<Value>> {
    let _running = RunningStatement::start(&select.sql, select.place.get());
    let mut statement = connection.prepare_cached(&select.sql)?;
    let columns = columns(&statement, select)?;
    let mut rows = statement.query(params_from_iter(&select.parameters))?;
    let mut records = Vec::new();
    let mut weight = 0;
    while let Some(row) = rows.next()? {
        let value = record(&columns, row, &mut weight)?;
        if weight > ENCODING_LIMIT {
            return Err(too_large());
        }
        records.push(value);
    }
    statement_counts::count(records.len() as u64);
    Ok(records)
}

/// One row as a value. Adds to the weight about what it takes in memory, in bytes.
pub(crate) fn record(
    columns: &ResultColumns,
    row: &Row<'_>,
    weight: &mut usize,
) -> SqlResult<Value> {
    let mut fields = Vec::with_capacity(columns.names.len());
    for (index, (name, shown)) in columns.names.iter().zip(&columns.shown).enumerate() {
        let cell = row.get_ref(index)?;
        *weight +=
            name.len() + size_of::<(String, Value)>() + cell.as_bytes().map_or(0, <[u8]>::len);
        fields.push((name.clone(), read(cell, *shown)));
    }
    Ok(columns.record(fields))
}

/// The one integer that a count answers.
pub(crate) fn count(connection: &Connection, select: &SqliteSelect) -> SqlResult<i64> {
    let _running = RunningStatement::start(&select.sql, select.place.get());
    let mut statement = connection.prepare_cached(&select.sql)?;
    statement_counts::count(1);
    Ok(statement.query_row(params_from_iter(&select.parameters), |row| row.get(0))?)
}

pub(crate) fn too_large() -> SqlFault {
    SqlFault::new(
        Kind::TooLarge,
        "the result is too large for one piece; limit it, choose fewer columns or stream it",
    )
}

/// The columns of a statement: those of a table are known, those of a program's own statement are
/// taken from the statement.
pub(crate) fn columns(
    statement: &Statement<'_>,
    select: &SqliteSelect,
) -> SqlResult<Arc<ResultColumns>> {
    if let Some(columns) = &select.columns {
        return Ok(columns.clone());
    }
    let columns =
        ResultColumns::of_statement(statement.columns().map(|column| {
            (column.name().to_string(), shown(column.decl_type().unwrap_or_default()))
        }));
    columns.map(Arc::new)
}

fn json_row(columns: &ResultColumns, row: &Row<'_>, out: &mut Vec<u8>) -> SqlResult<()> {
    for (index, (key, shown)) in columns.keys.iter().zip(&columns.shown).enumerate() {
        key.append(out);
        write_cell(row.get_ref(index)?, *shown, out);
    }
    columns.end.append(out);
    Ok(())
}

/// One value of a row as JSON.
pub(crate) fn write_cell(value: ValueRef<'_>, shown: ColumnDisplay, out: &mut Vec<u8>) {
    match value {
        ValueRef::Null | ValueRef::Text(_) if shown == ColumnDisplay::Lines => {
            json::write(&read(value, shown), out);
        }
        ValueRef::Null => out.extend_from_slice(b"null"),
        // Another program may have written what is no JSON.
        ValueRef::Text(text) if shown == ColumnDisplay::Json => {
            json::write(&read(ValueRef::Text(text), shown), out);
        }
        ValueRef::Integer(number) => write_integer(number, shown, out),
        ValueRef::Real(number) => json::write_float(number, out),
        ValueRef::Text(text) if shown == ColumnDisplay::Moment => {
            let (text, end) = shown.text(text);
            json::write_utf8(text, out);
            out.pop();
            out.extend_from_slice(end);
            out.push(b'"');
        }
        ValueRef::Text(text) => json::write_utf8(text, out),
        ValueRef::Blob(bytes) => json::write_bytes(bytes, out),
    }
}

pub(crate) fn write_integer(number: i64, shown: ColumnDisplay, out: &mut Vec<u8>) {
    match number {
        0 if shown == ColumnDisplay::Boolean => out.extend_from_slice(b"false"),
        1 if shown == ColumnDisplay::Boolean => out.extend_from_slice(b"true"),
        _ => json::write_int(number, out),
    }
}

/// RFC 4180. Nothing stands for NULL, and an empty text is `""`.
fn csv_row(columns: &ResultColumns, row: &Row<'_>, out: &mut Vec<u8>) -> SqlResult<()> {
    let start = out.len();
    for (index, shown) in columns.shown.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        match row.get_ref(index)? {
            ValueRef::Null => {}
            ValueRef::Integer(0) if *shown == ColumnDisplay::Boolean => {
                out.extend_from_slice(b"false")
            }
            ValueRef::Integer(1) if *shown == ColumnDisplay::Boolean => {
                out.extend_from_slice(b"true")
            }
            ValueRef::Integer(number) => json::write_int(number, out),
            ValueRef::Real(number) if number.is_finite() => json::write_float(number, out),
            ValueRef::Real(_) => {}
            ValueRef::Text(text) => {
                let (text, end) = shown.text(text);
                csv::text(&[safe_text(text).as_bytes(), end].concat(), out);
            }
            ValueRef::Blob(bytes) => {
                // The JSON writer's base64 without its quotes.
                let start = out.len();
                json::write_bytes(bytes, out);
                out.pop();
                out.remove(start);
            }
        }
    }
    // A line of one empty cell would be a blank line, which readers skip.
    if out.len() == start {
        out.extend_from_slice(b"\"\"");
    }
    out.extend_from_slice(b"\r\n");
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn rows(form: Form, sql: &str) -> String {
        let connection = Connection::open_in_memory().unwrap();
        connection
            .execute_batch("create table t(id integer primary key, done boolean, x)")
            .unwrap();
        connection
            .execute_batch(
                "insert into t values (1, 0, 'a,\"b\"'), (2, 1, null), (3, 7, x'00ff'), \
                 (-9223372036854775808, null, 0.1), \
                 (9223372036854775807, 1, cast(x'61ff62' as text)), \
                 (4, 0, ''), (5, 0, 'a' || char(0) || 'b')",
            )
            .unwrap();
        let select = SqliteSelect::new(sql.into(), vec![], None, true);
        String::from_utf8(
            encode(
                &connection,
                &select,
                form,
                SizeWatch { from: 1 << 20, tell: &mut |_| Err(too_large()) },
            )
            .unwrap(),
        )
        .unwrap()
    }

    #[test]
    fn json_keeps_every_value() {
        assert_eq!(
            rows(Form::Json, "select * from t order by id"),
            "[{\"id\":-9223372036854775808,\"done\":null,\"x\":0.1},\
             {\"id\":1,\"done\":false,\"x\":\"a,\\\"b\\\"\"},\
             {\"id\":2,\"done\":true,\"x\":null},\
             {\"id\":3,\"done\":7,\"x\":\"AP8=\"},\
             {\"id\":4,\"done\":false,\"x\":\"\"},\
             {\"id\":5,\"done\":false,\"x\":\"a\\u0000b\"},\
             {\"id\":9223372036854775807,\"done\":true,\"x\":\"a\u{fffd}b\"}]"
        );
        assert_eq!(rows(Form::Json, "select * from t where 0"), "[]");
        assert_eq!(rows(Form::Text, "select 1 as a, 2 as a"), "[{\"a\":1,\"a_2\":2}]");
    }

    #[test]
    fn csv_follows_its_standard() {
        assert_eq!(
            rows(Form::Csv, "select * from t where id between 1 and 4"),
            "id,done,x\r\n1,false,\"a,\"\"b\"\"\"\r\n2,true,\r\n3,7,AP8=\r\n4,false,\"\"\r\n"
        );
    }
}
