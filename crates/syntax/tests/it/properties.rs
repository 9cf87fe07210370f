//! Properties that hold for every text: nothing panics, places are places, formatting keeps the
//! meaning and the comments and changes nothing the second time.
#![allow(clippy::unwrap_used)]

use crate::common::SAMPLES;
use proptest::prelude::*;
use runnel_syntax::ast::Program;
use runnel_syntax::{Span, format, is_incomplete, limits, outline, parse, tokens};

/// Texts near the language: samples that are cut, with pieces replaced, doubled or put in.
fn near_programs() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just(""),
        Just(" "),
        Just("\n"),
        Just("."),
        Just("'"),
        Just("\""),
        Just("{"),
        Just("}"),
        Just("("),
        Just(")"),
        Just("["),
        Just("]"),
        Just("|"),
        Just(";"),
        Just(":"),
        Just(":="),
        Just("#"),
        Just("#-"),
        Just("\n# c\n"),
        Just("\n// c\n"),
        Just("// c\n"),
        Just("at: "),
        Just("file:{x}."),
        Just("tasks: "),
        Just("-"),
        Just("\n-a {"),
        Just("\n/a {"),
        Just("get {"),
        Just("class A {"),
        Just("ä"),
        Just("\0"),
        Just("→"),
        Just("0x"),
        Just("\\u{"),
        Just("!"),
        Just("^"),
        Just("?"),
    ];
    let edit = (any::<prop::sample::Index>(), 0usize..12, piece);
    (0..SAMPLES.len(), prop::collection::vec(edit, 0..6), any::<prop::sample::Index>()).prop_map(
        |(sample, edits, cut)| {
            let mut text: Vec<char> = SAMPLES[sample].1.chars().collect();
            for (at, length, piece) in edits {
                let start = at.index(text.len() + 1);
                let end = (start + length).min(text.len());
                text.splice(start..end, piece.chars());
            }
            let keep = cut.index(text.len() * 2 + 1);
            text.truncate(keep.max(1));
            text.into_iter().collect()
        },
    )
}

/// Samples with comments put in wherever white space stands.
fn commented_programs() -> impl Strategy<Value = String> {
    let comment = prop_oneof![
        Just(" // note\n"),
        Just("\n// own line\n"),
        Just("\n\n   // indented\n\n"),
        Just("\n# first column\n"),
        Just("\n"),
        Just("\n\n\n"),
        Just("   "),
    ];
    let edit = (any::<prop::sample::Index>(), comment);
    (0..SAMPLES.len(), prop::collection::vec(edit, 1..8)).prop_map(|(sample, edits)| {
        let mut text = SAMPLES[sample].1.to_owned();
        for (at, comment) in edits {
            let blanks: Vec<usize> = text.match_indices([' ', '\n']).map(|(at, _)| at).collect();
            let at = blanks[at.index(blanks.len())];
            text.replace_range(at..=at, comment);
        }
        text
    })
}

fn comments(source: &str, program: &Program) -> Vec<String> {
    let texts = program.comments.iter().map(|comment| comment.span.text(source).to_owned());
    let mut texts: Vec<String> = texts.collect();
    texts.sort();
    texts
}

/// Everything that is promised about any text.
fn check(source: &str) {
    let parsed = parse(source);
    let is_place = |span: Span| {
        span.start <= span.end && source.get(span.start as usize..span.end as usize).is_some()
    };
    assert!(parsed.diagnostics.len() <= limits::MAX_DIAGNOSTICS);
    for diagnostic in &parsed.diagnostics {
        assert!(is_place(diagnostic.label.span), "{diagnostic:?}");
        assert!(diagnostic.others.iter().all(|label| is_place(label.span)), "{diagnostic:?}");
        assert!(diagnostic.hint.is_some(), "{diagnostic:?}");
    }
    assert!(parsed.program.comments.iter().all(|comment| is_place(comment.span)));
    assert!(parsed.program.statements.iter().all(|statement| is_place(statement.span)));
    is_incomplete(source);

    let mut end = 0;
    for token in tokens(source) {
        assert!(is_place(token.span) && token.span.start >= end, "{token:?} after {end}");
        let between = &source[end as usize..token.span.start as usize];
        let blank = |c: char| c.is_whitespace() || matches!(c, '\u{feff}' | '\u{200b}');
        assert!(
            !parsed.diagnostics.is_empty() || between.chars().all(blank),
            "no token: {between:?}"
        );
        end = token.span.end;
    }

    if !parsed.diagnostics.is_empty() {
        assert_eq!(format(source).unwrap_err(), parsed.diagnostics);
        return;
    }
    let text = format(source).unwrap_or_else(|refused| panic!("{refused:?}\n{source}"));
    let again = parse(&text);
    assert_eq!(again.diagnostics, [], "{text}");
    assert_eq!(outline(&again.program), outline(&parsed.program), "{text}");
    assert_eq!(comments(&text, &again.program), comments(source, &parsed.program), "{text}");
    assert_eq!(format(&text).as_ref(), Ok(&text));
}

#[test]
fn the_samples() {
    for (_, source) in SAMPLES {
        assert_eq!(parse(source).diagnostics, [], "{source}");
        check(source);
    }
}

#[test]
fn line_ends_and_marks_of_other_systems() {
    for (_, source) in SAMPLES {
        let plain = parse(source);
        let other = format!("\u{feff}{}", source.replace('\n', "\r\n"));
        let parsed = parse(&other);
        assert_eq!(parsed.diagnostics, [], "{source}");
        assert_eq!(outline(&parsed.program), outline(&plain.program));
        assert_eq!(comments(&other, &parsed.program), comments(source, &plain.program));
        assert_eq!(format(&other), format(source));
        check(&other);
    }
}

#[test]
fn every_cut_of_the_samples() {
    for (_, source) in SAMPLES {
        for (at, _) in source.char_indices().step_by(3) {
            check(&source[..at]);
            check(&source[at..]);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn any_text(source in any::<String>()) {
        check(&source);
    }

    #[test]
    fn any_marks(source in "[a{}()\\[\\]#'\"|:;.,=<>+*/!?^$\\\\ \n-]{0,60}") {
        check(&source);
    }

    #[test]
    fn programs_with_faults(source in near_programs()) {
        check(&source);
    }

    #[test]
    fn programs_with_comments(source in commented_programs()) {
        check(&source);
    }
}
