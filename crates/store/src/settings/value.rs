//! Types of options, and the conversion of a program's values to them.

use crate::Value;
use runnel_text::size;
use std::borrow::Cow;
use std::path::PathBuf;
use std::time::Duration;

/// What a value must be, as the end of a sentence: "a whole number from 1 to 1000".
pub type Wanted = Cow<'static, str>;

/// The largest whole number that every part of the language can write.
const MAX_COUNT: f64 = 9_007_199_254_740_992.0;

/// The longest duration of an option without explicit bounds: ten years.
const MAX_SECONDS: f64 = 315_360_000.0;

/// What a program writes for an option. The language converts its own values by this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingKind {
    /// `true` or `false`.
    Flag,
    /// A whole number.
    Count,
    /// Any number.
    Number,
    /// A duration, passed on as a text of seconds, `1.5 s`: a number has no unit.
    Duration,
    /// A size, passed on as a text such as `64 B` or `5M`: a number has no unit.
    Size,
    /// A text.
    Text,
    /// An array of texts, or a single one.
    Texts,
    /// A dictionary; `false` for none.
    Record,
    /// A class, passed on by its name.
    Class,
    /// A store, passed on among the sources.
    Store,
    /// Whatever the option's own reader accepts.
    Any,
}

impl SettingKind {
    /// The name by which the kernel knows how to convert a value.
    pub fn name(self) -> &'static str {
        match self {
            SettingKind::Flag => "flag",
            SettingKind::Count => "count",
            SettingKind::Number => "number",
            SettingKind::Duration => "seconds",
            SettingKind::Size => "size",
            SettingKind::Text => "text",
            SettingKind::Texts => "texts",
            SettingKind::Record => "record",
            SettingKind::Class => "class",
            SettingKind::Store => "store",
            SettingKind::Any => "any",
        }
    }
}

/// The least and the largest number, both included.
pub type Bounds = Option<(f64, f64)>;

/// Bounds as the manual writes them: `1 to 64`, `1 ms to 1 d`.
pub(crate) fn shown_bounds(kind: SettingKind, bounds: Bounds) -> Option<String> {
    let (least, most) = bounds?;
    Some(match kind {
        SettingKind::Duration => format!("{} to {}", shown(least), shown(most)),
        SettingKind::Size => shown_sizes(least, most),
        _ if least == f64::MIN_POSITIVE => "above 0".to_string(),
        _ => format!("{least} to {most}"),
    })
}

/// A type of options.
pub trait SettingValue {
    /// What a program writes for it.
    fn kind(&self) -> SettingKind;

    /// Takes a value over.
    ///
    /// # Errors
    /// What the value must be.
    fn assign(&mut self, value: &Value, bounds: Bounds) -> Result<(), Wanted>;

    /// The value as the manual writes it.
    fn shown(&self) -> String;
}

impl SettingValue for bool {
    fn kind(&self) -> SettingKind {
        SettingKind::Flag
    }

    fn assign(&mut self, value: &Value, _: Bounds) -> Result<(), Wanted> {
        *self = value.as_bool().ok_or("true or false")?;
        Ok(())
    }

    fn shown(&self) -> String {
        self.to_string()
    }
}

/// A whole number within bounds.
fn whole<T: TryFrom<u64>>(value: &Value, bounds: Bounds) -> Result<T, Wanted> {
    let (least, most) = bounds.unwrap_or((0.0, MAX_COUNT));
    let number = value.as_f64().filter(|number| number.fract() == 0.0);
    let number = number.filter(|number| (least..=most).contains(number));
    number.and_then(|number| T::try_from(number as u64).ok()).ok_or_else(|| match bounds {
        Some((least, most)) => format!("a whole number from {least} to {most}").into(),
        None => "a whole number that is not negative".into(),
    })
}

macro_rules! whole_numbers {
    ($($number:ty)*) => { $(
        impl SettingValue for $number {
            fn kind(&self) -> SettingKind {
                SettingKind::Count
            }

            fn assign(&mut self, value: &Value, bounds: Bounds) -> Result<(), Wanted> {
                *self = whole(value, bounds)?;
                Ok(())
            }

            fn shown(&self) -> String {
                self.to_string()
            }
        }
    )* };
}

whole_numbers! { u16 u32 u64 usize }

impl SettingValue for f64 {
    fn kind(&self) -> SettingKind {
        SettingKind::Number
    }

    fn assign(&mut self, value: &Value, bounds: Bounds) -> Result<(), Wanted> {
        let (least, most) = bounds.unwrap_or((f64::MIN, f64::MAX));
        let number = value.as_f64().filter(|number| (least..=most).contains(number));
        *self = number.ok_or_else(|| match bounds {
            Some((least, _)) if least == f64::MIN_POSITIVE => Wanted::from("a number above 0"),
            Some((least, most)) => format!("a number from {least} to {most}").into(),
            None => "a number".into(),
        })?;
        Ok(())
    }

    fn shown(&self) -> String {
        self.to_string()
    }
}

impl SettingValue for Duration {
    fn kind(&self) -> SettingKind {
        SettingKind::Duration
    }

    fn assign(&mut self, value: &Value, bounds: Bounds) -> Result<(), Wanted> {
        let (least, most) = bounds.unwrap_or((0.0, MAX_SECONDS));
        let Some(seconds) = seconds(value) else {
            return Err("a duration such as `5 seconds`".into());
        };
        if !(least..=most).contains(&seconds) {
            return Err(format!("a duration from {} to {}", shown(least), shown(most)).into());
        }
        *self = Duration::from_secs_f64(seconds);
        Ok(())
    }

    fn shown(&self) -> String {
        shown(self.as_secs_f64())
    }
}

/// The seconds of a text with a unit. Of numbers only 0 means the same in every unit.
fn seconds(value: &Value) -> Option<f64> {
    match value {
        Value::Text(text) => text.strip_suffix(" s")?.parse().ok(),
        value => value.as_f64().filter(|number| *number == 0.0),
    }
}

/// The number of bytes of an option of the kind [`SettingKind::Size`].
pub trait ByteCount {
    /// The bytes.
    fn bytes(&self) -> u64;

    /// Takes bytes over. Says whether the type has room for them.
    fn set_bytes(&mut self, bytes: u64) -> bool;
}

macro_rules! byte_counts {
    ($($number:ty)*) => { $(
        impl ByteCount for $number {
            fn bytes(&self) -> u64 {
                *self as u64
            }

            fn set_bytes(&mut self, bytes: u64) -> bool {
                let number = <$number>::try_from(bytes);
                *self = number.unwrap_or(*self);
                number.is_ok()
            }
        }
    )* };
}

byte_counts! { u32 u64 usize }

/// Reads a size. Of numbers only 0 means the same in every unit.
pub(crate) fn assign_size(
    field: &mut dyn ByteCount,
    value: &Value,
    bounds: Bounds,
) -> Result<(), Wanted> {
    let bytes = match value {
        Value::Text(text) => size::parse(text),
        value => value.as_f64().filter(|number| *number == 0.0).map(|_| 0),
    };
    let Some(bytes) = bytes else {
        return Err("a size such as `5 megabytes` or '5M'".into());
    };
    let (least, most) = bounds.unwrap_or((0.0, MAX_COUNT));
    if (least..=most).contains(&(bytes as f64)) && field.set_bytes(bytes) {
        return Ok(());
    }
    Err(format!("a size from {}", shown_sizes(least, most)).into())
}

fn shown_sizes(least: f64, most: f64) -> String {
    format!("{} to {}", size::shown(least as u64), size::shown(most as u64))
}

/// The error for a number where a value with a unit is expected, or nothing where it is none.
pub(crate) fn missing_unit(kind: SettingKind, name: &str, value: &Value) -> Option<String> {
    let number = value.as_f64().filter(|number| *number != 0.0)?;
    match kind {
        SettingKind::Duration => {
            let ending = if number == 1.0 { "" } else { "s" };
            let units = format!("write {number} second{ending} or {number} millisecond{ending}");
            Some(format!("{name}: {number} has no unit: {units}"))
        }
        SettingKind::Size => Some(size::without_unit(name, number)),
        _ => None,
    }
}

/// A duration as the manual writes it: `100 ms`, `5 s`, `2 min`, `1 h`, `365 d`.
fn shown(seconds: f64) -> String {
    let units = [(86_400.0, "d"), (3600.0, "h"), (60.0, "min"), (1.0, "s")];
    match units.iter().find(|(unit, _)| seconds >= *unit && seconds % unit == 0.0) {
        Some((unit, name)) => format!("{} {name}", seconds / unit),
        None if seconds == 0.0 => "0 s".to_string(),
        None => format!("{} ms", (seconds * 1e6).round() / 1e3),
    }
}

impl SettingValue for String {
    fn kind(&self) -> SettingKind {
        SettingKind::Text
    }

    fn assign(&mut self, value: &Value, _: Bounds) -> Result<(), Wanted> {
        *self = value.as_str().ok_or("a text")?.to_string();
        Ok(())
    }

    fn shown(&self) -> String {
        format!("'{self}'")
    }
}

impl SettingValue for PathBuf {
    fn kind(&self) -> SettingKind {
        SettingKind::Text
    }

    fn assign(&mut self, value: &Value, _: Bounds) -> Result<(), Wanted> {
        let path = value.as_str().filter(|path| !path.is_empty());
        *self = path.ok_or("the path of a file")?.into();
        Ok(())
    }

    fn shown(&self) -> String {
        format!("'{}'", self.display())
    }
}

impl SettingValue for Vec<String> {
    fn kind(&self) -> SettingKind {
        SettingKind::Texts
    }

    fn assign(&mut self, value: &Value, _: Bounds) -> Result<(), Wanted> {
        let texts = match value {
            Value::Text(text) => Some(vec![text.clone()]),
            Value::List(items) => {
                items.iter().map(|item| item.as_str().map(str::to_string)).collect()
            }
            _ => None,
        };
        *self = texts.ok_or("a text, or an array of texts")?;
        Ok(())
    }

    fn shown(&self) -> String {
        let texts: Vec<String> = self.iter().map(|text| format!("'{text}'")).collect();
        format!("[ {} ]", texts.join(", "))
    }
}

/// An option without a default: nil leaves it out.
impl<V: SettingValue + Default> SettingValue for Option<V> {
    fn kind(&self) -> SettingKind {
        V::default().kind()
    }

    fn assign(&mut self, value: &Value, bounds: Bounds) -> Result<(), Wanted> {
        *self = match value {
            Value::Nil => None,
            value => {
                let mut inner = V::default();
                inner.assign(value, bounds)?;
                Some(inner)
            }
        };
        Ok(())
    }

    fn shown(&self) -> String {
        self.as_ref().map_or_else(|| "none".to_string(), SettingValue::shown)
    }
}

/// Makes an enum a type of options: each text stands for a value.
///
/// ```
/// use runnel_store::{SettingValue, Value, setting_choices};
///
/// #[derive(Debug, PartialEq)]
/// enum Size { Small, Large }
/// setting_choices!(Size { "small" => Size::Small, "large" => Size::Large });
///
/// let mut size = Size::Small;
/// assert!(size.assign(&"large".into(), None).is_ok());
/// assert_eq!(size, Size::Large);
/// assert_eq!(size.assign(&Value::Nil, None).unwrap_err(), "one of 'small', 'large'");
/// ```
#[macro_export]
macro_rules! setting_choices {
    ($type:ty { $($text:literal => $value:path),+ $(,)? }) => {
        impl $crate::SettingValue for $type {
            fn kind(&self) -> $crate::SettingKind {
                $crate::SettingKind::Text
            }

            fn assign(
                &mut self,
                value: &$crate::Value,
                _: $crate::Bounds,
            ) -> ::std::result::Result<(), $crate::Wanted> {
                *self = match value.as_str() {
                    $(Some($text) => $value,)+
                    _ => {
                        let texts = [$(concat!("'", $text, "'")),+].join(", ");
                        return ::std::result::Result::Err(format!("one of {texts}").into());
                    }
                };
                Ok(())
            }

            fn shown(&self) -> ::std::string::String {
                match self {
                    $($value => concat!("'", $text, "'").to_string(),)+
                }
            }
        }
    };
}
