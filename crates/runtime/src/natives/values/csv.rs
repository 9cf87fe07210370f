//! Comma-separated values (RFC 4180), read piece by piece: a row needs no more memory than itself.

use crate::isolate::Isolate;
use crate::natives::call::{Arguments, Given, Native, Reply, attempt};
use csv_core::{ReadRecordResult, Reader, ReaderBuilder};
use memchr::memchr_iter;
use runnel_store::{Error, Kind, Result, Value};
use std::cell::RefCell;
use std::rc::Rc;

pub(crate) const NATIVES: [(&str, Native); 2] = [("csvReader", csv_reader), ("csvRows", csv_rows)];

/// Bytes of one row.
const LONGEST_ROW: usize = 1024 * 1024;
/// Fields of one row.
const MOST_FIELDS: usize = 4096;
/// Bytes that one call parses, so that it is short.
const AT_ONCE: usize = 64 * 1024;

/// A reader, and the row that is not complete yet.
struct CsvReader {
    reader: Reader,
    quote: u8,
    text: Vec<u8>,
    filled: usize,
    ends: Vec<usize>,
    fields: usize,
    /// The line that is read, and the line in which the row begins.
    line: u64,
    row_line: u64,
    /// Quotes in the row so far: an odd number at the end is a quote without its partner.
    quotes: usize,
    begun: bool,
}

/// `(separator, quote)`: a reader.
fn csv_reader(_: &Isolate, arguments: Arguments) -> Reply {
    let byte = |at| arguments.bytes(at).first().copied();
    let (separator, quote) = (byte(1).unwrap_or(b','), byte(2).unwrap_or(b'"'));
    Reply::Now(Given::Native(Rc::new(RefCell::new(CsvReader {
        reader: ReaderBuilder::new().delimiter(separator).quote(quote).build(),
        quote,
        text: vec![0; 1024],
        filled: 0,
        ends: vec![0; 64],
        fields: 0,
        line: 1,
        row_line: 1,
        quotes: 0,
        begun: false,
    }))))
}

/// `(reader, bytes, from)`: the rows that end in at most 64 KiB of the bytes from a position on: an array of
/// the next position and the rows, each with its line before its fields. Nil bytes are the end.
fn csv_rows(_: &Isolate, arguments: Arguments) -> Reply {
    let reader = attempt!(arguments.held::<RefCell<CsvReader>>("a reader of CSV"));
    let mut reader = reader.borrow_mut();
    let mut rows = vec![Value::Nil];
    if arguments.is_nil(2) {
        attempt!(reader.end(&mut rows));
    } else {
        let from = (arguments.number(3) as usize).saturating_sub(1);
        let bytes = arguments.bytes(2);
        let to = bytes.len().min(from + AT_ONCE);
        attempt!(reader.feed(bytes.get(from..to).unwrap_or_default(), &mut rows));
        rows[0] = Value::Int(to as i64 + 1);
    }
    Reply::Now(Given::Value(Value::List(rows)))
}

impl CsvReader {
    fn feed(&mut self, mut input: &[u8], rows: &mut Vec<Value>) -> Result<()> {
        while !input.is_empty() {
            if !self.begun {
                // Empty lines are no rows.
                let blank = input.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
                self.line += memchr_iter(b'\n', &input[..blank]).count() as u64;
                input = &input[blank..];
                self.row_line = self.line;
                if input.is_empty() {
                    return Ok(());
                }
                self.begun = true;
            }
            let read = self.step(input, rows)?;
            input = &input[read..];
        }
        Ok(())
    }

    fn end(&mut self, rows: &mut Vec<Value>) -> Result<()> {
        if self.quotes % 2 == 1 {
            return Err(self.fault("a quoted field is not closed"));
        }
        while self.begun {
            self.step(&[], rows)?;
        }
        Ok(())
    }

    /// Reads until the row or the input ends, and answers how many bytes were read.
    fn step(&mut self, input: &[u8], rows: &mut Vec<Value>) -> Result<usize> {
        let (text, ends) = (&mut self.text[self.filled..], &mut self.ends[self.fields..]);
        let (result, read, written, fields) = self.reader.read_record(input, text, ends);
        let consumed = &input[..read];
        self.line += memchr_iter(b'\n', consumed).count() as u64;
        self.quotes += memchr_iter(self.quote, consumed).count();
        self.filled += written;
        self.fields += fields;
        match result {
            ReadRecordResult::InputEmpty => {}
            ReadRecordResult::OutputFull if self.text.len() >= LONGEST_ROW => {
                return Err(self.fault("a row has more than 1 MiB"));
            }
            ReadRecordResult::OutputFull => self.text.resize(self.text.len() * 2, 0),
            ReadRecordResult::OutputEndsFull if self.ends.len() >= MOST_FIELDS => {
                return Err(self.fault("a row has more than 4096 fields"));
            }
            ReadRecordResult::OutputEndsFull => self.ends.resize(self.ends.len() * 2, 0),
            ReadRecordResult::Record => {
                let row = self.row()?;
                rows.push(row);
                self.reset();
            }
            ReadRecordResult::End => self.reset(),
        }
        Ok(read)
    }

    fn reset(&mut self) {
        (self.filled, self.fields, self.quotes, self.begun) = (0, 0, 0, false);
    }

    fn row(&self) -> Result<Value> {
        let mut fields = Vec::with_capacity(self.fields + 1);
        fields.push(Value::Int(self.row_line as i64));
        let mut from = 0;
        for &to in &self.ends[..self.fields] {
            let bytes = self.text.get(from..to).unwrap_or_default();
            match std::str::from_utf8(bytes) {
                Ok(text) => fields.push(Value::Text(text.into())),
                Err(_) => return Err(self.fault("a field is not UTF-8 text")),
            }
            from = to;
        }
        Ok(Value::List(fields))
    }

    fn fault(&self, problem: &str) -> Error {
        Error::new(Kind::Invalid, format!("CSV, line {}: {problem}", self.row_line))
    }
}
