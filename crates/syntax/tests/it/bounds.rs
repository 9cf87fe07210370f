//! Deep and long texts: a diagnostic, and no more stack than a thread has.
#![allow(clippy::unwrap_used)]

use runnel_syntax::{format, is_incomplete, limits, outline, parse, tokens};

/// Runs everything there is on a thread with the stack that threads have by default.
fn survives(source: String, faults: bool) {
    let work = move || {
        let parsed = parse(&source);
        assert_eq!(!parsed.diagnostics.is_empty(), faults, "{:.40}", source);
        assert!(parsed.diagnostics.len() <= limits::MAX_DIAGNOSTICS);
        let copy = parsed.clone();
        assert_eq!(copy, parsed);
        assert_eq!(outline(&copy.program), outline(&parsed.program));
        assert_eq!(format(&source).is_ok(), !faults, "{:.40}", source);
        is_incomplete(&source);
        tokens(&source);
    };
    std::thread::Builder::new().stack_size(2 << 20).spawn(work).unwrap().join().unwrap();
}

#[test]
fn nesting_without_end() {
    for part in [
        "(",
        "[",
        "{",
        "#a{b: ",
        "\"{",
        "a:{",
        "a := ",
        "a → ",
        "class A { -b { ",
        "filter a |{ ",
        "scheme A { /x { get { ",
        "x at: (y[{ [ #a{ b: (",
        "{ :a | ",
        "#(",
        "#a[",
        "^ {",
        "x{",
    ] {
        survives(part.repeat(20_000), true);
    }
}

#[test]
fn nesting_up_to_the_bound() {
    let depth = limits::MAX_NESTING as usize / 2 - 1;
    survives(format!("{}1{}", "(".repeat(depth), ")".repeat(depth)), false);
    survives(format!("{}1{}", "[".repeat(depth), "]".repeat(depth)), false);
    survives(format!("{}1{}", "x y: {".repeat(depth), "}".repeat(depth)), false);
    survives(format!("{}1{}", "#a{b: ".repeat(depth), "}".repeat(depth)), false);
    survives(format!("{}1", "a := ".repeat(depth)), false);
    survives(format!("{}1", "a → ".repeat(depth)), false);
}

#[test]
fn chains_without_end() {
    for part in [" + a", " b", " | b", "[1]", " ?", "; c", " at: 1 | b"] {
        survives(format!("a b{}", part.repeat(20_000)), true);
    }
}

#[test]
fn chains_up_to_the_bound() {
    let length = limits::MAX_HEIGHT as usize - 10;
    for part in [" + a", " b", " | b", "[1]", " ?", "; c"] {
        survives(format!("a b{}", part.repeat(length)), false);
    }
    survives(format!("a{}", " + a b | c".repeat(length / 3)), false);
}

#[test]
fn long_lists_are_not_deep() {
    survives(format!("[{}]", "1, ".repeat(20_000)), false);
    survives(format!("x {}", "k: (a) ".repeat(20_000)), false);
    survives("a := b foo: 3. // c\n".repeat(5_000), false);
    survives("\"a\".\n".repeat(5_000) + "b", false);
}

#[test]
fn quotes_that_do_not_match() {
    survives("'\\ \n".repeat(20_000), true);
    survives("( ) ) ( '\\ \n".repeat(20_000), true);
    survives("\"{\n".repeat(20_000), true);
    survives("\"a {\n".repeat(20_001), true);
}
