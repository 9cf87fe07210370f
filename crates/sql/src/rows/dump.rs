//! Rows of several tables as text that names their types, a JSON value a line.
//!
//! ```text
//! {"table":"tasks","columns":{"id":"int","title":"string","photo":"bytes"}}
//! [1,"sow",{"base64":"AAEC"}]
//! [2,"reap",null]
//! {"rows":2}
//! ```
//!
//! A table is an object, its rows are the arrays that follow. What JSON cannot say is an object with
//! one field. The last line distinguishes a complete dump from a truncated one.

use crate::fault::{SqlFault, SqlResult};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use runnel_store::{FieldType, Kind, TABLE_RECORD, Value, json};

const TABLE: &str = "table";
const COLUMNS: &str = "columns";
const ROWS: &str = "rows";
const BASE64: &str = "base64";
const FLOAT: &str = "float";

/// The columns of a table and what they hold.
pub(crate) type DumpColumns = Vec<(String, FieldType)>;

/// A line of a dump.
#[derive(Debug, PartialEq)]
pub(crate) enum DumpLine {
    Table(String, DumpColumns),
    Row(Vec<Value>),
    /// The end, and how many rows there were.
    End(u64),
}

/// Writes dumps, and counts rows.
#[derive(Default)]
pub(crate) struct DumpWriter {
    rows: u64,
}

impl DumpWriter {
    pub(crate) fn table(&self, name: &str, columns: &DumpColumns, out: &mut Vec<u8>) {
        let kind = |(name, kind): &(String, FieldType)| (name.clone(), kind.name().into());
        let columns = Value::Record(columns.iter().map(kind).collect());
        json::write(&Value::record([(TABLE, name.into()), (COLUMNS, columns)]), out);
        out.push(b'\n');
    }

    /// Writes a row of a table.
    pub(crate) fn row(
        &mut self,
        table: &str,
        values: impl Iterator<Item = SqlResult<Value>>,
        out: &mut Vec<u8>,
    ) -> SqlResult<()> {
        let start = out.len();
        out.push(b'[');
        for (index, value) in values.enumerate() {
            if index > 0 {
                out.push(b',');
            }
            write(&value?, out);
        }
        out.extend_from_slice(b"]\n");
        self.rows += 1;
        if out.len() - start > TABLE_RECORD {
            let most = TABLE_RECORD >> 20;
            let message = format!(
                "{table} has a row of more than {most} MiB as text; copy the database with \
                 `runnel backup`"
            );
            return Err(SqlFault::new(Kind::TooLarge, message));
        }
        Ok(())
    }

    pub(crate) fn end(&self, out: &mut Vec<u8>) {
        json::write(&Value::record([(ROWS, Value::from(self.rows))]), out);
        out.push(b'\n');
    }
}

fn write(value: &Value, out: &mut Vec<u8>) {
    let marked = |name: &str, text: String| Value::record([(name, Value::Text(text))]);
    match value {
        Value::Bytes(bytes) => json::write(&marked(BASE64, STANDARD.encode(bytes)), out),
        Value::Float(number) if !number.is_finite() => {
            json::write(&marked(FLOAT, number.to_string()), out);
        }
        value => json::write(value, out),
    }
}

impl DumpLine {
    /// Reads a line.
    ///
    /// # Errors
    /// What is wrong with it, without its number.
    pub(crate) fn parse(line: &[u8]) -> Result<DumpLine, String> {
        match json::parse(line).map_err(|error| error.message)? {
            Value::List(values) => {
                Ok(DumpLine::Row(values.into_iter().map(read).collect::<Result<_, _>>()?))
            }
            Value::Record(fields) => head(fields),
            _ => Err(NO_LINE.into()),
        }
    }
}

const NO_LINE: &str = "this is no line of a dump: a table is an object with its name and columns, \
                       a row is an array";

fn head(fields: Vec<(String, Value)>) -> Result<DumpLine, String> {
    let named = |name: &str| fields.iter().find(|(known, _)| known == name).map(|(_, one)| one);
    match (named(TABLE), named(COLUMNS), named(ROWS)) {
        (Some(Value::Text(name)), Some(Value::Record(columns)), None) => {
            let column = |(name, kind): &(String, Value)| {
                let known = match kind.as_str() {
                    Some("any") => Some(FieldType::Any),
                    kind => kind.and_then(FieldType::named),
                };
                let unknown = || format!("the column {name} has an unknown type");
                Ok::<_, String>((name.clone(), known.ok_or_else(unknown)?))
            };
            let columns = columns.iter().map(column).collect::<Result<_, _>>()?;
            Ok(DumpLine::Table(name.clone(), columns))
        }
        (None, None, Some(Value::Int(rows))) => {
            Ok(DumpLine::End(u64::try_from(*rows).unwrap_or_default()))
        }
        _ => Err(NO_LINE.into()),
    }
}

/// A value of a row.
fn read(value: Value) -> Result<Value, String> {
    let Value::Record(fields) = &value else { return Ok(value) };
    let wrong = |name: &str| format!("the text of `{name}` cannot be read");
    match fields.as_slice() {
        [(name, Value::Text(text))] if name == BASE64 => {
            let bytes = STANDARD.decode(text).map_err(|_| wrong(BASE64))?;
            Ok(Value::Bytes(bytes.into()))
        }
        [(name, Value::Text(text))] if name == FLOAT => {
            text.parse().map(Value::Float).map_err(|_| wrong(FLOAT))
        }
        _ => Ok(value),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let values = vec![
            Value::Nil,
            Value::Bool(true),
            Value::Int(i64::MIN),
            Value::Int(i64::MAX),
            Value::Float(3.0),
            Value::Float(1e300),
            Value::Float(-0.1),
            Value::Float(f64::INFINITY),
            Value::Text("\0 \n \"wört\" {\"base64\":\"AA==\"}".into()),
            Value::Bytes(vec![0, 1, 255].into()),
            Value::Bytes(Vec::new().into()),
        ];
        let (mut writer, mut out) = (DumpWriter::default(), Vec::new());
        writer.row("t", values.iter().cloned().map(Ok), &mut out).unwrap();
        assert_eq!(out.iter().filter(|byte| **byte == b'\n').count(), 1);
        assert_eq!(DumpLine::parse(&out).unwrap(), DumpLine::Row(values));
        let columns = vec![("id".to_string(), FieldType::Int), ("x".to_string(), FieldType::Any)];
        out.clear();
        writer.table("t", &columns, &mut out);
        assert_eq!(DumpLine::parse(&out).unwrap(), DumpLine::Table("t".into(), columns));
        out.clear();
        writer.end(&mut out);
        assert_eq!(DumpLine::parse(&out).unwrap(), DumpLine::End(1));
    }

    #[test]
    fn what_cannot_be_loaded_is_refused() {
        let (mut writer, mut out) = (DumpWriter::default(), Vec::new());
        let large = Value::Text("x".repeat(TABLE_RECORD));
        assert!(writer.row("t", [Ok(large)].into_iter(), &mut out).is_err());
        for wrong in
            ["7", "{}", "{\"table\":\"t\"}", "[{\"base64\":\"?\"}]", "[1", "{\"rows\":\"x\"}"]
        {
            assert!(DumpLine::parse(wrong.as_bytes()).is_err(), "{wrong}");
        }
        let unknown = "{\"table\":\"t\",\"columns\":{\"a\":\"point\"}}";
        assert!(DumpLine::parse(unknown.as_bytes()).unwrap_err().contains("unknown type"));
    }
}
