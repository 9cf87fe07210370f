//! One function for each operation, in groups.

use super::types::type_text;
use super::{key, quoted, write_comment};
use crate::api::{
    Api, ApiBody, ApiOperation, ApiParameter, ParameterPlace, PathPart, is_binary, is_json, is_text,
};
use crate::naming::{capital, free_name, identifier};
use crate::schema_names::{SchemaNames, SchemaUse};
use runnel_store::{ContractKind, ContractType, FieldType, Value, json};
use std::collections::BTreeSet;

/// Names that a parameter of a function cannot have.
const RESERVED: [&str; 16] = [
    "body",
    "call",
    "case",
    "class",
    "client",
    "default",
    "delete",
    "encoded",
    "for",
    "function",
    "in",
    "new",
    "options",
    "parameters",
    "return",
    "send",
];

/// Appends the parameters of operations, and `createClient`.
pub(super) fn write_client(api: &Api, names: &SchemaNames, out: &mut String) {
    let mut taken: BTreeSet<String> = names.all().map(|(.., name)| name.to_string()).collect();
    taken.extend(
        ["Problem", "FieldProblem", "ApiError", "Client", "Call", "Body", "Result"]
            .map(String::from),
    );
    let mut groups: Vec<(&str, String)> = Vec::new();
    for operation in &api.operations {
        let interface = write_parameters(names, operation, &mut taken, out);
        let function = function_text(names, operation, interface.as_deref());
        match groups.iter_mut().find(|(tag, _)| *tag == operation.tag) {
            Some((_, text)) => *text += &function,
            None => groups.push((&operation.tag, function)),
        }
    }
    *out += "/** The operations of the API, in groups. */\n\
             export function createClient(client: ClientOptions = {}) {\n  return {\n";
    let mut keys = BTreeSet::new();
    for (tag, functions) in groups {
        let about = api.tags.iter().find(|one| one.name == tag).map_or("", |tag| &tag.about);
        write_comment(about, "    ", out);
        let name = match identifier(tag) {
            name if name.is_empty() => "group".to_string(),
            name => name,
        };
        *out += &format!("    {}: {{\n{functions}    }},\n", free_name(name, &mut keys));
    }
    *out += "  };\n}\n\nexport type Client = ReturnType<typeof createClient>;\n";
}

/// The parameters that stand in the query or in headers, which callers name.
fn named_parameters(operation: &ApiOperation) -> impl Iterator<Item = &ApiParameter> {
    let ruled = ["accept", "content-type", "authorization"];
    operation.parameters.iter().filter(move |one| match one.place {
        ParameterPlace::Query => true,
        ParameterPlace::Header => !ruled.contains(&one.name.to_ascii_lowercase().as_str()),
        ParameterPlace::Path | ParameterPlace::Cookie => false,
    })
}

/// Appends the interface of the named parameters of an operation, and answers its name.
fn write_parameters(
    names: &SchemaNames,
    operation: &ApiOperation,
    taken: &mut BTreeSet<String>,
    out: &mut String,
) -> Option<String> {
    named_parameters(operation).next()?;
    let name = free_name(format!("{}Parameters", capital(&operation.id)), taken);
    *out += &format!("/** Parameters of `{}`. */\nexport interface {name} {{\n", operation.id);
    for parameter in named_parameters(operation) {
        let mut about = parameter.about.clone();
        if let Some(default) = &parameter.default {
            let between = if about.is_empty() { "" } else { " " };
            let default = json_text(default);
            about += &format!("{between}Without it: {default}");
        }
        write_comment(&about, "  ", out);
        let mark = if parameter.required { "" } else { "?" };
        let kind = type_text(names, &parameter.kind, SchemaUse::Input);
        *out += &format!("  {}{mark}: {kind};\n", key(&parameter.name));
    }
    *out += "}\n\n";
    Some(name)
}

fn json_text(value: &Value) -> String {
    String::from_utf8_lossy(&json::text(value)).into_owned()
}

fn function_text(names: &SchemaNames, operation: &ApiOperation, interface: Option<&str>) -> String {
    let mut out = String::new();
    let mut about = operation.about.clone();
    if operation.deprecated {
        about += "\n\n@deprecated";
    }
    write_comment(&about, "      ", &mut out);
    let mut arguments = Vec::new();
    let path = path_text(names, operation, &mut arguments);
    if let Some(body) = &operation.body {
        let mark = if body.required { "" } else { " | undefined" };
        arguments.push(format!("body: {}{mark}", body_type(names, body)));
    }
    if let Some(interface) = interface {
        let required = named_parameters(operation).any(|parameter| parameter.required);
        let absent = if required { "" } else { " = {}" };
        arguments.push(format!("parameters: {interface}{absent}"));
    }
    let options = if operation.conditional { "ConditionalOptions" } else { "RequestOptions" };
    arguments.push(format!("options?: {options}"));
    let (result, kind, accept) = result_of(names, operation);
    let mut call = vec![format!("method: {}", quoted(&operation.method)), format!("path: {path}")];
    for (place, name) in [(ParameterPlace::Query, "query"), (ParameterPlace::Header, "headers")] {
        let fields: Vec<String> = named_parameters(operation)
            .filter(|parameter| parameter.place == place)
            .map(|one| format!("{}: parameters[{}]", key(&one.name), quoted(&one.name)))
            .collect();
        if !fields.is_empty() {
            call.push(format!("{name}: {{ {} }}", fields.join(", ")));
        }
    }
    if let Some(body) = &operation.body {
        let media = body.media.first().map_or("", String::as_str);
        let form = match media {
            "application/x-www-form-urlencoded" => "form",
            media if media.starts_with("multipart/") => "multipart",
            media if is_json(media) => "json",
            _ => "raw",
        };
        call.push(format!("body, as: {}, media: {}", quoted(form), quoted(media)));
    }
    if let Some(accept) = accept {
        call.push(format!("accept: {}", quoted(accept)));
    }
    call.push(format!("result: {}, options", quoted(result)));
    out += &format!(
        "      {}: ({}): Promise<{kind}> =>\n        send(client, {{ {} }}),\n",
        operation.id,
        arguments.join(", "),
        call.join(", "),
    );
    out
}

/// The path as a template, with a named argument for each parameter.
fn path_text(names: &SchemaNames, operation: &ApiOperation, arguments: &mut Vec<String>) -> String {
    let mut path = String::from("`");
    let mut taken: BTreeSet<String> = RESERVED.into_iter().map(String::from).collect();
    for part in &operation.path {
        path.push('/');
        let name = match part {
            PathPart::Text(text) => {
                path += &text.replace('\\', "\\\\").replace('`', "\\`").replace('$', "\\$");
                continue;
            }
            PathPart::Parameter(name) | PathPart::Rest(name) => name,
        };
        let parameter = operation.parameters_in(ParameterPlace::Path).find(|one| one.name == *name);
        let kind = parameter.map(|one| type_text(names, &one.kind, SchemaUse::Input));
        let kind = kind.filter(|kind| kind != "unknown").unwrap_or_else(|| "string".into());
        let name = match identifier(name) {
            name if name.is_empty() => "value".to_string(),
            name => name,
        };
        let name = free_name(name, &mut taken);
        match part {
            PathPart::Rest(_) => {
                path += &format!("${{{name}.split(\"/\").map(encoded).join(\"/\")}}");
                arguments.push(format!("{name}: string"));
            }
            _ => {
                path += &format!("${{encoded({name})}}");
                arguments.push(format!("{name}: {kind}"));
            }
        }
    }
    if operation.path.is_empty() {
        path.push('/');
    }
    path.push('`');
    path
}

/// The type of the content of a request.
fn body_type(names: &SchemaNames, body: &ApiBody) -> String {
    let media = body.media.first().map_or("", String::as_str);
    match media {
        media if is_json(media) || body.is_form() => {
            in_object(&body.member, type_text(names, &body.kind, SchemaUse::of(body)))
        }
        media if media.starts_with("text/") => "string".into(),
        _ => "BodyInit".into(),
    }
}

/// Whether the values of a type are written alike in JSON and as text.
fn is_literal(kind: &ContractType) -> bool {
    use FieldType::{Bool, Float, Int};
    matches!(kind.kind, ContractKind::Plain(Int | Float | Bool))
}

/// How an answer is read, its type, and the media type to ask for.
fn result_of<'a>(
    names: &SchemaNames,
    operation: &'a ApiOperation,
) -> (&'static str, String, Option<&'a str>) {
    let with_content = operation.successes().find(|answer| answer.kind.is_some());
    let Some(answer) = with_content else { return ("none", "void".into(), None) };
    let kind = answer.kind.clone().unwrap_or_else(|| ContractKind::Record.into());
    let media = answer.media.iter().find(|media| is_json(media)).or(answer.media.first());
    let Some(media) = media.map(String::as_str) else { return ("none", "void".into(), None) };
    let empty = operation.successes().any(|answer| answer.kind.is_none());
    let (result, text) = match media {
        media if is_json(media) => {
            ("json", in_object(&answer.member, type_text(names, &kind, SchemaUse::Output)))
        }
        // A number or a truth value as text is the same as JSON.
        media if media.starts_with("text/") && is_literal(&kind) => {
            ("json", type_text(names, &kind, SchemaUse::Output))
        }
        media if media.starts_with("text/") && is_text(&kind) => {
            ("text", type_text(names, &kind, SchemaUse::Output))
        }
        media if media.starts_with("text/") => ("text", "string".to_string()),
        media if media.contains("json") && !is_binary(&kind) => ("text", "string".to_string()),
        _ => ("blob", "Blob".to_string()),
    };
    (result, if empty { format!("{text} | undefined") } else { text }, Some(media))
}

/// The type of an object with one member.
fn in_object(member: &str, kind: String) -> String {
    if member.is_empty() { kind } else { format!("{{ {}: {kind} }}", key(member)) }
}
