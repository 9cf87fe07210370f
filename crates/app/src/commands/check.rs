//! `runnel check`

use crate::commands::fmt::replace;
use crate::console::Console;
use crate::event_loop::block_on;
use crate::exit_status;
use crate::report::Report;
use crate::run::RunningProgram;
use runnel_syntax::{Diagnostic, Severity, corrected};
use std::path::{Path, PathBuf};

/// What `runnel check` was asked.
pub(crate) struct Options {
    /// Print the Lua, too.
    pub(crate) lua: bool,
    /// Warnings fail.
    pub(crate) deny_warnings: bool,
    /// Apply the corrections that are safe.
    pub(crate) fix: bool,
}

/// Says what is wrong with programs, without running them. Warnings fail only where they are denied.
pub(crate) fn run(files: &[PathBuf], options: &Options, report: &Report) -> u8 {
    let outcome = block_on(async {
        let program = RunningProgram::new()?;
        let mut status = 0;
        for path in files {
            let failed = file(&program, path, options, report);
            status = if failed == 0 { status } else { failed };
        }
        std::mem::forget(program);
        Ok::<u8, String>(status)
    });
    match outcome.and_then(|status| status) {
        Ok(status) => status,
        Err(message) => {
            Console::error(&format!("error: {message}"));
            exit_status::SOFTWARE
        }
    }
}

fn file(program: &RunningProgram, path: &Path, options: &Options, report: &Report) -> u8 {
    let source = match crate::run::read(path) {
        Ok(source) => source,
        Err((message, failed)) => {
            Console::error(&message);
            return failed;
        }
    };
    let name = path.display().to_string();
    let warnings = match program.isolate.check(&source, &name) {
        Ok(warnings) => warnings,
        Err(diagnostics) => {
            report.diagnostics(&source, &name, &diagnostics);
            return exit_status::DATA;
        }
    };
    if options.lua
        && let Ok(text) = program.isolate.lua(&source, &name)
    {
        Console::line(&text);
    }
    if options.fix
        && let Some(fixed) = fixed(&source, &warnings)
    {
        return rewritten(program, path, &fixed, options, report);
    }
    shown(&source, &name, &warnings, options, report)
}

fn shown(
    source: &str,
    name: &str,
    warnings: &[Diagnostic],
    options: &Options,
    report: &Report,
) -> u8 {
    report.diagnostics(source, name, warnings);
    match options.deny_warnings && !warnings.is_empty() {
        true => exit_status::DATA,
        false => 0,
    }
}

/// The source with its safe corrections, and their number; none where nothing can be corrected.
fn fixed(source: &str, warnings: &[Diagnostic]) -> Option<(String, usize)> {
    let (text, count) = corrected(source, warnings);
    let is_right =
        || runnel_syntax::parse(&text).diagnostics.iter().all(|one| one.level != Severity::Error);
    (count > 0 && is_right()).then_some((text, count))
}

/// Writes the corrected source in the place of the other one, and says what is left to do.
fn rewritten(
    program: &RunningProgram,
    path: &Path,
    (text, count): &(String, usize),
    options: &Options,
    report: &Report,
) -> u8 {
    let name = path.display().to_string();
    if let Err(error) = replace(path, text) {
        Console::error(&format!("error: {name} cannot be written: {error}"));
        return exit_status::NO_INPUT;
    }
    let plural = if *count == 1 { "correction" } else { "corrections" };
    Console::line(&format!("{name}: {count} {plural}"));
    match program.isolate.check(text, &name) {
        Ok(warnings) => shown(text, &name, &warnings, options, report),
        Err(diagnostics) => {
            report.diagnostics(text, &name, &diagnostics);
            exit_status::DATA
        }
    }
}
