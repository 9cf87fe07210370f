//! `runnel --supervise FILE`: keeps a program running, and exchanges it without losing a request.
//!
//! The supervisor holds the listening sockets, so that connections wait in the system's queue
//! while no program serves, and are never refused. A program that dies is started again. On
//! SIGHUP or SIGUSR2 the new version of binary and program starts beside the old one; once it
//! is ready, the old one drains, for at most [`LEAVING`].
//! A new version that fails leaves the old one as it is.

mod child;
pub(crate) mod event;
mod sockets;

use crate::console::Console;
use crate::exit_status;
use crate::process::notify;
use crate::process::reload::Files;
use crate::process::signals;
use child::Child;
use event::SupervisorEvent;
use sockets::Sockets;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

/// How long a new version may take until it serves, while an old one does.
const STARTING: Duration = Duration::from_secs(60);
/// How long an old version may take for what is under way; then it is killed.
const LEAVING: Duration = Duration::from_secs(30);
/// Time for the last writes of a program that is cut.
const CUTTING: Duration = Duration::from_secs(5);
/// The pauses before a program that died early is started again: doubled each time.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// A program that has run so long did not die early: it is started again at once.
const STEADY: Duration = Duration::from_secs(1);
/// The capacity of the event channel.
const EVENTS: usize = 256;

/// What to run, and how.
pub(crate) struct Plan {
    /// The arguments of the command, without those that made it a supervisor.
    pub(crate) args: Vec<OsString>,
    /// Exchange the program when this file changes.
    pub(crate) watch: Option<PathBuf>,
}

/// Runs a program until it exits with 0 or a stop is requested, and returns the exit status.
pub(crate) fn run(plan: Plan) -> u8 {
    let outcome = crate::event_loop::started(crate::event_loop::block_on(async {
        let (events, heard) = mpsc::channel(EVENTS);
        let sockets = Rc::new(Sockets::open()?);
        tokio::task::spawn_local(sockets.clone().answer(events.clone()));
        tokio::task::spawn_local(hear_signals(events.clone()));
        let files = plan.watch.clone().map(Files::of);
        if let Some(files) = files.clone() {
            tokio::task::spawn_local(crate::process::reload::watch(files, events.clone()));
        }
        let binary = std::env::current_exe().map_err(|error| error.to_string())?;
        let supervisor = Supervisor {
            plan,
            files,
            binary,
            sockets,
            events,
            serving: None,
            starting: None,
            leaving: Vec::new(),
            again: false,
            pause: FIRST_PAUSE,
            has_served: false,
            ending: None,
        };
        Ok::<u8, String>(supervisor.go_on(heard).await)
    }));
    match outcome {
        Ok(result) => crate::event_loop::started(result).unwrap_or_else(|status| status),
        Err(status) => status,
    }
}

struct Supervisor {
    plan: Plan,
    /// What is watched.
    files: Option<Rc<Files>>,
    binary: PathBuf,
    sockets: Rc<Sockets>,
    events: mpsc::Sender<SupervisorEvent>,
    serving: Option<Child>,
    starting: Option<Child>,
    leaving: Vec<Child>,
    /// Another version was wanted while one started.
    again: bool,
    pause: Duration,
    has_served: bool,
    /// With which exit status, and since when.
    ending: Option<(u8, Instant)>,
}

impl Supervisor {
    async fn go_on(mut self, mut heard: mpsc::Receiver<SupervisorEvent>) -> u8 {
        self.start();
        tokio::task::spawn_local(notify::keep_alive());
        while let Some(event) = heard.recv().await {
            match event {
                SupervisorEvent::Reports(process, says) => self.reports(process, says),
                SupervisorEvent::Ready(process) => self.ready(process),
                SupervisorEvent::Overdue(process) => self.overdue(process),
                SupervisorEvent::Reads(process, file) => {
                    self.files.iter().for_each(|files| files.reads(process, file.clone()));
                }
                SupervisorEvent::Writes(file) => {
                    self.files.iter().for_each(|files| files.writes(&file))
                }
                SupervisorEvent::Start if self.starting.is_none() && self.serving.is_none() => {
                    self.start()
                }
                SupervisorEvent::Start => {}
                SupervisorEvent::Exchange if self.starting.is_some() => self.again = true,
                SupervisorEvent::Exchange => self.start(),
                SupervisorEvent::Stop(status) => self.stop(status),
                SupervisorEvent::Ended(process, status, said) => {
                    if let Some(status) = self.ended(process, status, &said) {
                        return status;
                    }
                }
            }
            let none = self.serving.is_none() && self.starting.is_none() && self.leaving.is_empty();
            if let (true, Some((status, _))) = (none, self.ending) {
                return status;
            }
        }
        exit_status::SOFTWARE
    }

    fn start(&mut self) {
        if self.ending.is_some() {
            return;
        }
        if let Some(files) = &self.files {
            let serving: Vec<u32> = self.serving.iter().map(Child::process).collect();
            files.keep(&serving);
        }
        let supervisor = format!("{}:{}", std::process::id(), self.sockets.path().display());
        let tells = self.plan.watch.is_some();
        match Child::start(&self.binary, &self.plan.args, &supervisor, tells, &self.events) {
            Ok(child) => {
                if self.serving.is_some() {
                    self.later(STARTING, SupervisorEvent::Overdue(child.process()));
                }
                self.starting = Some(child);
            }
            Err(error) => {
                Console::error(&format!("error: the program cannot be started: {error}"));
                self.start_later();
            }
        }
    }

    fn start_later(&mut self) {
        self.later(self.pause, SupervisorEvent::Start);
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
    }

    fn later(&self, time: Duration, event: SupervisorEvent) {
        let events = self.events.clone();
        tokio::task::spawn_local(async move {
            tokio::time::sleep(time).await;
            // The channel is closed at the end.
            let _ = events.send(event).await;
        });
    }

    fn children(&mut self) -> impl Iterator<Item = &mut Child> {
        self.serving.iter_mut().chain(&mut self.starting).chain(&mut self.leaving)
    }

    fn reports(&mut self, process: u32, says: mpsc::UnboundedSender<String>) {
        if let Some(child) = self.children().find(|child| child.process() == process) {
            child.hears(says);
        }
    }

    fn ready(&mut self, process: u32) {
        let Some(child) = self.starting.take_if(|child| child.process() == process) else { return };
        tracing::info!(process, "the program serves");
        self.has_served = true;
        if let Some(old) = self.serving.replace(child) {
            // Pages that show its error reload.
            old.say("fault \"\"");
            old.say("leave");
            self.later(LEAVING, SupervisorEvent::Overdue(old.process()));
            self.leaving.push(old);
        }
        notify::notify(&format!("READY=1\nMAINPID={}", std::process::id()));
        if std::mem::take(&mut self.again) {
            self.start();
        }
    }

    fn overdue(&mut self, process: u32) {
        let serving = self.serving.as_ref().is_some_and(|child| child.process() == process);
        if serving && self.ending.is_none() {
            return;
        }
        if let Some(child) = self.children().find(|child| child.process() == process) {
            tracing::warn!(process, "the program took too long and is killed");
            child.kill();
        }
    }

    /// Asks all to stop; the second time, at once.
    fn stop(&mut self, status: u8) {
        let processes: Vec<u32> = self.children().map(|child| child.process()).collect();
        if let Some((_, since)) = self.ending {
            // Signals that come together are one request.
            if since.elapsed() < signals::SAME {
                return;
            }
            self.children().for_each(|child| child.say("cut"));
            processes
                .into_iter()
                .for_each(|one| self.later(CUTTING, SupervisorEvent::Overdue(one)));
            return;
        }
        self.ending = Some((status, Instant::now()));
        notify::notify("STOPPING=1");
        self.sockets.close();
        for child in self.children() {
            child.terminate();
        }
        for process in processes {
            self.later(LEAVING, SupervisorEvent::Overdue(process));
        }
    }

    /// A program has ended. The exit status when that is our end too.
    fn ended(&mut self, process: u32, status: Option<ExitStatus>, said: &str) -> Option<u8> {
        if let Some(at) = self.leaving.iter().position(|child| child.process() == process) {
            self.leaving.remove(at);
            return None;
        }
        let why = status.map_or_else(|| "unknown".to_string(), |status| status.to_string());
        let code = status.and_then(|status| status.code()).and_then(|code| u8::try_from(code).ok());
        if let Some(child) = self.starting.take_if(|child| child.process() == process) {
            return self.did_not_start(&child, &why, code, said);
        }
        let child = self.serving.take_if(|child| child.process() == process)?;
        if self.ending.is_some() {
            return None;
        }
        if code == Some(0) {
            // It was stopped from within.
            return Some(0);
        }
        Console::error(&format!("error: the program died ({why}); it is started again"));
        if child.age() >= STEADY {
            self.pause = FIRST_PAUSE;
            if self.starting.is_none() {
                self.start();
            }
        } else {
            self.start_later();
        }
        None
    }

    fn did_not_start(
        &mut self,
        child: &Child,
        why: &str,
        code: Option<u8>,
        said: &str,
    ) -> Option<u8> {
        if self.ending.is_some() {
            return None;
        }
        let age = child.age();
        if let Some(serving) = &self.serving {
            Console::error(&format!(
                "error: the new version did not start ({why}); the old one goes on"
            ));
            if self.plan.watch.is_some() {
                serving.say(&format!("fault {}", serde_json::Value::from(said)));
            }
            if std::mem::take(&mut self.again) {
                self.start();
            }
            return None;
        }
        // No change of the program and no other start opens the socket of `--attach`.
        if code == Some(exit_status::CANNOT_CREATE) && !self.has_served {
            return code;
        }
        if self.plan.watch.is_some() {
            if !std::mem::take(&mut self.again) {
                Console::error("note: waiting for a change of the program");
                return None;
            }
            self.start();
            return None;
        }
        let hopeless = [exit_status::USAGE, exit_status::DATA, exit_status::NO_INPUT];
        match code {
            // A program that does not serve came to its end.
            Some(0) => return Some(0),
            Some(code) if !self.has_served && hopeless.contains(&code) => return Some(code),
            _ => {}
        }
        let seconds = self.pause.as_secs_f64();
        Console::error(&format!(
            "error: the program ended ({why}) after {:.1} s; it is started again in {seconds} s",
            age.as_secs_f64()
        ));
        self.start_later();
        None
    }
}

/// Turns signals into events.
async fn hear_signals(events: mpsc::Sender<SupervisorEvent>) {
    let kinds = [
        SignalKind::hangup(),
        SignalKind::user_defined2(),
        SignalKind::terminate(),
        SignalKind::interrupt(),
    ];
    let [Ok(mut hangup), Ok(mut user), Ok(mut terminate), Ok(mut interrupt)] = kinds.map(signal)
    else {
        tracing::error!("signals cannot be heard");
        return;
    };
    loop {
        let event = tokio::select! {
            _ = hangup.recv() => SupervisorEvent::Exchange,
            _ = user.recv() => SupervisorEvent::Exchange,
            _ = terminate.recv() => SupervisorEvent::Stop(0),
            _ = interrupt.recv() => SupervisorEvent::Stop(130),
        };
        if events.send(event).await.is_err() {
            return;
        }
    }
}

/// `runnel upgrade PID`: asks a supervisor to exchange its program.
pub(crate) fn upgrade(process: i32) -> u8 {
    let asked = rustix::process::Pid::from_raw(process)
        .ok_or(rustix::io::Errno::SRCH)
        .and_then(|process| rustix::process::kill_process(process, rustix::process::Signal::USR2));
    match asked {
        Ok(()) => 0,
        Err(error) => {
            Console::error(&format!("error: process {process} cannot be asked: {error}"));
            exit_status::UNAVAILABLE
        }
    }
}
