//! A TypeScript client in one file without dependencies: types, and one function for each operation.

mod functions;
mod types;

use crate::api::Api;
use crate::schema_names::SchemaNames;
use std::fmt::Write;

/// What every client has: errors, options, and the function that sends requests.
const RUNTIME: &str = include_str!("typescript/runtime.ts");

/// A TypeScript client of an API: types of its classes, and `createClient`, whose groups have one
/// function for each operation. It sends requests with `fetch`, and passes `tsc --strict`.
pub fn typescript(api: &Api) -> String {
    let names = SchemaNames::of(api);
    let mut out = String::new();
    let server = api.servers.first().map_or("/", String::as_str);
    // Writing to a string cannot fail.
    let _ = write!(
        out,
        "// {} {}: a client made of the API's description by `runnel client`.\n\n\
         const DEFAULT_BASE_URL = {};\n\n{RUNTIME}\n",
        one_line(&api.title),
        one_line(&api.version),
        quoted(server),
    );
    types::write_classes(api, &names, &mut out);
    functions::write_client(api, &names, &mut out);
    out
}

/// A text on one line, for comments.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A text as a literal of TypeScript.
fn quoted(text: &str) -> String {
    let literal = runnel_store::json::text(&text.into());
    let literal = String::from_utf8_lossy(&literal).into_owned();
    literal.replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

/// A name as the key of an object.
fn key(name: &str) -> String {
    let mut letters = name.chars();
    let first = letters.next().is_some_and(|one| one.is_ascii_alphabetic() || one == '_');
    match first && letters.all(|one| one.is_ascii_alphanumeric() || one == '_') {
        true => name.to_string(),
        false => quoted(name),
    }
}

/// Appends a comment above a declaration; nothing for an empty text.
fn write_comment(about: &str, indent: &str, out: &mut String) {
    let about = about.trim().replace("*/", "* /");
    let lines: Vec<&str> = about.lines().map(str::trim_end).collect();
    match lines.as_slice() {
        [] => {}
        [line] => *out += &format!("{indent}/** {line} */\n"),
        lines => {
            *out += &format!("{indent}/**\n");
            for line in lines {
                let line = format!("{indent} * {line}");
                *out += line.trim_end();
                out.push('\n');
            }
            *out += &format!("{indent} */\n");
        }
    }
}
