//! Queries as data: what a store runs itself when it can.

pub(crate) mod run;

use crate::Value;
use crate::value::contract::{Contract, ContractClass, ContractField, ContractKind, FieldType};
use std::sync::Arc;

/// A query over the elements of a collection.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Query {
    /// Which elements; all when absent.
    pub filter: Option<Filter>,
    /// In which order; the store's own when empty.
    pub sort: Vec<Sort>,
    /// At most this many.
    pub limit: Option<u64>,
    /// Number of leading results to skip.
    pub offset: u64,
    /// Only these fields, in this order; all when empty.
    pub fields: Vec<String>,
    /// Only how many there are: the answer is one integer.
    pub count: bool,
}

/// A condition on one element.
#[derive(Clone, Debug, PartialEq)]
pub enum Filter {
    /// A field compared with a value.
    Compare(String, Comparison, Value),
    /// A text field that begins with a text.
    Prefix(String, String),
    /// A text field that ends with a text.
    Suffix(String, String),
    /// A text field that contains a text.
    Contains(String, String),
    /// Every one of them holds.
    All(Vec<Filter>),
    /// At least one of them holds.
    Any(Vec<Filter>),
    /// It does not hold.
    Not(Box<Filter>),
}

/// How two values compare. Nil equals nil and nothing else; booleans equal 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// Equal.
    Equal,
    /// Not equal.
    NotEqual,
    /// Less.
    Less,
    /// Less or equal.
    LessOrEqual,
    /// Greater.
    Greater,
    /// Greater or equal.
    GreaterOrEqual,
}

/// One sort key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sort {
    /// The field.
    pub field: String,
    /// Largest first.
    pub descending: bool,
}

/// What the elements of a collection look like: a class, seen by a store.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    /// The name of the class, such as `Task`.
    pub name: String,
    /// Its fields in the order of their declaration.
    pub fields: Vec<Field>,
    /// The indexes that its collection should have.
    pub indexes: Vec<Index>,
    /// What the class says of its fields beyond their types: limits, patterns, nested classes.
    pub contract: Option<Arc<Contract>>,
}

/// An index over the elements of a collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Index {
    /// The fields it orders by, the first one first.
    pub fields: Vec<String>,
    /// Whether no two elements may agree in all of them.
    pub unique: bool,
}

impl Shape {
    /// The contract of a table: its class, with a generated key as a readonly field.
    pub fn contract_for_clients(&self, generated: Option<&str>) -> Contract {
        let declared = self.contract.as_ref();
        let known = declared.and_then(|contract| contract.classes.first());
        let field = |field: &Field| {
            let known =
                known.and_then(|class| class.fields.iter().find(|one| one.name == field.name));
            let plain = || ContractField::new(&field.name, ContractKind::Plain(field.kind));
            let mut one = known.cloned().unwrap_or_else(plain);
            // A row holds the key of another one.
            if let ContractKind::Key(kind, _) = one.kind.kind {
                one.kind.kind = ContractKind::Plain(kind);
            }
            one.required = field.required && generated != Some(&field.name);
            one.readonly = field.readonly || generated == Some(&field.name);
            one
        };
        let fields = self.fields.iter().map(field).collect();
        let name = self.name.clone();
        let mut classes = vec![ContractClass { name, about: String::new(), fields }];
        let others =
            declared.map_or(&[][..], |contract| contract.classes.get(1..).unwrap_or_default());
        classes.extend(others.iter().cloned());
        Contract { classes, ..Contract::default() }
    }

    /// A shape without indexes.
    pub fn new(name: impl Into<String>, fields: Vec<Field>) -> Self {
        Shape { name: name.into(), fields, indexes: Vec::new(), contract: None }
    }
}

impl Field {
    /// A field that refers to no other collection.
    pub fn new(name: impl Into<String>, kind: FieldType) -> Self {
        Field { name: name.into(), kind, references: None, required: false, readonly: false }
    }
}

/// One field of a shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its type.
    pub kind: FieldType,
    /// The name of the class whose elements it refers to by their keys, where it is declared with
    /// one: a foreign key. Its type is then that of the key.
    pub references: Option<String>,
    /// Whether every element has a value for it.
    pub required: bool,
    /// Whether clients cannot set it; a program can.
    pub readonly: bool,
}
