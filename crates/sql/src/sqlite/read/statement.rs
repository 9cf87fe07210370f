//! Statements that a program writes itself.

use crate::database::slow::RunningStatement;
use crate::sqlite::connection::authorizer::WriteAuthorizer;
use crate::sqlite::connection::cell::SqliteValue;
use crate::sqlite::fault::{SqlFault, SqlResult};
use crate::sqlite::read::encode::{columns, record, records};
use crate::sqlite::read::reader::StatementTraits;
use crate::sqlite::read::select::SqliteSelect;
use runnel_store::{Kind, ProgramPlace, Value};
use rusqlite::{Connection, params_from_iter};

/// The most rows that a `RETURNING` clause answers.
pub const RETURNING_LIMIT: usize = 100_000;

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
    place: ProgramPlace,
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
        select.place.set(place);
        return Ok(Value::List(records(connection, &select)?));
    }
    write(connection, sql, cells, traits.columns > 0, place)
}

/// Runs a statement that writes, on the writer's connection.
pub(crate) fn write(
    connection: &Connection,
    sql: &str,
    cells: &[SqliteValue],
    returning: bool,
    place: ProgramPlace,
) -> SqlResult<Value> {
    let _running = RunningStatement::start(sql, place);
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
