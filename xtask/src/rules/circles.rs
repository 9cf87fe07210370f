//! No circle of files inside a crate: what a file uses never leads back to it.
//!
//! An arrow is a path in code (`use`, `crate::a::b`, `super::b`) to another file of the crate. A
//! re-export (`pub use`) is followed to the file that defines the name and is no arrow itself.
//! Circles are the strongly connected components with more than one file (Tarjan 1972).

use crate::rust_source::code_only;
use crate::{Finding, Tree};
use std::collections::{BTreeMap, BTreeSet};

/// A module path: the folders and the file below `src`.
type Module = Vec<String>;
/// Arrows between files, each with the names that cause it.
type Arrows = BTreeMap<String, BTreeMap<String, BTreeSet<String>>>;

/// The deepest chain of re-exports.
const REEXPORTS: usize = 12;

/// Checks all crates.
pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for name in tree.crates() {
        let arrows = Crate::read(tree, &format!("crates/{name}/src/")).arrows();
        for circle in circles(&arrows) {
            let Some(first) = circle.first() else { continue };
            let closing: Vec<String> = circle
                .iter()
                .flat_map(|from| arrows[from].iter().map(move |(to, names)| (from, to, names)))
                .filter(|(_, to, _)| circle.contains(*to))
                .map(|(from, to, names)| {
                    let names: Vec<&str> = names.iter().map(String::as_str).collect();
                    format!("{from} -> {to} ({})", names.join(", "))
                })
                .collect();
            let reason = format!("move what closes the circle down: {}", closing.join("; "));
            findings.push(Finding::new(first, 0, "circle of files", reason));
        }
    }
    findings
}

/// The modules of a crate with the paths in their code.
struct Crate {
    files: BTreeMap<Module, String>,
    /// Paths of each module: whether it is a re-export, and the path as written.
    paths: BTreeMap<Module, Vec<(bool, String)>>,
    reexports: BTreeMap<(Module, String), Module>,
}

impl Crate {
    fn read(tree: &Tree, folder: &str) -> Crate {
        let mut read =
            Crate { files: BTreeMap::new(), paths: BTreeMap::new(), reexports: BTreeMap::new() };
        for file in tree.ending(".rs") {
            let Some(rest) = file.path.strip_prefix(folder) else { continue };
            let mut module: Module =
                rest.trim_end_matches(".rs").split('/').map(String::from).collect();
            if module.len() == 1 && matches!(module[0].as_str(), "lib" | "main") {
                module.clear();
            } else if module.last().is_some_and(|last| last == "mod") {
                module.pop();
            }
            read.files.insert(module.clone(), file.path.clone());
            read.paths.insert(module, paths(without_tests(&code_only(&file.text))));
        }
        let reexports = read.paths.iter().flat_map(|(module, paths)| {
            paths.iter().filter(|(is_public, path)| *is_public && !path.ends_with('*')).filter_map(
                |(_, path)| {
                    let target = read.absolute(module, path)?;
                    let (_, alias) = split_alias(path);
                    let name =
                        alias.map_or_else(|| target.last().cloned(), |name| Some(name.into()))?;
                    Some(((module.clone(), name), target))
                },
            )
        });
        read.reexports = reexports.collect();
        read
    }

    /// The path from the root of the crate; `None` for paths to other crates.
    fn absolute(&self, module: &Module, path: &str) -> Option<Module> {
        let (path, _) = split_alias(path);
        let mut parts: Vec<&str> = path.split("::").map(str::trim).collect();
        let mut base = module.clone();
        match parts.first().copied()? {
            "crate" => {
                base.clear();
                parts.remove(0);
            }
            "self" => {
                parts.remove(0);
            }
            "super" => {
                while parts.first() == Some(&"super") {
                    base.pop();
                    parts.remove(0);
                }
            }
            first => {
                let child: Module = [base.as_slice(), &[first.to_string()]].concat();
                if !self.files.contains_key(&child) {
                    return None;
                }
            }
        }
        base.extend(parts.into_iter().map(String::from));
        Some(base)
    }

    /// The module that defines what a path names.
    fn definition(&self, path: &Module) -> Option<&Module> {
        let mut path = path.clone();
        for _ in 0..REEXPORTS {
            let length = (0..=path.len()).rev().find(|n| self.files.contains_key(&path[..*n]))?;
            let (module, _) = self.files.get_key_value(&path[..length])?;
            let Some(name) = path.get(length) else { return Some(module) };
            match self.reexports.get(&(module.clone(), name.clone())) {
                Some(target) => {
                    let next = [target.as_slice(), &path[length + 1..]].concat();
                    if next == path {
                        return Some(module);
                    }
                    path = next;
                }
                None => return Some(module),
            }
        }
        None
    }

    fn arrows(&self) -> Arrows {
        let mut arrows: Arrows =
            self.files.values().map(|file| (file.clone(), BTreeMap::new())).collect();
        for (module, paths) in &self.paths {
            let from = &self.files[module];
            for (_, path) in
                paths.iter().filter(|(is_public, path)| !is_public && !path.ends_with('*'))
            {
                let Some(target) = self.absolute(module, path) else { continue };
                let Some(to) = self.definition(&target).map(|to| &self.files[to]) else { continue };
                if to != from
                    && let (Some(of), Some(name)) = (arrows.get_mut(from), target.last())
                {
                    of.entry(to.clone()).or_default().insert(name.clone());
                }
            }
        }
        arrows
    }
}

fn split_alias(path: &str) -> (&str, Option<&str>) {
    match path.split_once(" as ") {
        Some((path, alias)) => (path.trim(), Some(alias.trim())),
        None => (path, None),
    }
}

/// The code before the tests of a file.
fn without_tests(code: &str) -> &str {
    let tests = code.match_indices("#[cfg(test)]").find(|(at, mark)| {
        let rest = code[at + mark.len()..].trim_start();
        rest.starts_with("mod ") && rest.find('{') < rest.find(';').or(Some(usize::MAX))
    });
    tests.map_or(code, |(at, _)| &code[..at])
}

/// The paths in code: of `use` declarations, and those that begin with `crate`, `super` or `self`.
fn paths(code: &str) -> Vec<(bool, String)> {
    let mut found = Vec::new();
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let starts = |word: &'static str| {
        code.match_indices(word).map(|(at, _)| at).filter(move |at| {
            !code[..*at].ends_with(is_word) && !code[at + word.len()..].starts_with(is_word)
        })
    };
    for at in starts("use") {
        let rest = &code[at + 3..];
        let Some(end) = rest.find(';').filter(|_| rest.starts_with(char::is_whitespace)) else {
            continue;
        };
        let line = code[..at].rfind(['\n', ';', '}', '{']).map_or(0, |start| start + 1);
        let is_public = code[line..at].trim_start().starts_with("pub");
        found.extend(expand(rest[..end].trim()).into_iter().map(|path| (is_public, path)));
    }
    for word in ["crate", "super", "self"] {
        for at in starts(word) {
            let rest = &code[at..];
            let end = rest.find(|c| !is_word(c) && c != ':').unwrap_or(rest.len());
            let path = rest[..end].trim_end_matches(':');
            if path.contains("::") && !code[..at].ends_with("::") {
                found.push((false, path.to_string()));
            }
        }
    }
    found
}

/// The single paths of a `use` tree.
fn expand(tree: &str) -> Vec<String> {
    let (Some(open), Some(close)) = (tree.find('{'), tree.rfind('}')) else {
        return vec![tree.split_whitespace().collect::<Vec<_>>().join(" ")];
    };
    let prefix = tree[..open].trim();
    let (mut depth, mut start, mut parts) = (0, open + 1, Vec::new());
    for (at, c) in tree[..close].char_indices().skip_while(|(at, _)| *at <= open) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(tree[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(tree[start..close].trim());
    let parts = parts.into_iter().filter(|part| !part.is_empty());
    parts.flat_map(|part| expand(&format!("{prefix}{part}"))).collect()
}

/// The circles of a graph.
fn circles(arrows: &Arrows) -> Vec<Vec<String>> {
    let reach: BTreeMap<&String, BTreeSet<&String>> =
        arrows.keys().map(|file| (file, reached(arrows, file))).collect();
    let mut circles: BTreeSet<Vec<String>> = BTreeSet::new();
    for file in arrows.keys().filter(|file| reach[file].contains(file)) {
        let circle = reach[file].iter().filter(|other| reach[*other].contains(file));
        circles.insert(circle.map(|other| (*other).clone()).collect());
    }
    circles.into_iter().collect()
}

/// The files that a file uses, directly or not.
fn reached<'a>(arrows: &'a Arrows, from: &'a String) -> BTreeSet<&'a String> {
    let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
    while let Some(file) = next.pop() {
        next.extend(arrows[file].keys().filter(|to| seen.insert(*to)));
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let mut all = vec![("crates/a/Cargo.toml", "")];
        all.extend(files);
        check(&Tree::of(&all)).into_iter().map(|finding| finding.reason).collect()
    }

    #[test]
    fn two_files_that_use_each_other_are_a_circle() {
        let b = ("crates/a/src/b.rs", "//! b\nuse crate::c::{C, deep::D};\n");
        let c = ("crates/a/src/c.rs", "//! c\nfn f() { super::b::g() }\n");
        let reason = &found(&[b, c])[0];
        assert!(reason.contains("b.rs -> crates/a/src/c.rs (C, D, c)"), "{reason}");
        assert!(reason.contains("c.rs -> crates/a/src/b.rs (g)"), "{reason}");
    }

    #[test]
    fn re_exports_lead_to_the_definition() {
        let lib = ("crates/a/src/lib.rs", "//! a\nmod b;\nmod c;\npub use b::B;\npub use c::C;\n");
        let b = ("crates/a/src/b.rs", "//! b\nuse crate::C;\n");
        let c = ("crates/a/src/c.rs", "//! c\n");
        assert_eq!(found(&[lib, b, c]), [""; 0]);
        let c = ("crates/a/src/c.rs", "//! c\nuse crate::B;\n");
        assert_eq!(found(&[lib, b, c]).len(), 1);
    }

    #[test]
    fn comments_and_tests_do_not_count() {
        let b = ("crates/a/src/b.rs", "//! crate::c::C\nuse crate::c::C;\n");
        let c = ("crates/a/src/c.rs", "//! c\n#[cfg(test)]\nmod tests { use crate::b::B; }\n");
        assert_eq!(found(&[b, c]), [""; 0]);
    }
}
