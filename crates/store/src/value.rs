//! Plain data: what JSON, rows and configuration are made of.

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
