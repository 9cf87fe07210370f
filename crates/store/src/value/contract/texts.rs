//! The texts of a form as the values that a contract asks for. What does not convert stays text, which
//! the check then refuses with its field.

use super::field_type::FieldType;
use super::kind::{ContractKind, ContractType, uploaded};
use super::{Contract, ContractField};
use crate::Value;

impl Contract {
    /// A record whose values are texts, or lists of texts where a name is repeated, with the values
    /// that the fields of the first class ask for. An empty text is nil unless the field is a text.
    pub fn from_texts(&self, value: Value) -> Value {
        let fields = self.classes.first().map_or(&[][..], |class| &class.fields);
        let Value::Record(given) = value else { return value };
        let converted = given.into_iter().map(|(name, value)| {
            let field = fields.iter().find(|field| field.name == name);
            let value = match field {
                Some(field) => of_field(field, value),
                None => value,
            };
            (name, value)
        });
        Value::Record(converted.collect())
    }
}

fn of_field(field: &ContractField, value: Value) -> Value {
    match (&field.kind.kind, value) {
        // A single one of several that may be repeated.
        (ContractKind::List(Some(element)), Value::List(values)) => {
            Value::List(values.into_iter().map(|value| of_type(element, value)).collect())
        }
        (ContractKind::List(Some(element)), value @ (Value::Text(_) | Value::Record(_))) => {
            Value::List(vec![of_type(element, value)])
        }
        // A checkbox has a hidden field before it, for where it is not checked.
        (ContractKind::Plain(FieldType::Bool), Value::List(mut values)) if !values.is_empty() => {
            of_type(&field.kind, values.pop().unwrap_or_default())
        }
        (_, value) => of_type(&field.kind, value),
    }
}

fn of_type(kind: &ContractType, value: Value) -> Value {
    if let (ContractKind::Plain(FieldType::Bytes), Some(bytes)) = (&kind.kind, uploaded(&value)) {
        return Value::Bytes(bytes.clone());
    }
    let Value::Text(text) = &value else { return value };
    let plain = match &kind.kind {
        ContractKind::Plain(plain) | ContractKind::Key(plain, _) => *plain,
        ContractKind::OneOf(options) => {
            let fitting = options.iter().map(|option| of_type(option, value.clone()));
            let found =
                options.iter().zip(fitting).find(|(option, one)| option.fault(one).is_none());
            return found.map_or(value, |(_, one)| one);
        }
        _ if text.is_empty() && kind.optional => return Value::Nil,
        _ => return value,
    };
    match plain {
        FieldType::Text | FieldType::Any => value,
        _ if text.trim().is_empty() => Value::Nil,
        FieldType::Int => text.trim().parse().map_or(value, Value::Int),
        FieldType::Float => match text.trim().parse::<f64>() {
            Ok(number) if number.is_finite() => Value::Float(number),
            _ => value,
        },
        // What a checkbox sends is `on`.
        FieldType::Bool => match text.as_str() {
            "true" | "1" | "on" => Value::Bool(true),
            "false" | "0" | "off" => Value::Bool(false),
            _ => value,
        },
        _ => value,
    }
}
