//! A JSON document as a flat list of nodes: the compact form in which a large text is parsed on a
//! thread, before anything larger is made of it.
//!
//! A node is one word of 64 bits, or two for a number that needs 64 bits itself. Texts without
//! escapes stay in the text that was parsed. `[{},{},…]` takes 2.7 times the size of its text.

use super::parse::{JsonSink, parse_into};
use crate::resources::pool::DATA_POOL;
use crate::{Answer, Error, Form, Kind, Lazy, Result, Text, Value};
use bytes::Bytes;
use std::any::Any;
use std::borrow::Cow;
use std::sync::Arc;

/// Bits of an offset and of a length within a text.
const BITS: u32 = 30;
/// Bits of a node beside its kind.
const PAYLOAD: u32 = 60;
const MASK: u64 = (1 << BITS) - 1;

/// Size limit of a text on a tape: 1 GiB.
const MOST_BYTES: usize = 1 << BITS;

/// Integers up to here are exact as floats.
const EXACT: u64 = (1 << 53) - 1;

const NIL: u64 = 0;
const FALSE: u64 = 1;
const TRUE: u64 = 2;
/// An integer of 60 bits.
const SHORT_INT: u64 = 3;
/// The integer is the next word.
const INT: u64 = 4;
/// The float is the next word.
const FLOAT: u64 = 5;
const BIG: u64 = 6;
/// A text within the source.
const TEXT: u64 = 7;
/// A text that had escapes, within `unescaped`.
const UNESCAPED: u64 = 8;
const LIST: u64 = 9;
const RECORD: u64 = 10;

/// A parsed JSON document. Its errors and its exactness are those of [`super::parse`].
#[derive(Debug, Default)]
pub struct Tape {
    source: Text,
    unescaped: String,
    nodes: Vec<u64>,
    size: TapeSize,
}

/// How many of what a document has: for guesses of the memory that its values take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TapeSize {
    /// Lists.
    pub lists: usize,
    /// Elements of all lists.
    pub elements: usize,
    /// Records.
    pub records: usize,
    /// Fields of all records, those of each record rounded up to a power of two.
    pub fields: usize,
    /// Texts that are values, and names that differ.
    pub texts: usize,
    /// Integers that no float holds exactly.
    pub bigs: usize,
    /// The bytes of those texts, and the digits of integers beyond 64 bits.
    pub text_bytes: usize,
}

/// One node of a document. The elements of a list and the names and values of a record follow it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Node<'a> {
    /// `null`
    Nil,
    /// `true` or `false`
    Bool(bool),
    /// An integer of 64 bits.
    Int(i64),
    /// The digits of a longer one.
    Big(&'a str),
    /// A number with a fraction or an exponent.
    Float(f64),
    /// A text, or the name of a field.
    Text(&'a str),
    /// A list, with its number of elements.
    List(usize),
    /// A record, with its number of fields. A name may occur twice: the last value counts, at the
    /// position of the first.
    Record(usize),
}

impl Tape {
    /// Reads one JSON text.
    ///
    /// # Errors
    /// Those of [`super::parse`]; [`Kind::TooLarge`] for a text of more than 1 GiB.
    pub fn parse(source: Bytes) -> Result<Tape> {
        if source.len() > MOST_BYTES {
            return Err(Error::new(Kind::TooLarge, "JSON of more than 1 GiB; send it in parts"));
        }
        let start = source.as_ptr() as usize;
        let mut writer = TapeWriter { tape: Tape::default(), start, known: [0; KNOWN_NAMES] };
        parse_into(&source, &mut writer)?;
        let mut tape = writer.tape;
        tape.nodes.shrink_to_fit();
        tape.source = Text::from_utf8(source).unwrap_or_default();
        Ok(tape)
    }

    /// How many of what it has.
    pub fn size(&self) -> TapeSize {
        self.size
    }

    /// How many nodes it has, at least.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Bytes of memory that it takes, with its text.
    pub fn memory(&self) -> usize {
        self.source.len() + self.unescaped.capacity() + self.nodes.capacity() * size_of::<u64>()
    }

    /// Whether it has none, which a parsed document never is.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The node at a place, and the place of the next one.
    pub fn node(&self, at: usize) -> (Node<'_>, usize) {
        let word = self.nodes.get(at).copied().unwrap_or_default();
        let payload = word & ((1 << PAYLOAD) - 1);
        let next = |offset: usize| self.nodes.get(at + offset).copied().unwrap_or_default();
        let node = match word >> PAYLOAD {
            NIL => Node::Nil,
            FALSE => Node::Bool(false),
            TRUE => Node::Bool(true),
            // The sign of the 60 bits is moved to where a word has it.
            SHORT_INT => Node::Int(((word << (64 - PAYLOAD)) as i64) >> (64 - PAYLOAD)),
            INT => return (Node::Int(next(1) as i64), at + 2),
            FLOAT => return (Node::Float(f64::from_bits(next(1))), at + 2),
            BIG => Node::Big(self.text(payload, TEXT)),
            kind @ (TEXT | UNESCAPED) => Node::Text(self.text(payload, kind)),
            LIST => Node::List(payload as usize),
            _ => Node::Record(payload as usize),
        };
        (node, at + 1)
    }

    fn text(&self, payload: u64, kind: u64) -> &str {
        let (length, offset) = ((payload >> BITS) as usize, (payload & MASK) as usize);
        match kind {
            UNESCAPED => self.unescaped.get(offset..offset + length).unwrap_or_default(),
            _ => self.source.as_str().get(offset..offset + length).unwrap_or_default(),
        }
    }

    /// The document as a value.
    pub fn value(&self) -> Value {
        // The nodes are those of a text that was parsed, and so are its values.
        super::parse(self.source.as_str().as_bytes()).unwrap_or_default()
    }
}

/// How many names the tape remembers to detect repeated ones.
const KNOWN_NAMES: usize = 256;

struct TapeWriter {
    tape: Tape,
    /// The address of the source in memory, to recognize its slices.
    start: usize,
    known: [u32; KNOWN_NAMES],
}

impl TapeWriter {
    fn push(&mut self, kind: u64, payload: u64) {
        self.tape.nodes.push(kind << PAYLOAD | payload);
    }

    fn push_text(&mut self, kind: u64, text: &str, offset: usize) {
        self.push(kind, (text.len() as u64) << BITS | offset as u64);
    }

    /// Adds a text, either borrowed from the source or unescaped.
    fn push_cow(&mut self, text: Cow<'_, str>) {
        match text {
            Cow::Borrowed(text) => self.push_text(TEXT, text, text.as_ptr() as usize - self.start),
            Cow::Owned(text) => {
                let offset = self.tape.unescaped.len();
                self.push_text(UNESCAPED, &text, offset);
                self.tape.unescaped.push_str(&text);
            }
        }
    }

    fn count_text(&mut self, length: usize) {
        self.tape.size.texts += 1;
        self.tape.size.text_bytes += length;
    }
}

impl JsonSink for TapeWriter {
    fn simple(&mut self, value: Value) {
        match value {
            Value::Bool(false) => self.push(FALSE, 0),
            Value::Bool(true) => self.push(TRUE, 0),
            Value::Int(number) => {
                self.tape.size.bigs += usize::from(number.unsigned_abs() > EXACT);
                let short = (number << (64 - PAYLOAD)) as u64;
                if (short as i64) >> (64 - PAYLOAD) == number {
                    self.push(SHORT_INT, short >> (64 - PAYLOAD));
                } else {
                    self.push(INT, 0);
                    self.tape.nodes.push(number as u64);
                }
            }
            Value::Float(number) => {
                self.push(FLOAT, 0);
                self.tape.nodes.push(number.to_bits());
            }
            _ => self.push(NIL, 0),
        }
    }

    fn big(&mut self, digits: &str) {
        self.tape.size.bigs += 1;
        self.tape.size.text_bytes += digits.len();
        self.push_text(BIG, digits, digits.as_ptr() as usize - self.start);
    }

    fn text(&mut self, text: Cow<'_, str>) {
        self.count_text(text.len());
        self.push_cow(text);
    }

    fn begin(&mut self) -> usize {
        self.tape.nodes.push(0);
        self.tape.nodes.len() - 1
    }

    fn end_list(&mut self, begin: usize, elements: usize) {
        self.tape.nodes[begin] = LIST << PAYLOAD | elements as u64;
        self.tape.size.lists += 1;
        self.tape.size.elements += elements;
    }

    fn name(&mut self, name: Cow<'_, str>) {
        // FNV-1a; two names of one hash count as one.
        let hash = name
            .bytes()
            .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
        let known = &mut self.known[hash as usize % KNOWN_NAMES];
        if *known != hash {
            *known = hash;
            self.count_text(name.len());
        }
        self.push_cow(name);
    }

    fn end_record(&mut self, begin: usize, fields: usize) {
        self.tape.nodes[begin] = RECORD << PAYLOAD | fields as u64;
        self.tape.size.records += 1;
        self.tape.size.fields += if fields == 0 { 0 } else { fields.next_power_of_two() };
    }
}

/// A parsed document as content: a store that wants plain data gets its value.
#[derive(Debug)]
pub struct Document(pub Arc<Tape>);

impl Lazy for Document {
    fn encode(&self, form: Form) -> Answer<Bytes> {
        let tape = self.0.clone();
        Answer::later(async move { DATA_POOL.run(move || tape.value().encode(form).into()).await })
    }

    fn is_settled(&self) -> bool {
        true
    }

    fn value(&self) -> Answer<Value> {
        let tape = self.0.clone();
        Answer::later(async move { DATA_POOL.run(move || tape.value()).await })
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The value of the nodes at a position, and the position after them.
    fn value(tape: &Tape, at: usize) -> (Value, usize) {
        let (node, mut at) = tape.node(at);
        let value = match node {
            Node::Nil => Value::Nil,
            Node::Bool(value) => Value::Bool(value),
            Node::Int(value) => Value::Int(value),
            Node::Big(digits) => Value::Big(digits.into()),
            Node::Float(value) => Value::Float(value),
            Node::Text(text) => Value::Text(text.into()),
            Node::List(count) => {
                let mut items = Vec::new();
                for _ in 0..count {
                    let (item, next) = self::value(tape, at);
                    (at, _) = (next, items.push(item));
                }
                Value::List(items)
            }
            Node::Record(count) => {
                let mut fields = Vec::new();
                for _ in 0..count {
                    let (Node::Text(name), next) = tape.node(at) else { panic!("no name") };
                    let (field, next) = self::value(tape, next);
                    (at, _) = (next, fields.push((name.to_string(), field)));
                }
                Value::record(fields)
            }
        };
        (value, at)
    }

    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Nil),
            any::<bool>().prop_map(Value::Bool),
            any::<i64>().prop_map(Value::Int),
            "[1-9][0-9]{19,40}".prop_map(|digits| Value::Big(digits.into())),
            any::<f64>().prop_filter("finite", |float| float.is_finite()).prop_map(Value::Float),
            any::<String>().prop_map(Value::Text),
        ];
        leaf.prop_recursive(5, 40, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::List),
                prop::collection::vec((any::<String>(), inner), 0..6).prop_map(Value::record),
            ]
        })
    }

    proptest! {
        #[test]
        fn a_tape_is_what_the_text_says(expected in json()) {
            let text = Bytes::from(crate::json::text(&expected));
            let tape = Tape::parse(text.clone()).unwrap();
            prop_assert_eq!(&value(&tape, 0).0, &crate::json::parse(&text).unwrap());
            prop_assert_eq!(&value(&tape, 0).1, &tape.len());
        }

        #[test]
        fn its_errors_are_those_of_the_parser(text: String, at: usize) {
            let mut broken = crate::json::text(&Value::Text(text));
            broken.truncate(at % (broken.len() + 1));
            let of_tape = Tape::parse(broken.clone().into()).map(|tape| value(&tape, 0).0);
            let of_values = crate::json::parse(&broken);
            prop_assert_eq!(of_tape.map_err(|error| error.message), of_values.map_err(|error| error.message));
        }
    }

    #[test]
    fn its_size_is_counted() {
        let text = r#"[{"a":1,"b":"\u00e9"},{"a":[],"b":"two","c":12345678901234567890,"d":9007199254740993}]"#;
        let size = Tape::parse(Bytes::from(text)).unwrap().size();
        let texts = ["a", "b", "é", "two", "c", "d"];
        assert_eq!(size.lists, 2);
        assert_eq!(size.elements, 2);
        assert_eq!(size.records, 2);
        assert_eq!(size.fields, 2 + 4);
        assert_eq!(size.texts, texts.len());
        assert_eq!(size.bigs, 2);
        assert_eq!(size.text_bytes, texts.concat().len() + "12345678901234567890".len());
    }

    #[test]
    fn a_tape_is_small() {
        let text = format!("[{}]", vec!["{}"; 10_000].join(","));
        let tape = Tape::parse(text.clone().into()).unwrap();
        assert!(tape.len() * 8 < text.len() * 3);
    }
}
