//! Names that are not known: suggestions, and the next step for names of other languages.
#![allow(clippy::unwrap_used)]

use crate::world::World;
use runnel_compile::{beside_faults, compile};
use runnel_syntax::{Diagnostic, LineIndex, parse};

/// `line:column title | hint` of each message.
fn messages(source: &str) -> Vec<String> {
    let parsed = parse(source);
    let found = match parsed.diagnostics.is_empty() {
        true => compile(&parsed.program, source, &World::default()).err().unwrap_or_default(),
        false => beside_faults(parsed, source, &World::default()),
    };
    let lines = LineIndex::new(source);
    let text = |one: Diagnostic| {
        let (line, column) = lines.position(source, one.label.span.start);
        format!("{line}:{column} {} | {}", one.title, one.hint.unwrap_or_default())
    };
    found.into_iter().map(text).collect()
}

/// The hint of the one message, which says that a name is not known.
fn hint(source: &str) -> String {
    let found = messages(source);
    assert_eq!(found.len(), 1, "{found:?}");
    let (title, hint) = found[0].split_once(" | ").unwrap();
    assert!(title.contains("nothing is called") || title.contains("there is no class"), "{title}");
    hint.to_owned()
}

#[test]
fn a_suggestion_is_of_the_same_kind_and_near() {
    for (source, expected) in [
        ("sdtout println: 1", "did you mean `stdout`?"),
        ("Stdout println: 1", "did you mean `stdout`?"),
        ("Tsak new", "did you mean `Task`?"),
        ("#Tsak{ }", "did you mean `Task`?"),
        ("windwo foo", "did you mean `window`?"),
        ("foo bar", "give it a value first: `foo ← …`, or check the spelling"),
        ("help", "give it a value first: `help ← …`, or check the spelling"),
        ("counts", "give it a value first: `counts ← …`, or check the spelling"),
    ] {
        assert_eq!(hint(source), expected, "{source}");
    }
}

#[test]
fn a_name_of_another_language_has_a_next_step() {
    for (source, expected) in [
        ("a := null", "nothing is called `nil`"),
        ("a := None", "nothing is called `nil`"),
        ("a := undefined", "nothing is called `nil`"),
        ("a := True", "the value is called `true`"),
        ("a := FALSE", "the value is called `false`"),
        ("count = 3.", "`=` compares; to give it a value write `count ← …`"),
        ("n := stdout.length", "a message is sent with a space: `stdout length`"),
        ("'x'.length", "a message is sent with a space, not with a period: `… length`"),
        ("t := Task.new", "a message is sent with a space: `Task new`"),
        ("{ x | + 2 }", "a parameter of a block has a colon: `{ :x | … }`"),
        ("f := x => 3", "a block stands in braces: `{ :x | … }`"),
        ("let x", "a variable begins with its first value: `name ← value`"),
        ("f := { :a | return a + 1. }.", "write `^ value`"),
        ("from math import sqrt", "a reference loads another program: `ref:file:name.st load`"),
        ("if x", "send the condition a message: `condition ifTrue: { … } ifFalse: { … }`"),
        ("not x", "send the value a message: `value not`"),
        ("print x", "a stream takes the text: `stdout println: …`"),
        ("class A { var n. -up { this.n } }", "the object's own variable is written `this:n`"),
    ] {
        assert_eq!(hint(source), expected, "{source}");
    }
}

#[test]
fn unknown_names_are_reported_beside_faults() {
    let found = messages("a := 3 4.\nb := 4.\nfoo bar.\nstdout println: (b.\nx := baz.");
    assert_eq!(
        found,
        [
            "1:8 two values stand side by side | write `.` between statements, or a message \
             between the values",
            "3:1 nothing is called `foo` here | give it a value first: `foo ← …`, or check the \
             spelling",
            "4:17 this parenthesis is never closed | add `)` where the part ends",
            "5:6 nothing is called `baz` here | give it a value first: `baz ← …`, or check the \
             spelling",
        ]
    );
}

#[test]
fn a_name_of_a_part_with_faults_may_be_defined_there() {
    let found = messages("count := 3 4.\nb := count + 1.\nclass Cat { -a { 1 } b }\nCat new.");
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found.iter().all(|one| !one.contains("nothing is called")), "{found:?}");
}

#[test]
fn a_class_that_is_used_above_its_definition_is_found() {
    let found = "1:6 `Pair` is used above its definition | move the definition above what uses it";
    for source in [
        "p := Pair new. class Pair { var a. }",
        "p :=#Pair{ a: 1 }. class Pair { var a. } class Pair { var b. }",
        "2 + (Pair new) x. object Pair : #Object{ }",
    ] {
        assert_eq!(messages(source), [found], "{source}");
    }
    assert_eq!(messages("class Twins : Pair { } class Pair { }").len(), 1);
    for source in [
        "class Pair { var a. } p := #Pair{ a: 1 }.",
        // Blocks and methods run later.
        "make := { Pair new }. class Pair { var a. } make value",
        "class Twins { -first { #Pair{ a: 1 } } } class Pair { var <Twins> a. }",
        "class Pair { +origin { #Pair{ a: 1 } } var <Pair> next. } Pair origin",
        "class Pair { var a. } object Twins : #Pair{ a: 1 }. #Twins{ } a",
        // It exists already, and is defined again.
        "p := #Task{ }. class Task { var a. }",
    ] {
        assert_eq!(messages(source), [""; 0], "{source}");
    }
}
