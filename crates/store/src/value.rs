//! Plain data: what JSON, rows and configuration are made of.

pub(crate) mod compare;
pub(crate) mod contract;
pub(crate) mod csv;
pub(crate) mod table_text;

/// Values within a value beyond which it is large; [`LARGE_TEXT`] bytes of text count as much.
const LARGE: usize = 4096;
/// Bytes of text in a large value.
const LARGE_TEXT: usize = 256 * 1024;

/// A value without behaviour. Integers are exact whatever their size; records keep their order.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum Value {
    /// Nothing: JSON `null`, SQL `NULL`, the language's `nil`.
    #[default]
    Nil,
    /// `true` or `false`.
    Bool(bool),
    /// An integer of 64 bits.
    Int(i64),
    /// An integer beyond 64 bits, as decimal digits with an optional leading `-`.
    Big(Box<str>),
    /// A floating-point number.
    Float(f64),
    /// Text, UTF-8.
    Text(String),
    /// Bytes that are not text.
    Bytes(bytes::Bytes),
    /// A list.
    List(Vec<Value>),
    /// A record: names and values in order; a name stands once.
    Record(Vec<(String, Value)>),
}

impl Value {
    /// A record of names and values; where a name stands twice the last value counts.
    pub fn record<N: Into<String>>(fields: impl IntoIterator<Item = (N, Value)>) -> Value {
        let mut record = Value::Record(Vec::new());
        for (name, value) in fields {
            record.set(name.into(), value);
        }
        record
    }

    /// Whether it is so large that work on it would hold up others. Takes no time on a small value,
    /// and little on a large one.
    pub fn is_large(&self) -> bool {
        let mut left = LARGE;
        self.count(&mut left);
        left == 0
    }

    /// Subtracts its size from the rest of the limit.
    fn count(&self, left: &mut usize) {
        let own = match self {
            Value::Text(text) => 1 + text.len() / (LARGE_TEXT / LARGE),
            Value::List(items) if items.len() >= *left => items.len(),
            Value::Record(fields) if fields.len() >= *left => fields.len(),
            _ => 1,
        };
        *left = left.saturating_sub(own);
        match self {
            _ if *left == 0 => {}
            Value::List(items) => items.iter().for_each(|item| item.count(left)),
            Value::Record(fields) => fields.iter().for_each(|(_, value)| value.count(left)),
            _ => {}
        }
    }

    /// Whether it is nil.
    pub fn is_nil(&self) -> bool {
        matches!(self, Value::Nil)
    }

    /// The boolean, where it is one.
    pub fn as_bool(&self) -> Option<bool> {
        if let Value::Bool(value) = self { Some(*value) } else { None }
    }

    /// The integer, where it is one of 64 bits. A float is none, whole or not.
    pub fn as_i64(&self) -> Option<i64> {
        if let Value::Int(value) = self { Some(*value) } else { None }
    }

    /// The number as a float, the nearest where it has more digits.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Value::Int(value) => Some(*value as f64),
            Value::Float(value) => Some(*value),
            Value::Big(digits) => digits.parse().ok(),
            _ => None,
        }
    }

    /// The text, where it is text.
    pub fn as_str(&self) -> Option<&str> {
        if let Value::Text(text) = self { Some(text) } else { None }
    }

    /// The elements, where it is a list.
    pub fn as_list(&self) -> Option<&[Value]> {
        if let Value::List(elements) = self { Some(elements) } else { None }
    }

    /// The names and values, where it is a record.
    pub fn as_record(&self) -> Option<&[(String, Value)]> {
        if let Value::Record(fields) = self { Some(fields) } else { None }
    }

    /// A field of a record; `None` where the record has none of that name, and for anything else.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.as_record()?.iter().find(|field| field.0 == name).map(|field| &field.1)
    }

    /// Sets a field of a record: at its place, or at the end when it is new. Anything else stays
    /// as it is; answers whether the field was set.
    pub fn set(&mut self, name: impl Into<String> + AsRef<str>, value: Value) -> bool {
        let Value::Record(fields) = self else { return false };
        match fields.iter_mut().find(|field| field.0 == name.as_ref()) {
            Some(field) => field.1 = value,
            None => fields.push((name.into(), value)),
        }
        true
    }

    /// What it is, for messages: `text`, `a list`.
    pub fn kind_name(&self) -> &'static str {
        match self {
            Value::Nil => "nil",
            Value::Bool(_) => "a boolean",
            Value::Int(_) | Value::Big(_) => "an integer",
            Value::Float(_) => "a number",
            Value::Text(_) => "text",
            Value::Bytes(_) => "bytes",
            Value::List(_) => "a list",
            Value::Record(_) => "a record",
        }
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Value::Bool(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Value::Int(value)
    }
}

impl From<i32> for Value {
    fn from(value: i32) -> Self {
        Value::Int(value.into())
    }
}

impl From<u32> for Value {
    fn from(value: u32) -> Self {
        Value::Int(value.into())
    }
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        match i64::try_from(value) {
            Ok(value) => Value::Int(value),
            Err(_) => Value::Big(value.to_string().into()),
        }
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Value::Float(value)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::Text(text.to_string())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Value::Text(text)
    }
}

impl From<crate::Text> for Value {
    fn from(text: crate::Text) -> Self {
        Value::Text(text.to_string())
    }
}

/// Bytes that are UTF-8 become text, others stay bytes.
impl From<bytes::Bytes> for Value {
    fn from(bytes: bytes::Bytes) -> Self {
        match String::from_utf8(bytes.into()) {
            Ok(text) => Value::Text(text),
            Err(error) => Value::Bytes(error.into_bytes().into()),
        }
    }
}

impl From<Vec<Value>> for Value {
    fn from(elements: Vec<Value>) -> Self {
        Value::List(elements)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Value::Nil, Into::into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_large() {
        let list = |count| Value::List(vec![Value::Int(1); count]);
        assert!(!list(4000).is_large());
        assert!(list(5000).is_large());
        let nested = |count| Value::List(vec![list(9); count]);
        assert!(!nested(400).is_large());
        assert!(nested(500).is_large());
        assert!(!Value::Text("a".repeat(200_000)).is_large());
        assert!(Value::record([("text", Value::Text("a".repeat(300_000)))]).is_large());
    }
}
