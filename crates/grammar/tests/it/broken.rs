//! Programs with faults: the parser ends, and the text before a fault keeps its tree.

use crate::programs::{parse, programs};
use std::time::{Duration, Instant};
use tree_sitter::{InputEdit, Parser, Point};

/// Marks whose absence or presence changes how the rest is read.
const MARKS: [char; 16] =
    ['\'', '"', '{', '}', '(', ')', '[', ']', '#', ':', '.', '|', '/', '\\', '\n', '‘'];
/// Far more than a program takes, for a busy machine.
const LONGEST: Duration = Duration::from_secs(5);

/// The text without the mark at a place, or with it twice, or cut off there.
fn mutations(text: &str, step: usize) -> Vec<String> {
    let marks = text.char_indices().filter(|(_, c)| MARKS.contains(c));
    let mut found = Vec::new();
    for (number, (at, c)) in marks.step_by(step).enumerate() {
        let (before, after) = (&text[..at], &text[at + c.len_utf8()..]);
        found.push(match number % 3 {
            0 => format!("{before}{after}"),
            1 => format!("{before}{c}{c}{after}"),
            _ => before.to_owned(),
        });
    }
    found
}

#[test]
fn programs_with_faults_are_read_to_their_end() {
    let mut count = 0;
    for sample in programs().iter().filter(|sample| sample.text.len() < 4_000).step_by(3) {
        for text in mutations(&sample.text, 13) {
            let start = Instant::now();
            let tree = parse(&text);
            assert!(start.elapsed() < LONGEST, "{} takes {:?}", sample.name, start.elapsed());
            assert!(tree.root_node().end_byte() <= text.len());
            count += 1;
        }
    }
    assert!(count > 1_000, "only {count} programs were tried");
}

#[test]
fn marks_without_end_take_time_in_proportion() {
    for mark in
        ["\"", "'", "‘", "{", "[", "(", "#", "/", "a: ", "\"a\".\n", "#a", "<", "file:{", "| "]
    {
        let start = Instant::now();
        parse(&mark.repeat(10_000));
        assert!(start.elapsed() < LONGEST * 2, "{mark} takes {:?}", start.elapsed());
    }
}

#[test]
fn a_fault_leaves_the_statements_around_it() {
    let tree = parse("a := 1.\nb := ) .\nc := 3.\n");
    let root = tree.root_node();
    assert!(root.has_error());
    let kinds: Vec<&str> = (0..root.named_child_count())
        .filter_map(|at| Some(root.named_child(at as u32)?.kind()))
        .collect();
    assert_eq!(kinds.first(), Some(&"assignment"), "{}", root);
    assert_eq!(kinds.last(), Some(&"assignment"), "{}", root);
}

fn point(text: &str, at: usize) -> Point {
    let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
    Point { row: text[..at].matches('\n').count(), column: at - line }
}

/// The tree of a text after the part from `at` on was replaced, by what is new only.
fn edited(text: &str, at: usize, length: usize, new: &str) -> (String, String) {
    let mut parser = Parser::new();
    parser.set_language(&runnel_grammar::LANGUAGE.into()).unwrap();
    let mut tree = parser.parse(text, None).unwrap();
    let after = format!("{}{new}{}", &text[..at], &text[at + length..]);
    tree.edit(&InputEdit {
        start_byte: at,
        old_end_byte: at + length,
        new_end_byte: at + new.len(),
        start_position: point(text, at),
        old_end_position: point(text, at + length),
        new_end_position: point(&after, at + new.len()),
    });
    let tree = parser.parse(&after, Some(&tree)).unwrap();
    (after, tree.root_node().to_sexp())
}

#[test]
fn an_edit_gives_the_tree_of_a_fresh_reading() {
    let mut count = 0;
    for sample in programs().iter().filter(|sample| sample.text.len() < 3_000).step_by(2) {
        let lines = sample.text.match_indices('\n').map(|(at, _)| at + 1);
        for (number, at) in lines.enumerate().step_by(5) {
            let length = sample.text[at..].find('\n').map_or(0, |length| length + 1);
            let (after, tree) = match number % 3 {
                0 => edited(&sample.text, at, 0, "// a comment\n"),
                1 => edited(&sample.text, at, 0, "x ← \"{y}\".\n"),
                _ => edited(&sample.text, at, length, ""),
            };
            let fresh = parse(&after);
            // With an error, what is kept of the old tree may be another part.
            if !fresh.root_node().has_error() {
                assert_eq!(tree, fresh.root_node().to_sexp(), "{}:\n{after}", sample.name);
                count += 1;
            }
        }
    }
    assert!(count > 500, "only {count} edits were compared");
}
