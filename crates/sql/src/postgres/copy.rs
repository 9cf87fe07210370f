//! Many rows at once: COPY, with the records read as they are sent.

use crate::postgres::change::{self, names, no_record, positions};
use crate::postgres::connection::Connection;
use crate::postgres::fault::Fault;
use crate::postgres::parameter::Parameter;
use crate::postgres::schema::TableInfo;
use crate::postgres::session::{Repeat, Session};
use bytes::Bytes;
use futures_util::SinkExt;
use runnel_store::{Records, Value};
use std::cell::RefCell;
use std::rc::Rc;

/// Rows are sent in pieces of about so many bytes.
const PIECE: usize = 64 << 10;

/// Inserts the records of a source, all or none. Answers how many.
pub(crate) async fn insert(
    session: &Session,
    table: &TableInfo,
    source: &RefCell<Box<dyn Records>>,
) -> Result<u64, Fault> {
    let fields = source.borrow().fields();
    let columns = positions(table, fields.iter().map(String::as_str))?;
    if columns.is_empty() {
        return Err(Fault::invalid("records without fields cannot be inserted"));
    }
    let copying = async |connection: &Connection| {
        let alone = session.transaction.is_none();
        // A long copy is no statement gone wrong: it moves as long as its source does.
        let begin = if alone { "BEGIN; " } else { "" };
        connection.set_entered(true);
        connection.batch(&format!("{begin}SET LOCAL statement_timeout = 0")).await?;
        let done = copy(connection, table, &columns, source).await;
        if alone {
            connection.batch(if done.is_ok() { "COMMIT" } else { "ROLLBACK" }).await?;
            connection.set_entered(false);
        }
        done
    };
    session.unhurried(Repeat::No, copying).await
}

async fn copy(
    connection: &Connection,
    table: &TableInfo,
    columns: &[usize],
    source: &RefCell<Box<dyn Records>>,
) -> Result<u64, Fault> {
    let sql = format!("COPY {} ({}) FROM STDIN", table.sql, names(table, columns));
    let sink = connection.ask(connection.client().copy_in::<_, Bytes>(&sql)).await?;
    let mut sink = Box::pin(sink);
    connection.work();
    let mut out = Vec::with_capacity(PIECE * 2);
    let mut count = 0_u64;
    let sent = async {
        loop {
            let batch = source.borrow_mut().next();
            let Some(batch) = batch.await.map_err(|error| source_fault(&error))? else {
                return Ok(());
            };
            if batch.len() % columns.len() != 0 {
                return Err(Fault::invalid("a record has more or fewer values than fields"));
            }
            let mut values = batch.into_iter();
            while values.len() > 0 {
                count += 1;
                line(table, columns, values.by_ref(), count, &mut out)?;
                if out.len() >= PIECE {
                    let piece = std::mem::replace(&mut out, Vec::with_capacity(PIECE * 2));
                    sink.send(piece.into()).await.map_err(|error| connection.fault(&error))?;
                }
            }
        }
    };
    let sent: Result<(), Fault> = sent.await;
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
fn at_record(error: &tokio_postgres::Error, connection: &Connection) -> Fault {
    let fault = connection.fault(error);
    let place = error.as_db_error().and_then(|said| said.where_());
    let line = place.and_then(|place| place.split_once(", line ")).map(|(_, rest)| rest);
    let number = line.and_then(|rest| rest.split(|c: char| !c.is_ascii_digit()).next());
    match number {
        Some(number) if !number.is_empty() => {
            Fault { message: format!("record {number}: {}", fault.message), ..fault }
        }
        _ => fault,
    }
}

fn source_fault(error: &runnel_store::Error) -> Fault {
    Fault { detail: error.detail.clone(), ..Fault::new(error.kind, error.message.clone()) }
}

fn line(
    table: &TableInfo,
    columns: &[usize],
    values: impl Iterator<Item = Value>,
    number: u64,
    out: &mut Vec<u8>,
) -> Result<(), Fault> {
    for (index, (at, value)) in columns.iter().zip(values.take(columns.len())).enumerate() {
        if index > 0 {
            out.push(b'\t');
        }
        let parameter = Parameter::for_column(&table.columns[*at], value).map_err(|fault| {
            Fault { message: format!("record {number}: {}", fault.message), ..fault }
        })?;
        parameter.copy(out);
    }
    out.push(b'\n');
    Ok(())
}

/// Inserts a list of records, all or none: those with the same fields one after the other go
/// together.
pub(crate) async fn insert_list(
    session: &Session,
    table: &TableInfo,
    records: &[Value],
) -> Result<(), Fault> {
    let groups = groups(table, records)?;
    let inserting = async |connection: &Connection| {
        let alone = session.transaction.is_none();
        if alone {
            connection.set_entered(true);
            connection.batch("BEGIN").await?;
        }
        let mut done = Ok(0);
        for (columns, from, count) in &groups {
            let rows = records[*from..from + count].to_vec();
            let source: Box<dyn Records> = Box::new(Listed { rows: Some(rows) });
            done = copy(connection, table, columns, &RefCell::new(source)).await;
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
    let columns = groups.first().map_or(&[][..], |group| group.0.as_slice());
    match session.run(Repeat::No, inserting).await {
        Err(fault) if change::met_own_number(table, columns, &fault) => {
            let moved = async |connection: &Connection| change::move_on(connection, table).await;
            session.run(Repeat::No, moved).await?;
            session.run(Repeat::No, inserting).await.map(drop)
        }
        done => done.map(drop),
    }
}

/// Columns, and the records from one position on that have just these.
type Group = (Vec<usize>, usize, usize);

fn groups(table: &TableInfo, records: &[Value]) -> Result<Vec<Group>, Fault> {
    let mut groups: Vec<Group> = Vec::new();
    let mut known: &[(String, Value)] = &[];
    for (index, value) in records.iter().enumerate() {
        let place = |fault: Fault| Fault {
            message: format!("record {}: {}", index + 1, fault.message),
            ..fault
        };
        let fields = value.as_record().ok_or_else(|| place(no_record(value)))?;
        if fields.is_empty() {
            return Err(place(Fault::invalid("an empty record in a list of them")));
        }
        let same = fields.len() == known.len()
            && fields.iter().zip(known).all(|(field, known)| field.0 == known.0);
        match groups.last_mut() {
            Some(group) if same => group.2 += 1,
            _ => {
                let names = fields.iter().map(|(name, _)| name.as_str());
                groups.push((positions(table, names).map_err(place)?, index, 1));
                known = fields;
            }
        }
        for ((_, value), at) in fields.iter().zip(&groups[groups.len() - 1].0) {
            Parameter::for_column(&table.columns[*at], value.clone()).map_err(place)?;
        }
    }
    Ok(groups)
}

/// Records that are there already.
struct Listed {
    rows: Option<Vec<Value>>,
}

impl Records for Listed {
    fn fields(&self) -> Rc<[String]> {
        let first = self.rows.as_ref().and_then(|rows| rows.first()).and_then(Value::as_record);
        first.unwrap_or_default().iter().map(|(name, _)| name.clone()).collect()
    }

    fn next(&mut self) -> runnel_store::Answer<Option<Vec<Value>>> {
        let rows = self.rows.take();
        runnel_store::Answer::ok(rows.map(|rows| {
            rows.into_iter()
                .flat_map(|row| match row {
                    Value::Record(fields) => fields,
                    _ => Vec::new(),
                })
                .map(|(_, value)| value)
                .collect()
        }))
    }
}
