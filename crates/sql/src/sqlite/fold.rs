//! All rows of a table into JSON, written while SQLite steps over them.
//!
//! An aggregate function is called with the columns of each row and writes them. So a row costs
//! neither a return from SQLite nor a call for each column: measured, two thirds of a loop over
//! rows. SQLite hands rows to an aggregate in the order of the scan; with `NOT INDEXED` that is the
//! order of the row numbers ("The SQLite Query Planner", section 1), so only statements that want
//! all rows in that order have this form.

use crate::sqlite::encode::write_cell;
use crate::sqlite::fault::Fault;
use crate::sqlite::schema::{TableInfo, quoted};
use crate::sqlite::select::{Columns, Size};
use crate::sqlite::tally;
use rusqlite::functions::{Aggregate, Context, FunctionFlags};
use rusqlite::{Connection, Error, Result};
use std::cell::RefCell;
use std::sync::Arc;

/// The function's name. A program's own statement that calls it is refused.
const NAME: &str = "runnel_rows";

/// Columns that a function of SQLite is given at most.
const MOST_COLUMNS: usize = 100;

thread_local! {
    /// Where the statement that this thread runs writes to.
    static TARGET: RefCell<Option<Target>> = const { RefCell::new(None) };
}

struct Target {
    columns: Arc<Columns>,
    out: Vec<u8>,
    /// The size at which it ends.
    limit: usize,
    rows: u64,
}

/// The statement that folds a table's rows; `None` where rows come in another order.
pub(crate) fn statement(table: &TableInfo, columns: &str, count: usize) -> Option<String> {
    (table.by_row_number && (1..=MOST_COLUMNS).contains(&count))
        .then(|| format!("SELECT {NAME}({columns}) FROM {} NOT INDEXED", quoted(&table.name)))
}

/// Makes the function known to a connection.
pub(crate) fn install(connection: &Connection) -> Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DIRECTONLY;
    connection.create_aggregate_function(NAME, -1, flags, Fold)
}

/// Runs a folding statement.
///
/// # Errors
/// [`Fault::interrupted`] when the encoding reaches the limit, and what the statement says.
pub(crate) fn encode(
    connection: &Connection,
    sql: &str,
    columns: &Arc<Columns>,
    size: &Size,
    limit: usize,
) -> std::result::Result<Vec<u8>, Fault> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut out = Vec::with_capacity(size.expected().min(limit));
    out.push(b'[');
    TARGET.set(Some(Target { columns: columns.clone(), out, limit, rows: 0 }));
    let ran = statement.query_row([], |_| Ok(()));
    let Some(Target { mut out, rows, .. }) = TARGET.take() else {
        return Err(Fault::interrupted());
    };
    if out.len() >= limit {
        return Err(Fault::interrupted());
    }
    ran?;
    // Each row is followed by a comma.
    match out.last_mut() {
        Some(last) if *last == b',' => *last = b']',
        _ => out.push(b']'),
    }
    size.was(out.len());
    tally::statement(rows);
    Ok(out)
}

struct Fold;

impl Aggregate<(), Option<i64>> for Fold {
    fn init(&self, _: &mut Context<'_>) -> Result<()> {
        Ok(())
    }

    fn step(&self, row: &mut Context<'_>, (): &mut ()) -> Result<()> {
        TARGET.with_borrow_mut(|target| {
            let Some(target) = target.as_mut().filter(|one| one.columns.keys.len() == row.len())
            else {
                return Err(refused("it is called by the table itself"));
            };
            let out = &mut target.out;
            for (at, (key, shown)) in
                target.columns.keys.iter().zip(&target.columns.shown).enumerate()
            {
                key.append(out);
                write_cell(row.get_raw(at), *shown, out);
            }
            out.extend_from_slice(b"},");
            target.rows += 1;
            match out.len() < target.limit {
                true => Ok(()),
                false => Err(refused("the result is large")),
            }
        })
    }

    fn finalize(&self, _: &mut Context<'_>, _: Option<()>) -> Result<Option<i64>> {
        Ok(None)
    }
}

fn refused(why: &str) -> Error {
    Error::UserFunctionError(format!("{NAME} does not answer: {why}").into())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::columns::Shown;

    fn columns() -> Arc<Columns> {
        Arc::new(Columns::new([
            ("id".to_string(), Shown::Plain),
            ("done".to_string(), Shown::Boolean),
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

    #[test]
    fn rows_come_in_the_order_of_their_numbers() {
        let encoded =
            |rows| encode(&table(rows), SQL, &columns(), &Size::default(), 1 << 20).unwrap();
        assert_eq!(encoded(0), b"[]");
        assert_eq!(
            encoded(3),
            br#"[{"id":1,"done":true},{"id":2,"done":false},{"id":3,"done":true}]"#
        );
    }

    #[test]
    fn it_ends_at_its_limit_and_works_on() {
        let connection = table(1000);
        let fault = encode(&connection, SQL, &columns(), &Size::default(), 500).unwrap_err();
        assert!(fault.is_interrupted());
        assert!(
            encode(&connection, SQL, &columns(), &Size::default(), 1 << 20).unwrap().len() > 1000
        );
    }

    #[test]
    fn others_cannot_call_it() {
        let connection = table(1);
        let answer = connection.query_row(SQL, [], |_| Ok(()));
        assert!(answer.unwrap_err().to_string().contains("runnel_rows"));
    }
}
