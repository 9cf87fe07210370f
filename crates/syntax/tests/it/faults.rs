//! Faults: each is reported once, at its place, with a suggestion, and parsing resumes.
#![allow(clippy::unwrap_used)]

use runnel_syntax::{LineIndex, is_incomplete, limits, outline, parse};

/// Checks place (`line:column`) and title of all diagnostics.
#[track_caller]
fn check(source: &str, expected: &[(&str, &str)]) {
    let parsed = parse(source);
    let lines = LineIndex::new(source);
    let found: Vec<(String, &str)> = parsed
        .diagnostics
        .iter()
        .map(|diagnostic| {
            assert!(diagnostic.hint.is_some(), "no suggestion: {diagnostic:?}");
            let (line, column) = lines.position(source, diagnostic.label.span.start);
            (format!("{line}:{column}"), diagnostic.title.as_str())
        })
        .collect();
    let found: Vec<(&str, &str)> = found.iter().map(|(at, title)| (at.as_str(), *title)).collect();
    assert_eq!(found, expected, "{source}");
}

#[test]
fn three_faults_give_three_messages() {
    check(
        "x := 3 4.\ny := ) 5.\nz := #{ a 1 }.\nw := 3.",
        &[
            ("1:8", "two values stand side by side"),
            ("2:6", "something is missing after `:=`"),
            ("3:11", "a colon is missing after the key"),
        ],
    );
}

#[test]
fn an_open_bracket_is_reported_where_it_opens() {
    check("a := (3 + 4.\nb := 5.", &[("1:6", "this parenthesis is never closed")]);
    check("a := [1, 2\nb := 3.\nc := 4", &[("1:6", "this bracket is never closed")]);
    check(
        "class A {\n -foo { 1.\n -bar { 2. }\n}\nx := 3.",
        &[("2:7", "this brace is never closed")],
    );
    check(
        "scheme S {\n /a { get { 1.\n  put { 2. } }\n /b { get { 3 } }\n}\nx",
        &[("2:11", "this brace is never closed")],
    );
    check(
        "scheme S {\n /a { get { 1 }\n /b { get { 3 } }\n}",
        &[("2:5", "this brace is never closed")],
    );
    check("class A {\n var x\n\nclass B {\n var y\n}", &[("1:9", "this brace is never closed")]);
    check(
        "x := \"a {b c\".\ny := 3 4.",
        &[("1:9", "this brace is never closed"), ("2:8", "two values stand side by side")],
    );
}

#[test]
fn reading_goes_on_behind_a_fault() {
    let parsed = parse("a := (3 + 4.\nb := 5.");
    assert_eq!(outline(&parsed.program), "(a := (((3 + 4)))) . (b := 5)");
    let parsed = parse("class A { -foo { 1 +. 2 } -bar { 3 } }. c");
    assert_eq!(outline(&parsed.program), "class A { -foo { (1 + error) . 2 } . -bar { 3 } } . c");
}

#[test]
fn texts_without_end() {
    check("a := 'foo.\nb := 3.", &[("1:6", "this text never ends")]);
    check("a := 'foo.\nb := 'bar'.", &[("1:6", "this text never ends")]);
    check("a := \"foo.\nb := 3.", &[("1:6", "this text never ends")]);
    check(r"a := 'x\qy'", &[("1:8", "`\\q` is no escape")]);
}

#[test]
fn messages_without_receiver_or_argument() {
    check("at: 3 put: 4", &[("1:1", "the message `at:` has no receiver")]);
    check("x at: put: 4", &[("1:3", "`at:` has no argument")]);
    check("a := 3 +\nb := 4", &[("1:8", "something is missing after `+`")]);
    check("3; b", &[("1:2", "`;` needs a message before it")]);
    check("a b; c d", &[("1:8", "each `;` takes one message")]);
    check("x | 3", &[("1:5", "`|` needs a message after it")]);
    check("-x abs", &[("1:1", "`-` has nothing on its left")]);
}

#[test]
fn things_in_the_wrong_place() {
    check("x foo := 3", &[("1:7", "the left side cannot be assigned to")]);
    check("a\n#-late\nb", &[("2:1", "a signature stands in the head of a program")]);
    check("a ^ b", &[("1:3", "`^` stands inside an expression")]);
    check("var x := 3", &[("1:7", "a declaration has no value")]);
    check("class A { var a, b ← 3 }", &[("1:20", "several variables have no common value")]);
    check("class A { refuse { 1 } }", &[("1:24", "the rule has no message")]);
    for (text, place) in [
        ("class A { var <string 3> a }", "1:24"),
        ("class A { var <[int> a }", "1:20"),
        ("class A { var <string /a> b }", "1:23"),
        ("class A { var <'a> b }", "1:16"),
        ("class A { var <[[[[[[[[[int]]]]]]]]]> b }", "1:24"),
    ] {
        check(text, &[(place, "this is not a type")]);
    }
    check("/a { get { 1 } }\nx", &[("1:1", "`/` has nothing on its left")]);
    check("d:a:=3", &[("1:4", "`:=` is read as a part of the path")]);
    check("ref:a←3", &[("1:6", "`←` is read as a part of the path")]);
    check("a )", &[("1:3", "this `)` closes nothing")]);
    check("größe := 3", &[("1:1", "a name is made of the letters a to z")]);
    check("“a”", &[("1:1", "`“` means nothing here")]);
    check("[1 2, 3]", &[("1:4", "a comma is missing between the elements")]);
}

#[test]
fn faults_in_definitions() {
    check("class A { foo. -b { 1 } }", &[("1:11", "this is no member of a class")]);
    check("class A { -b }", &[("1:14", "the body of the method is missing")]);
    check("class A", &[("1:8", "the definition has no body")]);
    check(
        "scheme S { /a { fetch { 1 } } -b { 2 } }",
        &[("1:17", "`fetch` is no verb of a property path")],
    );
    check(
        "scheme S { /a/*/b { get { 1 } } }",
        &[("1:12", "`*` stands for everything that follows")],
    );
    check("scheme S { /a/:1x { get { 1 } } }", &[("1:15", "this is no parameter of a path")]);
    check("scheme S { /a?limit { get { 1 } } }", &[("1:15", "this is no parameter of a path")]);
    check(
        "scheme S { /a?:limit= { get { 1 } } }",
        &[("1:22", "the value of the parameter is missing")],
    );
    check(
        "scheme S { /a?:<int required>n { get { 1 } } }",
        &[("1:21", "a parameter has no marks")],
    );
    check("scheme S { /a { get → { 1 } } }", &[("1:23", "the answer is missing")]);
    check(
        "scheme S { with { 1 } }",
        &[("1:12", "`with` gives handlers a value and has no name for it")],
    );
    check("scheme S { before x { 1 } }", &[("1:19", "`before` gives no value")]);
    check("scheme S { /a { header <int>. get { 1 } } }", &[("1:29", "the parameter has no name")]);
    check("{ :x :y x + y }", &[("1:9", "`|` is missing after the parameters of the block")]);
    check("object T : 3. a", &[("1:13", "the template has no object")]);
}

#[test]
fn faults_in_numbers_and_characters() {
    check("16r1G + 3", &[("1:1", "this is not a number")]);
    check("1e999", &[("1:1", "this is not a number")]);
    check("a\0b", &[("1:2", "an invisible control character")]);
    check("a \u{202e} b", &[("1:3", "an invisible control character")]);
    check(&"1".repeat(limits::MAX_DIGITS + 1), &[("1:1", "this number is too long")]);
}

#[test]
fn the_number_of_diagnostics_is_bounded() {
    let parsed = parse(&"3 4.\n".repeat(1_000));
    assert_eq!(parsed.diagnostics.len(), limits::MAX_DIAGNOSTICS);
}

#[test]
fn a_text_that_is_too_large_is_not_read() {
    let parsed = parse(&"ä".repeat(limits::MAX_SOURCE_BYTES / 2 + 1));
    assert_eq!(parsed.diagnostics.len(), 1);
    assert!(parsed.program.statements.is_empty());
}

#[test]
fn a_prompt_waits_for_more_lines_only_when_they_can_help() {
    let open = [
        "{ a.",
        "(1 +",
        "[1,",
        "#{ a:",
        "x :=",
        "x at:",
        "a |",
        "a b;",
        "class A {",
        "class A",
        "'abc",
        "\"abc",
        "\"abc {x",
        "^",
        "a →",
        "scheme S { /a { get {",
        "file:{a",
    ];
    for source in open {
        assert!(is_incomplete(source), "{source}");
    }
    let complete =
        ["", "a", "a.", "x := 3", "a ) {", "{ a }", "'a'", "// {", "3 4 {", "tasks:", "var x"];
    for source in complete {
        assert!(!is_incomplete(source), "{source}");
    }
}

#[test]
fn every_beginning_of_a_sample_is_right_or_incomplete_or_reported() {
    for (name, source) in crate::common::SAMPLES {
        let parsed = parse(source);
        assert!(parsed.diagnostics.is_empty(), "{name}: {:#?}", parsed.diagnostics);
        for (end, _) in source.char_indices() {
            let beginning = &source[..end];
            assert!(!is_incomplete(beginning) || !parse(beginning).diagnostics.is_empty());
        }
    }
}

/// Found by fuzzing: a line of a class that begins with an operator of more than one byte.
#[test]
fn a_line_may_begin_with_any_operator() {
    let parsed = runnel_syntax::parse("scheme S {\n/x { get { #p[ 1\n÷ 2 ] } }\n}");
    assert!(parsed.diagnostics.len() < 3);
}

/// Found by fuzzing: more faults in one text than are reported.
#[test]
fn many_faults_in_a_text_leave_its_token_whole() {
    let source = format!("\"{}\n", "\\y".repeat(60));
    let parsed = runnel_syntax::parse(&source);
    assert!(!parsed.diagnostics.is_empty());
    assert!(runnel_syntax::tokens(&source).iter().all(|token| token.span.start <= token.span.end));
}

/// Found by fuzzing: what follows a semicolon is a message, on whatever line.
#[test]
fn a_keyword_message_may_follow_a_semicolon_on_the_next_line() {
    let source = "aa foo;\nc:d";
    assert_eq!(runnel_syntax::format(source).as_deref(), Ok("aa foo; c: d.\n"));
}
