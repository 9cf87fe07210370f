//! Pure crates do no input or output and read no clock.

use crate::rust_source::code_only;
use crate::{Finding, Tree, architecture};

/// Modules of the standard library that a pure crate does not name.
const IMPURE: [&str; 6] =
    ["std::fs", "std::net", "std::env", "std::time", "std::thread", "std::process"];

/// Checks the crates that the table of ARCHITECTURE.md calls pure.
pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for row in architecture::crates(tree).iter().filter(|row| row.pure) {
        let folder = format!("crates/{}", row.name);
        if !tree.has(&format!("{folder}/clippy.toml")) {
            let reason = "a pure crate has a clippy.toml that disallows input, output and clocks";
            findings.push(Finding::new(&folder, 0, "purity", reason));
        }
        for file in tree.under(&format!("{folder}/src")).filter(|file| file.is(".rs")) {
            for (number, line) in code_only(&file.text).lines().enumerate() {
                for module in IMPURE.iter().filter(|module| line.contains(**module)) {
                    let reason = format!("`{}` is pure: no `{module}`", row.name);
                    findings.push(Finding::new(&file.path, number + 1, "purity", reason));
                }
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impure_modules_are_found() {
        let page = "## Dependencies\n| c | i | a | p |\n| - | - | - | - |\n| `a` | – | – | yes |\n";
        let tree = Tree::of(&[
            (architecture::PATH, page),
            ("crates/a/src/lib.rs", "//! std::fs\nuse std::fs::read;\n"),
        ]);
        let found: Vec<_> = check(&tree).iter().map(|one| (one.path.clone(), one.line)).collect();
        assert_eq!(found, [("crates/a".to_string(), 0), ("crates/a/src/lib.rs".to_string(), 2)]);
    }
}
