//! What ARCHITECTURE.md promises, read from its tables.

use crate::tree::Tree;

/// The page.
pub(crate) const PATH: &str = "ARCHITECTURE.md";
/// The heading of the table of crates.
const CRATES: &str = "Dependencies";
/// The heading of the table of files with `unsafe`.
const UNSAFE: &str = "Files with `unsafe`";

/// A row of the table of crates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Crate {
    /// The folder in `crates/`.
    pub(crate) name: String,
    /// The crates of the project that it may import.
    pub(crate) imports: Vec<String>,
    /// The crates of others that it alone uses.
    pub(crate) alone: Vec<String>,
    /// It does no input or output and reads no clock.
    pub(crate) pure: bool,
    pub(crate) line: usize,
}

/// The table of crates: name, what it may import, what it alone uses, whether it is pure.
pub(crate) fn crates(tree: &Tree) -> Vec<Crate> {
    rows(tree, CRATES)
        .into_iter()
        .filter_map(|(line, cells)| match cells.as_slice() {
            [name, imports, alone, pure] => Some(Crate {
                name: quoted(name).pop()?,
                imports: quoted(imports),
                alone: quoted(alone),
                pure: pure.trim() == "yes",
                line,
            }),
            _ => None,
        })
        .collect()
}

/// The files that may hold `unsafe`, each with the line of the page that says so.
pub(crate) fn unsafe_files(tree: &Tree) -> Vec<(String, usize)> {
    rows(tree, UNSAFE)
        .into_iter()
        .filter_map(|(line, cells)| Some((quoted(cells.first()?).pop()?, line)))
        .collect()
}

/// The rows of the table under a heading, without its head.
fn rows(tree: &Tree, heading: &str) -> Vec<(usize, Vec<String>)> {
    let Some(page) = tree.file(PATH) else { return Vec::new() };
    let mut inside = false;
    let mut found = Vec::new();
    for (number, line) in page.lines() {
        if line.starts_with('#') {
            inside = line.trim_start_matches('#').trim() == heading;
        }
        let cells = line.strip_prefix('|').and_then(|rest| rest.trim_end().strip_suffix('|'));
        if let (true, Some(cells)) = (inside, cells) {
            found.push((number, cells.split('|').map(|cell| cell.trim().to_string()).collect()));
        }
    }
    // The head and the line under it.
    found.drain(..found.len().min(2));
    found
}

/// The names in backquotes.
pub(crate) fn quoted(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(String::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_read() {
        let page = "# A\n## Dependencies\n\n| crate | may import | alone uses | pure |\n\
            | - | - | - | - |\n\
            | `syntax` | – | – | yes |\n| `http` | `store` | `hyper`, `rustls` | |\n\n\
            ## Files with `unsafe`\n| file | why |\n| - | - |\n| `a/b.rs` | speed |\n";
        let tree = Tree::of(&[(PATH, page)]);
        let crates = crates(&tree);
        assert_eq!(crates.len(), 2);
        assert!(crates[0].pure && crates[0].imports.is_empty());
        assert_eq!(crates[1].imports, ["store"]);
        assert_eq!(crates[1].alone, ["hyper", "rustls"]);
        assert_eq!(unsafe_files(&tree), [("a/b.rs".to_string(), 12)]);
    }
}
