//! All rows of a table into JSON, written while SQLite steps over them.
//!
//! An aggregate function is called with the columns of each row and writes them. So a row costs
//! neither a return from SQLite nor a call for each column: measured, two thirds of a loop over
//! rows; the function is made here and not by rusqlite's means, which cost a row a twentieth more.
//! SQLite hands rows to an aggregate in the order of the scan; with `NOT INDEXED` that is the
//! order of the row numbers ("The SQLite Query Planner", section 1), so only statements that want
//! all rows in that order have this form.

#![allow(unsafe_code)]

use crate::rows::columns::ColumnDisplay;
use crate::sqlite::connection::statement_counts;
use crate::sqlite::fault::{SqlFault, SqlResult};
use crate::sqlite::read::encode::{write_cell, write_integer};
use crate::sqlite::read::select::{ExpectedSize, ResultColumns};
use runnel_store::json;
use rusqlite::ffi;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Error, Result};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::ffi::{CStr, c_int, c_uint};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::sync::Arc;

/// [`FOLD_NAME`](crate::sqlite::read::select::FOLD_NAME) for SQLite. A program's own statement that
/// calls the function is refused.
const C_NAME: &CStr = c"runnel_rows";

/// FoldStatements that a connection keeps prepared.
const KEPT: usize = 16;

thread_local! {
    /// Where the statement that this thread runs writes to.
    static TARGET: RefCell<Option<FoldOutput>> = const { RefCell::new(None) };
}

struct FoldOutput {
    columns: Arc<ResultColumns>,
    out: Vec<u8>,
    /// The size at which it ends.
    limit: usize,
    rows: u64,
}

/// Makes the function known to a connection.
pub(crate) fn install(connection: &Connection) -> Result<()> {
    let flags = ffi::SQLITE_UTF8 | ffi::SQLITE_DIRECTONLY;
    // SAFETY: the handle is open, and the functions need no data of their own.
    let made = unsafe {
        ffi::sqlite3_create_function_v2(
            connection.handle(),
            C_NAME.as_ptr(),
            -1,
            flags,
            std::ptr::null_mut(),
            None,
            Some(step),
            Some(end),
            None,
        )
    };
    match made {
        ffi::SQLITE_OK => Ok(()),
        code => Err(Error::SqliteFailure(ffi::Error::new(code), None)),
    }
}

/// Folding statements of one connection, prepared. Taking a statement from rusqlite's shelf and
/// putting it back costs as much as two rows.
///
/// It is dropped before the connection is closed.
#[derive(Default)]
pub(crate) struct FoldStatements(RefCell<VecDeque<(String, FoldStatement)>>);

/// A statement without parameters.
struct FoldStatement(NonNull<ffi::sqlite3_stmt>);

impl FoldStatements {
    /// Ends them all, before the connection is closed.
    pub(crate) fn clear(&self) {
        self.0.borrow_mut().clear();
    }

    /// Runs a statement to its end.
    fn run(&self, connection: &Connection, sql: &str) -> Result<()> {
        let mut kept = self.0.borrow_mut();
        if let Some((_, known)) = kept.iter().find(|(text, _)| text == sql) {
            return known.run();
        }
        let new = FoldStatement::new(connection, sql)?;
        let ran = new.run();
        if kept.len() >= KEPT {
            kept.pop_front();
        }
        kept.push_back((sql.to_string(), new));
        ran
    }
}

impl FoldStatement {
    fn new(connection: &Connection, sql: &str) -> Result<FoldStatement> {
        let mut statement = std::ptr::null_mut();
        let length = c_int::try_from(sql.len()).unwrap_or(c_int::MAX);
        // SAFETY: the handle is open, and the text is read only during the call.
        let (code, handle) = unsafe {
            let handle = connection.handle();
            let persistent = ffi::SQLITE_PREPARE_PERSISTENT as c_uint;
            let (text, rest) = (sql.as_ptr().cast(), std::ptr::null_mut());
            let code =
                ffi::sqlite3_prepare_v3(handle, text, length, persistent, &raw mut statement, rest);
            (code, handle)
        };
        match (code, NonNull::new(statement)) {
            (ffi::SQLITE_OK, Some(statement)) => Ok(FoldStatement(statement)),
            // SAFETY: the handle is open.
            _ => Err(unsafe { failure(code, handle) }),
        }
    }

    fn run(&self) -> Result<()> {
        let statement = self.0.as_ptr();
        // SAFETY: the connection is open as long as this statement lives.
        unsafe {
            let ran = match ffi::sqlite3_step(statement) {
                ffi::SQLITE_ROW | ffi::SQLITE_DONE => Ok(()),
                code => Err(failure(code, ffi::sqlite3_db_handle(statement))),
            };
            ffi::sqlite3_reset(statement);
            ran
        }
    }
}

impl Drop for FoldStatement {
    fn drop(&mut self) {
        // SAFETY: it is made once and the connection is still open.
        unsafe { ffi::sqlite3_finalize(self.0.as_ptr()) };
    }
}

/// What a connection says of a call that failed.
///
/// # Safety
/// The connection is open.
unsafe fn failure(code: c_int, handle: *mut ffi::sqlite3) -> Error {
    // SAFETY: SQLite answers a text that holds until the next call.
    let text = unsafe { CStr::from_ptr(ffi::sqlite3_errmsg(handle)) };
    Error::SqliteFailure(ffi::Error::new(code), Some(text.to_string_lossy().into_owned()))
}

/// Runs a folding statement.
///
/// # Errors
/// [`SqlFault::interrupted`] when the encoding reaches the limit, and what the statement says.
pub(crate) fn encode(
    connection: &Connection,
    statements: &FoldStatements,
    sql: &str,
    columns: &Arc<ResultColumns>,
    size: &ExpectedSize,
    limit: usize,
) -> SqlResult<Vec<u8>> {
    let mut out = Vec::with_capacity(size.expected().min(limit));
    out.push(b'[');
    TARGET.set(Some(FoldOutput { columns: columns.clone(), out, limit, rows: 0 }));
    let ran = statements.run(connection, sql);
    let Some(FoldOutput { mut out, rows, .. }) = TARGET.take() else {
        return Err(SqlFault::interrupted());
    };
    if out.len() >= limit {
        return Err(SqlFault::interrupted());
    }
    ran?;
    // Each row is followed by a comma.
    match out.last_mut() {
        Some(last) if *last == b',' => *last = b']',
        _ => out.push(b']'),
    }
    size.was(out.len());
    statement_counts::count(rows);
    Ok(out)
}

impl FoldOutput {
    /// Writes a row.
    fn row(
        &mut self,
        values: &[*mut ffi::sqlite3_value],
    ) -> std::result::Result<(), &'static CStr> {
        if self.columns.keys.len() != values.len() {
            return Err(OTHERS);
        }
        let out = &mut self.out;
        let columns = self.columns.keys.iter().zip(&self.columns.shown);
        for ((key, shown), value) in columns.zip(values) {
            key.append(out);
            // SAFETY: SQLite hands over values that hold until the function returns.
            unsafe { write(*value, *shown, out) };
        }
        out.extend_from_slice(b"},");
        self.rows += 1;
        match out.len() < self.limit {
            true => Ok(()),
            false => Err(LARGE),
        }
    }
}

const OTHERS: &CStr = c"runnel_rows does not answer: it is called by the table itself";
const LARGE: &CStr = c"runnel_rows does not answer: the result is large";
const BROKEN: &CStr = c"runnel_rows does not answer: it broke down";

/// Called by SQLite with the columns of each row.
unsafe extern "C" fn step(
    context: *mut ffi::sqlite3_context,
    count: c_int,
    values: *mut *mut ffi::sqlite3_value,
) {
    let values = match usize::try_from(count) {
        // SAFETY: SQLite guarantees this number of values.
        Ok(count @ 1..) => unsafe { std::slice::from_raw_parts(values, count) },
        _ => &[],
    };
    let written = catch_unwind(AssertUnwindSafe(|| {
        TARGET.with_borrow_mut(|target| target.as_mut().ok_or(OTHERS)?.row(values))
    }));
    if let Err(why) = written.unwrap_or(Err(BROKEN)) {
        // SAFETY: the context is that of this call, and the text is copied.
        unsafe { ffi::sqlite3_result_error(context, why.as_ptr(), -1) };
    }
}

/// Called by SQLite after the last row.
unsafe extern "C" fn end(context: *mut ffi::sqlite3_context) {
    // SAFETY: the context is that of this call.
    unsafe { ffi::sqlite3_result_null(context) };
}

/// Writes a value. Integers and texts, which most values are, come first and take no detour.
///
/// # Safety
/// The value belongs to a function that is being called.
unsafe fn write(value: *mut ffi::sqlite3_value, shown: ColumnDisplay, out: &mut Vec<u8>) {
    // SAFETY: the value holds; reading it as what it is converts nothing.
    let cell = unsafe {
        let kind = ffi::sqlite3_value_type(value);
        if kind == ffi::SQLITE_INTEGER {
            return write_integer(ffi::sqlite3_value_int64(value), shown, out);
        }
        if kind == ffi::SQLITE_TEXT && shown == ColumnDisplay::Plain {
            return json::write_utf8(bytes(value, ffi::sqlite3_value_text(value)), out);
        }
        match kind {
            ffi::SQLITE_TEXT => ValueRef::Text(bytes(value, ffi::sqlite3_value_text(value))),
            ffi::SQLITE_FLOAT => ValueRef::Real(ffi::sqlite3_value_double(value)),
            ffi::SQLITE_BLOB => ValueRef::Blob(bytes(value, ffi::sqlite3_value_blob(value).cast())),
            _ => ValueRef::Null,
        }
    };
    write_cell(cell, shown, out);
}

/// The bytes of a value that begin there.
///
/// # Safety
/// The value belongs to a function that is being called, and the place is what SQLite said.
unsafe fn bytes<'a>(value: *mut ffi::sqlite3_value, start: *const u8) -> &'a [u8] {
    // SAFETY: SQLite gives the address and the number of the bytes; for no bytes it gives with a
    // null pointer.
    match (start.is_null(), unsafe { ffi::sqlite3_value_bytes(value) }) {
        (false, count @ 1..) => unsafe { std::slice::from_raw_parts(start, count as usize) },
        _ => &[],
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn columns() -> Arc<ResultColumns> {
        Arc::new(ResultColumns::new([
            ("id".to_string(), ColumnDisplay::Plain),
            ("done".to_string(), ColumnDisplay::Boolean),
        ]))
    }

    fn table(rows: i64) -> Connection {
        let connection = Connection::open_in_memory().unwrap();
        install(&connection).unwrap();
        connection.execute_batch("create table t(id integer primary key, done)").unwrap();
        connection.execute_batch("create index i on t(done, id)").unwrap();
        for id in (1..=rows).rev() {
            connection.execute("insert into t values (?1, ?2)", [id, id % 2]).unwrap();
        }
        connection
    }

    const SQL: &str = "SELECT runnel_rows(id, done) FROM t NOT INDEXED";

    fn folded(
        connection: &Connection,
        statements: &FoldStatements,
        limit: usize,
    ) -> SqlResult<Vec<u8>> {
        encode(connection, statements, SQL, &columns(), &ExpectedSize::default(), limit)
    }

    #[test]
    fn a_statement_is_prepared_once_and_sees_what_changed() {
        let connection = table(1);
        let statements = FoldStatements::default();
        assert_eq!(
            folded(&connection, &statements, 1 << 20).unwrap(),
            br#"[{"id":1,"done":true}]"#
        );
        connection.execute_batch("delete from t; alter table t add column x").unwrap();
        assert_eq!(folded(&connection, &statements, 1 << 20).unwrap(), b"[]");
        connection.execute_batch("drop table t").unwrap();
        let fault = folded(&connection, &statements, 1 << 20).unwrap_err();
        assert!(fault.message.contains("no such table: t"), "{fault:?}");
        assert_eq!(statements.0.borrow().len(), 1);
        let missing = statements.run(&connection, "select 1 from absent").unwrap_err();
        assert!(missing.to_string().contains("no such table: absent"), "{missing:?}");
        for number in 0..KEPT * 2 {
            statements.run(&connection, &format!("select {number}")).unwrap();
        }
        assert_eq!(statements.0.borrow().len(), KEPT);
    }

    #[test]
    fn rows_come_in_the_order_of_their_numbers() {
        let encoded = |rows| folded(&table(rows), &FoldStatements::default(), 1 << 20).unwrap();
        assert_eq!(encoded(0), b"[]");
        assert_eq!(
            encoded(3),
            br#"[{"id":1,"done":true},{"id":2,"done":false},{"id":3,"done":true}]"#
        );
    }

    #[test]
    fn it_ends_at_its_limit_and_works_on() {
        let connection = table(1000);
        let statements = FoldStatements::default();
        let fault = folded(&connection, &statements, 500).unwrap_err();
        assert!(fault.is_interrupted());
        assert!(folded(&connection, &statements, 1 << 20).unwrap().len() > 1000);
    }

    #[test]
    fn others_cannot_call_it() {
        let connection = table(1);
        let answer = connection.query_row(SQL, [], |_| Ok(()));
        assert!(answer.unwrap_err().to_string().contains("runnel_rows"));
    }
}
