//! One mistake, one message: programs of `examples/` with one mark deleted.
//!
//! Most of them are invalid then. A user who forgot one mark wants one message, at the line of the
//! mistake. The test prints a table (`cargo test -p runnel-syntax mutations -- --nocapture`).
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::print_stdout)]

use runnel_syntax::{Diagnostic, LineIndex, TokenKind, parse, tokens};
use std::collections::BTreeMap;
use std::path::Path;

/// One mark of this many of a kind is deleted; a prime, so that the places vary.
const STEP: usize = 7;

/// Of a hundred programs that become invalid: how many have one message …
const ONE_MESSAGE: usize = 97;
/// … and how many have the first message on the line of the mistake.
const RIGHT_LINE: usize = 96;

/// What became of the programs that lack one mark of a kind.
#[derive(Default)]
struct Tally {
    valid: usize,
    one: usize,
    few: usize,
    many: usize,
    right: usize,
}

impl Tally {
    fn invalid(&self) -> usize {
        self.one + self.few + self.many
    }

    fn add(&mut self, other: &Tally) {
        self.valid += other.valid;
        self.one += other.one;
        self.few += other.few;
        self.many += other.many;
        self.right += other.right;
    }
}

#[test]
fn a_program_that_lacks_one_mark_has_one_message() {
    let mut table: BTreeMap<char, Tally> = BTreeMap::new();
    for source in examples() {
        for (mark, places) in marks(&source) {
            let tally = table.entry(mark).or_default();
            for at in places.into_iter().step_by(STEP) {
                let mutated = format!("{}{}", &source[..at], &source[at + 1..]);
                let found = parse(&mutated).diagnostics;
                match found.len() {
                    0 => tally.valid += 1,
                    1 => tally.one += 1,
                    2 | 3 => tally.few += 1,
                    _ => tally.many += 1,
                }
                let right =
                    found.first().is_some_and(|first| is_right(&source, at, &mutated, first));
                tally.right += usize::from(right);
            }
        }
    }
    let mut total = Tally::default();
    println!(
        "{:8}{:>8}{:>8}{:>8}{:>8}{:>8}{:>8}",
        "deleted", "valid", "invalid", "one", "2-3", "more", "right"
    );
    for (mark, tally) in &table {
        row(&mark.to_string(), tally);
        total.add(tally);
    }
    row("all", &total);
    assert!(total.invalid() > 900, "only {} programs", total.invalid());
    assert!(total.one * 100 >= total.invalid() * ONE_MESSAGE, "one message");
    assert!(total.right * 100 >= total.invalid() * RIGHT_LINE, "the right line");
}

fn row(name: &str, tally: &Tally) {
    let Tally { valid, one, few, many, right } = tally;
    println!("{name:8}{valid:8}{:8}{one:8}{few:8}{many:8}{right:8}", tally.invalid());
}

fn examples() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let found: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "st"))
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect();
    assert!(found.len() > 40, "only {} examples", found.len());
    found
}

/// The places of each kind of mark, outside of comments and of the inside of texts.
fn marks(source: &str) -> BTreeMap<char, Vec<usize>> {
    let mut found: BTreeMap<char, Vec<usize>> = BTreeMap::new();
    for token in tokens(source) {
        let text = token.span.text(source);
        let (start, last) = (token.span.start as usize, token.span.end as usize - 1);
        let mut places = match token.kind {
            TokenKind::Comment | TokenKind::Path => continue,
            _ if token.span.end - token.span.start < 2 => vec![start],
            TokenKind::Text => vec![start, last],
            TokenKind::Keyword | TokenKind::Scheme => vec![last],
            TokenKind::Assign if text == ":=" => vec![start],
            _ => continue,
        };
        places.retain(|at| source.is_char_boundary(*at));
        for at in places {
            let mark = source[at..].chars().next().unwrap();
            if "()[]{}'\".:|,".contains(mark) {
                found.entry(mark).or_default().push(at);
            }
        }
    }
    found
}

/// Whether a message names the line of the deleted mark, the next line that has something on it
/// (where the statement then runs on), or for a bracket that line where its pair stands.
fn is_right(source: &str, at: usize, mutated: &str, found: &Diagnostic) -> bool {
    let lines = LineIndex::new(source);
    let mut wanted = vec![lines.line(at as u32)];
    let after = &source[at + 1..];
    let blank = after.len() - after.trim_start_matches([' ', '.', ')', ']', '}', '\n']).len();
    wanted.push(lines.line((at + 1 + blank) as u32));
    wanted.extend(pair(source, at).map(|pair| lines.line(pair)));
    let lines = LineIndex::new(mutated);
    let labels = std::iter::once(&found.label).chain(&found.others);
    let mut labelled = labels.map(|label| lines.line(label.span.start));
    labelled.any(|line| wanted.contains(&line))
}

/// The place of the bracket that belongs to the one at the place.
fn pair(source: &str, at: usize) -> Option<u32> {
    let mut open = Vec::new();
    for token in tokens(source) {
        match token.kind {
            TokenKind::OpenParen | TokenKind::OpenBracket | TokenKind::OpenBrace => {
                open.push(token.span.start);
            }
            TokenKind::CloseParen | TokenKind::CloseBracket | TokenKind::CloseBrace => {
                let opened = open.pop()?;
                if token.span.start as usize == at {
                    return Some(opened);
                }
                if opened as usize == at {
                    return Some(token.span.start);
                }
            }
            _ => {}
        }
    }
    None
}
