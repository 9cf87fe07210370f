//! Values on their way into a statement.
//!
//! They are sent in the text form of their type, which the server reads as exactly as a person
//! would mean it; only bytes go as they are.

use crate::postgres::fault::{SqlFault, SqlResult};
use crate::postgres::schema::catalog::{ColumnInfo, Holds};
use crate::postgres::value::decimal::is_decimal;
use crate::postgres::value::moment;
use crate::rows::parameters::exact_integer;
use bytes::{Bytes, BytesMut};
use runnel_store::{Value, json};
use std::error::Error;
use std::fmt::Write;
use tokio_postgres::types::{Format, IsNull, Kind, ToSql, Type, to_sql_checked};

/// One parameter.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Parameter {
    Null,
    /// The text form of a value of the parameter's type.
    Text(String),
    /// Bytes for `bytea`.
    Bytes(Bytes),
}

impl ToSql for Parameter {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Parameter::Null => return Ok(IsNull::Yes),
            Parameter::Text(text) => out.extend_from_slice(text.as_bytes()),
            Parameter::Bytes(bytes) => out.extend_from_slice(bytes),
        }
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, _: &Type) -> Format {
        if matches!(self, Parameter::Bytes(_)) { Format::Binary } else { Format::Text }
    }

    to_sql_checked!();
}

impl Parameter {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Parameter::Text(text.into())
    }

    pub(crate) fn int(number: i64) -> Self {
        Parameter::Text(number.to_string())
    }

    /// A value for a parameter whose type the server has found out.
    pub(crate) fn of_type(value: Value, kind: &Type) -> SqlResult<Self> {
        let plain = match kind.kind() {
            Kind::Domain(inner) => return Parameter::of_type(value, inner),
            Kind::Array(inner) => return array(value, inner),
            _ => kind.clone(),
        };
        let holds = Holds::of_type(plain.name());
        let what = format!("a parameter of type {}", plain.name());
        encode(holds, &what, value)
    }

    /// A value for a column, which takes what it is declared to hold and keeps it as it is.
    pub(crate) fn for_column(column: &ColumnInfo, value: Value) -> SqlResult<Self> {
        if column.array && matches!(value, Value::List(_)) {
            let mut out = String::new();
            literal(&value, &column.name, &mut out)?;
            return Ok(Parameter::Text(out));
        }
        encode(column.holds, &column.name, value).map_err(|fault| {
            let start = format!("{} ", column.name);
            let message = fault.message.strip_prefix(&start).unwrap_or(&fault.message).to_string();
            fault.of_field(&column.name, message)
        })
    }

    /// The line of `COPY` in its text format (the manual's page of COPY, "Text Format").
    pub(crate) fn copy(&self, out: &mut Vec<u8>) {
        match self {
            Parameter::Null => out.extend_from_slice(b"\\N"),
            Parameter::Text(text) => {
                let mut rest = text.as_bytes();
                while let Some(at) =
                    rest.iter().position(|byte| matches!(byte, b'\\' | b'\n' | b'\r' | b'\t'))
                {
                    out.extend_from_slice(&rest[..at]);
                    out.extend_from_slice(match rest[at] {
                        b'\\' => b"\\\\",
                        b'\n' => b"\\n",
                        b'\r' => b"\\r",
                        _ => b"\\t",
                    });
                    rest = &rest[at + 1..];
                }
                out.extend_from_slice(rest);
            }
            Parameter::Bytes(bytes) => {
                out.extend_from_slice(b"\\\\x");
                hexadecimal(bytes, out);
            }
        }
    }
}

fn hexadecimal(bytes: &[u8], out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    for byte in bytes {
        out.extend_from_slice(&[HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
    }
}

/// Nothing is rounded, cut or converted behind the caller's back: a value that the type would
/// change is refused.
fn encode(holds: Holds, what: &str, value: Value) -> SqlResult<Parameter> {
    let text = |text: String| Ok(Parameter::Text(text));
    let refuse = |value: &Value| {
        let (wanted, given) = (holds.words(), described(value));
        Err(SqlFault::invalid(format!("{what} holds {wanted}, not {given}")))
    };
    match (holds, value) {
        (_, Value::Nil) => Ok(Parameter::Null),
        (Holds::Json, value) => document(what, &value),
        (Holds::Bool, Value::Bool(flag)) => text(flag.to_string()),
        (Holds::Bool, Value::Int(number @ (0 | 1))) => text((number == 1).to_string()),
        (Holds::Int, Value::Bool(flag)) => Ok(Parameter::int(flag.into())),
        (Holds::Int | Holds::Decimal, Value::Int(number)) => Ok(Parameter::int(number)),
        (Holds::Int | Holds::Decimal, Value::Float(number)) => match exact_integer(number) {
            Some(number) => Ok(Parameter::int(number)),
            None => refuse(&Value::Float(number)),
        },
        (Holds::Float, Value::Float(number)) if !number.is_nan() => text(float(number)),
        (Holds::Float, Value::Int(number)) if exact_integer(number as f64) == Some(number) => {
            text(float(number as f64))
        }
        (Holds::Decimal, Value::Big(digits)) => text(digits.into()),
        (Holds::Decimal, Value::Text(digits)) if is_decimal(&digits) => text(digits),
        (Holds::Moment, Value::Text(moment)) => match moment::parse(&moment) {
            Some(micros) => text(moment::moment(micros)),
            None => Err(SqlFault::invalid(format!(
                "{what} holds moments such as 2026-11-21T05:30:00Z, with at most six digits after \
                 the second"
            ))),
        },
        (Holds::Bytes, Value::Bytes(bytes)) => Ok(Parameter::Bytes(bytes)),
        (Holds::Text | Holds::Other, Value::Text(value)) => {
            if value.contains('\0') {
                return Err(SqlFault::invalid(format!(
                    "{what}: text in PostgreSQL cannot hold a NUL character; store it as bytes"
                )));
            }
            text(value)
        }
        (Holds::Other, Value::Int(number)) => Ok(Parameter::int(number)),
        (_, value) => refuse(&value),
    }
}

/// The text form of a float: the shortest digits that are read back as the same number.
pub(crate) fn float(number: f64) -> String {
    match number {
        f64::INFINITY => "Infinity".into(),
        f64::NEG_INFINITY => "-Infinity".into(),
        _ => format!("{number:e}"),
    }
}

/// A value as a JSON document: what cannot come back as it was is refused.
fn document(what: &str, value: &Value) -> SqlResult<Parameter> {
    check(what, value, 0)?;
    match String::from_utf8(json::text(value)) {
        Ok(text) => Ok(Parameter::Text(text)),
        Err(_) => Err(SqlFault::invalid(format!("{what} holds JSON, and this is none"))),
    }
}

/// How deep a document may be.
const DOCUMENT_DEPTH: usize = 128;

fn check(what: &str, value: &Value, depth: usize) -> SqlResult<()> {
    let refuse = |why: &str| Err(SqlFault::invalid(format!("{what} holds JSON, {why}")));
    if depth > DOCUMENT_DEPTH {
        return refuse("and this is nested too deeply");
    }
    match value {
        Value::Bytes(_) => refuse("which has no bytes; declare it as Bytes"),
        Value::Float(number) if !number.is_finite() => refuse("which has finite numbers only"),
        Value::Text(text) if text.contains('\0') => {
            refuse("whose text cannot hold a NUL character in PostgreSQL")
        }
        Value::List(values) => values.iter().try_for_each(|value| check(what, value, depth + 1)),
        Value::Record(fields) => fields.iter().try_for_each(|(name, value)| {
            if name.contains('\0') {
                return refuse("whose names cannot hold a NUL character in PostgreSQL");
            }
            check(what, value, depth + 1)
        }),
        _ => Ok(()),
    }
}

/// A list for a parameter that is an array.
fn array(value: Value, inner: &Type) -> SqlResult<Parameter> {
    if value.is_nil() {
        return Ok(Parameter::Null);
    }
    let what = format!("a parameter that is an array of {}", inner.name());
    let mut out = String::new();
    match value {
        Value::List(_) => literal(&value, &what, &mut out)?,
        // Written as PostgreSQL writes arrays: `{1,2}`.
        Value::Text(text) if !text.contains('\0') => out = text,
        other => {
            return Err(SqlFault::invalid(format!("{what} is a list, not {}", other.kind_name())));
        }
    }
    Ok(Parameter::Text(out))
}

/// The text form of an array: elements in quotes, with backslashes before quotes and backslashes.
fn literal(value: &Value, what: &str, out: &mut String) -> SqlResult<()> {
    let Value::List(values) = value else { return element(value, what, out) };
    out.push('{');
    for (index, value) in values.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        literal(value, what, out)?;
    }
    out.push('}');
    Ok(())
}

fn element(value: &Value, what: &str, out: &mut String) -> SqlResult<()> {
    let text = match value {
        Value::Nil => {
            out.push_str("NULL");
            return Ok(());
        }
        Value::Bool(flag) => flag.to_string(),
        Value::Int(number) => number.to_string(),
        Value::Big(digits) => digits.to_string(),
        Value::Float(number) => float(*number),
        Value::Text(text) if !text.contains('\0') => text.clone(),
        Value::Bytes(bytes) => {
            let mut hex = b"\\x".to_vec();
            hexadecimal(bytes, &mut hex);
            String::from_utf8_lossy(&hex).into_owned()
        }
        other => {
            let given = described(other);
            return Err(SqlFault::invalid(format!("{what}: an array cannot hold {given}")));
        }
    };
    out.push('"');
    for character in text.chars() {
        if matches!(character, '"' | '\\') {
            out.push('\\');
        }
        out.push(character);
    }
    out.push('"');
    Ok(())
}

fn described(value: &Value) -> String {
    let mut text = String::new();
    let _ = match value {
        Value::Bool(flag) => write!(text, "{flag}"),
        Value::Int(number) => write!(text, "the integer {number}"),
        Value::Big(_) => write!(text, "an integer beyond 64 bits"),
        Value::Float(number) => write!(text, "the number {number}"),
        other => write!(text, "{}", other.kind_name()),
    };
    text
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn values_are_exact_or_refused() {
        let text = |holds, value| match encode(holds, "n", value) {
            Ok(Parameter::Text(text)) => Some(text),
            _ => None,
        };
        assert_eq!(text(Holds::Int, Value::Int(i64::MIN)).unwrap(), i64::MIN.to_string());
        assert_eq!(text(Holds::Int, Value::Float(3.0)).unwrap(), "3");
        assert_eq!(text(Holds::Int, Value::Float(3.5)), None);
        assert_eq!(text(Holds::Int, Value::Text("3".into())), None);
        assert_eq!(text(Holds::Float, Value::Int((1 << 53) + 1)), None);
        assert_eq!(text(Holds::Float, Value::Float(f64::NAN)), None);
        assert_eq!(text(Holds::Decimal, Value::Text("12.30".into())).unwrap(), "12.30");
        assert_eq!(text(Holds::Decimal, Value::Float(12.3)), None);
        assert_eq!(text(Holds::Decimal, Value::Text("1e3".into())), None);
        assert_eq!(text(Holds::Text, Value::Text("a\0".into())), None);
        assert_eq!(text(Holds::Json, Value::Text("a".into())).unwrap(), "\"a\"");
        assert_eq!(text(Holds::Json, Value::List(vec![Value::Float(f64::INFINITY)])), None);
        assert_eq!(text(Holds::Moment, Value::Text("yesterday".into())), None);
    }

    #[test]
    fn arrays_and_lines_are_escaped() {
        let list = Value::List(vec!["a\"b\\,{}".into(), Value::Nil, Value::Int(7)]);
        let Parameter::Text(text) = array(list, &Type::TEXT).unwrap() else { panic!() };
        assert_eq!(text, r#"{"a\"b\\,{}",NULL,"7"}"#);
        let mut out = Vec::new();
        Parameter::text("a\tb\\N\n").copy(&mut out);
        Parameter::Bytes(vec![0, 255].into()).copy(&mut out);
        Parameter::Null.copy(&mut out);
        assert_eq!(out, b"a\\tb\\\\N\\n\\\\x00ff\\N");
    }
}
