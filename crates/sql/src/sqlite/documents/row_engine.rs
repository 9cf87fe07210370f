//! The meaning of rows, for documents: an empty SQLite table in memory. Each operation fills it, reads the
//! result and rolls back.

use crate::database::description::{TableDescription, no_record};
use crate::database::key_parts;
use crate::database::scope::RelatedTables;
use crate::sqlite::connection::cell::SqliteValue;
use crate::sqlite::connection::{decimal_order, functions};
use crate::sqlite::fault::{SqlFault, SqlResult};
use crate::sqlite::read::encode::{count, record, records};
use crate::sqlite::read::keys::target_key;
use crate::sqlite::read::select::translate;
use crate::sqlite::schema::catalog::{ColumnInfo, TableInfo, quoted};
use crate::sqlite::schema::define::{create_sql, seen_by};
use crate::sqlite::write::change::{RowValues, WriteTarget};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use runnel_store::{FieldType, Kind, Query, Shape, Value, decode_segment, encode_segment};
use rusqlite::Connection;

/// A table in memory that is empty between operations.
pub(super) struct RowEngine {
    connection: Connection,
    target: WriteTarget,
}

/// A document as a row: its key as a path, and its fields.
pub(super) struct FoundRow {
    pub(super) key: String,
    pub(super) fields: Value,
}

impl RowEngine {
    pub(super) fn new(name: &str, shape: &Shape) -> SqlResult<Self> {
        // That a field is required binds new values, which the admission of the table checks. Documents
        // may be older than the field.
        let mut lenient = shape.clone();
        lenient.indexes.clear();
        lenient.fields.iter_mut().for_each(|field| field.required = false);
        let connection = Connection::open_in_memory()?;
        decimal_order::install(&connection)?;
        functions::install(&connection)?;
        connection.execute(&create_sql(name, &quoted(name), &lenient), [])?;
        let missing = || SqlFault::new(Kind::Failed, "the table in memory was not made");
        let info = TableInfo::read(&connection, name)?.ok_or_else(missing)?;
        let target = WriteTarget::new(seen_by(&info, shape)?);
        Ok(RowEngine { connection, target })
    }

    pub(super) fn info(&self) -> &TableInfo {
        &self.target.info
    }

    /// The columns of the key, in its order.
    fn key_columns(&self) -> Vec<&ColumnInfo> {
        let positions = self.info().key_positions().into_iter();
        positions.map(|at| &self.info().columns[at]).collect()
    }

    /// The number of segments of the path of a key.
    pub(super) fn key_length(&self) -> usize {
        self.info().key_positions().len()
    }

    /// Whether keys are integers that the table gives out.
    pub(super) fn is_numbered(&self) -> bool {
        let is_int = |column: &&ColumnInfo| column.kind == FieldType::Int;
        self.info().generated_key().is_some() && self.key_columns().first().is_some_and(is_int)
    }

    /// The values of the key that a path names; `None` where no document can have it.
    fn key_values(&self, path: &str) -> Option<Vec<Value>> {
        let columns = self.key_columns();
        match columns.as_slice() {
            [column] if column.kind == FieldType::Int => {
                Some(vec![Value::Int(key_parts::integer(&decode_segment(path))?)])
            }
            [_] => Some(vec![Value::Text(decode_segment(path).into_owned())]),
            _ => {
                let kinds: Vec<FieldType> = columns.iter().map(|column| column.kind).collect();
                key_parts::of_path(path, &kinds)
            }
        }
    }

    /// The path of a key in its one writing.
    pub(super) fn key_path(&self, path: &str) -> Option<String> {
        path_of(&self.key_values(path)?)
    }

    /// The path of the key of a row; an error where no document can have it.
    pub(super) fn row_path(&self, row: &Value) -> SqlResult<String> {
        let names = self.key_columns().into_iter().map(|column| column.name.as_str());
        let values: Vec<Value> =
            names.clone().map(|name| row.get(name).cloned().unwrap_or_default()).collect();
        path_of(&values).ok_or_else(|| {
            let names = names.collect::<Vec<_>>().join(" and ");
            let message = format!(
                "the {names} of the row cannot be the name of a document: it is empty, `.` or `..`"
            );
            SqlFault::invalid(message)
        })
    }

    /// Does something with the empty table, which is empty again afterwards.
    fn scratch<T>(
        &self,
        work: impl FnOnce(&WriteTarget, &Connection) -> SqlResult<T>,
    ) -> SqlResult<T> {
        let transaction = self.connection.unchecked_transaction()?;
        let done = work(&self.target, &self.connection);
        transaction.rollback()?;
        done
    }

    /// Puts a document into the table. What the class says of values binds new ones alone.
    fn load(&self, row: &FoundRow) -> SqlResult<()> {
        let values = RowValues::of_record(self.info(), self.row_of(row)?)?;
        self.connection.pragma_update(None, "ignore_check_constraints", true)?;
        let loaded = self.target.insert(&self.connection, &values);
        self.connection.pragma_update(None, "ignore_check_constraints", false)?;
        loaded.map(drop)
    }

    /// The fields of a document that the class has, with the key of its path.
    fn row_of(&self, found: &FoundRow) -> SqlResult<Value> {
        let Value::Record(fields) = &found.fields else { return Err(no_record(&found.fields)) };
        let mut row = Value::Record(Vec::with_capacity(fields.len()));
        for column in &self.info().columns {
            let Some((_, value)) = fields.iter().find(|(name, _)| *name == column.name) else {
                continue;
            };
            let value = match (column.kind, value) {
                (FieldType::Bytes, Value::Text(text)) => match STANDARD.decode(text) {
                    Ok(bytes) => Value::Bytes(bytes.into()),
                    Err(_) => {
                        let message = format!("{} holds bytes, written in base64", column.name);
                        return Err(SqlFault::invalid(message));
                    }
                },
                (_, value) => value.clone(),
            };
            row.set(column.name.as_str(), value);
        }
        let values = self.key_values(&found.key).unwrap_or_default();
        for (column, value) in self.key_columns().into_iter().zip(values) {
            row.set(column.name.as_str(), value);
        }
        Ok(row)
    }

    /// The row of a key in the table now.
    fn row(&self, key: &SqliteValue) -> SqlResult<Value> {
        let sql = self.target.one.as_ref().ok_or_else(|| self.info().no_key())?;
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query([key])?;
        match rows.next()? {
            Some(row) => record(&self.target.columns, row, &mut 0),
            None => Err(SqlFault::new(Kind::Failed, "the row in memory is not there")),
        }
    }

    /// What a document says, as a row of the class.
    pub(super) fn read(&self, found: &FoundRow) -> SqlResult<Value> {
        self.scratch(|target, _| {
            self.load(found)?;
            self.row(&target_key(&target.info, &found.key)?)
        })
    }

    /// A new row with its defaults; a numbered key is 1 where the record has none.
    pub(super) fn insert(&self, new: Value) -> SqlResult<Value> {
        self.scratch(|target, connection| {
            let values = RowValues::of_record(&target.info, new)?;
            target.insert(connection, &values).map(|inserted| inserted.row)
        })
    }

    /// Checks what a row is to be changed to, before anything is read.
    pub(super) fn check(&self, key: &str, new: &Value) -> SqlResult<()> {
        let key = target_key(self.info(), key)?;
        self.target.keyed(&key, new.clone()).map(drop)
    }

    /// The row of a key after a put over what was there.
    pub(super) fn put(&self, key: &str, before: Option<&FoundRow>, new: Value) -> SqlResult<Value> {
        self.scratch(|target, connection| {
            let key = target_key(&target.info, key)?;
            let values = target.keyed(&key, new)?;
            before.map_or(Ok(()), |before| self.load(before))?;
            target.put(connection, &key, &values)?;
            self.row(&key)
        })
    }

    /// The row of a key after a merge.
    pub(super) fn merge(&self, before: &FoundRow, changes: Value) -> SqlResult<Value> {
        self.scratch(|target, connection| {
            let key = target_key(&target.info, &before.key)?;
            let values = target.keyed(&key, changes)?;
            self.load(before)?;
            target.merge(connection, &key, &values)?;
            self.row(&key)
        })
    }

    /// The answer of a query over documents; a document that is no row is named by `name`.
    pub(super) fn query(
        &self,
        found: &[FoundRow],
        query: &Query,
        name: impl Fn(&FoundRow) -> String,
    ) -> SqlResult<Value> {
        if query.has_full_text() {
            let message =
                "search: needs a table of SQLite or PostgreSQL, and these rows are documents";
            return Err(SqlFault::new(Kind::NotAllowed, message));
        }
        if !query.relations.is_empty() || !query.related_elements().is_empty() {
            let message = "rows that are documents are not joined: read the related rows by their keys, or keep \
                           the tables in SQLite or PostgreSQL";
            return Err(SqlFault::new(Kind::NotAllowed, message));
        }
        let select = translate(self.info(), query, &RelatedTables::new())?;
        self.scratch(|_, connection| {
            for row in found {
                self.load(row).map_err(|fault| no_row(fault, &name(row)))?;
            }
            match query.count {
                true => count(connection, &select).map(Value::Int),
                false => records(connection, &select).map(Value::List),
            }
        })
    }
}

/// The fault of a document that is no row of the class.
pub(super) fn no_row(fault: SqlFault, name: &str) -> SqlFault {
    let message = format!("{name} is no row of the class: {}", fault.message);
    SqlFault { message, kind: Kind::Conflict, fields: Vec::new(), ..fault }
}

/// The path of the values of a key; `None` for those that would name something else.
fn path_of(values: &[Value]) -> Option<String> {
    let segment = |value: &Value| match value {
        Value::Int(number) => Some(number.to_string()),
        Value::Text(text) if !matches!(text.as_str(), "" | "." | "..") => {
            Some(encode_segment(text).into_owned())
        }
        _ => None,
    };
    Some(values.iter().map(segment).collect::<Option<Vec<_>>>()?.join("/"))
}
