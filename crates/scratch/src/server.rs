//! One running server.

use crate::Service;
use crate::left_out::leave_out;
use crate::service::is_root;
use std::fs::File;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// How long a server may take until it answers.
pub const START_TIME: Duration = Duration::from_secs(60);

/// A server that was started for us.
pub struct Server {
    service: Service,
    port: u16,
    folder: tempfile::TempDir,
    child: Option<Child>,
    /// Watchdog that removes the folder where this is never dropped, as in a test's statics.
    remover: Child,
}

impl Server {
    /// Starts a server and waits until it answers.
    ///
    /// # Errors
    /// In words: its program is missing (with what installs it), it could not be started, or it
    /// did not answer within [`START_TIME`] (with the end of what it wrote).
    pub fn start(service: Service) -> Result<Server, String> {
        let name = service.name();
        if service.program().is_none() {
            return Err(format!("{name} is not installed: {}", service.help()));
        }
        let folder = tempfile::Builder::new()
            .prefix("runnel-")
            .tempdir()
            .map_err(|error| format!("there is no place for the data of {name}: {error}"))?;
        if service == Service::Postgres && is_root() {
            run(Command::new("chown").arg("postgres").arg(folder.path()), folder.path())?;
        }
        if let Some(mut command) = service.preparation(folder.path()) {
            run(&mut command, folder.path())?;
        }
        let remover = remover(folder.path())
            .map_err(|error| format!("nothing can remove the data of {name} later: {error}"))?;
        let mut server = Server { service, port: free_port()?, folder, child: None, remover };
        server.launch()?;
        Ok(server)
    }

    /// Starts a server for a test. `None` when it is not installed, which is printed; in
    /// continuous integration (the variable `CI` is set) that is a failure.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn for_test(service: Service) -> Option<Server> {
        if service.program().is_none() && std::env::var_os("CI").is_none() {
            let (name, help) = (service.name(), service.help());
            leave_out(&format!("{name} is not installed ({help})"));
            return None;
        }
        match Server::start(service) {
            Ok(server) => Some(server),
            Err(message) => panic!("{message}"),
        }
    }

    /// Its address: `postgres://runnel@127.0.0.1:PORT/postgres`, `redis://127.0.0.1:PORT`,
    /// `nats://127.0.0.1:PORT`, or the endpoint of S3, `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        self.service.url(self.port)
    }

    /// The port of 127.0.0.1 on which it listens.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Ends it at once, as a crash would. Its data stay.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            // It may have ended by itself; then there is nothing left to do.
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Starts it again after [`Server::kill`], on the same port and data.
    ///
    /// # Errors
    /// As [`Server::start`].
    pub fn restart(&mut self) -> Result<(), String> {
        self.kill();
        // What is left of a killed PostgreSQL would keep the next one from starting.
        let _ = std::fs::remove_file(self.folder.path().join("data/postmaster.pid"));
        let end = Instant::now() + START_TIME;
        loop {
            match self.launch() {
                // Its processes end a moment after the killed one.
                Err(complaint) if complaint.contains("still in use") && Instant::now() < end => {
                    std::thread::sleep(Duration::from_millis(50));
                }
                launched => return launched,
            }
        }
    }

    fn launch(&mut self) -> Result<(), String> {
        let name = self.service.name();
        let program = self.service.program().ok_or_else(|| format!("{name} is not installed"))?;
        let log = File::create(self.folder.path().join("log"))
            .map_err(|error| format!("the log of {name} cannot be written: {error}"))?;
        let errors = log.try_clone().map_err(|error| error.to_string())?;
        let mut command = self.service.command(&program, self.folder.path(), self.port);
        command.stdin(Stdio::null()).stdout(log).stderr(errors);
        let started = spawn(command);
        self.child = Some(started.map_err(|error| format!("{name} cannot be started: {error}"))?);
        self.wait_until_ready()
    }

    fn wait_until_ready(&mut self) -> Result<(), String> {
        let end = Instant::now() + START_TIME;
        while Instant::now() < end {
            if self.answers() {
                return Ok(());
            }
            let ended = self.child.as_mut().and_then(|child| child.try_wait().ok().flatten());
            if let Some(status) = ended {
                return Err(self.complaint(&format!("ended at once ({status})")));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Err(self.complaint(&format!("did not answer within {} s", START_TIME.as_secs())))
    }

    fn complaint(&self, what: &str) -> String {
        format!("{} {what}: {}", self.service.name(), end_of_log(self.folder.path()))
    }

    fn answers(&self) -> bool {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, self.port));
        let patience = Duration::from_secs(1);
        let Ok(mut stream) = TcpStream::connect_timeout(&address, patience) else { return false };
        let (question, beginning) = self.service.greeting();
        let mut answer = vec![0; beginning.len()];
        stream.set_read_timeout(Some(patience)).is_ok()
            && stream.write_all(question).is_ok()
            && stream.read_exact(&mut answer).is_ok()
            && answer == beginning
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
        // `TempDir` removes the folder, so the watchdog is not needed. It may have exited already.
        let _ = self.remover.kill();
        let _ = self.remover.wait();
    }
}

/// Starts a process from a thread that lives as long as we do: the kernel ends it with the thread
/// that started it, and a test's own thread ends with the test.
fn spawn(command: Command) -> std::io::Result<Child> {
    type Request = (Command, mpsc::Sender<std::io::Result<Child>>);
    static STARTER: std::sync::OnceLock<std::sync::Mutex<mpsc::Sender<Request>>> =
        std::sync::OnceLock::new();
    let starter = STARTER.get_or_init(|| {
        let (requests, inbox) = mpsc::channel::<Request>();
        std::thread::spawn(move || {
            for (mut command, answer) in inbox {
                // The receiver may be gone.
                let _ = answer.send(command.spawn());
            }
        });
        std::sync::Mutex::new(requests)
    });
    let (answer, started) = mpsc::channel();
    let gone = |_| std::io::Error::other("the thread that starts servers has ended");
    starter
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
        .send((command, answer))
        .map_err(|_| std::io::Error::other("the thread that starts servers has ended"))?;
    started.recv().map_err(gone)?
}

/// A process that waits for the end of ours, which closes its input, and then removes a folder; the
/// server itself ends in the same moment.
fn remover(folder: &Path) -> std::io::Result<Child> {
    Command::new("sh")
        .args(["-c", "cat; sleep 1; rm -rf \"$0\""])
        .arg(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
}

fn run(command: &mut Command, folder: &Path) -> Result<(), String> {
    let output = command
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{command:?} cannot be started: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("{command:?} failed ({}): {}", output.status, said.trim()))
}

fn end_of_log(folder: &Path) -> String {
    let log = std::fs::read(folder.join("log")).unwrap_or_default();
    let from = log.len().saturating_sub(2000);
    String::from_utf8_lossy(&log[from..]).trim().to_string()
}

fn free_port() -> Result<u16, String> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|one| one.local_addr());
    listener.map(|address| address.port()).map_err(|error| format!("there is no port: {error}"))
}
