//! `cargo xtask`: tasks of the project that are not building it.
#![allow(clippy::print_stdout, clippy::print_stderr)] // a command: it prints

use std::process::ExitCode;
use xtask::{Tree, tidy};

const HELP: &str = "\
cargo xtask tidy    check what ARCHITECTURE.md and STYLE.md promise";

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("tidy") => run_tidy(),
        Some("help" | "--help" | "-h") => {
            println!("{HELP}");
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!("{HELP}");
            ExitCode::from(64)
        }
    }
}

fn run_tidy() -> ExitCode {
    let tree = match Tree::read(&Tree::root()) {
        Ok(tree) => tree,
        Err(error) => {
            eprintln!("error: the project cannot be read: {error}");
            return ExitCode::from(66);
        }
    };
    let findings = tidy(&tree);
    for finding in &findings {
        println!("{finding}");
    }
    println!("tidy: {} files, {} findings", tree.files().len(), findings.len());
    if findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
