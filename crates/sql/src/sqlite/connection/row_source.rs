//! RowBatch in memory as a table that SQLite reads, so that one statement stores thousands of them.
//!
//! `INSERT … SELECT` from a virtual table begins a statement and opens the table once for a batch,
//! and not for each row: with three columns and two million rows 315 ns of CPU for a row, where a
//! statement for each row takes 410 ns. The rows travel by a pointer that SQLite passes on without
//! looking at it (<https://sqlite.org/bindptr.html>, <https://sqlite.org/vtab.html>).

#![allow(unsafe_code)]

use crate::database::description::TableColumn;
use crate::sqlite::connection::cell::for_column;
use crate::sqlite::fault::{SqlFault, SqlFaultCause, SqlResult};
use crate::sqlite::schema::catalog::{Affinity, quoted};
use crate::sqlite::write::change::WriteTarget;
use runnel_store::{FieldType, Value};
use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};
use rusqlite::vtab::{
    Context, Filters, IndexConstraintOp, IndexInfo, Module, VTab, VTabConfig, VTabConnection,
    VTabCursor, sqlite3_vtab, sqlite3_vtab_cursor,
};
use rusqlite::{Connection, Statement};
use std::borrow::Cow;
use std::ffi::{CStr, CString, c_int};
use std::marker::PhantomData;
use std::rc::Rc;
use std::sync::Arc;

/// Columns that the virtual table has; rows with more are stored one by one.
const COLUMNS: usize = 64;

/// The name of the table, and of the type of its pointer. Only the writer's connection knows it:
/// statements of programs, which are prepared on a reading connection first, cannot name it.
const NAME: &CStr = c"runnel_batch";

/// RowBatch on their way into a table.
pub(crate) struct RowBatch {
    pub(crate) target: Arc<WriteTarget>,
    /// Positions of the columns, in the order of the values.
    pub(crate) columns: Arc<[usize]>,
    /// The values of the first row, then those of the second, and so on.
    pub(crate) values: Vec<Value>,
}

/// How a pointer to rows is bound: SQLite lets it go when something else is bound.
struct Bound(Rc<RowBatch>);

impl ToSql for Bound {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::from_rc(self.0.clone(), NAME))
    }
}

/// Makes the virtual table known to a connection.
pub(crate) fn install(connection: &Connection) -> SqlResult<()> {
    const MODULE: Module<'_, RowSourceTable> = Module::eponymous_only_module();
    connection.create_module(NAME, &MODULE, None)?;
    Ok(())
}

/// Whether rows of a table may be stored many at once. Triggers would make SQLite copy them first,
/// and references to rows of the same table are checked at the end of a statement: with many rows in
/// it, some would hold that do not hold one by one.
pub(crate) fn fits(
    connection: &Connection,
    target: &WriteTarget,
    columns: &[usize],
) -> SqlResult<bool> {
    if columns.len() > COLUMNS {
        return Ok(false);
    }
    let mut statement = connection.prepare_cached(
        "SELECT NOT EXISTS (SELECT 1 FROM sqlite_schema \
             WHERE type = 'trigger' AND tbl_name = ?1 COLLATE NOCASE) \
         AND NOT EXISTS (SELECT 1 FROM pragma_foreign_key_list(?1) \
             WHERE \"table\" = ?1 COLLATE NOCASE)",
    )?;
    Ok(statement.query_row([&target.info.name], |row| row.get(0))?)
}

/// The statement that stores rows from the virtual table.
pub(crate) fn insert_sql(target: &WriteTarget, columns: &[usize]) -> String {
    let names: Vec<String> =
        columns.iter().map(|position| target.info.columns[*position].quoted()).collect();
    let values: Vec<String> = (0..columns.len()).map(|column| format!("c{column}")).collect();
    format!(
        "INSERT INTO {} ({}) SELECT {} FROM runnel_batch(?1)",
        quoted(&target.info.name),
        names.join(", "),
        values.join(", ")
    )
}

/// Stores rows by that statement, all of them or none. Gives the rows back where one of them could
/// not be stored and the transaction still stands.
pub(crate) fn store(
    connection: &Connection,
    statement: &mut Statement<'_>,
    rows: RowBatch,
) -> SqlResult<Result<(), Vec<Value>>> {
    let rows = Rc::new(rows);
    statement.raw_bind_parameter(1, Bound(rows.clone()))?;
    let stored = statement.raw_execute();
    statement.raw_bind_parameter(1, rusqlite::types::Null)?;
    match stored {
        Ok(_) => Ok(Ok(())),
        Err(error) => {
            let fault = SqlFault::from(error);
            let ended = connection.is_autocommit() || fault.cause == SqlFaultCause::Interrupted;
            match Rc::try_unwrap(rows) {
                Ok(rows) if !ended => Ok(Err(rows.values)),
                _ => Err(fault),
            }
        }
    }
}

/// The virtual table. Its last column, which is hidden, is the pointer to the rows.
#[repr(C)]
struct RowSourceTable {
    /// What SQLite knows of it: the first field.
    base: sqlite3_vtab,
}

// SAFETY: the structure is laid out as C does it and begins with SQLite's own part.
unsafe impl<'table> VTab<'table> for RowSourceTable {
    type Aux = ();
    type Cursor = RowSourceCursor<'table>;

    fn connect(
        connection: &mut VTabConnection,
        _: Option<&()>,
        _: &[u8],
        _: &[u8],
        _: &[u8],
        _: &[&[u8]],
    ) -> rusqlite::Result<(Cow<'static, CStr>, Self)> {
        connection.config(VTabConfig::DirectOnly)?;
        let columns: Vec<String> = (0..COLUMNS).map(|column| format!("c{column}")).collect();
        let sql = format!("CREATE TABLE x({}, source HIDDEN)", columns.join(", "));
        Ok((Cow::Owned(CString::new(sql)?), RowSourceTable { base: sqlite3_vtab::default() }))
    }

    fn best_index(&self, info: &mut IndexInfo) -> rusqlite::Result<bool> {
        for (constraint, mut usage) in info.constraints_and_usages() {
            let equal = constraint.operator() == IndexConstraintOp::SQLITE_INDEX_CONSTRAINT_EQ;
            if constraint.is_usable() && equal && constraint.column() == COLUMNS as c_int {
                usage.set_argv_index(1);
                usage.set_omit(true);
            }
        }
        Ok(true)
    }

    fn open(&'table mut self) -> rusqlite::Result<RowSourceCursor<'table>> {
        let base = sqlite3_vtab_cursor::default();
        Ok(RowSourceCursor { base, rows: None, at: 0, width: 1, table: PhantomData })
    }
}

/// A walk over the rows.
#[repr(C)]
struct RowSourceCursor<'table> {
    /// What SQLite knows of it: the first field.
    base: sqlite3_vtab_cursor,
    rows: Option<&'table RowBatch>,
    /// The position of the row's first value.
    at: usize,
    width: usize,
    table: PhantomData<&'table RowSourceTable>,
}

// SAFETY: the structure is laid out as C does it and begins with SQLite's own part.
unsafe impl VTabCursor for RowSourceCursor<'_> {
    fn filter(&mut self, _: c_int, _: Option<&str>, given: &Filters<'_>) -> rusqlite::Result<()> {
        // A pointer looks like NULL to everyone who does not know its name.
        self.rows = match given.iter().next() {
            // SAFETY: a pointer of this name is bound in one place, to rows that stay until the
            // statement has ended; SQLite answers none for every other value.
            Some(ValueRef::Null) => unsafe { given.get_pointer(0, NAME) },
            _ => None,
        };
        self.at = 0;
        self.width = self.rows.map_or(1, |rows| rows.columns.len().max(1));
        Ok(())
    }

    fn next(&mut self) -> rusqlite::Result<()> {
        self.at += self.width;
        Ok(())
    }

    fn eof(&self) -> bool {
        self.rows.is_none_or(|rows| self.at >= rows.values.len())
    }

    fn column(&self, context: &mut Context, column: c_int) -> rusqlite::Result<()> {
        let column = column as usize;
        let Some((rows, position)) =
            self.rows.and_then(|rows| Some((rows, *rows.columns.get(column)?)))
        else {
            return Ok(());
        };
        let Some(value) = rows.values.get(self.at + column) else { return Ok(()) };
        let column = &rows.target.info.columns[position];
        match (value, column.kind, column.affinity) {
            // What most values are, without a result in between.
            (Value::Int(number), FieldType::Int, Affinity::Number) => {
                return context.set_result(*number);
            }
            (Value::Bool(flag), FieldType::Bool, Affinity::Number) => {
                return context.set_result(i64::from(*flag));
            }
            (Value::Text(text), FieldType::Text, Affinity::Text) => {
                return context.set_result(text.as_str());
            }
            _ => {}
        }
        match for_column(column, value) {
            Ok(cell) => context.set_result(cell),
            Err(fault) => Err(rusqlite::Error::ModuleError(fault.message)),
        }
    }

    fn rowid(&self) -> rusqlite::Result<i64> {
        Ok((self.at / self.width) as i64)
    }
}
