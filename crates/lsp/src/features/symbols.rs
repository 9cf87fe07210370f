//! The outline of a text, and what can be folded.

use crate::analysis::outline::{OutlineItem, OutlineKind};
use crate::documents::View;
use lsp_types::{DocumentSymbol, FoldingRange, FoldingRangeKind, SymbolKind};
use runnel_syntax::{Span, TokenKind};

/// Ranges that can be folded in one text.
const MOST_RANGES: usize = 5_000;

pub(crate) fn symbol_kind(kind: OutlineKind) -> SymbolKind {
    match kind {
        OutlineKind::Class => SymbolKind::CLASS,
        OutlineKind::SchemeClass => SymbolKind::MODULE,
        OutlineKind::Protocol => SymbolKind::INTERFACE,
        OutlineKind::Method => SymbolKind::METHOD,
        OutlineKind::Property => SymbolKind::FIELD,
        OutlineKind::Path => SymbolKind::NAMESPACE,
        OutlineKind::Route => SymbolKind::EVENT,
        OutlineKind::Store => SymbolKind::OBJECT,
        OutlineKind::Variable => SymbolKind::VARIABLE,
        OutlineKind::Test => SymbolKind::FUNCTION,
    }
}

/// The definitions of a text as a tree.
pub(crate) fn document_symbols(view: &View<'_>) -> Vec<DocumentSymbol> {
    view.analysis.outline.iter().map(|item| document_symbol(view, item)).collect()
}

fn document_symbol(view: &View<'_>, item: &OutlineItem) -> DocumentSymbol {
    let children: Vec<_> = item.children.iter().map(|child| document_symbol(view, child)).collect();
    // The name lies in the whole: the protocol demands it.
    let start = item.span.start.min(item.name_span.start);
    let span = Span::new(start, item.span.end.max(item.name_span.end));
    #[allow(deprecated, reason = "the type has a field that is deprecated")]
    DocumentSymbol {
        name: item.name.clone(),
        detail: (!item.detail.is_empty()).then(|| item.detail.clone()),
        kind: symbol_kind(item.kind),
        tags: None,
        deprecated: None,
        range: view.range(span),
        selection_range: view.range(item.name_span),
        children: (!children.is_empty()).then_some(children),
    }
}

/// Brackets over several lines, and comments of several lines.
pub(crate) fn folding_ranges(view: &View<'_>) -> Vec<FoldingRange> {
    let lines = &view.analysis.lines;
    let range = |start: u32, end: u32, kind: Option<FoldingRangeKind>| FoldingRange {
        start_line: start,
        end_line: end,
        kind,
        ..FoldingRange::default()
    };
    let mut ranges = Vec::new();
    let mut open: Vec<(TokenKind, u32)> = Vec::new();
    let mut comments: Option<(u32, u32)> = None;
    for token in &view.analysis.tokens {
        let line = lines.line(token.span.start);
        if token.kind == TokenKind::Comment {
            comments = match comments {
                Some((first, last)) if last + 1 == line => Some((first, line)),
                other => {
                    ranges.extend(comment_range(other, &range));
                    Some((line, line))
                }
            };
            continue;
        }
        match token.kind {
            TokenKind::OpenBrace | TokenKind::OpenBracket | TokenKind::OpenParen => {
                open.push((token.kind, line))
            }
            TokenKind::CloseBrace | TokenKind::CloseBracket | TokenKind::CloseParen => {
                // The last line, with the closing bracket, stays visible.
                if let Some((_, first)) = open.pop()
                    && line > first + 1
                {
                    ranges.push(range(first, line - 1, None));
                }
            }
            _ => {}
        }
    }
    ranges.extend(comment_range(comments, &range));
    ranges.sort_by_key(|one| (one.start_line, u32::MAX - one.end_line));
    ranges.dedup_by_key(|one| one.start_line);
    ranges.truncate(MOST_RANGES);
    ranges
}

fn comment_range(
    comments: Option<(u32, u32)>,
    range: &dyn Fn(u32, u32, Option<FoldingRangeKind>) -> FoldingRange,
) -> Option<FoldingRange> {
    let (first, last) = comments.filter(|(first, last)| last > first)?;
    Some(range(first, last, Some(FoldingRangeKind::Comment)))
}
