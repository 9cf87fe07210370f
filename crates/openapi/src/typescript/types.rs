//! Types and classes as types of TypeScript.

use super::{key, quoted, write_comment};
use crate::api::Api;
use crate::schema_names::{SchemaNames, SchemaUse};
use runnel_store::{ContractKind, ContractType, FieldType};

/// Appends an interface for each form of a class.
pub(super) fn write_classes(api: &Api, names: &SchemaNames, out: &mut String) {
    for (class, purpose, name) in names.all() {
        let Some(described) = api.contract.classes.get(class) else { continue };
        write_comment(&described.about, "", out);
        *out += &format!("export interface {name} {{\n");
        for field in &described.fields {
            if !names.has_field(class, purpose, field) {
                continue;
            }
            write_comment(&field.about, "  ", out);
            let fixed = field.readonly && purpose == SchemaUse::Output;
            let plain = ContractType { optional: false, ..field.kind.clone() };
            let mut kind = type_text(names, &plain, purpose);
            if names.is_nullable(api, class, purpose, field) && kind != "unknown" {
                kind += " | null";
            }
            let mark = if names.must_come(api, class, purpose, field) { "" } else { "?" };
            let fixed = if fixed { "readonly " } else { "" };
            *out += &format!("  {fixed}{}{mark}: {kind};\n", key(&field.name));
        }
        *out += "}\n\n";
    }
}

/// The type of a value for one use.
pub(super) fn type_text(names: &SchemaNames, kind: &ContractType, purpose: SchemaUse) -> String {
    let within = purpose.inner();
    let mut text = match &kind.kind {
        ContractKind::Plain(plain) => plain_text(*plain, purpose).to_string(),
        ContractKind::Form(_) => "string".to_string(),
        ContractKind::File | ContractKind::Image => "Blob".to_string(),
        ContractKind::Enumeration(texts) => {
            texts.iter().map(|text| quoted(text)).collect::<Vec<_>>().join(" | ")
        }
        ContractKind::List(element) => {
            let element = element.as_ref().map(|element| type_text(names, element, within));
            match element.unwrap_or_else(|| "unknown".to_string()) {
                element if element.contains(' ') => format!("({element})[]"),
                element => format!("{element}[]"),
            }
        }
        ContractKind::Record => "Record<string, unknown>".to_string(),
        ContractKind::Object(class) => class_name(names, *class, purpose),
        ContractKind::Key(key, class) => {
            format!("{} | {}", plain_text(*key, purpose), class_name(names, *class, purpose))
        }
        ContractKind::OneOf(options) => {
            let mut texts: Vec<String> = Vec::new();
            for option in options {
                let text = type_text(names, option, within);
                if !texts.contains(&text) {
                    texts.push(text);
                }
            }
            texts.join(" | ")
        }
    };
    if text.is_empty() {
        text = "never".to_string();
    }
    if kind.optional && text != "unknown" {
        text += " | null";
    }
    text
}

fn class_name(names: &SchemaNames, class: usize, purpose: SchemaUse) -> String {
    let name = names.name(class, purpose).or_else(|| names.name(class, SchemaUse::Input));
    name.unwrap_or("unknown").to_string()
}

fn plain_text(plain: FieldType, purpose: SchemaUse) -> &'static str {
    match plain {
        FieldType::Any | FieldType::Json => "unknown",
        FieldType::Int | FieldType::Float => "number",
        FieldType::Bool => "boolean",
        FieldType::Text | FieldType::Date => "string",
        // Text keeps the digits that a number of JavaScript would lose.
        FieldType::Decimal => "string | number",
        FieldType::Bytes if purpose == SchemaUse::Output => "string",
        FieldType::Bytes => "Blob",
    }
}
