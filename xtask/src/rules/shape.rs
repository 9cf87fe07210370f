//! The shape of files: their length, their first line, the length of functions and lines.

use crate::scopes::{Kind, scopes};
use crate::{File, Finding, Tree};

/// Lines of a source file without the definitions of messages in it (`---`); past it, it is two ideas.
const FILE_LINES: usize = 600;
/// Lines of a function of Rust.
const FUNCTION_LINES: usize = 70;
/// Characters of a line of Rust.
const LINE_WIDTH: usize = 120;
/// Sources.
const SOURCES: [&str; 4] = [".rs", ".lua", ".st", ".js"];
/// Recorded inputs and results, kept byte for byte.
const RECORDED: &str = "tests/cases/";
/// Files that tools write.
const WRITTEN_BY_TOOLS: [&str; 4] =
    ["Cargo.lock", "package-lock.json", "grammar.json", "node-types.json"];

/// Checks all files.
pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files() {
        let name = file.path.rsplit('/').next().unwrap_or("");
        if WRITTEN_BY_TOOLS.contains(&name) || file.path.starts_with(RECORDED) {
            continue;
        }
        if SOURCES.iter().any(|ending| file.is(ending)) {
            length(file, &mut findings);
        }
        first_line(file, &mut findings);
        blanks(file, &mut findings);
        if file.is(".rs") {
            rust(file, &mut findings);
        }
    }
    findings
}

fn length(file: &File, findings: &mut Vec<Finding>) {
    let is_definition = |line: &str| file.is(".lua") && line.trim_start().starts_with("---");
    let count = file.lines().filter(|(_, line)| !is_definition(line)).count();
    if count > FILE_LINES {
        let reason = format!("{count} lines; split it by idea, {FILE_LINES} at most");
        findings.push(Finding::new(&file.path, 0, "length of file", reason));
    }
}

fn first_line(file: &File, findings: &mut Vec<Finding>) {
    let expected = match () {
        () if file.is(".rs") => "//!",
        () if file.is(".lua") => "--",
        () => return,
    };
    if !file.text.starts_with(expected) {
        let reason = format!("open with `{expected}` and say what the file is for");
        findings.push(Finding::new(&file.path, 1, "first line", reason));
    }
}

fn blanks(file: &File, findings: &mut Vec<Finding>) {
    for (number, line) in file.lines() {
        if line.ends_with([' ', '\t']) {
            findings.push(Finding::new(&file.path, number, "trailing blanks", "remove them"));
        }
    }
    if !file.text.is_empty() && !file.text.ends_with('\n') {
        let number = file.lines().count();
        findings.push(Finding::new(&file.path, number, "last line", "end it with a newline"));
    }
}

fn rust(file: &File, findings: &mut Vec<Finding>) {
    for (number, line) in file.lines() {
        if line.contains('\t') {
            findings.push(Finding::new(&file.path, number, "tabs", "indent with spaces"));
        }
        let width = line.chars().count();
        if width > LINE_WIDTH {
            let reason = format!("{width} characters; {LINE_WIDTH} at most");
            findings.push(Finding::new(&file.path, number, "length of line", reason));
        }
    }
    for scope in scopes(&file.text) {
        if scope.kind == Kind::Function && scope.length() > FUNCTION_LINES {
            let reason = format!(
                "`{}` has {} lines; split it, {FUNCTION_LINES} at most",
                scope.name,
                scope.length()
            );
            findings.push(Finding::new(&file.path, scope.first, "length of function", reason));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<(usize, &'static str)> {
        check(&Tree::of(&[(path, text)])).iter().map(|one| (one.line, one.rule)).collect()
    }

    #[test]
    fn first_lines() {
        assert_eq!(found("a.rs", "use b;\n"), [(1, "first line")]);
        assert_eq!(found("a.lua", "local b\n"), [(1, "first line")]);
        assert_eq!(found("a.md", "any\n"), []);
    }

    #[test]
    fn blanks_and_widths() {
        let wide = format!("//! {}\n", "ä".repeat(117));
        assert_eq!(found("a.rs", &wide), [(1, "length of line")]);
        assert_eq!(
            found("a.rs", "//! a \n\tb"),
            [(1, "trailing blanks"), (2, "last line"), (2, "tabs")]
        );
    }

    #[test]
    fn lengths() {
        let long = format!("//! a\n{}", "\n".repeat(600));
        assert_eq!(found("a.rs", &long), [(0, "length of file")]);
        let defined = format!("-- a\n{}", "  --- A text.\n".repeat(600));
        assert_eq!(found("a.lua", &defined), []);
        let function =
            |lines: usize| format!("//! a\nfn b() {{\n{}}}\n", "    c();\n".repeat(lines - 2));
        assert_eq!(found("a.rs", &function(70)), []);
        assert_eq!(found("a.rs", &function(71)), [(2, "length of function")]);
    }
}
