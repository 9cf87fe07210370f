//! TOML text to values (TOML 1.0). Dates become text with a mark, of which the kernel makes objects.

use crate::isolate::Isolate;
use crate::natives::call::{Arguments, Given, Native, Reply, attempt};
use runnel_store::{DATA_POOL, Error, Kind, Result, Value};
use toml::Table;

pub(crate) const NATIVES: [(&str, Native); 1] = [("parseTOML", parse_toml)];

/// Bytes of a document.
const LONGEST: usize = 16 * 1024 * 1024;
/// Bytes that are parsed at once, rather than on a thread.
const AT_ONCE: usize = 64 * 1024;
/// What a text that is a date begins with, and one that begins with the mark itself.
const DATE: &str = "\0d";
const MARKED: &str = "\0s";

/// `(text)`: the document.
fn parse_toml(_: &Isolate, arguments: Arguments) -> Reply {
    let text = arguments.text(1);
    if text.len() > LONGEST {
        return Reply::Failed(Error::new(Kind::TooLarge, "a TOML document has at most 16 MiB"));
    }
    if text.len() <= AT_ONCE {
        return Reply::Now(Given::Value(attempt!(document(&text))));
    }
    Reply::later(async move { DATA_POOL.attempt(move || document(&text)).await.map(Given::Value) })
}

fn document(text: &str) -> Result<Value> {
    let table: Table = text.parse().map_err(|error: toml::de::Error| {
        let at = error.span().map_or(0, |span| span.start);
        let before = text.as_bytes().get(..at).unwrap_or_default();
        let line = memchr::memchr_iter(b'\n', before).count() + 1;
        Error::new(Kind::Invalid, format!("TOML, line {line}: {}", error.message()))
    })?;
    Ok(record(table))
}

fn record(table: Table) -> Value {
    Value::Record(table.into_iter().map(|(key, one)| (key, value(one))).collect())
}

/// The parser bounds how deep tables and arrays are nested.
fn value(one: toml::Value) -> Value {
    match one {
        toml::Value::String(text) if text.starts_with('\0') => {
            Value::Text(format!("{MARKED}{text}"))
        }
        toml::Value::String(text) => Value::Text(text),
        toml::Value::Integer(number) => Value::Int(number),
        toml::Value::Float(number) => Value::Float(number),
        toml::Value::Boolean(truth) => Value::Bool(truth),
        toml::Value::Datetime(date) => Value::Text(format!("{DATE}{date}")),
        toml::Value::Array(list) => Value::List(list.into_iter().map(value).collect()),
        toml::Value::Table(table) => record(table),
    }
}
