//! Names that a program leaves out: ids, groups and sentences of operations.

use crate::api::{Api, ApiOperation, ApiTag, PathPart};
use runnel_store::ContractKind;
use std::collections::BTreeSet;

/// Fills in every name, makes ids unique, and lists the groups in the order of their first operation.
pub(crate) fn complete(api: &mut Api) {
    let mut taken: BTreeSet<String> =
        api.operations.iter().map(|one| identifier(&one.id)).filter(|id| !id.is_empty()).collect();
    let mut given = BTreeSet::new();
    for operation in &mut api.operations {
        let stated = identifier(&operation.id);
        operation.id = match !stated.is_empty() && given.insert(stated.clone()) {
            true => stated,
            false => free_name(derived_id(operation), &mut taken),
        };
        if operation.tag.is_empty() {
            operation.tag = derived_tag(operation);
        }
        operation.summary = match operation.about.is_empty() {
            true => derived_summary(operation),
            false => first_sentence(&operation.about),
        };
        if operation.about.is_empty() {
            operation.about = format!("{}.", operation.summary);
        }
    }
    for operation in &api.operations {
        if !api.tags.iter().any(|tag| tag.name == operation.tag) {
            api.tags.push(ApiTag { name: operation.tag.clone(), about: String::new() });
        }
    }
}

/// A name that is not taken yet: the name itself, or with a number behind it.
pub(crate) fn free_name(name: String, taken: &mut BTreeSet<String>) -> String {
    let mut free = name.clone();
    let mut number = 2;
    while !taken.insert(free.clone()) {
        free = format!("{name}{number}");
        number += 1;
    }
    free
}

/// A name as an identifier of programs: other characters end a word, and the next one is capital.
pub(crate) fn identifier(name: &str) -> String {
    let mut made = String::new();
    for letter in name.chars() {
        match letter {
            letter if letter.is_ascii_alphanumeric() || letter == '_' => made.push(letter),
            _ => made.push(' '),
        }
    }
    let mut words = made.split_whitespace();
    let mut made = words.next().unwrap_or_default().to_string();
    words.for_each(|word| made += &capital(word));
    match made.starts_with(|first: char| first.is_ascii_digit()) {
        true => format!("_{made}"),
        false => made,
    }
}

/// A word with a capital first letter.
pub(crate) fn capital(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

/// The first sentence of a text, on one line.
pub(crate) fn first_sentence(text: &str) -> String {
    let line = text.split("\n\n").next().unwrap_or_default();
    let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.find(". ") {
        Some(end) => line[..end].to_string(),
        None => line.strip_suffix('.').map_or(line.clone(), str::to_string),
    }
}

/// One of the things that a plural word names: `articles` becomes `article`.
fn singular(word: &str) -> String {
    let ends = |end: &str| word.strip_suffix(end).filter(|rest| rest.len() > 1);
    match (ends("ies"), ends("sses"), ends("xes"), ends("s")) {
        (Some(stem), ..) => format!("{stem}y"),
        (_, Some(stem), ..) => format!("{stem}ss"),
        (_, _, Some(stem), _) => format!("{stem}x"),
        (.., Some(stem)) if !stem.ends_with(['s', 'u', 'i']) => stem.to_string(),
        _ => word.to_string(),
    }
}

/// The words of a path. A word before a parameter names one thing, others name all of them.
fn words(operation: &ApiOperation) -> Vec<String> {
    let parts = &operation.path;
    let mut words = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        let PathPart::Text(text) = part else { continue };
        let one = matches!(parts.get(at + 1), Some(PathPart::Parameter(_)));
        let posted = at + 1 == parts.len() && operation.method == "POST";
        words.push(if one || posted { singular(text) } else { text.clone() });
    }
    words
}

/// What the method does, as a verb.
fn verb(operation: &ApiOperation) -> &'static str {
    match operation.method.as_str() {
        "POST" => "create",
        "PUT" => "replace",
        "PATCH" => "update",
        "DELETE" => "delete",
        "GET" if answers_list(operation) => "list",
        _ => "get",
    }
}

fn answers_list(operation: &ApiOperation) -> bool {
    operation.successes().any(|answer| {
        answer.kind.as_ref().is_some_and(|kind| matches!(kind.kind, ContractKind::List(_)))
    })
}

fn derived_id(operation: &ApiOperation) -> String {
    let mut id = verb(operation).to_string();
    let words = words(operation);
    if words.is_empty() {
        id += "Root";
    }
    words.iter().for_each(|word| id += &capital(&identifier(word)));
    id
}

fn derived_tag(operation: &ApiOperation) -> String {
    let first = operation.path.iter().find_map(|part| match part {
        PathPart::Text(text) => Some(text.clone()),
        _ => None,
    });
    first.unwrap_or_else(|| "root".into())
}

/// `Update article comment`.
fn derived_summary(operation: &ApiOperation) -> String {
    let mut sentence = capital(verb(operation));
    let words = words(operation);
    if words.is_empty() {
        sentence += " the root";
    }
    for word in words {
        sentence.push(' ');
        sentence += &word.replace(['-', '_'], " ");
    }
    sentence
}
