//! The supervisor: upgrades and deaths under load, and what it says of programs that cannot run.

use crate::support;

use crate::support::http::Connection;
use crate::support::load::{Client, Load};
use crate::support::{Folder, Process, eventually, free_port, runnel};
use std::io::Result;
use std::time::{Duration, Instant};

fn text(version: usize, port: u16) -> String {
    format!(
        "scheme Site {{ /version {{ get {{ '{version}' }} }} \
         /slow {{ get {{ runLoop runFor: 0.05. 'slow' }} }} }}\n\
         #HTTPServer{{ port: {port} }} → #Site{{}}.\n"
    )
}

fn version(port: u16) -> Result<String> {
    let mut connection = Connection::open(port)?;
    Ok(connection.send("GET", "/version", b"")?.text())
}

/// The programs of a supervisor.
fn programs(supervisor: &Process) -> Vec<u32> {
    let id = supervisor.id();
    let path = format!("/proc/{id}/task/{id}/children");
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.split_whitespace().map(|one| one.parse().unwrap()).collect()
}

/// Clients that never stop asking: some keep their connection, some open a new one each time.
fn load(port: u16) -> Load {
    let pause = Duration::from_millis(2);
    let clients = (0..6_u8).map(|number| Client {
        target: if number < 4 { "/version" } else { "/slow" },
        keeps: number.is_multiple_of(2),
        pause,
        ends_when_refused: false,
    });
    Load::on(port, clients)
}

#[test]
fn five_upgrades_under_load_lose_no_request() {
    for workers in ["1", "2"] {
        let (folder, port) = (Folder::new(), free_port());
        let file = folder.write("program.st", text(0, port));
        let arguments = ["--supervise", "--workers", workers];
        let mut process = Process::start(runnel().args(arguments).arg(&file));
        process.listens(port);
        let load = load(port);
        load.goes_on(50);
        for number in 1..=5 {
            folder.write("program.st", text(number, port));
            process.signal(if usize::is_multiple_of(number, 2) { "HUP" } else { "USR2" });
            eventually("the new version answers", || version(port).unwrap() == number.to_string());
            load.goes_on(50);
        }
        let (answered, failures) = (load.answered(), load.failures());
        let failed = failures.len();
        support::note(&format!(
            "| 5 upgrades, --workers {workers} | {answered} answered | {failed} failed |"
        ));
        assert!(failures.is_empty(), "{failures:?} {}", process.err());
        process.signal("TERM");
        assert_eq!(process.outcome().status, 0);
    }
}

#[test]
fn a_program_that_is_killed_is_back_at_once() {
    let (folder, port) = (Folder::new(), free_port());
    let file = folder.write("program.st", text(7, port));
    let mut process = Process::start(runnel().arg("--supervise").arg(file));
    process.listens(port);
    let load = load(port);
    load.goes_on(200);
    let [program] = programs(&process)[..] else { panic!("{:?}", programs(&process)) };
    let killed = std::process::Command::new("kill").args(["-9", &program.to_string()]).status();
    assert!(killed.unwrap().success());
    // New connections are not refused, even though nobody serves them yet.
    let since = Instant::now();
    eventually("the program answers again", || version(port).is_ok_and(|text| text == "7"));
    support::note(&format!("answered {} ms after the kill", since.elapsed().as_millis()));
    load.goes_on(50);
    // Of each client at most the request under way.
    let failures = load.failures();
    assert!(failures.len() <= 6, "{failures:?}");
    assert!(!failures.iter().any(|failure| failure.contains("refused")), "{failures:?}");
    process.err_shows("signal: 9");
}

/// How often a program is killed; `RUNNEL_KILLS` says otherwise.
fn kills() -> usize {
    let kills = std::env::var("RUNNEL_KILLS").ok();
    kills.and_then(|text| text.parse().ok()).unwrap_or(2)
}

#[test]
fn a_supervisor_outlives_many_kills() {
    let (folder, port) = (Folder::new(), free_port());
    let file = folder.write("program.st", text(7, port));
    let mut process = Process::start(runnel().arg("--supervise").arg(file));
    process.listens(port);
    let load = load(port);
    load.goes_on(50);
    let (files, memory) = (process.open_files(), process.memory());
    let mut slowest = Duration::ZERO;
    for _ in 0..kills() {
        let [program] = programs(&process)[..] else { panic!("{:?}", programs(&process)) };
        // One that dies within a second is started again after a pause.
        std::thread::sleep(Duration::from_millis(1050));
        std::process::Command::new("kill").args(["-9", &program.to_string()]).status().unwrap();
        let since = Instant::now();
        eventually("another program serves", || {
            version(port).is_ok() && programs(&process).first().is_some_and(|one| *one != program)
        });
        slowest = slowest.max(since.elapsed());
        load.goes_on(20);
    }
    let (kills, answered, failures) = (kills(), load.answered(), load.failures());
    support::note(&format!(
        "| {kills} kills | {answered} answered | {} failed | slowest return {slowest:?} | supervisor: \
         {files:?} files, then {:?}; {memory:?} bytes, then {:?} |",
        failures.len(),
        process.open_files(),
        process.memory()
    ));
    // Of each client at most the request under way.
    assert!(failures.len() <= 6 * kills, "{failures:?}");
    assert!(!failures.iter().any(|failure| failure.contains("refused")), "{failures:?}");
    if let (Some(files), Some(memory)) = (files, memory) {
        assert!(process.open_files().unwrap() <= files + 3);
        assert!(process.memory().unwrap() <= memory + (16 << 20));
    }
}

#[test]
fn a_new_version_that_fails_leaves_the_old_one() {
    let (folder, port) = (Folder::new(), free_port());
    let file = folder.write("program.st", text(1, port));
    let mut process = Process::start(runnel().arg("--supervise").arg(&file));
    process.listens(port);
    eventually("it answers", || version(port).is_ok());
    folder.write("program.st", "scheme {");
    process.signal("HUP");
    process.err_shows("the old one goes on");
    assert_eq!(version(port).unwrap(), "1");
    folder.write("program.st", text(2, port));
    let id = process.id().to_string();
    assert_eq!(support::runnel_with(&["upgrade", &id]).status, 0);
    eventually("the repaired version answers", || version(port).unwrap() == "2");
}

#[test]
fn a_program_that_cannot_run_ends_its_supervisor() {
    let folder = Folder::new();
    let file = folder.write("program.st", "1 +");
    let path = file.display().to_string();
    assert_eq!(support::runnel_with(&["--supervise", &path]).status, 65);
    let file = folder.write("program.st", "stdout println: 'done'.");
    let path = file.display().to_string();
    let outcome = support::runnel_with(&["--supervise", &path]);
    assert_eq!((outcome.status, outcome.out.as_str()), (0, "done\n"));
    assert_eq!(support::runnel_with(&["--supervise", "missing.st"]).status, 66);
}

#[test]
fn an_idle_connection_is_answered_once_more_by_the_old_program() {
    let (folder, port) = (Folder::new(), free_port());
    let file = folder.write("program.st", text(1, port));
    let mut process = Process::start(runnel().arg("--supervise").arg(&file));
    process.listens(port);
    let mut idle = Connection::open(port).unwrap();
    let reply = idle.send("GET", "/version", b"").unwrap();
    assert_eq!((reply.text().as_str(), reply.header("connection")), ("1", None));
    folder.write("program.st", text(2, port));
    process.signal("HUP");
    eventually("the new version answers", || version(port).unwrap() == "2");
    // The new version may answer a moment before the old one begins to drain.
    eventually("the old version closes the connection", || {
        let reply = idle.send("GET", "/version", b"").unwrap();
        assert_eq!(reply.text(), "1");
        reply.header("connection") == Some("close")
    });
}

#[test]
fn a_program_ends_with_its_supervisor() {
    let (folder, port) = (Folder::new(), free_port());
    let file = folder.write("program.st", text(1, port));
    let mut process = Process::start(runnel().arg("--supervise").arg(file));
    process.listens(port);
    eventually("it answers", || version(port).is_ok());
    process.signal("KILL");
    eventually("nobody listens any more", || Connection::open(port).is_err());
}

#[test]
fn a_job_of_one_worker_is_taken_over_when_its_process_dies() {
    let (folder, port) = (Folder::new(), free_port());
    let file = folder.path("runs.txt");
    let program = folder.write(
        "program.st",
        format!(
            "onceEvery: 20 milliseconds do: {{ file:{} += 'x' }}.\n{}",
            file.display(),
            text(1, port)
        ),
    );
    let runs = || std::fs::read_to_string(&file).unwrap_or_default().len();
    let mut supervisor =
        Process::start(runnel().args(["--supervise", "--workers", "2"]).arg(program));
    supervisor.listens(port);
    eventually("the job runs", || runs() > 3);
    let first = programs(&supervisor)[0];
    std::process::Command::new("kill").args(["-KILL", &first.to_string()]).status().unwrap();
    eventually("another process serves", || {
        programs(&supervisor).first().is_some_and(|next| *next != first)
    });
    let before = runs();
    eventually("the job runs again", || runs() > before + 3);
}
