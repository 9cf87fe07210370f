//! The OpenAPI 3.1 document of an API, in the order of the program.

mod operation;
mod problem;
mod schema;

use crate::api::{Api, ApiOperation, SecurityScheme};
use crate::schema_names::{PROBLEM, SchemaNames};
use operation::{OperationWriter, scheme_name};
use runnel_store::{Value, json};

/// The version of the specification.
const OPENAPI: &str = "3.1.0";
/// Levels beyond which [`document_text`] writes on one line.
const MAX_LEVELS: usize = 64;

/// The OpenAPI 3.1 document of an API.
///
/// A class becomes up to three schemas: `Article` is answered, with every field; `ArticleInput` is sent,
/// without fields that are read-only; `ArticlePatch` is sent to change some fields. An unknown field is
/// refused unless the classes drop it.
pub fn document(api: &Api) -> Value {
    let names = SchemaNames::of(api);
    let mut writer = OperationWriter::new(api, &names);
    let mut paths = Value::Record(Vec::new());
    for operation in &api.operations {
        let path = operation.path_text();
        let described = writer.operation(operation);
        let mut methods = paths.get(&path).cloned().unwrap_or_else(|| Value::Record(Vec::new()));
        methods.set(operation.method.to_ascii_lowercase(), described);
        paths.set(path, methods);
    }
    let servers = api.servers.iter().map(|url| Value::record([("url", Value::from(url.as_str()))]));
    Value::record([
        ("openapi", OPENAPI.into()),
        ("info", info(api)),
        ("servers", servers.collect::<Vec<_>>().into()),
        ("tags", tags(api)),
        ("paths", paths),
        ("components", components(api, &names, &writer)),
    ])
}

/// The document as JSON text with two spaces for each level, for files.
pub fn document_text(api: &Api) -> String {
    pretty(&document(api)) + "\n"
}

/// A value as JSON text with two spaces for each level.
pub(crate) fn pretty(value: &Value) -> String {
    let mut text = String::new();
    indented(value, 0, &mut text);
    text
}

fn info(api: &Api) -> Value {
    let about = if api.about.is_empty() { format!("{}.", api.title) } else { api.about.clone() };
    let contact = match api.contact.as_str() {
        "" => ("name", api.title.clone()),
        url if url.starts_with("http") => ("url", url.to_string()),
        email if email.contains('@') => ("email", email.to_string()),
        name => ("name", name.to_string()),
    };
    Value::record([
        ("title", api.title.as_str().into()),
        ("version", api.version.as_str().into()),
        ("description", about.into()),
        ("contact", Value::record([(contact.0, Value::from(contact.1))])),
    ])
}

fn tags(api: &Api) -> Value {
    let used = |name: &str| api.operations.iter().any(|operation| operation.tag == name);
    let tags = api.tags.iter().filter(|tag| used(&tag.name)).map(|tag| {
        let about = match tag.about.as_str() {
            "" => format!("Operations of `{}`.", tag.name),
            about => about.to_string(),
        };
        Value::record([("name", Value::from(tag.name.as_str())), ("description", about.into())])
    });
    tags.collect::<Vec<_>>().into()
}

fn components(api: &Api, names: &SchemaNames, writer: &OperationWriter<'_>) -> Value {
    let mut schemas = Value::Record(Vec::new());
    for (class, purpose, name) in names.all() {
        schemas.set(name, schema::class_schema(api, names, class, purpose));
    }
    schemas.set(PROBLEM, problem::problem_schema());
    let mut components = Value::record([("schemas", schemas), ("responses", writer.responses())]);
    let mut schemes = Value::Record(Vec::new());
    for scheme in SecurityScheme::ALL {
        let asks = |one: &ApiOperation| one.guarded && one.security.contains(&scheme);
        if !api.operations.iter().any(asks) {
            continue;
        }
        let about = match scheme {
            SecurityScheme::Basic => "A name and a password in the header `Authorization`.",
            SecurityScheme::Bearer => "A token in the header `Authorization`.",
        };
        let described = Value::record([
            ("type", Value::from("http")),
            ("scheme", scheme.name().into()),
            ("description", about.into()),
        ]);
        schemes.set(scheme_name(scheme), described);
    }
    if schemes.as_record().is_some_and(|schemes| !schemes.is_empty()) {
        components.set("securitySchemes", schemes);
    }
    components
}

fn indented(value: &Value, level: usize, out: &mut String) {
    let (open, close, count) = match value {
        Value::List(items) if level < MAX_LEVELS => ('[', ']', items.len()),
        Value::Record(fields) if level < MAX_LEVELS => ('{', '}', fields.len()),
        _ => ('[', ']', 0),
    };
    if count == 0 {
        *out += &String::from_utf8_lossy(&json::text(value));
        return;
    }
    let line = |out: &mut String, level: usize| {
        out.push('\n');
        (0..level).for_each(|_| *out += "  ");
    };
    out.push(open);
    for at in 0..count {
        if at > 0 {
            out.push(',');
        }
        line(out, level + 1);
        match value {
            Value::List(items) => indented(&items[at], level + 1, out),
            Value::Record(fields) => {
                *out += &String::from_utf8_lossy(&json::text(&fields[at].0.as_str().into()));
                *out += ": ";
                indented(&fields[at].1, level + 1, out);
            }
            _ => {}
        }
    }
    line(out, level);
    out.push(close);
}
