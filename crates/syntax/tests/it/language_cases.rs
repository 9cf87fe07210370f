//! Each case of `tests/cases/language.tsv` parses, except those with a syntax error.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::print_stdout)]

use std::path::Path;

#[test]
fn the_scripts_of_the_cases_parse_and_format() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases/language.tsv");
    let table = std::fs::read_to_string(&file).unwrap();
    let mut count = 0;
    for row in table.lines().skip(1) {
        let fields: Vec<&str> = row.split('\t').collect();
        let [id, _, script, ..] = fields.as_slice() else {
            panic!("a row without a script: {row}")
        };
        let script = unescape(script);
        let parsed = runnel_syntax::parse(&script);
        // The only syntax error: the argument of `+` is missing.
        if *id == "167" {
            assert_eq!(parsed.diagnostics.len(), 1, "{script}");
        } else {
            assert!(parsed.diagnostics.is_empty(), "{id}: {script}\n{:#?}", parsed.diagnostics);
            let text = runnel_syntax::format(&script).unwrap();
            assert_eq!(runnel_syntax::format(&text).as_ref(), Ok(&text), "{id}: {script}");
        }
        count += 1;
    }
    assert!(count > 100, "only {count} cases");
}

/// `\n` is a line end and `\\` a backslash.
fn unescape(text: &str) -> String {
    let mut result = String::new();
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match (c, rest.clone().next()) {
            ('\\', Some('n')) => {
                result.push('\n');
                rest.next();
            }
            ('\\', Some('\\')) => {
                result.push('\\');
                rest.next();
            }
            _ => result.push(c),
        }
    }
    result
}
