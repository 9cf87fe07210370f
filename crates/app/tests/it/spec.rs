//! The pages of the manual and the example programs, run by the built command.

use std::path::Path;
use std::process::Command;

/// Runs `runnel test PATHS` in the project and passes on what it says.
fn pass(paths: &[&str]) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let output = Command::new(env!("CARGO_BIN_EXE_runnel"))
        .arg("test")
        .args(paths)
        .env_remove("BLESS")
        .current_dir(root)
        .output()
        .unwrap();
    let out = String::from_utf8_lossy(&output.stdout);
    let err = String::from_utf8_lossy(&output.stderr);
    println!("{out}");
    for line in out.lines().filter_map(|line| line.strip_prefix("left out ")) {
        runnel_scratch::leave_out(line);
    }
    assert!(output.status.success(), "{out}{err}");
    let summary = out.lines().last().unwrap_or_default();
    assert!(summary.ends_with(" passed, 0 failed"), "no summary: {summary}");
}

#[test]
fn the_manual_is_right() {
    pass(&["spec"]);
}

#[test]
fn the_examples_run() {
    pass(&["examples"]);
}

#[test]
fn the_other_pages_are_right() {
    pass(&["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs"]);
}
