//! `runnel attach`: a prompt in a serving program, for its user alone.

use crate::support::http::get;
use crate::support::{
    Folder, Outcome, Process, eventually, free_port, run_with, runnel, skip, terminal,
};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

const SITE: &str = "#-<void>serve:<int>port\n\
    scheme:base ← SiteMap store.\n\
    base:/hi ← 'Hello World!'.\n\
    count ← 41.\n\
    (#HTTPServer{ scheme: scheme:base, port: port }) start.\n";

/// A server that can be attached to, and the folder of its socket.
struct Site {
    process: Process,
    port: u16,
    folder: Folder,
}

impl Site {
    fn start(options: &[&str]) -> Site {
        let (folder, port) = (Folder::new(), free_port());
        let file = folder.write("site.st", SITE);
        let mut command = runnel();
        command.args(options).arg(file).arg(port.to_string());
        let mut process = Process::start(command.env("XDG_RUNTIME_DIR", folder.path("")));
        process.listens(port);
        Site { process, port, folder }
    }

    /// The socket, once it is there.
    fn socket(&self) -> PathBuf {
        let mut found = Vec::new();
        let runtime = self.folder.path("runnel");
        eventually("the socket is there", || {
            let entries = std::fs::read_dir(&runtime).into_iter().flatten().flatten();
            found = entries.map(|entry| entry.path()).collect();
            found.len() == 1
        });
        found.remove(0)
    }

    fn command(&self) -> Command {
        self.socket();
        let mut command = runnel();
        command.args(["attach", &self.process.id().to_string()]);
        command.env("XDG_RUNTIME_DIR", self.folder.path(""));
        command
    }

    /// Runs lines at a prompt without a terminal.
    fn attach(&self, lines: &str) -> Outcome {
        run_with(&mut self.command(), lines.as_bytes())
    }

    fn shows(&self) -> String {
        get(self.port, "/hi").text()
    }
}

/// Connects to a socket, which is in its folder a moment before it listens.
fn connect(socket: &Path) -> UnixStream {
    let mut stream = None;
    eventually("the socket listens", || {
        stream = UnixStream::connect(socket).ok();
        stream.is_some()
    });
    stream.unwrap()
}

#[test]
fn statements_run_in_the_serving_program() {
    let mut site = Site::start(&["--attach"]);
    let done = site.attach("count + 1\nlast + 1\nbase:/hi := 'new'\nfresh := [ 1,\n 2 ]\nfresh\n");
    assert_eq!((done.status, done.out.as_str(), done.err.as_str()), (0, "42\n43\n[1,2]\n", ""));
    assert_eq!(site.shows(), "new");
    // What a prompt has defined is there for the next one, as in the program.
    assert_eq!(site.attach("fresh count").out, "2\n");
    assert!(site.attach("help String startsWith:").out.contains("-<Boolean>startsWith:<"));
    assert_eq!(site.attach("!echo here\n").out, "here\n");
    let failed = site.attach("1 mod: 0\n3 +\n");
    assert_eq!(failed.status, 65, "the status is that of the last error");
    assert!(failed.err.contains("--> prompt 1:1:3"), "{}", failed.err);
    assert!(failed.err.contains("error: something is missing after `+`"), "{}", failed.err);
    assert_eq!(site.attach("shell exit: 3\n4\n").status, 3, "what ends a program ends a prompt");
    assert!(site.process.is_running());
    let long = site.attach("'x' repeated: 1000000\n");
    assert!(long.out.ends_with("… 737856 bytes more\n") && long.out.len() < 300_000);
}

#[test]
fn requests_are_answered_while_an_endless_loop_runs_until_ctrl_c() {
    let mut site = Site::start(&["--attach"]);
    let command = site.command();
    let mut shown = Command::new(command.get_program());
    shown.args(command.get_args()).env("TERM", "xterm").env("NO_COLOR", "1");
    shown.env("XDG_RUNTIME_DIR", site.folder.path("")).env("XDG_STATE_HOME", site.folder.path(""));
    let Some(mut prompt) = terminal::start_command(&shown) else {
        return skip("python3 cannot be run");
    };
    prompt.out_shows("Attached to process");
    prompt.out_shows("] ");
    terminal::press(&mut prompt, "count + 1\r");
    prompt.out_shows("42");
    terminal::press(&mut prompt, "'abc' startsW\t");
    prompt.out_shows("startsWith:");
    terminal::press(&mut prompt, "'ab'\r");
    prompt.out_shows("true");
    let before = prompt.out().len();
    terminal::press(&mut prompt, "{ base:/hi := 'looping'. true } whileTrue: { 3 }\r");
    eventually("the loop runs", || site.shows() == "looping");
    for _ in 0..50 {
        assert_eq!(site.shows(), "looping");
    }
    // The terminal makes a signal of Ctrl-C after the editor has left its raw mode.
    let pause = Duration::from_millis(300);
    eventually("the loop is interrupted", || {
        terminal::press(&mut prompt, "\x03");
        std::thread::sleep(pause);
        prompt.out()[before..].contains("interrupted")
    });
    // A Ctrl-C that came late has cleared the line.
    eventually("the next statement runs", || {
        terminal::press(&mut prompt, "base:/hi := 'ended'\r");
        std::thread::sleep(pause);
        site.shows() == "ended"
    });
    std::thread::sleep(pause);
    assert_eq!(site.shows(), "ended", "the loop has ended");
    terminal::press(&mut prompt, "\x04");
    prompt.out_shows("Bye!");
    assert_eq!(prompt.end(), 0);
    assert!(site.process.is_running() && site.shows() == "ended");
}

#[test]
fn a_prompt_that_goes_away_ends_its_statement() {
    let site = Site::start(&["--attach"]);
    let mut prompt = Process::start(site.command().stdin(Stdio::piped()));
    prompt.say("n := 0. { n := n + 1. base:/hi := n. true } whileTrue: { 3 }");
    eventually("the loop runs", || site.shows() != "Hello World!");
    drop(prompt);
    let mut last = site.shows();
    eventually("the loop ends", || {
        std::thread::sleep(Duration::from_millis(50));
        let now = site.shows();
        let has_ended = now == last;
        last = now;
        has_ended
    });
}

#[test]
fn only_a_program_that_allows_it_has_a_prompt() {
    let site = Site::start(&[]);
    let mut command = runnel();
    command.args(["attach", &site.process.id().to_string()]);
    let refused = run_with(command.env("XDG_RUNTIME_DIR", site.folder.path("")), b"3\n");
    assert_eq!(refused.status, 69);
    assert!(refused.err.contains("there is no prompt in process"), "{}", refused.err);
    assert!(refused.err.contains("runnel --attach FILE"), "{}", refused.err);
    assert!(!site.folder.path("runnel").exists());
}

#[test]
fn the_socket_is_private_and_goes_with_its_program() {
    let mut site = Site::start(&["--attach", "--workers", "2"]);
    let socket = site.socket();
    let mode = |path: &PathBuf| path.symlink_metadata().unwrap().mode() & 0o777;
    assert_eq!(mode(&socket), 0o600);
    assert_eq!(mode(&site.folder.path("runnel")), 0o700);
    let by_path = run_with(runnel().arg("attach").arg(&socket), b"count\n");
    assert_eq!((by_path.status, by_path.out.as_str()), (0, "41\n"), "{by_path:?}");
    site.process.signal("TERM");
    assert_eq!(site.process.end(), 0);
    assert!(!socket.exists());
}

#[test]
fn a_folder_that_others_can_enter_is_refused() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("runnel")).unwrap();
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(folder.path("runnel"), open).unwrap();
    let file = folder.write("site.st", SITE);
    for options in [&[][..], &["--supervise"], &["--watch"]] {
        let mut command = runnel();
        command.args(options).arg("--attach").arg(&file).arg(free_port().to_string());
        let refused = run_with(command.env("XDG_RUNTIME_DIR", folder.path("")), b"");
        assert_eq!(refused.status, 73, "{options:?}");
        assert!(refused.err.contains("is not a folder that only you can enter"), "{}", refused.err);
    }
}

#[test]
fn another_user_gets_no_prompt() {
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|facts| facts.uid() == 0);
    let known = Command::new("setpriv").arg("--version").stdout(Stdio::null()).status();
    if !is_root || !known.is_ok_and(|status| status.success()) {
        return skip("another user needs root and setpriv");
    }
    let (folder, port) = (Folder::new(), free_port());
    let file = folder.write("site.st", SITE);
    let owner = Command::new("chown").arg("-R").arg("65534:65534").arg(folder.path("")).status();
    assert!(owner.unwrap().success());
    // A copy where that user can run it.
    let program = folder.path("runnel-of-others");
    std::fs::copy(runnel().get_program(), &program).unwrap();
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(program);
    command.arg("--attach").arg(file).arg(port.to_string()).current_dir(folder.path(""));
    let mut process = Process::start(command.env("XDG_RUNTIME_DIR", folder.path("")));
    process.listens(port);
    let site = Site { process, port, folder };
    let socket = site.socket();
    // Root may enter the folder; each side looks at the user of the other.
    let refused = run_with(runnel().arg("attach").arg(&socket), b"count\n");
    assert_eq!((refused.status, refused.out.as_str()), (69, ""));
    assert!(refused.err.contains("belongs to another user"), "{}", refused.err);
    let mut stream = connect(&socket);
    let mut answer = Vec::new();
    // A reset connection is closed, too.
    let _ = stream.write_all(b"{\"line\":\"base:/hi := 'theirs'\"}\n");
    let _ = stream.read_to_end(&mut answer);
    assert_eq!(String::from_utf8_lossy(&answer), "");
    assert_eq!(site.shows(), "Hello World!");
}

#[test]
fn a_supervised_program_is_attached_to_by_its_supervisor() {
    let site = Site::start(&["--attach", "--supervise"]);
    let done = site.attach("base:/hi := 'supervised'. 3\n");
    assert_eq!((done.status, done.out.as_str()), (0, "3\n"), "{done:?}");
    assert_eq!(site.shows(), "supervised");
}

#[test]
fn prompts_are_bounded_and_nonsense_ends_one() {
    let site = Site::start(&["--attach"]);
    let socket = site.socket();
    let open = || {
        let mut stream = BufReader::new(connect(&socket));
        let mut greeting = String::new();
        stream.read_line(&mut greeting).unwrap();
        (stream, greeting)
    };
    let prompts: Vec<_> = (0..4).map(|_| open()).collect();
    assert!(prompts.iter().all(|(_, greeting)| greeting.contains("welcome")));
    let refused = site.attach("3\n");
    assert_eq!(refused.status, 69);
    assert!(refused.err.contains("4 prompts are attached already"), "{}", refused.err);
    drop(prompts);
    for nonsense in [&b"nonsense\n"[..], b"{}\n", b"{\"line\":3}\n", b"\xff\xfe\n"] {
        eventually("there is room", || open().1.contains("welcome"));
        let (mut stream, _) = open();
        stream.get_mut().write_all(nonsense).unwrap();
        let mut rest = String::new();
        // A reset connection is closed, too.
        let _ = stream.read_to_string(&mut rest);
        assert_eq!(rest, "");
    }
    eventually("a prompt is free", || site.attach("count\n").out == "41\n");
}
