//! Where the options of Runnel end: before the program. What follows it is the program's own.

use crate::args::Args;
use clap::{Arg, Command, CommandFactory, Parser};
use std::ffi::OsString;

/// What the words of the command line ask for.
pub(crate) fn read(words: Vec<OsString>) -> Result<Args, clap::Error> {
    Args::try_parse_from(with_separator(&Args::command(), words))
}

/// The words of the command line with `--` behind the program, so that `runnel FILE --help` asks the program.
/// A `--` that stands there already is left alone.
fn with_separator(root: &Command, mut words: Vec<OsString>) -> Vec<OsString> {
    if let Some(at) = program(root, &words)
        && at + 1 < words.len()
        && words[at + 1] != "--"
    {
        words.insert(at + 1, "--".into());
    }
    words
}

/// The index of the program that the words run.
fn program(root: &Command, words: &[OsString]) -> Option<usize> {
    let mut command = root;
    let mut at = 1;
    while let Some(word) = words.get(at) {
        let word = word.to_str()?;
        if word == "--" {
            return None;
        }
        if word.starts_with('-') && word.len() > 1 {
            at += if takes_next(root, command, word)? { 2 } else { 1 };
            continue;
        }
        match command.find_subcommand(word) {
            Some(inner) if std::ptr::eq(command, root) => command = inner,
            _ => return has_own_arguments(command).then_some(at),
        }
        at += 1;
    }
    None
}

/// Whether a command takes a program and its arguments.
fn has_own_arguments(command: &Command) -> bool {
    command.get_positionals().any(Arg::is_trailing_var_arg_set)
}

/// Whether the value of an option is the next word; `None` for what `runnel` itself refuses, and for `-e`.
fn takes_next(root: &Command, command: &Command, word: &str) -> Option<bool> {
    let option = word.strip_prefix("--")?;
    let name = option.split('=').next()?;
    if name == "help" || name == "version" {
        return None;
    }
    let mut known = command.get_arguments().chain(root.get_arguments());
    let found = known.find(|one| one.get_long() == Some(name))?;
    Some(found.get_action().takes_values() && !option.contains('='))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn separated(line: &str) -> String {
        let words = line.split(' ').map(Into::into).collect();
        let words = with_separator(&Args::command(), words);
        words.iter().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn what_follows_the_program_is_its_own() {
        assert_eq!(separated("runnel a.st --help"), "runnel a.st -- --help");
        assert_eq!(separated("runnel --port 5 a.st --port 6"), "runnel --port 5 a.st -- --port 6");
        assert_eq!(separated("runnel --port=5 --json a.st x"), "runnel --port=5 --json a.st -- x");
        assert_eq!(separated("runnel run --watch a.st -v"), "runnel run --watch a.st -- -v");
        assert_eq!(
            separated("runnel graph --svg b.svg a.st -v"),
            "runnel graph --svg b.svg a.st -- -v"
        );
    }

    #[test]
    fn everything_else_is_left_as_it_is() {
        for line in [
            "runnel",
            "runnel a.st",
            "runnel a.st -- --help",
            "runnel --help",
            "runnel -e 3 --json",
            "runnel check a.st --json",
            "runnel run --help",
            "runnel test spec --bless",
        ] {
            assert_eq!(separated(line), line);
        }
    }
}
