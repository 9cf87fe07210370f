//! A program at a terminal: Python's `pty` module gives it one.

use super::Process;
use std::path::Path;
use std::process::{Command, Stdio};

/// Runs the command in `argv[1:]` at a terminal of its own, and passes on what is typed and shown.
/// It answers the question where the cursor is, as terminals do.
const RELAY: &str = r#"
import fcntl, os, pty, select, struct, sys, termios
child, terminal = pty.fork()
if child == 0:
    os.execv(sys.argv[1], sys.argv[1:])
fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack('HHHH', 24, 80, 0, 0))
sources = [terminal, 0]
while True:
    ready, _, _ = select.select(sources, [], [])
    if terminal in ready:
        try:
            shown = os.read(terminal, 4096)
        except OSError:
            shown = b''
        if not shown:
            break
        if b'\x1b[6n' in shown:
            os.write(terminal, b'\x1b[1;1R')
        os.write(1, shown)
    if 0 in ready:
        typed = os.read(0, 4096)
        if typed:
            os.write(terminal, typed)
        else:
            sources.remove(0)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"#;

/// Starts a program of the command at a terminal; `None` where there is no Python.
pub(crate) fn start(file: Option<&Path>) -> Option<Process> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_runnel"));
    command.args(file).env_remove("RUNNEL_LOG").env("TERM", "xterm-256color");
    start_command(&command)
}

/// Starts a command at a terminal; `None` where there is no Python. Its program is an absolute path.
pub(crate) fn start_command(shown: &Command) -> Option<Process> {
    let python = Command::new("python3")
        .args(["-c", "import pty, os; os.waitstatus_to_exitcode"])
        .stderr(Stdio::null())
        .status();
    if !python.is_ok_and(|status| status.success()) {
        return None;
    }
    let mut command = Command::new("python3");
    command.arg("-c").arg(RELAY).arg(shown.get_program()).args(shown.get_args());
    for (name, value) in shown.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.current_dir(shown.get_current_dir().unwrap_or(Path::new(".")));
    Some(Process::start(command.stdin(Stdio::piped())))
}

/// Types a line and presses Enter.
pub(crate) fn enter(process: &mut Process, line: &str) {
    press(process, &format!("{line}\r"));
}

/// Presses keys.
pub(crate) fn press(process: &mut Process, keys: &str) {
    use std::io::Write;
    let stdin = process.stdin.as_mut().expect("the relay reads its input");
    let sent = stdin.write_all(keys.as_bytes()).and_then(|()| stdin.flush());
    sent.expect("the relay takes what is typed");
}
