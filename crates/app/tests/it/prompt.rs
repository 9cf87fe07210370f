//! The prompt at a terminal: a pseudo terminal made by python3, whose answers this test gives.

use crate::support::{Folder, PATIENCE, run};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};

/// Runs its arguments in a pseudo terminal, joined to its own input and output.
const RELAY: &str =
    "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))";
/// The question for the place of the cursor (ECMA-48, device status report).
const ASKS: &[u8] = b"\x1b[6n";

/// A command at a terminal, seen from the person who types.
struct Terminal {
    child: Child,
    keys: Arc<Mutex<ChildStdin>>,
    seen: Arc<(Mutex<Vec<u8>>, Condvar)>,
    /// Bytes of what was seen that `wait` has passed.
    passed: usize,
}

impl Terminal {
    /// `None` when there is no python3.
    fn open(folder: &std::path::Path, arguments: &[&str]) -> Option<Terminal> {
        let mut command = Command::new("python3");
        command.args(["-c", RELAY, "sh", "-c", "stty rows 24 cols 100; exec \"$@\"", "sh"]);
        command.arg(env!("CARGO_BIN_EXE_runnel")).args(arguments).current_dir(folder);
        command.env("XDG_STATE_HOME", folder).env("NO_COLOR", "1").env("TERM", "xterm");
        let spawned = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = match spawned {
            Ok(child) => child,
            Err(error) => {
                runnel_scratch::leave_out(&format!("python3 cannot be run: {error}"));
                return None;
            }
        };
        let keys = Arc::new(Mutex::new(child.stdin.take().unwrap()));
        let seen = Arc::new((Mutex::new(Vec::new()), Condvar::new()));
        let (writer, shown, mut output) =
            (keys.clone(), seen.clone(), child.stdout.take().unwrap());
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            let mut answered = 0;
            while let Ok(count @ 1..) = output.read(&mut bytes) {
                let mut seen = shown.0.lock().unwrap();
                seen.extend_from_slice(&bytes[..count]);
                // The editor asks where the cursor is; a terminal answers.
                let asked = seen.windows(ASKS.len()).filter(|bytes| *bytes == ASKS).count();
                for _ in answered..asked {
                    let _ = writer.lock().unwrap().write_all(b"\x1b[1;1R");
                }
                answered = asked;
                shown.1.notify_all();
            }
        });
        Some(Terminal { child, keys, seen, passed: 0 })
    }

    fn press(&self, keys: &str) {
        self.keys.lock().unwrap().write_all(keys.as_bytes()).unwrap();
    }

    /// Presses Ctrl-C until what runs is interrupted. The terminal makes a signal of it only after the
    /// editor has left its raw mode, which is later than the line it shows.
    fn interrupt(&mut self) {
        let is_interrupted = |seen: &[u8]| seen.windows(11).any(|bytes| bytes == b"interrupted");
        for _ in 0..30 {
            self.press("\x03");
            let seen = self.seen.0.lock().unwrap();
            let waited = self.seen.1.wait_timeout_while(seen, PATIENCE / 120, |seen| {
                !is_interrupted(&seen[self.passed..])
            });
            if is_interrupted(&waited.unwrap().0[self.passed..]) {
                break;
            }
        }
        self.wait("interrupted");
    }

    /// Waits until a text appears after what was waited for before.
    fn wait(&mut self, text: &str) {
        let passed = self.passed;
        let place = |seen: &[u8]| {
            seen[passed..].windows(text.len()).position(|bytes| bytes == text.as_bytes())
        };
        let seen = self.seen.0.lock().unwrap();
        let (seen, _) =
            self.seen.1.wait_timeout_while(seen, PATIENCE, |seen| place(seen).is_none()).unwrap();
        let Some(at) = place(&seen) else {
            panic!("{text:?} did not appear in {:?}", String::from_utf8_lossy(&seen[passed..]));
        };
        self.passed += at + text.len();
    }

    /// Types a line once the prompt is there, and waits for what it leads to.
    fn line(&mut self, line: &str, shows: &str) {
        self.wait("] ");
        self.press(line);
        self.wait(line);
        self.press("\r");
        self.wait(shows);
    }
}

impl Drop for Terminal {
    /// A test that fails leaves no prompt behind: its terminal is gone.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const SERVER: &str = "scheme:base ← SiteMap store.\n\
    base:/hi ← 'Hello World!'.\n\
    server ← #HTTPServer{ scheme: scheme:base, port: 0 }.\n\
    server start.\n\
    shell runInteractiveLoop.\n\
    stdout println: 'after the loop'.\n";

fn get(port: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(format!("127.0.0.1:{port}")).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.split_once("\r\n\r\n").unwrap().1.to_string()
}

#[test]
fn a_served_program_is_changed_from_its_prompt() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("server.st"), SERVER).unwrap();
    let Some(mut terminal) = Terminal::open(folder.path(), &["server.st"]) else { return };
    terminal.line("file:port ← server port", "\r\n");
    terminal.line("30 + 4", "34");
    terminal.line("last + 1", "35");
    let port = std::fs::read_to_string(folder.path().join("port")).unwrap();
    assert_eq!(get(&port, "/hi"), "Hello World!");
    terminal.line("base:/hi := 'new'", "\r\n");
    terminal.line("last + 2", "37");
    assert_eq!(get(&port, "/hi"), "new");

    terminal.line("1 mod: 0", "error: ");
    terminal.line("[ 5,", "*] ");
    terminal.press("6 ]\r");
    terminal.wait("[5,6]");
    terminal.line("!echo from the shell", "from the shell\r\n");

    terminal.line("{ true } whileTrue: { 3 }", "\r\n");
    terminal.interrupt();
    terminal.wait("] ");
    terminal.press("nonsense\x03");
    terminal.line("'still ' , 'here'", "still here");

    terminal.wait("] ");
    terminal.press("\x04");
    terminal.wait("Bye!");
    terminal.wait("after the loop");
    assert_eq!(terminal.child.wait().unwrap().code(), Some(0));
    let history = std::fs::read_to_string(folder.path().join("runnel/history")).unwrap();
    assert!(history.lines().any(|line| line == "30 + 4"), "{history}");
}

#[test]
fn the_prompt_alone_greets_completes_and_ends() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut terminal) = Terminal::open(folder.path(), &[]) else { return };
    terminal.wait("Ctrl-D leaves");
    terminal.wait("] ");
    terminal.press("remarkable ← 41\r");
    terminal.wait("] ");
    terminal.press("remark\t");
    terminal.wait("remarkable");
    terminal.press("+ 1\r");
    terminal.wait("42");
    terminal.wait("] ");
    terminal.press("shell exit: 3\r");
    assert_eq!(terminal.child.wait().unwrap().code(), Some(3));
}

#[test]
fn enter_after_tab_runs_the_line_and_a_second_tab_chooses() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut terminal) = Terminal::open(folder.path(), &[]) else { return };
    terminal.wait("Ctrl-D leaves");
    // Several proposals: the menu is open, and Enter runs the line as it is.
    terminal.wait("] ");
    terminal.press("'shown by ', 'enter' \t");
    terminal.wait("asArray");
    terminal.press("\r");
    terminal.wait("shown by enter");
    // A second Tab is in the menu: the first Enter takes the marked proposal, the second one runs.
    terminal.line("class Ship { -sailAway { 'far' } -sailHome { 'near' } }", "\r\n");
    terminal.wait("] ");
    terminal.press("#Ship{ } sail\t");
    terminal.wait("sailHome");
    terminal.press("\t");
    terminal.press("\r");
    terminal.wait("sailAway");
    terminal.press("\r");
    terminal.wait("far");
    // A single proposal is taken, and explained.
    terminal.wait("] ");
    terminal.press("'abc' startsW\t");
    terminal.wait("String -<Boolean>startsWith:<");
    terminal.press("'ab'\r");
    terminal.wait("true");
    terminal.line("help String startsWith:", "-<Boolean>startsWith:<");
    terminal.line("help", "help NAME");
    terminal.line("help startsWth:", "did you mean");
}

#[test]
fn completion_knows_the_receiver() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut terminal) = Terminal::open(folder.path(), &[]) else { return };
    terminal.wait("Ctrl-D leaves");
    terminal.line("class Ship { -sailHome { 'home' } }", "\r\n");
    terminal.line("ship := #Ship{ }", "\r\n");
    terminal.wait("] ");
    terminal.press("ship sail\t");
    terminal.wait("sailHome");
    terminal.press("\r");
    terminal.wait("home");
    // No text sails: nothing completes.
    terminal.wait("] ");
    terminal.press("'abc' sail\t\x03");
    terminal.wait("] ");
    terminal.press("3 + 4\r");
    terminal.wait("7");
}

#[test]
fn without_a_terminal_lines_are_run() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_runnel"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let input = b"3 + 4\na := [ 1,\n 2 ].\na count\n1 mod: 0\nstdout println: 'on'\n";
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "7\n2\non\n");
    assert!(String::from_utf8_lossy(&output.stderr).contains("--> prompt 4:1"));
    assert_eq!(output.status.code(), Some(70));
}

/// Starts a program at a terminal, with the signal of a lost terminal ignored as by `nohup`, and lets the terminal go
/// while its editor waits for keys.
const LET_GO: &str = r#"
import os, pty, signal, sys, time
signal.signal(signal.SIGHUP, signal.SIG_IGN)
child, terminal = pty.fork()
if child == 0:
    os.execv(sys.argv[1], sys.argv[1:])
said = b""
while b"\x1b[6n" not in said: # the editor asks for the place of the cursor
    said += os.read(terminal, 4096)
os.write(terminal, b"\x1b[4;1R")
time.sleep(0.3) # it reads keys
os.close(terminal)
for _ in range(6000):
    if os.waitpid(child, os.WNOHANG)[0] == child:
        sys.exit("ended")
    time.sleep(0.02)
os.kill(child, signal.SIGKILL)
sys.exit("goes on")
"#;

#[test]
fn a_prompt_ends_with_its_terminal() {
    let folder = Folder::new();
    let mut python = Command::new("python3");
    python.args(["-c", LET_GO, env!("CARGO_BIN_EXE_runnel")]);
    python.env("XDG_STATE_HOME", folder.path("")).env("TERM", "xterm");
    let outcome = run(&mut python);
    assert_eq!(outcome.err.trim(), "ended", "{}", outcome.out);
}
