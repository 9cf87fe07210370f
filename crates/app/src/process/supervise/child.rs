//! One run of the program under a supervisor.

use crate::console::Console;
use crate::process::handover;
use crate::process::supervise::event::SupervisorEvent;
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsString;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};
use tokio::io::AsyncReadExt;
use tokio::process::{ChildStderr, Command};
use tokio::sync::mpsc;

/// Bytes of the last standard error output, kept to be shown.
const KEPT: usize = 16 * 1024;

/// A program that was started.
pub(super) struct Child {
    process: u32,
    since: Instant,
    says: Option<mpsc::UnboundedSender<String>>,
}

impl Child {
    /// Starts it. With `keeps`, what it says on standard error is kept beside being shown.
    pub(super) fn start(
        binary: &Path,
        args: &[OsString],
        supervisor: &str,
        keeps: bool,
        events: &mpsc::Sender<SupervisorEvent>,
    ) -> std::io::Result<Child> {
        let mut command = Command::new(binary);
        command
            .args(args)
            .env(handover::VARIABLE, supervisor)
            .env_remove("NOTIFY_SOCKET")
            .env_remove("WATCHDOG_USEC")
            .env_remove("WATCHDOG_PID")
            .kill_on_drop(true);
        if keeps {
            command.env(crate::process::reload::fault::VARIABLE, "1").stderr(Stdio::piped());
        }
        let mut child = command.spawn()?;
        let process = child.id().unwrap_or_default();
        let events = events.clone();
        let error = child.stderr.take();
        tokio::task::spawn_local(async move {
            let said = match error {
                Some(error) => show(error).await,
                None => String::new(),
            };
            let status = child.wait().await.ok();
            // The channel is closed at the end.
            let _ = events.send(SupervisorEvent::Ended(process, status, said)).await;
        });
        Ok(Child { process, since: Instant::now(), says: None })
    }

    pub(super) fn process(&self) -> u32 {
        self.process
    }

    pub(super) fn age(&self) -> Duration {
        self.since.elapsed()
    }

    /// It has opened the connection on which we say what it should do.
    pub(super) fn hears(&mut self, says: mpsc::UnboundedSender<String>) {
        self.says = Some(says);
    }

    pub(super) fn say(&self, line: &str) {
        match &self.says {
            Some(says) if says.send(line.to_string()).is_ok() => {}
            _ => tracing::warn!(process = self.process, line, "the program does not listen"),
        }
    }

    pub(super) fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    pub(super) fn kill(&self) {
        self.signal(Signal::KILL);
    }

    /// The process is a child that was not waited for, so the number cannot be another's.
    fn signal(&self, signal: Signal) {
        let process = i32::try_from(self.process).ok().and_then(Pid::from_raw);
        if let Some(process) = process
            && let Err(error) = kill_process(process, signal)
        {
            tracing::debug!(%error, "the program has ended already");
        }
    }
}

/// Shows what a program says, and answers the last of it.
async fn show(mut error: ChildStderr) -> String {
    let mut kept = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = error.read(&mut buffer).await {
        Console::error_bytes(&buffer[..count]);
        kept.extend_from_slice(&buffer[..count]);
        if kept.len() > KEPT {
            kept.drain(..kept.len() - KEPT);
        }
    }
    String::from_utf8_lossy(&kept).into_owned()
}
