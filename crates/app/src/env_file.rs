//! `--env-file FILE`: variables of the environment from a file of `NAME=value` lines.

use crate::console::Console;
use crate::exit_status;
use std::path::Path;

/// Sets the variables of a file that the environment does not have. It must run before other threads do.
///
/// # Errors
/// The exit status, after the problem was shown. A message has no part of the file: its values are secrets.
pub(crate) fn apply(path: &Path) -> Result<(), u8> {
    let shown = path.display();
    let (message, status) = match dotenvy::from_path(path) {
        Ok(()) => return Ok(()),
        Err(dotenvy::Error::LineParse(line, _)) => {
            let text = std::fs::read_to_string(path).unwrap_or_default();
            let first = line.lines().next().unwrap_or_default();
            let number = text.lines().position(|one| one.trim_end() == first.trim_end());
            let place = number.map(|number| format!(":{}", number + 1)).unwrap_or_default();
            let help = "help: write `NAME=value`, and a value with spaces in quotation marks";
            (format!("{shown}{place}: this is no variable\n  {help}"), exit_status::DATA)
        }
        Err(dotenvy::Error::Io(error)) => {
            (format!("{shown} cannot be read: {error}"), exit_status::NO_INPUT)
        }
        Err(_) => (format!("{shown} cannot be read"), exit_status::DATA),
    };
    Console::error(&format!("error: {message}"));
    Err(status)
}
