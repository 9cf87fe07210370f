//! From a query to one SQL statement with bound parameters.
//!
//! Names are looked up in the table's description and quoted, values are bound: nothing that a
//! caller says becomes part of a statement. Columns have types here, so that most of what a
//! condition means over values in memory is decided while the statement is written: a text is
//! never equal to a number, a missing value is not equal to 3, `not` of an unknown is true. Text
//! is ordered bytewise, decimals and moments by what they stand for.

use crate::database::description::TableDescription;
use crate::database::filter::FilterWriter;
use crate::postgres::fault::SqlResult;
use crate::postgres::query::condition::{PostgresCondition, number};
use crate::postgres::schema::catalog::{ColumnInfo, Holds, TableInfo, ordered, quoted};
use crate::postgres::value::parameter::Parameter;
use crate::rows::parameters;
use runnel_store::{Query, Sort};
use std::fmt::Write;

/// A statement that reads, with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PostgresSelect {
    pub(crate) sql: String,
    pub(crate) parameters: Vec<Parameter>,
    /// Whether a program wrote it, so that the names of its columns shape the records.
    pub(crate) own: bool,
}

/// The statement for the query of a reference.
pub(crate) fn selection(info: &TableInfo, query: Option<&str>) -> SqlResult<PostgresSelect> {
    match query {
        None | Some("") => translate(info, &Query::default()),
        Some(text) => {
            let kind = |name: &str| Ok(info.column(name)?.holds.kind());
            translate(info, &parameters::parse(text, kind)?)
        }
    }
}

/// The statement of a query over a table. With `count` its only column is the number of rows.
pub(crate) fn translate(table: &TableInfo, query: &Query) -> SqlResult<PostgresSelect> {
    let mut shown: Vec<&ColumnInfo> = Vec::new();
    for name in &query.fields {
        shown.push(table.column(name)?);
    }
    if query.fields.is_empty() {
        shown = table.shown();
    }
    let within = query.limit.is_some() || query.offset > 0;
    let mut sql = match (query.count, within) {
        (true, true) => String::from("SELECT count(*) FROM (SELECT 1"),
        (true, false) => String::from("SELECT count(*)"),
        (false, _) => format!("SELECT {}", list(&shown)),
    };
    let _ = write!(sql, " FROM {}", table.sql);
    let mut parameters = Vec::new();
    if let Some(filter) = &query.filter {
        let mut condition = PostgresCondition::new(table);
        condition.filter(filter, 0)?;
        let _ = write!(sql, " WHERE {}", condition.sql);
        parameters = condition.parameters;
    }
    let order = order(table, &query.sort)?;
    if !query.count {
        sql.push_str(&order);
    }
    if let Some(limit) = query.limit {
        parameters.push(Parameter::int(i64::try_from(limit).unwrap_or(i64::MAX)));
        let _ = write!(sql, " LIMIT ${}::int8", parameters.len());
    }
    if query.offset > 0 {
        parameters.push(Parameter::int(i64::try_from(query.offset).unwrap_or(i64::MAX)));
        let _ = write!(sql, " OFFSET ${}::int8", parameters.len());
    }
    if query.count && within {
        sql.push_str(") AS limited");
    }
    Ok(PostgresSelect { sql, parameters, own: false })
}

/// Columns as they are read, with commas: what has no form of ours as PostgreSQL writes it.
pub(crate) fn list(columns: &[&ColumnInfo]) -> String {
    let one = |column: &&ColumnInfo| {
        let name = quoted(&column.name);
        if column.holds == Holds::Other && !is_known(column) {
            format!("{name}::text AS {name}")
        } else {
            name
        }
    };
    columns.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn is_known(column: &ColumnInfo) -> bool {
    let plain = column.written.trim_end_matches("[]");
    let plain = plain.split('(').next().unwrap_or(plain).trim();
    KNOWN.contains(&plain)
}

/// The types that have a form of ours, as the server writes them.
const KNOWN: [&str; 18] = [
    "uuid",
    "date",
    "xml",
    "timestamp without time zone",
    "timestamp with time zone",
    "time without time zone",
    "boolean",
    "smallint",
    "integer",
    "bigint",
    "real",
    "double precision",
    "numeric",
    "text",
    "character varying",
    "character",
    "bytea",
    "jsonb",
];

/// The order asked for, then the table's own, so that every order is definite. Nil is the least.
fn order(table: &TableInfo, sort: &[Sort]) -> SqlResult<String> {
    let mut keys = Vec::new();
    for key in sort {
        let column = table.column(&key.field)?;
        let nulls = match (column.required, key.descending) {
            (true, false) => "",
            (true, true) => " DESC",
            (false, false) => " NULLS FIRST",
            (false, true) => " DESC NULLS LAST",
        };
        keys.extend(ordered_by(column).into_iter().map(|by| format!("{by}{nulls}")));
    }
    keys.extend(table.order.iter().cloned());
    Ok(if keys.is_empty() { String::new() } else { format!(" ORDER BY {}", keys.join(", ")) })
}

/// What a column is ordered by. JSON as values in memory are: nil, numbers and booleans, text, the
/// rest.
fn ordered_by(column: &ColumnInfo) -> Vec<String> {
    if column.holds != Holds::Json {
        return vec![ordered(column)];
    }
    let name = format!("{}::jsonb", quoted(&column.name));
    let kind = format!("jsonb_typeof({name})");
    vec![
        format!(
            "CASE {kind} WHEN 'number' THEN 2 WHEN 'boolean' THEN 2 WHEN 'string' THEN 3 \
             WHEN 'array' THEN 5 WHEN 'object' THEN 6 END"
        ),
        number(&name),
        format!("CASE {kind} WHEN 'string' THEN {name} #>> '{{}}' END COLLATE \"C\""),
    ]
}
