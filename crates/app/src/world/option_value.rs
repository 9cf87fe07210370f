//! The values of options, as programs write them in records: `#{ timeout: 5, hosts: #( 'a' ) }`.
//!
//! Each reader answers the value, or what it should have been.

use runnel_store::Value;
use std::ops::RangeInclusive;
use std::time::Duration;

/// The expected kind of an option, for the error message.
pub(crate) type Wanted = std::borrow::Cow<'static, str>;

/// Puts a value in its place.
pub(crate) fn set<T, E>(place: &mut T, value: Result<T, E>) -> Result<(), E> {
    *place = value?;
    Ok(())
}

pub(crate) fn flag(value: &Value) -> Result<bool, Wanted> {
    value.as_bool().ok_or("true or false".into())
}

/// A time in seconds.
pub(crate) fn time(value: &Value, range: RangeInclusive<f64>) -> Result<Duration, Wanted> {
    match value.as_f64().filter(|seconds| range.contains(seconds)) {
        Some(seconds) => Ok(Duration::from_secs_f64(seconds)),
        None => {
            Err(format!("a number of seconds from {} to {}", range.start(), range.end()).into())
        }
    }
}

/// A number of things, from 1 to a bound.
pub(crate) fn count<T: TryFrom<u32>>(value: &Value, most: u32) -> Result<T, Wanted> {
    let count = value.as_f64().filter(|count| count.fract() == 0.0);
    let count = count.filter(|count| (1.0..=f64::from(most)).contains(count));
    let count = count.and_then(|count| T::try_from(count as u32).ok());
    count.ok_or_else(|| format!("a whole number from 1 to {most}").into())
}

/// A number of bytes.
pub(crate) fn bytes(value: &Value) -> Result<u64, Wanted> {
    let count = value.as_f64().filter(|count| *count >= 0.0 && count.fract() == 0.0);
    count.map(|count| count as u64).ok_or("a whole number of bytes".into())
}

/// An array of texts, or a single one.
pub(crate) fn texts(value: &Value) -> Result<Vec<String>, Wanted> {
    let texts = match value {
        Value::Text(text) => Some(vec![text.clone()]),
        Value::List(items) => {
            items.iter().map(|item| item.as_str().map(ToString::to_string)).collect()
        }
        _ => None,
    };
    texts.ok_or("a text, or an array of texts".into())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_such_value_is_said() {
        let half = Value::Float(0.5);
        assert_eq!(time(&half, 0.0..=1.0).unwrap(), Duration::from_millis(500));
        assert_eq!(time(&half, 1.0..=60.0).unwrap_err(), "a number of seconds from 1 to 60");
        assert_eq!(count::<u32>(&half, 9).unwrap_err(), "a whole number from 1 to 9");
        assert_eq!(count::<usize>(&Value::Int(9), 9).unwrap(), 9);
        assert!(count::<u8>(&Value::Int(300), 1000).is_err());
        assert_eq!(bytes(&Value::Int(-1)).unwrap_err(), "a whole number of bytes");
        assert!(flag(&Value::Int(1)).is_err());
        assert!(texts(&Value::List(vec![Value::Nil])).is_err());
        assert_eq!(texts(&Value::List(vec!["a".into()])).unwrap(), ["a"]);
        assert_eq!(texts(&Value::Text("a".to_string())).unwrap(), ["a"]);
    }
}
