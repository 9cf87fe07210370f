//! `runnel new`: a small project of a kind, with tests, in a folder of its own.
//!
//! The projects are the files in `templates/`; tests create each one, check it and run it.

use crate::console::Console;
use crate::exit_status;
use clap::ValueEnum;
use std::fs::{DirBuilder, File};
use std::io::{ErrorKind, Write};
use std::path::{Component, Path};

/// What a new project is.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ProjectKind {
    /// An API with accounts, keys, checked requests, OpenAPI and SQLite.
    Api,
    /// A site: pages, static files and a form.
    Site,
    /// A live page: what one browser changes, all of them show.
    Live,
    /// A command with arguments and options.
    Cli,
}

/// A file of a project: its path and its content.
type ProjectFile = (&'static str, &'static str);

/// The content of a file in the folder of templates.
macro_rules! template {
    ($path:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/templates/", $path))
    };
}

/// What is not kept under version control: databases.
const IGNORED: ProjectFile = (".gitignore", template!("gitignore"));

impl ProjectKind {
    fn files(self) -> &'static [ProjectFile] {
        match self {
            ProjectKind::Api => &[
                ("main.rnl", template!("api/main.rnl")),
                ("README.md", template!("api/README.md")),
                IGNORED,
            ],
            ProjectKind::Site => &[
                ("main.rnl", template!("site/main.rnl")),
                ("static/site.css", template!("site/static/site.css")),
                ("README.md", template!("site/README.md")),
                IGNORED,
            ],
            ProjectKind::Live => &[
                ("main.rnl", template!("live/main.rnl")),
                ("README.md", template!("live/README.md")),
                IGNORED,
            ],
            ProjectKind::Cli => &[
                ("main.rnl", template!("cli/main.rnl")),
                ("README.md", template!("cli/README.md")),
            ],
        }
    }

    /// The command that shows the project at work.
    fn first_run(self) -> &'static str {
        match self {
            ProjectKind::Cli => "runnel main.rnl README.md --top 3",
            _ => "runnel --port 8080 --watch main.rnl",
        }
    }
}

/// Makes the project and prints the next steps; answers the exit status.
pub(crate) fn run(kind: ProjectKind, folder: &Path) -> u8 {
    match check_name(folder).and_then(|name| make(kind, folder).map(|()| name)) {
        Ok(name) => {
            let files: Vec<&str> = kind.files().iter().map(|(path, _)| *path).collect();
            Console::line(&format!(
                "made {name}: {}\n\n  cd {}\n  runnel test main.rnl\n  {}",
                files.join(", "),
                quoted(name),
                kind.first_run()
            ));
            0
        }
        Err((message, status)) => {
            Console::error(&format!("error: {message}"));
            status
        }
    }
}

/// The text of the path, where a folder of that name can be used in a shell and in a reference.
fn check_name(folder: &Path) -> Result<&str, (String, u8)> {
    let refused = |why: &str| {
        let shown = folder.to_string_lossy();
        let help = "help: name a new folder, as in `runnel new api shop`";
        Err((format!("{:?} {why}\n  {help}", shown), exit_status::USAGE))
    };
    let Some(name) = folder.to_str() else { return refused("is no UTF-8 text") };
    if name.trim().is_empty() {
        return refused("is no name of a folder");
    }
    if name.chars().any(char::is_control) {
        return refused("has a control character");
    }
    match folder.components().next_back() {
        Some(Component::RootDir | Component::ParentDir) => refused("is no name of a new folder"),
        _ => Ok(name),
    }
}

/// Writes the files into a folder that does not exist, or is empty. Nothing is overwritten.
fn make(kind: ProjectKind, folder: &Path) -> Result<(), (String, u8)> {
    let shown = folder.display();
    let failed = |error: std::io::Error| {
        (format!("{shown} cannot be made: {error}"), exit_status::CANNOT_CREATE)
    };
    match std::fs::read_dir(folder) {
        Ok(entries) => {
            let mut others = entries.flatten().filter(|entry| entry.file_name() != ".git");
            if let Some(entry) = others.next() {
                let found = entry.file_name();
                let message = format!(
                    "{shown} is not empty: it has {:?}\n  help: name a folder that does not exist",
                    found.to_string_lossy()
                );
                return Err((message, exit_status::CANNOT_CREATE));
            }
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) if error.kind() == ErrorKind::NotADirectory => {
            let message = format!("{shown} is a file\n  help: name a folder that does not exist");
            return Err((message, exit_status::CANNOT_CREATE));
        }
        Err(error) => return Err(failed(error)),
    }
    for (path, content) in kind.files() {
        let path = folder.join(path);
        if let Some(parent) = path.parent() {
            DirBuilder::new().recursive(true).create(parent).map_err(failed)?;
        }
        let mut file = File::create_new(&path).map_err(failed)?;
        file.write_all(content.as_bytes()).map_err(failed)?;
    }
    Ok(())
}

/// The text as one word of a shell.
fn quoted(text: &str) -> String {
    let is_plain = |one: char| one.is_alphanumeric() || "_-./".contains(one);
    match text.chars().all(is_plain) && !text.starts_with('-') {
        true => text.to_string(),
        false if text.starts_with('-') => format!("'./{}'", text.replace('\'', r"'\''")),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}
