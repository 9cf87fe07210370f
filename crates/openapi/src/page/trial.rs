//! The form that sends an operation. It is hidden until the script of the page can send it.

use super::markup::{escaped, json_text, slug};
use crate::api::{
    Api, ApiBody, ApiOperation, ApiParameter, ParameterPlace, PathPart, in_member, is_binary,
    is_json,
};
use crate::document::pretty;
use crate::example::ExampleMaker;
use crate::schema_names::{SchemaNames, SchemaUse};
use runnel_store::{ContractKind, ContractType, FieldType, Value};

/// An input of the form.
struct TrialField<'a> {
    id: String,
    name: &'a str,
    /// `path`, `query`, `header` or `form`.
    place: &'static str,
    kind: &'a ContractType,
    required: bool,
    /// The rest of a path: slashes stay slashes.
    rest: bool,
    value: String,
}

/// Appends the form of an operation.
pub(super) fn write_form(
    api: &Api,
    operation: &ApiOperation,
    names: &SchemaNames,
    examples: &ExampleMaker<'_>,
    html: &mut String,
) {
    let id = slug("try", &operation.id);
    *html += &format!(
        "<details class=\"try\" hidden><summary>Try it</summary>\n\
         <form id=\"{id}\" data-method=\"{}\" data-path=\"{}\" data-guarded=\"{}\" data-accept=\"{}\">\n",
        escaped(&operation.method),
        escaped(&operation.path_text()),
        operation.guarded,
        escaped(&accepted(operation)),
    );
    for (at, parameter) in operation.parameters.iter().enumerate() {
        // Browsers send cookies by themselves.
        if parameter.place == ParameterPlace::Cookie {
            continue;
        }
        let field = TrialField {
            id: format!("{id}-{at}"),
            name: &parameter.name,
            place: parameter.place.name(),
            kind: &parameter.kind,
            required: parameter.required,
            rest: operation.path.contains(&PathPart::Rest(parameter.name.clone())),
            value: first_value(parameter, examples),
        };
        write_field(&field, html);
    }
    if let Some(body) = &operation.body {
        write_body(api, &id, body, names, examples, html);
    }
    *html += &format!(
        "<p class=\"row\"><button type=\"submit\">Send</button> \
         <span class=\"quiet small\" role=\"status\"></span></p>\n\
         <div class=\"answer\" role=\"region\" aria-label=\"Answer to {}\" hidden></div>\n\
         </form></details>\n",
        escaped(&operation.id),
    );
}

/// The media types to ask for.
fn accepted(operation: &ApiOperation) -> String {
    let media: Vec<&str> =
        operation.successes().flat_map(|answer| &answer.media).map(String::as_str).collect();
    if media.is_empty() { "*/*".into() } else { format!("{}, */*;q=0.1", media.join(", ")) }
}

/// What stands in the input at first: what must be there, so that the request works.
fn first_value(parameter: &ApiParameter, examples: &ExampleMaker<'_>) -> String {
    match examples.parameter(parameter).filter(|_| parameter.required) {
        Some(Value::Text(text)) => text,
        Some(Value::List(items)) => items.iter().map(plain_text).collect::<Vec<_>>().join("\n"),
        Some(value) => json_text(&value),
        None => String::new(),
    }
}

fn plain_text(value: &Value) -> String {
    value.as_str().map_or_else(|| json_text(value), str::to_string)
}

fn write_field(field: &TrialField<'_>, html: &mut String) {
    let (id, name) = (&field.id, escaped(field.name));
    let required = if field.required { " required" } else { "" };
    let optional = if field.required { "" } else { " <span class=\"quiet\">optional</span>" };
    let rest = if field.rest { " data-rest" } else { "" };
    let common = format!("id=\"{id}\" name=\"{name}\" data-in=\"{}\"{rest}{required}", field.place);
    *html += &format!("<div class=\"field\"><label for=\"{id}\">{name}{optional}</label>\n");
    let value = escaped(&field.value);
    *html += &match &field.kind.kind {
        ContractKind::Enumeration(texts) => options(&common, texts, field),
        ContractKind::Plain(FieldType::Bool) => {
            options(&common, &["true".to_string(), "false".to_string()], field)
        }
        ContractKind::List(_) => {
            let hint = "placeholder=\"one value on each line\"";
            format!("<textarea {common} rows=\"2\" data-list {hint}>{value}</textarea>")
        }
        _ if is_binary(field.kind) => format!("<input {common} type=\"file\">"),
        ContractKind::Plain(FieldType::Int) => {
            format!("<input {common} inputmode=\"numeric\" autocomplete=\"off\" value=\"{value}\">")
        }
        _ => format!("<input {common} autocomplete=\"off\" value=\"{value}\">"),
    };
    *html += "</div>\n";
}

fn options(common: &str, texts: &[String], field: &TrialField<'_>) -> String {
    let mut made = format!("<select {common}>");
    if !field.required {
        made += "<option value=\"\"></option>";
    }
    for text in texts {
        let chosen = if *text == field.value { " selected" } else { "" };
        made += &format!("<option{chosen}>{}</option>", escaped(text));
    }
    made + "</select>"
}

fn write_body(
    api: &Api,
    id: &str,
    body: &ApiBody,
    names: &SchemaNames,
    examples: &ExampleMaker<'_>,
    html: &mut String,
) {
    let media = body.media.iter().find(|media| is_json(media)).or(body.media.first());
    let media = media.map_or("", String::as_str);
    if let (ContractKind::Object(class), true) =
        (&body.kind.kind, body.is_form() && !is_json(media))
    {
        let Some(class_of) = api.contract.classes.get(*class) else { return };
        for (at, field) in class_of.fields.iter().enumerate() {
            if !names.has_field(*class, SchemaUse::Input, field) {
                continue;
            }
            let field = TrialField {
                id: format!("{id}-form-{at}"),
                name: &field.name,
                place: "form",
                kind: &field.kind,
                required: names.must_come(api, *class, SchemaUse::of(body), field),
                rest: false,
                value: String::new(),
            };
            write_field(&field, html);
        }
        *html += &format!("<input type=\"hidden\" data-form=\"{}\">\n", escaped(media));
        return;
    }
    let example = examples.content(&body.kind, SchemaUse::of(body));
    let example = example.map(|value| in_member(&body.member, value));
    let text = match example {
        Some(value) if is_json(media) => pretty(&value),
        Some(Value::Text(text)) => text,
        _ => String::new(),
    };
    let rows = text.lines().count().clamp(3, 16);
    *html += &format!(
        "<div class=\"field wide\"><label for=\"{id}-body\">Content \
         <span class=\"quiet\">{media}</span></label>\n\
         <textarea id=\"{id}-body\" class=\"mono\" rows=\"{rows}\" spellcheck=\"false\" \
         data-media=\"{media}\">\n{}</textarea></div>\n",
        escaped(&text),
        media = escaped(media),
    );
}
