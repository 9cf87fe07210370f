//! A contract from the plain data that the kernel makes of classes. The same data, as a value of
//! the program, describes a class for documents and forms:
//!
//! ```text
//! { classes: [ { name, about, fields: [ FIELD … ] } … ], strict, dropUnknown, root: TYPE }
//! FIELD = { name, type: TYPE, required, readonly, unique, default: VALUE, computed, included, about }
//! TYPE  = { kind, name, min, max, pattern, values, element: TYPE, class, options: [ TYPE … ], optional }
//! ```
//!
//! `kind` is any, int, float, decimal, bool, string, date, time, moment, uuid, email, url, bytes, file,
//! image, enum, list, record, object, key or oneOf; `class` is the position of a class. What does not
//! apply is absent. `default` is a constant, and `computed` says that a value is made for each object.

use super::field_type::FieldType;
use super::form::{TextForm, TextPattern};
use super::kind::{ContractKind, ContractType, LimitEnd};
use super::{Contract, ContractClass, ContractField};
use crate::Value;

/// Types inside each other; the kernel makes no deeper ones.
const MAX_TYPE_DEPTH: usize = 16;

impl Contract {
    /// The contract that plain data describes. What cannot be understood takes any value.
    pub fn read(described: &Value) -> Contract {
        let classes = list(described.get("classes")).iter().map(|class| ContractClass {
            name: text(class.get("name")),
            about: text(class.get("about")),
            fields: list(class.get("fields")).iter().map(read_field).collect(),
        });
        Contract {
            classes: classes.collect(),
            strict: flag(described, "strict"),
            drop_unknown: flag(described, "dropUnknown"),
            root: described
                .get("root")
                .filter(|root| !root.is_nil())
                .map(|root| read_type(root, 0)),
        }
    }
}

fn read_field(field: &Value) -> ContractField {
    let kind = field.get("type").map(|kind| read_type(kind, 0));
    ContractField {
        kind: kind.unwrap_or_else(|| ContractKind::Plain(FieldType::Any).into()),
        required: flag(field, "required"),
        readonly: flag(field, "readonly"),
        unique: flag(field, "unique"),
        default: field.get("default").filter(|value| !value.is_nil()).cloned(),
        computed: flag(field, "computed"),
        included: flag(field, "included"),
        about: text(field.get("about")),
        ..ContractField::new(text(field.get("name")), ContractKind::Record)
    }
}

/// The type that plain data describes.
pub(crate) fn read_type(described: &Value, depth: usize) -> ContractType {
    let inner = |name: &str| match described.get(name) {
        Some(inner) if !inner.is_nil() && depth < MAX_TYPE_DEPTH => {
            Some(read_type(inner, depth + 1))
        }
        _ => None,
    };
    let name = text(described.get("kind"));
    let class = match described.get("class") {
        Some(Value::Int(place)) => usize::try_from(*place).unwrap_or(usize::MAX),
        Some(Value::Float(place)) => *place as usize,
        _ => usize::MAX,
    };
    let kind = match name.as_str() {
        "list" => ContractKind::List(inner("element").map(Box::new)),
        "record" => ContractKind::Record,
        "file" => ContractKind::File,
        "image" => ContractKind::Image,
        "object" => ContractKind::Object(class),
        "key" => {
            let key = FieldType::named(&text(described.get("name")));
            ContractKind::Key(key.unwrap_or(FieldType::Any), class)
        }
        "enum" => {
            let texts = list(described.get("values")).iter();
            ContractKind::Enumeration(texts.map(|one| text(Some(one))).collect())
        }
        "oneOf" => {
            let options = list(described.get("options")).iter();
            ContractKind::OneOf(options.map(|one| read_type(one, depth + 1)).collect())
        }
        name => match TextForm::named(name) {
            Some(form) => ContractKind::Form(form),
            None => ContractKind::Plain(FieldType::named(name).unwrap_or(FieldType::Any)),
        },
    };
    ContractType {
        kind,
        least: bound(described.get("min")),
        most: bound(described.get("max")),
        pattern: described.get("pattern").and_then(Value::as_str).and_then(TextPattern::new),
        optional: flag(described, "optional"),
    }
}

fn bound(value: Option<&Value>) -> Option<LimitEnd> {
    match value? {
        Value::Text(text) => Some(LimitEnd { text: text.clone(), number: text.parse().ok()? }),
        Value::Int(number) => Some(LimitEnd { text: number.to_string(), number: *number as f64 }),
        Value::Float(number) => Some(LimitEnd { text: number.to_string(), number: *number }),
        _ => None,
    }
}

fn list(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_list).unwrap_or_default()
}

fn text(value: Option<&Value>) -> String {
    value.and_then(Value::as_str).unwrap_or_default().to_string()
}

fn flag(described: &Value, name: &str) -> bool {
    described.get(name) == Some(&Value::Bool(true))
}
