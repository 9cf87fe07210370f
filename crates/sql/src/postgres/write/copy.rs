//! Many rows at once: COPY, with the records read as they are sent.

use crate::database::description::{RecordGroup, TableDescription, record_groups};
use crate::postgres::connection::client::PostgresConnection;
use crate::postgres::connection::session::{PostgresSession, Repeat};
use crate::postgres::fault::{SqlFault, SqlResult};
use crate::postgres::schema::catalog::TableInfo;
use crate::postgres::value::parameter::Parameter;
use crate::postgres::write::change;
use bytes::Bytes;
use futures_util::SinkExt;
use runnel_store::{Kind, Records, Value};
use std::cell::RefCell;

/// The size of one piece of rows that is sent, in bytes.
const PIECE: usize = 64 << 10;

/// Inserts the records of a source, all or none. Answers how many. Where the first has nil as its
/// key the database numbers all of them.
pub(crate) async fn insert(
    session: &PostgresSession,
    table: &TableInfo,
    source: &RefCell<Box<dyn Records>>,
) -> SqlResult<u64> {
    let fields = source.borrow().fields();
    let positions = table.positions(fields.iter().map(String::as_str))?;
    if positions.is_empty() {
        return Err(SqlFault::invalid("records without fields cannot be inserted"));
    }
    let first = source.borrow_mut().next();
    let first = first.await.map_err(|error| source_fault(&error))?.unwrap_or_default();
    let own = |(at, value): &(&usize, &Value)| table.is_left_out(**at, value);
    let left_out = positions.iter().zip(&first).position(|pair| own(&pair));
    let mut columns = positions;
    if let Some(place) = left_out {
        columns.remove(place);
    }
    let lines = RefCell::new(Some(Lines { first: Some(first), rest: source, left_out }));
    let copying = async |connection: &PostgresConnection| {
        let alone = session.transaction.is_none();
        // A long copy is no statement gone wrong: it moves as long as its source does.
        let begin = if alone { "BEGIN; " } else { "" };
        connection.set_entered(true);
        connection.batch(&format!("{begin}SET LOCAL statement_timeout = 0")).await?;
        let Some(mut source) = lines.take() else {
            return Err(SqlFault::new(Kind::Failed, "the records are being inserted already"));
        };
        let done = copy(connection, table, &columns, &mut source).await;
        lines.replace(Some(source));
        if alone {
            connection.batch(if done.is_ok() { "COMMIT" } else { "ROLLBACK" }).await?;
            connection.set_entered(false);
        }
        done
    };
    session.unhurried(Repeat::No, copying).await
}

/// Where the values of the lines come from, batch by batch.
trait Values {
    async fn next(&mut self) -> SqlResult<Option<Vec<Value>>>;

    /// Which value of each record is nil and left out.
    fn left_out(&self) -> Option<usize>;
}

/// A source whose first batch was looked at.
struct Lines<'a> {
    first: Option<Vec<Value>>,
    rest: &'a RefCell<Box<dyn Records>>,
    left_out: Option<usize>,
}

impl Values for Lines<'_> {
    async fn next(&mut self) -> SqlResult<Option<Vec<Value>>> {
        match self.first.take() {
            Some(first) => Ok(Some(first)),
            None => {
                let batch = self.rest.borrow_mut().next();
                batch.await.map_err(|error| source_fault(&error))
            }
        }
    }

    fn left_out(&self) -> Option<usize> {
        self.left_out
    }
}

async fn copy(
    connection: &PostgresConnection,
    table: &TableInfo,
    columns: &[usize],
    source: &mut impl Values,
) -> SqlResult<u64> {
    let sql = match columns {
        [] => return Err(SqlFault::invalid("a record in a list of them needs a value")),
        _ => format!("COPY {} ({}) FROM STDIN", table.sql, change::names(table, columns)),
    };
    let sink = connection.ask(connection.client().copy_in::<_, Bytes>(&sql)).await?;
    let mut sink = Box::pin(sink);
    connection.work();
    let mut out = Vec::with_capacity(PIECE * 2);
    let mut count = 0_u64;
    let left_out = source.left_out();
    let width = columns.len() + usize::from(left_out.is_some());
    let sent = async {
        loop {
            let Some(batch) = source.next().await? else { return Ok(()) };
            if batch.len() % width != 0 {
                return Err(SqlFault::invalid("a record has more or fewer values than fields"));
            }
            let mut values = batch.into_iter();
            while values.len() > 0 {
                count += 1;
                let mut record: Vec<Value> = values.by_ref().take(width).collect();
                if left_out.is_some_and(|place| !record.remove(place).is_nil()) {
                    return Err(SqlFault::invalid(format!(
                        "record {count}: it has a key, and those before have none"
                    )));
                }
                line(table, columns, record, count, &mut out)?;
                if out.len() >= PIECE {
                    let piece = std::mem::replace(&mut out, Vec::with_capacity(PIECE * 2));
                    sink.send(piece.into()).await.map_err(|error| connection.fault(&error))?;
                }
            }
        }
    };
    let sent: SqlResult<()> = sent.await;
    let done = match sent {
        Ok(()) => {
            let last = sink.send(out.into()).await;
            let finished = match last {
                Ok(()) => sink.as_mut().finish().await,
                // What the server has against the rows is said at the end.
                Err(error) => sink.as_mut().finish().await.and(Err(error)),
            };
            finished.map_err(|error| at_record(&error, connection))
        }
        Err(fault) => {
            // Dropping it tells the server that the copy failed.
            drop(sink);
            Err(fault)
        }
    };
    connection.rest();
    let changed = done?;
    if table.key.is_some_and(|key| columns.contains(&key) && table.columns[key].numbered) {
        change::move_on(connection, table).await?;
    }
    Ok(changed)
}

/// The server says in which line it was: `COPY tasks, line 3, column id`.
fn at_record(error: &tokio_postgres::Error, connection: &PostgresConnection) -> SqlFault {
    let fault = connection.fault(error);
    let place = error.as_db_error().and_then(|said| said.where_());
    let line = place.and_then(|place| place.split_once(", line ")).map(|(_, rest)| rest);
    let number = line.and_then(|rest| rest.split(|c: char| !c.is_ascii_digit()).next());
    match number {
        Some(number) if !number.is_empty() => {
            SqlFault { message: format!("record {number}: {}", fault.message), ..fault }
        }
        _ => fault,
    }
}

fn source_fault(error: &runnel_store::Error) -> SqlFault {
    SqlFault { detail: error.detail.clone(), ..SqlFault::new(error.kind, error.message.clone()) }
}

fn line(
    table: &TableInfo,
    columns: &[usize],
    values: Vec<Value>,
    number: u64,
    out: &mut Vec<u8>,
) -> SqlResult<()> {
    for (index, (at, value)) in columns.iter().zip(values).enumerate() {
        if index > 0 {
            out.push(b'\t');
        }
        let parameter = Parameter::for_column(&table.columns[*at], value).map_err(|fault| {
            SqlFault { message: format!("record {number}: {}", fault.message), ..fault }
        })?;
        parameter.copy(out);
    }
    out.push(b'\n');
    Ok(())
}

/// Inserts a list of records, all or none: those with the same fields one after the other go
/// together.
pub(crate) async fn insert_list(
    session: &PostgresSession,
    table: &TableInfo,
    records: &[Value],
) -> SqlResult<()> {
    let check = |at: usize, value: &Value| {
        Parameter::for_column(&table.columns[at], value.clone()).map(drop)
    };
    let groups = record_groups(table, records, check)?;
    let inserting = async |connection: &PostgresConnection| {
        let alone = session.transaction.is_none();
        if alone {
            connection.set_entered(true);
            connection.batch("BEGIN").await?;
        }
        let mut done = Ok(0);
        for RecordGroup { columns, from, count } in &groups {
            let mut source = Listed { rows: Some(&records[*from..from + count]), table };
            done = copy(connection, table, columns, &mut source).await;
            if done.is_err() {
                break;
            }
        }
        if alone {
            connection.batch(if done.is_ok() { "COMMIT" } else { "ROLLBACK" }).await?;
            connection.set_entered(false);
        }
        done
    };
    let columns = groups.first().map_or(&[][..], |group| group.columns.as_slice());
    match session.run(Repeat::No, inserting).await {
        Err(fault) if change::met_own_number(table, columns, &fault) => {
            let moved =
                async |connection: &PostgresConnection| change::move_on(connection, table).await;
            session.run(Repeat::No, moved).await?;
            session.run(Repeat::No, inserting).await.map(drop)
        }
        done => done.map(drop),
    }
}

/// Records that are there already.
struct Listed<'a> {
    rows: Option<&'a [Value]>,
    table: &'a TableInfo,
}

impl Values for Listed<'_> {
    async fn next(&mut self) -> SqlResult<Option<Vec<Value>>> {
        let Some(rows) = self.rows.take() else { return Ok(None) };
        let mut values = Vec::new();
        for (name, value) in rows.iter().filter_map(Value::as_record).flatten() {
            let at = self.table.find(name)?;
            if !self.table.is_left_out(at, value) {
                values.push(value.clone());
            }
        }
        Ok(Some(values))
    }

    fn left_out(&self) -> Option<usize> {
        None
    }
}
