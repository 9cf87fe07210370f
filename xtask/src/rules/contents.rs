//! Tables of contents: `lib.rs` of each crate.

use crate::rust_source::code_only;
use crate::{Finding, Tree};

/// Checks `lib.rs` of each crate.
pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.ending("/src/lib.rs") {
        if let Some(line) = first_item(&file.text) {
            let reason = "`lib.rs` holds documentation, `mod` and `use` only: move this to a file";
            findings.push(Finding::new(&file.path, line, "table of contents", reason));
        }
    }
    findings
}

/// The line of the first item that is neither a module nor a `use`.
fn first_item(source: &str) -> Option<usize> {
    let code = code_only(source);
    let mut start = 0;
    for item in code.split_inclusive(';') {
        let begin = start + item.len() - item.trim_start().len();
        let line = code[..begin].matches('\n').count() + 1;
        start += item.len();
        let item = without_attributes(item.trim()).trim_end_matches(';');
        let item = item.strip_prefix("pub ").unwrap_or(item);
        if !item.is_empty() && !["mod ", "use "].iter().any(|word| item.starts_with(word)) {
            return Some(line);
        }
        if item.starts_with("mod ") && item.contains('{') {
            return Some(line);
        }
    }
    None
}

fn without_attributes(mut item: &str) -> &str {
    while item.starts_with("#[") || item.starts_with("#![") {
        let Some(end) = item.find(']') else { return item };
        item = item[end + 1..].trim_start();
    }
    item
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_and_uses_are_a_table_of_contents() {
        let source = "//! A.\n#![deny(x)]\n\n#[cfg(feature = \"a\")]\npub mod a;\n\
            mod b;\n\npub use b::{\n    C, D,\n};\n";
        assert_eq!(first_item(source), None);
    }

    #[test]
    fn other_items_are_found() {
        assert_eq!(first_item("//! A.\nmod b;\n\npub fn c() {}\n"), Some(4));
        assert_eq!(first_item("//! A.\nmod b {\n}\n"), Some(2));
        assert_eq!(first_item("//! A.\nuse b;\nconst C: u8 = 1;\n"), Some(3));
    }
}
