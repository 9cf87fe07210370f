//! Inserting, replacing, changing and deleting rows: what the writer runs for the verbs.
//!
//! The values are checked on the worker, where a mistake costs the writer nothing; the statements
//! run on the writer's connection.

use crate::database::description::{
    RecordGroup, TableDescription, no_record, no_row, record_groups, refuse_keyless, remove_key,
};
use crate::sqlite::connection::cell::{SqliteValue, date, for_column, read};
use crate::sqlite::fault::{SqlFault, SqlFaultCause, SqlResult};
use crate::sqlite::read::encode::record;
use crate::sqlite::read::select::{ResultColumns, list};
use crate::sqlite::schema::catalog::{ColumnInfo, RowKey, TableInfo, quoted};
use runnel_store::{FieldType, Value};
use rusqlite::{Connection, params_from_iter};
use std::sync::{Arc, Mutex, PoisonError};

/// A table as writing sees it.
pub(crate) struct WriteTarget {
    pub(crate) info: TableInfo,
    pub(crate) columns: Arc<ResultColumns>,
    /// The statement that reads one row, where rows have a key.
    pub(crate) one: Option<String>,
    /// The statement that inserted the last row, and the columns that it was for: the rows that
    /// come usually have the same.
    inserting: Mutex<(Vec<usize>, Arc<str>)>,
}

impl WriteTarget {
    pub(crate) fn new(info: TableInfo) -> Self {
        let shown: Vec<_> = info.columns.iter().collect();
        let columns = Arc::new(ResultColumns::of_columns(shown.iter().copied()));
        let (names, table) = (list(&shown), quoted(&info.name));
        let one = info.key_sql().map(|key| format!("SELECT {names} FROM {table} WHERE {key} = ?1"));
        WriteTarget { info, columns, one, inserting: Mutex::new((Vec::new(), "".into())) }
    }
}

/// One row for some of the columns.
#[derive(Debug)]
pub(crate) struct RowValues {
    /// Positions of columns, in the order of the values.
    columns: Vec<usize>,
    cells: Vec<SqliteValue>,
}

/// Many rows, as the records that came: making cells of them first would cost as much as storing
/// them.
pub(crate) struct RecordBatch {
    records: Vec<Value>,
    groups: Vec<RecordGroup>,
}

/// A row that was inserted: the key, where the table has one, and what the row holds now.
pub(crate) struct InsertedValues {
    pub(crate) key: Option<Value>,
    pub(crate) row: Value,
}

impl RowValues {
    /// Checks a record against the columns of a table.
    pub(crate) fn of_record(table: &TableInfo, value: Value) -> SqlResult<Self> {
        let Value::Record(fields) = value else { return Err(no_record(&value)) };
        let columns = table.positions(fields.iter().map(|(name, _)| name.as_str()))?;
        let cells = columns
            .iter()
            .zip(fields)
            .map(|(position, (_, value))| SqliteValue::for_column(&table.columns[*position], value))
            .collect::<Result<_, _>>()?;
        Ok(RowValues { columns, cells })
    }

    /// Removes the key, which has to be that of the reference.
    fn without_key(mut self, table: &TableInfo, key: &SqliteValue) -> SqlResult<Self> {
        let RowKey::Column(column) = &table.key else { return Ok(self) };
        let row = (&mut self.columns, &mut self.cells);
        remove_key(table.position(&column.name), &column.name, key, &SqliteValue::Null, row)?;
        Ok(self)
    }
}

impl RecordBatch {
    /// Checks a list of records.
    pub(crate) fn of_records(table: &TableInfo, records: Vec<Value>) -> SqlResult<Self> {
        let check = |at: usize, value: &Value| for_column(&table.columns[at], value).map(drop);
        let groups = record_groups(table, &records, check)?;
        Ok(RecordBatch { records, groups })
    }

    /// Checks a list of records that change the rows of their keys.
    pub(crate) fn of_changes(table: &TableInfo, records: Vec<Value>) -> SqlResult<Self> {
        let key = table.key_position().ok_or_else(|| table.no_key())?;
        let check = |at: usize, value: &Value| match at == key && value.is_nil() {
            true => Err(SqlFault::invalid("it has no key")),
            false => for_column(&table.columns[at], value).map(drop),
        };
        let groups = record_groups(table, &records, check)?;
        for group in &groups {
            refuse_keyless(table, group, key)?;
        }
        Ok(RecordBatch { records, groups })
    }
}

/// The key that the last part of a reference names; `None` when no row can have it.
pub(crate) fn key_cell(table: &TableInfo, text: &str) -> Option<SqliteValue> {
    // Only the usual writing: `007` and `+7` do not name row 7.
    let integer = || text.parse::<i64>().ok().filter(|number| number.to_string() == text);
    match &table.key {
        RowKey::None => None,
        RowKey::Rowid(_) => integer().map(SqliteValue::Integer),
        RowKey::Column(column) => match column.kind {
            FieldType::Int | FieldType::Bool => integer().map(SqliteValue::Integer),
            FieldType::Float => text.parse().ok().map(SqliteValue::Real),
            FieldType::Text | FieldType::Decimal => Some(SqliteValue::Text(text.to_string())),
            FieldType::Date => date(text).map(SqliteValue::Text),
            FieldType::Bytes => None,
            FieldType::Any => Some(
                integer().map_or_else(|| SqliteValue::Text(text.to_string()), SqliteValue::Integer),
            ),
        },
    }
}

impl WriteTarget {
    /// Inserts a row; what it does not name gets the column's default or NULL.
    pub(crate) fn insert(
        &self,
        connection: &Connection,
        row: &RowValues,
    ) -> SqlResult<InsertedValues> {
        let sql = self.insert_and_return(&row.columns);
        let mut statement = connection.prepare_cached(&sql)?;
        let mut rows = statement.query(params_from_iter(&row.cells))?;
        let inserted = match rows.next()? {
            Some(found) => InsertedValues {
                row: record(&self.columns, found, &mut 0)?,
                key: match self.info.key {
                    RowKey::None => None,
                    _ => {
                        let key = found.get_ref(self.info.columns.len())?;
                        Some(read(key, self.info.key_shown()))
                    }
                },
            },
            // A trigger that ignores the row.
            None => InsertedValues { key: None, row: Value::Nil },
        };
        // The statement ends only when it has been stepped to its end.
        while rows.next()?.is_some() {}
        Ok(inserted)
    }

    /// The statement that inserts a row and answers it, and its key where rows have one.
    fn insert_and_return(&self, columns: &[usize]) -> Arc<str> {
        let mut known = self.inserting.lock().unwrap_or_else(PoisonError::into_inner);
        if known.0 != columns || known.1.is_empty() {
            let shown: Vec<&ColumnInfo> = self.info.columns.iter().collect();
            let insert = self.insert_sql(columns);
            let returned = list(&shown);
            let sql = match self.info.key_sql() {
                Some(key) => format!("{insert} RETURNING {returned}, {key}"),
                None => format!("{insert} RETURNING {returned}"),
            };
            *known = (columns.to_vec(), sql.into());
        }
        known.1.clone()
    }

    /// Names the tables of a reference that does not hold: SQLite itself names neither.
    pub(crate) fn explain(&self, connection: &Connection, fault: SqlFault) -> SqlFault {
        let about = fault.detail.as_deref().is_some_and(|text| text.contains("FOREIGN KEY"));
        if fault.cause != SqlFaultCause::Constraint || !about {
            return fault;
        }
        let name = &self.info.name;
        let tables = |sql: &str| -> rusqlite::Result<Vec<String>> {
            let mut statement = connection.prepare_cached(sql)?;
            statement.query_map([name], |row| row.get(0))?.collect()
        };
        let to = tables("SELECT DISTINCT \"table\" FROM pragma_foreign_key_list(?1)");
        let from = tables(
            "SELECT DISTINCT t.name FROM pragma_table_list t, pragma_foreign_key_list(t.name) f \
             WHERE t.schema = 'main' AND f.\"table\" = ?1 COLLATE NOCASE",
        );
        let mut parts = Vec::new();
        if let Ok(to) = to
            && !to.is_empty()
        {
            parts
                .push(format!("{name} refers to {}, where there is no such row", to.join(" and ")));
        }
        if let Ok(from) = from
            && !from.is_empty()
        {
            parts.push(format!("{} still refers to this row of {name}", from.join(" and ")));
        }
        if parts.is_empty() { fault } else { SqlFault { message: parts.join(", or "), ..fault } }
    }

    /// Inserts many rows.
    pub(crate) fn insert_all(&self, connection: &Connection, batch: &RecordBatch) -> SqlResult<()> {
        let mut records = batch.records.iter().filter_map(Value::as_record);
        for RecordGroup { columns, count, .. } in &batch.groups {
            let mut statement = connection.prepare_cached(&self.insert_sql(columns))?;
            for fields in records.by_ref().take(*count) {
                for (index, (position, (_, value))) in columns.iter().zip(fields).enumerate() {
                    let cell = for_column(&self.info.columns[*position], value)?;
                    statement.raw_bind_parameter(index + 1, cell)?;
                }
                statement.raw_execute()?;
            }
        }
        Ok(())
    }

    /// Replaces the row of a key as a whole, or inserts it. Answers whether it was inserted.
    pub(crate) fn put(
        &self,
        connection: &Connection,
        key: &SqliteValue,
        row: &RowValues,
    ) -> SqlResult<bool> {
        if self.update(connection, key, row, true)? {
            return Ok(false);
        }
        let (names, places) = self.insert_parts(&row.columns);
        let name = self.key_name()?;
        let table = quoted(&self.info.name);
        let comma = if names.is_empty() { "" } else { ", " };
        let last = row.columns.len() + 1;
        let sql =
            format!("INSERT INTO {table} ({names}{comma}{name}) VALUES ({places}{comma}?{last})");
        let values = row.cells.iter().chain(std::iter::once(key));
        connection.prepare_cached(&sql)?.execute(params_from_iter(values))?;
        Ok(true)
    }

    /// Changes the columns of a row that the record names. Answers whether there is such a row.
    pub(crate) fn merge(
        &self,
        connection: &Connection,
        key: &SqliteValue,
        row: &RowValues,
    ) -> SqlResult<bool> {
        self.update(connection, key, row, false)
    }

    /// Changes many rows, each by the key that its record names, or none of them.
    pub(crate) fn merge_all(&self, connection: &Connection, batch: &RecordBatch) -> SqlResult<()> {
        let key = self.info.key_position().ok_or_else(|| self.info.no_key())?;
        let mut records = batch.records.iter().filter_map(Value::as_record);
        for RecordGroup { columns, count, .. } in &batch.groups {
            let sql = self.merge_all_sql(columns, key);
            let mut statement = connection.prepare_cached(&sql)?;
            for fields in records.by_ref().take(*count) {
                for (index, (position, (_, value))) in columns.iter().zip(fields).enumerate() {
                    let cell = for_column(&self.info.columns[*position], value)?;
                    statement.raw_bind_parameter(index + 1, cell)?;
                }
                let exists = match columns.len() {
                    1 => statement.raw_query().next()?.is_some(),
                    _ => statement.raw_execute()? > 0,
                };
                if !exists {
                    let place = columns.iter().position(|position| *position == key);
                    let value = place.map_or(&Value::Nil, |place| &fields[place].1);
                    return Err(no_row(&self.info, key, value));
                }
            }
        }
        Ok(())
    }

    /// The statement that sets the columns of the row whose key is among them. A parameter has the number of
    /// its column.
    fn merge_all_sql(&self, columns: &[usize], key: usize) -> String {
        let column = |position: &usize| quoted(&self.info.columns[*position].name);
        let numbered = columns.iter().zip(1..);
        let (keys, sets): (Vec<_>, Vec<_>) = numbered.partition(|(position, _)| **position == key);
        let equal = |parts: Vec<(&usize, i32)>| -> Vec<String> {
            let part = |(position, place)| format!("{} = ?{place}", column(position));
            parts.into_iter().map(part).collect()
        };
        let (table, condition) = (quoted(&self.info.name), equal(keys).join(" AND "));
        match sets.is_empty() {
            true => format!("SELECT 1 FROM {table} WHERE {condition}"),
            false => format!("UPDATE {table} SET {} WHERE {condition}", equal(sets).join(", ")),
        }
    }

    /// Deletes the row of a key. Answers whether there was one.
    pub(crate) fn delete(&self, connection: &Connection, key: &SqliteValue) -> SqlResult<bool> {
        let name = self.key_name()?;
        let sql = format!("DELETE FROM {} WHERE {name} = ?1", quoted(&self.info.name));
        Ok(connection.prepare_cached(&sql)?.execute([key])? > 0)
    }

    /// Takes the key out of a record for put and merge.
    pub(crate) fn keyed(&self, key: &SqliteValue, value: Value) -> SqlResult<RowValues> {
        RowValues::of_record(&self.info, value)?.without_key(&self.info, key)
    }

    /// Sets the columns of the row; with `whole` those that it does not name to their defaults.
    fn update(
        &self,
        connection: &Connection,
        key: &SqliteValue,
        row: &RowValues,
        whole: bool,
    ) -> SqlResult<bool> {
        let (table, name) = (quoted(&self.info.name), self.key_name()?);
        let mut parts: Vec<String> = Vec::new();
        for (index, position) in row.columns.iter().enumerate() {
            let column = quoted(&self.info.columns[*position].name);
            parts.push(format!("{column} = ?{}", index + 1));
        }
        let missing = self.info.columns.iter().enumerate().filter(|(position, column)| {
            whole
                && !column.generated
                && !column.readonly
                && !row.columns.contains(position)
                && quoted(&column.name) != name
        });
        for (_, column) in missing {
            let default = column.default.as_deref().unwrap_or("NULL");
            parts.push(format!("{} = ({default})", quoted(&column.name)));
        }
        let last = row.columns.len() + 1;
        if parts.is_empty() {
            let sql = format!("SELECT 1 FROM {table} WHERE {name} = ?1");
            return Ok(connection.prepare_cached(&sql)?.exists([key])?);
        }
        let sql = format!("UPDATE {table} SET {} WHERE {name} = ?{last}", parts.join(", "));
        let values = row.cells.iter().chain(std::iter::once(key));
        Ok(connection.prepare_cached(&sql)?.execute(params_from_iter(values))? > 0)
    }

    fn key_name(&self) -> SqlResult<String> {
        self.info.key_sql().ok_or_else(|| self.info.no_key())
    }

    pub(crate) fn insert_sql(&self, columns: &[usize]) -> String {
        let table = quoted(&self.info.name);
        if columns.is_empty() {
            return format!("INSERT INTO {table} DEFAULT VALUES");
        }
        let (names, places) = self.insert_parts(columns);
        format!("INSERT INTO {table} ({names}) VALUES ({places})")
    }

    fn insert_parts(&self, columns: &[usize]) -> (String, String) {
        let names: Vec<String> =
            columns.iter().map(|position| quoted(&self.info.columns[*position].name)).collect();
        let places: Vec<String> = (1..=columns.len()).map(|place| format!("?{place}")).collect();
        (names.join(", "), places.join(", "))
    }
}
