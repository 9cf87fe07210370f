//! The rows of a statement as content.
//!
//! The statement runs when the content is made, so that its errors are reported at once. A small
//! result is complete then, and its connection free again. Of a large one the first part is
//! buffered, and the rest is read from the server when the caller reads it.

use crate::postgres::connection::client::PostgresConnection;
use crate::postgres::connection::pool::{PostgresLease, Unread};
use crate::postgres::connection::session::{PostgresSession, Repeat};
use crate::postgres::fault::{SqlFault, SqlResult};
use crate::postgres::query::select::PostgresSelect;
use crate::postgres::value::decode::{cell, is_known, raw};
use crate::rows::columns::{ColumnDisplay, ResultColumns};
use crate::rows::csv;
use bytes::Bytes;
use futures_util::{TryStreamExt, stream};
use runnel_store::{
    Answer, Body, ByteStream, Content, Context, Count, EntityTag, Error, Form, Kind, Lazy, Value,
    json,
};
use std::any::Any;
use std::cell::RefCell;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::LazyLock;
use tokio_postgres::{Row, RowStream, Statement};

/// Of a result, this many bytes are read before the verb answers; a larger one keeps its connection
/// until it is read, or until another verb needs the connection.
pub const POSTGRES_AHEAD: usize = 128 << 10;

/// The size of one piece of a streamed result, in bytes.
const PIECE: usize = 64 << 10;

/// The largest result in one piece, in bytes; larger ones have to be streamed.
const WHOLE: usize = crate::ENCODING_LIMIT;

/// The seed of entity tags: new in each process, so that no client can guess which rows have the
/// same.
static SEED: LazyLock<RandomState> = LazyLock::new(RandomState::new);

/// The rest of a result on the server, and the connection that it holds.
struct RemainingRows {
    stream: Pin<Box<RowStream>>,
    lease: PostgresLease,
}

/// The unread rest of a result.
struct UnreadRows(RefCell<Option<Box<RemainingRows>>>);

impl Unread for UnreadRows {
    fn give_up(&self) -> bool {
        self.0.borrow_mut().take().is_some()
    }
}

/// The rows of a statement.
pub(crate) struct ResultRows {
    session: PostgresSession,
    select: Rc<PostgresSelect>,
    start: Rc<ResultStart>,
    rest: Option<Rc<UnreadRows>>,
}

/// The beginning of a result, perhaps all of it.
struct ResultStart {
    columns: ResultColumns,
    rows: Vec<Row>,
}

/// How much is read before the answer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ahead {
    /// Some; the rest stays on the server.
    Some,
    /// Everything.
    All(Repeat),
}

impl ResultRows {
    /// Runs a statement. The content is empty when the caller has the same rows already.
    pub(crate) async fn content(
        session: &PostgresSession,
        select: Rc<PostgresSelect>,
        ahead: Ahead,
        context: &Context,
    ) -> SqlResult<Content> {
        let (start, rest) = open(session, &select, ahead).await?;
        let pool = &session.pool;
        let rest = rest.map(|running| Rc::new(UnreadRows(RefCell::new(Some(running)))));
        if let Some(rest) = &rest {
            let rest: Rc<dyn Unread> = rest.clone();
            pool.remember(Rc::downgrade(&rest));
        }
        let tag = match &rest {
            Some(_) => None,
            None => Some(start.tag()),
        };
        if let (Some(known), Some(tag)) = (&context.known, &tag)
            && known.text == tag.text
        {
            return Ok(Content { entity_tag: Some(known.clone()), ..Content::default() });
        }
        let rows = ResultRows { session: session.clone(), select, start: Rc::new(start), rest };
        Ok(Content { body: Body::Lazy(Rc::new(rows)), entity_tag: tag, ..Content::default() })
    }

    /// The rows from the first on.
    fn feed(&self) -> RowFeed {
        RowFeed {
            session: self.session.clone(),
            select: self.select.clone(),
            start: self.start.clone(),
            next: 0,
            source: match &self.rest {
                None => RowFeedSource::End,
                Some(rest) => match rest.0.borrow_mut().take() {
                    Some(running) => RowFeedSource::Running(running),
                    None => RowFeedSource::Again,
                },
            },
        }
    }
}

/// The row of a key: a record, with a tag made from what it holds.
pub(crate) async fn one(
    session: &PostgresSession,
    select: &PostgresSelect,
    context: &Context,
) -> SqlResult<Option<Content>> {
    let (start, _) = open(session, select, Ahead::All(Repeat::Yes)).await?;
    let Some(row) = start.rows.first() else { return Ok(None) };
    let tag = start.tag();
    if let Some(known) = context.known.as_ref().filter(|known| known.text == tag.text) {
        return Ok(Some(Content { entity_tag: Some(known.clone()), ..Content::default() }));
    }
    let content = Content::value(record(&start.columns, row)?);
    Ok(Some(Content { entity_tag: Some(tag), ..content }))
}

/// All rows of a statement as records.
pub(crate) async fn records(
    session: &PostgresSession,
    select: &PostgresSelect,
    repeat: Repeat,
) -> SqlResult<Vec<Value>> {
    let (start, _) = open(session, select, Ahead::All(repeat)).await?;
    start.rows.iter().map(|row| record(&start.columns, row)).collect()
}

/// The rows that a change answers, as records. Rows that are too many to be answered are not changed.
pub(crate) async fn returned(
    connection: &PostgresConnection,
    session: &PostgresSession,
    change: &PostgresSelect,
) -> SqlResult<Vec<Value>> {
    let reading = async || match begin(connection, change, WHOLE).await? {
        (start, None) => start.rows.iter().map(|row| record(&start.columns, row)).collect(),
        (_, Some(rest)) => {
            drop(rest);
            connection.rest();
            Err(too_large())
        }
    };
    if session.transaction.is_some() {
        return reading().await;
    }
    connection.set_entered(true);
    connection.batch("BEGIN").await?;
    let done = reading().await;
    connection.batch(if done.is_ok() { "COMMIT" } else { "ROLLBACK" }).await?;
    connection.set_entered(false);
    done
}

/// The values of a row.
pub(crate) fn values<'a>(
    columns: &'a ResultColumns,
    row: &'a Row,
) -> impl Iterator<Item = SqlResult<Value>> + 'a {
    let shown = columns.shown.iter().enumerate();
    shown.map(|(index, shown)| Ok(shown.value(cell(row, index)?.value())))
}

/// One row as a value.
pub(crate) fn record(columns: &ResultColumns, row: &Row) -> SqlResult<Value> {
    let mut fields = Vec::with_capacity(columns.names.len());
    for (name, value) in columns.names.iter().zip(values(columns, row)) {
        fields.push((name.clone(), value?));
    }
    Ok(columns.record(fields))
}

/// The columns of a statement; a type that cannot be shown is said before anything runs.
pub(crate) fn columns(statement: &Statement, own: bool) -> SqlResult<ResultColumns> {
    for column in statement.columns() {
        if !is_known(column.type_()) && column.type_().name() != "void" {
            let (name, kind) = (column.name(), column.type_().name());
            let message = format!("{name} is of the type {kind}; select {name}::text instead");
            return Err(SqlFault::new(Kind::Unsupported, message));
        }
    }
    let plain =
        statement.columns().iter().map(|column| (column.name().to_string(), ColumnDisplay::Plain));
    if own { ResultColumns::of_statement(plain) } else { Ok(ResultColumns::new(plain)) }
}

async fn open(
    session: &PostgresSession,
    select: &PostgresSelect,
    ahead: Ahead,
) -> SqlResult<(ResultStart, Option<Box<RemainingRows>>)> {
    // A transaction has one connection, and others wait for it.
    let whole = match ahead {
        Ahead::All(repeat) => Some(repeat),
        Ahead::Some => session.transaction.as_ref().map(|_| Repeat::Yes),
    };
    if let Some(repeat) = whole {
        let all = async |connection: &PostgresConnection| begin(connection, select, WHOLE).await;
        return match session.run(repeat, all).await? {
            (start, None) => Ok((start, None)),
            (_, Some(_)) => Err(too_large()),
        };
    }
    let pool = &session.pool;
    session
        .within(async {
            let mut again = true;
            loop {
                let lease = pool.lease(session.deadline).await?;
                lease.asks_from(session.place);
                match begin(&lease, select, POSTGRES_AHEAD).await {
                    Ok((start, None)) => return Ok((start, None)),
                    Ok((start, Some(stream))) => {
                        return Ok((start, Some(Box::new(RemainingRows { stream, lease }))));
                    }
                    Err(fault) if session.helps(&lease, Repeat::Yes, &fault) && again => {
                        again = false;
                    }
                    Err(fault) => return Err(fault),
                }
            }
        })
        .await
}

/// Runs a statement and reads rows up to a number of bytes. When there are more, the connection
/// stays busy.
async fn begin(
    connection: &PostgresConnection,
    select: &PostgresSelect,
    budget: usize,
) -> SqlResult<(ResultStart, Option<Pin<Box<RowStream>>>)> {
    let statement = connection.prepare(&select.sql).await?;
    let columns = columns(&statement, select.own)?;
    let _running = connection.running(&select.sql);
    let mut stream = Box::pin(connection.rows(&statement, &select.parameters).await?);
    connection.work();
    let (mut rows, mut size) = (Vec::new(), 0);
    loop {
        match stream.try_next().await {
            Ok(Some(row)) => {
                size += row.raw_size_bytes();
                rows.push(row);
                if size > budget {
                    connection.count(Count::Rows, rows.len() as u64);
                    return Ok((ResultStart { columns, rows }, Some(stream)));
                }
            }
            Ok(None) => {
                connection.rest();
                connection.count(Count::Rows, rows.len() as u64);
                return Ok((ResultStart { columns, rows }, None));
            }
            Err(error) => {
                connection.rest();
                return Err(connection.fault(&error));
            }
        }
    }
}

fn too_large() -> SqlFault {
    SqlFault::new(
        Kind::TooLarge,
        "the result is too large for one piece; limit it, choose fewer columns or stream it",
    )
}

impl ResultStart {
    fn tag(&self) -> EntityTag {
        let mut hasher = SEED.build_hasher();
        self.columns.names.hash(&mut hasher);
        for row in &self.rows {
            for index in 0..self.columns.names.len() {
                raw(row, index).hash(&mut hasher);
            }
        }
        EntityTag::strong(format!("{:016x}", hasher.finish()))
    }
}

/// Rows on their way to a reader.
pub(crate) struct RowFeed {
    session: PostgresSession,
    select: Rc<PostgresSelect>,
    start: Rc<ResultStart>,
    next: usize,
    source: RowFeedSource,
}

/// Writes a row, whose number counts from 0.
pub(crate) type RowWriter<'a> =
    dyn FnMut(&ResultColumns, &Row, usize, &mut Vec<u8>) -> SqlResult<()> + 'a;

enum RowFeedSource {
    /// There are no more than the beginning.
    End,
    /// The rest is on its way.
    Running(Box<RemainingRows>),
    /// The rest was read already: the statement has to run again, from its beginning.
    Again,
}

impl RowFeed {
    /// The rows of a statement that runs when they are asked for.
    pub(crate) fn new(session: PostgresSession, select: PostgresSelect) -> RowFeed {
        let columns = ResultColumns::new(std::iter::empty());
        let start = Rc::new(ResultStart { columns, rows: Vec::new() });
        let source = RowFeedSource::Again;
        RowFeed { session, select: Rc::new(select), start, next: 0, source }
    }

    /// Appends rows in a form up to a number of bytes. Answers whether there may be more.
    async fn fill(&mut self, form: Form, out: &mut Vec<u8>, until: usize) -> SqlResult<bool> {
        let mut write = |columns: &ResultColumns, row: &Row, index, out: &mut Vec<u8>| {
            write(columns, row, form, index, out)
        };
        self.fill_with(&mut write, out, until).await
    }

    /// Appends rows as a function writes them, up to a number of bytes. Answers whether there may be
    /// more.
    pub(crate) async fn fill_with(
        &mut self,
        write: &mut RowWriter<'_>,
        out: &mut Vec<u8>,
        until: usize,
    ) -> SqlResult<bool> {
        if let RowFeedSource::Again = self.source {
            let (start, rest) = open(&self.session, &self.select, Ahead::Some).await?;
            self.start = Rc::new(start);
            self.source = rest.map_or(RowFeedSource::End, RowFeedSource::Running);
        }
        while let Some(row) = self.start.rows.get(self.next) {
            write(&self.start.columns, row, self.next, out)?;
            self.next += 1;
            if out.len() >= until {
                return Ok(true);
            }
        }
        let RowFeedSource::Running(running) = &mut self.source else { return Ok(false) };
        loop {
            let waiting = async { Ok(running.stream.try_next().await) };
            match self.session.within(waiting).await? {
                Ok(Some(row)) => {
                    running.lease.count(Count::Rows, 1);
                    write(&self.start.columns, &row, self.next, out)?;
                    self.next += 1;
                    if out.len() >= until {
                        return Ok(true);
                    }
                }
                Ok(None) => {
                    running.lease.rest();
                    self.source = RowFeedSource::End;
                    return Ok(false);
                }
                Err(error) => {
                    running.lease.rest();
                    let fault = running.lease.fault(&error);
                    self.source = RowFeedSource::End;
                    return Err(fault);
                }
            }
        }
    }

    fn opening(&self, form: Form, out: &mut Vec<u8>) {
        match form {
            Form::Csv => csv::header(&self.start.columns, out),
            Form::Json | Form::Text => out.push(b'['),
        }
    }
}

fn closing(form: Form, out: &mut Vec<u8>) {
    if form != Form::Csv {
        out.push(b']');
    }
}

/// One row. Text and JSON are the same: rows have structure.
fn write(
    columns: &ResultColumns,
    row: &Row,
    form: Form,
    index: usize,
    out: &mut Vec<u8>,
) -> SqlResult<()> {
    if form == Form::Csv {
        let start = out.len();
        for index in 0..columns.names.len() {
            if index > 0 {
                out.push(b',');
            }
            cell(row, index)?.write_csv(out);
        }
        // A line of one empty cell would be a blank line, which readers skip.
        if out.len() == start {
            out.extend_from_slice(b"\"\"");
        }
        out.extend_from_slice(b"\r\n");
        return Ok(());
    }
    if index > 0 {
        out.push(b',');
    }
    for (index, key) in columns.keys.iter().enumerate() {
        key.append(out);
        let value = cell(row, index)?;
        match columns.shown[index] {
            ColumnDisplay::Lines => json::write(&ColumnDisplay::Lines.value(value.value()), out),
            _ => value.write(out),
        }
    }
    match columns.keys.is_empty() {
        true => out.extend_from_slice(b"{}"),
        false => columns.end.append(out),
    }
    Ok(())
}

impl Lazy for ResultRows {
    fn encode(&self, form: Form) -> Answer<Bytes> {
        let mut feed = self.feed();
        let mut out = Vec::with_capacity(512);
        feed.opening(form, &mut out);
        if let RowFeedSource::End = feed.source {
            for (index, row) in feed.start.rows.iter().enumerate() {
                if let Err(fault) = write(&feed.start.columns, row, form, index, &mut out) {
                    return Answer::Ready(Err(fault.into()));
                }
            }
            closing(form, &mut out);
            return Answer::ok(out.into());
        }
        Answer::later(async move {
            if feed.fill(form, &mut out, WHOLE).await? {
                return Err(too_large().into());
            }
            closing(form, &mut out);
            Ok(out.into())
        })
    }

    /// A stream when the result is larger than what was read ahead.
    fn stream(&self, form: Form) -> Option<ByteStream> {
        self.rest.as_ref()?;
        let feed = self.feed();
        let mut out = Vec::with_capacity(PIECE * 2);
        feed.opening(form, &mut out);
        let pieces = stream::try_unfold(Some((feed, out)), move |state| async move {
            let Some((mut feed, mut out)) = state else { return Ok::<_, Error>(None) };
            let more = feed.fill(form, &mut out, PIECE).await?;
            if !more {
                closing(form, &mut out);
                return Ok(Some((Bytes::from(out), None)));
            }
            Ok(Some((Bytes::from(out), Some((feed, Vec::with_capacity(PIECE * 2))))))
        });
        Some(Box::pin(pieces))
    }

    fn value(&self) -> Answer<Value> {
        let (start, rest) = (self.start.clone(), self.rest.is_some());
        if !rest {
            let all: SqlResult<Vec<Value>> =
                start.rows.iter().map(|row| record(&start.columns, row)).collect();
            return Answer::Ready(all.map(Value::List).map_err(Error::from));
        }
        let mut feed = self.feed();
        Answer::later(async move { Ok(Value::List(feed.values().await?)) })
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl RowFeed {
    async fn values(&mut self) -> SqlResult<Vec<Value>> {
        if let RowFeedSource::Again = self.source {
            return records(&self.session, &self.select, Repeat::Yes).await;
        }
        let columns = &self.start.columns;
        let mut values = Vec::new();
        for row in &self.start.rows {
            values.push(record(columns, row)?);
        }
        let RowFeedSource::Running(running) = &mut self.source else { return Ok(values) };
        let mut size = 0;
        loop {
            let waiting = async { Ok(running.stream.try_next().await) };
            match self.session.within(waiting).await? {
                Ok(Some(row)) => {
                    running.lease.count(Count::Rows, 1);
                    size += row.raw_size_bytes();
                    if size > WHOLE {
                        return Err(too_large());
                    }
                    values.push(record(columns, &row)?);
                }
                Ok(None) => {
                    running.lease.rest();
                    return Ok(values);
                }
                Err(error) => {
                    running.lease.rest();
                    return Err(running.lease.fault(&error));
                }
            }
        }
    }
}
