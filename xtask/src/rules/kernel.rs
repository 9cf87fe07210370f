//! The names of the Lua kernel: each is defined once, and used by its own file and by later ones.
//!
//! A file uses `K.name` where another defines it. Since a file may only use what files before it
//! define, the order of loading is an order of layers and no files form a circle.

use crate::rust_source::words;
use crate::{Finding, Tree};
use std::collections::{BTreeMap, BTreeSet};

/// The folder of the kernel, the file with its order of loading, and the file that loads it.
const FOLDER: &str = "crates/runtime/src/kernel";
const ORDER: &str = "crates/runtime/src/kernel/files.rs";
const LOADER: &str = "crates/runtime/src/kernel.rs";

/// A name in a file: the place of the file in the order, its path, the line.
#[derive(Clone, Copy)]
struct Place<'a> {
    order: usize,
    path: &'a str,
    line: usize,
}

/// The definitions, changes and uses of names.
#[derive(Default)]
struct Names<'a> {
    definitions: BTreeMap<String, Vec<Place<'a>>>,
    changes: Vec<(String, Place<'a>)>,
    uses: Vec<(String, Place<'a>)>,
}

/// Checks the kernel.
pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let (Some(order), Some(loader)) = (tree.file(ORDER), tree.file(LOADER)) else {
        return Vec::new();
    };
    let listed: Vec<&str> = order.text.lines().filter_map(listed_file).collect();
    let mut findings = Vec::new();
    let mut names = Names::default();
    for file in tree.under(FOLDER).filter(|file| file.is(".lua")) {
        let name = file.path[FOLDER.len()..].trim_start_matches('/');
        match listed.iter().position(|one| *one == name) {
            Some(order) => names.read(&file.text, order, &file.path),
            None => {
                let reason = format!("{ORDER} does not list it");
                findings.push(Finding::new(&file.path, 0, "kernel file", reason));
            }
        }
    }
    names.twice(&mut findings);
    names.order(&given_by(&loader.text), &mut findings);
    names.unused(tree, &mut findings);
    findings
}

/// The file that a line of the order lists.
fn listed_file(line: &str) -> Option<&str> {
    line.trim().strip_prefix('"')?.strip_suffix("\",").filter(|name| name.ends_with(".lua"))
}

/// The names that Rust puts into the kernel's table before it loads.
fn given_by(loader: &str) -> Vec<&str> {
    let calls = ["set_field(kernel, \"", "kernel.raw_set(\""].into_iter();
    let names = calls.flat_map(|call| loader.split(call).skip(1));
    names.filter_map(|rest| rest.split('"').next()).collect()
}

impl<'a> Names<'a> {
    fn read(&mut self, text: &str, order: usize, path: &'a str) {
        let code = code_only(text);
        for (index, line) in code.lines().enumerate() {
            let place = Place { order, path, line: index + 1 };
            let defined = definitions_in(line);
            for name in names_in(line) {
                if !defined.contains(&name) {
                    self.uses.push((name.to_owned(), place));
                } else if line.starts_with(' ') {
                    self.changes.push((name.to_owned(), place));
                } else {
                    self.definitions.entry(name.to_owned()).or_default().push(place);
                }
            }
        }
    }

    fn twice(&self, findings: &mut Vec<Finding>) {
        for (name, places) in &self.definitions {
            for place in &places[1..] {
                let first = places[0];
                let reason = format!("{}:{} defines `K.{name}` too", first.path, first.line);
                findings.push(Finding::new(place.path, place.line, "kernel name", reason));
            }
        }
        for (name, place) in &self.changes {
            let home = self.definitions.get(name).map(|places| places[0]);
            if home.is_none_or(|home| home.path != place.path) {
                let reason = match home {
                    Some(home) => format!("only {} may change its `K.{name}`", home.path),
                    None => format!("define `K.{name}` at the top level of the file first"),
                };
                findings.push(Finding::new(place.path, place.line, "kernel name", reason));
            }
        }
    }

    /// Each use stands in the file of its definition or in a later one.
    fn order(&self, given: &[&str], findings: &mut Vec<Finding>) {
        for (name, place) in &self.uses {
            let reason = match self.definitions.get(name) {
                Some(places) if places[0].order <= place.order => continue,
                Some(places) => {
                    format!("{} defines `K.{name}`, and is loaded later", places[0].path)
                }
                None if given.contains(&name.as_str()) => continue,
                None => format!("no file defines `K.{name}`"),
            };
            findings.push(Finding::new(place.path, place.line, "kernel order", reason));
        }
    }

    /// Each name is used somewhere: in the kernel, in Rust, or in generated code.
    fn unused(&self, tree: &Tree, findings: &mut Vec<Finding>) {
        let in_lua: BTreeSet<&str> = self.uses.iter().map(|(name, _)| name.as_str()).collect();
        let sources = tree.under("crates").filter(|file| file.is(".rs"));
        let in_rust: BTreeSet<&str> = sources
            .flat_map(|file| file.text.lines())
            .flat_map(|line| words(line).map(|(_, word)| word))
            .collect();
        for (name, places) in &self.definitions {
            if !in_lua.contains(name.as_str()) && !in_rust.contains(name.as_str()) {
                let reason = format!("nothing uses `K.{name}`: delete it");
                let home = places[0];
                findings.push(Finding::new(home.path, home.line, "kernel name", reason));
            }
        }
    }
}

/// The names that a line of code defines or changes: `function K.a(`, `K.a, K.b = …`.
fn definitions_in(line: &str) -> Vec<&str> {
    let line = line.trim_start();
    if let Some(rest) = line.strip_prefix("function K.") {
        return word_of(rest)
            .filter(|name| rest[name.len()..].starts_with('('))
            .into_iter()
            .collect();
    }
    let Some((targets, rest)) = line.split_once('=') else { return Vec::new() };
    let parts: Option<Vec<&str>> = targets
        .split(',')
        .map(|one| one.trim().strip_prefix("K.").filter(|one| is_word(one)))
        .collect();
    parts.filter(|_| !rest.starts_with('=')).unwrap_or_default()
}

/// The names that follow `K.` in a line of code.
fn names_in(line: &str) -> impl Iterator<Item = &str> {
    line.match_indices("K.").filter_map(|(at, _)| {
        let before = line[..at].chars().next_back();
        let is_start = !before.is_some_and(|one| one == '.' || one == '_' || one.is_alphanumeric());
        word_of(&line[at + 2..]).filter(|_| is_start)
    })
}

fn word_of(text: &str) -> Option<&str> {
    let end = text.find(|one: char| one != '_' && !one.is_ascii_alphanumeric());
    Some(&text[..end.unwrap_or(text.len())]).filter(|word| !word.is_empty())
}

fn is_word(text: &str) -> bool {
    word_of(text) == Some(text)
}

/// Lua without its comments and texts, on the same lines.
fn code_only(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let skipped = if rest.starts_with("--[[") || rest.starts_with("[[") {
            rest.find("]]").map_or(rest.len(), |end| end + 2)
        } else if rest.starts_with("--") {
            rest.find('\n').unwrap_or(rest.len())
        } else if first == '"' || first == '\'' {
            quoted(rest, first)
        } else {
            code.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        };
        code.extend(rest[..skipped].chars().filter(|one| *one == '\n'));
        rest = &rest[skipped..];
    }
    code
}

/// The length of a text in quotes at the start.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, one) in text.char_indices().skip(1) {
        if one == quote && !escaped {
            return at + 1;
        }
        escaped = one == '\\' && !escaped;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(files: &[(&str, &str)]) -> Vec<String> {
        let list: String = files.iter().map(|(name, _)| format!("    \"{name}\",\n")).collect();
        let paths: Vec<_> =
            files.iter().map(|(name, text)| (format!("{FOLDER}/{name}"), *text)).collect();
        let mut all = vec![
            (ORDER, list.as_str()),
            (LOADER, "stack.set_field(kernel, \"seed\"); keep(\"outside\")"),
        ];
        all.extend(paths.iter().map(|(path, text)| (path.as_str(), *text)));
        check(&Tree::of(&all)).into_iter().map(|one| one.reason).collect()
    }

    #[test]
    fn names_of_earlier_files_may_be_used() {
        let lower = "function K.a() return K.seed end\nK.outside = 1\n";
        assert_eq!(
            findings(&[("a.lua", lower), ("b.lua", "local a = K.a -- K.c\nlocal b = 'K.c'")]),
            [""; 0]
        );
    }

    #[test]
    fn a_name_has_one_definition() {
        let found = findings(&[
            ("a.lua", "K.outside, K.b = 1, 2"),
            ("b.lua", "function K.outside() return K.b end"),
        ]);
        assert_eq!(found, [format!("{FOLDER}/a.lua:1 defines `K.outside` too")]);
    }

    #[test]
    fn names_of_later_files_and_of_none_are_found() {
        let found = findings(&[("a.lua", "local b = K.b\nlocal c = K.c"), ("b.lua", "K.b = 1")]);
        let expected = [
            format!("{FOLDER}/b.lua defines `K.b`, and is loaded later"),
            "no file defines `K.c`".into(),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_file_changes_its_own_names_only() {
        let change = "function K.outside()\n  K.b = 2\nend\nK.b = 1";
        let found = findings(&[("a.lua", change), ("b.lua", "if K.b then\n  K.b = 3\nend")]);
        assert_eq!(found, [format!("only {FOLDER}/a.lua may change its `K.b`")]);
    }

    #[test]
    fn unused_names_are_found() {
        let found = findings(&[("a.lua", "K.b = 1")]);
        assert_eq!(found, ["nothing uses `K.b`: delete it"]);
    }
}
