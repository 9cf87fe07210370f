//! The parser on any text: no panic, every place lies in the text, every fault has a suggestion.
#![no_main]

use libfuzzer_sys::fuzz_target;
use runnel_syntax::{Span, is_incomplete, limits, outline, parse};

fuzz_target!(|source: &str| {
    let parsed = parse(source);
    let is_place = |span: Span| source.get(span.start as usize..span.end as usize).is_some();
    assert!(parsed.diagnostics.len() <= limits::MAX_DIAGNOSTICS);
    for diagnostic in &parsed.diagnostics {
        assert!(is_place(diagnostic.label.span), "{diagnostic:?}");
        assert!(diagnostic.others.iter().all(|label| is_place(label.span)), "{diagnostic:?}");
        assert!(diagnostic.hint.is_some(), "{diagnostic:?}");
    }
    assert!(parsed.program.statements.iter().all(|statement| is_place(statement.span)));
    assert!(parsed.program.comments.iter().all(|comment| is_place(comment.span)));
    if is_incomplete(source) {
        assert!(!parsed.diagnostics.is_empty());
    }
    outline(&parsed.program);
});
