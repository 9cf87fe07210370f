//! One type: what its values are, within which limits, and whether a plain value is one of them.

use super::field_type::FieldType;
use super::form::{TextForm, TextPattern};
use crate::{Value, image_type};
use bytes::Bytes;
use std::cmp::Ordering;

/// Characters of a client's text that a message repeats.
const SHOWN: usize = 40;

/// A type with its limits.
#[derive(Clone, Debug, PartialEq)]
pub struct ContractType {
    /// What its values are.
    pub kind: ContractKind,
    /// The least number, or the least length of text, bytes or a list.
    pub least: Option<LimitEnd>,
    /// The greatest number or length.
    pub most: Option<LimitEnd>,
    /// What whole texts match.
    pub pattern: Option<TextPattern>,
    /// Nil is a value of it.
    pub optional: bool,
}

/// What the values of a type are.
#[derive(Clone, Debug, PartialEq)]
pub enum ContractKind {
    /// One plain value.
    Plain(FieldType),
    /// Text of a form.
    Form(TextForm),
    /// An uploaded file.
    File,
    /// An uploaded file whose content is an image that browsers show.
    Image,
    /// One of these texts.
    Enumeration(Vec<String>),
    /// A list; of elements of this type where one is declared.
    List(Option<Box<ContractType>>),
    /// A record of anything.
    Record,
    /// An object of a class of the contract, by its position.
    Object(usize),
    /// A key of this type, or an object of the class that it refers to.
    Key(FieldType, usize),
    /// A value of one of these types.
    OneOf(Vec<ContractType>),
}

/// One end of a range, which belongs to the range.
#[derive(Clone, Debug, PartialEq)]
pub struct LimitEnd {
    /// As the program writes it.
    pub text: String,
    /// As a number.
    pub number: f64,
}

impl From<ContractKind> for ContractType {
    fn from(kind: ContractKind) -> Self {
        ContractType { kind, least: None, most: None, pattern: None, optional: false }
    }
}

impl ContractType {
    /// What its values are, in words: `an integer from 1 to 100`.
    pub fn words(&self) -> String {
        let base = match &self.kind {
            ContractKind::Plain(kind) | ContractKind::Key(kind, _) => kind.words().to_string(),
            ContractKind::Form(form) => form.words().to_string(),
            ContractKind::File => "a file of a form, multipart/form-data".to_string(),
            ContractKind::Image => "an image of a form such as a PNG or JPEG file".to_string(),
            ContractKind::Enumeration(texts) => {
                let texts: Vec<String> = texts.iter().map(|text| format!("'{text}'")).collect();
                format!("one of {}", texts.join(", "))
            }
            ContractKind::List(_) => "an array".to_string(),
            ContractKind::Record | ContractKind::Object(_) => "an object".to_string(),
            ContractKind::OneOf(options) => {
                let options: Vec<String> = options.iter().map(ContractType::words).collect();
                options.join(" or ")
            }
        };
        // A range says more than an example.
        let ranged = self.least.is_some() || self.most.is_some();
        let base = match base.find(',').or_else(|| base.find(" such as ")) {
            Some(end) if ranged && !matches!(self.kind, ContractKind::Enumeration(_)) => {
                &base[..end]
            }
            _ => &base,
        };
        let unit = match &self.kind {
            ContractKind::List(_) => " elements",
            ContractKind::Plain(FieldType::Bytes) | ContractKind::File | ContractKind::Image => {
                " bytes"
            }
            ContractKind::Plain(FieldType::Text) | ContractKind::Form(_) => " characters",
            _ => "",
        };
        let (of, from) = if unit.is_empty() { ("of ", "from ") } else { ("of ", "of ") };
        let range = match (&self.least, &self.most) {
            (Some(least), Some(most)) if least == most && !unit.is_empty() => {
                format!(" {of}{}{unit}", least.text)
            }
            (Some(least), Some(most)) => format!(" {from}{} to {}{unit}", least.text, most.text),
            (Some(least), None) => format!(" {of}at least {}{unit}", least.text),
            (None, Some(most)) => format!(" {of}at most {}{unit}", most.text),
            (None, None) => String::new(),
        };
        let pattern = self.pattern.as_ref();
        let pattern =
            pattern.map_or(String::new(), |one| format!(" that matches /{}/", one.text()));
        format!("{base}{range}{pattern}")
    }

    /// What is wrong with a plain value that is not nil, in words behind `not`; `None` for a value
    /// of the type. Lists, records and objects are looked at by the contract.
    pub(super) fn fault(&self, value: &Value) -> Option<String> {
        let fits = match &self.kind {
            ContractKind::Plain(kind) | ContractKind::Key(kind, _) => kind.admits(value),
            ContractKind::Form(form) => value.as_str().is_some_and(|text| form.admits(text)),
            ContractKind::Enumeration(texts) => {
                value.as_str().is_some_and(|text| texts.iter().any(|one| one == text))
            }
            ContractKind::List(_) => value.as_list().is_some(),
            ContractKind::Record | ContractKind::Object(_) => value.as_record().is_some(),
            ContractKind::File => uploaded(value).is_some(),
            ContractKind::Image => uploaded(value).is_some_and(|data| image_type(data).is_some()),
            ContractKind::OneOf(_) => true,
        };
        if !fits {
            return Some(match (&self.kind, value) {
                (ContractKind::Form(_) | ContractKind::Enumeration(_), Value::Text(text)) => {
                    shown(text)
                }
                (ContractKind::Image, value) if uploaded(value).is_some() => "another file".into(),
                _ => words_of(value).to_string(),
            });
        }
        self.range_fault(value)
    }

    /// A value of the right kind outside its limits.
    fn range_fault(&self, value: &Value) -> Option<String> {
        if (self.least.is_some() || self.most.is_some())
            && let Some((outside, found)) = self.measured(value)
            && outside
        {
            return Some(found);
        }
        match (&self.pattern, value) {
            (Some(pattern), Value::Text(text)) if !pattern.matches(text) => Some(shown(text)),
            _ => None,
        }
    }

    /// Whether a value is outside the range, and what it is in words.
    fn measured(&self, value: &Value) -> Option<(bool, String)> {
        let within = |number: f64| {
            self.least.as_ref().is_none_or(|bound| number >= bound.number)
                && self.most.as_ref().is_none_or(|bound| number <= bound.number)
        };
        let count = |count: usize, unit: &str| (!within(count as f64), format!("{}{unit}", count));
        match value {
            Value::Text(text) if self.kind == ContractKind::Plain(FieldType::Decimal) => {
                let below = self
                    .least
                    .as_ref()
                    .is_some_and(|bound| compare_decimals(text, &bound.text) == Ordering::Less);
                let above = self
                    .most
                    .as_ref()
                    .is_some_and(|bound| compare_decimals(text, &bound.text) == Ordering::Greater);
                Some((below || above, shown(text)))
            }
            Value::Text(text) => Some(count(text.chars().count(), "")),
            Value::Bytes(bytes) => Some(count(bytes.len(), "")),
            Value::List(items) => Some(count(items.len(), "")),
            Value::Record(_) => uploaded(value).map(|bytes| count(bytes.len(), "")),
            Value::Int(number) => Some((!within(*number as f64), number.to_string())),
            Value::Float(number) => Some((!within(*number), number.to_string())),
            Value::Big(digits) => {
                Some((!within(digits.parse().unwrap_or(f64::NAN)), "a larger one".to_string()))
            }
            _ => None,
        }
    }
}

/// The bytes of an uploaded file, which is a record as [`crate::Exchange::form`] makes it; JSON has no bytes.
pub(super) fn uploaded(value: &Value) -> Option<&Bytes> {
    match value.get("data") {
        Some(Value::Bytes(bytes)) => Some(bytes),
        _ => None,
    }
}

/// A text of a client in a message.
fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("'{}…'", &text[..at]),
        None => format!("'{text}'"),
    }
}

/// A kind of value, for messages about JSON.
pub(super) fn words_of(value: &Value) -> &'static str {
    match value {
        Value::Nil => "null",
        Value::Bool(_) => "true or false",
        Value::Int(_) | Value::Big(_) => "an integer",
        Value::Float(_) => "a number with a fraction",
        Value::Text(_) => "text",
        Value::Bytes(_) => "bytes",
        Value::List(_) => "an array",
        Value::Record(_) => "an object",
    }
}

/// The order of two decimal numbers by their digits: exact, whatever their length.
pub fn compare_decimals(one: &str, other: &str) -> Ordering {
    let (one, other) = (Decimals::of(one), Decimals::of(other));
    match (one.negative, other.negative) {
        (true, true) => other.magnitude(&one),
        (false, false) => one.magnitude(&other),
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
    }
}

/// The digits of a decimal number without zeros at its ends.
struct Decimals<'a> {
    negative: bool,
    whole: &'a str,
    fraction: &'a str,
}

impl<'a> Decimals<'a> {
    fn of(text: &'a str) -> Self {
        let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let (whole, fraction) = (whole.trim_start_matches('0'), fraction.trim_end_matches('0'));
        let zero = whole.is_empty() && fraction.is_empty();
        Decimals { negative: text.starts_with('-') && !zero, whole, fraction }
    }

    fn magnitude(&self, other: &Self) -> Ordering {
        let whole = self.whole.len().cmp(&other.whole.len()).then(self.whole.cmp(other.whole));
        whole.then(self.fraction.cmp(other.fraction))
    }
}
