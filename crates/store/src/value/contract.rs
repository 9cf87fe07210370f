//! What a class says of its fields, and whether plain data obeys it: the one check of content that
//! comes from outside, for converters and tables.

mod check;
mod field_type;
mod form;
mod kind;
mod read;
mod texts;

pub use field_type::FieldType;
pub use form::{TextForm, TextPattern};
pub use kind::{ContractKind, ContractType, LimitEnd, compare_decimals};

use crate::{Error, FieldProblem, Kind, Value};

/// Problems of one content that are reported together.
pub const MAX_PROBLEMS: usize = 20;

/// A class and the classes of its fields.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Contract {
    /// The class itself comes first.
    pub classes: Vec<ContractClass>,
    /// Every field must come that is neither optional nor readonly, has no default, and is not the
    /// key. Otherwise only those that are required.
    pub strict: bool,
    /// Fields that the class lacks are left out instead of refused: see [`Contract::without_unknown`].
    pub drop_unknown: bool,
    /// The type of the whole content where it is not an object of the first class.
    pub root: Option<ContractType>,
}

/// One class of a contract.
#[derive(Clone, Debug, PartialEq)]
pub struct ContractClass {
    /// Its name, such as `Task`.
    pub name: String,
    /// The comment above the class, for people.
    pub about: String,
    /// Its fields in the order of their declaration.
    pub fields: Vec<ContractField>,
}

/// One field of a class.
#[derive(Clone, Debug, PartialEq)]
pub struct ContractField {
    /// Its name.
    pub name: String,
    /// What its values are.
    pub kind: ContractType,
    /// Neither nil nor absent.
    pub required: bool,
    /// Not set by a client.
    pub readonly: bool,
    /// No two rows have the same value.
    pub unique: bool,
    /// What it holds where a client leaves it out.
    pub default: Option<Value>,
    /// A value is made for each object where a client leaves it out.
    pub computed: bool,
    /// Rows that refer to the object: there where they were read with it, and nowhere else.
    pub included: bool,
    /// The comment above the field, for people.
    pub about: String,
}

impl ContractField {
    /// A field that a client may set or leave out.
    pub fn new(name: impl Into<String>, kind: impl Into<ContractType>) -> Self {
        ContractField {
            name: name.into(),
            kind: kind.into(),
            required: false,
            readonly: false,
            unique: false,
            default: None,
            computed: false,
            included: false,
            about: String::new(),
        }
    }

    /// Whether a client has to send it with a new object.
    pub fn must_come(&self, strict: bool) -> bool {
        let given = self.readonly || self.default.is_some() || self.computed;
        !given && (self.required || (strict && !self.kind.optional && self.name != "id"))
    }
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

impl Contract {
    /// A record, or each of a list, with the constants of the first class that it leaves out.
    pub fn filled(&self, value: Value) -> Value {
        let fields = self.classes.first().map_or(&[][..], |class| &class.fields);
        match value {
            Value::List(records) if fields.iter().any(|field| field.default.is_some()) => {
                Value::List(records.into_iter().map(|record| self.filled(record)).collect())
            }
            Value::Record(mut given) => {
                for field in fields {
                    let Some(default) = &field.default else { continue };
                    if !given.iter().any(|(name, _)| name.eq_ignore_ascii_case(&field.name)) {
                        given.push((field.name.clone(), default.clone()));
                    }
                }
                Value::Record(given)
            }
            value => value,
        }
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
