//! Identifiers of documents, and their conversion from the values of a source.

use crate::format::digits::SHORT;
use crate::format::json;
use std::fmt;
use std::sync::Arc;

/// The identifier of a document.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Id {
    /// A number.
    Integer(i64),
    /// A text, exactly as delivered.
    Text(Arc<str>),
}

impl fmt::Display for Id {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Id::Integer(number) => write!(formatter, "{number}"),
            Id::Text(text) => formatter.write_str(text),
        }
    }
}

/// The format of the identifiers of an index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeyFormat {
    /// Integers: the leading digits of a text, or 0 without any.
    #[default]
    Integer,
    /// Texts.
    Text,
}

impl KeyFormat {
    /// The identifier in this format.
    pub fn apply(self, id: Id) -> Id {
        match (self, id) {
            (KeyFormat::Integer, Id::Text(text)) => Id::Integer(leading_integer(&text)),
            (KeyFormat::Text, Id::Integer(number)) => Id::Text(number.to_string().into()),
            (_, id) => id,
        }
    }
}

/// Appends identifiers as JSON, separated by commas.
///
/// An answer consists mostly of identifiers, so a stack buffer collects numbers, three digits in
/// one step, and one copy moves them to the output.
pub(crate) fn write_list(ids: &[Id], out: &mut Vec<u8>) {
    let start = out.len();
    let mut buffer = Digits { bytes: [0; DIGITS], used: 0 };
    for id in ids {
        match id {
            Id::Integer(number @ 0..1_000_000) => buffer.push_short(*number as usize),
            other => {
                buffer.flush(out);
                out.push(b',');
                match other {
                    Id::Integer(number) => {
                        out.extend_from_slice(itoa::Buffer::new().format(*number).as_bytes());
                    }
                    Id::Text(text) => json::write_string(text, out),
                }
            }
        }
        if buffer.used > DIGITS - LONGEST {
            buffer.flush(out);
        }
    }
    buffer.flush(out);
    // Every identifier follows a comma, also the first.
    if out.len() > start {
        out.remove(start);
    }
}

/// The size of the buffer.
const DIGITS: usize = 128;

/// The longest addition: a comma, twice three digits, and one byte written in excess.
const LONGEST: usize = 8;

/// A buffer of digits.
struct Digits {
    bytes: [u8; DIGITS],
    used: usize,
}

impl Digits {
    /// Appends a comma and a number below 1,000,000.
    fn push_short(&mut self, number: usize) {
        let thousands = number / 1_000;
        let first = &SHORT[if thousands > 0 { thousands } else { number } % 1_000];
        if let Some(place) = self.bytes[self.used..].first_chunk_mut() {
            *place = first.text;
        }
        self.used += usize::from(first.length);
        if thousands > 0 {
            if let Some(place) = self.bytes[self.used..].first_chunk_mut() {
                *place = SHORT[number % 1_000].padded;
            }
            self.used += 3;
        }
    }

    fn flush(&mut self, out: &mut Vec<u8>) {
        if self.used == 0 {
            return;
        }
        out.extend_from_slice(&self.bytes[..self.used]);
        self.used = 0;
    }
}

impl From<i64> for Id {
    fn from(number: i64) -> Id {
        Id::Integer(number)
    }
}

impl From<i32> for Id {
    fn from(number: i32) -> Id {
        Id::Integer(i64::from(number))
    }
}

impl From<&str> for Id {
    fn from(text: &str) -> Id {
        Id::Text(text.into())
    }
}

impl From<String> for Id {
    fn from(text: String) -> Id {
        Id::Text(text.into())
    }
}

/// The integer at the start of a text: white space, a sign, digits with single underscores between
/// them. 0 without digits; the nearest `i64` outside its range.
///
/// Paging parameters are read this way: `"5abc"` is 5, `"x"` is 0.
pub fn leading_integer(text: &str) -> i64 {
    let text = text.trim_start_matches([' ', '\t', '\n', '\u{b}', '\u{c}', '\r']);
    let (negative, digits) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let mut value: i64 = 0;
    let mut after_digit = false;
    for byte in digits.bytes() {
        match byte {
            b'0'..=b'9' => {
                let digit = i64::from(byte - b'0');
                value = value.saturating_mul(10);
                value = if negative {
                    value.saturating_sub(digit)
                } else {
                    value.saturating_add(digit)
                };
                after_digit = true;
            }
            b'_' if after_digit => after_digit = false,
            _ => break,
        }
    }
    value
}

/// The decimal number at the start of a text, or 0.0. Never infinite or NaN.
pub(crate) fn leading_float(text: &str) -> f64 {
    let text = text.trim_start_matches([' ', '\t', '\n', '\u{b}', '\u{c}', '\r']);
    let bytes = text.as_bytes();
    let digits = |mut at: usize| {
        while bytes.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        at
    };
    let start = usize::from(matches!(bytes.first(), Some(b'-' | b'+')));
    let mut end = digits(start);
    if bytes.get(end) == Some(&b'.') && digits(end + 1) > end + 1 {
        end = digits(end + 1);
    }
    if end == start {
        return 0.0;
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'-' | b'+')));
        if digits(end + 1 + sign) > end + 1 + sign {
            end = digits(end + 1 + sign);
        }
    }
    let value: f64 = text[..end].parse().unwrap_or(0.0);
    if value.is_finite() { value } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leading_numbers_are_read_and_the_rest_is_ignored() {
        for (text, expected) in [
            ("5abc", 5),
            ("x", 0),
            ("", 0),
            ("  12", 12),
            ("-7", -7),
            ("+3", 3),
            ("1_000", 1000),
            ("1__0", 1),
            ("20; drop", 20),
            ("0x10", 0),
            ("99999999999999999999", i64::MAX),
            ("-99999999999999999999", i64::MIN),
        ] {
            assert_eq!(leading_integer(text), expected, "{text}");
        }
        for (text, expected) in [
            ("47.5", 47.5),
            ("-3", -3.0),
            ("abc", 0.0),
            ("1.", 1.0),
            (".5", 0.5),
            ("1e3x", 1000.0),
            ("1e999", 0.0),
            ("-", 0.0),
        ] {
            assert_eq!(leading_float(text), expected, "{text}");
        }
    }

    #[test]
    fn lists_are_json() {
        let ids: Vec<Id> = (0..200)
            .map(|number| Id::from(number * 73))
            .chain([
                Id::from(-1),
                Id::from(i64::MAX),
                Id::from("a\"b"),
                Id::from(100_700),
                Id::from(1_000_000),
            ])
            .collect();
        let mut out = Vec::new();
        write_list(&ids, &mut out);
        let mut expected: Vec<String> = (0..200).map(|number| (number * 73).to_string()).collect();
        let others = ["-1", "9223372036854775807", "\"a\\\"b\"", "100700", "1000000"];
        expected.extend(others.map(str::to_owned));
        assert_eq!(String::from_utf8_lossy(&out), expected.join(","));
    }

    #[test]
    fn key_formats() {
        assert_eq!(KeyFormat::Integer.apply("  1".into()), Id::Integer(1));
        assert_eq!(KeyFormat::Text.apply("  1".into()), Id::from("  1"));
        assert_eq!(KeyFormat::Text.apply(7.into()), Id::from("7"));
    }
}
