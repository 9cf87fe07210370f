//! What widgets read from JSON and write to it.

use serde_json::{Number, Value};

/// A value as text, the way a widget shows it.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A number, of a number or its text.
pub(crate) fn number(value: &Value) -> Option<f64> {
    let found = match value {
        Value::String(text) => text.trim().parse().ok(),
        other => other.as_f64(),
    };
    found.filter(|number: &f64| number.is_finite())
}

/// A number as JSON, without a fraction where it has none.
pub(crate) fn of_number(number: f64) -> Value {
    /// Whole numbers up to here are exact.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() < EXACT {
        return Value::from(number as i64);
    }
    Number::from_f64(number).map_or(Value::Null, Value::Number)
}

/// A whole number within the range of sizes and places of GTK.
pub(crate) fn pixels(value: &Value) -> Option<i32> {
    number(value).map(|number| number.round().clamp(-32_768.0, 32_767.0) as i32)
}

/// Whether a value counts as true.
pub(crate) fn is_true(value: &Value) -> bool {
    value.as_bool().unwrap_or(false)
}

/// The elements of an array; none of other values.
pub(crate) fn elements(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}
