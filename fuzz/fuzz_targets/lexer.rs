//! Tokens of any text: in order, without overlap, and in a text without faults with nothing but
//! white space between them.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|source: &str| {
    let faultless = runnel_syntax::parse(source).diagnostics.is_empty();
    let mut end = 0;
    for token in runnel_syntax::tokens(source) {
        let (start, next) = (token.span.start as usize, token.span.end as usize);
        assert!(start >= end && next >= start, "{token:?} after {end}");
        let between = &source[end..start];
        let blank = |c: char| c.is_whitespace() || matches!(c, '\u{feff}' | '\u{200b}');
        assert!(!faultless || between.chars().all(blank), "no token: {between:?}");
        assert!(source.get(start..next).is_some(), "{token:?} is no place");
        end = next;
    }
});
