//! The files of the project, as the checks see them.

use std::path::{Path, PathBuf};
use std::{fs, io};

/// What holds no part of the project, by its path from the root. `.git` is a file in a linked work tree.
const OUTSIDE: [&str; 7] = [
    ".git",
    "target",
    "dist",
    "benches/search-peers/target",
    "fuzz/target",
    "fuzz/corpus",
    "fuzz/artifacts",
];
/// Folders of that name are outside wherever they are.
const OUTSIDE_ANYWHERE: [&str; 1] = ["node_modules"];
/// Endings of files that running the project leaves behind; `.gitignore` names them too.
const LEFT_BEHIND: [&str; 5] =
    [".db", ".db-wal", ".db-shm", ".db-journal", ".proptest-regressions"];

/// A text file of the project.
#[derive(Clone, Debug)]
pub struct File {
    /// Its path from the root, with `/`.
    pub path: String,
    /// Its text.
    pub text: String,
}

impl File {
    /// Whether its name ends so.
    pub fn is(&self, ending: &str) -> bool {
        self.path.ends_with(ending)
    }

    /// Its lines, each with its number from 1.
    pub fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(number, line)| (number + 1, line))
    }
}

/// All text files of the project, in the order of their paths.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    files: Vec<File>,
}

impl Tree {
    /// The root of the project that this code belongs to.
    pub fn root() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
    }

    /// Reads the project. Files that are not UTF-8 text are left out.
    ///
    /// # Errors
    /// When a folder or file cannot be read.
    pub fn read(root: &Path) -> io::Result<Tree> {
        let mut tree = Tree::default();
        let mut folders = vec![String::new()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(root.join(&folder))? {
                let entry = entry?;
                let name = entry.file_name().to_string_lossy().into_owned();
                let path =
                    if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
                let kind = entry.file_type()?;
                if OUTSIDE.contains(&path.as_str()) {
                    continue;
                }
                if kind.is_dir() {
                    if !OUTSIDE_ANYWHERE.contains(&name.as_str()) {
                        folders.push(path);
                    }
                } else if kind.is_file()
                    && !LEFT_BEHIND.iter().any(|ending| name.ends_with(ending))
                    && let Ok(text) = String::from_utf8(fs::read(entry.path())?)
                {
                    tree.files.push(File { path, text });
                }
            }
        }
        tree.files.sort_by(|left, right| left.path.cmp(&right.path));
        Ok(tree)
    }

    /// A project of the given files, for tests.
    pub fn of(files: &[(&str, &str)]) -> Tree {
        let file =
            |(path, text): &(&str, &str)| File { path: (*path).into(), text: (*text).into() };
        Tree { files: files.iter().map(file).collect() }
    }

    /// Its files.
    pub fn files(&self) -> &[File] {
        &self.files
    }

    /// The file at a path.
    pub fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    /// Whether there is a file or folder at a path.
    pub fn has(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        let folder = format!("{path}/");
        self.files.iter().any(|file| file.path == path || file.path.starts_with(&folder))
    }

    /// The files that end so.
    pub fn ending(&self, ending: &str) -> impl Iterator<Item = &File> {
        self.files.iter().filter(move |file| file.is(ending))
    }

    /// The files in a folder, at any depth.
    pub fn under(&self, folder: &str) -> impl Iterator<Item = &File> {
        let prefix = format!("{folder}/");
        self.files.iter().filter(move |file| file.path.starts_with(&prefix))
    }

    /// The crates of the project: the names of the folders in `crates/`.
    pub fn crates(&self) -> Vec<&str> {
        let names = self.files.iter().filter_map(|file| {
            let rest = file.path.strip_prefix("crates/")?;
            rest.split_once('/').filter(|(_, file)| *file == "Cargo.toml").map(|(name, _)| name)
        });
        names.collect()
    }
}
