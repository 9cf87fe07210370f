//! One value of a row, from the binary form in which PostgreSQL sends it.
//!
//! The forms are those of the `…send` functions of the server's types. Only arrays and records
//! become something on the heap.

use crate::postgres::fault::{SqlFault, SqlResult};
use crate::postgres::value::decimal;
use crate::postgres::value::moment;
use bytes::Bytes;
use runnel_store::{Kind, Value, json};
use std::borrow::Cow;
use std::error::Error;
use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, Kind as TypeKind, Type};

/// A value as it will be shown.
pub(crate) enum DecodedValue<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(Cow<'a, str>),
    Bytes(&'a [u8]),
    /// JSON text, written as it is.
    Json(&'a str),
    List(Vec<DecodedValue<'a>>),
    Record(Vec<(&'a str, DecodedValue<'a>)>),
}

/// The bytes of a cell as they came.
pub(crate) struct Raw<'a>(pub(crate) Option<&'a [u8]>);

impl<'a> FromSql<'a> for Raw<'a> {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Raw(Some(raw)))
    }

    fn from_sql_null(_: &Type) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Raw(None))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

/// The bytes of a cell; `None` for NULL.
pub(crate) fn raw(row: &Row, index: usize) -> Option<&[u8]> {
    row.try_get::<_, Raw<'_>>(index).ok().and_then(|raw| raw.0)
}

/// The cell of a row.
pub(crate) fn cell(row: &Row, index: usize) -> SqlResult<DecodedValue<'_>> {
    let Some(bytes) = raw(row, index) else { return Ok(DecodedValue::Null) };
    let column = &row.columns()[index];
    match read(column.type_(), bytes, 0) {
        Read::Good(shown) => Ok(shown),
        Read::Unknown => {
            let (name, kind) = (column.name(), column.type_().name());
            Err(SqlFault::new(
                Kind::Unsupported,
                format!("{name} is of the type {kind}; select {name}::text instead"),
            ))
        }
        Read::Malformed => {
            let name = column.name();
            let message =
                format!("PostgreSQL sent something that is no value of the column {name}");
            Err(SqlFault::new(Kind::Failed, message))
        }
    }
}

/// Whether values of a type can be shown.
pub(crate) fn is_known(kind: &Type) -> bool {
    match kind.kind() {
        TypeKind::Domain(inner) | TypeKind::Array(inner) => is_known(inner),
        TypeKind::Enum(_) => true,
        TypeKind::Composite(fields) => fields.iter().all(|field| is_known(field.type_())),
        _ => KNOWN.contains(&kind.name()),
    }
}

const KNOWN: [&str; 23] = [
    "bool",
    "int2",
    "int4",
    "int8",
    "oid",
    "float4",
    "float8",
    "numeric",
    "text",
    "varchar",
    "bpchar",
    "name",
    "citext",
    "xml",
    "unknown",
    "bytea",
    "uuid",
    "json",
    "jsonb",
    "date",
    "time",
    "timestamp",
    "timestamptz",
];

enum Read<'a> {
    Good(DecodedValue<'a>),
    Unknown,
    Malformed,
}

/// Arrays in records in arrays: types can be nested, within reason.
const NESTING: usize = 32;

fn read<'a>(kind: &'a Type, bytes: &'a [u8], depth: usize) -> Read<'a> {
    if depth > NESTING {
        return Read::Unknown;
    }
    let found = match kind.kind() {
        TypeKind::Domain(inner) => return read(inner, bytes, depth + 1),
        TypeKind::Array(inner) => return array(inner, bytes, depth),
        TypeKind::Composite(fields) => return record(fields, bytes, depth),
        TypeKind::Enum(_) => text(bytes),
        _ => match kind.name() {
            "void" => Some(DecodedValue::Null),
            name if !KNOWN.contains(&name) => return Read::Unknown,
            name => scalar(name, bytes),
        },
    };
    found.map_or(Read::Malformed, Read::Good)
}

fn scalar<'a>(name: &str, bytes: &'a [u8]) -> Option<DecodedValue<'a>> {
    let eight = || Some(i64::from_be_bytes(bytes.try_into().ok()?));
    let four = || Some(i32::from_be_bytes(bytes.try_into().ok()?));
    let owned = |text: String| DecodedValue::Text(Cow::Owned(text));
    Some(match name {
        "bool" => DecodedValue::Bool(*bytes.first()? != 0),
        "int8" => DecodedValue::Int(eight()?),
        "int4" => DecodedValue::Int(four()?.into()),
        "int2" => DecodedValue::Int(i16::from_be_bytes(bytes.try_into().ok()?).into()),
        "oid" => DecodedValue::Int((four()? as u32).into()),
        "float8" => DecodedValue::Float(f64::from_bits(eight()? as u64)),
        // The shortest digits of the small float, not those of its exact value.
        "float4" => DecodedValue::Float(f32::from_bits(four()? as u32).to_string().parse().ok()?),
        "numeric" => owned(decimal::text(bytes)?),
        "bytea" => DecodedValue::Bytes(bytes),
        "json" => DecodedValue::Json(std::str::from_utf8(bytes).ok()?),
        // A version before the text.
        "jsonb" => match bytes.split_first()? {
            (1, text) => DecodedValue::Json(std::str::from_utf8(text).ok()?),
            _ => return None,
        },
        "uuid" => owned(uuid(bytes)?),
        "date" => owned(moment::date(four()?)),
        "time" => owned(moment::time(eight()?)),
        "timestamp" => owned(moment::timestamp(eight()?)),
        "timestamptz" => owned(moment::moment(eight()?)),
        _ => return text(bytes),
    })
}

fn text(bytes: &[u8]) -> Option<DecodedValue<'_>> {
    Some(DecodedValue::Text(Cow::Borrowed(std::str::from_utf8(bytes).ok()?)))
}

fn uuid(bytes: &[u8]) -> Option<String> {
    let bytes: [u8; 16] = bytes.try_into().ok()?;
    let mut text = format!("{:032x}", u128::from_be_bytes(bytes));
    for at in [20, 16, 12, 8] {
        text.insert(at, '-');
    }
    Some(text)
}

/// Takes the bytes of one value, which its length stands before.
fn take<'a>(rest: &mut &'a [u8]) -> Option<Option<&'a [u8]>> {
    let length = word(rest)?;
    if length < 0 {
        return Some(None);
    }
    let (bytes, after) = rest.split_at_checked(usize::try_from(length).ok()?)?;
    *rest = after;
    Some(Some(bytes))
}

fn word(rest: &mut &[u8]) -> Option<i32> {
    let (head, after) = rest.split_first_chunk::<4>()?;
    *rest = after;
    Some(i32::from_be_bytes(*head))
}

fn array<'a>(inner: &'a Type, bytes: &'a [u8], depth: usize) -> Read<'a> {
    let mut rest = bytes;
    let Some(sizes) = dimensions(&mut rest) else { return Read::Malformed };
    if sizes.is_empty() {
        return Read::Good(DecodedValue::List(Vec::new()));
    }
    level(inner, &sizes, &mut rest, depth)
}

/// The sizes of an array: the number of dimensions, a flag, the type of the elements, and a size
/// and a lower bound for each dimension.
fn dimensions(rest: &mut &[u8]) -> Option<Vec<usize>> {
    let count = usize::try_from(word(rest)?).ok().filter(|count| *count <= 6)?;
    let (_flag, _kind) = (word(rest)?, word(rest)?);
    let mut sizes = Vec::with_capacity(count);
    for _ in 0..count {
        sizes.push(usize::try_from(word(rest)?).ok()?);
        let _from = word(rest)?;
    }
    Some(sizes)
}

fn level<'a>(inner: &'a Type, sizes: &[usize], rest: &mut &'a [u8], depth: usize) -> Read<'a> {
    let Some((size, deeper)) = sizes.split_first() else { return Read::Malformed };
    let mut list = Vec::new();
    for _ in 0..*size {
        let shown = if deeper.is_empty() {
            match take(rest) {
                None => Read::Malformed,
                Some(None) => Read::Good(DecodedValue::Null),
                Some(Some(bytes)) => read(inner, bytes, depth + 1),
            }
        } else {
            level(inner, deeper, rest, depth + 1)
        };
        match shown {
            Read::Good(shown) => list.push(shown),
            other => return other,
        }
    }
    Read::Good(DecodedValue::List(list))
}

fn record<'a>(
    fields: &'a [tokio_postgres::types::Field],
    bytes: &'a [u8],
    depth: usize,
) -> Read<'a> {
    let mut rest = bytes;
    let mut found = Vec::with_capacity(fields.len());
    if word(&mut rest) != i32::try_from(fields.len()).ok() {
        return Read::Malformed;
    }
    for field in fields {
        let Some(_kind) = word(&mut rest) else { return Read::Malformed };
        let shown = match take(&mut rest) {
            None => return Read::Malformed,
            Some(None) => DecodedValue::Null,
            Some(Some(bytes)) => match read(field.type_(), bytes, depth + 1) {
                Read::Good(shown) => shown,
                other => return other,
            },
        };
        found.push((field.name(), shown));
    }
    Read::Good(DecodedValue::Record(found))
}

impl DecodedValue<'_> {
    /// Appends it as JSON.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        match self {
            DecodedValue::Null => out.extend_from_slice(b"null"),
            DecodedValue::Bool(true) => out.extend_from_slice(b"true"),
            DecodedValue::Bool(false) => out.extend_from_slice(b"false"),
            DecodedValue::Int(number) => json::write_int(*number, out),
            DecodedValue::Float(number) => json::write_float(*number, out),
            DecodedValue::Text(text) => json::write_text(text, out),
            DecodedValue::Bytes(bytes) => json::write_bytes(bytes, out),
            DecodedValue::Json(text) => out.extend_from_slice(text.as_bytes()),
            DecodedValue::List(list) => {
                out.push(b'[');
                for (index, shown) in list.iter().enumerate() {
                    if index > 0 {
                        out.push(b',');
                    }
                    shown.write(out);
                }
                out.push(b']');
            }
            DecodedValue::Record(fields) => {
                out.push(b'{');
                for (index, (name, shown)) in fields.iter().enumerate() {
                    if index > 0 {
                        out.push(b',');
                    }
                    json::write_text(name, out);
                    out.push(b':');
                    shown.write(out);
                }
                out.push(b'}');
            }
        }
    }

    /// Appends it as a cell of CSV: nothing for NULL, JSON for what has structure.
    pub(crate) fn write_csv(&self, out: &mut Vec<u8>) {
        match self {
            DecodedValue::Null => {}
            DecodedValue::Float(number) if !number.is_finite() => {}
            DecodedValue::Text(text) => crate::rows::csv::text(text.as_bytes(), out),
            DecodedValue::Json(text) => crate::rows::csv::text(text.as_bytes(), out),
            DecodedValue::Bytes(bytes) => {
                // The JSON writer's base64 without its quotes.
                let start = out.len();
                json::write_bytes(bytes, out);
                out.pop();
                out.remove(start);
            }
            DecodedValue::List(_) | DecodedValue::Record(_) => {
                let mut text = Vec::new();
                self.write(&mut text);
                crate::rows::csv::text(&text, out);
            }
            plain => plain.write(out),
        }
    }

    /// It as plain data.
    pub(crate) fn value(self) -> Value {
        match self {
            DecodedValue::Null => Value::Nil,
            DecodedValue::Bool(flag) => Value::Bool(flag),
            DecodedValue::Int(number) => Value::Int(number),
            DecodedValue::Float(number) => Value::Float(number),
            DecodedValue::Text(text) => Value::Text(text.into_owned()),
            DecodedValue::Bytes(bytes) => Value::Bytes(Bytes::copy_from_slice(bytes)),
            // What the server takes as JSON and we do not (too deep) stays text.
            DecodedValue::Json(text) => {
                json::parse(text.as_bytes()).unwrap_or_else(|_| Value::Text(text.to_string()))
            }
            DecodedValue::List(list) => {
                Value::List(list.into_iter().map(DecodedValue::value).collect())
            }
            DecodedValue::Record(fields) => Value::record(
                fields.into_iter().map(|(name, shown)| (name.to_string(), shown.value())),
            ),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn json(kind: &Type, bytes: &[u8]) -> Option<String> {
        let Read::Good(shown) = read(kind, bytes, 0) else { return None };
        let mut out = Vec::new();
        shown.write(&mut out);
        Some(String::from_utf8(out).unwrap())
    }

    #[test]
    fn scalars() {
        assert_eq!(json(&Type::INT8, &i64::MIN.to_be_bytes()).unwrap(), i64::MIN.to_string());
        assert_eq!(json(&Type::FLOAT4, &0.1_f32.to_be_bytes()).unwrap(), "0.1");
        assert_eq!(json(&Type::JSONB, b"\x01{\"a\": 1}").unwrap(), "{\"a\": 1}");
        assert_eq!(
            json(&Type::UUID, &[0x11; 16]).unwrap(),
            "\"11111111-1111-1111-1111-111111111111\""
        );
        assert_eq!(json(&Type::BYTEA, &[0, 255]).unwrap(), "\"AP8=\"");
    }

    #[test]
    fn arrays_of_two_dimensions() {
        let words = [2, 1, 23, 2, 1, 1, 1, 4, 7, -1];
        let bytes: Vec<u8> = words.iter().flat_map(|word: &i32| word.to_be_bytes()).collect();
        assert_eq!(json(&Type::INT4_ARRAY, &bytes).unwrap(), "[[7],[null]]");
        let empty: Vec<u8> = [0, 0, 23].iter().flat_map(|word: &i32| word.to_be_bytes()).collect();
        assert_eq!(json(&Type::INT4_ARRAY, &empty).unwrap(), "[]");
    }

    #[test]
    fn malformed_bytes_are_no_panic() {
        for kind in [Type::INT8, Type::INT4_ARRAY, Type::NUMERIC, Type::UUID, Type::JSONB] {
            for bytes in [&[][..], &[255; 7], &[127; 40]] {
                assert_eq!(json(&kind, bytes), None, "{kind}");
            }
        }
        assert!(json(&Type::INTERVAL, &[0; 16]).is_none() && !is_known(&Type::INTERVAL));
    }
}
