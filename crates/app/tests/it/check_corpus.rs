//! The checker over every program of the project: examples, standard sources, benchmarks, cases of the
//! language and the blocks of the manual. A finding is a fault of the checker, but for the places below.

use crate::support::{Folder, examples, run, runnel};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Programs that fail on purpose: a word of the line, and the code.
const ON_PURPOSE: [(&str, &str); 3] = [
    ("/bad   { get { 3 frobnicate } }", "unknown-message"),
    ("/broken { get { 3 foo } }", "unknown-message"),
    ("// => error", ""),
];
/// The page that shows the findings.
const SHOWS_FINDINGS: &str = "findings.md";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn files_below(folder: &Path, extension: &str, all: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files_below(&path, extension, all);
        } else if path.extension().is_some_and(|one| one == extension) {
            all.push(path);
        }
    }
}

/// The programs of a page: blocks that run, but for those that do not compile.
fn blocks(page: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut open: Option<(bool, String)> = None;
    for line in page.lines() {
        match &mut open {
            Some((is_program, text)) if line == "```" => {
                if *is_program {
                    found.push(std::mem::take(text));
                }
                open = None;
            }
            Some((_, text)) => text.extend([line, "\n"]),
            None => {
                if let Some(kind) = line.strip_prefix("```") {
                    let is_file = kind.starts_with("file ") && kind.ends_with(".st");
                    // What stands above an error does not compile, or fails.
                    if kind == "error" {
                        found.pop();
                    }
                    open = Some((kind.starts_with("runnel") || is_file, String::new()));
                }
            }
        }
    }
    found
}

/// Checks programs and answers the unexpected findings that have a code.
fn unexpected(programs: &[PathBuf]) -> Vec<String> {
    let mut found = Vec::new();
    // Each in a process of its own would take minutes; together they know each other's names only.
    for group in programs.chunks(200) {
        let outcome = run(runnel().args(["--json", "check"]).args(group));
        for line in outcome.err.lines() {
            let Ok(finding) = serde_json::from_str::<serde_json::Value>(line) else { continue };
            let Some(code) = finding["code"].as_str() else { continue };
            let file = finding["file"].as_str().unwrap();
            let text = std::fs::read_to_string(file).unwrap();
            let number = finding["line"].as_u64().unwrap() as usize;
            let place = text.lines().nth(number - 1).unwrap_or_default();
            let is_meant =
                |(word, of): &(&str, &str)| place.contains(word) && (of.is_empty() || *of == code);
            if !ON_PURPOSE.iter().any(is_meant) {
                found.push(format!("{file}:{number} [{code}] {}\n   {place}", finding["message"]));
            }
        }
    }
    found
}

#[test]
fn programs_of_the_project_have_no_findings() {
    let root = root();
    let mut programs = Vec::new();
    for folder in [examples(), root.join("std"), root.join("benches")] {
        files_below(&folder, "st", &mut programs);
    }
    assert!(programs.len() > 50, "{}", programs.len());
    assert_eq!(unexpected(&programs), Vec::<String>::new());
}

#[test]
fn blocks_of_the_manual_have_no_findings() {
    let folder = Folder::new();
    let mut pages = vec![root().join("README.md"), root().join("CHANGELOG.md")];
    files_below(&root().join("spec"), "md", &mut pages);
    pages.retain(|page| !page.ends_with(SHOWS_FINDINGS));
    let mut programs = Vec::new();
    for page in &pages {
        let name = page.file_stem().unwrap().to_string_lossy().into_owned();
        for block in blocks(&std::fs::read_to_string(page).unwrap()) {
            programs.push(folder.write(&format!("{name}-{}.st", programs.len()), block));
        }
    }
    assert!(programs.len() > 800, "{}", programs.len());
    assert_eq!(unexpected(&programs), Vec::<String>::new());
}

#[test]
fn cases_of_the_language_have_no_findings() {
    let folder = Folder::new();
    let table = std::fs::read_to_string(root().join("tests/cases/language.tsv")).unwrap();
    let mut programs = BTreeSet::new();
    for (number, line) in table.lines().enumerate().skip(1) {
        let columns: Vec<&str> = line.split('\t').collect();
        if let [_, _, script, expected, ..] = columns[..]
            && expected != "ERROR"
        {
            let script = script.replace("\\n", "\n").replace("\\\\", "\\");
            programs.insert(folder.write(&format!("case{number}.st"), script));
        }
    }
    assert!(programs.len() > 100, "{}", programs.len());
    let programs: Vec<PathBuf> = programs.into_iter().collect();
    assert_eq!(unexpected(&programs), Vec::<String>::new());
}

#[test]
fn corrections_are_written() {
    let folder = Folder::new();
    let path = folder.write("cat.st", "class Cat { -meow { 'meow' } }\nCat new meoww");
    let outcome = run(runnel().args(["check", "--fix", "--deny-warnings"]).arg(&path));
    assert_eq!(outcome.status, 0, "{}", outcome.err);
    assert_eq!(outcome.out, format!("{}: 1 correction\n", path.display()));
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text, "class Cat { -meow { 'meow' } }\nCat new meow");
    // Nothing to correct: the file stays as it is.
    let again = run(runnel().args(["check", "--fix"]).arg(&path));
    assert_eq!((again.status, again.out.as_str()), (0, ""));
}

#[test]
fn a_file_that_cannot_be_written_stays() {
    let folder = Folder::new();
    let path = folder.write("cat.st", "'a' uppercaseStrng");
    let missing = folder.path("missing.st");
    let outcome = run(runnel().args(["check", "--fix"]).arg(&missing).arg(&path));
    assert_eq!(outcome.status, 66, "{}", outcome.err);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "'a' uppercaseString");
}
