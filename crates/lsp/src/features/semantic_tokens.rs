//! The colours of names: what each token is, as the parser and the scopes understand it.

use crate::analysis::index::{NameKind, NamePlace, NameUse};
use crate::documents::View;
use lsp_types::{
    SemanticToken, SemanticTokenModifier, SemanticTokenType, SemanticTokens, SemanticTokensLegend,
};
use runnel_syntax::{Span, Token, TokenKind};

/// Kinds in the order of the legend.
#[derive(Clone, Copy)]
enum Colour {
    Namespace,
    Class,
    Parameter,
    Variable,
    Property,
    Method,
    Keyword,
    Text,
    Number,
    Comment,
    Operator,
    Pattern,
    Macro,
}

const TYPES: [SemanticTokenType; 13] = [
    SemanticTokenType::NAMESPACE,
    SemanticTokenType::CLASS,
    SemanticTokenType::PARAMETER,
    SemanticTokenType::VARIABLE,
    SemanticTokenType::PROPERTY,
    SemanticTokenType::METHOD,
    SemanticTokenType::KEYWORD,
    SemanticTokenType::STRING,
    SemanticTokenType::NUMBER,
    SemanticTokenType::COMMENT,
    SemanticTokenType::OPERATOR,
    SemanticTokenType::REGEXP,
    SemanticTokenType::MACRO,
];
const DECLARATION: u32 = 1;
const DEFAULT_LIBRARY: u32 = 2;

pub(crate) fn legend() -> SemanticTokensLegend {
    SemanticTokensLegend {
        token_types: TYPES.to_vec(),
        token_modifiers: vec![
            SemanticTokenModifier::DECLARATION,
            SemanticTokenModifier::DEFAULT_LIBRARY,
        ],
    }
}

/// The tokens of a text, or of a part of it.
pub(crate) fn tokens(view: &View<'_>, part: Option<Span>) -> SemanticTokens {
    let part = part.unwrap_or(Span::new(0, u32::MAX));
    let places = &view.analysis.index.places;
    let mut data = Vec::new();
    let (mut line, mut column, mut next_place) = (0, 0, 0);
    for token in &view.analysis.tokens {
        if token.span.end < part.start || token.span.start > part.end {
            continue;
        }
        // The name of a literal stands behind its `#`.
        let is_literal =
            token.kind == TokenKind::Symbol && token.span.text(view.text()).starts_with('#');
        let start = token.span.start + u32::from(is_literal);
        while places.get(next_place).is_some_and(|place| place.span.start < start) {
            next_place += 1;
        }
        let place = places.get(next_place).filter(|place| place.span.start == start);
        let Some((colour, modifiers)) = colour(view, *token, place) else { continue };
        for piece in lines_of(view, token.span) {
            let position = view.position(piece.start);
            let length = view.document.unit.length(piece.text(view.text()));
            if length == 0 {
                continue;
            }
            let delta_line = position.line - line;
            let delta_start =
                if delta_line == 0 { position.character - column } else { position.character };
            (line, column) = (position.line, position.character);
            data.push(SemanticToken {
                delta_line,
                delta_start,
                length,
                token_type: colour as u32,
                token_modifiers_bitset: modifiers,
            });
        }
    }
    SemanticTokens { result_id: None, data }
}

/// The pieces of a token on each of its lines.
fn lines_of(view: &View<'_>, span: Span) -> Vec<Span> {
    let lines = &view.analysis.lines;
    let (first, last) = (lines.line(span.start), lines.line(span.end.max(span.start + 1) - 1));
    if first == last {
        return vec![span];
    }
    let piece = |line: u32| {
        let whole = lines.span(view.text(), line);
        let start = whole.start.max(span.start);
        Span::new(start, whole.end.min(span.end).max(start))
    };
    (first..=last).map(piece).collect()
}

fn colour(view: &View<'_>, token: Token, place: Option<&NamePlace>) -> Option<(Colour, u32)> {
    use TokenKind as Kind;
    let plain = |colour| Some((colour, 0));
    if let Some(place) = place {
        let name = &view.analysis.index.names[place.name];
        let declares = u32::from(place.usage == NameUse::Definition) * DECLARATION;
        let library = u32::from(name.definition.is_none()) * DEFAULT_LIBRARY;
        return Some(match name.kind {
            NameKind::Variable => (Colour::Variable, declares),
            NameKind::Parameter => (Colour::Parameter, declares),
            NameKind::Class => (Colour::Class, declares | library),
            NameKind::Scheme => (Colour::Namespace, declares | library),
            NameKind::Message if token.kind == Kind::Operator => (Colour::Operator, 0),
            NameKind::Message => (Colour::Method, declares),
            NameKind::Property => (Colour::Property, declares),
            NameKind::Predefined => (Colour::Variable, DEFAULT_LIBRARY),
        });
    }
    match token.kind {
        Kind::Name => match token.span.text(view.text()) {
            "self" | "super" | "nil" | "true" | "false" => plain(Colour::Keyword),
            "html" | "paged" | "public" | "closed" | "message" => plain(Colour::Keyword),
            _ => plain(Colour::Variable),
        },
        Kind::Definition => plain(Colour::Keyword),
        Kind::Keyword => plain(Colour::Method),
        Kind::Scheme => plain(Colour::Namespace),
        Kind::Path | Kind::Quote => plain(Colour::Text),
        Kind::Text => match token.span.text(view.text()).starts_with('/') {
            true => plain(Colour::Pattern),
            false => plain(Colour::Text),
        },
        Kind::Number => plain(Colour::Number),
        Kind::Hash | Kind::Symbol => plain(Colour::Property),
        Kind::Implicit => plain(Colour::Parameter),
        Kind::Operator
        | Kind::Arrow
        | Kind::Assign
        | Kind::EqualBar
        | Kind::Caret
        | Kind::Question => plain(Colour::Operator),
        Kind::Comment => plain(Colour::Comment),
        Kind::Signature | Kind::Shell => plain(Colour::Macro),
        _ => None,
    }
}
