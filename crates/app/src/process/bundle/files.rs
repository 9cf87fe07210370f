//! References to the files inside the executable: the scheme `file:` reads them in place of files of the same names on
//! the disk, and nothing changes them.

use super::format::Bundle;
use runnel_store::{
    Below, Confinement, Content, Context, Layer, Memory, ReadOnly, Reference, Relative, Result,
    Store, Verb,
};
use std::rc::Rc;

/// The files inside, in front of those of the system.
pub(crate) struct InsideFiles {
    bundle: &'static Bundle,
    inside: Rc<dyn Store>,
    disk: Rc<dyn Store>,
}

impl InsideFiles {
    /// The files of the system alone, where the program is not inside the executable.
    pub(crate) fn before(disk: Rc<dyn Store>) -> Rc<dyn Store> {
        let Some(bundle) = super::running() else { return disk };
        let inside = Memory::site();
        for (name, bytes) in &bundle.files {
            let content = Content::bytes(bytes.clone());
            // Memory answers at once.
            drop(inside.put(&Reference::from_path(name.clone()), content, &Context::default()));
        }
        let inside = Rc::new(ReadOnly::new(Rc::new(inside)));
        Rc::new(InsideFiles { bundle, inside, disk })
    }

    /// The name of what lies inside: a file, or what is in a folder of which all is inside.
    fn name(&self, reference: &Reference) -> Option<String> {
        let name = relative(reference.path())?;
        let is_in = |folder: &String| {
            name.strip_prefix(folder.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let is_inside =
            self.bundle.files.contains_key(&name) || self.bundle.folders.iter().any(is_in);
        is_inside.then_some(name)
    }
}

/// A path from the folder of the program, without `.` and with `..` at its beginning only; `None` for an absolute one.
pub(crate) fn relative(path: &str) -> Option<String> {
    if path.starts_with('/') {
        return None;
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/').filter(|part| !part.is_empty() && *part != ".") {
        match (part, parts.last()) {
            ("..", Some(last)) if *last != ".." => drop(parts.pop()),
            _ => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

impl Layer for InsideFiles {
    fn below<'a>(&'a self, _: Verb, reference: &'a Reference) -> Result<Below<'a>> {
        Ok(match InsideFiles::name(self, reference) {
            Some(name) => Below::at(&self.inside, reference.with_path(name)),
            None => Below::same(&self.disk, reference),
        })
    }

    fn over(&self, inner: Rc<dyn Store>) -> Option<Rc<dyn Store>> {
        Some(inner)
    }

    /// Below a folder inside, there is nothing of the disk.
    fn layer_confined(&self, reference: &Reference, links: bool) -> Confinement {
        match InsideFiles::name(self, reference) {
            Some(name) => {
                let root = Reference::from_path(name);
                Confinement::By(Rc::new(Relative::new(self.inside.clone(), root)))
            }
            None => self.disk.confined(reference, links),
        }
    }

    fn name(&self) -> String {
        self.disk.describe()
    }

    fn layer_sources(&self) -> Vec<(String, Rc<dyn Store>)> {
        self.disk.sources()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_have_one_form() {
        for (path, form) in [
            ("static", Some("static")),
            ("./static//a.css", Some("static/a.css")),
            ("static/../main.st", Some("main.st")),
            ("../lib/a.st", Some("../lib/a.st")),
            ("../../a", Some("../../a")),
            ("", Some("")),
            ("/static", None),
        ] {
            assert_eq!(relative(path).as_deref(), form, "{path}");
        }
    }
}
