//! Inserting, replacing, changing and deleting rows: what the writer runs for the verbs.
//!
//! The values are checked on the worker, where a mistake costs the writer nothing; the statements
//! run on the writer's connection.

use crate::database::description::{
    RecordGroup, TableColumn, TableDescription, no_record, no_row, record_groups, refuse_keyless,
    remove_key,
};
use crate::database::key_parts;
use crate::sqlite::connection::cell::{SqliteValue, date, for_column, read};
use crate::sqlite::fault::{SqlFault, SqlFaultCause, SqlResult};
use crate::sqlite::read::encode::record;
use crate::sqlite::read::select::{ResultColumns, list};
use crate::sqlite::schema::catalog::{ColumnInfo, RowKey, TableInfo, quoted};
use runnel_store::{FieldType, Value, decode_segment, json};
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
        let one = info.key_condition(1);
        let one = one.map(|condition| format!("SELECT {names} FROM {table} WHERE {condition}"));
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
        let positions = table.positions(fields.iter().map(|(name, _)| name.as_str()))?;
        let mut row = RowValues { columns: Vec::new(), cells: Vec::new() };
        for (position, (_, value)) in positions.into_iter().zip(fields) {
            if !table.is_left_out(position, &value) {
                row.columns.push(position);
                row.cells.push(SqliteValue::for_column(&table.columns[position], value)?);
            }
        }
        Ok(row)
    }

    /// Removes the key, which has to be that of the reference.
    fn without_key(mut self, table: &TableInfo, key: &SqliteValue) -> SqlResult<Self> {
        for (position, part) in key_cells(table, key) {
            let name = &table.columns[position].name;
            let row = (&mut self.columns, &mut self.cells);
            remove_key(Some(position), name, &part, &SqliteValue::Null, row)?;
        }
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
        let keys = table.key_positions();
        if keys.is_empty() {
            return Err(table.no_key());
        }
        let check = |at: usize, value: &Value| match keys.contains(&at) && value.is_nil() {
            true => Err(SqlFault::invalid("it has no key")),
            false => for_column(&table.columns[at], value).map(drop),
        };
        let groups = record_groups(table, &records, check)?;
        for group in &groups {
            refuse_keyless(table, group, &keys)?;
        }
        Ok(RecordBatch { records, groups })
    }
}

/// The key that a path names; `None` when no row can have it.
pub(crate) fn key_cell(table: &TableInfo, path: &str) -> Option<SqliteValue> {
    let text = decode_segment(path);
    let integer = || key_parts::integer(&text);
    match &table.key {
        RowKey::None => None,
        RowKey::Columns(columns) => {
            let kinds: Vec<FieldType> = columns.iter().map(|column| column.kind).collect();
            let parts = key_parts::of_path(path, &kinds)?;
            Some(SqliteValue::Text(key_parts::document(parts)))
        }
        RowKey::Rowid(_) => integer().map(SqliteValue::Integer),
        RowKey::Column(column) => match column.kind {
            FieldType::Int | FieldType::Bool => integer().map(SqliteValue::Integer),
            FieldType::Float => text.parse().ok().map(SqliteValue::Real),
            FieldType::Text | FieldType::Decimal => Some(SqliteValue::Text(text.to_string())),
            FieldType::Date => date(&text).map(SqliteValue::Text),
            FieldType::Bytes | FieldType::Json => None,
            FieldType::Any => Some(
                integer().map_or_else(|| SqliteValue::Text(text.to_string()), SqliteValue::Integer),
            ),
        },
    }
}

/// The columns of a key with their values.
fn key_cells(table: &TableInfo, key: &SqliteValue) -> Vec<(usize, SqliteValue)> {
    let parts = match (&table.key, key) {
        (RowKey::Columns(_), SqliteValue::Text(document)) => {
            let parts = json::parse(document.as_bytes()).unwrap_or_default();
            let parts = parts.as_list().unwrap_or_default().iter().cloned();
            parts.filter_map(|part| SqliteValue::of_value(part).ok()).collect()
        }
        _ => vec![key.clone()],
    };
    table.key_positions().into_iter().zip(parts).collect()
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
                let whole = fields.len() == columns.len();
                let stored = fields.iter().filter(|(name, _)| {
                    whole || self.info.position(name).is_some_and(|at| columns.contains(&at))
                });
                for (index, (position, (_, value))) in columns.iter().zip(stored).enumerate() {
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
        let (mut names, values): (Vec<String>, Vec<SqliteValue>) = match &self.info.key {
            RowKey::Rowid(name) => (vec![name.to_string()], vec![key.clone()]),
            _ => {
                let cells = key_cells(&self.info, key).into_iter();
                cells.map(|(at, cell)| (self.info.columns[at].quoted(), cell)).unzip()
            }
        };
        names.extend(row.columns.iter().map(|at| self.info.columns[*at].quoted()));
        let places: Vec<String> = (1..=names.len()).map(|place| format!("?{place}")).collect();
        let (table, names, places) = (quoted(&self.info.name), names.join(", "), places.join(", "));
        let sql = format!("INSERT INTO {table} ({names}) VALUES ({places})");
        let values = values.iter().chain(&row.cells);
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
        let keys = self.info.key_positions();
        let mut records = batch.records.iter().filter_map(Value::as_record);
        for RecordGroup { columns, count, .. } in &batch.groups {
            let sql = self.merge_all_sql(columns, &keys);
            let mut statement = connection.prepare_cached(&sql)?;
            for fields in records.by_ref().take(*count) {
                for (index, (position, (_, value))) in columns.iter().zip(fields).enumerate() {
                    let cell = for_column(&self.info.columns[*position], value)?;
                    statement.raw_bind_parameter(index + 1, cell)?;
                }
                let exists = match columns.len() {
                    count if count == keys.len() => statement.raw_query().next()?.is_some(),
                    _ => statement.raw_execute()? > 0,
                };
                if !exists {
                    let value = |key: &usize| {
                        let place = columns.iter().position(|position| position == key);
                        place.map_or(Value::Nil, |place| fields[place].1.clone())
                    };
                    let values: Vec<Value> = keys.iter().map(value).collect();
                    return Err(no_row(&self.info, &keys, &values));
                }
            }
        }
        Ok(())
    }

    /// The statement that sets the columns of the row whose key is among them. A parameter has the number of
    /// its column.
    fn merge_all_sql(&self, columns: &[usize], key: &[usize]) -> String {
        let column = |position: &usize| self.info.columns[*position].quoted();
        let numbered = columns.iter().zip(1..);
        let (keys, sets): (Vec<_>, Vec<_>) =
            numbered.partition(|(position, _)| key.contains(position));
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
        let condition = self.key_condition(1)?;
        let sql = format!("DELETE FROM {} WHERE {condition}", quoted(&self.info.name));
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
        let (table, keys) = (quoted(&self.info.name), self.info.key_positions());
        let mut parts: Vec<String> = Vec::new();
        for (index, position) in row.columns.iter().enumerate() {
            let column = self.info.columns[*position].quoted();
            parts.push(format!("{column} = ?{}", index + 1));
        }
        let missing = self.info.columns.iter().enumerate().filter(|(position, column)| {
            whole
                && !column.generated
                && !column.readonly
                && !row.columns.contains(position)
                && !keys.contains(position)
        });
        for (_, column) in missing {
            let default = column.default.as_deref().unwrap_or("NULL");
            parts.push(format!("{} = ({default})", column.quoted()));
        }
        let last = row.columns.len() + 1;
        if parts.is_empty() {
            let sql = format!("SELECT 1 FROM {table} WHERE {}", self.key_condition(1)?);
            return Ok(connection.prepare_cached(&sql)?.exists([key])?);
        }
        let condition = self.key_condition(last)?;
        let sql = format!("UPDATE {table} SET {} WHERE {condition}", parts.join(", "));
        let values = row.cells.iter().chain(std::iter::once(key));
        Ok(connection.prepare_cached(&sql)?.execute(params_from_iter(values))? > 0)
    }

    fn key_condition(&self, place: usize) -> SqlResult<String> {
        self.info.key_condition(place).ok_or_else(|| self.info.no_key())
    }

    pub(crate) fn insert_sql(&self, columns: &[usize]) -> String {
        let table = quoted(&self.info.name);
        if columns.is_empty() {
            return format!("INSERT INTO {table} DEFAULT VALUES");
        }
        let names: Vec<String> =
            columns.iter().map(|position| self.info.columns[*position].quoted()).collect();
        let places: Vec<String> = (1..=columns.len()).map(|place| format!("?{place}")).collect();
        let (names, places) = (names.join(", "), places.join(", "));
        format!("INSERT INTO {table} ({names}) VALUES ({places})")
    }
}
