//! `runnel completions` and `runnel man`: completion in shells and man pages, from the definitions that `--help` shows.
//!
//! The script of a shell asks this command what can stand where the cursor is, with [`ASKED`] set.

use crate::console::Console;
use crate::exit_status;
use clap::{Command, ValueEnum};
use clap_complete::env::{Bash, CompleteEnv, EnvCompleter, Fish, Zsh};
use clap_mangen::Man;
use std::io::{Result, Write};
use std::path::Path;

/// The environment variable with the name of the shell that asks.
const ASKED: &str = "RUNNEL_COMPLETE";

/// What a file `_runnel` on `fpath` does the first time, when zsh has loaded it to complete a word.
const LOADED_BY_ZSH: &str =
    "[[ $funcstack[1] == _runnel ]] && _clap_dynamic_completer_runnel \"$@\"";

/// A shell that completes words by a script.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Shell {
    /// GNU bash, 4 or later.
    Bash,
    /// The Z shell.
    Zsh,
    /// fish, 3 or later.
    Fish,
}

/// Answers a shell that completes a word, and ends the process; returns where none asks.
pub(crate) fn complete(command: fn() -> Command) {
    CompleteEnv::with_factory(command).var(ASKED).complete();
}

/// Prints the completion script of a shell; answers the exit status.
pub(crate) fn completions(shell: Shell) -> u8 {
    printed(script(shell).and_then(|script| Console::bytes(&script)))
}

fn script(shell: Shell) -> Result<Vec<u8>> {
    let mut script = Vec::new();
    let completer: &dyn EnvCompleter = match shell {
        Shell::Bash => &Bash,
        Shell::Zsh => &Zsh,
        Shell::Fish => &Fish,
    };
    completer.write_registration(ASKED, "runnel", "runnel", "runnel", &mut script)?;
    if let Shell::Zsh = shell {
        writeln!(script, "{LOADED_BY_ZSH}")?;
    }
    Ok(script)
}

/// Prints the man page of `runnel`, or writes a page for each command into a folder; answers the exit status.
pub(crate) fn man(command: Command, folder: Option<&Path>) -> u8 {
    let mut root = command.disable_help_subcommand(true);
    // Gives the options of all commands to each of them.
    root.build();
    let Some(folder) = folder else {
        return printed(page(&root, "runnel").and_then(|text| Console::bytes(&text)));
    };
    match write_pages(&root, folder) {
        Ok(count) => {
            Console::line(&format!("{count} man pages written into {}", folder.display()));
            0
        }
        Err(error) => {
            let folder = folder.display();
            Console::error(&format!("error: {folder}: the man pages cannot be written: {error}"));
            exit_status::CANNOT_CREATE
        }
    }
}

/// A broken pipe ends the output early, as for other commands.
fn printed(outcome: Result<()>) -> u8 {
    match outcome {
        Ok(()) => 0,
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => 0,
        Err(error) => {
            Console::error(&format!("error: standard output cannot be written: {error}"));
            exit_status::CANNOT_CREATE
        }
    }
}

/// Writes `runnel.1`, `runnel-fmt.1` and so on; answers their number.
fn write_pages(root: &Command, folder: &Path) -> Result<usize> {
    std::fs::create_dir_all(folder)?;
    let mut open = vec![(root, "runnel".to_string())];
    let mut count = 0;
    while let Some((command, name)) = open.pop() {
        std::fs::write(folder.join(format!("{name}.1")), page(command, &name)?)?;
        count += 1;
        let inner = command.get_subcommands().filter(|command| !command.is_hide_set());
        open.extend(inner.map(|inner| (inner, format!("{name}-{}", inner.get_name()))));
    }
    Ok(count)
}

/// The page of a command. It has no date, so that the same version has the same page.
fn page(command: &Command, name: &str) -> Result<Vec<u8>> {
    let called = name.replace('-', " ");
    let command = command.clone().display_name(name.to_string()).bin_name(called);
    let source = format!("runnel {}", env!("CARGO_PKG_VERSION"));
    let mut text = Vec::new();
    Man::new(command).title(name).section("1").source(source).render(&mut text)?;
    Ok(text)
}
