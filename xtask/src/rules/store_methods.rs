//! Every implementation of the trait `Store` names all of its methods.

use crate::rust_source::code_only;
use crate::{Finding, Tree};

const LINT: &str = "#[deny(clippy::missing_trait_methods)]";
const TRAIT: &str = "Store";

/// Checks the sources of all crates, but not their tests.
pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.ending(".rs").filter(|file| is_source(&file.path)) {
        let lines: Vec<&str> = file.text.lines().collect();
        for line in implementations(&file.text).into_iter().filter(|line| !has_lint(&lines, *line))
        {
            let reason = format!(
                "write `{LINT}` above it and name the methods that it leaves out with \
                 `runnel_store::without!`"
            );
            findings.push(Finding::new(&file.path, line, "store methods", reason));
        }
    }
    findings
}

/// Whether a file belongs to a crate and is no test.
fn is_source(path: &str) -> bool {
    let mut parts = path.split('/');
    let is_crate = parts.next() == Some("crates") && parts.nth(1) == Some("src");
    is_crate && !parts.any(|part| part == "tests" || part == "tests.rs")
}

/// The lines on which an implementation of the trait begins, before the tests at the end of a file.
fn implementations(source: &str) -> Vec<usize> {
    let code = code_only(source);
    let code = code.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let mut found = Vec::new();
    let mut begins = None;
    let mut head = String::new();
    for (number, line) in code.lines().enumerate() {
        let line = line.trim();
        if line.starts_with("impl ") || line.starts_with("impl<") {
            begins = Some(number + 1);
            head.clear();
        }
        let Some(begin) = begins else { continue };
        let opens = line.find('{');
        head.push_str(&line[..opens.unwrap_or(line.len())]);
        head.push(' ');
        if opens.is_some() {
            found.extend(is_of_trait(&head).then_some(begin));
            begins = None;
        }
    }
    found
}

/// Whether a header such as `impl Store for Disk` names the trait.
fn is_of_trait(head: &str) -> bool {
    let next = head.split_whitespace().skip(1);
    head.split_whitespace()
        .zip(next)
        .any(|(name, next)| next == "for" && name.rsplit([':', '>']).next() == Some(TRAIT))
}

/// Whether the attributes and comments directly above a line have the lint.
fn has_lint(lines: &[&str], line: usize) -> bool {
    let above = lines[..line - 1].iter().rev().map(|text| text.trim());
    above
        .take_while(|text| text.starts_with("#[") || text.starts_with("//"))
        .any(|text| text == LINT)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        check(&Tree::of(&[(path, text)])).iter().map(|one| one.line).collect()
    }

    #[test]
    fn an_implementation_without_the_lint_is_found() {
        let source = "impl Store for A {\n}\nimpl<T: Layer> runnel_store::Store for T {}\n\
                      impl Stores for A {}\nimpl Layer for Store {}\nimpl<T>\n    Store for B<T>\n{\n}\n";
        assert_eq!(lines("crates/bus/src/a.rs", source), [1, 3, 6]);
    }

    #[test]
    fn the_lint_may_stand_among_other_attributes() {
        let source = "#[deny(clippy::missing_trait_methods)]\n#[cfg(unix)]\nimpl Store for A {}\n";
        assert_eq!(lines("crates/bus/src/a.rs", source), [0; 0]);
    }

    #[test]
    fn tests_may_leave_methods_out() {
        let source = "impl Store for A {}\n";
        assert_eq!(lines("crates/bus/tests/a.rs", source), [0; 0]);
        assert_eq!(lines("crates/bus/src/kept/tests.rs", source), [0; 0]);
        let inside = format!("#[cfg(test)]\nmod tests {{\n    {source}}}\n");
        assert_eq!(lines("crates/bus/src/a.rs", &inside), [0; 0]);
    }
}
