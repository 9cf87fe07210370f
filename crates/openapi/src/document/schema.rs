//! Types and classes as JSON Schema (2020-12), for one use each.

use super::problem::texts;
use crate::api::{Api, is_any};
use crate::pattern::{decimal_pattern, ecma_pattern};
use crate::schema_names::{SchemaNames, SchemaUse};
use runnel_store::{
    ContractField, ContractKind, ContractType, FieldType, LimitEnd, TextForm, Value,
};

/// Bytes of an e-mail address (RFC 5321) and of a URL: the limits of a contract.
const MAX_EMAIL: i64 = 254;
const MAX_URL: i64 = 8192;
/// A decimal number as text.
const DECIMAL: &str = r"^[-+]?[0-9]+(\.[0-9]+)?$";
/// A time of day without a zone (RFC 3339 partial-time).
const TIME: &str = r"^([01][0-9]|2[0-3]):[0-5][0-9](:([0-5][0-9]|60)(\.[0-9]{1,9})?)?$";
/// An absolute URL of HTTP, without credentials. A host has 253 bytes at most, hence the short labels.
const URL: &str = concat!(
    r"^[Hh][Tt][Tt][Pp][Ss]?://",
    r"[A-Za-z0-9]([A-Za-z0-9-]{0,39}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,39}[A-Za-z0-9])?){0,5}",
    r"(:([0-9]{1,4}|[1-5][0-9]{4}))?",
    r"([/?#][A-Za-z0-9!#$%&'()*+,./:;=?@\[\]_~-]*)?$",
);

/// The schema of a class for one use.
pub(super) fn class_schema(
    api: &Api,
    names: &SchemaNames,
    class: usize,
    purpose: SchemaUse,
) -> Value {
    let mut schema = Value::record([("type", Value::from("object"))]);
    let Some(described) = api.contract.classes.get(class) else { return schema };
    if !described.about.is_empty() {
        schema.set("description", described.about.as_str().into());
    }
    let mut properties = Value::Record(Vec::new());
    let mut required: Vec<Value> = Vec::new();
    let is_row = described.fields.iter().any(|field| field.name == "id");
    for field in &described.fields {
        if !names.has_field(class, purpose, field) {
            continue;
        }
        let nullable = names.is_nullable(api, class, purpose, field);
        let mut schema = field_schema(names, field, purpose, nullable);
        // A column holds 64 bits; elsewhere integers have any size.
        if is_row && field.kind.kind == ContractKind::Plain(FieldType::Int) {
            schema.set("format", "int64".into());
        }
        properties.set(field.name.as_str(), schema);
        if names.must_come(api, class, purpose, field) {
            required.push(field.name.as_str().into());
        }
    }
    schema.set("properties", properties);
    if !required.is_empty() {
        schema.set("required", required.into());
    }
    if purpose != SchemaUse::Output && !api.contract.drop_unknown {
        schema.set("additionalProperties", false.into());
    }
    schema
}

fn field_schema(
    names: &SchemaNames,
    field: &ContractField,
    purpose: SchemaUse,
    nullable: bool,
) -> Value {
    // Whether nil is a value is a question of the field here: `required` overrides `?`.
    let plain = ContractType { optional: false, ..field.kind.clone() };
    let mut schema = type_schema(names, &plain, purpose);
    if nullable {
        schema = or_null(schema);
    } else if is_any(&plain) && purpose != SchemaUse::Output {
        schema.set("not", Value::record([("type", Value::from("null"))]));
    }
    let mut about = field.about.clone();
    if let Some(words) = decimal_limits(&field.kind) {
        let between = if about.is_empty() { "" } else { " " };
        about = format!("{about}{between}{words}");
    }
    if !about.is_empty() {
        schema.set("description", about.into());
    }
    if field.readonly && purpose == SchemaUse::Output {
        schema.set("readOnly", true.into());
    }
    if let (Some(default), SchemaUse::Input) = (&field.default, purpose) {
        schema.set("default", default.clone());
    }
    schema
}

/// The schema of a type for one use.
pub(super) fn type_schema(names: &SchemaNames, kind: &ContractType, purpose: SchemaUse) -> Value {
    let schema = match &kind.kind {
        ContractKind::Plain(plain) => plain_schema(*plain, kind, purpose),
        ContractKind::Form(form) => form_schema(*form, kind),
        ContractKind::File | ContractKind::Image => binary(),
        ContractKind::Enumeration(texts) => {
            let texts = texts.iter().map(|text| Value::from(text.as_str())).collect::<Vec<_>>();
            Value::record([("type", Value::from("string")), ("enum", texts.into())])
        }
        ContractKind::List(element) => {
            let items =
                element.as_ref().map(|element| type_schema(names, element, purpose.inner()));
            let items = items.unwrap_or_else(|| Value::Record(Vec::new()));
            let mut schema = Value::record([("type", Value::from("array")), ("items", items)]);
            set_lengths(&mut schema, kind, "minItems", "maxItems");
            schema
        }
        ContractKind::Record => Value::record([("type", Value::from("object"))]),
        ContractKind::Object(class) => reference(names, *class, purpose),
        ContractKind::Key(key, class) => {
            let whole = ContractType::from(ContractKind::Plain(*key));
            let mut key = plain_schema(*key, &whole, purpose);
            if whole.kind == ContractKind::Plain(FieldType::Int) {
                key.set("format", "int64".into());
            }
            any_of(vec![key, reference(names, *class, purpose)])
        }
        ContractKind::OneOf(options) => one_of(names, options, purpose),
    };
    if kind.optional { or_null(schema) } else { schema }
}

fn any_of(options: Vec<Value>) -> Value {
    Value::record([("anyOf", Value::List(options))])
}

/// A reference to a component.
pub(super) fn component(room: &str, name: &str) -> Value {
    Value::record([("$ref", Value::from(format!("#/components/{room}/{name}")))])
}

fn reference(names: &SchemaNames, class: usize, purpose: SchemaUse) -> Value {
    match names.name(class, purpose).or_else(|| names.name(class, SchemaUse::Input)) {
        Some(name) => component("schemas", name),
        None => Value::Record(Vec::new()),
    }
}

fn one_of(names: &SchemaNames, options: &[ContractType], purpose: SchemaUse) -> Value {
    let purpose = purpose.inner();
    let schemas: Vec<Value> =
        options.iter().map(|option| type_schema(names, option, purpose)).collect();
    let Some(told) = names.discriminator(options) else { return any_of(schemas) };
    let mut mapping = Value::Record(Vec::new());
    for (text, class) in &told.classes {
        if let Some(name) = names.name(*class, purpose) {
            mapping.set(text.as_str(), format!("#/components/schemas/{name}").into());
        }
    }
    let discriminator =
        Value::record([("propertyName", Value::from(told.field.as_str())), ("mapping", mapping)]);
    Value::record([("oneOf", schemas.into()), ("discriminator", discriminator)])
}

/// The schema with null as another value.
fn or_null(mut schema: Value) -> Value {
    let null = || Value::record([("type", Value::from("null"))]);
    match (schema.get("type").cloned(), schema.get("anyOf").cloned()) {
        (Some(Value::Text(one)), _) if one != "null" => {
            schema.set("type", vec![one.into(), Value::from("null")].into());
        }
        (Some(Value::List(mut types)), _) => {
            if !types.contains(&"null".into()) {
                types.push("null".into());
            }
            schema.set("type", types.into());
        }
        (None, Some(Value::List(mut options))) => {
            if !options.contains(&null()) {
                options.push(null());
            }
            schema.set("anyOf", options.into());
        }
        (None, None) if schema.as_record().is_some_and(|fields| !fields.is_empty()) => {
            schema = any_of(vec![schema, null()]);
        }
        _ => {}
    }
    if let Some(Value::List(mut texts)) = schema.get("enum").cloned()
        && !texts.contains(&Value::Nil)
    {
        texts.push(Value::Nil);
        schema.set("enum", texts.into());
    }
    schema
}

fn binary() -> Value {
    Value::record([("type", Value::from("string")), ("format", "binary".into())])
}

fn formatted(kind: &str, format: &str) -> Value {
    Value::record([("type", Value::from(kind)), ("format", format.into())])
}

fn plain_schema(plain: FieldType, kind: &ContractType, purpose: SchemaUse) -> Value {
    match plain {
        FieldType::Any | FieldType::Json => Value::Record(Vec::new()),
        FieldType::Int => with_range(Value::record([("type", Value::from("integer"))]), kind),
        FieldType::Float => with_range(formatted("number", "double"), kind),
        FieldType::Bool => Value::record([("type", Value::from("boolean"))]),
        FieldType::Text => {
            let mut schema = Value::record([("type", Value::from("string"))]);
            set_text_limits(&mut schema, kind);
            schema
        }
        FieldType::Bytes if purpose == SchemaUse::Output => {
            Value::record([("type", Value::from("string")), ("contentEncoding", "base64".into())])
        }
        FieldType::Bytes => binary(),
        FieldType::Decimal => decimal_schema(kind, purpose),
        FieldType::Date => {
            any_of(vec![formatted("string", "date"), formatted("string", "date-time")])
        }
    }
}

/// JSON carries an exact number as text. A program takes integers too, and may answer numbers.
fn decimal_schema(kind: &ContractType, purpose: SchemaUse) -> Value {
    let mut schema = Value::record([
        ("type", texts(&["string", "integer"])),
        ("format", "decimal".into()),
        ("pattern", decimal_text(kind).into()),
    ]);
    if purpose == SchemaUse::Output {
        schema.set("type", texts(&["string", "number"]));
        return with_range(schema, kind);
    }
    let integer = |number: f64| Value::Int(number as i64);
    if let Some(least) = &kind.least {
        schema.set("minimum", integer(least.number.ceil()));
    }
    if let Some(most) = &kind.most {
        schema.set("maximum", integer(most.number.floor()));
    }
    schema
}

/// The pattern of a decimal number within its limits.
fn decimal_text(kind: &ContractType) -> String {
    let text = |end: &Option<LimitEnd>| end.as_ref().map(|end| end.text.clone());
    let (least, most) = (text(&kind.least), text(&kind.most));
    match least.is_none() && most.is_none() {
        true => DECIMAL.to_string(),
        false => decimal_pattern(least.as_deref(), most.as_deref())
            .unwrap_or_else(|| DECIMAL.to_string()),
    }
}

fn form_schema(form: TextForm, kind: &ContractType) -> Value {
    let mut schema = match form {
        TextForm::Time => formatted("string", "time-local"),
        TextForm::Moment => formatted("string", "date-time"),
        TextForm::Uuid => formatted("string", "uuid"),
        TextForm::Email => formatted("string", "email"),
        // Browsers take characters that `uri` (RFC 3986) refuses.
        TextForm::Url => formatted("string", "url"),
    };
    let (pattern, most) = match form {
        TextForm::Time => (Some(TIME), None),
        TextForm::Email => (None, Some(MAX_EMAIL)),
        TextForm::Url => (Some(URL), Some(MAX_URL)),
        _ => (None, None),
    };
    if let Some(pattern) = pattern {
        schema.set("pattern", pattern.into());
    }
    if let Some(most) = most {
        schema.set("maxLength", most.into());
    }
    set_text_limits(&mut schema, kind);
    schema
}

fn with_range(mut schema: Value, kind: &ContractType) -> Value {
    for (name, end) in [("minimum", &kind.least), ("maximum", &kind.most)] {
        if let Some(end) = end {
            schema.set(name, number(end));
        }
    }
    schema
}

/// A limit as the program writes it: an integer where it is one.
fn number(end: &LimitEnd) -> Value {
    match end.text.parse::<i64>() {
        Ok(number) => Value::Int(number),
        Err(_) if end.text.bytes().all(|byte| byte.is_ascii_digit()) => {
            Value::Big(end.text.as_str().into())
        }
        Err(_) => Value::Float(end.number),
    }
}

fn set_text_limits(schema: &mut Value, kind: &ContractType) {
    set_lengths(schema, kind, "minLength", "maxLength");
    if let Some(pattern) = &kind.pattern
        && let Some(pattern) = ecma_pattern(pattern.text())
    {
        schema.set("pattern", pattern.into());
    }
}

fn set_lengths(schema: &mut Value, kind: &ContractType, least: &str, most: &str) {
    if let Some(end) = kind.least.as_ref().filter(|end| end.number > 0.0) {
        schema.set(least, Value::Int(end.number.ceil() as i64));
    }
    if let Some(end) = &kind.most {
        schema.set(most, Value::Int(end.number.max(0.0) as i64));
    }
}

/// The limits of a decimal number in words, which JSON Schema knows for numbers only.
fn decimal_limits(kind: &ContractType) -> Option<String> {
    if kind.kind != ContractKind::Plain(FieldType::Decimal) {
        return None;
    }
    match (&kind.least, &kind.most) {
        (Some(least), Some(most)) => Some(format!("From {} to {}.", least.text, most.text)),
        (Some(least), None) => Some(format!("At least {}.", least.text)),
        (None, Some(most)) => Some(format!("At most {}.", most.text)),
        (None, None) => None,
    }
}
