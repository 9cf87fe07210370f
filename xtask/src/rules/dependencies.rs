//! Who may import whom; what each dependency is for.

use crate::architecture::{self, Crate};
use crate::manifest::{Dependency, Section, dependencies};
use crate::rust_source::{code_only, words};
use crate::{File, Finding, Tree};
use std::collections::BTreeSet;

const ROOT: &str = "Cargo.toml";

/// Checks the manifests.
pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let crates = architecture::crates(tree);
    table_is_complete(tree, &crates, &mut findings);
    let mut used = BTreeSet::new();
    for manifest in tree.ending("Cargo.toml").filter(|file| file.path != ROOT) {
        let list = dependencies(&manifest.text);
        // A workspace of its own, which the project does not depend on.
        if manifest.lines().any(|(_, line)| line == "[workspace]") {
            commented(&manifest.path, &list, &mut findings);
            continue;
        }
        used.extend(list.iter().map(|one| one.name.clone()));
        member(tree, manifest, &list, &crates, &mut findings);
    }
    if let Some(root) = tree.file(ROOT) {
        let list = dependencies(&root.text);
        commented(ROOT, &list, &mut findings);
        for one in list.iter().filter(|one| !used.contains(&one.name)) {
            let reason = format!("no crate uses `{}`: remove the line", one.name);
            findings.push(Finding::new(ROOT, one.line, "unused dependency", reason));
        }
    }
    findings
}

/// The table of ARCHITECTURE.md names every crate, and no other.
fn table_is_complete(tree: &Tree, table: &[Crate], findings: &mut Vec<Finding>) {
    const RULE: &str = "table of crates";
    let folders = tree.crates();
    for row in table.iter().filter(|row| !folders.contains(&row.name.as_str())) {
        let reason = format!("there is no crate `{}`", row.name);
        findings.push(Finding::new(architecture::PATH, row.line, RULE, reason));
    }
    for folder in folders {
        if !table.iter().any(|row| row.name == folder) {
            let reason = format!("the table under \"Dependencies\" lacks the crate `{folder}`");
            findings.push(Finding::new(architecture::PATH, 0, RULE, reason));
        }
    }
}

/// Each dependency from elsewhere says what it is for.
fn commented(path: &str, list: &[Dependency], findings: &mut Vec<Finding>) {
    for one in list {
        if one.own_table {
            let reason = format!("write `{}` on one line, with a comment", one.name);
            findings.push(Finding::new(path, one.line, "dependency comment", reason));
        } else if !one.value.contains("path =") && one.comment.len() < 5 {
            let reason =
                format!("say what `{}` is for in a comment at the end of its line", one.name);
            findings.push(Finding::new(path, one.line, "dependency comment", reason));
        }
    }
}

fn member(
    tree: &Tree,
    manifest: &File,
    list: &[Dependency],
    crates: &[Crate],
    findings: &mut Vec<Finding>,
) {
    let path = manifest.path.as_str();
    let folder = path.trim_end_matches("/Cargo.toml");
    let own = folder.strip_prefix("crates/");
    let row = crates.iter().find(|row| Some(row.name.as_str()) == own);
    let mut say = |one: &Dependency, rule: &'static str, reason: String| {
        findings.push(Finding::new(path, one.line, rule, reason));
    };
    let words = if list.is_empty() { BTreeSet::new() } else { words_of(tree, folder) };
    for one in list {
        if one.section == Section::Workspace || one.own_table || !one.is_from_workspace() {
            let reason = format!(
                "declare `{0}` in the root Cargo.toml and write `{0}.workspace = true` here",
                one.name
            );
            say(one, "dependency of the workspace", reason);
        }
        if !words.contains(&one.name.replace('-', "_")) {
            let reason = format!("nothing in {folder} names `{}`: remove the line", one.name);
            say(one, "unused dependency", reason);
        }
        let Some(row) = row else {
            if own.is_some() {
                continue; // the table lacks it: said above
            }
            let reason = format!("{folder} is built without dependencies; it has `{}`", one.name);
            say(one, "direction of dependencies", reason);
            continue;
        };
        if let Some(import) = one.name.strip_prefix("runnel-").filter(|_| one.is_ours()) {
            // For its own tests a crate may import itself, with other features.
            let is_self = import == row.name && one.section == Section::Development;
            if !is_self && !row.imports.iter().any(|allowed| allowed == import) {
                let reason = format!(
                    "`{}` must not import `{import}`: see \"Dependencies\" in {}",
                    row.name,
                    architecture::PATH
                );
                say(one, "direction of dependencies", reason);
            }
        }
        let owner = crates.iter().find(|other| other.alone.contains(&one.name));
        if let Some(owner) = owner.filter(|owner| owner.name != row.name) {
            let reason = format!("only `{}` may use `{}`", owner.name, one.name);
            say(one, "one owner of a dependency", reason);
        }
    }
}

/// The words of all Rust sources of a crate.
fn words_of(tree: &Tree, folder: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for file in tree.under(folder).filter(|file| file.is(".rs")) {
        for line in code_only(&file.text).lines() {
            found.extend(words(line).map(|(_, word)| word.to_string()));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "## Dependencies\n| c | i | a | p |\n| - | - | - | - |\n\
        | `store` | – | – | |\n| `http` | `store` | `hyper` | |\n";

    fn rules(root: &str, store: &str, http: &str) -> Vec<String> {
        let tree = Tree::of(&[
            (architecture::PATH, PAGE),
            ("Cargo.toml", root),
            ("crates/store/Cargo.toml", store),
            ("crates/store/src/lib.rs", "use hyper; use runnel_http; use runnel_store; use bytes;"),
            ("crates/http/Cargo.toml", http),
            ("crates/http/src/lib.rs", "use hyper; use runnel_store;"),
        ]);
        check(&tree).iter().map(|one| format!("{}:{} {}", one.path, one.line, one.rule)).collect()
    }

    #[test]
    fn a_tidy_project_has_no_findings() {
        let root = "[workspace.dependencies]\nrunnel-store = { path = \"s\" }\n\
            hyper = \"1\" # HTTP for all\n";
        let http = "[dependencies]\nrunnel-store.workspace = true\nhyper = { workspace = true }\n";
        assert_eq!(rules(root, "[dependencies]\n", http), [""; 0]);
    }

    #[test]
    fn direction_owner_and_source_are_checked() {
        let root = "[workspace.dependencies]\nhyper = \"1\"\nbytes = \"1\" # shared byte buffers\n";
        let store = "[dependencies]\n\
            runnel-http.workspace = true\nhyper.workspace = true\nbytes = \"1\"\n\
            [dev-dependencies]\nrunnel-store.workspace = true\n";
        let expected = [
            "crates/store/Cargo.toml:2 direction of dependencies",
            "crates/store/Cargo.toml:3 one owner of a dependency",
            "crates/store/Cargo.toml:4 dependency of the workspace",
            "Cargo.toml:2 dependency comment",
        ];
        assert_eq!(rules(root, store, "[dependencies]\nhyper.workspace = true\n"), expected);
    }

    #[test]
    fn unused_dependencies_are_found() {
        let root = "[workspace.dependencies]\nbytes = \"1\" # shared byte buffers\n\
            itoa = \"1\" # digits of numbers\n";
        let expected =
            ["crates/http/Cargo.toml:2 unused dependency", "Cargo.toml:3 unused dependency"];
        assert_eq!(rules(root, "", "[dependencies]\nbytes.workspace = true\n"), expected);
    }
}
