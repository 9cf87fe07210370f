//! The runnel command.

mod args;
mod command_line;
mod commands;
mod console;
mod env_file;
mod event_loop;
mod exit_status;
mod memory;
mod process;
mod repl;
mod report;
mod run;
mod test;
mod world;

use clap::CommandFactory;
use commands::databases::{backup, dump, migrate};
use commands::openapi::ApiOutput;
use commands::{
    bench, build, check, doc, fmt, graph, html, lsp, new, openapi, profile, routes, serve,
    shell_files,
};
use process::{handover, supervise};
#[cfg(all(target_env = "musl", target_arch = "x86_64"))]
use runnel_musl as _; // its functions take the place of those of the C library
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match process::bundle::find() {
        Ok(None) => shell_files::complete(args::Args::command),
        Ok(Some(bundle)) => {
            start_log();
            handover::begin();
            return ended(run::inside::run(bundle, std::env::args_os().collect()));
        }
        Err(message) => {
            console::Console::error(&message);
            return ExitCode::from(exit_status::DATA);
        }
    }
    let args = match command_line::read(std::env::args_os().collect()) {
        Ok(args) => args,
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { exit_status::USAGE } else { 0 });
        }
    };
    doc::command::set_command_line(args::Args::command);
    if let Err(status) = prepare(&args) {
        return ExitCode::from(status);
    }
    ended(act(&args))
}

/// The end of the process, whatever it did.
fn ended(status: u8) -> ExitCode {
    runnel_sql::SqliteDatabase::close_all();
    ExitCode::from(status)
}

/// Does what the command line says; answers the exit status.
fn act(args: &args::Args) -> u8 {
    let report = report::Report::new(args.json);
    match &args.command {
        Some(args::Command::Fmt { files, check }) => fmt::run(files, *check, &report),
        Some(args::Command::Check { files, lua, deny_warnings, fix }) => {
            let options = check::Options { lua: *lua, deny_warnings: *deny_warnings, fix: *fix };
            check::run(files, &options, &report)
        }
        Some(args::Command::Doc { names, markdown }) => {
            doc::run(names, markdown.as_deref(), args.json)
        }
        Some(args::Command::Lsp { .. }) => lsp::run(),
        Some(args::Command::Html { file }) => html::run(file.as_deref()),
        Some(args::Command::Graph { file, args, svg }) => {
            graph::run(file, args, svg.as_deref(), &report)
        }
        Some(args::Command::Serve(serve)) => serve::run(serve, args.json),
        Some(args::Command::Bench(bench)) => bench::run(bench, args.json),
        Some(args::Command::Test { paths, bless, filter, times }) => {
            test::run(paths, test::Wish::new(*bless, filter.clone(), *times))
        }
        Some(args::Command::TestPart { path, section, filter }) => {
            test::run_part(path, *section, filter.as_deref())
        }
        Some(args::Command::Build(order)) => build::run(order, args.json),
        Some(args::Command::New { kind, folder }) => new::run(*kind, folder),
        Some(args::Command::Completions { shell }) => shell_files::completions(*shell),
        Some(args::Command::Man { folder }) => {
            shell_files::man(args::Args::command(), folder.as_deref())
        }
        Some(args::Command::Attach { program }) => repl::attach::run(program),
        Some(args::Command::Repl) => run::prompt(&report),
        Some(args::Command::Run { file, port, running, args: own }) => {
            start(file, port.or(args.port), running, own, args.json)
        }
        Some(args::Command::Profile(profiled)) => profile::run(profiled, args.port, args.json),
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
    }
}

/// Sets up the environment, the log and the memory of the process.
fn prepare(args: &args::Args) -> Result<(), u8> {
    let running = match &args.command {
        Some(args::Command::Run { running, .. }) => running,
        _ => &args.running,
    };
    // A supervisor leaves the file to the program, which reads it at each start.
    let is_program = !running.supervise && !running.watch;
    if let Some(file) = running.env_file.as_deref().filter(|_| is_program) {
        env_file::apply(file)?;
    }
    start_log();
    handover::begin();
    let (memory, workers) = match &args.command {
        Some(args::Command::Serve(serve)) => (serve.memory, serve.workers),
        _ => (running.memory, running.workers),
    };
    memory.apply(workers);
    Ok(())
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
        let (path, args) = (file.to_path_buf(), own.to_vec());
        let (workers, attach) = (running.workers, running.attach);
        return run::file(&run::Order { path, port, args, workers, json, attach });
    }
    let mut args: Vec<OsString> = vec!["run".into()];
    if json {
        args.push("--json".into());
    }
    if let Some(port) = port {
        args.push(format!("--port={port}").into());
    }
    args.push(format!("--workers={}", running.workers).into());
    if running.attach {
        args.push("--attach".into());
    }
    args.extend(running.memory.arguments());
    if let Some(file) = &running.env_file {
        args.extend(["--env-file".into(), file.into()]);
    }
    args.push(file.into());
    args.push("--".into());
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
