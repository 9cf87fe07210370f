//! Values to comma-separated text and back, RFC 4180.

use crate::{Error, Kind, Result, Value, json};
use std::collections::HashSet;

/// A value as CSV with lines that end in CR LF.
///
/// - A list of records is a table: a header line with the names of all fields in the order they
///   first occur, then a line for each record. Fields that a record does not have, and nil, are
///   empty cells.
/// - A list of lists is a table without header; anything else in a list is a line of one cell.
/// - A record is a table of one line; nil is nothing; any other value is one cell.
/// - Text is quoted where it must be, lists and records within a cell are JSON, bytes base64.
pub(crate) fn text(value: &Value) -> Vec<u8> {
    let mut out = Vec::with_capacity(64);
    match value {
        Value::Nil => {}
        Value::List(elements) => table(elements, &mut out),
        other => table(std::slice::from_ref(other), &mut out),
    }
    out
}

fn table(elements: &[Value], out: &mut Vec<u8>) {
    let names = header(elements);
    if !names.is_empty() {
        let cells: Vec<Value> = names.iter().map(|name| Value::from(*name)).collect();
        line(cells.iter(), out);
    }
    for element in elements {
        match element {
            Value::Record(fields)
                if fields.iter().map(|field| &*field.0).eq(names.iter().copied()) =>
            {
                line(fields.iter().map(|field| &field.1), out);
            }
            Value::Record(_) => {
                let nil = Value::Nil;
                line(names.iter().map(|name| element.get(name).unwrap_or(&nil)), out);
            }
            Value::List(cells) => line(cells.iter(), out),
            cell => line(std::iter::once(cell), out),
        }
    }
}

/// The names of the fields of all records, each once, in the order they first occur.
fn header(elements: &[Value]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    let mut seen = HashSet::new();
    for fields in elements.iter().filter_map(Value::as_record) {
        let known = fields.iter().map(|field| &*field.0).eq(names.iter().copied());
        if !known {
            names.extend(fields.iter().map(|field| &*field.0).filter(|name| seen.insert(*name)));
        }
    }
    names
}

fn line<'a>(cells: impl Iterator<Item = &'a Value>, out: &mut Vec<u8>) {
    let start = out.len();
    for (at, value) in cells.enumerate() {
        if at > 0 {
            out.push(b',');
        }
        cell(value, out);
    }
    // A line of one empty cell would be a blank line, which readers skip.
    if out.len() == start {
        out.extend_from_slice(b"\"\"");
    }
    out.extend_from_slice(b"\r\n");
}

fn cell(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Nil => {}
        Value::Text(text) => quoted(text.as_bytes(), out),
        Value::Int(number) => json::write_int(*number, out),
        Value::Float(number) if !number.is_finite() => {}
        Value::Bytes(_) => {
            let text = json::text(value);
            out.extend_from_slice(&text[1..text.len() - 1]);
        }
        other => quoted(&json::text(other), out),
    }
}

fn quoted(text: &[u8], out: &mut Vec<u8>) {
    let plain = !text.is_empty()
        && !text.iter().any(|byte| matches!(byte, b',' | b'"' | b'\r' | b'\n'))
        && text.first() != Some(&b' ')
        && text.last() != Some(&b' ');
    if plain {
        out.extend_from_slice(text);
        return;
    }
    out.push(b'"');
    for &byte in text {
        if byte == b'"' {
            out.push(b'"');
        }
        out.push(byte);
    }
    out.push(b'"');
}

/// How many cells a line may have.
const MAX_COLUMNS: usize = 16_384;

/// A table as a list of records: the first line has the names of the fields.
///
/// - Cells are text; what looks like a number stays text, because `007` is not 7. An empty cell is
///   nil, an empty one in quotes is empty text.
/// - Lines end in CR LF, LF or CR, the last one need not; blank lines are skipped. A line may have
///   fewer cells than the header: the other fields are nil.
/// - A byte order mark at the start is left out.
///
/// # Errors
/// [`Kind::Invalid`], with the line, for text that is not UTF-8, more cells than names, a name that
/// stands twice, and quotes within a cell or without end. [`Kind::TooLarge`] for more than
/// [`MAX_COLUMNS`] cells in a line.
pub fn parse(bytes: &[u8]) -> Result<Value> {
    let Ok(text) = std::str::from_utf8(bytes) else {
        let valid = std::str::from_utf8(bytes).map_or_else(|error| error.valid_up_to(), str::len);
        let line = 1 + bytes[..valid].iter().filter(|byte| **byte == b'\n').count();
        return Err(invalid(line, "this is not UTF-8"));
    };
    let mut reader = CsvReader { rest: text.trim_start_matches('\u{feff}'), line: 1 };
    let Some(header) = reader.line()? else { return Ok(Value::List(Vec::new())) };
    let names: Vec<String> =
        header.into_iter().map(|cell| cell.as_str().unwrap_or_default().to_string()).collect();
    let mut seen = HashSet::new();
    if let Some(twice) = names.iter().find(|name| !seen.insert(name.as_str())) {
        return Err(invalid(1, &format!("the column `{}` stands twice", short(twice))));
    }
    let mut records = Vec::new();
    loop {
        let line = reader.line;
        let Some(cells) = reader.line()? else { return Ok(Value::List(records)) };
        if cells.len() > names.len() {
            let message = format!("{} cells, and the header has {}", cells.len(), names.len());
            return Err(invalid(line, &message));
        }
        let cells = cells.into_iter().chain(std::iter::repeat(Value::Nil));
        records.push(Value::Record(names.iter().cloned().zip(cells).collect()));
    }
}

fn invalid(line: usize, message: &str) -> Error {
    Error::new(Kind::Invalid, format!("CSV, line {line}: {message}"))
}

/// The start of a text, for messages.
fn short(text: &str) -> String {
    text.chars().take(40).collect()
}

struct CsvReader<'a> {
    rest: &'a str,
    line: usize,
}

impl CsvReader<'_> {
    /// The cells of the next line that is not blank.
    fn line(&mut self) -> Result<Option<Vec<Value>>> {
        while self.end_of_line() {}
        if self.rest.is_empty() {
            return Ok(None);
        }
        let mut cells = Vec::new();
        loop {
            cells.push(self.cell()?);
            if cells.len() > MAX_COLUMNS {
                let message = format!("line {} has more than {MAX_COLUMNS} cells", self.line);
                return Err(Error::new(Kind::TooLarge, format!("CSV, {message}")));
            }
            match self.rest.strip_prefix(',') {
                Some(rest) => self.rest = rest,
                None => break,
            }
        }
        if !self.end_of_line() && !self.rest.is_empty() {
            return Err(invalid(self.line, "a quote ends before its cell does; double it inside"));
        }
        Ok(Some(cells))
    }

    fn end_of_line(&mut self) -> bool {
        let ends = ["\r\n", "\n", "\r"];
        let Some(rest) = ends.iter().find_map(|end| self.rest.strip_prefix(end)) else {
            return false;
        };
        self.rest = rest;
        self.line += 1;
        true
    }

    fn cell(&mut self) -> Result<Value> {
        let Some(mut rest) = self.rest.strip_prefix('"') else {
            let end = self.rest.find([',', '\r', '\n']).unwrap_or(self.rest.len());
            let (cell, rest) = self.rest.split_at(end);
            if cell.contains('"') {
                let message = "a quote within a cell; put the whole cell in quotes and double it";
                return Err(invalid(self.line, message));
            }
            self.rest = rest;
            return Ok(if cell.is_empty() { Value::Nil } else { Value::from(cell) });
        };
        let (began, mut text) = (self.line, String::new());
        loop {
            let Some(end) = rest.find('"') else {
                return Err(invalid(began, "a quote has no end"));
            };
            text.push_str(&rest[..end]);
            rest = &rest[end + 1..];
            match rest.strip_prefix('"') {
                Some(more) => {
                    text.push('"');
                    rest = more;
                }
                None => break,
            }
        }
        self.line += text.matches('\n').count();
        self.rest = rest;
        Ok(Value::Text(text))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn check(json_text: &str, expected: &str) {
        let value = json::parse(json_text.as_bytes()).unwrap();
        assert_eq!(String::from_utf8(text(&value)).unwrap(), expected);
    }

    #[test]
    fn tables() {
        check(r#"[{"a":1,"b":"x"},{"a":2,"b":null}]"#, "a,b\r\n1,x\r\n2,\r\n");
        check(r#"[{"a":1},{"b":true,"a":2}]"#, "a,b\r\n1,\r\n2,true\r\n");
        check(r#"[[1,2],[3]]"#, "1,2\r\n3\r\n");
        check(r#"{"a":1.5}"#, "a\r\n1.5\r\n");
        check("[]", "");
        check(r#"[{"a":null}]"#, "a\r\n\"\"\r\n");
    }

    #[test]
    fn quoting() {
        check(
            r#"["a,b","say \"x\"","two\nlines",""," edge"]"#,
            "\"a,b\"\r\n\"say \"\"x\"\"\"\r\n\"two\nlines\"\r\n\"\"\r\n\" edge\"\r\n",
        );
        check(r#"[{"a,b":[1,"x"]}]"#, "\"a,b\"\r\n\"[1,\"\"x\"\"]\"\r\n");
    }

    fn read(text: &str) -> String {
        match parse(text.as_bytes()) {
            Ok(value) => String::from_utf8(json::text(&value)).unwrap(),
            Err(error) => error.message,
        }
    }

    #[test]
    fn tables_are_read() {
        assert_eq!(read("a,b\r\n1,x\r\n2,\r\n"), r#"[{"a":"1","b":"x"},{"a":"2","b":null}]"#);
        assert_eq!(read("\u{feff}a\n\n007\r\"\""), r#"[{"a":"007"},{"a":""}]"#);
        let quoted = "\"a,b\",c\n\"x\ny \"\"z\"\"\"\n";
        assert_eq!(read(quoted), "[{\"a,b\":\"x\\ny \\\"z\\\"\",\"c\":null}]");
        assert_eq!((read(""), read("a,b")), ("[]".to_string(), "[]".to_string()));
    }

    #[test]
    fn what_is_no_table_names_its_line() {
        for (text, expected) in [
            ("a\n1\n2,3", "CSV, line 3: 2 cells, and the header has 1"),
            ("a,b,a", "CSV, line 1: the column `a` stands twice"),
            ("a\n\"x\ny\"\nz\"", "CSV, line 4: a quote within a cell"),
            ("a\n\"x\"y", "CSV, line 2: a quote ends before its cell does"),
            ("a\n\"x\ny", "CSV, line 2: a quote has no end"),
        ] {
            let message = read(text);
            assert!(message.starts_with(expected), "{message}");
        }
        assert!(
            parse(b"a\n\xff").unwrap_err().message.starts_with("CSV, line 2: this is not UTF-8")
        );
        let wide = vec![b','; MAX_COLUMNS + 1];
        assert_eq!(parse(&wide).unwrap_err().kind, Kind::TooLarge);
    }

    mod there_and_back {
        use super::*;
        use proptest::prelude::*;

        fn any_cell() -> impl Strategy<Value = Value> {
            prop_oneof![Just(Value::Nil), "[a\", \r\né]{0,6}".prop_map(Value::from)]
        }

        proptest! {
            /// Two columns, because a line of one empty cell is written as an empty text.
            #[test]
            fn text_and_nil(rows in prop::collection::vec((any_cell(), any_cell()), 1..8)) {
                let record = |(a, b)| Value::record([("a", a), ("b, \"c\"", b)]);
                let table = Value::List(rows.into_iter().map(record).collect());
                prop_assert_eq!(parse(&text(&table)).unwrap(), table);
            }

            #[test]
            fn no_text_is_too_odd(text in "[a,\"\r\n ]{0,40}") {
                drop(parse(text.as_bytes()));
            }
        }
    }
}
