//! What exists before the sources of tests are compiled.

use runnel_compile::{Known, SourceRole};

/// A world of a few classes and names.
#[derive(Default)]
pub(crate) struct World {
    pub(crate) role: SourceRole,
}

const CLASSES: [&str; 7] = ["Bool", "Error", "Null", "Object", "Point", "Shell", "Task"];
const NAMES: [&str; 6] = ["count", "context", "stdin", "stdout", "tab", "window"];

impl Known for World {
    fn is_class(&self, name: &str) -> bool {
        CLASSES.contains(&name)
    }

    fn is_predefined(&self, name: &str) -> bool {
        NAMES[1..].contains(&name)
    }

    fn is_variable(&self, _name: &str) -> bool {
        false
    }

    fn is_scheme(&self, name: &str) -> bool {
        name == "file"
    }

    fn instance_variables(&self, _class: &str) -> Vec<String> {
        Vec::new()
    }

    fn names(&self) -> Vec<String> {
        CLASSES.iter().chain(&NAMES[1..]).map(|name| (*name).to_owned()).collect()
    }

    fn schemes(&self) -> Vec<String> {
        vec!["file".into()]
    }

    fn role(&self) -> SourceRole {
        self.role
    }
}
