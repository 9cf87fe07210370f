//! The statement of a query, and how SQLite would run it, for programmers.

use crate::rows::columns::ColumnDisplay;
use crate::sqlite::connection::cell::read;
use crate::sqlite::fault::SqlResult;
use crate::sqlite::read::select::SqliteSelect;
use runnel_store::Value;
use rusqlite::types::ToSqlOutput;
use rusqlite::{Connection, ToSql, params_from_iter};

/// The statement with its parameters.
pub(crate) fn statement(select: &SqliteSelect) -> Value {
    let parameter = |cell: &_| match ToSql::to_sql(cell) {
        Ok(ToSqlOutput::Borrowed(value)) => read(value, ColumnDisplay::Plain),
        _ => Value::Nil,
    };
    let parameters = select.parameters.iter().map(parameter).collect();
    Value::record([
        ("statement", Value::from(select.sql.as_str())),
        ("parameters", Value::List(parameters)),
    ])
}

/// The steps of SQLite, each indented below its parent.
pub(crate) fn plan(connection: &Connection, select: &SqliteSelect) -> SqlResult<Value> {
    let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {}", select.sql))?;
    let mut rows = statement.query(params_from_iter(&select.parameters))?;
    let (mut text, mut depths) = (String::new(), vec![(0_i64, 0_usize)]);
    while let Some(row) = rows.next()? {
        let (id, parent): (i64, i64) = (row.get(0)?, row.get(1)?);
        let above = depths.iter().find(|(known, _)| *known == parent);
        let depth = above.map_or(0, |(_, depth)| *depth);
        depths.push((id, depth + 1));
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&"  ".repeat(depth));
        text.push_str(&row.get::<_, String>(3)?);
    }
    Ok(Value::from(text))
}
