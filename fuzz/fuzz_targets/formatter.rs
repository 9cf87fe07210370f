//! The formatter on any text that parses: the canonical text has the same tree and the same
//! comments, and is its own canonical text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use runnel_syntax::{Parsed, format, outline, parse};

fuzz_target!(|source: &str| {
    let parsed = parse(source);
    if !parsed.diagnostics.is_empty() {
        assert!(format(source).is_err());
        return;
    }
    let text = match format(source) {
        Ok(text) => text,
        // A comment in the middle of an expression may be where no line can end: the formatter then
        // says so and changes nothing.
        Err(_) if !parsed.program.comments.is_empty() => return,
        Err(faults) => panic!("a text without faults can be formatted: {faults:?}"),
    };
    let again = parse(&text);
    assert!(again.diagnostics.is_empty(), "{text}");
    assert_eq!(outline(&again.program), outline(&parsed.program), "{text}");
    assert_eq!(comments(&text, &again), comments(source, &parsed), "{text}");
    assert_eq!(format(&text).as_ref(), Ok(&text));
});

fn comments(source: &str, parsed: &Parsed) -> Vec<String> {
    let comments = parsed.program.comments.iter();
    let mut texts: Vec<String> =
        comments.map(|comment| comment.span.text(source).to_owned()).collect();
    texts.sort();
    texts
}
