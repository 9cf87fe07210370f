//! `runnel check`

use crate::console::Console;
use crate::event_loop::block_on;
use crate::report::Report;
use crate::run::RunningProgram;
use std::path::PathBuf;

/// Says what is wrong with programs, without running them. Warnings fail only where they are denied.
pub(crate) fn run(files: &[PathBuf], lua: bool, deny_warnings: bool, report: &Report) -> u8 {
    let outcome = block_on(async {
        let program = RunningProgram::new()?;
        let mut status = 0;
        for path in files {
            let source = match crate::run::read(path) {
                Ok(source) => source,
                Err((message, failed)) => {
                    Console::error(&message);
                    status = failed;
                    continue;
                }
            };
            let name = path.display().to_string();
            match program.isolate.check(&source, &name) {
                Ok(warnings) => {
                    report.diagnostics(&source, &name, &warnings);
                    if deny_warnings && !warnings.is_empty() {
                        status = crate::exit_status::DATA;
                    }
                    if lua && let Ok(text) = program.isolate.lua(&source) {
                        Console::line(&text);
                    }
                }
                Err(diagnostics) => {
                    report.diagnostics(&source, &name, &diagnostics);
                    status = crate::exit_status::DATA;
                }
            }
        }
        std::mem::forget(program);
        Ok::<u8, String>(status)
    });
    match outcome.and_then(|status| status) {
        Ok(status) => status,
        Err(message) => {
            Console::error(&format!("error: {message}"));
            crate::exit_status::SOFTWARE
        }
    }
}
