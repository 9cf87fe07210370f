//! Lines above definitions (routes, tests), and the files that references name.

use crate::analysis::outline::{OutlineItem, OutlineKind};
use crate::documents::View;
use crate::text::{address_of, path_of};
use runnel_syntax::Span;
use serde_json::{Value, json};
use std::path::PathBuf;

/// Lenses and links of one text.
const MOST_LENSES: usize = 2_000;

/// `GET /tasks` above each handler, `run test` above each test. The client runs `runnel.test` and
/// `runnel.copy`; one that does not know them shows the text.
pub(crate) fn lenses(view: &View<'_>) -> Vec<Value> {
    let mut found = Vec::new();
    for item in &view.analysis.outline {
        item_lenses(view, item, &mut found);
    }
    found.truncate(MOST_LENSES);
    found
}

fn item_lenses(view: &View<'_>, item: &OutlineItem, found: &mut Vec<Value>) {
    let range = view.range(item.name_span);
    let lens = |title: String, command: &str, argument: Value| {
        let command = json!({ "title": title, "command": command, "arguments": [argument] });
        json!({ "range": range, "command": command })
    };
    match item.kind {
        OutlineKind::Route => {
            let page =
                if item.detail.is_empty() { String::new() } else { format!(" ({})", item.detail) };
            found.push(lens(format!("{}{page}", item.name), "runnel.copy", json!(item.name)));
        }
        OutlineKind::Test => {
            let path = path_of(&view.document.uri);
            found.push(lens("run test".to_owned(), "runnel.test", json!(path)));
        }
        _ => {}
    }
    item.children.iter().for_each(|child| item_lenses(view, child, found));
}

/// The references to files that exist, beside the text or in a folder of the workspace.
pub(crate) fn links(view: &View<'_>, folders: &[PathBuf]) -> Vec<Value> {
    let bases = view.bases(folders);
    let references = view.analysis.index.references.iter();
    let files = references.filter(|one| one.scheme == "file").take(MOST_LENSES);
    files
        .filter_map(|reference| {
            let path = reference.path.as_deref().filter(|path| !path.is_empty())?;
            let file = bases.iter().map(|base| base.join(path)).find(|file| file.is_file())?;
            let start = reference.span.end.checked_sub(path.len() as u32)?;
            let span = Span::new(start, reference.span.end);
            let shown = if span.text(view.text()) == path { span } else { reference.span };
            Some(json!({ "range": view.range(shown), "target": address_of(&file)? }))
        })
        .collect()
}
