//! Rooms, names and words: folders that one can read at a glance, one meaning for each type name,
//! and plain English in comments.

use crate::rust_source::words;
use crate::{File, Finding, Tree};
use std::collections::{BTreeMap, BTreeSet};

/// Source files of a folder.
const FOLDER_FILES: usize = 15;
/// Definitions of one type name in the workspace.
const SAME_NAME: usize = 2;
/// Comment lines with an idiom, per thousand.
const IDIOMS: usize = 2;
/// Words of a translated sentence; each is fine once, many of them make prose hard to read.
const IDIOM_PHRASES: [&str; 18] = [
    "somebody",
    "whoever",
    "so many",
    "is told",
    "are told",
    "tells of",
    "is looked at",
    "looks at whether",
    "as far as",
    "what is there",
    "what came",
    "is let go",
    "goes on",
    "one that",
    "nobody",
    "at a time",
    "says so",
    "shall",
];

/// Checks the sources of all crates.
pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let sources: Vec<&File> = tree.under("crates").filter(|file| is_source(&file.path)).collect();
    let mut findings = rooms(&sources);
    findings.extend(names(tree, &sources));
    findings.extend(idioms(&sources));
    findings
}

fn is_source(path: &str) -> bool {
    path.contains("/src/") && (path.ends_with(".rs") || path.ends_with(".lua"))
}

fn rooms(sources: &[&File]) -> Vec<Finding> {
    let mut folders: BTreeMap<&str, usize> = BTreeMap::new();
    for file in sources {
        let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        *folders.entry(folder).or_default() += 1;
    }
    let full = folders.into_iter().filter(|(_, count)| *count > FOLDER_FILES);
    full.map(|(folder, count)| {
        let reason = format!("{count} files; divide the folder by subject, {FOLDER_FILES} at most");
        Finding::new(folder, 0, "files of a folder", reason)
    })
    .collect()
}

/// The types that a file defines, each with its line.
fn types(file: &File) -> impl Iterator<Item = (&str, usize)> {
    file.lines().filter_map(|(number, line)| {
        let mut rest = line.trim_start();
        if let Some(public) = rest.strip_prefix("pub") {
            rest = match public.strip_prefix('(') {
                Some(scope) => scope.split_once(") ")?.1,
                None => public.strip_prefix(' ')?,
            };
        }
        let kinds = ["struct ", "enum ", "trait ", "union "];
        let rest = kinds.iter().find_map(|kind| rest.strip_prefix(kind))?;
        words(rest).next().filter(|(at, _)| *at == 0).map(|(_, name)| (name, number))
    })
}

fn names(tree: &Tree, sources: &[&File]) -> Vec<Finding> {
    let mut defined: BTreeMap<&str, Vec<(&str, usize)>> = BTreeMap::new();
    for file in sources.iter().filter(|file| file.is(".rs")) {
        for (name, line) in types(file) {
            defined.entry(name).or_default().push((&file.path, line));
        }
    }
    let lib = tree.file("crates/store/src/lib.rs").map_or("", |file| &file.text);
    let exports = lib.split("pub use ").skip(1).filter_map(|rest| rest.split(';').next());
    let exported: BTreeSet<&str> = exports.flat_map(words).map(|(_, name)| name).collect();
    let mut findings = Vec::new();
    for (name, places) in defined {
        let outside = places.iter().filter(|(path, _)| !path.starts_with("crates/store/"));
        if let Some((path, line)) = outside.clone().next().filter(|_| exported.contains(name)) {
            let reason = format!("`{name}` is a type of runnel-store; name the subject as well");
            findings.push(Finding::new(path, *line, "name of a type", reason));
        } else if places.len() > SAME_NAME {
            let paths: Vec<&str> = places.iter().map(|(path, _)| *path).collect();
            let reason =
                format!("`{name}` is defined {} times: {}", places.len(), paths.join(", "));
            findings.push(Finding::new(places[0].0, places[0].1, "name of a type", reason));
        }
    }
    findings
}

fn idioms(sources: &[&File]) -> Vec<Finding> {
    let (mut comments, mut found) = (0, Vec::new());
    for file in sources {
        for (number, line) in file.lines() {
            let line = line.trim();
            if !line.starts_with("//") && !line.starts_with("--") {
                continue;
            }
            comments += 1;
            let spaced =
                format!(" {} ", words(line).map(|(_, word)| word).collect::<Vec<_>>().join(" "));
            let folded = spaced.to_lowercase();
            if let Some(phrase) =
                IDIOM_PHRASES.iter().find(|phrase| folded.contains(&format!(" {phrase} ")))
            {
                let reason = format!("`{phrase}`: put the subject first and use the field's noun");
                found.push(Finding::new(&file.path, number, "idiom", reason));
            }
        }
    }
    if found.len() * 1000 > comments * IDIOMS { found } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_few_files() {
        let paths: Vec<String> = (0..16).map(|n| format!("crates/a/src/f{n}.rs")).collect();
        let files: Vec<(&str, &str)> =
            paths.iter().map(|path| (path.as_str(), "//! f\n")).collect();
        assert_eq!(check(&Tree::of(&files[..15])), []);
        assert_eq!(check(&Tree::of(&files)).len(), 1);
    }

    #[test]
    fn a_name_is_used_twice_at_most_and_never_for_one_of_the_store() {
        let a = ("crates/a/src/a.rs", "pub(crate) struct Place;\n");
        let b = ("crates/b/src/a.rs", "enum Place {}\n");
        let c = ("crates/c/src/a.rs", "    trait Place {}\n");
        assert_eq!(check(&Tree::of(&[a, b])), []);
        assert_eq!(check(&Tree::of(&[a, b, c])).len(), 1);
        let store = ("crates/store/src/lib.rs", "pub use place::{Other, Place};\n");
        assert_eq!(check(&Tree::of(&[a, store])).len(), 1);
    }

    #[test]
    fn idioms_are_counted() {
        let plain = "// A line.\n".repeat(999);
        let two = format!("{plain}// Somebody waits.\n// It goes\n// on, nobody knows.\n");
        let three = format!("{two}// One that shall.\n");
        assert_eq!(check(&Tree::of(&[("crates/a/src/a.rs", two.as_str())])), []);
        assert_eq!(check(&Tree::of(&[("crates/a/src/a.rs", three.as_str())])).len(), 3);
    }
}
