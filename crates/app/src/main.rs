//! The runnel command.

mod args;
mod commands;
mod console;
mod event_loop;
mod exit_status;
mod memory;
mod process;
mod repl;
mod report;
mod run;
mod test;
mod world;

use clap::Parser;
use commands::openapi::ApiOutput;
use commands::{backup, bench, check, dump, fmt, graph, html, migrate, openapi, routes, serve};
use process::{handover, supervise};
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let args = match args::Args::try_parse() {
        Ok(args) => args,
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { exit_status::USAGE } else { 0 });
        }
    };
    start_log();
    handover::begin();
    let (memory, workers) = match &args.command {
        Some(args::Command::Run { running, .. }) => (running.memory, running.workers),
        Some(args::Command::Serve(serve)) => (serve.memory, serve.workers),
        _ => (args.running.memory, args.running.workers),
    };
    memory.apply(workers);
    let report = report::Report::new(args.json);
    let status = match &args.command {
        Some(args::Command::Fmt { files, check }) => fmt::run(files, *check, &report),
        Some(args::Command::Check { files, lua, deny_warnings }) => {
            check::run(files, *lua, *deny_warnings, &report)
        }
        Some(args::Command::Html { file }) => html::run(file.as_deref()),
        Some(args::Command::Graph { file, args, svg }) => {
            graph::run(file, args, svg.as_deref(), &report)
        }
        Some(args::Command::Serve(serve)) => serve::run(serve, args.json),
        Some(args::Command::Bench(bench)) => bench::run(bench, args.json),
        Some(args::Command::Test { paths, bless }) => {
            let asked = std::env::var_os("BLESS").is_some_and(|value| value == "1");
            test::run(paths, *bless || asked)
        }
        Some(args::Command::TestPart { path, section }) => test::run_part(path, *section),
        Some(args::Command::Repl) => run::prompt(&report),
        Some(args::Command::Run { file, port, running, args: own }) => {
            start(file, port.or(args.port), running, own, args.json)
        }
        Some(args::Command::Backup(order)) => backup::backup(order),
        Some(args::Command::Restore { source, database, replace, at }) => {
            backup::restore(source, database, *replace, *at)
        }
        Some(args::Command::Dump { database, tables, csv }) => dump::dump(database, tables, *csv),
        Some(args::Command::Load { source, database, csv }) => {
            dump::load(source, database, csv.as_deref())
        }
        Some(args::Command::Vacuum { database }) => backup::vacuum(database),
        Some(args::Command::Upgrade { process }) => supervise::upgrade(*process),
        Some(args::Command::Openapi { file, args: own }) => {
            openapi::run(file, own, ApiOutput::Document, &report)
        }
        Some(args::Command::Client { file, args: own }) => {
            openapi::run(file, own, ApiOutput::Client, &report)
        }
        Some(args::Command::Migrate { act }) => migrate::run(act, &report),
        Some(args::Command::Routes { file, args: own }) => {
            routes::run(file, own, args.json, &report)
        }
        None => match (&args.evaluate, &args.file) {
            (Some(source), _) => run::evaluate(source, &report),
            (None, Some(file)) => start(file, args.port, &args.running, &args.args, args.json),
            (None, None) => run::prompt(&report),
        },
    };
    runnel_sql::SqliteDatabase::close_all();
    ExitCode::from(status)
}

/// Runs a program, or what keeps it running.
fn start(
    file: &Path,
    port: Option<u16>,
    running: &args::Running,
    own: &[String],
    json: bool,
) -> u8 {
    if !running.supervise && !running.watch {
        let (path, args, workers) = (file.to_path_buf(), own.to_vec(), running.workers);
        return run::file(&run::Order { path, port, args, workers, json });
    }
    let mut args: Vec<OsString> = vec!["run".into()];
    if json {
        args.push("--json".into());
    }
    if let Some(port) = port {
        args.push(format!("--port={port}").into());
    }
    args.push(format!("--workers={}", running.workers).into());
    args.extend(running.memory.arguments());
    args.push(file.into());
    args.extend(own.iter().map(OsString::from));
    let watch = running.watch.then(|| file.to_path_buf());
    supervise::run(supervise::Plan { args, watch })
}

/// The log goes to standard error; `RUNNEL_LOG` says how much of it, as in `info` or `debug`.
fn start_log() {
    let filter = tracing_subscriber::EnvFilter::try_from_env("RUNNEL_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("warn,async_nats=off"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(report::colours(&std::io::stderr()))
        .with_target(false)
        .init();
}
