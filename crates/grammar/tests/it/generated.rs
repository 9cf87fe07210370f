//! The committed parser is the one that `grammar.js` gives.

use crate::programs::root;
use std::process::Command;
use tree_sitter_generate::{OptLevel, generate_parser_in_directory};

/// The newest version of parsers that all editors read: 15 needs tree-sitter 0.25.
const ABI: usize = 14;

#[test]
fn the_committed_parser_is_generated_from_the_grammar() {
    let folder = root().join("editors/tree-sitter-runnel");
    let out = tempfile::tempdir().unwrap();
    // Node evaluates `grammar.js`; without it, the grammar that it gave is checked.
    let node = Command::new("node").arg("--version").output().is_ok();
    let grammar = folder.join(if node { "grammar.js" } else { "src/grammar.json" });
    let mut diagnostics = Vec::new();
    generate_parser_in_directory(
        &folder,
        Some(out.path()),
        Some(&grammar),
        ABI,
        None,
        Some("node"),
        true,
        OptLevel::default(),
        &mut diagnostics,
    )
    .unwrap();
    let files: &[&str] = if node {
        &["parser.c", "node-types.json", "grammar.json"]
    } else {
        &["parser.c", "node-types.json"]
    };
    for name in files {
        let read = |path: std::path::PathBuf| std::fs::read_to_string(path).unwrap();
        let same = read(out.path().join(name)).trim_end()
            == read(folder.join("src").join(name)).trim_end();
        assert!(
            same,
            "src/{name} is out of date: run `tree-sitter generate --abi 14` in {}",
            folder.display()
        );
    }
}
