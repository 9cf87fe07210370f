//! Command lines in pages: `$ command`, and below it what it prints.

use super::TIME;
use super::expect::{matches, trimmed};
use super::outcome::{Edit, Failure};
use super::page::Fence;
use std::path::Path;
use std::process::{ExitStatus, Stdio};

/// A command with what it should print. Lines are numbered from 0.
#[derive(Debug, PartialEq)]
struct Command {
    line: usize,
    /// The line after the command's own.
    output: usize,
    /// The line after the output.
    end: usize,
    text: String,
    expected: String,
}

fn read(text: &str) -> Vec<Command> {
    let mut commands: Vec<Command> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if let Some(command) = line.strip_prefix("$ ") {
            let (text, expected) = (command.to_string(), String::new());
            let next = number + 1;
            commands.push(Command { line: number, output: next, end: next, text, expected });
        } else if let Some(last) = commands.last_mut() {
            if let Some(more) = line.strip_prefix("> ").filter(|_| last.output == number) {
                last.text.push('\n');
                last.text.push_str(more);
                last.output = number + 1;
            } else {
                last.expected.push_str(line);
                last.expected.push('\n');
            }
            last.end = number + 1;
        }
    }
    commands
}

/// Runs the commands of a block one after another in the current folder.
pub(crate) async fn run(fence: &Fence, page: &Path) -> Vec<Failure> {
    let mut failures = Vec::new();
    let commands = read(&fence.text);
    if commands.is_empty() {
        let wrong = "an `sh` block needs a line that begins with `$ `";
        return vec![Failure::plain(fence.line, wrong, "")];
    }
    let start = fence.line + 1;
    for command in commands {
        let line = start + command.line;
        let what = format!("$ {}", command.text);
        match tokio::time::timeout(TIME, execute(&command.text, page)).await {
            Err(_) => failures.push(Failure::plain(line, what, super::took_too_long())),
            Ok(Err(error)) => failures.push(Failure::plain(line, what, error.to_string())),
            Ok(Ok((said, status))) => {
                let actual = with_status(&said, status);
                if !matches(&command.expected, &actual) {
                    let (from, to) = (start + command.output, start + command.end);
                    let empty = actual.is_empty();
                    let text = if empty { String::new() } else { format!("{actual}\n") };
                    let edit = Some(Edit { from, to, text });
                    let expected = trimmed(&command.expected);
                    failures.push(Failure { line, what, expected, actual, edit });
                }
            }
        }
    }
    failures
}

/// What a command printed; a status other than 0 is a last line such as `[65]`.
fn with_status(said: &str, status: ExitStatus) -> String {
    let mut text = trimmed(said);
    if !status.success() {
        if !text.is_empty() {
            text.push('\n');
        }
        match status.code() {
            Some(code) => text.push_str(&format!("[{code}]")),
            None => text.push_str("[ended by a signal]"),
        }
    }
    text
}

/// Standard output and error go to one file: a command that stays in the background does not keep
/// the runner waiting, and is ended with the group of its shell.
async fn execute(command: &str, page: &Path) -> std::io::Result<(String, ExitStatus)> {
    let path = std::env::temp_dir().join(format!("runnel-sh-{}", std::process::id()));
    let file = std::fs::File::create(&path)?;
    let executable = std::env::current_exe()?;
    let mut search = std::ffi::OsString::from(executable.parent().unwrap_or(Path::new("/")));
    search.push(":");
    search.push(std::env::var_os("PATH").unwrap_or_default());
    let mut child = tokio::process::Command::new("sh")
        .args(["-c", command])
        .env("PATH", search)
        .env("HOME", std::env::current_dir()?)
        .env("PAGES", page.parent().unwrap_or(Path::new(".")))
        .env_remove("XDG_STATE_HOME")
        .stdin(Stdio::null())
        .stdout(file.try_clone()?)
        .stderr(file)
        .process_group(0)
        .kill_on_drop(true)
        .spawn()?;
    let group = child.id();
    let status = child.wait().await?;
    if let Some(group) = group {
        end_group(group).await;
    }
    let said = std::fs::read(&path)?;
    std::fs::remove_file(&path)?;
    Ok((String::from_utf8_lossy(&said).into_owned(), status))
}

/// Ends what a shell left running.
async fn end_group(group: u32) {
    let mut kill = tokio::process::Command::new("sh");
    kill.args(["-c", &format!("kill -- -{group}")]).stderr(Stdio::null());
    // It fails when nothing is left, which is the usual case.
    let _ = kill.status().await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_have_their_output_below() {
        let commands = read("$ cat <<E\n> a\n> E\na\n\n$ true\n");
        assert_eq!(commands[0].text, "cat <<E\na\nE");
        assert_eq!(commands[0].expected, "a\n\n");
        assert_eq!((commands[0].line, commands[0].output, commands[0].end), (0, 3, 5));
        assert_eq!((commands[1].line, commands[1].output, commands[1].end), (5, 6, 6));
    }
}
