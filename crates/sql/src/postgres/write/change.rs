//! Inserting, replacing, changing and deleting rows.

use crate::database::backend::InsertedRow;
use crate::database::constraint::{Dialect, literal};
use crate::database::description::{TableColumn, TableDescription, no_record, remove_key};
use crate::database::key_parts;
use crate::postgres::connection::client::PostgresConnection;
use crate::postgres::fault::{SqlFault, SqlFaultCause, SqlResult};
use crate::postgres::query::rows::{columns, record};
use crate::postgres::query::select::{PostgresSelect, list};
use crate::postgres::schema::catalog::{ColumnInfo, Holds, TableInfo, is_written_uuid};
use crate::postgres::schema::read_catalog::field;
use crate::postgres::value::parameter::Parameter;
use runnel_store::{Value, decode_segment, encode_segment, json};

/// One row for some of the columns.
pub(crate) struct RowParameters {
    /// Positions of columns, in the order of the values.
    pub(crate) columns: Vec<usize>,
    pub(crate) values: Vec<Parameter>,
}

impl RowParameters {
    /// Checks a record against the columns of a table.
    pub(crate) fn of_record(table: &TableInfo, value: &Value) -> SqlResult<Self> {
        let Some(fields) = value.as_record() else { return Err(no_record(value)) };
        let names = fields.iter().map(|(name, _)| name.as_str());
        let mut row = RowParameters { columns: Vec::new(), values: Vec::new() };
        for (at, (_, value)) in table.positions(names)?.into_iter().zip(fields) {
            if !table.is_left_out(at, value) {
                row.columns.push(at);
                row.values.push(Parameter::for_column(&table.columns[at], value.clone())?);
            }
        }
        Ok(row)
    }

    /// Removes the key, which has to be that of the reference.
    fn without_key(mut self, table: &TableInfo, key: &Parameter) -> SqlResult<Self> {
        for (position, part) in key_values(table, key) {
            let name = &table.columns[position].name;
            let row = (&mut self.columns, &mut self.values);
            remove_key(Some(position), name, &part, &Parameter::Null, row)?;
        }
        Ok(self)
    }
}

impl RowParameters {
    fn add_key(&mut self, table: &TableInfo, key: &Parameter) {
        for (position, part) in key_values(table, key) {
            self.columns.push(position);
            self.values.push(part);
        }
    }
}

/// The columns of a key with their values.
fn key_values(table: &TableInfo, key: &Parameter) -> Vec<(usize, Parameter)> {
    let Some(single) = table.key else {
        let Parameter::Text(document) = key else { return Vec::new() };
        let parts = json::parse(document.as_bytes()).unwrap_or_default();
        let part = |part: &Value| match part {
            Value::Int(number) => Parameter::int(*number),
            part => Parameter::text(part.as_str().unwrap_or_default()),
        };
        let parts = parts.as_list().unwrap_or_default().iter().map(part);
        return table.key_parts.iter().copied().zip(parts).collect();
    };
    vec![(single, key.clone())]
}

/// The key that a path names; `None` when no row can have it.
pub(crate) fn key_of(table: &TableInfo, path: &str) -> Option<Parameter> {
    if table.key.is_some() {
        return key_of_text(table, &decode_segment(path));
    }
    let kinds = table.key_parts.iter().map(|at| table.columns[*at].holds.kind());
    let parts = key_parts::of_path(path, &kinds.collect::<Vec<_>>())?;
    let is_possible = |(at, part): (&usize, &Value)| {
        !table.columns[*at].is_uuid() || part.as_str().is_some_and(is_written_uuid)
    };
    let is_possible = !parts.is_empty() && table.key_parts.iter().zip(&parts).all(is_possible);
    is_possible.then(|| Parameter::Text(key_parts::document(parts)))
}

/// The single key that a text names; `None` when no row can have it.
fn key_of_text(table: &TableInfo, text: &str) -> Option<Parameter> {
    let column = table.key()?;
    // Only the usual writing: `007` and `+7` do not name row 7.
    let usual = match column.holds {
        Holds::Int => text.parse::<i64>().is_ok_and(|number| number.to_string() == text),
        Holds::Bytes => false,
        _ if column.is_uuid() => is_written_uuid(text),
        _ => !text.contains('\0'),
    };
    usual.then(|| Parameter::text(text))
}

/// The condition that a row has a key, which is the given parameter; `None` for rows without keys.
fn has_key(table: &TableInfo, place: usize) -> Option<String> {
    let Some(column) = table.key() else {
        let part = |(part, at): (usize, &usize)| {
            let column = &table.columns[*at];
            let value = format!("(${place}::jsonb ->> {part})");
            let value = match column.holds {
                Holds::Int => value + "::int8",
                _ if column.is_uuid() => value + "::uuid",
                _ => value,
            };
            format!("{} = {value}", column.quoted())
        };
        let parts: Vec<String> = table.key_parts.iter().enumerate().map(part).collect();
        return (!parts.is_empty()).then(|| parts.join(" AND "));
    };
    Some(has_single_key(column, place))
}

fn has_single_key(column: &ColumnInfo, place: usize) -> String {
    let name = column.quoted();
    match column.holds {
        Holds::Int => format!("{name} = ${place}::int8"),
        Holds::Text => format!("{name} = ${place}::text"),
        _ if column.is_uuid() => format!("{name} = ${place}::uuid"),
        // Written otherwise it would be another reference to the same row.
        _ => format!("{name}::text = ${place}::text"),
    }
}

/// The statement that reads the row of a key.
pub(crate) fn select_one(table: &TableInfo, key: Parameter) -> Option<PostgresSelect> {
    let shown = table.shown();
    let condition = has_key(table, 1)?;
    let sql = format!("SELECT {} FROM {} WHERE {condition}", list(&shown), table.sql);
    Some(PostgresSelect { sql, parameters: vec![key], own: false })
}

/// Inserts a row; what it does not name gets the column's default.
pub(crate) async fn insert(
    connection: &PostgresConnection,
    table: &TableInfo,
    row: &RowParameters,
) -> SqlResult<InsertedRow> {
    let shown = table.shown();
    let mut returned = list(&shown);
    let keys = table.key_positions();
    match keys.as_slice() {
        [] => {}
        [key] => returned.push_str(&format!(", {}::text", table.columns[*key].quoted())),
        keys => returned.push_str(&format!(", jsonb_build_array({})::text", names(table, keys))),
    }
    let sql = format!("{} RETURNING {returned}", insert_sql(table, &row.columns));
    let found = connection.all(&sql, &row.values).await?;
    // A rule or a trigger may leave the row out.
    let Some(found) = found.first() else { return Ok(InsertedRow { key: None, row: Value::Nil }) };
    let statement = connection.prepare(&sql).await?;
    let mut columns = columns(&statement, false)?;
    columns.names.truncate(shown.len());
    let key: Option<String> = match keys.is_empty() {
        false => field(found, shown.len())?,
        true => None,
    };
    let key = match keys.len() {
        0 | 1 => key,
        _ => key.and_then(|document| key_parts::path(&document)),
    };
    Ok(InsertedRow { key, row: record(&columns, found)? })
}

fn insert_sql(table: &TableInfo, columns: &[usize]) -> String {
    if columns.is_empty() {
        return format!("INSERT INTO {} DEFAULT VALUES", table.sql);
    }
    let places: Vec<String> = (1..=columns.len()).map(|place| format!("${place}")).collect();
    let (names, places) = (names(table, columns), places.join(", "));
    format!("INSERT INTO {} ({names}) OVERRIDING SYSTEM VALUE VALUES ({places})", table.sql)
}

/// The names of columns in quotes, with commas.
pub(crate) fn names(table: &TableInfo, columns: &[usize]) -> String {
    let names = columns.iter().map(|at| table.columns[*at].quoted());
    names.collect::<Vec<_>>().join(", ")
}

/// Replaces the row of a key as a whole, or inserts it. Answers whether it was inserted.
pub(crate) async fn put(
    connection: &PostgresConnection,
    table: &TableInfo,
    key: &Parameter,
    value: &Value,
) -> SqlResult<bool> {
    let keys = table.key_positions();
    if keys.is_empty() {
        return Err(table.no_key());
    }
    let mut row = RowParameters::of_record(table, value)?.without_key(table, key)?;
    let mut sets: Vec<String> = Vec::new();
    for (at, other) in table.columns.iter().enumerate() {
        if keys.contains(&at) || other.generated || (other.readonly && !row.columns.contains(&at)) {
            continue;
        }
        let name = other.quoted();
        let value = match row.columns.contains(&at) {
            true => format!("EXCLUDED.{name}"),
            false => "DEFAULT".to_string(),
        };
        sets.push(format!("{name} = {value}"));
    }
    let name = names(table, &keys);
    if sets.is_empty() {
        let one = table.columns[keys[0]].quoted();
        sets.push(format!("{one} = EXCLUDED.{one}"));
    }
    row.add_key(table, key);
    // A row version that no transaction has replaced was made by this statement.
    let sql = format!(
        "{} ON CONFLICT ({name}) DO UPDATE SET {} RETURNING (xmax = 0) AS made",
        insert_sql(table, &row.columns),
        sets.join(", ")
    );
    let made = connection.all(&sql, &row.values).await?;
    made.first().map_or(Ok(false), |row| field(row, 0))
}

/// Inserts the row of a key unless it exists. Answers whether it was inserted. Waits for a
/// concurrent insertion of the same key.
pub(crate) async fn create(
    connection: &PostgresConnection,
    table: &TableInfo,
    key: &Parameter,
    value: &Value,
) -> SqlResult<bool> {
    let keys = table.key_positions();
    if keys.is_empty() {
        return Err(table.no_key());
    }
    let mut row = RowParameters::of_record(table, value)?.without_key(table, key)?;
    row.add_key(table, key);
    let name = names(table, &keys);
    let insert = insert_sql(table, &row.columns);
    let sql = format!("{insert} ON CONFLICT ({name}) DO NOTHING RETURNING 1");
    Ok(!connection.all(&sql, &row.values).await?.is_empty())
}

/// Locks the row of a key, if there is one, until the transaction ends.
pub(crate) async fn lock(
    connection: &PostgresConnection,
    table: &TableInfo,
    key: &Parameter,
) -> SqlResult<()> {
    let condition = has_key(table, 1).ok_or_else(|| table.no_key())?;
    let sql = format!("SELECT 1 FROM {} WHERE {condition} FOR UPDATE", table.sql);
    connection.all(&sql, std::slice::from_ref(key)).await.map(|_| ())
}

/// Changes the columns of a row that the record names. Answers whether there is such a row.
pub(crate) async fn merge(
    connection: &PostgresConnection,
    table: &TableInfo,
    key: &Parameter,
    value: &Value,
) -> SqlResult<bool> {
    let (sql, values) = merge_statement(table, key, value)?;
    Ok(connection.execute(&sql, &values).await? > 0)
}

/// The statement that changes the columns of a row that the record names, or that looks for the row where
/// it names none; both count the row.
pub(crate) fn merge_statement(
    table: &TableInfo,
    key: &Parameter,
    value: &Value,
) -> SqlResult<(String, Vec<Parameter>)> {
    let row = RowParameters::of_record(table, value)?.without_key(table, key)?;
    let set =
        |(index, at): (usize, &usize)| format!("{} = ${}", table.columns[*at].quoted(), index + 1);
    let sets: Vec<String> = row.columns.iter().enumerate().map(set).collect();
    let condition = has_key(table, sets.len() + 1).ok_or_else(|| table.no_key())?;
    let sql = match sets.is_empty() {
        true => format!("SELECT 1 FROM {} WHERE {condition}", table.sql),
        false => format!("UPDATE {} SET {} WHERE {condition}", table.sql, sets.join(", ")),
    };
    let mut values = row.values;
    values.push(key.clone());
    Ok((sql, values))
}

/// The path that names the row of a record by its key; `None` where the record lacks a part of it.
pub(crate) fn path_of(table: &TableInfo, fields: &[(String, Value)]) -> Option<String> {
    let mut parts = Vec::new();
    for at in table.key_positions() {
        let name = &table.columns[at].name;
        let named = fields.iter().find(|(field, _)| field.eq_ignore_ascii_case(name));
        parts.push(match named.map(|(_, value)| value) {
            Some(Value::Int(number)) => number.to_string(),
            Some(Value::Text(text)) => encode_segment(text).into_owned(),
            _ => return None,
        });
    }
    Some(parts.join("/"))
}

/// Deletes the row of a key. Answers whether there was one.
pub(crate) async fn delete(
    connection: &PostgresConnection,
    table: &TableInfo,
    key: &Parameter,
) -> SqlResult<bool> {
    let condition = has_key(table, 1).ok_or_else(|| table.no_key())?;
    let sql = format!("DELETE FROM {} WHERE {condition}", table.sql);
    Ok(connection.execute(&sql, std::slice::from_ref(key)).await? > 0)
}

/// Whether an insertion failed because its generated key exists already: rows inserted with
/// explicit keys do not advance the sequence.
pub(crate) fn met_own_number(table: &TableInfo, columns: &[usize], fault: &SqlFault) -> bool {
    let Some(key) = table.key().filter(|key| key.numbered) else { return false };
    let named = table.key.is_some_and(|key| columns.contains(&key));
    let same = format!("has the same {}", key.column);
    !named && fault.cause == SqlFaultCause::Constraint && fault.message.ends_with(&same)
}

/// Advances the sequence of a table's keys beyond the largest key.
pub(crate) async fn move_on(connection: &PostgresConnection, table: &TableInfo) -> SqlResult<()> {
    let Some(key) = table.key() else { return Ok(()) };
    let (name, sql) = (key.quoted(), &table.sql);
    let sequence = format!(
        "pg_get_serial_sequence({}, {})",
        literal(sql, Dialect::Postgres),
        literal(&key.column, Dialect::Postgres)
    );
    let rows = connection.all(&format!("SELECT {sequence}::text"), &[]).await?;
    let Some(sequence) =
        rows.first().map(|row| field::<Option<String>>(row, 0)).transpose()?.flatten()
    else {
        return Ok(());
    };
    // The name of a sequence comes quoted from the server.
    let moved = format!(
        "SELECT setval({}::regclass, largest) FROM (SELECT max({name})::int8 AS largest FROM {sql}) AS rows, \
         {sequence} AS numbers WHERE largest >= numbers.last_value",
        literal(&sequence, Dialect::Postgres)
    );
    connection.all(&moved, &[]).await.map(drop)
}
