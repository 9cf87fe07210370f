//! What could stand at the cursor.

mod items;
mod paths;

use crate::analysis::context::{CursorContext, cursor, open_message};
use crate::analysis::index::{BodyKind, KnownValue, NameKind};
use crate::documents::View;
use crate::features::hover::definitions;
use crate::features::markdown;
use crate::knowledge::Knowledge;
use items::{ItemKind, Proposals};
use lsp_types::CompletionList;
use runnel_catalogue::{summary, words};
use serde_json::Value;
use std::path::PathBuf;

/// Words at the start of a statement.
const STATEMENT_WORDS: [&str; 9] =
    ["class", "extension", "scheme", "filter", "system", "protocol", "object", "test", "var"];
/// Words of class bodies.
const CLASS_WORDS: [&str; 8] =
    ["var", "guard", "with", "find", "before", "after", "rescue", "header"];
/// Words of property paths.
const PATH_WORDS: [&str; 13] = [
    "get", "put", "post", "merge", "delete", "list", "guard", "with", "find", "before", "after",
    "rescue", "header",
];
/// Types that are no classes.
const TYPES: [&str; 13] = [
    "int", "float", "decimal", "bool", "string", "text", "email", "url", "uuid", "date", "moment",
    "bytes", "any",
];
/// HTML elements that pages use most.
const TAGS: [&str; 44] = [
    "html", "head", "title", "body", "main", "header", "footer", "nav", "section", "article",
    "div", "span", "p", "h1", "h2", "h3", "ul", "ol", "li", "a", "img", "form", "input", "button",
    "label", "select", "option", "textarea", "table", "thead", "tbody", "tr", "th", "td", "br",
    "hr", "pre", "code", "strong", "em", "link", "meta", "script", "style",
];

/// The proposals at a byte.
pub(crate) fn complete(
    view: &View<'_>,
    offset: u32,
    folders: &[PathBuf],
    snippets: bool,
) -> CompletionList {
    let cursor = cursor(view.analysis, view.text(), offset);
    let prefix = view.text().get(cursor.start as usize..offset as usize).unwrap_or_default();
    let range = view.range(runnel_syntax::Span::new(cursor.start, offset));
    let mut found = Proposals::new(view, range, prefix, snippets);
    match &cursor.context {
        CursorContext::Nothing => {}
        CursorContext::Name { is_statement } => {
            fields(view, offset, &mut found);
            names(view, cursor.start, *is_statement, &mut found);
        }
        CursorContext::Message { receiver } => {
            continued(view, offset, &mut found);
            messages(view, receiver, &mut found);
        }
        CursorContext::ReferenceName => {
            schemes(view, &mut found);
            variables(view, cursor.start, &mut found);
        }
        CursorContext::Path { scheme, folder, .. } => match scheme.as_str() {
            "this" | "self" => properties(view, offset, &mut found),
            "var" => variables(view, cursor.start, &mut found),
            "file" | "sqlite" => paths::files(view, folder, folders, &mut found),
            _ => {}
        },
        CursorContext::LiteralName => literal_names(view, &mut found),
        CursorContext::LiteralKey { class } => literal_keys(view, class, &mut found),
        CursorContext::Type => types(view, &mut found),
        CursorContext::Member(kind) => {
            let words = if *kind == BodyKind::Path { &PATH_WORDS[..] } else { &CLASS_WORDS[..] };
            words.iter().for_each(|word| keyword(word, &mut found));
        }
    }
    found.into_list()
}

/// The documentation of an item, which is asked for when it is shown.
pub(crate) fn resolve(mut item: Value, knowledge: &Knowledge) -> Value {
    let text = item.get("data").and_then(|data| {
        let word = |name: &str| data.get(name).and_then(Value::as_str);
        let is_class = data.get("ofClass").and_then(Value::as_bool).unwrap_or(false);
        if let (Some(class), Some(selector)) = (word("class"), word("selector")) {
            return knowledge.catalogue.message(class, selector, is_class).map(markdown::message);
        }
        if let (Some(class), Some(name)) = (word("class"), word("option")) {
            let options = knowledge.options(class);
            return options
                .iter()
                .find(|one| one.name == name)
                .map(|one| markdown::option(class, one));
        }
        if let Some(scheme) = word("scheme") {
            return knowledge.schemes.get(scheme).map(markdown::scheme);
        }
        knowledge.catalogue.class(word("class")?).map(|class| markdown::class(class, knowledge))
    });
    if let (Some(text), Some(fields)) = (text, item.as_object_mut()) {
        fields.insert(
            "documentation".into(),
            serde_json::json!({ "kind": "markdown", "value": text }),
        );
    }
    item
}

fn keyword(word: &str, found: &mut Proposals<'_>) {
    let help = words::find(word).map_or("", |word| word.meaning);
    found.add(ItemKind::Keyword, word, "", help, 3);
}

// Names ------------------------------------------------------------------------------------------

fn names(view: &View<'_>, start: u32, is_statement: bool, found: &mut Proposals<'_>) {
    variables(view, start, found);
    let knowledge = view.knowledge;
    for class in view.analysis.index.classes.values() {
        found.add(ItemKind::Class, &class.name, class.keyword, "", 2);
    }
    for (name, predefined) in &knowledge.names.predefined {
        let text = knowledge.catalogue.class(&predefined.class).map_or("", |class| &class.text);
        found.add(ItemKind::Variable, name, &predefined.class, summary(text), 4);
    }
    for word in ["self", "super", "nil", "true", "false"] {
        found.add(ItemKind::Keyword, word, "", "", 4);
    }
    if is_statement {
        STATEMENT_WORDS.iter().for_each(|word| keyword(word, found));
    }
    for name in knowledge.names.class_names() {
        found.add_class(name, 5);
    }
    schemes(view, found);
}

fn variables(view: &View<'_>, start: u32, found: &mut Proposals<'_>) {
    let index = &view.analysis.index;
    for number in index.visible(start) {
        let name = &index.names[number];
        // The word at the cursor may be what makes the name.
        let is_here = name.definition.is_some_and(|(span, _)| span.start == start);
        if is_here && index.places_of(number).count() < 2 {
            continue;
        }
        let detail = if name.value.is_known() { name.value.to_string() } else { String::new() };
        found.add(ItemKind::Variable, &name.name, &detail, "", 1);
    }
}

fn schemes(view: &View<'_>, found: &mut Proposals<'_>) {
    for name in view.analysis.index.names.iter().filter(|name| name.kind == NameKind::Scheme) {
        if name.definition.is_some() {
            found.add(ItemKind::Scheme, &format!("{}:", name.name), "store of this program", "", 2);
        }
    }
    for scheme in view.knowledge.schemes.values() {
        found.add_scheme(scheme, 6);
    }
}

// Messages ---------------------------------------------------------------------------------------

/// What a value understands: its own class first, then those above it.
fn messages(view: &View<'_>, receiver: &KnownValue, found: &mut Proposals<'_>) {
    let (index, catalogue) = (&view.analysis.index, view.knowledge.catalogue);
    let Some(class) = receiver.class.as_deref() else { return any_message(view, found) };
    for own in index.lineage(class) {
        if !receiver.is_class {
            for property in &own.properties {
                found.add(ItemKind::Property, &property.name, &property.declared, "", 0);
            }
        }
        for method in own.methods.iter().filter(|method| method.is_of_class == receiver.is_class) {
            found.add_method(method, 0);
        }
    }
    let kernel = index.kernel_class(class);
    for (depth, above) in catalogue.lineage(kernel).enumerate() {
        for message in above.messages.iter().filter(|one| one.is_of_class == receiver.is_class) {
            found.add_message(message, depth + 1);
        }
    }
    if receiver.is_class {
        for message in catalogue.class("Class").map_or(&[][..], |class| &class.messages) {
            found.add_message(message, 8);
        }
    }
}

/// Every message that any class has; too many to send all.
fn any_message(view: &View<'_>, found: &mut Proposals<'_>) {
    for class in view.analysis.index.classes.values() {
        for property in &class.properties {
            found.add(ItemKind::Property, &property.name, &class.name, "", 1);
        }
        class.methods.iter().for_each(|method| found.add_method(method, 1));
    }
    for selector in view.knowledge.catalogue.selectors() {
        if found.fits(selector)
            && let Some(message) = definitions(view, selector).first()
        {
            found.add_message(message, 2);
        }
    }
}

/// The next keywords of the message that is being written: behind `at: 1` there may be `put:`.
fn continued(view: &View<'_>, offset: u32, found: &mut Proposals<'_>) {
    let Some(open) = open_message(view.analysis, view.text(), offset) else { return };
    let (index, catalogue) = (&view.analysis.index, view.knowledge.catalogue);
    let rest = |selector: &str| {
        selector.strip_prefix(&open.begun).filter(|rest| !rest.is_empty()).map(str::to_owned)
    };
    let Some(class) = open.receiver.class.as_deref() else {
        for selector in catalogue.selectors() {
            if let Some(rest) = rest(selector) {
                found.add_rest(&rest, selector, 0);
            }
        }
        return;
    };
    for method in index.lineage(class).flat_map(|class| &class.methods) {
        if let Some(rest) = rest(&method.selector) {
            found.add_rest(&rest, &method.signature, 0);
        }
    }
    for class in catalogue.lineage(index.kernel_class(class)) {
        for message in class.messages.iter().filter(|one| one.is_of_class == open.receiver.is_class)
        {
            if let Some(rest) = rest(&message.selector) {
                found.add_rest(&rest, &message.to_string(), 0);
            }
        }
    }
}

// Classes ----------------------------------------------------------------------------------------

/// The fields of the elements, between query brackets.
fn fields(view: &View<'_>, offset: u32, found: &mut Proposals<'_>) {
    let index = &view.analysis.index;
    let around = index.queries.iter().filter(|(span, _)| span.start < offset && offset <= span.end);
    let Some((_, element)) = around.max_by_key(|(span, _)| span.start) else { return };
    let Some(class) = element.class.as_deref() else { return };
    for property in index.lineage(class).flat_map(|class| &class.properties) {
        found.add(ItemKind::Property, &property.name, &property.declared, &property.class, 0);
    }
}

fn properties(view: &View<'_>, offset: u32, found: &mut Proposals<'_>) {
    let index = &view.analysis.index;
    let Some(class) = index.class_at(offset) else { return };
    for property in index.lineage(&class.name).flat_map(|class| &class.properties) {
        found.add(ItemKind::Property, &property.name, &property.declared, &property.class, 0);
    }
    for name in runnel_compile::Known::instance_variables(
        &view.knowledge.names,
        index.kernel_class(&class.name),
    ) {
        found.add(ItemKind::Property, &name, "", "", 1);
    }
}

fn literal_names(view: &View<'_>, found: &mut Proposals<'_>) {
    for class in view.analysis.index.classes.values() {
        found.add(ItemKind::Class, &class.name, class.keyword, "", 0);
    }
    for name in view.knowledge.names.class_names() {
        found.add_class(name, 1);
    }
    TAGS.iter().for_each(|tag| found.add(ItemKind::Tag, tag, "element", "", 2));
}

fn literal_keys(view: &View<'_>, class: &str, found: &mut Proposals<'_>) {
    let index = &view.analysis.index;
    for property in index.lineage(class).flat_map(|class| &class.properties) {
        found.add_key(&property.name, &property.declared, "", None);
    }
    let kernel = index.kernel_class(class);
    for option in view.knowledge.options(kernel) {
        let detail = match &option.default {
            Some(default) => format!("{}, {default} by default", option.kind),
            None => option.kind.clone(),
        };
        found.add_key(&option.name, &detail, &option.help, Some(kernel));
    }
}

fn types(view: &View<'_>, found: &mut Proposals<'_>) {
    TYPES.iter().for_each(|name| found.add(ItemKind::Keyword, name, "type", "", 0));
    for class in view.analysis.index.classes.values() {
        found.add(ItemKind::Class, &class.name, class.keyword, "", 1);
    }
}
