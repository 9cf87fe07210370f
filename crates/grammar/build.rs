//! Compiles the generated parser and the scanner of the grammar for tree-sitter.

use std::io::Write;
use std::path::Path;

fn main() -> std::io::Result<()> {
    let source = Path::new("../../editors/tree-sitter-runnel/src");
    let files = ["parser.c", "scanner.c"].map(|name| source.join(name));
    cc::Build::new().std("c11").include(source).files(files).compile("tree-sitter-runnel");
    let mut cargo = std::io::stdout();
    for name in ["parser.c", "scanner.c", "reading.h", "text_comment.h"] {
        let file = source.join(name);
        writeln!(cargo, "cargo:rerun-if-changed={}", file.display())?;
    }
    Ok(())
}
