//! `unsafe` stands only in the files that ARCHITECTURE.md names, each time with its reason.

use crate::rust_source::{code_only, words};
use crate::scopes::{Kind, Scope, scopes};
use crate::{File, Finding, Tree, architecture};

const RULE: &str = "unsafe";

/// Checks all Rust sources.
pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let named = architecture::unsafe_files(tree);
    for (path, line) in &named {
        let is_used = tree.file(path).is_some_and(|file| !places(file).is_empty());
        if !is_used {
            let reason = format!("{path} has no `unsafe`: take it off the list");
            findings.push(Finding::new(architecture::PATH, *line, RULE, reason));
        }
    }
    for file in tree.ending(".rs") {
        let places = places(file);
        let is_named = named.iter().any(|(path, _)| *path == file.path);
        if let (Some(first), false) = (places.first(), is_named) {
            let reason = format!(
                "write it without `unsafe`, or name the file in {} and say why",
                architecture::PATH
            );
            findings.push(Finding::new(&file.path, *first, RULE, reason));
            continue;
        }
        let lines: Vec<&str> = file.text.lines().collect();
        let scopes = scopes(&file.text);
        for line in places.into_iter().filter(|line| !has_reason(&lines, &scopes, *line)) {
            let reason = "say in a `// SAFETY:` comment nearby why this is sound";
            findings.push(Finding::new(&file.path, line, "unsafe without reason", reason));
        }
    }
    findings
}

/// The lines with the word.
fn places(file: &File) -> Vec<usize> {
    let code = code_only(&file.text);
    let lines = code.lines().enumerate();
    lines
        .filter(|(_, line)| words(line).any(|(_, word)| word == "unsafe"))
        .map(|(number, _)| number + 1)
        .collect()
}

/// Whether the function around says why it is sound, or the comment above the `impl` does for all
/// of its functions.
fn has_reason(lines: &[&str], scopes: &[Scope], line: usize) -> bool {
    let says = |text: &&str| text.contains("SAFETY") || text.contains("# Safety");
    let inside = |scope: &&Scope| scope.contains(line);
    if comment_above(lines, line).iter().any(says) {
        return true;
    }
    scopes.iter().filter(inside).any(|scope| {
        let above = comment_above(lines, scope.first);
        let body = &lines[scope.first - 1..scope.last];
        above.iter().any(says)
            || (matches!(scope.kind, Kind::Function | Kind::Extern) && body.iter().any(says))
    })
}

/// The comments and attributes directly above a line.
fn comment_above<'a>(lines: &'a [&'a str], line: usize) -> &'a [&'a str] {
    let end = line - 1;
    let is_comment = |text: &&&str| {
        let text = text.trim_start();
        text.starts_with("//") || text.starts_with("#[")
    };
    let count = lines[..end].iter().rev().take_while(is_comment).count();
    &lines[end - count..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "## Files with `unsafe`\n| f | w |\n| - | - |\n| `a.rs` | raw |\n";

    fn lines(path: &str, source: &str) -> Vec<(String, usize)> {
        let tree = Tree::of(&[(architecture::PATH, PAGE), (path, source)]);
        check(&tree).into_iter().map(|one| (one.path, one.line)).collect()
    }

    #[test]
    fn a_reason_in_the_function_or_above_the_impl_is_enough() {
        let source = "fn a() {\n    // SAFETY: it lives.\n    unsafe { b() }\n}\n\
            // SAFETY (whole impl): see the type.\n\
            impl A {\n    fn c() {\n        unsafe { b() }\n    }\n}\n";
        assert_eq!(lines("a.rs", source), []);
    }

    #[test]
    fn a_missing_reason_is_found() {
        let source = "fn a() {\n    unsafe { b() }\n}\n\
            fn c() {\n    // SAFETY: it lives.\n    unsafe { b() }\n}\n";
        assert_eq!(lines("a.rs", source), [("a.rs".to_string(), 2)]);
    }

    #[test]
    fn other_files_have_none() {
        let source = "// unsafe\n#![allow(unsafe_code)]\nfn a() { unsafe {} }\n";
        let expected = [("ARCHITECTURE.md".to_string(), 4), ("b.rs".to_string(), 3)];
        assert_eq!(lines("b.rs", source), expected);
    }
}
