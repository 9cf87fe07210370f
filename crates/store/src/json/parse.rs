//! JSON text to values.

use crate::{Error, Kind, Result, Value};
use std::borrow::Cow;

/// How deep lists and records may be nested.
pub const MAX_DEPTH: usize = 128;

/// How many digits an integer may have. Converting decimal digits costs more than linear time, so
/// without a bound a short request could keep a worker busy.
pub const MAX_DIGITS: usize = 100_000;

/// Up to this many fields, a pairwise comparison is the fastest search for a repeated name.
const FEW_FIELDS: usize = 16;

/// Reads one JSON text, with nothing but white space around it.
///
/// - An integer is [`Value::Int`] where 64 bits hold it and [`Value::Big`] beyond (`-0` is 0); a
///   number with a fraction or an exponent is the nearest [`Value::Float`].
/// - Records keep the order of their fields. Where a name stands twice the last value counts, at
///   the first one's place.
/// - A byte order mark at the beginning is passed over.
///
/// # Errors
/// [`Kind::Invalid`] with line and column (counted in characters, from 1) for text that is not
/// JSON or not UTF-8, for numbers that no float can hold, and for half a surrogate pair;
/// [`Kind::TooLarge`] beyond [`MAX_DEPTH`] and [`MAX_DIGITS`].
pub fn parse(json: &[u8]) -> Result<Value> {
    let mut values = ValueBuilder::default();
    parse_into(json, &mut values)?;
    Ok(values.values.pop().unwrap_or_default())
}

/// Receives what a JSON text says, in its order.
pub(super) trait JsonSink {
    /// Null, a boolean, an integer or a float.
    fn simple(&mut self, value: Value);
    /// The digits of an integer beyond 64 bits.
    fn big(&mut self, digits: &str);
    fn text(&mut self, text: Cow<'_, str>);
    /// A list or a record begins; returns the value that the matching end receives.
    fn begin(&mut self) -> usize;
    fn end_list(&mut self, begin: usize, elements: usize);
    /// The name of a field; its value follows.
    fn name(&mut self, name: Cow<'_, str>);
    fn end_record(&mut self, begin: usize, fields: usize);
}

/// Parses JSON text into a sink. The sink receives both fields when a record repeats a name.
pub(super) fn parse_into(json: &[u8], sink: &mut impl JsonSink) -> Result<()> {
    let text = match std::str::from_utf8(json) {
        Ok(text) => text,
        Err(error) => {
            let good = String::from_utf8_lossy(&json[..error.valid_up_to()]);
            let place = place(&good, good.len());
            return Err(invalid(&place, "a byte that is not UTF-8; send JSON as UTF-8"));
        }
    };
    let mut parser = JsonParser { text, bytes: json, at: 0, depth: 0, sink };
    if text.starts_with('\u{feff}') {
        parser.at = '\u{feff}'.len_utf8();
    }
    parser.skip_space();
    if parser.at == json.len() {
        return Err(parser.fault("there is no JSON here; an empty value is written null"));
    }
    parser.value()?;
    parser.skip_space();
    if parser.at < json.len() {
        return Err(parser.expected("the end of the text after the value"));
    }
    Ok(())
}

/// Makes a value of it.
#[derive(Default)]
struct ValueBuilder {
    values: Vec<Value>,
    /// Names of the records that are not complete.
    names: Vec<String>,
}

impl JsonSink for ValueBuilder {
    fn simple(&mut self, value: Value) {
        self.values.push(value);
    }

    fn big(&mut self, digits: &str) {
        self.values.push(Value::Big(digits.into()));
    }

    fn text(&mut self, text: Cow<'_, str>) {
        self.values.push(Value::Text(text.into_owned()));
    }

    fn begin(&mut self) -> usize {
        self.values.len()
    }

    fn end_list(&mut self, begin: usize, _: usize) {
        let elements = self.values.split_off(begin);
        self.values.push(Value::List(elements));
    }

    fn name(&mut self, name: Cow<'_, str>) {
        self.names.push(name.into_owned());
    }

    fn end_record(&mut self, begin: usize, fields: usize) {
        let names = self.names.drain(self.names.len() - fields..);
        let mut fields: Vec<_> = names.zip(self.values.drain(begin..)).collect();
        join_doubled(&mut fields);
        self.values.push(Value::Record(fields));
    }
}

struct JsonParser<'a, S> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    depth: usize,
    sink: &'a mut S,
}

impl<'a, S: JsonSink> JsonParser<'a, S> {
    fn value(&mut self) -> Result<()> {
        match self.peek() {
            Some(b'"') => {
                let text = self.string()?;
                self.sink.text(text);
                Ok(())
            }
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b'{') => self.nested(Self::record),
            Some(b'[') => self.nested(Self::list),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'n') => self.word("null", Value::Nil),
            Some(b'\'') => Err(self.expected("a value; JSON text stands in double quotes")),
            Some(b'}' | b']') => Err(self.expected("a value; perhaps there is a comma too many")),
            _ => Err(self.expected("a value")),
        }
    }

    fn nested(&mut self, inner: fn(&mut Self) -> Result<()>) -> Result<()> {
        if self.depth == MAX_DEPTH {
            let message = format!("nested deeper than {MAX_DEPTH} levels; flatten the data");
            return Err(Error { kind: Kind::TooLarge, ..self.fault(&message) });
        }
        self.depth += 1;
        self.at += 1;
        self.skip_space();
        let value = inner(self);
        self.depth -= 1;
        value
    }

    fn list(&mut self) -> Result<()> {
        let begin = self.sink.begin();
        let mut elements = 0;
        if self.take(b']') {
            self.sink.end_list(begin, elements);
            return Ok(());
        }
        loop {
            self.value()?;
            elements += 1;
            self.skip_space();
            if self.take(b']') {
                self.sink.end_list(begin, elements);
                return Ok(());
            }
            if !self.take(b',') {
                return Err(self.expected("`,` or `]` after an element"));
            }
            self.skip_space();
        }
    }

    fn record(&mut self) -> Result<()> {
        let begin = self.sink.begin();
        let mut fields = 0;
        if self.take(b'}') {
            self.sink.end_record(begin, fields);
            return Ok(());
        }
        loop {
            match self.peek() {
                Some(b'"') => {}
                Some(b'}') => {
                    return Err(self.expected("a name; perhaps there is a comma too many"));
                }
                _ => return Err(self.expected("a name in double quotes")),
            }
            let name = self.string()?;
            self.sink.name(name);
            self.skip_space();
            if !self.take(b':') {
                return Err(self.expected("`:` after a name"));
            }
            self.skip_space();
            self.value()?;
            fields += 1;
            self.skip_space();
            if self.take(b'}') {
                self.sink.end_record(begin, fields);
                return Ok(());
            }
            if !self.take(b',') {
                return Err(self.expected("`,` or `}` after a value"));
            }
            self.skip_space();
        }
    }

    fn number(&mut self) -> Result<()> {
        let start = self.at;
        self.take(b'-');
        let first = self.at;
        let digits = self.digits("a digit")?;
        if digits > 1 && self.bytes[first] == b'0' {
            self.at = first;
            return Err(self.fault("a number with a leading zero; leave the zero out"));
        }
        let mut whole = true;
        if self.take(b'.') {
            whole = false;
            self.digits("a digit after the decimal point")?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            whole = false;
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits("a digit in the exponent")?;
        }
        let text = &self.text[start..self.at];
        if !whole {
            return match text.parse::<f64>() {
                Ok(number) if number.is_finite() => {
                    self.sink.simple(Value::Float(number));
                    Ok(())
                }
                _ => {
                    self.at = start;
                    Err(self.fault("a number too large for a float; write it without exponent"))
                }
            };
        }
        if let Ok(number) = text.parse::<i64>() {
            self.sink.simple(Value::Int(number));
            return Ok(());
        }
        if digits > MAX_DIGITS {
            self.at = start;
            let message = format!("an integer of more than {MAX_DIGITS} digits; send it as text");
            return Err(Error { kind: Kind::TooLarge, ..self.fault(&message) });
        }
        self.sink.big(text);
        Ok(())
    }

    fn digits(&mut self, wanted: &str) -> Result<usize> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at == start { Err(self.expected(wanted)) } else { Ok(self.at - start) }
    }

    fn word(&mut self, word: &str, value: Value) -> Result<()> {
        if !self.bytes[self.at..].starts_with(word.as_bytes()) {
            return Err(self.expected(&format!("a value; perhaps `{word}`")));
        }
        self.at += word.len();
        self.sink.simple(value);
        Ok(())
    }

    /// A string; the opening quote is the next byte. Borrowed where it has no escapes.
    fn string(&mut self) -> Result<Cow<'a, str>> {
        let opening = self.at;
        self.at += 1;
        let mut text = String::new();
        loop {
            let rest = &self.bytes[self.at..];
            let plain = super::write::plain_prefix(rest);
            let part = &self.text[self.at..self.at + plain];
            self.at += plain;
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    if text.is_empty() {
                        return Ok(Cow::Borrowed(part));
                    }
                    text.push_str(part);
                    return Ok(Cow::Owned(text));
                }
                Some(b'\\') => {
                    text.push_str(part);
                    text.push(self.escape()?);
                }
                Some(control) => {
                    let message =
                        format!("a raw control character in a text; write it \\u{control:04x}");
                    return Err(self.fault(&message));
                }
                None => {
                    self.at = opening;
                    return Err(self.fault("a text that begins here and does not end; close it"));
                }
            }
        }
    }

    fn escape(&mut self) -> Result<char> {
        let start = self.at;
        self.at += 1;
        let character = match self.peek() {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.at += 1;
                return self.unicode(start);
            }
            _ => {
                self.at = start;
                let message = "an unknown escape; JSON has \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\u";
                return Err(self.fault(message));
            }
        };
        self.at += 1;
        Ok(character)
    }

    /// The four hexadecimal digits of `\u`, and a second escape where it is half a pair.
    fn unicode(&mut self, start: usize) -> Result<char> {
        let first = self.hexadecimal(start)?;
        let code = match first {
            0xd800..=0xdbff => {
                if !self.bytes[self.at..].starts_with(b"\\u") {
                    return Err(self.half_pair(start));
                }
                self.at += 2;
                let second = self.hexadecimal(start)?;
                if !(0xdc00..=0xdfff).contains(&second) {
                    return Err(self.half_pair(start));
                }
                0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)
            }
            code => code,
        };
        char::from_u32(code).ok_or_else(|| self.half_pair(start))
    }

    fn hexadecimal(&mut self, start: usize) -> Result<u32> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|byte| char::from(byte).to_digit(16));
            let Some(digit) = digit else {
                self.at = start;
                return Err(self.fault("\\u needs four hexadecimal digits"));
            };
            code = code * 16 + digit;
            self.at += 1;
        }
        Ok(code)
    }

    fn half_pair(&mut self, start: usize) -> Error {
        self.at = start;
        self.fault("half a surrogate pair; characters beyond \\uffff need both halves")
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    fn expected(&self, wanted: &str) -> Error {
        match self.text.get(self.at..).and_then(|rest| rest.chars().next()) {
            Some(found) => self.fault(&format!("found `{found}`, expected {wanted}")),
            None => self.fault(&format!("the text ends, expected {wanted}")),
        }
    }

    fn fault(&self, message: &str) -> Error {
        invalid(&place(self.text, self.at), message)
    }
}

fn invalid(place: &str, message: &str) -> Error {
    Error::new(Kind::Invalid, format!("JSON, {place}: {message}"))
}

/// Line and column of a byte, in characters, from 1.
fn place(text: &str, at: usize) -> String {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    format!("line {line}, column {column}")
}

/// Merges fields of the same name: the last value, at the first position.
fn join_doubled(fields: &mut Vec<(String, Value)>) {
    if fields.len() <= FEW_FIELDS {
        let doubled =
            (1..fields.len()).any(|at| fields[..at].iter().any(|field| field.0 == fields[at].0));
        if !doubled {
            return;
        }
    }
    // Sorted by name and place, the same names lie side by side in the order they were written.
    let mut order: Vec<usize> = (0..fields.len()).collect();
    order.sort_by(|&a, &b| fields[a].0.cmp(&fields[b].0).then(a.cmp(&b)));
    let mut spent = vec![false; fields.len()];
    let mut found = false;
    for run in order.chunk_by(|&a, &b| fields[a].0 == fields[b].0).collect::<Vec<_>>() {
        if let [first, .., last] = *run {
            found = true;
            let value = std::mem::take(&mut fields[last].1);
            fields[first].1 = value;
            run[1..].iter().for_each(|&at| spent[at] = true);
        }
    }
    if found {
        let mut at = 0;
        fields.retain(|_| {
            at += 1;
            !spent[at - 1]
        });
    }
}
