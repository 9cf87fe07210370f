//! `runnel profile`: where the running time of a program goes, as a table of lines and a flame graph.

use crate::console::Console;
use crate::exit_status;
use crate::run::{self, Order};
use crate::world::profile::names::{folded, source_line};
use crate::world::profile::{flame, lines};
use std::path::PathBuf;

/// Lines of the table on a terminal.
const SHOWN: usize = 12;

/// What `runnel profile` runs.
#[derive(Debug, clap::Args)]
pub(crate) struct Profiled {
    /// Also write a flame graph into this file: a page (`.html`), or stacks for other tools.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The program.
    file: PathBuf,
    /// The program's own arguments.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<String>,
}

/// Runs a program, and shows where its time went.
pub(crate) fn run(profiled: &Profiled, port: Option<u16>, json: bool) -> u8 {
    let (path, args) = (profiled.file.clone(), profiled.args.clone());
    let order = Order { path, port, args, workers: 1, json, attach: false };
    let Some(profiling) = runnel_runtime::start_profile() else {
        Console::error("error: another profile of this process is being taken");
        return exit_status::SOFTWARE;
    };
    let status = run::file(&order);
    let profile = profiling.stop();
    Console::error(lines::table(&profile, SHOWN, &source_line).trim_end());
    let Some(output) = &profiled.output else { return status };
    let text = match output.extension().and_then(|extension| extension.to_str()) {
        Some("html" | "htm") => flame::page(&profile, &source_line),
        _ => folded(&profile),
    };
    if let Err(error) = std::fs::write(output, text) {
        Console::error(&format!("error: {} cannot be written: {error}", output.display()));
        return if status == 0 { exit_status::SOFTWARE } else { status };
    }
    status
}
