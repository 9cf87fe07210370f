//! The rows of a dump on their way into tables.

use crate::database::SqlDatabase;
use crate::database::backend::DatabaseBackend;
use crate::rows::dump::{DumpColumns, DumpLine};
use bytes::Bytes;
use runnel_store::{
    Answer, Content, Context, Error, Field, Kind, Records, Reference, Result, Shape, TableFormat,
    TableText, Tables, Value,
};
use std::cell::RefCell;
use std::rc::Rc;

/// The amount of text that is read at once, in bytes.
const PART: usize = 64 << 10;

/// Rows that are handed on at once.
const BATCH: usize = 1000;

impl<B: DatabaseBackend> SqlDatabase<B> {
    /// Inserts the rows of a dump. A table that does not exist is made. The rows of a table are
    /// inserted all or none; the error of one says which tables were loaded before it. Answers the
    /// tables with the numbers of their rows.
    ///
    /// # Errors
    /// [`Kind::Invalid`] for text that is no dump, or only the beginning of one, with the line; those
    /// of [`Tables::insert`].
    pub async fn load(&self, dump: Content, context: &Context) -> Result<Vec<(String, u64)>> {
        let text = TableText::new(dump, TableFormat::JsonLines)?;
        let lines = Rc::new(RefCell::new(Some(DumpReader::new(text))));
        let mut loaded = Vec::new();
        match self.load_tables(&lines, &mut loaded, context).await {
            Ok(()) => Ok(loaded),
            Err(error) => {
                let tables: Vec<String> =
                    loaded.iter().map(|(name, rows)| format!("{name} ({rows} rows)")).collect();
                let message = match tables.is_empty() {
                    true => format!("{}; nothing was loaded", error.message),
                    false => format!("{}; loaded were {}", error.message, tables.join(", ")),
                };
                Err(Error { message, ..error })
            }
        }
    }

    async fn load_tables(
        &self,
        lines: &SharedReader,
        loaded: &mut Vec<(String, u64)>,
        context: &Context,
    ) -> Result<()> {
        let mut total = 0;
        loop {
            let next = match take(lines) {
                Some(mut reader) => {
                    let next = reader.next().await?;
                    *lines.borrow_mut() = Some(reader);
                    next
                }
                None => None,
            };
            match next {
                Some((line, DumpLine::Table(name, columns))) => {
                    self.make_table(&name, &columns, context).await?;
                    let fields = columns.iter().map(|(column, _)| column.clone()).collect();
                    let rows = Box::new(DumpRows { lines: lines.clone(), fields });
                    let inserted = self.table(&name).insert(&Reference::default(), rows, context);
                    let about = |error: Error| Error {
                        message: format!("{name}, at line {line} or below it: {}", error.message),
                        ..error
                    };
                    let rows = inserted.await.map_err(about)?;
                    total += rows;
                    loaded.push((name, rows));
                }
                Some((line, DumpLine::Row(_))) => {
                    return Err(invalid(line, "a row stands before the first table"));
                }
                Some((_, DumpLine::End(rows))) if rows == total => return Ok(()),
                Some((line, DumpLine::End(rows))) => {
                    let what = format!("{rows} rows were dumped, and {total} are here");
                    return Err(invalid(line, &what));
                }
                None => {
                    let message = "the dump has no end: it was cut off";
                    return Err(Error::new(Kind::Invalid, message));
                }
            }
        }
    }

    async fn make_table(&self, name: &str, columns: &DumpColumns, context: &Context) -> Result<()> {
        let known = self.backend.names(context).await?;
        if known.iter().any(|known| known.eq_ignore_ascii_case(name)) {
            return Ok(());
        }
        let fields = columns.iter().map(|(column, kind)| Field::new(column.clone(), *kind));
        let shape = Shape::new(name.to_string(), fields.collect());
        self.define_table(&Reference::from_path(name.to_string()), &shape).await.map(drop)
    }
}

fn invalid(line: u64, what: &str) -> Error {
    Error::new(Kind::Invalid, format!("line {line}: {what}"))
}

/// Away while a line is read.
type SharedReader = Rc<RefCell<Option<DumpReader>>>;

fn take(lines: &SharedReader) -> Option<DumpReader> {
    lines.borrow_mut().take()
}

/// The lines of a dump, one after the other.
struct DumpReader {
    text: TableText,
    part: Bytes,
    /// The number of the next line.
    line: u64,
    /// A line that was read and is not a row.
    ahead: Option<(u64, DumpLine)>,
}

impl DumpReader {
    fn new(text: TableText) -> Self {
        DumpReader { text, part: Bytes::new(), line: 1, ahead: None }
    }

    async fn next(&mut self) -> Result<Option<(u64, DumpLine)>> {
        if let Some(ahead) = self.ahead.take() {
            return Ok(Some(ahead));
        }
        loop {
            if self.part.is_empty() {
                match self.text.take(PART).await? {
                    Some((_, part)) => self.part = part,
                    None => return Ok(None),
                }
            }
            let end = memchr::memchr(b'\n', &self.part).map_or(self.part.len(), |at| at + 1);
            let line = self.part.split_to(end);
            let number = self.line;
            self.line += 1;
            if !line.trim_ascii().is_empty() {
                let parsed = DumpLine::parse(&line).map_err(|what| invalid(number, &what))?;
                return Ok(Some((number, parsed)));
            }
        }
    }
}

/// The rows of one table.
struct DumpRows {
    lines: SharedReader,
    fields: Rc<[String]>,
}

impl Records for DumpRows {
    fn fields(&self) -> Rc<[String]> {
        self.fields.clone()
    }

    fn next(&mut self) -> Answer<Option<Vec<Value>>> {
        let (lines, width) = (self.lines.clone(), self.fields.len());
        Answer::later(async move {
            let Some(mut reader) = take(&lines) else { return Ok(None) };
            let mut values = Vec::new();
            let read = loop {
                match reader.next().await {
                    Ok(Some((line, DumpLine::Row(row)))) => {
                        if row.len() != width {
                            let what = format!("{} values for {width} columns", row.len());
                            break Err(invalid(line, &what));
                        }
                        values.extend(row);
                        if values.len() >= BATCH * width {
                            break Ok(());
                        }
                    }
                    Ok(other) => {
                        reader.ahead = other;
                        break Ok(());
                    }
                    Err(error) => break Err(error),
                }
            };
            *lines.borrow_mut() = Some(reader);
            read.map(|()| Some(values).filter(|values| !values.is_empty()))
        })
    }
}
