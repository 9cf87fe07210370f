//! The scheme `sqlite:`: databases by the paths of their files.

use crate::sqlite::database::SqliteDatabase;
use crate::sqlite::options::SqliteOptions;
use runnel_store::{Below, Layer, PathUp, Reference, Result, Store, Verb};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// A store of all SQLite databases: in `sqlite:tasks.db/tasks/7` the file is the path up to the first
/// name with an extension of databases (`.db`, `.sqlite`, `.sqlite3`) or `:memory:`, and otherwise the
/// whole path. A database stays open after its first use.
#[derive(Default)]
pub struct SqliteScheme {
    /// By their paths.
    databases: RefCell<HashMap<String, Rc<SqliteDatabase>>>,
}

impl SqliteScheme {
    /// Without a database yet.
    pub fn new() -> Rc<Self> {
        Rc::default()
    }

    /// Opens a database. Without options, answers the open database or opens it with the defaults.
    ///
    /// # Errors
    /// Those of [`SqliteDatabase::open`].
    pub fn open(&self, path: &str, options: Option<SqliteOptions>) -> Result<Rc<SqliteDatabase>> {
        if options.is_none()
            && let Some(database) = self.databases.borrow().get(path)
        {
            return Ok(database.clone());
        }
        let database = SqliteDatabase::open(path, options.unwrap_or_default())?;
        self.databases.borrow_mut().insert(path.to_string(), database.clone());
        Ok(database)
    }
}

/// The path of the file or the name of the database in memory, and the rest of the path.
fn split(path: &str) -> (&str, &str) {
    if path.starts_with(":memory:") {
        return path.split_once('/').unwrap_or((path, ""));
    }
    for ending in [".db", ".sqlite", ".sqlite3"] {
        if let Some(at) = path.find(&format!("{ending}/")) {
            let cut = at + ending.len();
            return (&path[..cut], &path[cut + 1..]);
        }
    }
    (path, "")
}

impl Layer for SqliteScheme {
    fn below<'a>(&'a self, _: Verb, reference: &'a Reference) -> Result<Below<'a>> {
        let (file, rest) = split(reference.path());
        Ok(Below::found(self.open(file, None)?, reference.with_path(rest)))
    }

    /// References begin with the file.
    fn up(&self, reference: &Reference) -> Option<PathUp> {
        let file = Reference::from_path(split(reference.path()).0.to_string());
        Some(Box::new(move |below| Some(file.join(below.relative_path()))))
    }

    fn over(&self, _: Rc<dyn Store>) -> Option<Rc<dyn Store>> {
        None
    }

    fn name(&self) -> String {
        "sqlite".into()
    }

    fn layer_sources(&self) -> Vec<(String, Rc<dyn Store>)> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_database_is_the_first_part_of_the_path() {
        assert_eq!(split("tasks.db/tasks/7"), ("tasks.db", "tasks/7"));
        assert_eq!(split("a/b.sqlite3/tasks"), ("a/b.sqlite3", "tasks"));
        assert_eq!(split(":memory:/tasks"), (":memory:", "tasks"));
        assert_eq!(split(":memory:test-1/tasks/7"), (":memory:test-1", "tasks/7"));
        assert_eq!(split(":memory:shop"), (":memory:shop", ""));
        assert_eq!(split("tasks.db"), ("tasks.db", ""));
    }
}
