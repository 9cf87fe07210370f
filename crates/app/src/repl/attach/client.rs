//! The side of the person: lines are typed here and run there.

use super::message::{AttachReply, AttachRequest, Incoming, send};
use super::place;
use crate::console::Console;
use crate::event_loop::{block_on, started};
use crate::exit_status;
use crate::process::signals;
use crate::repl::complete::Completion;
use crate::repl::editor::{Asked, Editor};
use crate::repl::{Input, is_terminal, shell};
use std::time::Duration;
use tokio::net::unix::OwnedWriteHalf;
use tokio::time::timeout;

/// How long a program may take to greet.
const GREETING: Duration = Duration::from_secs(10);

/// A prompt in the program of a process or a socket; answers the exit status.
pub(crate) fn run(program: &str) -> u8 {
    let outcome = block_on(async {
        tokio::select! {
            status = attach(program) => status,
            status = signals::told_to_stop() => status,
        }
    });
    started(outcome).unwrap_or_else(|status| status)
}

async fn attach(program: &str) -> u8 {
    match Link::open(program).await {
        Ok((link, process)) if is_terminal() => {
            Console::line(&format!(
                "Attached to process {process}: statements run in it. Ctrl-D leaves, and it goes on."
            ));
            match Editor::start() {
                Ok(editor) => at_terminal(link, editor).await,
                Err(error) => {
                    Console::error(&format!("error: no line editor: {error}"));
                    exit_status::UNAVAILABLE
                }
            }
        }
        Ok((link, _)) => from_lines(link).await,
        Err(message) => {
            Console::error(&format!("error: {message}"));
            exit_status::UNAVAILABLE
        }
    }
}

/// A connection to the program.
struct Link {
    incoming: Incoming,
    outgoing: OwnedWriteHalf,
}

impl Link {
    /// Connects; answers the process of the program, too.
    async fn open(program: &str) -> Result<(Link, u32), String> {
        let (read, outgoing) = place::connect(program).await?.into_split();
        let mut link = Link { incoming: Incoming::new(read), outgoing };
        match timeout(GREETING, link.reply()).await {
            Ok(Some(AttachReply::Welcome(process))) => Ok((link, process)),
            Ok(Some(AttachReply::Error(text, _))) => Err(text.trim_start_matches("error: ").into()),
            Ok(_) => Err(format!("{program} takes no prompt")),
            Err(_) => Err(format!("{program} does not answer: its first worker is busy")),
        }
    }

    /// The next message; `None` when the program is gone.
    async fn reply(&mut self) -> Option<AttachReply> {
        AttachReply::of_json(&self.incoming.next().await.ok()??)
    }

    async fn ask(&mut self, request: &AttachRequest) -> Option<AttachReply> {
        send(&mut self.outgoing, &request.to_json()).await.ok()?;
        self.reply().await
    }

    /// Runs a line; Ctrl-C ends its statement.
    async fn run(&mut self, line: String) -> Option<AttachReply> {
        send(&mut self.outgoing, &AttachRequest::Line(line).to_json()).await.ok()?;
        loop {
            tokio::select! {
                json = self.incoming.next() => return AttachReply::of_json(&json.ok()??),
                () = signals::interrupted() => {
                    send(&mut self.outgoing, &AttachRequest::Cancel.to_json()).await.ok()?;
                }
            }
        }
    }
}

/// A person at a terminal.
async fn at_terminal(mut link: Link, mut editor: Editor) -> u8 {
    let _interrupts = signals::hold_interrupts();
    while let Some(asked) = editor.next().await {
        match asked {
            Asked::Proposals(line, cursor, answer) => {
                let found = match link.ask(&AttachRequest::Complete(line, cursor)).await {
                    Some(AttachReply::Proposals(found)) => found,
                    _ => Completion::default(),
                };
                // The editor may have lost its patience.
                let _ = answer.try_send(found);
            }
            Asked::Line(line) => {
                match line.trim_start().strip_prefix('!') {
                    Some(command) => shell(command.trim()).await,
                    None => {
                        if let ShownAnswer::Over(status) = show(link.run(line).await) {
                            return status;
                        }
                    }
                }
                editor.go_on();
            }
        }
    }
    0
}

/// Lines of a pipe or a file.
async fn from_lines(mut link: Link) -> u8 {
    let (input, mut status) = (Input::new(), 0);
    let lines = input.lines();
    loop {
        let (reply, is_last) = match lines.next().await {
            Some(Ok(line)) => match line.trim_start().strip_prefix('!') {
                Some(command) => {
                    shell(command.trim()).await;
                    continue;
                }
                None => (link.run(line).await, false),
            },
            Some(Err(error)) => {
                Console::error(&format!("error: {error}"));
                status = exit_status::DATA;
                continue;
            }
            None => (link.ask(&AttachRequest::Finish).await, true),
        };
        match show(reply) {
            ShownAnswer::Well => {}
            ShownAnswer::Failed(failed) => status = failed,
            ShownAnswer::Over(status) => return status,
        }
        if is_last {
            return status;
        }
    }
}

/// What a reply means for what follows.
enum ShownAnswer {
    Well,
    /// An error with its exit status.
    Failed(u8),
    /// The prompt is over.
    Over(u8),
}

/// Shows what a line led to.
fn show(reply: Option<AttachReply>) -> ShownAnswer {
    match reply {
        Some(AttachReply::Quiet | AttachReply::Welcome(_) | AttachReply::Proposals(_)) => {
            ShownAnswer::Well
        }
        Some(AttachReply::Value(text)) => {
            Console::line(&text);
            ShownAnswer::Well
        }
        Some(AttachReply::Error(text, status)) => {
            Console::error(&text);
            ShownAnswer::Failed(status)
        }
        Some(AttachReply::Interrupted) => {
            Console::error("interrupted");
            ShownAnswer::Failed(exit_status::SOFTWARE)
        }
        Some(AttachReply::Left(status)) => ShownAnswer::Over(status),
        None => {
            Console::error("error: the program has ended");
            ShownAnswer::Over(exit_status::UNAVAILABLE)
        }
    }
}
