//! Types in words, and classes as tables.

use super::markup::{code, escaped, inline, paragraphs, slug, table};
use crate::api::Api;
use crate::schema_names::{SchemaNames, SchemaUse};
use runnel_store::{ContractKind, ContractType, FieldType, LimitEnd};

/// Appends every form of every class.
pub(super) fn write_schemas(api: &Api, names: &SchemaNames, html: &mut String) {
    if names.all().next().is_none() {
        return;
    }
    *html += "<section aria-labelledby=\"schemas\">\n<h2 id=\"schemas\">Schemas</h2>\n";
    for (class, purpose, name) in names.all() {
        let Some(described) = api.contract.classes.get(class) else { continue };
        let (id, shown) = (slug("schema", name), escaped(name));
        *html += &format!("<article class=\"schema\">\n<h3 id=\"{id}\">{shown}</h3>\n");
        paragraphs(&described.about, html);
        let hint = match purpose {
            SchemaUse::Output => "The API answers it; every field is there.",
            SchemaUse::Input => "Clients send it.",
            SchemaUse::Patch => "Clients send the fields that change.",
        };
        *html += &format!("<p class=\"quiet small\">{hint}</p>\n");
        write_fields(api, names, class, purpose, &format!("Fields of {name}"), html);
        *html += "</article>\n";
    }
    *html += "</section>\n";
}

/// Appends the fields of one form of a class.
fn write_fields(
    api: &Api,
    names: &SchemaNames,
    class: usize,
    purpose: SchemaUse,
    label: &str,
    html: &mut String,
) {
    let Some(described) = api.contract.classes.get(class) else { return };
    let fields = described.fields.iter().filter(|field| names.has_field(class, purpose, field));
    let rows: Vec<Vec<String>> = fields
        .map(|field| {
            let plain = ContractType { optional: false, ..field.kind.clone() };
            let mut kind = words(names, &plain, purpose);
            if names.is_nullable(api, class, purpose, field) && !crate::api::is_any(&plain) {
                kind += " or null";
            }
            let mut about = inline(&field.about);
            let mut note = |text: String| {
                if !about.is_empty() {
                    about.push(' ');
                }
                about += &text;
            };
            if let (Some(default), SchemaUse::Input) = (&field.default, purpose) {
                note(format!("Default {}.", code(default)));
            }
            if field.unique {
                note("Unique.".into());
            }
            if field.readonly && purpose == SchemaUse::Output {
                note("Read-only.".into());
            }
            let must = names.must_come(api, class, purpose, field) && purpose != SchemaUse::Output;
            vec![name_cell(&field.name, must), kind, about]
        })
        .collect();
    table(label, &["Field", "Type", "Description"], &rows, html);
}

/// A name, marked where it must be there.
pub(super) fn name_cell(name: &str, required: bool) -> String {
    let mark = if required { " <span class=\"must\">required</span>" } else { "" };
    format!("<code>{}</code>{mark}", escaped(name))
}

/// A type in words, with links to classes, as HTML.
pub(super) fn words(names: &SchemaNames, kind: &ContractType, purpose: SchemaUse) -> String {
    let within = purpose.inner();
    let mut text = match &kind.kind {
        ContractKind::Plain(FieldType::Int) if has_limits(kind, i64::MIN, i64::MAX) => {
            "an integer".into()
        }
        ContractKind::Plain(FieldType::Int) if has_limits(kind, 0, u64::MAX) => {
            "an integer of at least 0".into()
        }
        ContractKind::Plain(FieldType::Bytes) if purpose == SchemaUse::Output => {
            "bytes, as base64 text".into()
        }
        ContractKind::Plain(FieldType::Bytes) => "bytes".into(),
        ContractKind::File => "a file".into(),
        ContractKind::Image => "an image".into(),
        ContractKind::Object(class) => link(names, *class, purpose),
        ContractKind::Key(key, class) => {
            format!("{} (a key) or {}", escaped(key.words()), link(names, *class, purpose))
        }
        ContractKind::OneOf(options) => {
            let options: Vec<String> =
                options.iter().map(|option| words(names, option, within)).collect();
            options.join(" or ")
        }
        ContractKind::List(Some(element)) => {
            format!("{}, each {}", escaped(&kind.words()), words(names, element, within))
        }
        _ => escaped(&kind.words()),
    };
    if kind.optional {
        text += " or null";
    }
    text
}

/// Whether the limits are these. Those of 64 bits need no words.
fn has_limits(kind: &ContractType, least: impl ToString, most: impl ToString) -> bool {
    let at =
        |end: &Option<LimitEnd>, limit: String| end.as_ref().is_some_and(|end| end.text == limit);
    at(&kind.least, least.to_string()) && at(&kind.most, most.to_string())
}

fn link(names: &SchemaNames, class: usize, purpose: SchemaUse) -> String {
    let name = names.name(class, purpose).or_else(|| names.name(class, SchemaUse::Input));
    match name {
        Some(name) => format!("<a href=\"#{}\">{}</a>", slug("schema", name), escaped(name)),
        None => "an object".into(),
    }
}
