//! Descriptions of APIs, and tools that may be missing.

use runnel_openapi::Api;
use runnel_store::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Paths of the large API.
pub(crate) const LARGE_PATHS: usize = 60;

/// The three descriptions, by name.
pub(crate) fn descriptions() -> Vec<(&'static str, Value)> {
    vec![
        ("todos", parse(include_str!("descriptions/todos.json"))),
        ("blog", parse(include_str!("descriptions/blog.json"))),
        ("large", large()),
    ]
}

pub(crate) fn api(name: &str) -> Api {
    let found = descriptions().into_iter().find(|(known, _)| *known == name);
    Api::read(&found.unwrap().1)
}

pub(crate) fn parse(text: &str) -> Value {
    json::parse(text.as_bytes()).unwrap()
}

/// Twenty resources with three paths each.
fn large() -> Value {
    let mut classes = Vec::new();
    let mut operations = Vec::new();
    for number in 0..LARGE_PATHS / 3 {
        classes.push(parse(&format!(
            r#"{{ "name": "Part{number}", "about": "A part of kind {number}.", "fields": [
                {{ "name": "id", "type": {{ "kind": "int" }}, "readonly": true }},
                {{ "name": "name", "type": {{ "kind": "string", "max": 80 }}, "required": true }},
                {{ "name": "next", "type": {{ "kind": "object", "class": {number}, "optional": true }} }},
                {{ "name": "count", "type": {{ "kind": "int", "min": 1, "max": 9 }}, "default": 1 }}
            ] }}"#
        )));
        let object = format!(r#"{{ "kind": "object", "class": {number} }}"#);
        let list = format!(r#"{{ "kind": "list", "element": {object} }}"#);
        let all = format!(r#"{{ "text": "parts{number}" }}"#);
        let one = format!(r#"{all}, {{ "name": "id", "type": {{ "kind": "int" }} }}"#);
        let answer = |kind: &str| format!(r#""answers": [{{ "status": 200, "type": {kind} }}]"#);
        let of_list = answer(&list);
        let of_one = answer(&object);
        let body = format!(r#""body": {{ "type": {object} }}"#);
        for (method, path, rest) in [
            ("GET", all.as_str(), of_list.clone()),
            ("POST", &all, format!("{body}, {of_one}")),
            ("GET", &one, of_one.clone()),
            ("DELETE", &one, r#""guarded": true"#.into()),
            ("GET", &format!(r#"{one}, {{ "text": "next" }}"#), of_one.clone()),
        ] {
            operations
                .push(parse(&format!(r#"{{ "method": "{method}", "path": [{path}], {rest} }}"#)));
        }
    }
    Value::record([
        ("title", Value::from("A large API")),
        ("classes", classes.into()),
        ("operations", operations.into()),
    ])
}

/// The folder of the installed judges (`.ci/run`), or `None` where they are missing.
pub(crate) fn judges() -> Option<PathBuf> {
    let folder = PathBuf::from(std::env::var_os("HOME")?).join(".cache/runnel/openapi");
    let tools = ["node/node_modules/.bin/spectral", "node/node_modules/.bin/tsc", "py/bin/python"];
    tools.iter().all(|tool| folder.join(tool).exists()).then_some(folder)
}

/// A tool of Node among the judges.
pub(crate) fn node_tool(judges: &Path, name: &str) -> Command {
    Command::new(judges.join("node/node_modules/.bin").join(name))
}

/// Says on standard error that a test is left out.
pub(crate) fn leave_out(reason: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "left out: {reason}");
}

/// Runs a tool.
///
/// # Panics
/// When it fails, with what it prints.
pub(crate) fn succeed(command: &mut Command, what: &str) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{what}: {error}"));
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{what} fails:\n{out}\n{errors}");
    out
}
