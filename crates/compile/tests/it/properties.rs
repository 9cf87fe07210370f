//! What holds for every text: compiling never panics, gives the same code each time, and keeps the
//! lines of the source. That the engine loads the code is tested where the engine is (`runtime`).
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use runnel_compile::{Known, compile};
use runnel_syntax::{Severity, parse};

/// A world of a few names.
struct Few;

impl Known for Few {
    fn is_class(&self, name: &str) -> bool {
        matches!(name, "Object" | "Scheme" | "Filter")
    }

    fn is_predefined(&self, name: &str) -> bool {
        name == "stdout"
    }

    fn is_variable(&self, name: &str) -> bool {
        matches!(name, "a" | "b" | "end")
    }

    fn is_scheme(&self, name: &str) -> bool {
        matches!(name, "var" | "this" | "file" | "ref")
    }

    fn instance_variables(&self, _class: &str) -> Vec<String> {
        vec!["one".into()]
    }

    fn names(&self) -> Vec<String> {
        vec!["a".into(), "b".into(), "end".into(), "stdout".into(), "Object".into()]
    }

    fn schemes(&self) -> Vec<String> {
        vec!["var".into(), "this".into(), "file".into()]
    }
}

/// An expression of the language.
fn expression() -> impl Strategy<Value = String> {
    let leaves = [
        "a",
        "b",
        "end",
        "unknown",
        "nil",
        "Object",
        "stdout",
        "1",
        "-2.5",
        "'t'",
        "#sym",
        "file:x/y",
        "ref:a",
        "var:b",
        "{ $0 }",
        "(a ← 1)",
    ];
    prop::sample::select(leaves.to_vec()).prop_map(String::from).boxed().prop_recursive(
        6,
        60,
        3,
        |inner| {
            let shapes = [
                "(0) + (1)",
                "(0) at: (1) put: (2)",
                "[ (0), (1) ]",
                "#{ k: (0), l: (1) }",
                "{ :x | (0). (1) }",
                "((0) ifTrue: { (1) } ifFalse: {\n(2) })",
                "(1 to: (0) do: { :i | (1) })",
                "\"t{0}\\n{1}\"",
                "(0)[(1)]",
                "a[{ k = (0) }]",
                "(0) count; at: (1)",
                "((0) → (1))",
                "(0) and: { (1) }",
                "#p{ class: (0) }[ (1),\n(2) ]",
                "file:{0}/b",
                "({ (0) } whileTrue: { (1) })",
                "a\n  foo: (0)",
            ];
            (prop::sample::select(shapes.to_vec()), prop::collection::vec(inner, 3)).prop_map(
                |(shape, parts)| {
                    let mut out = String::new();
                    for c in shape.chars() {
                        match c.to_digit(3) {
                            Some(number) => out.push_str(&parts[number as usize]),
                            None => out.push(c),
                        }
                    }
                    out
                },
            )
        },
    )
}

/// A program: statements, methods and verbs of expressions, perhaps with a piece cut out.
fn text() -> impl Strategy<Value = String> {
    let shapes = [
        "0.\n",
        "a ← 0.\n",
        "[ a, b ] ← 0.\n",
        "file:x ← 0.\n\n",
        "b += 0.\n",
        "a |= file:y.\n",
        "class A {\nvar one.\n-m:x {\n^0. }\n}\n",
        "scheme S {\n/x/:y { get {\n0 } }\n}\n",
        "filter F |{ ^0. }\n",
        "test 't' { 0. }\n",
    ];
    let statement = (prop::sample::select(shapes.to_vec()), expression())
        .prop_map(|(shape, expression)| shape.replace('0', &expression));
    (prop::collection::vec(statement, 0..8), any::<prop::sample::Index>(), 0..4usize).prop_map(
        |(statements, at, cut)| {
            let mut characters: Vec<char> = statements.concat().chars().collect();
            if cut == 0 && !characters.is_empty() {
                characters.remove(at.index(characters.len()));
            }
            characters.into_iter().collect()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn compiling_is_total_and_keeps_places(source in text()) {
        let parsed = parse(&source);
        if parsed.diagnostics.iter().any(|one| one.level == Severity::Error) {
            return Ok(());
        }
        match compile(&parsed.program, &source, &Few) {
            Ok(chunk) => {
                let again = compile(&parsed.program, &source, &Few).unwrap();
                prop_assert_eq!(&again.lua, &chunk.lua);
                prop_assert_eq!(&again.places, &chunk.places);
                prop_assert_eq!(chunk.lua.matches('\n').count() + 1, chunk.places.len());
                for place in &chunk.places {
                    let range = place.start as usize..place.end as usize;
                    prop_assert!(source.get(range).is_some(), "{:?} of {}", place, source);
                }
            }
            Err(diagnostics) => {
                prop_assert!(diagnostics.iter().any(|one| one.level == Severity::Error));
            }
        }
    }
}

/// The titles of the warnings of a program.
fn warned(source: &str) -> Vec<String> {
    let found = runnel_compile::reviewed(&parse(source).program, source);
    found.into_iter().map(|one| one.title).collect()
}

#[test]
fn what_is_meant_has_no_warning() {
    for source in [
        "scheme S { /*:rest { get { file:public/{*rest} } } }",
        "scheme S { /:name { get { file:public/{name} } } }",
        "script ← 'ls /tmp'. sh:sh/-c/{script}",
        "folder ← '/tmp/x'. file:{folder}/a.txt",
        "name ← query:n. file:public/{name}",
        "text ← 'a/b'. http://host/x?q={text}",
        "scheme S { /a { get { #p[ 'x' ] } put { 'a < b' } } }",
        "scheme S { /a { get { '<p>' asHTML } } }",
        "scheme S { /feed.xml { get { '<feed/>' } } }",
        "scheme S { /a { get { response:Content-Type ← 'text/html'. '<p>' } } }",
        "scheme S { /a { get { '<p>' } } } #HTTPServer{ scheme: S store, textType: 'text/html' } start",
        "key ← 7. tasks[{ id = key }]",
        "name ← 'Ann'. people[{ :each | each name = 'Ann' }]",
        "header:X-Key isSecret: env:KEY",
        "header:Host = 'localhost'",
        "{ :rest | file:x/{rest} }",
    ] {
        assert_eq!(warned(source), Vec::<String>::new(), "{source}");
    }
}

#[test]
fn each_rule_has_a_warning() {
    for source in [
        "scheme S { /*:rest { get { file:public/{rest} } } }",
        "file:public/{'a/b'}",
        "name ← \"a/{1}\". file:public/{name}.txt",
        "name ← query:n. ref:file:{name} value",
        "scheme S { /:a { get { b ← a. [ 1 ] do: { :i | file:{b , 'x'} } } } }",
        "name ← 'Ann'. people[{ name = 'Ann' }]",
        "scheme S { /a { get { ^ \"<p>{1}\" } } }",
        "scheme S { /a { put { '<p>' , newValue } } }",
        "header:X-Key = env:KEY",
        "(env:KEY) = query:key",
    ] {
        assert_eq!(warned(source).len(), 1, "{source}");
    }
}
