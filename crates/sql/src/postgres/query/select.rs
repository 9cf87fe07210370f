//! From a query to one SQL statement with bound parameters.
//!
//! Names are looked up in the table's description and quoted, values are bound: nothing that a
//! caller says becomes part of a statement. Columns have types here, so that most of what a
//! condition means over values in memory is decided while the statement is written: a text is
//! never equal to a number, a missing value is not equal to 3, `not` of an unknown is true. Text
//! is ordered bytewise, decimals and moments by what they stand for.

use crate::database::description::{TableColumn, TableDescription};
use crate::database::scope::{QueryScope, RelatedTables};
use crate::database::statement::QueryWriter;
use crate::postgres::fault::SqlResult;
use crate::postgres::query::condition::PostgresWriter;
use crate::postgres::schema::catalog::{ColumnInfo, Holds, TableInfo, quoted};
use crate::postgres::value::parameter::Parameter;
use crate::rows::parameters;
use runnel_store::{BulkChange, Query, Value};
use std::fmt::Write;

/// A statement that reads, with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PostgresSelect {
    pub(crate) sql: String,
    pub(crate) parameters: Vec<Parameter>,
    /// Whether the names of its columns shape the records: in statements of programs, and with relations.
    pub(crate) own: bool,
}

impl PostgresSelect {
    /// The statement with its parameters, for programmers.
    pub(crate) fn shown(&self) -> Value {
        let parameter = |parameter: &Parameter| match parameter {
            Parameter::Null => Value::Nil,
            Parameter::Text(text) => Value::from(text.as_str()),
            Parameter::Bytes(bytes) => Value::Bytes(bytes.clone()),
        };
        let parameters = self.parameters.iter().map(parameter).collect();
        Value::record([
            ("statement", Value::from(self.sql.as_str())),
            ("parameters", Value::List(parameters)),
        ])
    }
}

/// The statement for the query of a reference.
pub(crate) fn selection(info: &TableInfo, query: Option<&str>) -> SqlResult<PostgresSelect> {
    match query {
        None | Some("") => translate(info, &Query::default(), &Vec::new()),
        Some(text) => {
            let kind = |name: &str| Ok(info.column(name)?.holds.kind());
            translate(info, &parameters::parse(text, kind)?, &Vec::new())
        }
    }
}

/// The statement of a query over a table. With `count` its only column is the number of rows.
pub(crate) fn translate(
    table: &TableInfo,
    query: &Query,
    others: &RelatedTables<TableInfo>,
) -> SqlResult<PostgresSelect> {
    let scope = QueryScope::of(table, query, others)?;
    let mut writer = PostgresWriter::new(scope);
    let inner = query.limit.is_some() || query.offset > 0 || query.is_grouped();
    let list = shown(&mut writer, query)?;
    let mut sql = match (query.count, inner) {
        (true, true) => String::from("SELECT count(*) FROM (SELECT 1"),
        (true, false) => String::from("SELECT count(*)"),
        (false, _) => format!("SELECT {list}"),
    };
    let _ = write!(sql, " FROM {}", writer.scope().source());
    sql.push_str(&writer.condition("WHERE", query.filter.as_ref())?);
    sql.push_str(&writer.grouping(query)?);
    let order = writer.order(query)?;
    if !query.count {
        sql.push_str(&order);
    }
    let lock = writer.scope().row_lock();
    let mut parameters = writer.parameters;
    if let Some(limit) = query.limit {
        parameters.push(Parameter::int(i64::try_from(limit).unwrap_or(i64::MAX)));
        let _ = write!(sql, " LIMIT ${}::int8", parameters.len());
    }
    if query.offset > 0 {
        parameters.push(Parameter::int(i64::try_from(query.offset).unwrap_or(i64::MAX)));
        let _ = write!(sql, " OFFSET ${}::int8", parameters.len());
    }
    if query.count && inner {
        sql.push_str(") AS limited");
    }
    if query.lock {
        sql.push_str(&lock);
    }
    // Fields of a related row are a record in the record.
    let own = !query.relations.is_empty() && query.columns.is_empty() && !query.count;
    Ok(PostgresSelect { sql, parameters, own })
}

/// What stands behind `SELECT`.
fn shown(writer: &mut PostgresWriter<'_>, query: &Query) -> SqlResult<String> {
    if !query.columns.is_empty() {
        let columns = writer.computed(query)?.into_iter();
        let list = columns.map(|(name, written)| format!("{} AS {}", written.sql, quoted(&name)));
        return Ok(list.collect::<Vec<_>>().join(", "));
    }
    if query.fields.is_empty() && writer.scope().is_alone() {
        return Ok(list(&writer.scope().table.shown()));
    }
    let names: Vec<String> = match query.fields.is_empty() {
        true => writer.scope().table.shown().iter().map(|column| column.name.clone()).collect(),
        false => query.fields.clone(),
    };
    let mut list = Vec::new();
    for name in names {
        let (column, place) = writer.scope().column(&name)?;
        // A path is the name of its column.
        let name = if name.contains('.') { &name } else { &column.name };
        list.push(format!("{} AS {}", as_read(column, &place), quoted(name)));
    }
    Ok(list.join(", "))
}

/// The statement that deletes or changes the rows of a query.
pub(crate) fn change(
    table: &TableInfo,
    query: &Query,
    change: &BulkChange,
    others: &RelatedTables<TableInfo>,
) -> SqlResult<PostgresSelect> {
    let scope = QueryScope::of(table, query, others)?;
    let mut writer = PostgresWriter::new(scope);
    let mut sql = writer.change(query, change)?;
    let returned = writer.returned(query)?;
    let columns = returned.iter().map(|name| table.column(name));
    let columns = columns.collect::<SqlResult<Vec<&ColumnInfo>>>()?;
    if !columns.is_empty() {
        let _ = write!(sql, " RETURNING {}", list(&columns));
    }
    Ok(PostgresSelect { sql, parameters: writer.parameters, own: false })
}

/// Columns as they are read, with commas: what has no form of ours as PostgreSQL writes it.
pub(crate) fn list(columns: &[&ColumnInfo]) -> String {
    let one = |column: &&ColumnInfo| {
        let name = quoted(&column.name);
        let read = as_read(column, &column.quoted());
        if read == name { name } else { format!("{read} AS {name}") }
    };
    columns.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// A column as it is read.
fn as_read(column: &ColumnInfo, place: &str) -> String {
    match column.holds == Holds::Other && !is_known(column) {
        true => format!("{place}::text"),
        false => place.to_string(),
    }
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
