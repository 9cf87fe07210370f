//! The types of variables and of parameters of blocks, as a program would declare them.

use crate::analysis::index::NameKind;
use crate::documents::View;
use lsp_types::{InlayHint, InlayHintKind, InlayHintLabel};
use runnel_syntax::Span;

/// Hints of one answer.
const MOST_HINTS: usize = 2_000;

/// The types that are known in a part of a text: `‹Table of Task›tasks ← …`, `:‹Task›task |`.
pub(crate) fn hints(view: &View<'_>, part: Span) -> Vec<InlayHint> {
    let index = &view.analysis.index;
    let mut found: Vec<(u32, String)> = Vec::new();
    for (number, name) in index.names.iter().enumerate() {
        let Some((span, _)) = name.definition else { continue };
        let is_shown = match name.kind {
            NameKind::Variable => !is_evident(view, span),
            NameKind::Parameter => index.block_parameters.contains(&number),
            _ => false,
        };
        let is_inside = span.end >= part.start && span.start <= part.end;
        if is_shown && is_inside && name.value.is_known() && !name.is_mixed {
            found.push((span.start, format!("<{}>", name.value)));
        }
    }
    found.sort_by_key(|(start, _)| *start);
    found.truncate(MOST_HINTS);
    let hint = |(start, label): (u32, String)| InlayHint {
        position: view.position(start),
        label: InlayHintLabel::String(label),
        kind: Some(InlayHintKind::TYPE),
        text_edits: None,
        tooltip: None,
        padding_left: None,
        padding_right: None,
        data: None,
    };
    found.into_iter().map(hint).collect()
}

/// Whether the text behind an assignment shows the type itself: a literal to which no message is sent.
fn is_evident(view: &View<'_>, name: Span) -> bool {
    let rest = view.text().get(name.end as usize..).unwrap_or_default();
    let value = [":=", "←", "<-"].iter().find_map(|mark| rest.trim_start().strip_prefix(mark));
    let Some(value) = value.map(str::trim_start) else { return true };
    let start = name.end + (rest.len() - value.len()) as u32;
    let sends = &view.analysis.index.sends;
    let at = sends.partition_point(|sent| sent.span.start < start);
    let is_sent_to = sends.get(at).is_some_and(|sent| sent.span.start == start);
    let is_literal = value.starts_with(['\'', '"', '{', '[', '#', '-'])
        || value.starts_with(|one: char| one.is_ascii_digit());
    is_literal && !is_sent_to
}
