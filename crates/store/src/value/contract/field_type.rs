//! Plain types: of the columns of tables, and of the fields of a contract.

use crate::Value;

/// The types that a field can be declared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldType {
    /// Not declared: any value.
    Any,
    /// An integer.
    Int,
    /// A floating-point number.
    Float,
    /// A boolean.
    Bool,
    /// Text.
    Text,
    /// Bytes.
    Bytes,
    /// An exact decimal number, carried as text: `12.30` keeps its last digit.
    Decimal,
    /// A moment in time, carried as text: RFC 3339, such as `2026-11-21T05:30:00Z`.
    Date,
    /// A list or a record, as JSON writes it.
    Json,
}

impl FieldType {
    /// The type of a name in a program, such as `int`.
    pub fn named(name: &str) -> Option<FieldType> {
        Some(match name.to_ascii_lowercase().as_str() {
            "int" | "integer" | "long" | "nsinteger" => FieldType::Int,
            "float" | "double" | "number" => FieldType::Float,
            "bool" | "boolean" => FieldType::Bool,
            "string" | "text" | "nsstring" | "email" | "url" | "uuid" | "time" => FieldType::Text,
            "data" | "bytes" | "nsdata" => FieldType::Bytes,
            "decimal" | "nsdecimalnumber" => FieldType::Decimal,
            "date" | "datetime" | "moment" | "nsdate" => FieldType::Date,
            "json" => FieldType::Json,
            _ => return None,
        })
    }

    /// Its name in programs and messages.
    pub fn name(self) -> &'static str {
        match self {
            FieldType::Any => "any",
            FieldType::Int => "int",
            FieldType::Float => "float",
            FieldType::Bool => "bool",
            FieldType::Text => "string",
            FieldType::Bytes => "bytes",
            FieldType::Decimal => "decimal",
            FieldType::Date => "date",
            FieldType::Json => "json",
        }
    }

    /// What its values are, in words.
    pub fn words(self) -> &'static str {
        match self {
            FieldType::Any => "any value",
            FieldType::Int => "an integer",
            FieldType::Float => "a number",
            FieldType::Bool => "true or false",
            FieldType::Text => "text",
            FieldType::Bytes => "bytes, which JSON cannot write",
            FieldType::Decimal => "a decimal number, written as text such as \"12.30\"",
            FieldType::Date => "a date such as \"2026-11-21T05:30:00Z\"",
            FieldType::Json => "an array or an object",
        }
    }

    /// Whether a value that is not nil is one of this type. Nothing is converted, except that an
    /// integer is a float and a decimal number too.
    pub fn admits(self, value: &Value) -> bool {
        match (self, value) {
            (FieldType::Any | FieldType::Json, _)
            | (FieldType::Int, Value::Int(_) | Value::Big(_))
            | (FieldType::Float, Value::Int(_) | Value::Big(_))
            | (FieldType::Bool, Value::Bool(_))
            | (FieldType::Text, Value::Text(_))
            | (FieldType::Bytes, Value::Bytes(_))
            | (FieldType::Decimal, Value::Int(_) | Value::Big(_)) => true,
            // JSON writes an integer with a fraction of zero, too.
            (FieldType::Int, Value::Float(number)) => number.fract() == 0.0,
            (FieldType::Decimal, Value::Float(number)) => whole_number(*number).is_some(),
            (FieldType::Float, Value::Float(number)) => number.is_finite(),
            (FieldType::Decimal, Value::Text(text)) => is_decimal(text),
            (FieldType::Date, Value::Text(text)) => is_date(text),
            _ => false,
        }
    }
}

/// The integer that a float is, as long as floats are exact.
fn whole_number(number: f64) -> Option<i64> {
    let exact = number.fract() == 0.0 && number.abs() < 9_007_199_254_740_992.0;
    exact.then_some(number as i64)
}

/// Whether a text is a decimal number: digits with a sign and a point at most.
fn is_decimal(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    number(whole) && number(fraction)
}

/// Whether a text begins as RFC 3339 writes dates: `2026-11-21`, and a time behind it. What reads
/// the date checks the rest.
fn is_date(text: &str) -> bool {
    let digits = |from: usize, to: usize| {
        text.get(from..to).is_some_and(|part| part.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let number = |from: usize, to: usize| text.get(from..to).and_then(|part| part.parse().ok());
    let within =
        |from: usize, largest: u32| number(from, from + 2).is_some_and(|n: u32| n <= largest);
    let dashes = text.get(4..5) == Some("-") && text.get(7..8) == Some("-");
    let day = digits(0, 4) && digits(5, 7) && digits(8, 10) && within(5, 12) && within(8, 31);
    let time = match text.get(10..) {
        Some("") => true,
        Some(rest) => {
            let colons = text.get(13..14) == Some(":");
            rest.starts_with(['T', 't', ' ']) && colons && within(11, 23) && within(14, 59)
        }
        None => false,
    };
    dashes && day && time && text.len() <= 40
}
