//! From a name to its definition and its other places.

use super::hover::sent_at;
use crate::analysis::index::{NameIndex, NameInfo, NameKind, NamePlace, NameUse};
use crate::documents::{OpenText, View};
use crate::text::address_of;
use lsp_types::{DocumentHighlight, DocumentHighlightKind, Location, Range, Uri};
use runnel_syntax::Span;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;

/// Where definitions may be, beside the text itself.
pub(crate) struct DefinitionSearch<'a> {
    pub(crate) others: &'a [Arc<OpenText>],
    pub(crate) folders: &'a [PathBuf],
}

/// A definition: the name, and the whole.
struct Target {
    uri: Uri,
    name: Range,
    full: Range,
}

/// Where the name at a byte is defined.
pub(crate) fn definition(
    view: &View<'_>,
    offset: u32,
    asked: &DefinitionSearch<'_>,
    links: bool,
) -> Value {
    let (targets, origin) = targets(view, offset, asked);
    match links {
        true => {
            json!(targets.iter().map(|one| json!({
            "originSelectionRange": origin.map(|span| view.range(span)),
            "targetUri": one.uri, "targetRange": one.full, "targetSelectionRange": one.name,
        })).collect::<Vec<_>>())
        }
        false => {
            json!(
                targets
                    .iter()
                    .map(|one| json!({ "uri": one.uri, "range": one.name }))
                    .collect::<Vec<_>>()
            )
        }
    }
}

fn targets(
    view: &View<'_>,
    offset: u32,
    asked: &DefinitionSearch<'_>,
) -> (Vec<Target>, Option<Span>) {
    let index = &view.analysis.index;
    if let Some((place, name)) = index.name_at(offset) {
        let mut targets = own_targets(view, place, name);
        if targets.is_empty() {
            targets = others(view, name, asked);
        }
        return (targets, Some(place.span));
    }
    // The path of a reference is the definition of its content.
    let holds = |span: Span| span.start <= offset && offset <= span.end;
    let reference = index.references.iter().find(|one| one.scheme == "file" && holds(one.span));
    let Some(reference) = reference else { return (Vec::new(), None) };
    let path = reference.path.as_deref().and_then(|path| {
        view.bases(asked.folders)
            .into_iter()
            .map(|base| base.join(path))
            .find(|path| path.is_file())
    });
    let target = path.and_then(|path| address_of(&path)).map(|uri| {
        let range = Range::default();
        Target { uri, name: range, full: range }
    });
    (target.into_iter().collect(), Some(reference.span))
}

/// The definitions in the text itself: of a message those of the receiver's class, or of all.
fn own_targets(view: &View<'_>, place: &NamePlace, name: &NameInfo) -> Vec<Target> {
    let index = &view.analysis.index;
    let target = |(name, full): (Span, Span)| Target {
        uri: view.document.uri.clone(),
        name: view.range(name),
        full: view.range(full),
    };
    if name.kind != NameKind::Message {
        return name.definition.map(target).into_iter().collect();
    }
    let sent = sent_at(index, place.span);
    let receiver =
        sent.and_then(|sent| Some((sent.receiver.class.as_deref()?, sent.receiver.is_class)));
    if let Some((class, is_class)) = receiver
        && let Some(method) = index.method(class, &name.name, is_class)
    {
        return vec![target((method.name_span, method.span))];
    }
    let mut all: Vec<(Span, Span)> = index
        .classes
        .values()
        .flat_map(|class| &class.methods)
        .filter(|method| method.selector == name.name)
        .map(|method| (method.name_span, method.span))
        .collect();
    all.sort_by_key(|(span, _)| span.start);
    all.into_iter().map(target).collect()
}

/// The definitions of a class or a message in other open texts.
fn others(view: &View<'_>, name: &NameInfo, asked: &DefinitionSearch<'_>) -> Vec<Target> {
    let mut targets = Vec::new();
    for document in asked.others.iter().filter(|one| one.uri != view.document.uri) {
        let other = View::new(document, view.knowledge);
        let mut spans: Vec<(Span, Span)> = Vec::new();
        let classes = other.analysis.index.classes.values();
        match name.kind {
            NameKind::Class => spans.extend(
                classes.filter(|one| one.name == name.name).map(|one| (one.name_span, one.span)),
            ),
            NameKind::Message => spans.extend(
                classes
                    .flat_map(|class| &class.methods)
                    .filter(|method| method.selector == name.name)
                    .map(|method| (method.name_span, method.span)),
            ),
            _ => {}
        }
        targets.extend(spans.into_iter().map(|(name, full)| Target {
            uri: document.uri.clone(),
            name: other.range(name),
            full: other.range(full),
        }));
    }
    targets
}

/// All places of the name at a byte.
pub(crate) fn references(view: &View<'_>, offset: u32, with_definition: bool) -> Vec<Location> {
    let index = &view.analysis.index;
    let Some((place, _)) = index.name_at(offset) else { return Vec::new() };
    let wanted = |one: &&NamePlace| with_definition || one.usage != NameUse::Definition;
    first_parts(index, place.name)
        .filter(wanted)
        .map(|one| Location { uri: view.document.uri.clone(), range: view.range(one.span) })
        .collect()
}

/// The places of a name; of a message its first keyword stands for all.
fn first_parts(index: &NameIndex, name: usize) -> impl Iterator<Item = &NamePlace> {
    index.places_of(name).filter(|place| place.part == 0)
}

/// The places of the name at a byte, as an editor marks them.
pub(crate) fn highlights(view: &View<'_>, offset: u32) -> Vec<DocumentHighlight> {
    let index = &view.analysis.index;
    let Some((place, _)) = index.name_at(offset) else { return Vec::new() };
    let highlight = |one: &NamePlace| DocumentHighlight {
        range: view.range(one.span),
        kind: Some(match one.usage {
            NameUse::Read => DocumentHighlightKind::READ,
            NameUse::Write | NameUse::Definition => DocumentHighlightKind::WRITE,
        }),
    };
    index.places_of(place.name).map(highlight).collect()
}
