//! What a class says of its fields, and whether plain data obeys it: the one check of content that
//! comes from outside, for converters and tables.

use crate::{Error, FieldProblem, FieldType, Kind, Result, Shape, Value};

/// Problems of one content that are reported together.
pub const MAX_PROBLEMS: usize = 20;

/// Objects inside each other that are checked; content nested deeper does not parse.
const MAX_DEPTH: usize = 128;

/// A class and the classes of its fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contract {
    /// The class itself comes first.
    pub classes: Vec<ContractClass>,
}

impl Contract {
    /// What the kernel says of classes: for each its name and its fields; a field is its name, its type,
    /// whether it is required, whether it is readonly, and the place of its class where it has one.
    pub fn read(classes: &[Value]) -> Contract {
        let text = |value: Option<&Value>| match value {
            Some(Value::Text(text)) => text.clone(),
            _ => String::new(),
        };
        let classes = classes.iter().filter_map(Value::as_list).map(|class| {
            let fields = class.get(1).and_then(Value::as_list).unwrap_or_default();
            let fields = fields.iter().filter_map(Value::as_list).map(|parts| {
                let flag = |at: usize| parts.get(at) == Some(&Value::Bool(true));
                let class = match parts.get(4) {
                    Some(Value::Int(place)) => usize::try_from(*place).ok(),
                    _ => None,
                };
                let kind = text(parts.get(1));
                let plain = FieldType::named(&kind);
                let kind = match (kind.as_str(), class, plain) {
                    ("list", ..) => ContractKind::List,
                    ("record", ..) => ContractKind::Record,
                    (_, Some(class), Some(key)) => ContractKind::Key(key, class),
                    (_, Some(class), None) => ContractKind::Object(class),
                    (_, None, plain) => ContractKind::Plain(plain.unwrap_or(FieldType::Any)),
                };
                ContractField {
                    name: text(parts.first()),
                    kind,
                    required: flag(2),
                    readonly: flag(3),
                }
            });
            ContractClass { name: text(class.first()), fields: fields.collect() }
        });
        Contract { classes: classes.collect() }
    }
}

/// One class of a contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContractClass {
    /// Its name, such as `Task`.
    pub name: String,
    /// Its fields in the order of their declaration.
    pub fields: Vec<ContractField>,
}

/// One field of a class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContractField {
    /// Its name.
    pub name: String,
    /// What its values are.
    pub kind: ContractKind,
    /// Neither nil nor absent.
    pub required: bool,
    /// Not set by a client.
    pub readonly: bool,
}

/// What the values of a field are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContractKind {
    /// One plain value.
    Plain(FieldType),
    /// A list of anything.
    List,
    /// A record of anything.
    Record,
    /// An object of a class of the contract, by its position.
    Object(usize),
    /// A key of this type, or an object of the class that it refers to.
    Key(FieldType, usize),
}

/// What a verb does with a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordUse {
    /// It becomes a new element.
    Create,
    /// It becomes the element of a key.
    Replace,
    /// The fields that it names change.
    Change,
}

impl FieldType {
    /// The type of a name in a program, such as `int`.
    pub fn named(name: &str) -> Option<FieldType> {
        Some(match name.to_ascii_lowercase().as_str() {
            "int" | "integer" | "long" | "nsinteger" => FieldType::Int,
            "float" | "double" | "number" => FieldType::Float,
            "bool" | "boolean" => FieldType::Bool,
            "string" | "text" | "nsstring" => FieldType::Text,
            "data" | "bytes" | "nsdata" => FieldType::Bytes,
            "decimal" | "nsdecimalnumber" => FieldType::Decimal,
            "date" | "datetime" | "time" | "nsdate" => FieldType::Date,
            _ => return None,
        })
    }

    /// Its name in programs and messages.
    pub fn name(self) -> &'static str {
        match self {
            FieldType::Any => "any",
            FieldType::Int => "int",
            FieldType::Float => "float",
            FieldType::Bool => "bool",
            FieldType::Text => "string",
            FieldType::Bytes => "bytes",
            FieldType::Decimal => "decimal",
            FieldType::Date => "date",
        }
    }

    /// What its values are, in words.
    pub fn words(self) -> &'static str {
        match self {
            FieldType::Any => "any value",
            FieldType::Int => "an integer",
            FieldType::Float => "a number",
            FieldType::Bool => "true or false",
            FieldType::Text => "text",
            FieldType::Bytes => "bytes, which JSON cannot write",
            FieldType::Decimal => "a decimal number, written as text such as \"12.30\"",
            FieldType::Date => "a date such as \"2026-11-21T05:30:00Z\"",
        }
    }

    /// Whether a value that is not nil is one of this type. Nothing is converted, except that an
    /// integer is a float and a decimal number too.
    pub fn admits(self, value: &Value) -> bool {
        match (self, value) {
            (FieldType::Any, _)
            | (FieldType::Int, Value::Int(_) | Value::Big(_))
            | (FieldType::Float, Value::Int(_) | Value::Big(_))
            | (FieldType::Bool, Value::Bool(_))
            | (FieldType::Text, Value::Text(_))
            | (FieldType::Bytes, Value::Bytes(_))
            | (FieldType::Decimal, Value::Int(_) | Value::Big(_)) => true,
            (FieldType::Int, Value::Float(number)) => number.fract() == 0.0,
            (FieldType::Float, Value::Float(number)) => number.is_finite(),
            (FieldType::Decimal, Value::Text(text)) => is_decimal(text),
            (FieldType::Date, Value::Text(text)) => is_date(text),
            _ => false,
        }
    }
}

/// Whether a text is a decimal number: digits with a sign and a point at most.
fn is_decimal(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    number(whole) && number(fraction)
}

/// Whether a text begins as RFC 3339 writes dates: `2026-11-21`, and a time behind it. What reads
/// the date checks the rest.
fn is_date(text: &str) -> bool {
    let digits = |from: usize, to: usize| {
        text.get(from..to).is_some_and(|part| part.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let number = |from: usize, to: usize| text.get(from..to).and_then(|part| part.parse().ok());
    let within =
        |from: usize, largest: u32| number(from, from + 2).is_some_and(|n: u32| n <= largest);
    let dashes = text.get(4..5) == Some("-") && text.get(7..8) == Some("-");
    let day = digits(0, 4) && digits(5, 7) && digits(8, 10) && within(5, 12) && within(8, 31);
    let time = match text.get(10..) {
        Some("") => true,
        Some(rest) => {
            let colons = text.get(13..14) == Some(":");
            rest.starts_with(['T', 't', ' ']) && colons && within(11, 23) && within(14, 59)
        }
        None => false,
    };
    dashes && day && time && text.len() <= 40
}

/// A kind of value, for messages about JSON.
fn words_of(value: &Value) -> &'static str {
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

/// The problems that were found, up to [`MAX_PROBLEMS`].
#[derive(Default)]
struct Problems(Vec<FieldProblem>);

impl Problems {
    fn add(&mut self, pointer: &Pointer<'_>, message: String) {
        if self.0.len() < MAX_PROBLEMS {
            self.0.push(FieldProblem { pointer: pointer.text(), message });
        }
    }

    fn is_full(&self) -> bool {
        self.0.len() >= MAX_PROBLEMS
    }
}

/// A place in the content. Its text is made for problems only.
struct Pointer<'a> {
    name: &'a str,
    above: Option<&'a Pointer<'a>>,
}

impl Pointer<'_> {
    fn text(&self) -> String {
        let Some(above) = self.above else { return String::new() };
        format!("{}{}", above.text(), pointer_of(self.name))
    }

    fn depth(&self) -> usize {
        self.above.map_or(0, |above| above.depth() + 1)
    }
}

/// The JSON pointer of a field (RFC 6901).
pub fn pointer_of(name: &str) -> String {
    format!("/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// The error for content whose fields are wrong.
pub fn unprocessable(fields: Vec<FieldProblem>) -> Error {
    let said: Vec<String> = fields
        .iter()
        .map(|field| match field.pointer.get(1..) {
            // Most messages begin with the name of their field.
            Some(inner) if !field.message.starts_with(inner) => {
                format!("{}: {}", field.pointer, field.message)
            }
            _ => field.message.clone(),
        })
        .collect();
    let mut error = Error::new(Kind::Unprocessable, said.join("; "));
    error.fields = fields;
    error
}

impl Contract {
    /// The contract of a table: its class, with a generated key as a readonly field.
    pub fn of_table(shape: &Shape, generated: Option<&str>) -> Self {
        let field = |field: &crate::Field| ContractField {
            name: field.name.clone(),
            kind: ContractKind::Plain(field.kind),
            required: field.required && generated != Some(&field.name),
            readonly: field.readonly || generated == Some(&field.name),
        };
        let fields = shape.fields.iter().map(field).collect();
        Contract { classes: vec![ContractClass { name: shape.name.clone(), fields }] }
    }

    /// Checks content from a client, except for the fields that the program has set in it.
    ///
    /// # Errors
    /// [`Kind::Unprocessable`] with all problems of the content, at most [`MAX_PROBLEMS`].
    pub fn check(&self, value: &Value, purpose: RecordUse, granted: &[String]) -> Result<()> {
        let Some(class) = self.classes.first() else { return Ok(()) };
        let mut problems = Problems::default();
        let root = Pointer { name: "", above: None };
        self.object(class, value, purpose, &root, &mut problems);
        problems
            .0
            .retain(|problem| !granted.iter().any(|name| problem.pointer == pointer_of(name)));
        match problems.0.is_empty() {
            true => Ok(()),
            false => Err(unprocessable(problems.0)),
        }
    }

    /// Checks that a record for a table has what every row needs, from programs and clients.
    ///
    /// # Errors
    /// [`Kind::Invalid`] with the fields that are missing.
    pub fn complete(&self, value: &Value, purpose: RecordUse) -> Result<()> {
        let (Some(class), Some(fields)) = (self.classes.first(), value.as_record()) else {
            return Ok(());
        };
        let mut problems = Problems::default();
        let root = Pointer { name: "", above: None };
        for field in class.fields.iter().filter(|field| field.required) {
            let value = fields.iter().find(|(name, _)| name.eq_ignore_ascii_case(&field.name));
            let kept = purpose == RecordUse::Change
                || (purpose == RecordUse::Replace && (field.readonly || field.name == "id"));
            let missing = value.map_or(!kept, |(_, value)| value.is_nil());
            if missing {
                let (name, class) = (&field.name, &class.name);
                let place = Pointer { name, above: Some(&root) };
                problems.add(&place, format!("{name} of {class} is required"));
            }
        }
        match problems.0.is_empty() {
            true => Ok(()),
            false => Err(Error { kind: Kind::Invalid, ..unprocessable(problems.0) }),
        }
    }

    /// Checks one object.
    fn object(
        &self,
        class: &ContractClass,
        value: &Value,
        purpose: RecordUse,
        at: &Pointer<'_>,
        problems: &mut Problems,
    ) {
        let Some(fields) = value.as_record() else {
            let wanted = match value {
                Value::List(_) => "one object is expected here, not an array".into(),
                value => format!("an object is expected here, not {}", words_of(value)),
            };
            return problems.add(at, wanted);
        };
        for (name, value) in fields {
            if problems.is_full() {
                return;
            }
            let place = Pointer { name, above: Some(at) };
            match class.fields.iter().find(|field| field.name == *name) {
                Some(field) => self.field(field, value, purpose, &place, problems),
                None => {
                    let known = class.fields.iter().filter(|field| !field.readonly);
                    let known: Vec<&str> = known.map(|field| field.name.as_str()).collect();
                    let (class, known) = (&class.name, known.join(", "));
                    problems.add(&place, format!("{class} has no field `{name}`; it has {known}"));
                }
            }
        }
        if purpose == RecordUse::Change {
            return;
        }
        // A client cannot set readonly fields.
        for field in class.fields.iter().filter(|field| field.required && !field.readonly) {
            let given = fields.iter().any(|(name, _)| *name == field.name);
            if !given {
                let place = Pointer { name: &field.name, above: Some(at) };
                problems.add(&place, format!("{} is required", field.name));
            }
        }
    }

    fn field(
        &self,
        field: &ContractField,
        value: &Value,
        purpose: RecordUse,
        at: &Pointer<'_>,
        problems: &mut Problems,
    ) {
        let name = &field.name;
        if field.readonly {
            // The key may be repeated where the path names it, and left open where it is made.
            let key = name == "id" && purpose != RecordUse::Create;
            let open = value.is_nil() && purpose == RecordUse::Create;
            if !key && !open {
                return problems.add(at, format!("{name} cannot be set by a client"));
            }
        }
        if value.is_nil() {
            if field.required && !field.readonly {
                problems.add(at, format!("{name} is required; it cannot be null"));
            }
            return;
        }
        let plain = |kind: FieldType, problems: &mut Problems| {
            if !kind.admits(value) {
                problems.add(at, format!("{name} is {}, not {}", kind.words(), words_of(value)));
            }
        };
        match field.kind {
            ContractKind::Plain(kind) => plain(kind, problems),
            ContractKind::List if value.as_list().is_none() => {
                problems.add(at, format!("{name} is an array, not {}", words_of(value)));
            }
            ContractKind::Record if value.as_record().is_none() => {
                problems.add(at, format!("{name} is an object, not {}", words_of(value)));
            }
            ContractKind::List | ContractKind::Record => {}
            ContractKind::Key(kind, _) if value.as_record().is_none() => plain(kind, problems),
            ContractKind::Object(class) | ContractKind::Key(_, class) => {
                if at.depth() > MAX_DEPTH {
                    return problems
                        .add(at, format!("more than {MAX_DEPTH} objects inside each other"));
                }
                if let Some(class) = self.classes.get(class) {
                    // The object as a whole is new; it may name a row by its key.
                    self.object(class, value, RecordUse::Replace, at, problems);
                }
            }
        }
    }
}
