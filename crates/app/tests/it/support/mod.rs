//! What the tests of the command share: real processes on free ports, that end with their test.
#![allow(dead_code)] // each test file uses its own part of this

pub(crate) mod browser;
pub(crate) mod display;
pub(crate) mod http;
pub(crate) mod live_server;
pub(crate) mod load;
pub(crate) mod relay;
pub(crate) mod terminal;

use std::collections::HashSet;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long a test waits for something that should happen soon.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// The command under test: the one that is built with the tests, or that which `RUNNEL_BINARY` names,
/// such as one with all optimisations.
pub(crate) fn runnel() -> Command {
    let named = std::env::var_os("RUNNEL_BINARY");
    let mut command = Command::new(named.unwrap_or_else(|| env!("CARGO_BIN_EXE_runnel").into()));
    command.env_remove("RUNNEL_LOG").env_remove("NO_COLOR").stdin(Stdio::null());
    command
}

/// The process that shows native windows, where it is built.
pub(crate) fn window_host() -> PathBuf {
    Path::new(env!("CARGO_BIN_EXE_runnel")).with_file_name("runnel-window")
}

/// The folder of the examples.
pub(crate) fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").canonicalize().unwrap()
}

/// A folder that vanishes with the test.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file and answers its path.
    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, text).unwrap();
        path
    }
}

/// What a process left behind.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) status: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Runs a command to its end, with some standard input.
pub(crate) fn run_with(command: &mut Command, input: &[u8]) -> Outcome {
    let mut process = Process::start(command.stdin(Stdio::piped()));
    let mut stdin = process.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = std::thread::spawn(move || {
        // A command that does not read its input may end before all of it is written.
        let _ = stdin.write_all(&input);
    });
    let outcome = process.outcome();
    writer.join().unwrap();
    outcome
}

/// Runs a command to its end, without input.
pub(crate) fn run(command: &mut Command) -> Outcome {
    Process::start(command).outcome()
}

/// Runs `runnel` with these arguments to its end.
pub(crate) fn runnel_with(arguments: &[&str]) -> Outcome {
    run(runnel().args(arguments))
}

/// Runs a program of this text to its end.
pub(crate) fn program(text: &str) -> Outcome {
    let folder = Folder::new();
    run(runnel().arg(folder.write("program.st", text)))
}

/// Output that a thread collects while the process runs.
#[derive(Clone, Default)]
struct Collected(Arc<Mutex<Vec<u8>>>);

impl Collected {
    fn of(mut stream: impl Read + Send + 'static) -> (Collected, JoinHandle<()>) {
        let collected = Collected::default();
        let bytes = collected.0.clone();
        let thread = std::thread::spawn(move || {
            let mut piece = [0; 8192];
            while let Ok(count @ 1..) = stream.read(&mut piece) {
                bytes.lock().unwrap().extend_from_slice(&piece[..count]);
            }
        });
        (collected, thread)
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap()).into_owned()
    }
}

/// A running process; it is killed when the test ends.
pub(crate) struct Process {
    child: Child,
    pub(crate) stdin: Option<ChildStdin>,
    out: Collected,
    err: Collected,
    readers: Vec<JoinHandle<()>>,
}

impl Process {
    /// Starts a command, whose output is collected.
    pub(crate) fn start(command: &mut Command) -> Process {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (out, out_reader) = Collected::of(child.stdout.take().unwrap());
        let (err, err_reader) = Collected::of(child.stderr.take().unwrap());
        let stdin = child.stdin.take();
        Process { child, stdin, out, err, readers: vec![out_reader, err_reader] }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// What it wrote to standard output up to now.
    pub(crate) fn out(&self) -> String {
        self.out.text()
    }

    /// What it wrote to standard error up to now.
    pub(crate) fn err(&self) -> String {
        self.err.text()
    }

    /// Writes a line to its standard input.
    pub(crate) fn say(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(line.as_bytes()).unwrap();
        stdin.write_all(b"\n").unwrap();
        stdin.flush().unwrap();
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Sends a signal, as `TERM` or `INT`.
    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill")
            .arg(format!("-{name}"))
            .arg(self.id().to_string())
            .status()
            .unwrap();
        assert!(sent.success(), "kill -{name} failed");
    }

    /// Waits for its end; the number of the exit status, or minus the signal that ended it.
    pub(crate) fn end(&mut self) -> i32 {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                for reader in self.readers.drain(..) {
                    reader.join().unwrap();
                }
                return number(status);
            }
            if start.elapsed() > 2 * PATIENCE {
                panic!("the process does not end\n{}\n{}", self.out(), self.err());
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Waits for its end and answers all it left.
    pub(crate) fn outcome(mut self) -> Outcome {
        let status = self.end();
        Outcome { status, out: self.out(), err: self.err() }
    }

    /// Waits until it answers on a port.
    pub(crate) fn listens(&mut self, port: u16) {
        eventually_or(
            || self.is_running() && TcpStream::connect(("127.0.0.1", port)).is_ok(),
            || "the server does not answer".into(),
        );
    }

    /// Waits until it answers on a port, or ends: whether it answers.
    pub(crate) fn listens_or_ends(&mut self, port: u16) -> bool {
        eventually("the server answers or ends", || {
            !self.is_running() || TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        self.is_running()
    }

    /// Waits until standard error holds a text.
    pub(crate) fn err_shows(&self, text: &str) {
        eventually_or(
            || self.err().contains(text),
            || format!("`{text}` is not in the log:\n{}", self.err()),
        );
    }

    /// Waits until standard output holds a text.
    pub(crate) fn out_shows(&self, text: &str) {
        eventually_or(
            || self.out().contains(text),
            || format!("`{text}` is not in the output:\n{}\n{}", self.out(), self.err()),
        );
    }

    /// Memory that the process holds now, in bytes; only on Linux.
    pub(crate) fn memory(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id())).ok()?;
        let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
        Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? * 1024)
    }

    /// How many files and sockets the process has open now; only on Linux.
    pub(crate) fn open_files(&self) -> Option<usize> {
        Some(std::fs::read_dir(format!("/proc/{}/fd", self.id())).ok()?.count())
    }

    /// Processor time that the process has used, in hundredths of a second; only on Linux.
    pub(crate) fn processor_time(&self) -> Option<u64> {
        let text = std::fs::read_to_string(format!("/proc/{}/stat", self.id())).ok()?;
        let fields: Vec<&str> = text.rsplit_once(") ")?.1.split(' ').collect();
        Some(fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail only when the process has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            note(&format!("--- output\n{}\n--- errors and log\n{}", self.out(), self.err()));
        }
    }
}

fn number(status: ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt;
    status.code().unwrap_or_else(|| -status.signal().unwrap_or(0))
}

/// Waits until something holds; fails with a message when it does not within [`PATIENCE`].
pub(crate) fn eventually_or(mut holds: impl FnMut() -> bool, message: impl FnOnce() -> String) {
    let start = Instant::now();
    while !holds() {
        if start.elapsed() > PATIENCE {
            panic!("{}", message());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until something holds.
pub(crate) fn eventually(what: &str, holds: impl FnMut() -> bool) {
    eventually_or(holds, || format!("this does not come true: {what}"));
}

/// A port that nothing listens on, and that no other test of this process gets. It lies below the
/// ports that the system gives to outgoing connections.
pub(crate) fn free_port() -> u16 {
    static GIVEN: Mutex<Option<HashSet<u16>>> = Mutex::new(None);
    let mut given = GIVEN.lock().unwrap();
    let given = given.get_or_insert_default();
    let first = 20_000 + (std::process::id() % 100) as u16 * 100;
    for port in (first..32_000).chain(20_000..first) {
        if !given.contains(&port) && TcpListener::bind(("127.0.0.1", port)).is_ok() {
            given.insert(port);
            return port;
        }
    }
    panic!("no port is free");
}

/// A program that serves a scheme: the process, and its port.
pub(crate) struct Server {
    pub(crate) process: Process,
    pub(crate) port: u16,
    pub(crate) folder: Folder,
}

impl Server {
    /// Runs a program that takes its port from its first argument and serves on it.
    pub(crate) fn start(text: &str, arguments: &[&str]) -> Server {
        Server::start_with(&[], text, arguments)
    }

    /// As [`Server::start`], with options of the command.
    pub(crate) fn start_with(options: &[&str], text: &str, arguments: &[&str]) -> Server {
        let folder = Folder::new();
        let port = free_port();
        let file = folder.write("program.st", text);
        let mut command = runnel();
        command
            .args(options)
            .arg(file)
            .arg(port.to_string())
            .args(arguments)
            .current_dir(folder.0.path());
        let mut process = Process::start(&mut command);
        process.listens(port);
        Server { process, port, folder }
    }

    /// A program of one scheme, `Site`, served with a time limit in seconds for each request.
    pub(crate) fn of_scheme(scheme: &str, timeout: f64) -> Server {
        let program = format!(
            "#-<void>serve:<int>port\n{scheme}\n\
             server ← #HTTPServer{{ port: port, scheme: #Site{{}}, requestTimeout: {timeout} seconds }}.\n\
             server start.\n"
        );
        Server::start(&program, &[])
    }

    pub(crate) fn get(&self, target: &str) -> http::Reply {
        http::get(self.port, target)
    }

    pub(crate) fn send(&self, method: &str, target: &str, body: &str) -> http::Reply {
        http::send(self.port, method, target, &[], body.as_bytes()).unwrap()
    }
}

pub(crate) use runnel_scratch::leave_out as skip;

/// Shows something beside the tests' results: `cargo test -- --nocapture`.
#[allow(clippy::print_stderr)] // the way that the test harness captures
pub(crate) fn note(text: &str) {
    eprintln!("{text}");
}
