//! Definitions as Markdown.

use crate::analysis::index::{ClassInfo, MethodInfo, PropertyInfo};
use crate::knowledge::{Knowledge, KnownOption, KnownScheme};
use runnel_catalogue::words::LanguageWord;
use runnel_catalogue::{Class, Message};

/// Messages of a class that a hover lists.
const MOST_LISTED: usize = 12;

pub(crate) fn code(source: &str) -> String {
    format!("```runnel\n{source}\n```")
}

/// The head of a method with its class: `String -<String>lowercase`.
pub(crate) fn signature(message: &Message) -> String {
    let of_class = if message.is_of_class { " class" } else { "" };
    format!("{}{of_class} {message}", message.class)
}

/// A word or a mark of the language, with its example.
pub(crate) fn word(word: &LanguageWord) -> String {
    format!("{}\n\n{}\n\n{}", code(word.name), word.meaning, code(word.program()))
}

/// Signature, meaning, examples, synonyms.
pub(crate) fn message(message: &Message) -> String {
    let mut text = code(&signature(message));
    text.push_str(&format!("\n\n{}", message.text));
    let examples: Vec<String> = message
        .examples
        .iter()
        .map(|example| match &example.result {
            Some(result) => format!("{} // ⇒ {result}", example.source),
            None => example.source.clone(),
        })
        .collect();
    if !examples.is_empty() {
        text.push_str(&format!("\n\n{}", code(&examples.join("\n"))));
    }
    if !message.synonyms.is_empty() {
        let names: Vec<String> = message.synonyms.iter().map(|name| format!("`{name}`")).collect();
        text.push_str(&format!("\n\nThe same: {}", names.join(", ")));
    }
    text
}

/// What a class of the kernel is.
pub(crate) fn class(class: &Class, knowledge: &Knowledge) -> String {
    let above = class.superclass.as_ref().map(|above| format!(" : {above}")).unwrap_or_default();
    let mut text = code(&format!("class {}{above}", class.name));
    if !class.text.is_empty() {
        text.push_str(&format!("\n\n{}", class.text));
    }
    let options = knowledge.options(&class.name);
    if !options.is_empty() {
        let names: Vec<String> = options.iter().map(|one| format!("`{}`", one.name)).collect();
        text.push_str(&format!("\n\nOptions: {}", names.join(", ")));
    }
    text
}

/// What a class of the text is.
pub(crate) fn own_class(class: &ClassInfo, comment: Option<&str>) -> String {
    let above = class.superclass.as_ref().map(|above| format!(" : {above}")).unwrap_or_default();
    let mut lines = vec![format!("{} {}{above} {{", class.keyword, class.name)];
    let properties = class.properties.iter().take(MOST_LISTED);
    lines.extend(properties.map(|one| format!("    var {}", property_line(one))));
    let methods = class.methods.iter().take(MOST_LISTED);
    lines.extend(methods.map(|one| format!("    {}", one.signature)));
    let hidden = class.properties.len().saturating_sub(MOST_LISTED)
        + class.methods.len().saturating_sub(MOST_LISTED);
    if hidden > 0 {
        lines.push(format!("    // and {hidden} more"));
    }
    lines.push("}".to_owned());
    let text = code(&lines.join("\n"));
    comment.map_or(text.clone(), |comment| format!("{text}\n\n{comment}"))
}

pub(crate) fn property_line(property: &PropertyInfo) -> String {
    let space = if property.declared.is_empty() { "" } else { " " };
    format!("{}{space}{}.", property.declared, property.name)
}

pub(crate) fn property(property: &PropertyInfo) -> String {
    code(&format!("{}\nvar {}", property.class, property_line(property)))
}

pub(crate) fn method(class: &str, method: &MethodInfo, comment: Option<&str>) -> String {
    let text = code(&format!("{class} {}", method.signature));
    comment.map_or(text.clone(), |comment| format!("{text}\n\n{comment}"))
}

pub(crate) fn option(class: &str, option: &KnownOption) -> String {
    let mut text = code(&format!("#{class}{{ {}: … }}", option.name));
    if !option.kind.is_empty() {
        text.push_str(&format!("\n\n{}", option.kind));
        if let Some(default) = &option.default {
            text.push_str(&format!(", {default} by default"));
        }
        text.push('.');
    }
    if !option.help.is_empty() {
        text.push_str(&format!("\n\n{}", option.help));
    }
    text
}

pub(crate) fn scheme(scheme: &KnownScheme) -> String {
    let mut text = code(&format!("{}:", scheme.name));
    if !scheme.help.is_empty() {
        text.push_str(&format!("\n\n{}", scheme.help));
    }
    if !scheme.example.is_empty() {
        text.push_str(&format!("\n\n{}", code(&scheme.example)));
    }
    text
}
