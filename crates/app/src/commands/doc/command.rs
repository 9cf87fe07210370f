//! The commands of the binary, as `--help` defines them.

use clap::Command;
use std::sync::OnceLock;

/// Makes the command line; `main` gives it, since its definition names the commands.
static COMMAND_LINE: OnceLock<fn() -> Command> = OnceLock::new();

/// Gives the definition of the command line.
pub(crate) fn set_command_line(make: fn() -> Command) {
    let _ = COMMAND_LINE.set(make);
}

/// All commands, in the order of `--help`.
pub(crate) fn commands() -> Vec<Command> {
    let Some(make) = COMMAND_LINE.get() else { return Vec::new() };
    let mut root = make();
    root.build();
    root.get_subcommands().filter(|one| one.get_name() != "help").cloned().collect()
}

/// The command of a name.
pub(crate) fn command_of(name: &str) -> Option<Command> {
    commands().into_iter().find(|one| one.get_name() == name)
}

/// What it does, in one line.
pub(crate) fn about(command: &Command) -> String {
    command.get_about().map(ToString::to_string).unwrap_or_default()
}

/// Its `--help`.
pub(crate) fn help(command: &Command) -> String {
    command.clone().render_long_help().to_string().trim_end().to_owned()
}
