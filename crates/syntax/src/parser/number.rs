//! Numbers: `123`, `1_000`, `3.2`, `1.5e-3`, `0xff`, `0b1001`, `16r1F`, with a minus sign before.

use super::Parser;
use crate::ast::{Expression, ExpressionKind};
use crate::limits::MAX_DIGITS;
use crate::{Diagnostic, Span, TokenKind};

impl Parser<'_> {
    /// A number; the next token is the number or the minus sign that touches it.
    pub(super) fn number(&mut self) -> Expression {
        let start = self.next.span.start;
        let negative = self.at(TokenKind::Operator);
        if negative {
            self.bump_as(TokenKind::Number);
        }
        let token = self.bump();
        let span = Span::new(start, token.end);
        let written = self.text(token);
        if written.len() > MAX_DIGITS {
            let label = format!("more than {MAX_DIGITS} digits");
            return self.bad_number(span, "this number is too long", label);
        }
        let digits = written.replace('_', "");
        let sign = if negative { "-" } else { "" };
        match value(&digits) {
            Ok(NumberValue::Integer(digits)) if digits == "0" => {
                Expression { kind: ExpressionKind::Integer(digits), span }
            }
            Ok(NumberValue::Integer(digits)) => {
                Expression { kind: ExpressionKind::Integer(format!("{sign}{digits}")), span }
            }
            Ok(NumberValue::Float(value)) => {
                let value = if negative { -value } else { value };
                Expression { kind: ExpressionKind::Float(value), span }
            }
            Err(problem) => self.bad_number(span, "this is not a number", problem),
        }
    }

    fn bad_number(&mut self, span: Span, title: &str, label: String) -> Expression {
        self.note(
            Diagnostic::error(span, title, label)
                .hint("write it as in 42, 1_000, 3.25, 1e9, 0xff, 0b1001 or 16r1F"),
        );
        Expression { kind: ExpressionKind::Error, span }
    }
}

enum NumberValue {
    Integer(String),
    Float(f64),
}

/// The value of a number without sign and `_`, or what is wrong with it.
fn value(text: &str) -> Result<NumberValue, String> {
    let (radix, digits) = match text.split_at_checked(2) {
        Some(("0x" | "0X", digits)) => (16, digits),
        Some(("0b" | "0B", digits)) => (2, digits),
        _ => match text.split_once('r') {
            Some((radix, digits)) => (radix.parse().unwrap_or(10), digits),
            None if text.bytes().all(|byte| byte.is_ascii_digit()) => (10, text),
            None => return float(text),
        },
    };
    if let Some(wrong) = digits.chars().find(|digit| !digit.is_digit(radix)) {
        return Err(format!("`{wrong}` is no digit in base {radix}"));
    }
    Ok(NumberValue::Integer(decimal(digits, radix)))
}

fn float(text: &str) -> Result<NumberValue, String> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(NumberValue::Float(value)),
        _ => Err("larger than the largest number with a fraction (about 1.8e308)".to_owned()),
    }
}

/// Digits in any base as decimal digits, exactly: schoolbook arithmetic in base 10^9.
fn decimal(digits: &str, radix: u32) -> String {
    const BASE: u64 = 1_000_000_000;
    if radix == 10 {
        let trimmed = digits.trim_start_matches('0');
        return if trimmed.is_empty() { "0".to_owned() } else { trimmed.to_owned() };
    }
    let mut limbs: Vec<u32> = Vec::new();
    for digit in digits.chars().filter_map(|digit| digit.to_digit(radix)) {
        let mut carry = u64::from(digit);
        for limb in &mut limbs {
            let value = u64::from(*limb) * u64::from(radix) + carry;
            *limb = (value % BASE) as u32;
            carry = value / BASE;
        }
        if carry > 0 {
            limbs.push(carry as u32);
        }
    }
    let mut rest = limbs.iter().rev();
    let mut text = rest.next().map_or("0".to_owned(), u32::to_string);
    for limb in rest {
        text.push_str(&format!("{limb:09}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::decimal;

    #[test]
    fn digits_of_any_base_become_decimal_exactly() {
        assert_eq!(decimal("ff", 16), "255");
        assert_eq!(decimal("0", 16), "0");
        assert_eq!(decimal("000", 10), "0");
        assert_eq!(decimal("0123", 10), "123");
        assert_eq!(decimal("1111", 2), "15");
        assert_eq!(decimal("zz", 36), "1295");
        assert_eq!(decimal("ffffffffffffffff", 16), "18446744073709551615");
        // 10^18 and sixteen zeros behind it in base 16 is 10^18 times 2^64.
        assert_eq!(
            decimal("de0b6b3a76400000000000000000000", 16),
            (1_000_000_000_000_000_000_u128 << 64).to_string()
        );
    }
}
