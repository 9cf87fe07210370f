//! The queries of the grammar: they compile, and texts and comments are where the language's lexer sees them.

use crate::programs::{parse, programs, root};
use runnel_grammar::{HIGHLIGHTS, LANGUAGE};
use runnel_syntax::{TokenKind, tokens};
use tree_sitter::{Query, QueryCursor, StreamingIterator};

/// The kind of a character, which both sides must agree on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Colour {
    Code,
    Text,
    Comment,
    /// The address of a property path is one token of the lexer; types in it have texts.
    Address,
}

/// The colour of each byte by the query. The innermost node decides.
fn colours_of_query(query: &Query, text: &str) -> Vec<Colour> {
    let tree = parse(text);
    let mut captures: Vec<(usize, usize, Colour)> = Vec::new();
    let mut cursor = QueryCursor::new();
    let mut found = cursor.captures(query, tree.root_node(), text.as_bytes());
    while let Some((one, at)) = found.next() {
        let capture = one.captures()[*at];
        let name = query.capture_names()[capture.index as usize];
        let colour = match name.split('.').next() {
            Some("comment") => Colour::Comment,
            Some("string") => Colour::Text,
            _ => Colour::Code,
        };
        captures.push((capture.node.start_byte(), capture.node.end_byte(), colour));
    }
    captures.sort_by_key(|(start, end, _)| std::cmp::Reverse(end - start));
    let mut colours = vec![Colour::Code; text.len()];
    for (start, end, colour) in captures {
        colours[start..end].fill(colour);
    }
    colours
}

pub(crate) fn colours_of_lexer(text: &str) -> Vec<Colour> {
    let mut colours = vec![Colour::Code; text.len()];
    for token in tokens(text) {
        let colour = match token.kind {
            TokenKind::Text | TokenKind::Quote => Colour::Text,
            TokenKind::Comment => Colour::Comment,
            TokenKind::Path => Colour::Address,
            _ => Colour::Code,
        };
        colours[token.span.start as usize..token.span.end as usize].fill(colour);
    }
    colours
}

#[test]
fn texts_and_comments_are_coloured_as_the_lexer_sees_them() {
    let query = Query::new(&LANGUAGE.into(), HIGHLIGHTS).unwrap();
    let mut different = Vec::new();
    for sample in programs() {
        let (ours, theirs) =
            (colours_of_query(&query, &sample.text), colours_of_lexer(&sample.text));
        let wrong = ours.iter().zip(&theirs).position(|(query, lexer)| match lexer {
            Colour::Address => *query == Colour::Comment,
            _ => query != lexer,
        });
        if let Some(at) = wrong {
            let line = sample.text[..at].matches('\n').count() + 1;
            different
                .push(format!("{} line {line}: {:?} and {:?}", sample.name, ours[at], theirs[at]));
        }
    }
    assert!(different.is_empty(), "{}\n{}", different.len(), different.join("\n"));
}

#[test]
fn every_query_compiles() {
    let mut queries = Vec::new();
    for folder in ["tree-sitter-runnel/queries", "zed/languages/runnel"] {
        for entry in std::fs::read_dir(root().join("editors").join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|ending| ending == "scm") {
                queries.push((path.display().to_string(), std::fs::read_to_string(&path).unwrap()));
            }
        }
    }
    let emacs = std::fs::read_to_string(root().join("editors/emacs/runnel.el")).unwrap();
    let faces = emacs.split("(defconst runnel--highlights").nth(1).unwrap();
    let faces = faces.split("What has which face").next().unwrap().replace("\\\"", "\u{1}");
    // Every second part stands between quotes.
    let parts = faces.split('"').skip(1).step_by(2).filter(|part| part.contains('@'));
    queries.extend(parts.map(|part| ("runnel.el".to_owned(), part.replace('\u{1}', "\""))));
    for (name, text) in &queries {
        let query = Query::new(&LANGUAGE.into(), text);
        assert!(query.is_ok(), "{name}: {:?}\n{text}", query.err());
    }
    assert!(queries.len() >= 20, "only {} queries were found", queries.len());
}
