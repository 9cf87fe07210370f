//! What belongs to one machine or its owner and not to the project: paths, mirrors, addresses.

use crate::{Finding, Tree};

/// Beginnings of paths that exist on one machine only. In two parts, so that this file passes.
const PATHS: [(&str, &str); 4] = [("/wo", "rk/"), ("/ro", "ot/"), ("/ho", "me/"), ("/Us", "ers/")];
/// Files that say where things are fetched from.
const FETCHING: [&str; 8] = [
    "Cargo.lock",
    "Cargo.toml",
    ".cargo/config.toml",
    ".ci/run",
    "Makefile",
    "package.json",
    "package-lock.json",
    "requirements.txt",
];
/// The hosts that these may name.
const HOSTS: [&str; 6] = [
    "github.com",
    "registry.npmjs.org",
    "index.crates.io",
    "static.crates.io",
    "127.0.0.1",
    "localhost",
];

/// Checks all files.
pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files() {
        let fetches = FETCHING
            .iter()
            .any(|name| file.path == *name || file.path.ends_with(&format!("/{name}")));
        for (number, line) in file.lines() {
            let mut say = |rule, reason: String| {
                findings.push(Finding::new(&file.path, number, rule, reason));
            };
            for (start, end) in PATHS {
                if names_path(line, &format!("{start}{end}")) {
                    say("path of a machine", "write a path that exists for everybody".into());
                }
            }
            for host in hosts(line).filter(|host| fetches && !HOSTS.contains(host)) {
                say("host", format!("`{host}` is not where everybody fetches from"));
            }
        }
    }
    findings
}

/// Whether a line has the path, not as the tail of a longer one (`/a/work/b`) or of a URL.
fn names_path(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        before.is_none_or(|c| {
            !(c.is_alphanumeric() || matches!(c, '/' | '.' | '-' | '_' | ':' | '}'))
        })
    })
}

/// The hosts of the URLs in a line.
fn hosts(line: &str) -> impl Iterator<Item = &str> {
    line.match_indices("://").map(|(at, _)| {
        let rest = &line[at + 3..];
        let end = rest.find(|c: char| !(c.is_alphanumeric() || ".-_".contains(c)));
        &rest[..end.unwrap_or(rest.len())]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_a_machine_are_found() {
        let path = concat!("/ro", "ot/");
        assert!(names_path(&format!("see {path}x"), path));
        assert!(names_path(&format!("\"{path}x\""), path));
        assert!(!names_path(&format!("GET http://a{path}x"), path));
        assert!(!names_path(&format!("tasks:{path}x"), path));
    }

    #[test]
    fn only_known_hosts_are_fetched_from() {
        let lock = "source = \"registry+https://github.com/rust-lang/crates.io-index\"\n\
            source = \"registry+https://mirror.example/index\"\n";
        let tree = Tree::of(&[("Cargo.lock", lock), ("a.md", "https://mirror.example\n")]);
        let found: Vec<_> = check(&tree).into_iter().map(|one| (one.path, one.line)).collect();
        assert_eq!(found, [("Cargo.lock".to_string(), 2)]);
    }
}
