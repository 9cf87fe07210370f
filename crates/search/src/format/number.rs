//! Scores: numbers that remember whether they are integers, because answers show it.

use crate::format::digits::{append, write_unsigned};
use std::cmp::Ordering;
use std::ops::Add;

/// A weight, a boost or a score.
///
/// The sum of integers is an integer, any other sum a floating-point number. The JSON of an answer
/// writes `4` for the one and `4.0` for the other.
#[derive(Clone, Copy, Debug)]
pub struct Score {
    value: f64,
    integral: bool,
}

impl Score {
    /// The integer 0, the neutral element of addition.
    pub const ZERO: Score = Score { value: 0.0, integral: true };

    /// A floating-point number. An infinity or NaN becomes 0.0, since JSON has no form for it.
    pub fn float(value: f64) -> Score {
        Score { value: if value.is_finite() { value } else { 0.0 }, integral: false }
    }

    /// An integer, rounded like a double beyond 2^53.
    pub fn integer(value: i64) -> Score {
        Score { value: value as f64, integral: true }
    }

    /// The value.
    pub fn value(self) -> f64 {
        self.value
    }

    /// Whether the value is written without a fraction.
    pub fn is_integer(self) -> bool {
        self.integral
    }

    /// Compares the values.
    pub(crate) fn order(self, other: Score) -> Ordering {
        self.value.total_cmp(&other.value)
    }

    /// Appends the number as JSON.
    ///
    /// A floating-point number has its shortest form that reads back the same, always with a
    /// fraction or an exponent. Below 1e-4 and from 1e15 the exponent has a sign and at least two
    /// digits, as in `8.9e-05` and `1.0e+15`.
    pub fn write_json(self, out: &mut Vec<u8>) {
        if self.integral && self.value.abs() < 9.0e15 {
            out.extend_from_slice(itoa::Buffer::new().format(self.value as i64).as_bytes());
        } else {
            write_float(self.value, out);
        }
    }
}

impl Add for Score {
    type Output = Score;

    fn add(self, other: Score) -> Score {
        let value = self.value + other.value;
        // Two finite weights can overflow; the largest double keeps the order.
        let value = value.clamp(f64::MIN, f64::MAX);
        Score { value, integral: self.integral && other.integral }
    }
}

impl PartialEq for Score {
    fn eq(&self, other: &Score) -> bool {
        self.value == other.value && self.integral == other.integral
    }
}

impl From<f64> for Score {
    fn from(value: f64) -> Score {
        Score::float(value)
    }
}

impl From<i64> for Score {
    fn from(value: i64) -> Score {
        Score::integer(value)
    }
}

impl From<i32> for Score {
    fn from(value: i32) -> Score {
        Score::integer(i64::from(value))
    }
}

/// Appends microseconds as seconds.
pub(crate) fn write_microseconds(value: u64, out: &mut Vec<u8>) {
    let mut buffer = itoa::Buffer::new();
    let digits = buffer.format(value).as_bytes();
    let significant =
        digits.len() - digits.iter().rev().take_while(|digit| **digit == b'0').count();
    if significant == 0 {
        return out.extend_from_slice(b"0.0");
    }
    write_decimal(&digits[..significant], digits.len() as i32 - 7, out);
}

fn write_float(value: f64, out: &mut Vec<u8>) {
    if write_thousandths(value, out) {
        return;
    }
    let mut buffer = zmij::Buffer::new();
    let text = buffer.format_finite(value);
    let (digits, exponent) = decompose(text);
    if value.is_sign_negative() {
        out.push(b'-');
    }
    write_decimal(digits.as_slice(), exponent, out);
}

/// Fast path: nearly all scores are sums of weights with three decimals. A double closest to some
/// k/1000 with at most fifteen digits has that decimal as its shortest form.
fn write_thousandths(value: f64, out: &mut Vec<u8>) -> bool {
    if !(0.0..1.0e11).contains(&value) || value.is_sign_negative() {
        return false;
    }
    let scaled = (value * 1000.0 + 0.5) as u64;
    if scaled as f64 / 1000.0 != value {
        return false;
    }
    write_unsigned(scaled / 1000, out);
    let fraction = scaled % 1000;
    let digits = [
        b'.',
        b'0' + (fraction / 100) as u8,
        b'0' + (fraction / 10 % 10) as u8,
        b'0' + (fraction % 10) as u8,
    ];
    let used = match digits {
        [_, _, b'0', b'0'] => 2,
        [_, _, _, b'0'] => 3,
        _ => 4,
    };
    append(&digits, used, out);
    true
}

/// Significant digits. A double has at most 17 of them.
#[derive(Clone, Copy)]
struct Digits {
    digits: [u8; 24],
    length: usize,
}

impl Digits {
    fn push(&mut self, digit: u8) {
        if let Some(place) = self.digits.get_mut(self.length) {
            *place = digit;
            self.length += 1;
        }
    }

    fn as_slice(&self) -> &[u8] {
        &self.digits[..self.length]
    }
}

/// The significant digits of a decimal text, and the power of ten of the first.
fn decompose(text: &str) -> (Digits, i32) {
    let text = text.strip_prefix('-').unwrap_or(text);
    let (mantissa, shift) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().unwrap_or(0)),
        None => (text, 0),
    };
    let whole = mantissa.find('.').unwrap_or(mantissa.len());
    let mut digits = Digits { digits: [0; 24], length: 0 };
    let (mut leading, mut zeros) = (0, 0);
    for digit in mantissa.bytes().filter(u8::is_ascii_digit) {
        if digit != b'0' {
            (0..zeros).for_each(|_| digits.push(b'0'));
            digits.push(digit);
            zeros = 0;
        } else if digits.length == 0 {
            leading += 1;
        } else {
            // Zeros count only before another digit.
            zeros += 1;
        }
    }
    if digits.length == 0 {
        digits.push(b'0');
        return (digits, 0);
    }
    (digits, whole as i32 - 1 - leading + shift)
}

fn write_decimal(digits: &[u8], exponent: i32, out: &mut Vec<u8>) {
    if !(-4..15).contains(&exponent) {
        out.push(digits[0]);
        out.push(b'.');
        out.extend_from_slice(if digits.len() > 1 { &digits[1..] } else { b"0" });
        out.extend_from_slice(if exponent < 0 { b"e-" } else { b"e+" });
        if exponent.abs() < 10 {
            out.push(b'0');
        }
        write_unsigned(u64::from(exponent.unsigned_abs()), out);
    } else if exponent < 0 {
        out.extend_from_slice(b"0.");
        out.extend(std::iter::repeat_n(b'0', (-exponent - 1) as usize));
        out.extend_from_slice(digits);
    } else {
        let whole = exponent as usize + 1;
        out.extend_from_slice(&digits[..whole.min(digits.len())]);
        out.extend(std::iter::repeat_n(b'0', whole.saturating_sub(digits.len())));
        out.push(b'.');
        out.extend_from_slice(if digits.len() > whole { &digits[whole..] } else { b"0" });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(number: Score) -> String {
        let mut out = Vec::new();
        number.write_json(&mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

    #[test]
    fn floats_have_a_fraction_and_integers_have_none() {
        let cases: [(f64, &str); 16] = [
            (0.0, "0.0"),
            (1.0, "1.0"),
            (6.568, "6.568"),
            (12.0, "12.0"),
            (3.5, "3.5"),
            (0.25, "0.25"),
            (18.439999999999998, "18.439999999999998"),
            (-2.0, "-2.0"),
            (-1.307, "-1.307"),
            (0.000209, "0.000209"),
            (0.000089, "8.9e-05"),
            (1.0e15, "1.0e+15"),
            (123456789012345.0, "123456789012345.0"),
            (1.5e20, "1.5e+20"),
            (1.0e-300, "1.0e-300"),
            (100.0, "100.0"),
        ];
        for (value, expected) in cases {
            assert_eq!(text(Score::float(value)), expected);
        }
        assert_eq!(text(Score::integer(4)), "4");
        assert_eq!(text(Score::integer(4) + Score::integer(-7)), "-3");
        assert_eq!(text(Score::integer(4) + Score::float(1.0)), "5.0");
    }

    proptest::proptest! {
        #[test]
        fn microseconds_are_seconds(value in 0u64..3_000_000_000) {
            let mut out = Vec::new();
            write_microseconds(value, &mut out);
            let expected = text(Score::float(value as f64 / 1e6));
            proptest::prop_assert_eq!(String::from_utf8_lossy(&out), expected);
        }

        #[test]
        fn what_is_written_reads_back(value: f64) {
            let number = Score::float(value);
            proptest::prop_assert_eq!(text(number).parse::<f64>(), Ok(number.value()));
        }

        #[test]
        fn thousandths_agree_with_the_general_form(thousandths in 0u32..40_000_000) {
            let value = f64::from(thousandths) / 1000.0;
            let (digits, exponent) = decompose(zmij::Buffer::new().format_finite(value));
            if value >= 0.001 {
                let mut general = Vec::new();
                write_decimal(digits.as_slice(), exponent, &mut general);
                proptest::prop_assert_eq!(text(Score::float(value)).into_bytes(), general);
            }
        }
    }
}
