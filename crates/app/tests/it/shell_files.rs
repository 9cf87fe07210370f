//! Completion in real shells, and man pages in the programs that show them.

use crate::support::{Folder, Process, eventually_or, run, runnel, skip, terminal};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A folder with a program to complete, and the script of a shell under a name.
fn folder_with(shell: &str, script: &str) -> Folder {
    let folder = Folder::new();
    folder.write("unusual.st", "3 + 4\n");
    let printed = run(runnel().args(["completions", shell]));
    assert_eq!((printed.status, printed.err.as_str()), (0, ""));
    folder.write(script, printed.out);
    folder
}

/// The path of a shell; noted where it is not installed.
fn installed(name: &str) -> Option<PathBuf> {
    let paths = std::env::var_os("PATH")?;
    let found =
        std::env::split_paths(&paths).map(|path| path.join(name)).find(|path| path.exists());
    if found.is_none() {
        skip(&format!("{name} is not installed"));
    }
    found
}

/// The search path with the command under test first.
fn search_path() -> String {
    let command = PathBuf::from(runnel().get_program());
    let paths = std::env::var("PATH").unwrap_or_default();
    format!("{}:{paths}", command.parent().unwrap().display())
}

/// A shell at a terminal, and the command under test as `runnel`.
fn shell(program: &Path, arguments: &[&str], folder: &Folder) -> Option<Process> {
    let mut shell = Command::new(program);
    shell.args(arguments).current_dir(folder.path("")).env("TERM", "dumb").env("PS1", "ready$ ");
    shell.env("PATH", search_path());
    shell.env("HOME", folder.path("")).env("ZDOTDIR", folder.path(""));
    let process = terminal::start_command(&shell);
    if process.is_none() {
        skip("python3 cannot be run");
    }
    process
}

/// Presses Tab behind some words; waits until the shell shows a text, and clears the line.
fn completes(shell: &mut Process, typed: &str, shows: &str) {
    let before = shell.out().len();
    terminal::press(shell, &format!("{typed}\t"));
    let shown = |shell: &Process| shell.out()[before..].to_string();
    eventually_or(
        || shown(shell).contains(shows),
        || format!("{typed:?} does not become {shows:?}: {:?}", shown(shell)),
    );
    terminal::press(shell, "\x15");
}

fn subcommands_options_and_files_are_completed(shell: &mut Process) {
    completes(shell, "runnel openap", "runnel openapi");
    completes(shell, "runnel fmt --chec", "runnel fmt --check");
    completes(shell, "runnel --superv", "runnel --supervise");
    completes(shell, "runnel check unus", "runnel check unusual.st");
    completes(shell, "runnel unus", "runnel unusual.st");
    completes(shell, "runnel new liv", "runnel new live");
}

#[test]
fn bash_completes() {
    let Some(bash) = installed("bash") else { return };
    let folder = folder_with("bash", "script");
    let Some(mut shell) = shell(&bash, &["--norc", "--noprofile", "-i"], &folder) else { return };
    terminal::enter(
        &mut shell,
        "bind 'set enable-bracketed-paste off'; . ./script; echo so''urced",
    );
    shell.out_shows("sourced");
    subcommands_options_and_files_are_completed(&mut shell);
}

#[test]
fn zsh_completes() {
    let Some(zsh) = installed("zsh") else { return };
    let folder = folder_with("zsh", "_runnel");
    let Some(mut shell) = shell(&zsh, &["-f", "-i"], &folder) else { return };
    let start = "fpath=($PWD $fpath); autoload -U compinit; compinit -u -D; echo so''urced";
    terminal::enter(&mut shell, start);
    shell.out_shows("sourced");
    subcommands_options_and_files_are_completed(&mut shell);
}

#[test]
fn fish_completes() {
    let Some(fish) = installed("fish") else { return };
    let folder = folder_with("fish", "runnel.fish");
    let proposals = |line: &str| {
        let script = format!("source runnel.fish; complete --do-complete '{line}'");
        let mut command = Command::new(&fish);
        command.args(["--no-config", "-c", &script]).current_dir(folder.path(""));
        let outcome = run(command.env("HOME", folder.path("")).env("PATH", search_path()));
        assert_eq!(outcome.status, 0, "{outcome:?}");
        let words = outcome.out.lines().map(|line| line.split('\t').next().unwrap_or(""));
        words.map(Into::into).collect::<Vec<String>>()
    };
    assert_eq!(proposals("runnel openap"), ["openapi"]);
    assert_eq!(proposals("runnel fmt --chec"), ["--check"]);
    assert_eq!(proposals("runnel --superv"), ["--supervise"]);
    assert_eq!(proposals("runnel check unus"), ["unusual.st"]);
    assert_eq!(proposals("runnel unus"), ["unusual.st"]);
    assert_eq!(proposals("runnel new liv"), ["live"]);
}

#[test]
fn every_command_has_a_man_page_with_its_options() {
    let folder = Folder::new();
    let pages = folder.path("man1");
    let written = run(runnel().arg("man").arg(&pages));
    assert_eq!((written.status, written.err.as_str()), (0, ""));
    let help = run(runnel().arg("--help")).out;
    let commands = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let names = commands.lines().filter_map(|line| line.split_whitespace().next());
    for name in names.filter(|name| *name != "help") {
        let page = std::fs::read_to_string(pages.join(format!("runnel-{name}.1"))).unwrap();
        let own = run(runnel().args([name, "--help"])).out;
        for option in own.split_whitespace().filter(|word| word.starts_with("--")) {
            let option = option.trim_end_matches(|last: char| !last.is_ascii_alphanumeric());
            let option = option.split(['=', '[']).next().unwrap_or(option);
            assert!(page.contains(&option.replace('-', "\\-")), "{option} of {name}");
        }
    }
    assert!(pages.join("runnel-migrate-down.1").exists(), "commands of commands have pages, too");
    assert_eq!(
        run(runnel().arg("man")).out,
        std::fs::read_to_string(pages.join("runnel.1")).unwrap()
    );
    let Some(man) = installed("man") else { return };
    let mut command = Command::new(man);
    command.arg(pages.join("runnel-fmt.1")).env("MANWIDTH", "80").env("MAN_KEEP_FORMATTING", "");
    let shown = run(command.env("LC_ALL", "C.UTF-8"));
    assert!(shown.out.contains("Change nothing; fail when a file is not formatted"), "{shown:?}");
    assert!(!shown.err.contains("warning"), "{shown:?}");
}

#[test]
fn what_cannot_be_written_is_an_error() {
    let folder = Folder::new();
    let file = folder.write("file", "");
    let failed = run(runnel().arg("man").arg(file));
    assert_eq!(failed.status, 73);
    assert!(failed.err.contains("the man pages cannot be written"), "{}", failed.err);
    assert_eq!(run(runnel().args(["completions", "bsh"])).status, 64);
}
