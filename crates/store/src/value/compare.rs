//! How values compare: in filters, and when sorting.

use crate::{Comparison, Value};
use std::cmp::Ordering;

impl Comparison {
    /// Whether the comparison holds. Values that cannot be compared (text with a number, nil with
    /// anything else) are not equal, and neither less nor greater. Nil has no order: only
    /// equality holds between two nils.
    pub fn holds(self, left: &Value, right: &Value) -> bool {
        let equality = matches!(self, Comparison::Equal | Comparison::NotEqual);
        if !equality && (left.is_nil() || right.is_nil()) {
            return false;
        }
        let order = left.compare(right);
        match self {
            Comparison::Equal => order == Some(Ordering::Equal),
            Comparison::NotEqual => order != Some(Ordering::Equal),
            Comparison::Less => order == Some(Ordering::Less),
            Comparison::LessOrEqual => order.is_some_and(Ordering::is_le),
            Comparison::Greater => order == Some(Ordering::Greater),
            Comparison::GreaterOrEqual => order.is_some_and(Ordering::is_ge),
        }
    }
}

impl Value {
    /// How it compares with another value; `None` when the two cannot be compared.
    ///
    /// Nil equals nil and nothing else. Numbers compare exactly, whatever their representation,
    /// and booleans count 0 and 1. Text and bytes compare bytewise. Lists are equal when their
    /// elements are, records when they have the same names with equal values in any order; they
    /// are neither less nor greater.
    pub fn compare(&self, other: &Value) -> Option<Ordering> {
        match (self, other) {
            (Value::Nil, Value::Nil) => Some(Ordering::Equal),
            (Value::Text(left), Value::Text(right)) => Some(left.cmp(right)),
            (Value::Bytes(left), Value::Bytes(right)) => Some(left.cmp(right)),
            (Value::List(left), Value::List(right)) => {
                let same = left.len() == right.len()
                    && left.iter().zip(right).all(|(left, right)| left.equals(right));
                same.then_some(Ordering::Equal)
            }
            (Value::Record(left), Value::Record(right)) => {
                let same = left.len() == right.len()
                    && left.iter().all(|(name, value)| {
                        other.get(name).is_some_and(|found| value.equals(found))
                    });
                same.then_some(Ordering::Equal)
            }
            _ => compare_numbers(ExactNumber::of(self)?, ExactNumber::of(other)?),
        }
    }

    /// Whether it compares equal.
    pub fn equals(&self, other: &Value) -> bool {
        self.compare(other) == Some(Ordering::Equal)
    }

    /// A total order for sorting: nil, then numbers and booleans, text, bytes, lists, records;
    /// what cannot be told apart further stays in the order it had. (SQLite's order, so that a
    /// query sorts the same in a table and in memory.) What is not a number sorts before the
    /// other numbers.
    pub fn sort_order(&self, other: &Value) -> Ordering {
        let rank = |value: &Value| match value {
            Value::Nil => 0,
            Value::Float(number) if number.is_nan() => 1,
            Value::Bool(_) | Value::Int(_) | Value::Big(_) | Value::Float(_) => 2,
            Value::Text(_) => 3,
            Value::Bytes(_) => 4,
            Value::List(_) => 5,
            Value::Record(_) => 6,
        };
        let ranks = rank(self).cmp(&rank(other));
        ranks.then_with(|| self.compare(other).unwrap_or(Ordering::Equal))
    }
}

#[derive(Clone, Copy)]
enum ExactNumber<'a> {
    Int(i64),
    Big(&'a str),
    Float(f64),
}

impl<'a> ExactNumber<'a> {
    fn of(value: &'a Value) -> Option<Self> {
        match value {
            Value::Bool(value) => Some(ExactNumber::Int((*value).into())),
            Value::Int(value) => Some(ExactNumber::Int(*value)),
            Value::Big(digits) => Some(ExactNumber::Big(digits)),
            Value::Float(value) => Some(ExactNumber::Float(*value)),
            _ => None,
        }
    }
}

fn compare_numbers(left: ExactNumber, right: ExactNumber) -> Option<Ordering> {
    match (left, right) {
        (ExactNumber::Int(left), ExactNumber::Int(right)) => Some(left.cmp(&right)),
        (ExactNumber::Float(left), ExactNumber::Float(right)) => left.partial_cmp(&right),
        (ExactNumber::Float(float), other) => {
            compare_with_float(other, float).map(Ordering::reverse)
        }
        (other, ExactNumber::Float(float)) => compare_with_float(other, float),
        (ExactNumber::Big(left), ExactNumber::Big(right)) => Some(compare_digits(left, right)),
        (ExactNumber::Big(left), ExactNumber::Int(right)) => {
            Some(compare_digits(left, itoa::Buffer::new().format(right)))
        }
        (ExactNumber::Int(left), ExactNumber::Big(right)) => {
            Some(compare_digits(itoa::Buffer::new().format(left), right))
        }
    }
}

/// An integer with a float, exactly: first the whole part of the float, then its fraction.
fn compare_with_float(integer: ExactNumber, float: f64) -> Option<Ordering> {
    if float.is_nan() {
        return None;
    }
    if float.is_infinite() {
        return Some(if float > 0.0 { Ordering::Less } else { Ordering::Greater });
    }
    let whole = float.trunc();
    // The bounds of 64 bits are powers of two, which floats hold exactly.
    let fits = (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&whole);
    let order = match integer {
        ExactNumber::Int(integer) if fits => integer.cmp(&(whole as i64)),
        ExactNumber::Int(integer) => {
            compare_digits(itoa::Buffer::new().format(integer), &format!("{whole:.0}"))
        }
        ExactNumber::Big(digits) => compare_digits(digits, &format!("{whole:.0}")),
        ExactNumber::Float(other) => other.partial_cmp(&float)?,
    };
    Some(order.then_with(|| whole.partial_cmp(&float).unwrap_or(Ordering::Equal)))
}

/// Two integers in decimal digits, with an optional `-` and perhaps leading zeros.
fn compare_digits(left: &str, right: &str) -> Ordering {
    let parts = |text: &str| {
        let digits = text.trim_start_matches('-').trim_start_matches('0').len();
        (text.starts_with('-') && digits > 0, text.len() - digits)
    };
    let ((left_negative, left_at), (right_negative, right_at)) = (parts(left), parts(right));
    let (left, right) = (&left[left_at..], &right[right_at..]);
    match (left_negative, right_negative) {
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
        (false, false) => left.len().cmp(&right.len()).then_with(|| left.cmp(right)),
        (true, true) => right.len().cmp(&left.len()).then_with(|| right.cmp(left)),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn big(digits: &str) -> Value {
        Value::Big(digits.into())
    }

    #[test]
    fn numbers_compare_exactly_across_representations() {
        let beyond = 9_007_199_254_740_993_i64; // 2^53 + 1, which no float holds
        let near = Value::Float(9_007_199_254_740_992.0);
        assert_eq!(Value::Int(beyond).compare(&near), Some(Ordering::Greater));
        assert_eq!(near.compare(&Value::Int(beyond)), Some(Ordering::Less));
        assert!(Value::Int(3).equals(&Value::Float(3.0)));
        assert_eq!(Value::Int(-3).compare(&Value::Float(-3.5)), Some(Ordering::Greater));
        assert_eq!(Value::Int(i64::MAX).compare(&Value::Float(1e300)), Some(Ordering::Less));
        assert_eq!(Value::Int(i64::MIN).compare(&Value::Float(-1e300)), Some(Ordering::Greater));
        assert!(big("100000000000000000000").equals(&Value::Float(1e20)));
        assert_eq!(
            big("100000000000000000001").compare(&Value::Float(1e20)),
            Some(Ordering::Greater)
        );
        assert_eq!(big("-99999999999999999999").compare(&Value::Int(0)), Some(Ordering::Less));
        assert_eq!(
            big("-99999999999999999999").compare(&big("-100000000000000000000")),
            Some(Ordering::Greater)
        );
        assert!(big("007").equals(&Value::Int(7)) && big("-0").equals(&Value::Int(0)));
        assert_eq!(Value::Int(1).compare(&Value::Float(f64::NAN)), None);
        assert_eq!(
            Value::Int(1).compare(&Value::Float(f64::NEG_INFINITY)),
            Some(Ordering::Greater)
        );
    }

    #[test]
    fn nil_equals_nil_and_nothing_else() {
        assert!(Comparison::Equal.holds(&Value::Nil, &Value::Nil));
        assert!(Comparison::NotEqual.holds(&Value::Nil, &Value::Int(0)));
        assert!(!Comparison::Less.holds(&Value::Nil, &Value::Int(1)));
        assert!(!Comparison::GreaterOrEqual.holds(&Value::Int(1), &Value::Nil));
        assert!(!Comparison::LessOrEqual.holds(&Value::Nil, &Value::Nil));
    }

    #[test]
    fn booleans_count_and_texts_compare_bytewise() {
        assert!(Comparison::Equal.holds(&Value::Bool(true), &Value::Int(1)));
        assert!(Comparison::Less.holds(&Value::Bool(false), &Value::Float(0.5)));
        assert!(Comparison::Less.holds(&"Z".into(), &"a".into()));
        assert!(Comparison::NotEqual.holds(&"1".into(), &Value::Int(1)));
    }

    #[test]
    fn structure_is_equal_by_content() {
        let left = Value::record([("a", Value::Int(1)), ("b", Value::List(vec![Value::Nil]))]);
        let right = Value::record([("b", Value::List(vec![Value::Nil])), ("a", Value::Float(1.0))]);
        assert!(left.equals(&right));
        assert!(!left.equals(&Value::record([("a", Value::Int(1))])));
        assert!(!Comparison::Less.holds(&left, &right));
    }

    #[test]
    fn sorting_ranks_the_kinds() {
        let sorted = [
            Value::Nil,
            Value::Float(f64::NAN),
            Value::Int(-1),
            Value::Bool(false),
            Value::Float(0.5),
            "a".into(),
            Value::Bytes(vec![255].into()),
            Value::List(vec![]),
            Value::record([("a", Value::Nil)]),
        ];
        let mut shuffled: Vec<&Value> = sorted.iter().rev().collect();
        shuffled.sort_by(|left, right| left.sort_order(right));
        let ranks: Vec<_> = shuffled.iter().map(|value| value.kind_name()).collect();
        assert_eq!(ranks, sorted.iter().map(Value::kind_name).collect::<Vec<_>>());
    }
}
