//! What no source holds: unfinished work, tests that do not run, printing outside the command.

use crate::rust_source::{code_only, words};
use crate::{Finding, Tree};

/// Macros that no source may call.
const UNFINISHED: [&str; 3] = ["todo", "unimplemented", "dbg"];
/// Macros that print.
const PRINTS: [&str; 4] = ["print", "println", "eprint", "eprintln"];
/// Where printing is the job.
const MAY_PRINT: [&str; 2] = ["crates/app/", "xtask/"];
/// Folders of a crate whose programs may print.
const MAY_PRINT_INSIDE: [&str; 4] = ["benches/", "tests/", "examples/", "fuzz/"];

/// Checks all Rust sources.
pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.ending(".rs") {
        let may_print = MAY_PRINT.iter().any(|folder| file.path.starts_with(folder))
            || MAY_PRINT_INSIDE.iter().any(|folder| {
                file.path.starts_with(folder) || file.path.contains(&format!("/{folder}"))
            });
        for (number, line) in code_only(&file.text).lines().enumerate() {
            for (at, word) in words(line) {
                let is_macro = line[at + word.len()..].starts_with('!')
                    && !line[at + word.len()..].starts_with("!=");
                let is_attribute = line[..at].trim_end().ends_with("#[");
                let reason = match word {
                    _ if is_macro && UNFINISHED.contains(&word) => {
                        format!("`{word}!` is unfinished work: finish it or leave it out")
                    }
                    _ if is_macro && PRINTS.contains(&word) && !may_print => {
                        format!("only the command prints; `{word}!` belongs to crates/app")
                    }
                    "ignore" if is_attribute => {
                        "a test that does not run tests nothing: mend or remove it".into()
                    }
                    _ => continue,
                };
                findings.push(Finding::new(&file.path, number + 1, "banned", reason));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        check(&Tree::of(&[(path, text)])).iter().map(|one| one.line).collect()
    }

    #[test]
    fn unfinished_work_is_found() {
        let source = concat!("to", "do!()\n// to", "do!()\nif todo != 1 {}\n#[ig", "nore]\n");
        assert_eq!(lines("crates/app/src/a.rs", source), [1, 4]);
    }

    #[test]
    fn only_the_command_prints() {
        let source = "println!(\"a\");\n";
        assert_eq!(lines("crates/store/src/a.rs", source), [1]);
        assert_eq!(lines("crates/store/tests/a.rs", source), [0; 0]);
        assert_eq!(lines("crates/app/src/a.rs", source), [0; 0]);
    }
}
