//! One value on its way into a column, and out of one.
//!
//! Nothing is rounded, cut or converted behind the caller's back: a value that a column would
//! change is refused. SQLite itself would turn the text `007` into 7 in an integer column, an
//! integer beyond 64 bits into a float, and a NaN into NULL.

use crate::postgres::value::decimal::is_decimal;
use crate::postgres::value::moment;
use crate::rows::columns::ColumnDisplay;
use crate::rows::parameters::exact_integer;
use crate::sqlite::fault::{SqlFault, SqlResult};
use crate::sqlite::schema::catalog::{Affinity, ColumnInfo};
use bytes::Bytes;
use runnel_store::{FieldType, Value, json};
use rusqlite::ToSql;
use rusqlite::types::{ToSqlOutput, ValueRef};
use std::borrow::Cow;
use std::hash::{Hash, Hasher};

/// A value in one of SQLite's five storage classes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SqliteValue {
    Null,
    Integer(i64),
    Real(f64),
    Text(String),
    Blob(Bytes),
}

impl Hash for SqliteValue {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::mem::discriminant(self).hash(state);
        match self {
            SqliteValue::Null => {}
            SqliteValue::Integer(number) => number.hash(state),
            SqliteValue::Real(number) => number.to_bits().hash(state),
            SqliteValue::Text(text) => text.hash(state),
            SqliteValue::Blob(bytes) => bytes.hash(state),
        }
    }
}

impl ToSql for SqliteValue {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            SqliteValue::Null => ValueRef::Null,
            SqliteValue::Integer(number) => ValueRef::Integer(*number),
            SqliteValue::Real(number) => ValueRef::Real(*number),
            SqliteValue::Text(text) => ValueRef::Text(text.as_bytes()),
            SqliteValue::Blob(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

impl SqliteValue {
    /// A value where no column says what it should be: a parameter of a statement. Booleans are
    /// 0 and 1.
    pub(crate) fn of_value(value: Value) -> SqlResult<Self> {
        Ok(match plain(&value)? {
            ValueRef::Null => SqliteValue::Null,
            ValueRef::Integer(number) => SqliteValue::Integer(number),
            ValueRef::Real(number) => SqliteValue::Real(number),
            ValueRef::Text(_) | ValueRef::Blob(_) => match value {
                Value::Text(text) => SqliteValue::Text(text),
                Value::Bytes(bytes) => SqliteValue::Blob(bytes),
                _ => SqliteValue::Null,
            },
        })
    }

    /// A value for a column: see [`for_column`].
    pub(crate) fn for_column(column: &ColumnInfo, value: Value) -> SqlResult<Self> {
        let found = match for_column(column, &value)? {
            ToSqlOutput::Borrowed(found) => found,
            ToSqlOutput::Owned(rusqlite::types::Value::Text(text)) => {
                return Ok(SqliteValue::Text(text));
            }
            _ => return Ok(SqliteValue::Null),
        };
        match found {
            ValueRef::Null => Ok(SqliteValue::Null),
            ValueRef::Integer(number) => Ok(SqliteValue::Integer(number)),
            ValueRef::Real(number) => Ok(SqliteValue::Real(number)),
            ValueRef::Text(_) | ValueRef::Blob(_) => SqliteValue::of_value(value),
        }
    }
}

/// A value in its storage class, where no column says what it should be.
fn plain(value: &Value) -> SqlResult<ValueRef<'_>> {
    match value {
        Value::Nil => Ok(ValueRef::Null),
        Value::Bool(flag) => Ok(ValueRef::Integer(i64::from(*flag))),
        Value::Int(number) => Ok(ValueRef::Integer(*number)),
        Value::Float(number) if !number.is_nan() => Ok(ValueRef::Real(*number)),
        Value::Text(text) => Ok(ValueRef::Text(text.as_bytes())),
        Value::Bytes(bytes) => Ok(ValueRef::Blob(bytes)),
        other => Err(SqlFault::invalid(format!("{} {}", describe(other), remedy(other)))),
    }
}

/// A value for a column, which takes what it is declared to hold and keeps it as it is.
pub(crate) fn for_column<'a>(column: &ColumnInfo, value: &'a Value) -> SqlResult<ToSqlOutput<'a>> {
    match (column.kind, value) {
        (FieldType::Date, Value::Text(text)) => match date(text) {
            Some(text) => Ok(ToSqlOutput::Owned(rusqlite::types::Value::Text(text))),
            None => Err(column.refuse(
                "moments as RFC 3339 writes them, such as 2026-11-21T05:30:00Z, in microseconds",
                &format!("'{}'", shortened(text)),
            )),
        },
        (FieldType::Decimal, Value::Text(text)) if !is_decimal(text) => {
            let given = format!("'{}'", shortened(text));
            Err(column.refuse("decimal numbers such as 12.30", &given))
        }
        (FieldType::Decimal, Value::Int(number)) => {
            Ok(ToSqlOutput::Owned(rusqlite::types::Value::Text(number.to_string())))
        }
        (FieldType::Decimal, Value::Big(digits)) => {
            Ok(ToSqlOutput::Owned(rusqlite::types::Value::Text(digits.to_string())))
        }
        // JSON writes an integer with a fraction of zero, too.
        (FieldType::Decimal, Value::Float(number)) if FieldType::Decimal.admits(value) => {
            Ok(ToSqlOutput::Owned(rusqlite::types::Value::Text(format!("{number:.0}"))))
        }
        (FieldType::Decimal, Value::Float(_)) => {
            Err(column.refuse("exact decimal numbers, given as text", &describe(value)))
        }
        (FieldType::Json, Value::Nil) => Ok(ToSqlOutput::Borrowed(ValueRef::Null)),
        (FieldType::Json, value) => match json_text(value) {
            Ok(text) => Ok(ToSqlOutput::Owned(rusqlite::types::Value::Text(text))),
            Err(why) => Err(column.refuse("JSON", why)),
        },
        _ => Ok(ToSqlOutput::Borrowed(borrowed(column, value)?)),
    }
}

/// How deep a document may be.
const DOCUMENT_DEPTH: usize = 128;

/// A value as JSON, which comes back as it was.
fn json_text(value: &Value) -> Result<String, &'static str> {
    fn check(value: &Value, depth: usize) -> Result<(), &'static str> {
        match value {
            _ if depth > DOCUMENT_DEPTH => Err("what is nested more than 128 times"),
            Value::Bytes(_) => Err("bytes; declare them as `bytes`"),
            Value::Float(number) if !number.is_finite() => Err("a number that is not finite"),
            Value::List(values) => values.iter().try_for_each(|value| check(value, depth + 1)),
            Value::Record(fields) => {
                fields.iter().try_for_each(|(_, value)| check(value, depth + 1))
            }
            _ => Ok(()),
        }
    }
    check(value, 0)?;
    String::from_utf8(json::text(value)).map_err(|_| "this")
}

/// A moment as it is stored: in UTC, and with `+00:00` rather than `Z`, because then the order of
/// the texts is that of the moments, with and without fractions of a second.
pub(crate) fn date(text: &str) -> Option<String> {
    let mut text = moment::moment(moment::parse(text)?);
    // Years that RFC 3339 cannot write: a zone took the moment out of them.
    if text.len() < 20 || text.starts_with('-') || text.as_bytes().get(4) != Some(&b'-') {
        return None;
    }
    text.pop();
    text.push_str("+00:00");
    Some(text)
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(40) {
        None => text.to_string(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

fn borrowed<'a>(column: &ColumnInfo, value: &'a Value) -> SqlResult<ValueRef<'a>> {
    let name = &column.name;
    let cell = match (column.kind, value) {
        (FieldType::Int, Value::Float(number)) if exact_integer(*number).is_some() => {
            ValueRef::Integer(*number as i64)
        }
        (FieldType::Float, Value::Int(number)) if exact_float(*number).is_some() => {
            ValueRef::Real(*number as f64)
        }
        (FieldType::Bool, Value::Bool(_) | Value::Int(0 | 1))
        | (FieldType::Int, Value::Int(_) | Value::Bool(_))
        | (FieldType::Float, Value::Float(_))
        | (FieldType::Text | FieldType::Decimal | FieldType::Date, Value::Text(_))
        | (FieldType::Bytes, Value::Bytes(_))
        | (FieldType::Any, _)
        | (_, Value::Nil | Value::Big(_) | Value::List(_) | Value::Record(_)) => plain(value)
            .map_err(|fault| {
                SqlFault::invalid(format!("{name}: {}", fault.message))
                    .of_field(name, fault.message)
            })?,
        (kind, value) => return Err(column.refuse(holds(kind), &describe(value))),
    };
    match (cell, column.affinity) {
        (ValueRef::Integer(_) | ValueRef::Real(_), Affinity::Text) => {
            Err(column.refuse("text", "a number"))
        }
        (ValueRef::Text(text), Affinity::Number | Affinity::Real) if looks_numeric(text) => {
            Err(column.refuse("numbers", "text that looks like one"))
        }
        (ValueRef::Integer(number), Affinity::Real) => match exact_float(number) {
            Some(number) => Ok(ValueRef::Real(number)),
            None => Err(column.refuse(holds(FieldType::Float), "an integer beyond 2^53")),
        },
        _ => Ok(cell),
    }
}

/// What a row holds, as plain data. Text that is not UTF-8 (other programs can write such) has its
/// bad bytes replaced by U+FFFD.
pub(crate) fn read(cell: ValueRef<'_>, shown: ColumnDisplay) -> Value {
    let value = match cell {
        ValueRef::Null => Value::Nil,
        ValueRef::Integer(number) => Value::Int(number),
        ValueRef::Real(number) => Value::Float(number),
        ValueRef::Text(text) => {
            let (text, end) = shown.text(text);
            let mut read = safe_text(text).into_owned();
            read.extend(end.iter().map(|byte| char::from(*byte)));
            Value::Text(read)
        }
        ValueRef::Blob(bytes) => Value::Bytes(Bytes::copy_from_slice(bytes)),
    };
    shown.value(value)
}

/// Text with what is not UTF-8 replaced.
pub(crate) fn safe_text(text: &[u8]) -> Cow<'_, str> {
    // The check alone is much faster than the replacing conversion, which looks at each byte.
    match std::str::from_utf8(text) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => String::from_utf8_lossy(text),
    }
}

/// The float that is exactly this integer, when there is one.
fn exact_float(number: i64) -> Option<f64> {
    let float = number as f64;
    (exact_integer(float) == Some(number)).then_some(float)
}

/// Whether a column with numeric affinity would turn this text into a number.
fn looks_numeric(text: &[u8]) -> bool {
    let number =
        || std::str::from_utf8(text.trim_ascii()).is_ok_and(|text| text.parse::<f64>().is_ok());
    text.iter().any(u8::is_ascii_digit) && number()
}

impl ColumnInfo {
    fn refuse(&self, holds: &str, given: &str) -> SqlFault {
        let message = format!("holds {holds}, not {given}");
        SqlFault::invalid(format!("{} {message}", self.name)).of_field(&self.name, message)
    }
}

fn holds(kind: FieldType) -> &'static str {
    match kind {
        FieldType::Any => "anything",
        FieldType::Int => "integers of 64 bits",
        FieldType::Float => "floating-point numbers",
        FieldType::Bool => "true or false",
        FieldType::Text => "text",
        FieldType::Bytes => "bytes",
        FieldType::Decimal => "decimal numbers",
        FieldType::Date => "dates",
        FieldType::Json => "JSON",
    }
}

fn describe(value: &Value) -> String {
    match value {
        Value::Nil => "nil".into(),
        Value::Bool(flag) => format!("{flag}"),
        Value::Int(number) => format!("the integer {number}"),
        Value::Big(_) => "an integer beyond 64 bits".into(),
        Value::Float(number) => format!("the number {number}"),
        Value::Text(_) => "text".into(),
        Value::Bytes(_) => "bytes".into(),
        Value::List(_) => "a list".into(),
        Value::Record(_) => "a record".into(),
    }
}

fn remedy(value: &Value) -> &'static str {
    match value {
        Value::Big(_) => "does not fit a column; store its digits as text",
        Value::List(_) | Value::Record(_) => "does not fit a column; store it as JSON text",
        _ => "cannot be stored",
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn column(kind: FieldType, affinity: Affinity) -> ColumnInfo {
        ColumnInfo {
            name: "n".into(),
            column: "n".into(),
            kind,
            affinity,
            generated: false,
            readonly: false,
            default: None,
        }
    }

    #[test]
    fn numbers_are_exact_or_refused() {
        let int = |value| SqliteValue::for_column(&column(FieldType::Int, Affinity::Number), value);
        assert_eq!(int(Value::Int(i64::MIN)).unwrap(), SqliteValue::Integer(i64::MIN));
        assert_eq!(int(Value::Float(3.0)).unwrap(), SqliteValue::Integer(3));
        assert!(int(Value::Float(3.5)).is_err());
        assert!(int(Value::Float(9_223_372_036_854_775_808.0)).is_err());
        assert!(int(Value::Text("7".into())).is_err());
        for kind in [FieldType::Float, FieldType::Any] {
            let float = |value| SqliteValue::for_column(&column(kind, Affinity::Real), value);
            assert_eq!(
                float(Value::Int(1 << 53)).unwrap(),
                SqliteValue::Real(9_007_199_254_740_992.0)
            );
            assert!(float(Value::Int((1 << 53) + 1)).is_err());
            assert!(float(Value::Int(i64::MAX)).is_err());
            assert!(float(Value::Float(f64::NAN)).is_err());
        }
    }

    #[test]
    fn what_the_database_would_convert_is_refused() {
        let numeric = |text: &str| {
            let column = column(FieldType::Any, Affinity::Number);
            SqliteValue::for_column(&column, Value::Text(text.into()))
        };
        for converted in ["007", " 7", "1e3", "+7.", "-.5"] {
            assert!(numeric(converted).is_err(), "{converted}");
        }
        for kept in ["", "2026-01-31", "x7", "inf", "nan", "0x7"] {
            assert!(numeric(kept).is_ok(), "{kept}");
        }
        let text = column(FieldType::Any, Affinity::Text);
        assert!(SqliteValue::for_column(&text, Value::Int(5)).is_err());
    }

    #[test]
    fn refusals_name_the_column_and_a_way_out() {
        for kind in [FieldType::Any, FieldType::Int, FieldType::Text] {
            let big = Value::Big("100000000000000000000".into());
            let fault = SqliteValue::for_column(&column(kind, Affinity::None), big).unwrap_err();
            assert!(fault.message.starts_with("n: "), "{}", fault.message);
            assert!(fault.message.contains("digits as text"), "{}", fault.message);
        }
        let flag = column(FieldType::Bool, Affinity::Number);
        let fault = SqliteValue::for_column(&flag, Value::Int(2)).unwrap_err();
        assert_eq!(fault.message, "n holds true or false, not the integer 2");
    }
}
