//! Values to comma-separated text, RFC 4180.

use crate::{Value, json};
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
}
