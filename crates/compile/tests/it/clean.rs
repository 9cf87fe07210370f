//! Statements that are not compiled again: a program that is edited has the diagnostics of the same text read afresh.
#![allow(clippy::unwrap_used)]

use proptest::prelude::RngExt;
use proptest::test_runner::{RngAlgorithm, TestRng};
use runnel_compile::{CleanStatements, Known, compile, diagnose};
use runnel_syntax::{Diagnostic, Severity, parse};
use std::path::Path;

/// Edits of each program.
const EDITS: usize = 80;
/// Lines that are put in.
const NEW: [&str; 6] =
    ["x ← 1.", "class AX { var a. }", "ref:a value.", "nosuch foo.", "AX new.", ""];

/// A world with almost every class and scheme.
struct Broad;

impl Known for Broad {
    fn is_class(&self, name: &str) -> bool {
        name.starts_with(char::is_uppercase) && !name.ends_with(['X', 's'])
    }

    fn is_predefined(&self, name: &str) -> bool {
        matches!(name, "stdout" | "stdin" | "stderr" | "context" | "true" | "false" | "nil")
    }

    fn is_variable(&self, _name: &str) -> bool {
        false
    }

    fn is_scheme(&self, name: &str) -> bool {
        !name.ends_with('x')
    }

    fn instance_variables(&self, _class: &str) -> Vec<String> {
        Vec::new()
    }

    fn names(&self) -> Vec<String> {
        vec!["stdout".into()]
    }

    fn schemes(&self) -> Vec<String> {
        vec!["file".into()]
    }
}

/// One of these.
fn any<T: Copy>(all: &[T], numbers: &mut TestRng) -> T {
    all[numbers.random_range(0..all.len())]
}

/// A line that is removed, repeated, moved or written anew, or a word that becomes another one.
fn edited(text: &str, numbers: &mut TestRng) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let words: Vec<&str> = text.split(|c| !is_part(c)).filter(|word| !word.is_empty()).collect();
    let (at, to) = (numbers.random_range(0..lines.len()), numbers.random_range(0..lines.len()));
    match numbers.random_range(0..6) {
        0 => drop(lines.remove(at)),
        1 => lines.insert(to, lines[at].clone()),
        2 => lines.swap(at, to),
        3 => lines.insert(at, any(&NEW, numbers).to_owned()),
        _ => {
            let (from, into) = (any(&words, numbers), any(&words, numbers));
            lines[at] = lines[at].replace(from, into);
        }
    }
    lines.join("\n")
}

/// What the compiler says of a text.
fn fresh(text: &str) -> Vec<Diagnostic> {
    match compile(&parse(text).program, text, &Broad) {
        Ok(chunk) => chunk.warnings.into_iter().chain(chunk.doubts).collect(),
        Err(errors) => errors,
    }
}

#[allow(clippy::disallowed_methods, reason = "the examples are files")]
fn programs() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let mut files: Vec<_> =
        files.filter(|path| path.extension().is_some_and(|ending| ending == "st")).collect();
    files.sort();
    assert!(files.len() > 10, "there are few examples: {files:?}");
    files.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect()
}

#[test]
fn an_edited_program_has_the_diagnostics_of_its_text() {
    let mut numbers = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let (mut sound, mut faulty) = (0, 0);
    for program in programs() {
        let (mut text, mut clean) = (program.clone(), CleanStatements::default());
        for edit in 0..EDITS {
            if text.lines().count() < 5 {
                text = program.clone();
            }
            let next = edited(&text, &mut numbers);
            let parsed = parse(&next);
            if parsed.diagnostics.iter().any(|one| one.level == Severity::Error) {
                continue;
            }
            let found = diagnose(&parsed.program, &next, &Broad, &mut clean);
            assert_eq!(found, fresh(&next), "edit {edit}: {next}");
            let is_sound = found.iter().all(|one| one.level != Severity::Error);
            (sound, faulty) = (sound + usize::from(is_sound), faulty + usize::from(!is_sound));
            // What is wrong for long hides what is right.
            text = if numbers.random_range(0..4) == 0 { program.clone() } else { next };
        }
    }
    assert!(sound > 500 && faulty > 500, "{sound} sound, {faulty} faulty");
}

#[test]
fn what_a_definition_changes_is_found_in_other_statements() {
    let mut clean = CleanStatements::default();
    let mut say = |text: &str| {
        let found = diagnose(&parse(text).program, text, &Broad, &mut clean);
        found.into_iter().map(|one| one.title).collect::<Vec<_>>()
    };
    let (above, below) =
        ("class BoX { var x. }\nBoX new.\n1 + 1", "BoX new.\nclass BoX { var x. }\n1 + 1");
    assert_eq!(say(above), [""; 0]);
    assert_eq!(say(below), ["`BoX` is used above its definition"]);
    assert_eq!(say(above), [""; 0]);
    assert_eq!(say("class Box { -go { x } }"), ["nothing is called `x` here"]);
    assert_eq!(say("class Box { -go { x } }\nx ← 1"), ["nothing is called `x` here"]);
    assert_eq!(say("x ← 1.\nx + 1"), [""; 0]);
    assert_eq!(say("y ← 1.\nx + 1"), ["nothing is called `x` here"]);
    // As much is still to come at the use, and it is something else.
    let (first, other) = ("class AX { }", "class BX { }");
    assert_eq!(say(&format!("{first}\nAX new.\n{other}")), [""; 0]);
    assert_eq!(say(&format!("{other}\nAX new.\n{first}")), ["`AX` is used above its definition"]);
    // A line is a comment where the text above assigns its name.
    let (value, list) = ("x ← 1.", "y ← [\n#x foo: zzz\n].");
    assert_eq!(say(&format!("{value}\n{list}\n1 + 1"))[1..], [""; 0]);
    assert_eq!(say(&format!("{list}\n{value}\n1 + 1")), ["nothing is called `zzz` here"]);
}
