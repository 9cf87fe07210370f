//! The programs of the project: pages of the manual, examples, the standard library, benchmarks.

use std::path::{Path, PathBuf};
use tree_sitter::{Parser, Tree};

/// A program without an error, and where it stands.
pub(crate) struct Sample {
    pub(crate) name: String,
    pub(crate) text: String,
}

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every program that the language's parser reads without an error.
pub(crate) fn programs() -> Vec<Sample> {
    let mut found = Vec::new();
    for folder in ["spec", "examples", "std", "benches", "README.md", "docs"] {
        collect(&root().join(folder), &mut found);
    }
    found.retain(|sample| runnel_syntax::parse(&sample.text).diagnostics.is_empty());
    assert!(found.len() > 780, "only {} programs were found", found.len());
    found
}

fn collect(path: &Path, found: &mut Vec<Sample>) {
    if path.is_dir() {
        let mut entries: Vec<_> =
            std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
        entries.sort();
        entries.iter().for_each(|entry| collect(entry, found));
        return;
    }
    let name = path.strip_prefix(root()).unwrap_or(path).display().to_string();
    let read = || std::fs::read_to_string(path).unwrap();
    if runnel_syntax::is_program(path) {
        found.push(Sample { name, text: read() });
    } else if path.extension().is_some_and(|ending| ending == "md") {
        let parts = sections(&read());
        found.extend(
            parts
                .into_iter()
                .enumerate()
                .map(|(at, text)| Sample { name: format!("{name} {at}"), text }),
        );
    }
}

/// The programs of a page: the blocks below one heading are one.
fn sections(page: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut block = None;
    for line in page.lines() {
        match block {
            Some(_) if line.starts_with("```") => block = None,
            Some(true) => {
                let part = parts.last_mut().unwrap();
                part.push_str(line);
                part.push('\n');
            }
            Some(false) => {}
            None if line.starts_with("```") => {
                block = Some(matches!(line, "```runnel" | "```runnel once"));
            }
            None if line.starts_with('#') => parts.push(String::new()),
            None => {}
        }
    }
    parts.retain(|part| !part.trim().is_empty());
    parts
}

pub(crate) fn parse(text: &str) -> Tree {
    let mut parser = Parser::new();
    parser.set_language(&runnel_grammar::LANGUAGE.into()).unwrap();
    parser.parse(text, None).unwrap()
}

#[test]
fn every_program_parses_without_an_error() {
    let broken: Vec<String> = programs()
        .iter()
        .filter(|sample| parse(&sample.text).root_node().has_error())
        .map(|sample| format!("{}\n{}", sample.name, parse(&sample.text).root_node()))
        .collect();
    assert!(broken.is_empty(), "{} programs have errors:\n{}", broken.len(), broken.join("\n"));
}
