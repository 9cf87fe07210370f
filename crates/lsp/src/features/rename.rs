//! Renaming what a text defines: variables, parameters, methods, classes, stores. All places are in the text.

use crate::analysis::index::{NameInfo, NameKind, NamePlace};
use crate::documents::View;
use lsp_types::{TextEdit, WorkspaceEdit};
use runnel_compile::Known;
use runnel_syntax::{Span, TokenKind, tokens};
use serde_json::{Value, json};
use std::collections::HashMap;

/// The name at a byte, as the editor asks for a new one.
pub(crate) fn prepare(view: &View<'_>, offset: u32) -> Result<Value, String> {
    let (place, name) = renamable(view, offset)?;
    Ok(json!({ "range": view.range(place.span), "placeholder": name.name }))
}

/// The changes that give the name at a byte a new one.
pub(crate) fn rename(view: &View<'_>, offset: u32, new: &str) -> Result<WorkspaceEdit, String> {
    let (place, name) = renamable(view, offset)?;
    let parts = parts(name, new)?;
    let index = &view.analysis.index;
    let edits: Vec<TextEdit> = index
        .places_of(place.name)
        .filter(|one| is_written(view, one, name))
        .map(|one| TextEdit { range: view.range(one.span), new_text: parts[one.part].clone() })
        .collect();
    Ok(WorkspaceEdit {
        #[allow(clippy::mutable_key_type, reason = "the type is the protocol's")]
        changes: Some(HashMap::from([(view.document.uri.clone(), edits)])),
        ..WorkspaceEdit::default()
    })
}

/// The text at a place is the name: an alias of a class stays as it is.
fn is_written(view: &View<'_>, place: &NamePlace, name: &NameInfo) -> bool {
    let written = place.span.text(view.text());
    match name.kind {
        NameKind::Message => true,
        _ => written == name.name,
    }
}

fn renamable<'a>(view: &View<'a>, offset: u32) -> Result<(&'a NamePlace, &'a NameInfo), String> {
    let index = &view.analysis.index;
    let (place, name) = index.name_at(offset).ok_or("there is no name here")?;
    if let Some(fault) = view.analysis.faults.first() {
        let line = view.position(fault.label.span.start).line + 1;
        return Err(format!("line {line} has a fault, so names are not certain: {}", fault.title));
    }
    let names = &view.knowledge.names;
    match name.kind {
        NameKind::Predefined => Err(format!("`{}` is a name of the language", name.name)),
        NameKind::Property => {
            Err(format!("`{}` may be a column and a key of JSON: rename it by hand", name.name))
        }
        NameKind::Message if name.definition.is_none() => {
            Err(format!("no class of this file defines `{}`", name.name))
        }
        NameKind::Message
            if view.knowledge.catalogue.definitions(&name.name).next().is_some()
                || names.understands(None, &name.name) =>
        {
            Err(format!("`{}` is a message of the language as well: rename it by hand", name.name))
        }
        NameKind::Class if names.is_class(&name.name) || name.definition.is_none() => {
            Err(format!("this file does not define `{}`", name.name))
        }
        NameKind::Scheme if name.definition.is_none() => {
            Err(format!("this file does not define `{}:`", name.name))
        }
        _ if name.definition.is_none() => Err(format!("this file does not define `{}`", name.name)),
        _ => Ok((place, name)),
    }
}

/// The new words of a name: as many as it has places in a message.
fn parts(name: &NameInfo, new: &str) -> Result<Vec<String>, String> {
    let new = new.trim();
    let keywords = name.name.matches(':').count();
    if name.kind == NameKind::Message && keywords > 0 {
        let words: Vec<String> = new.split_terminator(':').map(str::to_owned).collect();
        let is_right = new.ends_with(':') || keywords == 1;
        if !is_right || words.len() != keywords || !words.iter().all(|word| is_name(word)) {
            let example: String = (1..=keywords).map(|number| format!("part{number}:")).collect();
            return Err(format!(
                "`{new}` needs {keywords} keywords with colons, such as `{example}`"
            ));
        }
        return Ok(words);
    }
    let is_operator = !name.name.starts_with(|first: char| first.is_alphabetic() || first == '_');
    if is_operator {
        return Err(format!("`{}` is an operator: rename it by hand", name.name));
    }
    let new = new.trim_end_matches(':');
    if !is_name(new) {
        return Err(format!("`{new}` is not a name: letters, digits, `_`, and `-` between them"));
    }
    if name.kind == NameKind::Class && !new.starts_with(|first: char| first.is_ascii_uppercase()) {
        return Err(format!("`{new}` must begin with a capital letter: it is a class"));
    }
    Ok(vec![new.to_owned()])
}

fn is_name(text: &str) -> bool {
    const RESERVED: [&str; 5] = ["self", "super", "nil", "true", "false"];
    let all = tokens(text);
    let whole = Span::new(0, text.len() as u32);
    let is_one =
        matches!(all.as_slice(), [one] if one.span == whole && one.kind == TokenKind::Name);
    is_one && !RESERVED.contains(&text)
}
