//! The prompt: inside the running program, with or without a terminal; or attached to that of another process.

pub(crate) mod attach;
mod complete;
mod editor;
mod help;
mod input;
mod keys;
mod look;
mod receiver;
mod session;

pub(crate) use input::{Input, Lines};
pub(crate) use session::{Reaction, Session};

use crate::console::Console;
use crate::process::signals;
use crate::report::Report;
use editor::{Asked, Editor};
use runnel_runtime::Isolate;
use std::io::IsTerminal;
use std::rc::Rc;

/// What `runnel` alone says at a terminal.
const GREETING: &str = "Runnel: every resource is a variable, and a program serves them.\n\
    Try `3 + 4`, or `file:hello.txt ← 'hi'` and then `file:hello.txt` (Tab completes).\n\
    Ctrl-D leaves; `help` shows what else there is.";

/// Greets a person at a terminal.
pub(crate) fn greet() {
    if is_terminal() {
        Console::line(GREETING);
    }
}

/// Whether there is a terminal to edit lines at.
fn is_terminal() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

/// Reads statements and runs them in the program until the prompt is left. Answers the exit status
/// for the case that nothing follows: that of the last error of an input that is no terminal.
pub(crate) async fn interact(isolate: &Isolate, input: &Input, console: &Rc<Console>) -> u8 {
    if is_terminal() {
        match Editor::start() {
            Ok(editor) => {
                at_terminal(isolate, editor, console).await;
                return 0;
            }
            Err(error) => Console::error(&format!("error: no line editor: {error}")),
        }
    }
    from_lines(isolate, &input.lines(), console).await
}

/// Lines of a pipe, a file, or of a terminal whose output goes elsewhere. After the last line the
/// program continues to serve.
async fn from_lines(isolate: &Isolate, lines: &Lines, console: &Rc<Console>) -> u8 {
    let mut session = Session::new(Report::new(false));
    let mut status = 0;
    loop {
        let (reaction, ended) = match lines.next().await {
            Some(Ok(line)) => (session.line(isolate, &line).await, false),
            Some(Err(error)) => {
                (Reaction::Error(format!("error: {error}"), crate::exit_status::DATA), false)
            }
            None => (session.finish(isolate).await, true),
        };
        if let Reaction::Error(_, failed) = reaction {
            status = failed;
        }
        show(reaction, console).await;
        if ended {
            break;
        }
    }
    if isolate.is_serving().await {
        std::future::pending::<()>().await;
    }
    status
}

/// A person at a terminal, until the prompt is left or the terminal closes.
async fn at_terminal(isolate: &Isolate, mut editor: Editor, console: &Rc<Console>) {
    let _interrupts = signals::hold_interrupts();
    let is_closed = tokio::select! {
        () = answer(isolate, &mut editor, console) => false,
        () = signals::hung_up() => true,
    };
    if is_closed {
        editor.abandon();
    }
    signals::leave();
}

/// Answers what the editor asks. Ctrl-C while a statement runs ends that statement alone.
async fn answer(isolate: &Isolate, editor: &mut Editor, console: &Rc<Console>) {
    let mut session = Session::new(Report::new(false));
    while let Some(asked) = editor.next().await {
        match asked {
            Asked::Proposals(line, cursor, answer) => {
                let found = complete::completion(isolate, &line, cursor).await;
                // The editor may have lost its patience.
                let _ = answer.try_send(found);
            }
            Asked::Line(line) => {
                let running = async {
                    let reaction = session.line(isolate, &line).await;
                    show(reaction, console).await;
                };
                let interrupted = tokio::select! {
                    () = running => false,
                    () = signals::interrupted() => true,
                };
                console.flush();
                if interrupted {
                    Console::error("interrupted");
                }
                editor.go_on();
            }
        }
    }
}

/// Shows what a line led to.
async fn show(reaction: Reaction, console: &Rc<Console>) {
    console.flush();
    match reaction {
        Reaction::Quiet => {}
        Reaction::Value(text) => Console::line(&text),
        Reaction::Error(text, _) => Console::error(&text),
        Reaction::Command(command) => shell(&command).await,
        Reaction::Leave(status) => signals::end(status).await,
    }
}

/// Runs a shell command with the terminal, or changes the folder.
async fn shell(command: &str) {
    if let Some(folder) = command.strip_prefix("cd ") {
        if let Err(error) = std::env::set_current_dir(folder.trim()) {
            Console::error(&format!("error: {}: {error}", folder.trim()));
        }
        return;
    }
    let mut process = tokio::process::Command::new("sh");
    match process.args(["-c", command]).kill_on_drop(true).status().await {
        Ok(status) if status.success() => {}
        Ok(status) => Console::error(&format!("the command ended with {status}")),
        Err(error) => Console::error(&format!("error: the command could not be started: {error}")),
    }
}
