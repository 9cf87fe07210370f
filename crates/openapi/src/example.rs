//! Example values that satisfy their types.

use crate::api::{Api, ApiParameter};
use crate::pattern::matching_text;
use crate::schema_names::{SchemaNames, SchemaUse};
use runnel_store::{
    ContractField, ContractKind, ContractType, FieldType, TextForm, Value, compare_decimals,
};
use std::cmp::Ordering;

/// Objects inside each other in an example; deeper ones are left out where they may be.
const MAX_EXAMPLE_DEPTH: usize = 4;
/// Characters of an example text at most where its type allows it.
const TEXT_LENGTH: usize = 60;
/// Elements and characters that a long minimum may ask for.
const MAX_EXAMPLE_SIZE: usize = 256;

/// Makes examples of one API.
pub(crate) struct ExampleMaker<'a> {
    api: &'a Api,
    names: &'a SchemaNames,
}

impl<'a> ExampleMaker<'a> {
    pub(crate) fn new(api: &'a Api, names: &'a SchemaNames) -> Self {
        ExampleMaker { api, names }
    }

    /// An example of a parameter; none of an optional one whose type says nothing about its text.
    pub(crate) fn parameter(&self, parameter: &ApiParameter) -> Option<Value> {
        let kind = &parameter.kind;
        let free = kind.kind == ContractKind::Plain(FieldType::Text) && kind.pattern.is_none();
        match &parameter.default {
            Some(default) => Some(default.clone()),
            None if free && !parameter.required => None,
            None => self.value(&parameter.kind, SchemaUse::Input, &parameter.name, 0),
        }
    }

    /// An example of the content of a request or an answer.
    pub(crate) fn content(&self, kind: &ContractType, purpose: SchemaUse) -> Option<Value> {
        self.value(kind, purpose, "text", 0)
    }

    /// A value of a type; `name` becomes the text of texts.
    fn value(
        &self,
        kind: &ContractType,
        purpose: SchemaUse,
        name: &str,
        depth: usize,
    ) -> Option<Value> {
        let nil = kind.optional.then_some(Value::Nil);
        let made = match &kind.kind {
            ContractKind::Plain(plain) | ContractKind::Key(plain, _) => {
                plain_value(*plain, kind, purpose, name)
            }
            ContractKind::Form(form) => form_text(*form, kind).map(Value::from),
            ContractKind::File => Some("contents".into()),
            // A text is none.
            ContractKind::Image => None,
            ContractKind::Enumeration(texts) => texts.first().map(|text| text.as_str().into()),
            ContractKind::List(element) => {
                self.list(kind, element.as_deref(), purpose, name, depth)
            }
            ContractKind::Record => Some(Value::Record(vec![])),
            ContractKind::Object(class) => self.object(*class, purpose, depth),
            ContractKind::OneOf(options) => {
                options.iter().find_map(|option| self.value(option, purpose.inner(), name, depth))
            }
        };
        made.or(nil)
    }

    fn list(
        &self,
        kind: &ContractType,
        element: Option<&ContractType>,
        purpose: SchemaUse,
        name: &str,
        depth: usize,
    ) -> Option<Value> {
        let (least, most) = lengths(kind);
        let count = least.max(1).min(most).min(MAX_EXAMPLE_SIZE);
        if count < least {
            return None;
        }
        let example = match element {
            Some(element) => self.value(element, purpose.inner(), name, depth),
            None => Some(name.into()),
        };
        match example {
            Some(example) => Some(Value::List(vec![example; count])),
            None if least == 0 => Some(Value::List(vec![])),
            None => None,
        }
    }

    fn object(&self, class: usize, purpose: SchemaUse, depth: usize) -> Option<Value> {
        if depth >= MAX_EXAMPLE_DEPTH {
            return None;
        }
        let described = self.api.contract.classes.get(class)?;
        let mut made = Vec::new();
        for field in &described.fields {
            if !self.names.has_field(class, purpose, field) {
                continue;
            }
            let example = match &field.default {
                Some(default) => Some(default.clone()),
                None => self.value(&field.kind, purpose.inner(), &field.name, depth + 1),
            };
            let nullable = self.names.is_nullable(self.api, class, purpose, field);
            match example {
                Some(example) => made.push((field.name.clone(), example)),
                None if nullable => made.push((field.name.clone(), Value::Nil)),
                None if self.must_come(class, purpose, field) => return None,
                None => {}
            }
        }
        Some(Value::Record(made))
    }

    fn must_come(&self, class: usize, purpose: SchemaUse, field: &ContractField) -> bool {
        self.names.must_come(self.api, class, purpose, field)
    }
}

/// The limits of a length.
fn lengths(kind: &ContractType) -> (usize, usize) {
    let least = kind.least.as_ref().map_or(0, |end| end.number.max(0.0).ceil() as usize);
    let most = kind.most.as_ref().map_or(usize::MAX, |end| end.number.max(0.0) as usize);
    (least, most)
}

fn plain_value(
    plain: FieldType,
    kind: &ContractType,
    purpose: SchemaUse,
    name: &str,
) -> Option<Value> {
    let within = |number: f64| {
        kind.least.as_ref().is_none_or(|end| number >= end.number)
            && kind.most.as_ref().is_none_or(|end| number <= end.number)
    };
    let ends = || [&kind.least, &kind.most].into_iter().flatten().map(|end| end.number);
    match plain {
        FieldType::Any | FieldType::Json => Some(Value::Text(name.into())),
        FieldType::Int => {
            let near = ends().flat_map(|end| [end.ceil(), end.floor()]);
            let number = std::iter::once(1.0).chain(near).find(|number| within(*number))?;
            Some(Value::Int(number as i64))
        }
        FieldType::Float => {
            let number = std::iter::once(1.5).chain(ends()).find(|number| within(*number))?;
            Some(Value::Float(number))
        }
        FieldType::Bool => Some(Value::Bool(true)),
        FieldType::Text => text_value(kind, name).map(Value::from),
        FieldType::Bytes if purpose == SchemaUse::Output => Some("Ynl0ZXM=".into()),
        FieldType::Bytes => Some("bytes".into()),
        FieldType::Decimal => decimal_text(kind).map(Value::from),
        FieldType::Date => Some("2026-11-21".into()),
    }
}

fn decimal_text(kind: &ContractType) -> Option<String> {
    let inside = |text: &str| {
        let order = |end: &Option<runnel_store::LimitEnd>| {
            end.as_ref().map(|end| compare_decimals(text, &end.text))
        };
        order(&kind.least) != Some(Ordering::Less) && order(&kind.most) != Some(Ordering::Greater)
    };
    let ends = [&kind.least, &kind.most].into_iter().flatten().map(|end| end.text.clone());
    std::iter::once("12.30".to_string()).chain(ends).find(|text| inside(text))
}

fn text_value(kind: &ContractType, name: &str) -> Option<String> {
    let (least, most) = lengths(kind);
    if let Some(pattern) = &kind.pattern {
        return matching_text(pattern, least, most);
    }
    let word = if name.is_empty() { "text" } else { name };
    let length = least.max(word.chars().count().min(TEXT_LENGTH)).min(most);
    if length > MAX_EXAMPLE_SIZE {
        return None;
    }
    Some(word.chars().chain(" ".chars()).cycle().take(length).collect())
}

fn form_text(form: TextForm, kind: &ContractType) -> Option<String> {
    let texts: &[&str] = match form {
        TextForm::Time => &["17:45:30", "17:45"],
        TextForm::Moment => &["2026-11-21T05:30:00Z"],
        TextForm::Uuid => &["f81d4fae-7dec-41d0-a765-00a0c91e6bf6"],
        TextForm::Email => &["ada@example.org", "a@b.de"],
        TextForm::Url => &["https://example.org/", "http://a.de"],
    };
    let (least, most) = lengths(kind);
    let fits = |text: &&&str| {
        (least..=most).contains(&text.chars().count())
            && kind.pattern.as_ref().is_none_or(|pattern| pattern.matches(text))
    };
    texts.iter().find(fits).map(|text| text.to_string())
}
