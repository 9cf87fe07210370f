//! `runnel graph`: what the stores of a program are made of.
//!
//! The program runs up to its end, but its servers do not listen, its input is at its end and it
//! prints nothing. Then the root of each of its servers, each scheme that it installed and each
//! connection that stands are drawn.

use crate::console::Console;
use crate::event_loop::{block_on, started};
use crate::exit_status;
use crate::report::Report;
use crate::run::RunningProgram;
use crate::world::World;
use runnel_runtime::Isolate;
use runnel_store::{Graph, GraphConnection, Store, draw_graph};
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

/// How long a program may run before its state is drawn.
const PATIENCE: Duration = Duration::from_secs(10);

/// Draws a program: as text on standard output, or as a picture in a file.
pub(crate) fn run(path: &Path, args: &[String], svg: Option<&Path>, report: &Report) -> u8 {
    looked_at(path, args, report, async |isolate, name| {
        draw(&isolate.installed(), &isolate.connections().await, name, svg)
    })
}

/// Runs the top level of a program without side effects and returns its stores.
pub(crate) fn looked_at(
    path: &Path,
    args: &[String],
    report: &Report,
    look: impl AsyncFnOnce(&Isolate, &str) -> u8,
) -> u8 {
    let name = path.display().to_string();
    let source = match crate::run::read(path) {
        Ok(source) => source,
        Err((message, status)) => {
            Console::error(&message);
            return status;
        }
    };
    let outcome = started(block_on(async {
        let program = RunningProgram::within(World::silent())?;
        let status = match installs(&program.isolate, &source, &name, args, report).await {
            Ok(()) => look(&program.isolate, &name).await,
            Err(status) => status,
        };
        std::mem::forget(program);
        Ok::<u8, String>(status)
    }));
    match outcome {
        Ok(result) => started(result).unwrap_or_else(|status| status),
        Err(status) => status,
    }
}

/// Runs the program to its end, or for as long as is waited for it.
pub(crate) async fn installs(
    isolate: &Isolate,
    source: &str,
    name: &str,
    args: &[String],
    report: &Report,
) -> Result<(), u8> {
    let signature = runnel_syntax::parse(source).program.signature;
    if let Err(ending) = crate::run::bind(isolate, name, signature.as_ref(), None, args) {
        return Err(ending.show());
    }
    let runs = async {
        let outcome = isolate
            .run(source, name)
            .await
            .map_err(|why| report.failure(isolate, source, name, &why))?;
        let ran = match &signature {
            None => isolate.start_server(outcome.value).await,
            Some(one) if one.result.as_ref().is_some_and(|result| result.text == "void") => Ok(()),
            Some(_) => isolate.run_result(outcome.value).await,
        };
        ran.map_err(|fault| report.ended(isolate, &fault))
    };
    match tokio::time::timeout(PATIENCE, runs).await {
        Ok(outcome) => outcome?,
        Err(_) => Console::error(&format!(
            "note: {name} still runs after {} seconds; this is what it has made so far",
            PATIENCE.as_secs()
        )),
    }
    Ok(())
}

fn draw(
    stores: &[(String, Rc<dyn Store>)],
    connections: &[GraphConnection],
    name: &str,
    svg: Option<&Path>,
) -> u8 {
    if stores.is_empty() && connections.is_empty() {
        Console::error(&format!(
            "note: {name} serves nothing, installs no scheme and connects nothing: \
             there is nothing to draw"
        ));
        return 0;
    }
    if let Some(file) = svg {
        let mut graph = Graph::of_all(stores);
        graph.connect(connections);
        return match std::fs::write(file, graph.to_svg()) {
            Ok(()) => 0,
            Err(error) => {
                Console::error(&format!("error: {} cannot be written: {error}", file.display()));
                exit_status::CANNOT_CREATE
            }
        };
    }
    let mut drawings: Vec<String> = stores
        .iter()
        .map(|(name, store)| format!("{name}\n{}", indented(&draw_graph(&**store))))
        .collect();
    if !connections.is_empty() {
        drawings.push(listed(connections));
    }
    Console::part(&drawings.join("\n"));
    0
}

/// The connections as the branches of one tree.
fn listed(connections: &[GraphConnection]) -> String {
    let mut text = String::from("connections\n");
    for (at, connection) in connections.iter().enumerate() {
        let branch = if at + 1 == connections.len() { "└─" } else { "├─" };
        let (from, to) = (&connection.from.1, &connection.to.1);
        text.push_str(&format!("{branch} {from} → {to}\n"));
    }
    text
}

/// A drawing as the branch of its name.
fn indented(drawing: &str) -> String {
    let mut lines = drawing.lines();
    let mut text = format!("└─ {}\n", lines.next().unwrap_or_default());
    for line in lines {
        text.push_str(&format!("   {line}\n"));
    }
    text
}
