//! Sizes as texts, and integers beyond 2^53: two's complement bytes, least significant first, in a text.

use crate::isolate::Isolate;
use crate::natives::call::{Arguments, Given, Native, Reply};
use num_bigint::{BigInt, Sign};
use runnel_store::{Error, Kind};
use runnel_text::size;

pub(crate) const NATIVES: [(&str, Native); 8] = [
    ("big", big),
    ("bigFromText", from_text),
    ("bigToText", to_text),
    ("bigFromNumber", from_number),
    ("bigToNumber", to_number),
    ("parseSize", parse_size),
    ("sizeText", size_text),
    ("sizeHint", size_hint),
];

/// Bits of the largest integer: beyond it an error, instead of a process without memory.
const MOST_BITS: u64 = 8_000_000;

fn read(arguments: Arguments, at: std::os::raw::c_int) -> BigInt {
    BigInt::from_signed_bytes_le(arguments.bytes(at))
}

fn give(value: &BigInt) -> Reply {
    Reply::Now(Given::Bytes(value.to_signed_bytes_le().into()))
}

fn too_large() -> Reply {
    let message = format!("the result has more than {MOST_BITS} bits");
    Reply::Failed(Error::new(Kind::TooLarge, message))
}

/// Division that rounds down, and its remainder, which has the sign of the divisor.
fn divide(left: &BigInt, right: &BigInt) -> (BigInt, BigInt) {
    let (mut quotient, mut remainder) = (left / right, left % right);
    let crosses = remainder.sign() != Sign::NoSign && remainder.sign() != right.sign();
    if crosses {
        quotient -= 1;
        remainder += right;
    }
    (quotient, remainder)
}

/// `(operation, left, right)`
fn big(_: &Isolate, arguments: Arguments) -> Reply {
    let operation = arguments.text(1);
    let (left, right) = (read(arguments, 2), read(arguments, 3));
    match operation.as_str() {
        "add" => give(&(left + right)),
        "sub" => give(&(left - right)),
        "mul" if left.bits() + right.bits() > MOST_BITS => too_large(),
        "mul" => give(&(left * right)),
        "cmp" => Reply::Now(Given::Number(left.cmp(&right) as i8 as f64)),
        "div" | "mod" if right.sign() == Sign::NoSign => {
            Reply::Failed(Error::new(Kind::Invalid, "division by zero"))
        }
        "div" => give(&divide(&left, &right).0),
        "mod" => give(&divide(&left, &right).1),
        "pow" => match u32::try_from(&right) {
            Ok(power) if left.bits().saturating_mul(power.into()) <= MOST_BITS => {
                give(&left.pow(power))
            }
            _ => too_large(),
        },
        _ => Reply::Failed(Error::new(Kind::Invalid, format!("no operation `{operation}`"))),
    }
}

fn from_text(_: &Isolate, arguments: Arguments) -> Reply {
    match arguments.text(1).parse::<BigInt>() {
        Ok(value) if value.bits() <= MOST_BITS => give(&value),
        Ok(_) => too_large(),
        Err(_) => Reply::Failed(Error::new(Kind::Invalid, "this is no integer")),
    }
}

fn to_text(_: &Isolate, arguments: Arguments) -> Reply {
    Reply::Now(Given::Text(read(arguments, 1).to_string()))
}

fn from_number(_: &Isolate, arguments: Arguments) -> Reply {
    let number = arguments.number(1).trunc();
    if !number.is_finite() {
        return Reply::Failed(Error::new(Kind::Invalid, "this number is not finite"));
    }
    // The decimal text of a double without fraction is exact.
    match format!("{number:.0}").parse::<BigInt>() {
        Ok(value) => give(&value),
        Err(_) => Reply::Failed(Error::new(Kind::Invalid, "this is no integer")),
    }
}

fn to_number(_: &Isolate, arguments: Arguments) -> Reply {
    let number = read(arguments, 1).to_string().parse().unwrap_or(f64::NAN);
    Reply::Now(Given::Number(number))
}

/// `(text)`: the bytes of a size such as `64M`; nil for another text.
fn parse_size(_: &Isolate, arguments: Arguments) -> Reply {
    let bytes = size::parse(&arguments.text(1));
    Reply::Now(bytes.map_or(Given::Nil, |bytes| Given::Number(bytes as f64)))
}

/// `(bytes)`: the size in the largest unit that divides it.
fn size_text(_: &Isolate, arguments: Arguments) -> Reply {
    Reply::Now(Given::Text(size::shown(arguments.number(1) as u64)))
}

/// `(number)`: what to write in place of a number without a unit.
fn size_hint(_: &Isolate, arguments: Arguments) -> Reply {
    Reply::Now(Given::Text(size::unit_hint(arguments.number(1))))
}
