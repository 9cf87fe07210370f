//! Running programs: from a file, from the command line, at the prompt.

mod arguments;
pub(crate) mod inside;

pub(crate) use arguments::bind;

use crate::console::Console;
use crate::event_loop::{block_on, started};
use crate::exit_status;
use crate::process::handover;
use crate::process::notify;
use crate::process::signals;
use crate::process::workers::{self, WorkerIndex};
use crate::repl::attach::{self, Attachable};
use crate::report::Report;
use crate::world::World;
use runnel_runtime::{Failure, Fault, Isolate};
use runnel_sql::SqliteDatabase;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// How long the end of a program waits for what stores write later.
const WRITING: Duration = Duration::from_secs(30);

/// An isolate with its world.
pub(crate) struct RunningProgram {
    pub(crate) isolate: Isolate,
    pub(crate) world: Rc<World>,
}

impl RunningProgram {
    pub(crate) fn new() -> Result<RunningProgram, String> {
        RunningProgram::within(World::new())
    }

    /// In a world of one's own.
    pub(crate) fn within(world: Rc<World>) -> Result<RunningProgram, String> {
        let isolate = Isolate::new(world.clone(), crate::memory::limits())?;
        Ok(RunningProgram { isolate, world })
    }
}

/// Runs with a program, then ends the process's output and servers. The isolate itself is not
/// taken apart: the process ends.
fn with_program(place: WorkerIndex, act: impl AsyncFnOnce(&RunningProgram) -> u8) -> u8 {
    let outcome = started(block_on(async {
        let program = RunningProgram::within(World::of(place))?;
        let status = tokio::select! {
            status = act(&program) => status,
            status = signals::told_to_stop() => status,
        };
        if program.world.place().is_first() {
            signals::end_all(status);
            if !handover::is_supervised() {
                notify::notify("STOPPING=1");
            }
        }
        tokio::select! {
            () = finish(&program) => {}
            () = signals::told_again(handover::is_supervised()) => {
                Console::error("note: told to stop again, so open connections are cut");
            }
        }
        let status = written(status).await;
        let status = shipped(status).await;
        if program.world.place().is_first() {
            runnel_search::Journal::write_all(WRITING);
        }
        program.world.console().flush();
        std::mem::forget(program);
        Ok::<u8, String>(status)
    }));
    SqliteDatabase::close_readers();
    match outcome {
        Ok(Ok(status)) => status,
        Ok(Err(message)) => started::<u8>(Err(message)).unwrap_or_else(|status| status),
        Err(status) => status,
    }
}

/// Stops the servers, all at the same time and without the engine, which may be short of memory, and the
/// workers of jobs beside them; then ends the program.
async fn finish(program: &RunningProgram) {
    tokio::join!(program.world.stop_servers(), program.isolate.stop_jobs());
    if let Err(fault) = program.isolate.finish().await {
        Console::error(&format!("error: {fault}"));
    }
}

/// Does what stores that write later still have to write. What cannot be written is an error.
async fn written(status: u8) -> u8 {
    let why = match tokio::time::timeout(WRITING, runnel_store::flush_all()).await {
        Ok(Ok(())) => return status,
        Ok(Err(error)) => error.to_string(),
        Err(_) => format!("it took longer than {} seconds", WRITING.as_secs()),
    };
    Console::error(&format!("error: not everything was written at the end: {why}"));
    if status == 0 { exit_status::SOFTWARE } else { status }
}

/// Ships what continuous backups have left, after the last write of this worker. A second request to
/// stop does not wait for it.
async fn shipped(status: u8) -> u8 {
    let done = tokio::select! {
        done = runnel_sql::end_continuous_backups() => done,
        () = signals::told_again(handover::is_supervised()) => return status,
    };
    let Err(error) = done else { return status };
    Console::error(&format!("error: not everything was backed up at the end: {error}"));
    if status == 0 { exit_status::SOFTWARE } else { status }
}

/// `runnel -e SOURCE`
pub(crate) fn evaluate(source: &str, report: &Report) -> u8 {
    with_program(WorkerIndex::first(1), async |program| {
        match program.isolate.run_whole(source, "-e").await {
            Ok(outcome) => {
                if let Some(text) = outcome.text {
                    program.world.console().write(text.as_bytes());
                    program.world.console().write(b"\n");
                }
                program.isolate.warn_unstarted().await;
                forked(program).await
            }
            Err(why) => {
                program.world.console().flush();
                report.failure(&program.isolate, source, "-e", &why)
            }
        }
    })
}

/// Runs a program of the command itself, with its arguments. The lines of the program say nothing to
/// people, so its errors have none.
pub(crate) fn own(source: &str, name: &str, args: &[String], report: &Report) -> u8 {
    with_program(WorkerIndex::first(1), async |program| {
        let signature = runnel_syntax::parse(source).program.signature;
        if let Err(ending) = bind(&program.isolate, name, signature.as_ref(), None, args) {
            return ending.show();
        }
        match program.isolate.run(source, name).await {
            Ok(_) => 0,
            Err(Failure::Fault(fault)) => {
                report.ended(&program.isolate, &Fault { trace: Vec::new(), ..fault })
            }
            Err(why) => report.failure(&program.isolate, source, name, &why),
        }
    })
}

/// `runnel` alone.
pub(crate) fn prompt(_report: &Report) -> u8 {
    with_program(WorkerIndex::first(1), async |program| {
        crate::repl::greet();
        let world = &program.world;
        crate::repl::interact(&program.isolate, world.input(), world.console()).await
    })
}

/// A program and how it is run: what the command line says.
#[derive(Clone)]
pub(crate) struct Order {
    pub(crate) path: PathBuf,
    pub(crate) port: Option<u16>,
    pub(crate) args: Vec<String>,
    pub(crate) workers: usize,
    pub(crate) json: bool,
    /// Whether `runnel attach` may open a prompt.
    pub(crate) attach: bool,
}

/// `runnel FILE ARGUMENTS`
pub(crate) fn file(order: &Order) -> u8 {
    match read(&order.path) {
        Ok(text) => source(order, text),
        Err((message, status)) => {
            Console::error(&message);
            status
        }
    }
}

/// Runs the text of a program, which the path in the order names in messages.
pub(crate) fn source(order: &Order, source: String) -> u8 {
    handover::report();
    let (mine, others) = (order.clone(), order.clone());
    let source: Arc<str> = source.into();
    let same = source.clone();
    workers::plan(order.workers, move |place| worker(place, &others, &same));
    let status = worker(WorkerIndex::first(order.workers), &mine, &source);
    workers::stop(status);
    status
}

/// One worker, from its start to its end.
fn worker(place: WorkerIndex, order: &Order, source: &str) -> u8 {
    let report = Report::new(order.json);
    let first = place.is_first();
    with_program(place, async |program| {
        if let Err(status) = top_level(program, order, source, &report).await {
            return status;
        }
        program.world.console().flush();
        program.world.speak();
        if program.isolate.is_serving().await {
            let _attachable = match attachable(program, order.attach && first) {
                Ok(attachable) => attachable,
                Err(status) => return status,
            };
            if first {
                handover::ready();
                workers::start();
                if !handover::is_supervised() {
                    tokio::task::spawn_local(notify::keep_alive());
                }
            }
            signals::served().await;
            return 0;
        }
        forked(program).await
    })
}

/// Takes prompts of `runnel attach`, where the program may.
fn attachable(program: &RunningProgram, may: bool) -> Result<Option<Attachable>, u8> {
    let listen =
        || attach::listen(&program.isolate, program.world.console(), handover::is_supervised());
    may.then(listen).transpose().map_err(|message| {
        Console::error(&format!("error: --attach: {message}"));
        exit_status::CANNOT_CREATE
    })
}

/// The exit status of a program that has come to its end: an error that a forked fiber raised and
/// that nothing joined is reported, and counts as one of the program.
async fn forked(program: &RunningProgram) -> u8 {
    if program.isolate.report_forks().await { exit_status::SOFTWARE } else { 0 }
}

/// Runs the program to the end of its top level.
async fn top_level(
    program: &RunningProgram,
    order: &Order,
    source: &str,
    report: &Report,
) -> Result<(), u8> {
    let (isolate, name) = (&program.isolate, order.path.display().to_string());
    let signature = runnel_syntax::parse(source).program.signature;
    if let Err(ending) = bind(isolate, &name, signature.as_ref(), order.port, &order.args) {
        return Err(ending.show());
    }
    // A prompt that is attached later sees all variables.
    let ran = match order.attach {
        true => isolate.run(source, &name).await,
        false => isolate.run_whole(source, &name).await,
    };
    let outcome = match ran {
        Ok(outcome) => outcome,
        Err(why) => {
            program.world.console().flush();
            return Err(report.failure(isolate, source, &name, &why));
        }
    };
    let ran = match &signature {
        None => isolate.start_server(outcome.value).await,
        Some(one) if one.result.as_ref().is_some_and(|result| result.text == "void") => {
            isolate.start_server(outcome.value).await
        }
        Some(_) => {
            let ran = isolate.run_result(outcome.value).await;
            isolate.warn_unstarted().await;
            ran
        }
    };
    ran.map_err(|fault| report.ended(isolate, &fault))
}

/// Reads a program: UTF-8, or a message with the place where it is not.
pub(crate) fn read(path: &Path) -> Result<String, (String, u8)> {
    let name = path.display();
    let bytes = std::fs::read(path).map_err(|error| {
        (format!("error: {name} cannot be read: {error}"), exit_status::NO_INPUT)
    })?;
    String::from_utf8(bytes).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = valid.iter().filter(|byte| **byte == b'\n').count() + 1;
        let column = valid.iter().rev().take_while(|byte| **byte != b'\n').count() + 1;
        let message = format!(
            "error: this is not UTF-8 text\n  --> {name}:{line}:{column}\n  \
             help: save the file as UTF-8"
        );
        (message, exit_status::DATA)
    })
}
