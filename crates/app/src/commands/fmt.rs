//! `runnel fmt`

use crate::console::Console;
use crate::exit_status;
use crate::report::Report;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// Bytes that are read from standard input: as much as a program may have, and one more.
const MOST_INPUT: u64 = runnel_syntax::limits::MAX_SOURCE_BYTES as u64 + 1;

/// Folders in each other.
const DEEPEST: usize = 16;

/// What became of one file.
enum FormatResult {
    Same,
    Changed(String),
    Failed(u8),
}

/// Formats files in place, or standard input to standard output. With `check` nothing is written:
/// the status is 1 when something is not formatted.
pub(crate) fn run(files: &[PathBuf], check: bool, report: &Report) -> u8 {
    if files.is_empty() {
        return standard_input(check, report);
    }
    let mut status = 0;
    for path in programs(files) {
        let path = path.as_path();
        match file(path, report) {
            FormatResult::Same => {}
            FormatResult::Failed(failed) => status = failed,
            FormatResult::Changed(_) if check => {
                Console::line(&format!("{} is not formatted", path.display()));
                status = status.max(1);
            }
            FormatResult::Changed(text) => {
                if let Err(error) = replace(path, &text) {
                    Console::error(&format!(
                        "error: {} cannot be written: {error}",
                        path.display()
                    ));
                    status = exit_status::NO_INPUT;
                }
            }
        }
    }
    status
}

/// The files, and the programs below folders, in order of their names.
fn programs(paths: &[PathBuf]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in paths {
        match path.is_dir() {
            true => programs_below(path, DEEPEST, &mut found),
            false => found.push(path.clone()),
        }
    }
    found
}

fn programs_below(folder: &Path, deep: usize, found: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut entries: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    entries.sort();
    for entry in entries {
        let hidden = entry.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if entry.is_dir() && !hidden && deep > 0 {
            programs_below(&entry, deep - 1, found);
        } else if entry.is_file() && runnel_syntax::is_program(&entry) {
            found.push(entry);
        }
    }
}

fn file(path: &Path, report: &Report) -> FormatResult {
    match crate::run::read(path) {
        Ok(source) => formatted(&source, &path.display().to_string(), report),
        Err((message, failed)) => {
            Console::error(&message);
            FormatResult::Failed(failed)
        }
    }
}

fn formatted(source: &str, name: &str, report: &Report) -> FormatResult {
    match runnel_syntax::format(source) {
        Ok(text) if text == source => FormatResult::Same,
        Ok(text) => FormatResult::Changed(text),
        Err(diagnostics) => {
            report.diagnostics(source, name, &diagnostics);
            FormatResult::Failed(exit_status::DATA)
        }
    }
}

/// Writes the new text beside the file and moves it into its place: a file is never half written.
pub(crate) fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    // Through links to the file itself: the link stays one.
    let path = path.canonicalize()?;
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}.new", std::process::id()));
    let new = path.with_file_name(name);
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).open(&new)?;
    let written = file
        .write_all(text.as_bytes())
        .and_then(|()| file.set_permissions(std::fs::metadata(&path)?.permissions()))
        .and_then(|()| std::fs::rename(&new, &path));
    if written.is_err() {
        // The first error is the one to tell.
        let _ = std::fs::remove_file(&new);
    }
    written
}

fn standard_input(check: bool, report: &Report) -> u8 {
    let mut source = String::new();
    if let Err(error) = std::io::stdin().lock().take(MOST_INPUT).read_to_string(&mut source) {
        Console::error(&format!("error: standard input cannot be read: {error}"));
        return exit_status::DATA;
    }
    match formatted(&source, "standard input", report) {
        FormatResult::Failed(failed) => failed,
        FormatResult::Changed(_) if check => 1,
        FormatResult::Same if check => 0,
        FormatResult::Changed(text) => {
            Console::part(&text);
            0
        }
        FormatResult::Same => {
            Console::part(&source);
            0
        }
    }
}
