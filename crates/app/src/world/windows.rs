//! Native windows: the process that shows them, and the frames between it and a program.
//!
//! `program` finds the executable, `channel` carries frames. The protocol is in docs/design/windows.md.

mod channel;
mod program;

use channel::WindowChannel;
use runnel_runtime::NativeWindow;
use runnel_store::{Answer, Environment, Error, Kind};
use std::cell::RefCell;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::Stdio;
use std::rc::Rc;
use std::time::Duration;
use tokio::process::{Child, Command};

/// How long a window may take until it is shown.
const OPENING: Duration = Duration::from_secs(20);

/// How long the process may take to end after it closed its channel.
const ENDING: Duration = Duration::from_secs(1);

/// The variable that shows the toolkit's own messages on standard error.
const SHOWS_MESSAGES: &str = "RUNNEL_WINDOW_LOG";

/// The exit statuses of the process that have a reason of their own.
const NO_DISPLAY: i32 = 68;
const NO_LIBRARY: i32 = 69;

/// Opens a window of a tree of widgets. Answers once it is shown.
pub(super) fn open(tree: &str, environment: &Environment) -> Answer<Rc<dyn NativeWindow>> {
    if cfg!(target_os = "linux") && !has_display(environment) {
        let message = "there is no display: neither WAYLAND_DISPLAY nor DISPLAY is set";
        return unsupported(message).into();
    }
    let (program, overlay) = (environment.text(program::VARIABLE), environment.overlay());
    let shows_messages = environment.text(SHOWS_MESSAGES).is_some();
    let frame = format!("[\"open\",{tree}]");
    Answer::later(async move {
        let host = program::find(program)?;
        let mut command = Command::new(host.path());
        for (name, value) in overlay {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let stderr = if shows_messages { Stdio::inherit() } else { Stdio::null() };
        command.stderr(stderr);
        let window = start(command).map_err(|error| {
            unsupported(format!("the window host `{host}` cannot be started: {error}"))
        })?;
        window.channel.send(&frame)?.await?;
        tokio::time::timeout(OPENING, window.shown())
            .await
            .map_err(|_| Error::new(Kind::Timeout, "the window was not shown in 20 s"))??;
        Ok(Rc::new(window) as Rc<dyn NativeWindow>)
    })
}

fn has_display(environment: &Environment) -> bool {
    let names = ["WAYLAND_DISPLAY", "DISPLAY", "GDK_BACKEND"];
    names.iter().any(|name| environment.text(name).is_some_and(|value| !value.is_empty()))
}

fn unsupported(message: impl Into<String>) -> Error {
    Error::new(Kind::Unsupported, message)
}

/// Starts the process with a socket as its standard input. It has a process group of its own: an
/// interrupt of the terminal ends the program, which then closes its windows.
fn start(mut command: Command) -> std::io::Result<WindowProcess> {
    let (ours, theirs) = UnixStream::pair()?;
    ours.set_nonblocking(true)?;
    let channel = Rc::new(WindowChannel::new(tokio::net::UnixStream::from_std(ours)?));
    command.arg("0").stdin(OwnedFd::from(theirs)).stdout(Stdio::null());
    let child = command.process_group(0).kill_on_drop(true).spawn()?;
    Ok(WindowProcess { channel, child: RefCell::new(Some(child)) })
}

/// The process that shows windows. Dropping it kills the process.
struct WindowProcess {
    channel: Rc<WindowChannel>,
    child: RefCell<Option<Child>>,
}

impl WindowProcess {
    /// Waits for the first frame, which says that the window is shown or why not.
    async fn shown(&self) -> Result<(), Error> {
        let Some(frame) = self.channel.next().await? else {
            return Err(self.reason().await);
        };
        let said: serde_json::Value = serde_json::from_str(&frame).unwrap_or_default();
        if said[0] == "failed" {
            let reason = said[1].as_str().unwrap_or("no reason given");
            return Err(unsupported(reason));
        }
        self.channel.give_back(frame);
        Ok(())
    }

    /// Why the process ended without a word.
    async fn reason(&self) -> Error {
        let child = self.child.take();
        let status = match child {
            Some(mut child) => tokio::time::timeout(ENDING, child.wait()).await.ok(),
            None => None,
        };
        let status = status.and_then(Result::ok);
        match status.and_then(|status| status.code()) {
            Some(NO_DISPLAY) => unsupported("the window host found no display"),
            Some(NO_LIBRARY) => unsupported("the window host found no GTK 4"),
            _ => {
                let status = status.map_or("no status".into(), |status| status.to_string());
                let message = format!(
                    "the window host ended at once ({status}): {SHOWS_MESSAGES}=1 shows its messages"
                );
                unsupported(message)
            }
        }
    }
}

impl NativeWindow for WindowProcess {
    fn send(&self, frame: String) -> Answer<()> {
        match self.channel.send(&frame) {
            Ok(sending) if sending.is_done() => Answer::ok(()),
            Ok(sending) => Answer::later(sending.into_future()),
            Err(error) => error.into(),
        }
    }

    fn next(&self) -> Answer<Option<String>> {
        let channel = self.channel.clone();
        Answer::later(async move { channel.next().await })
    }

    fn close(&self) {
        self.channel.close();
    }
}

/// The window of a worker other than the first.
pub(super) struct SilentWindow;

impl NativeWindow for SilentWindow {
    fn send(&self, _: String) -> Answer<()> {
        Answer::ok(())
    }

    fn next(&self) -> Answer<Option<String>> {
        Answer::later(std::future::pending())
    }

    fn close(&self) {}
}
