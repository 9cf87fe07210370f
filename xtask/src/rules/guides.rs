//! The guides for contributors name files that exist.
//!
//! A guide in `docs/contributing/` lists the files of a change in a block that begins with `files:`;
//! each line is `- PATH` and may end with a remark in brackets. `NAME` stands for what is added, so a
//! path with it is checked up to its folder.

use crate::{Finding, Tree};

/// Checks the guides.
pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.under("docs/contributing") {
        let mut is_list = false;
        let mut count = 0;
        for (number, line) in file.lines() {
            let line = line.trim();
            if line == "files:" {
                is_list = true;
                continue;
            }
            let Some(entry) = line.strip_prefix("- ").filter(|_| is_list) else {
                is_list = false;
                continue;
            };
            count += 1;
            let path = entry.split([' ', '(']).next().unwrap_or_default();
            let checked = match path.find("NAME") {
                Some(at) => path[..at].rsplit_once('/').map_or("", |(folder, _)| folder),
                None => path,
            };
            if !tree.has(checked) {
                let reason = format!("`{path}` does not exist; say where the file is now");
                findings.push(Finding::new(&file.path, number, "guide", reason));
            }
        }
        if count == 0 {
            let reason = "list the files of the change in a block that begins with `files:`";
            findings.push(Finding::new(&file.path, 0, "guide", reason));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_guide_exist() {
        let guide = |text| ("docs/contributing/a.md", text);
        let source = ("crates/a/src/b.rs", "");
        let found = |text| check(&Tree::of(&[guide(text), source])).len();
        assert_eq!(
            found("```\nfiles:\n- crates/a/src/b.rs (one line)\n- crates/a/src/NAME.rs\n```\n"),
            0
        );
        assert_eq!(found("```\nfiles:\n- crates/a/src/c.rs\n```\n"), 1);
        assert_eq!(found("no list\n"), 1);
    }
}
