//! The side of the program: prompts of its user, as long as it serves.

use super::message::{AttachReply, AttachRequest, Incoming, send};
use super::place;
use crate::console::Console;
use crate::exit_status;
use crate::repl::complete::completion;
use crate::repl::session::{Reaction, Session};
use crate::report::Report;
use runnel_http::SocketFile;
use runnel_runtime::Isolate;
use std::cell::Cell;
use std::future::Future;
use std::io::{Error, ErrorKind, Result};
use std::rc::Rc;
use std::time::Duration;
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// How long a statement may run.
const STATEMENT: Duration = Duration::from_secs(60);
/// How long proposals may take.
const PROPOSING: Duration = Duration::from_secs(1);
/// Prompts at the same time.
const MOST: usize = 4;
/// The pause after an error of `accept`.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A program with a socket for prompts. Dropping it closes them.
pub(crate) struct Attachable {
    accepting: JoinHandle<()>,
    _file: SocketFile,
}

impl Drop for Attachable {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// Takes prompts from now on.
pub(crate) fn listen(
    isolate: &Isolate,
    console: &Rc<Console>,
    is_supervised: bool,
) -> std::result::Result<Attachable, String> {
    let (listener, file) = place::open(is_supervised)?;
    let listener = listener
        .set_nonblocking(true)
        .and_then(|()| UnixListener::from_std(listener))
        .map_err(|error| error.to_string())?;
    let accepting = tokio::task::spawn_local(accept(listener, isolate.clone(), console.clone()));
    Ok(Attachable { accepting, _file: file })
}

async fn accept(listener: UnixListener, isolate: Isolate, console: Rc<Console>) {
    let open = Rc::new(Cell::new(0));
    let mut prompts = tokio::task::JoinSet::new();
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                while prompts.try_join_next().is_some() {}
                let (isolate, console, open) = (isolate.clone(), console.clone(), open.clone());
                prompts.spawn_local(async move {
                    open.set(open.get() + 1);
                    if let Err(error) = talk(stream, &isolate, &console, open.get() > MOST).await {
                        tracing::debug!(%error, "a prompt went away");
                    }
                    open.set(open.get() - 1);
                });
            }
            Err(error) => {
                tracing::error!(%error, "no prompt can be taken");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// One prompt, from its first message to its end.
async fn talk(
    stream: UnixStream,
    isolate: &Isolate,
    console: &Console,
    is_full: bool,
) -> Result<()> {
    if !place::is_same_user(&stream) {
        tracing::warn!("a prompt of another user was refused");
        return Ok(());
    }
    let (read, mut write) = stream.into_split();
    if is_full {
        let full = format!("error: {MOST} prompts are attached already");
        let reply = AttachReply::Error(full, exit_status::UNAVAILABLE);
        return send(&mut write, &reply.to_json()).await;
    }
    send(&mut write, &AttachReply::Welcome(std::process::id()).to_json()).await?;
    let mut incoming = Incoming::new(read);
    let mut session = Session::new(Report::new(false));
    while let Some(request) = next(&mut incoming).await? {
        let reply = match request {
            // The statement had ended meanwhile.
            AttachRequest::Cancel => continue,
            AttachRequest::Complete(line, cursor) => {
                let found = timeout(PROPOSING, completion(isolate, &line, cursor)).await;
                AttachReply::Proposals(found.unwrap_or_default())
            }
            AttachRequest::Line(line) => {
                let running = session.line(isolate, &line);
                bounded(running, STATEMENT, &mut incoming).await?
            }
            AttachRequest::Finish => {
                bounded(session.finish(isolate), STATEMENT, &mut incoming).await?
            }
        };
        console.flush();
        send(&mut write, &reply.to_json()).await?;
        if let AttachReply::Left(_) = reply {
            break;
        }
    }
    Ok(())
}

async fn next(incoming: &mut Incoming) -> Result<Option<AttachRequest>> {
    let Some(json) = incoming.next().await? else { return Ok(None) };
    let unknown = || Error::new(ErrorKind::InvalidData, "an unknown message");
    AttachRequest::of_json(&json).map(Some).ok_or_else(unknown)
}

/// Runs a statement until it ends, is cancelled, has used its time, or its prompt is gone: then it is dropped,
/// which ends its fiber.
async fn bounded(
    running: impl Future<Output = Reaction>,
    time: Duration,
    incoming: &mut Incoming,
) -> Result<AttachReply> {
    tokio::select! {
        reaction = timeout(time, running) => Ok(match reaction {
            Ok(reaction) => replied(reaction),
            Err(_) => AttachReply::Error(
                format!("error: the statement took longer than {} s", time.as_secs()),
                exit_status::SOFTWARE,
            ),
        }),
        request = next(incoming) => match request? {
            Some(AttachRequest::Cancel) => Ok(AttachReply::Interrupted),
            Some(_) => Err(Error::new(ErrorKind::InvalidData, "a message while a statement runs")),
            None => Err(Error::new(ErrorKind::UnexpectedEof, "its statement was ended")),
        },
    }
}

fn replied(reaction: Reaction) -> AttachReply {
    match reaction {
        Reaction::Quiet => AttachReply::Quiet,
        Reaction::Value(text) => AttachReply::Value(text),
        Reaction::Error(text, status) => AttachReply::Error(text, status),
        // What would end a program ends the prompt alone.
        Reaction::Leave(status) => AttachReply::Left(status),
        Reaction::Command(_) => AttachReply::Error(
            "error: shell commands run where the prompt is".into(),
            exit_status::USAGE,
        ),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_has_a_time() {
        let reply = crate::event_loop::block_on(async {
            let (one, _other) = UnixStream::pair().unwrap();
            let mut incoming = Incoming::new(one.into_split().0);
            let endless = std::future::pending();
            bounded(endless, Duration::from_millis(1), &mut incoming).await.unwrap()
        });
        assert!(
            matches!(reply, Ok(AttachReply::Error(text, _)) if text.contains("took longer than"))
        );
    }
}
