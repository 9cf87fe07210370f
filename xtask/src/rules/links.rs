//! Pages name files that exist.

use crate::architecture::quoted;
use crate::{File, Finding, Tree};

/// Folders of the project: a name in backquotes that begins so is a path.
const FOLDERS: [&str; 8] =
    ["crates/", "docs/", "spec/", "examples/", "fuzz/", "xtask/", "benches/", ".ci/"];

/// Checks all Markdown pages.
pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for page in tree.ending(".md") {
        for (number, target) in links(page) {
            if !tree.has(&resolved(&page.path, target)) {
                let reason = format!("`{target}` does not exist");
                findings.push(Finding::new(&page.path, number, "link", reason));
            }
        }
        let fenced = fenced(page);
        for (number, line) in page.lines().filter(|(number, _)| !fenced[*number - 1]) {
            for path in quoted(line).into_iter().filter(|path| is_path(path)) {
                if !tree.has(&path) {
                    let reason = format!("`{path}` does not exist");
                    findings.push(Finding::new(&page.path, number, "path", reason));
                }
            }
        }
    }
    findings
}

/// Whether a name in backquotes is meant as one file or folder of the project.
fn is_path(name: &str) -> bool {
    FOLDERS.iter().any(|folder| name.starts_with(folder))
        && !name.contains(|c: char| c.is_whitespace() || "*{}<>…?:".contains(c))
}

/// Which lines stand in fenced blocks.
fn fenced(page: &File) -> Vec<bool> {
    let mut inside = false;
    page.lines()
        .map(|(_, line)| {
            let fence = line.trim_start().starts_with("```");
            inside ^= fence;
            inside || fence
        })
        .collect()
}

/// The targets of links within the project, each with its line.
fn links(page: &File) -> Vec<(usize, &str)> {
    let fenced = fenced(page);
    let mut found = Vec::new();
    for (number, line) in page.lines().filter(|(number, _)| !fenced[*number - 1]) {
        for (at, _) in line.match_indices("](") {
            let rest = &line[at + 2..];
            let target = &rest[..rest.find(')').unwrap_or(rest.len())];
            let target = target.split('#').next().unwrap_or("");
            if !target.is_empty() && !target.contains(':') && !target.contains('`') {
                found.push((number, target));
            }
        }
    }
    found
}

/// A link from a page, as a path from the root.
fn resolved(page: &str, target: &str) -> String {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dead_links_and_paths_are_found() {
        let page = "[a](b.md) [c](../d.md#e) [f](https://g)\n`crates/x` `crates/*.rs`\n\
            ```\n`docs/no`\n```\n`docs/no`\n";
        let tree = Tree::of(&[("docs/a.md", page), ("docs/b.md", ""), ("crates/x/y.rs", "")]);
        let found: Vec<_> = check(&tree).into_iter().map(|one| (one.line, one.rule)).collect();
        assert_eq!(found, [(1, "link"), (6, "path")]);
    }
}
