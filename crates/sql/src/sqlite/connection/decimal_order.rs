//! The order of decimal numbers that are stored as text.
//!
//! Queries ask for it by a collating sequence, so that the tables themselves stay readable for every
//! other program. An index over such a column therefore serves equality of texts, not these orders.

use crate::database::expression::DECIMAL_ORDER;
use rusqlite::{Connection, Result};
use std::cmp::Ordering;

/// Makes the order known to a connection.
pub(crate) fn install(connection: &Connection) -> Result<()> {
    connection.create_collation(DECIMAL_ORDER, compare)
}

/// Compares by value, exactly: `2` is less than `10.0`, which is equal to `10`. What is no decimal
/// number comes behind them all, in the order of its bytes.
fn compare(left: &str, right: &str) -> Ordering {
    match (DecimalParts::parse(left), DecimalParts::parse(right)) {
        (Some(left), Some(right)) => left.compare(&right),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => left.cmp(right),
    }
}

/// The digits that count.
struct DecimalParts<'a> {
    negative: bool,
    whole: &'a str,
    fraction: &'a str,
}

impl<'a> DecimalParts<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let (negative, digits) = match text.as_bytes().first()? {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, text),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let plain = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || !plain(whole) || !plain(fraction) {
            return None;
        }
        let (whole, fraction) = (whole.trim_start_matches('0'), fraction.trim_end_matches('0'));
        let zero = whole.is_empty() && fraction.is_empty();
        Some(DecimalParts { negative: negative && !zero, whole, fraction })
    }

    fn compare(&self, other: &Self) -> Ordering {
        let size = |one: &Self| (one.whole.len(), one.whole, one.fraction);
        match (self.negative, other.negative) {
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
            (false, false) => size(self).cmp(&size(other)),
            (true, true) => size(other).cmp(&size(self)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_ordered_by_value() {
        let ordered = [
            "-100000000000000000000.5",
            "-12",
            "-2.5",
            "-0.01",
            "-0",
            "0.001",
            "0.01",
            "2",
            "10.0",
            "10.05",
            "10.5",
            "99999999999999999999",
            "x",
        ];
        for (place, left) in ordered.iter().enumerate() {
            for (other, right) in ordered.iter().enumerate() {
                assert_eq!(compare(left, right), place.cmp(&other), "{left} and {right}");
            }
        }
        for (left, right) in [("10", "10.00"), ("+1", "01"), ("0", "-0.0")] {
            assert_eq!(compare(left, right), Ordering::Equal, "{left} and {right}");
        }
    }
}
