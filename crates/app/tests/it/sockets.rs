//! Servers on Unix sockets: alone, with workers, under a supervisor; and places that are taken.

use crate::support;

use crate::support::{Folder, PATIENCE, Process, eventually, free_port, runnel};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};

fn text(socket: &Path, answer: &str) -> String {
    format!(
        "scheme Site {{ /hi {{ get {{ \"{answer} {{request:peer}}\" }} }} }}\n\
         #HTTPServer{{ socket: '{}', socketMode: '600' }} → #Site{{}}.\n",
        socket.display()
    )
}

/// What a request is answered; nothing where nobody listens.
fn ask(socket: &Path) -> Option<String> {
    let mut stream = UnixStream::connect(socket).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(b"GET /hi HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    Some(answer.split_once("\r\n\r\n")?.1.to_string())
}

#[test]
fn a_program_serves_on_a_socket() {
    for more in [&[][..], &["--workers=3"], &["--supervise", "--workers=2"]] {
        let folder = Folder::new();
        let socket = folder.path("a socket.sock");
        let file = folder.write("program.st", text(&socket, "first"));
        let mut process = Process::start(runnel().args(more).arg(&file));
        let says = |word: &str| ask(&socket).is_some_and(|answer| answer == word);
        eventually("it serves", || process.is_running() && says("first unix:"));
        let mode = std::fs::metadata(&socket).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        for _ in 0..20 {
            assert!(says("first unix:"));
        }
        if more.len() > 1 {
            // A new version takes over, and nobody is turned away meanwhile.
            folder.write("program.st", text(&socket, "second"));
            process.signal("HUP");
            eventually("the new version serves", || {
                let answer = ask(&socket).unwrap_or_default();
                assert!(["first unix:", "second unix:"].contains(&answer.as_str()), "{answer}");
                answer == "second unix:"
            });
        }
        process.signal("TERM");
        assert_eq!(process.outcome().status, 0, "{more:?}");
        assert!(!socket.exists(), "{more:?}");
    }
}

#[test]
fn a_program_that_was_killed_leaves_no_harm() {
    let folder = Folder::new();
    let socket = folder.path("site.sock");
    let file = folder.write("program.st", text(&socket, "here"));
    let mut process = Process::start(runnel().arg(&file));
    eventually("it serves", || ask(&socket).is_some());
    let second = support::run(runnel().arg(&file));
    assert!(second.err.contains("another program listens on"), "{}", second.err);
    process.signal("KILL");
    process.end();
    assert!(socket.exists());
    let _next = Process::start(runnel().arg(&file));
    eventually("it serves again", || ask(&socket).is_some_and(|answer| answer == "here unix:"));
}

#[test]
fn two_servers_at_one_place_are_an_error() {
    let port = free_port();
    let folder = Folder::new();
    let place = [format!("port: {port}"), format!("socket: '{}'", folder.path("s").display())];
    for place in place {
        let text = format!(
            "first ← #HTTPServer{{ {place} }} → #SiteMap{{ a: 'a' }}.\n\
             first start.\n\
             second ← #HTTPServer{{ {place} }} → #SiteMap{{ b: 'b' }}.\n\
             stdout println: ({{ second start. 'both serve' }} onError: {{ :e | e message }}).\n"
        );
        let file = folder.write("program.st", &text);
        for more in [&["--workers=1"][..], &["--workers=2"], &["--supervise"]] {
            let process = Process::start(runnel().args(more).arg(&file));
            let said = ["is taken", "another program listens"];
            eventually("it is refused", || {
                assert!(!process.out().contains("both serve"), "{more:?}");
                said.iter().any(|said| process.out().contains(said))
            });
        }
    }
    // A place is free again when its server has stopped.
    let text = format!(
        "first ← #HTTPServer{{ port: {port} }} → #SiteMap{{ a: 'a' }}.\n\
         first start. first stop.\n\
         second ← #HTTPServer{{ port: {port} }} → #SiteMap{{ a: 'a' }}.\n\
         second start. stdout println: 'serves again'.\n"
    );
    let file = folder.write("again.st", text);
    let process = Process::start(runnel().arg("--supervise").arg(&file));
    process.out_shows("serves again");
}

/// Opens the sockets that it is told, as systemd does, and becomes the command that follows.
const SYSTEMD: &str = "
import os, socket, sys
places, command = sys.argv[1].split(','), sys.argv[2:]
for number, place in enumerate(places):
    if place.startswith('/'):
        one = socket.socket(socket.AF_UNIX)
        one.bind(place)
    else:
        one = socket.create_server(('127.0.0.1', int(place)))
    one.listen()
    os.dup2(one.fileno(), 100 + number)
for number in range(len(places)):
    os.dup2(100 + number, 3 + number)
    os.set_inheritable(3 + number, True)
os.environ.update(LISTEN_FDS=str(len(places)), LISTEN_PID=str(os.getpid()))
os.execv(command[0], command)
";

#[test]
fn sockets_of_systemd_are_taken() {
    if Command::new("python3").arg("-V").output().is_err() {
        return support::skip("python3 is not installed");
    }
    for more in [&["--workers=1"][..], &["--workers=2"], &["--supervise"]] {
        let (folder, port, other) = (Folder::new(), free_port(), free_port());
        let socket = folder.path("held.sock");
        let text = format!(
            "{}#HTTPServer{{ port: {port} }} → #SiteMap{{ hi: 'on the port' }}.\n",
            text(&socket, "held").replace("#HTTPServer", "first ← #HTTPServer")
        );
        let text = text.replace("→ #Site{}.\n", "→ #Site{}.\nfirst start.\n");
        let file = folder.write("program.st", text);
        let places = format!("{other},{},{port}", socket.display());
        let mut command = Command::new("python3");
        command.args(["-c", SYSTEMD, &places, env!("CARGO_BIN_EXE_runnel")]).args(more).arg(&file);
        let mut process = Process::start(command.stdin(Stdio::null()));
        let says = |word: &str| ask(&socket).is_some_and(|answer| answer == word);
        eventually("it serves", || process.is_running() && says("held unix:"));
        assert_eq!(support::http::get(port, "/hi").text(), "on the port");
        process.signal("TERM");
        assert_eq!(process.outcome().status, 0, "{more:?}");
        // It is not ours.
        assert!(socket.exists());
    }
}
