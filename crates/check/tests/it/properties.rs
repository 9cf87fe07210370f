//! Properties that hold for every text: nothing panics, places are places, and corrections of programs
//! that parse leave programs that parse.

use crate::common::findings;
use proptest::prelude::*;
use runnel_check::codes::{CODES, find};
use runnel_syntax::{Severity, Span, corrected, parse};

const PIECES: [&str; 40] = [
    "",
    " ",
    "\n",
    ".",
    "'",
    "\"",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    "|",
    ";",
    ":",
    ":=",
    "#",
    "^",
    "?",
    "→",
    "class A {",
    "-a {",
    "self ",
    "super ",
    "this:a",
    "this.a",
    "var x.",
    "ref:a",
    "var:a ← ",
    "$0",
    "nil ",
    "ifNil: { 3 }",
    "at: 1 put: ",
    "|= ",
    "scheme S { /a/:b { get { b } } }",
    "#A{ a: ",
    "ä",
    "object T : #A{ a: 1 }.",
    "extension String { -q { self } }",
    "{ :a :b | a := b }",
];

/// Programs with mistakes that are cut, with pieces replaced, doubled or put in.
fn near_programs() -> impl Strategy<Value = String> {
    let edit = (any::<prop::sample::Index>(), 0usize..12, 0..PIECES.len());
    let base = (0..CODES.len(), 0..CODES.len());
    (base, prop::collection::vec(edit, 0..8)).prop_map(|((first, second), edits)| {
        let text = format!("{}.\n{}", CODES[first].example, CODES[second].right);
        let mut text: Vec<char> = text.chars().collect();
        for (at, length, piece) in edits {
            let start = at.index(text.len() + 1);
            let end = (start + length).min(text.len());
            text.splice(start..end, PIECES[piece].chars());
        }
        text.into_iter().collect()
    })
}

fn holds(source: &str) {
    let found = findings(source);
    let is_place = |span: Span| source.get(span.start as usize..span.end as usize).is_some();
    for one in &found {
        // What is unsafe, and refused at run time as well, is an error.
        let is_error = matches!(one.code, Some("no-unit" | "kept-answer"));
        assert_eq!(one.level == Severity::Error, is_error, "{one:?}");
        assert!(one.code.and_then(find).is_some(), "{one:?}");
        assert!(is_place(one.label.span) && one.hint.is_some(), "{one:?}");
        assert!(one.others.iter().all(|label| is_place(label.span)), "{one:?}");
        assert!(one.fixes.iter().all(|fix| is_place(fix.span)), "{one:?}");
    }
    let is_right =
        |source: &str| parse(source).diagnostics.iter().all(|one| one.level != Severity::Error);
    let (text, count) = corrected(source, &found);
    if count > 0 && is_right(source) {
        assert!(is_right(&text), "{source:?} became {text:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_program_is_checked(source in near_programs()) {
        holds(&source);
    }

    #[test]
    fn any_text_is_checked(source in "\\PC{0,80}") {
        holds(&source);
    }
}
