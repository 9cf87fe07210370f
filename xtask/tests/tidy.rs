//! The project is tidy: see `cargo xtask tidy`.

#[test]
fn the_project_is_tidy() {
    let tree = xtask::Tree::read(&xtask::Tree::root()).expect("the project can be read");
    let findings: Vec<String> = xtask::tidy(&tree).iter().map(ToString::to_string).collect();
    assert!(findings.is_empty(), "{} findings:\n{}", findings.len(), findings.join("\n"));
}
