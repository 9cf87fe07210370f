//! Kinds of tables of the program, its numbers, and who made a value.

use crate::engine::stack::{Stack, Type};
use num_bigint::{BigInt, Sign};
use runnel_store::Value;
use runnel_store::json::write_int;
use runnel_text::moment::{SECOND, rfc3339};
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

/// The date at an index in RFC 3339, rounded to the microsecond.
pub(crate) fn date_text(stack: Stack, index: c_int) -> String {
    stack.field(index, "_time");
    let seconds = stack.number(-1);
    stack.pop(1);
    rfc3339((seconds * SECOND as f64 + 0.5).floor() as i64)
}
