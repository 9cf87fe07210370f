//! Kinds of tables of the program, its numbers, and who made a value.

use crate::engine::stack::{Stack, Type};
use num_bigint::{BigInt, Sign};
use runnel_store::Value;
use runnel_store::json::write_int;
use runnel_text::moment::{CalendarTime, SECOND, rfc3339};
use std::os::raw::c_int;

/// Levels of arrays and dictionaries that are converted.
pub(crate) const DEPTH: usize = 128;
/// Integers up to here are exact as numbers of the program.
pub(crate) const EXACT: f64 = 9_007_199_254_740_991.0;

/// What the metatable of a table says about it: its field `_kind`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum TableKind {
    Array,
    Dictionary,
    Big,
    Data,
    Null,
    Object,
    Element,
    Class,
    /// A moment in time.
    Date,
    /// An exact decimal number.
    Decimal,
    /// An object that content holds as the text of its field `_text`.
    Text,
    /// A number of bytes with its unit.
    Size,
}

pub(crate) fn table_kind(stack: Stack, index: c_int) -> TableKind {
    if !stack.metatable(index) {
        return TableKind::Object;
    }
    stack.field(-1, "_kind");
    let number = stack.number(-1) as i32;
    stack.pop(2);
    match number {
        1 => TableKind::Array,
        2 => TableKind::Dictionary,
        3 => TableKind::Big,
        4 => TableKind::Data,
        5 => TableKind::Null,
        6 => TableKind::Element,
        7 => TableKind::Class,
        8 => TableKind::Date,
        9 => TableKind::Decimal,
        10 => TableKind::Text,
        11 => TableKind::Size,
        _ => TableKind::Object,
    }
}

/// Who made a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Program,
    /// A client of a server: its arrays and dictionaries carry the mark `_sent`.
    Client,
}

/// Whether a value carries the mark of a client.
pub(crate) fn is_sent(stack: Stack, index: c_int) -> bool {
    if stack.kind(index) != Type::Table {
        return false;
    }
    stack.field(index, "_sent");
    let sent = stack.kind(-1) != Type::Nil;
    stack.pop(1);
    sent
}

/// A number of the program as plain data: an integer when it is one.
pub(crate) fn number(value: f64) -> Value {
    if value.fract() == 0.0 && value.abs() <= EXACT {
        Value::Int(value as i64)
    } else {
        Value::Float(value)
    }
}

/// A number as JSON and as text: integers without a fraction, floats as short as they come back
/// the same, NaN and infinities as `null`.
pub(crate) fn write_number(value: f64, out: &mut Vec<u8>) {
    if value.fract() == 0.0 && value.abs() <= EXACT {
        write_int(value as i64, out);
    } else {
        runnel_store::json::write(&Value::Float(value), out);
    }
}

pub(crate) fn number_text(value: f64) -> String {
    let mut out = Vec::new();
    write_number(value, &mut out);
    String::from_utf8(out).unwrap_or_default()
}

/// The digits of the decimal number at an index.
pub(crate) fn decimal_text(stack: Stack, index: c_int) -> String {
    stack.field(index, "_scale");
    let scale = stack.number(-1) as usize;
    stack.pop(1);
    stack.field(index, "_units");
    let units = match stack.kind(-1) {
        Type::Number => BigInt::from(stack.number(-1) as i64),
        _ => {
            stack.field(-1, "_bytes");
            let mut units = BigInt::ZERO;
            stack.with_bytes(-1, |bytes| units = BigInt::from_signed_bytes_le(bytes));
            stack.pop(1);
            units
        }
    };
    stack.pop(1);
    let digits = format!("{:0>width$}", units.magnitude().to_string(), width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    let sign = if units.sign() == Sign::Minus { "-" } else { "" };
    let point = if scale > 0 { "." } else { "" };
    format!("{sign}{whole}{point}{fraction}")
}

/// A date of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DateParts {
    seconds: i64,
    nanos: i64,
    /// Seconds ahead of UTC, in a zone.
    offset: Option<i64>,
}

impl DateParts {
    /// The date at an index.
    pub(crate) fn read(stack: Stack, index: c_int) -> DateParts {
        let number = |name: &str| {
            stack.field(index, name);
            let number = (stack.kind(-1) == Type::Number).then(|| stack.number(-1) as i64);
            stack.pop(1);
            number
        };
        let (seconds, nanos) = (number("_time"), number("_nanos"));
        DateParts {
            seconds: seconds.unwrap_or_default(),
            nanos: nanos.unwrap_or_default(),
            offset: number("_offset"),
        }
    }

    /// RFC 3339 with all digits, and the offset of its zone.
    pub(crate) fn text(self) -> String {
        let time = CalendarTime::from_seconds(self.seconds + self.offset.unwrap_or_default());
        let fraction = match self.nanos {
            0 => String::new(),
            nanos if nanos % 1_000_000 == 0 => format!(".{:03}", nanos / 1_000_000),
            nanos if nanos % 1000 == 0 => format!(".{:06}", nanos / 1000),
            nanos => format!(".{nanos:09}"),
        };
        let zone = self.offset.map_or_else(|| "Z".to_owned(), offset_text);
        format!("{}T{}{fraction}{zone}", time.date(), time.time())
    }

    /// RFC 3339 in UTC, rounded to the microsecond, as stores keep it.
    pub(crate) fn stored(self) -> String {
        rfc3339(self.seconds * SECOND + (self.nanos + 500) / 1000)
    }
}

/// `+02:00`
fn offset_text(offset: i64) -> String {
    let minutes = (offset.abs() + 30) / 60;
    let sign = if offset < 0 { '-' } else { '+' };
    format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_has_all_its_digits_as_json_and_microseconds_in_a_store() {
        let date = |seconds, nanos, offset| DateParts { seconds, nanos, offset };
        assert_eq!(date(0, 0, None).text(), "1970-01-01T00:00:00Z");
        assert_eq!(date(0, 1, Some(3600)).text(), "1970-01-01T01:00:00.000000001+01:00");
        assert_eq!(date(0, 1500, Some(-34_200)).stored(), "1970-01-01T00:00:00.000002Z");
        assert_eq!(date(0, 0, Some(-34_200)).text(), "1969-12-31T14:30:00-09:30");
        assert_eq!(date(-1, 500_000_000, None).text(), "1969-12-31T23:59:59.500Z");
    }
}
