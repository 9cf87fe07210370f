//! Programs of several files: where a loaded file is, and which classes it brings.
//!
//! The files that a source names by `ref:file:… load` are read when it is compiled, so that a misspelt class
//! is found before the program runs. They are compiled when they are loaded.

use super::known::KernelNames;
use runnel_compile::{Known, SourceLoad, SourceRole};
use runnel_syntax::ast::Program;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::OnceLock;

/// The files that are read for one source; the classes of more are not known.
const MOST_FILES: usize = 1000;

/// The bytes of one of them; the classes of a larger one are not known.
const MOST_BYTES: u64 = 16 * 1024 * 1024;

/// A source that lies inside the executable, by its path from the folder of the program.
pub type InsideSource = fn(&str) -> Option<&'static [u8]>;

static INSIDE: OnceLock<InsideSource> = OnceLock::new();

/// Says that the program of this process and its files lie inside the executable: then files of the same names on
/// the disk are not those of the program. Before the first isolate.
pub fn set_inside_sources(find: InsideSource) {
    // The first one stays.
    let _ = INSIDE.set(find);
}

/// The path of a file that a source names: beside the source, unless it is absolute. A source that has no
/// folder, such as that of `-e`, names it from the working directory.
pub fn beside(source: &str, path: &str) -> String {
    let is_inside = INSIDE.get().is_some();
    let is_link =
        !is_inside && Path::new(source).symlink_metadata().is_ok_and(|facts| facts.is_symlink());
    let target = is_link.then(|| std::fs::canonicalize(source).ok()).flatten();
    let target = target.and_then(|target| target.to_str().map(String::from));
    let source = target.as_deref().unwrap_or(source);
    let is_file = source.split_once(':').is_none_or(|(scheme, _)| scheme.contains('/'));
    let folder = source.rfind('/').filter(|_| is_file && !path.starts_with('/'));
    let full = format!("{}{path}", folder.map_or("", |end| &source[..=end]));
    let mut parts: Vec<&str> = Vec::new();
    for part in full.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if full.starts_with('/') => {}
            part => parts.push(part),
        }
    }
    format!("{}{}", if full.starts_with('/') { "/" } else { "" }, parts.join("/"))
}

/// The classes that the loads of a program may bring; `None` where that shows only when it runs.
fn loaded_classes(program: &Program, name: &str) -> Option<BTreeSet<String>> {
    let (mut classes, mut seen) = (BTreeSet::new(), BTreeSet::new());
    let mut pending = files_of(program, name)?;
    while let Some(file) = pending.pop() {
        if !seen.insert(file.clone()) {
            continue;
        }
        if seen.len() > MOST_FILES {
            return None;
        }
        let source = source_of(&file)?;
        let parsed = runnel_syntax::parse(&source);
        classes.extend(runnel_compile::defined_classes(&parsed.program));
        pending.extend(files_of(&parsed.program, &file)?);
    }
    Some(classes)
}

fn source_of(file: &str) -> Option<String> {
    if let Some(find) = INSIDE.get() {
        return find(file).and_then(|bytes| String::from_utf8(bytes.to_vec()).ok());
    }
    let is_small = std::fs::metadata(file).is_ok_and(|facts| facts.len() <= MOST_BYTES);
    is_small.then(|| std::fs::read_to_string(file).ok()).flatten()
}

fn files_of(program: &Program, name: &str) -> Option<Vec<String>> {
    let file = |load| match load {
        SourceLoad::File(path) => Some(beside(name, &path)),
        SourceLoad::Computed => None,
    };
    runnel_compile::loads_of(program).into_iter().map(file).collect()
}

/// What the compiler may take for granted of one source: the kernel, and the files that the source loads.
pub(crate) struct SourceNames<'a> {
    kernel: KernelNames<'a>,
    loaded: Option<BTreeSet<String>>,
    role: SourceRole,
}

impl<'a> SourceNames<'a> {
    pub(crate) fn new(
        kernel: KernelNames<'a>,
        program: &Program,
        name: &str,
        role: SourceRole,
    ) -> Self {
        let loaded = loaded_classes(program, &kernel.0.placed(name));
        SourceNames { kernel, loaded, role }
    }
}

impl Known for SourceNames<'_> {
    fn is_class(&self, name: &str) -> bool {
        self.kernel.is_class(name)
    }

    fn is_predefined(&self, name: &str) -> bool {
        self.kernel.is_predefined(name)
    }

    fn is_variable(&self, name: &str) -> bool {
        self.role != SourceRole::LoadedFile && self.kernel.is_variable(name)
    }

    fn is_scheme(&self, name: &str) -> bool {
        self.kernel.is_scheme(name)
    }

    fn instance_variables(&self, class: &str) -> Vec<String> {
        self.kernel.instance_variables(class)
    }

    fn names(&self) -> Vec<String> {
        let mut names = self.kernel.names();
        names.extend(self.loaded.iter().flatten().cloned());
        names
    }

    fn schemes(&self) -> Vec<String> {
        self.kernel.schemes()
    }

    fn default_replaced(&self) -> bool {
        self.kernel.default_replaced()
    }

    fn role(&self) -> SourceRole {
        self.role
    }

    fn may_be_loaded(&self, name: &str) -> bool {
        self.loaded.as_ref().is_none_or(|classes| classes.contains(name))
    }
}

#[cfg(test)]
mod tests {
    use super::beside;

    #[test]
    fn a_loaded_file_lies_beside_the_file_that_loads_it() {
        assert_eq!(beside("main.st", "lib/a.st"), "lib/a.st");
        assert_eq!(beside("./main.st", "lib/a.st"), "lib/a.st");
        assert_eq!(beside("shop/lib/a.st", "../b.st"), "shop/b.st");
        assert_eq!(beside("../shop/main.st", "../../b.st"), "../../b.st");
        assert_eq!(beside("/srv/shop/main.st", "lib/../a.st"), "/srv/shop/a.st");
        assert_eq!(beside("/main.st", "../../a.st"), "/a.st");
        assert_eq!(beside("shop/main.st", "/srv/a.st"), "/srv/a.st");
        assert_eq!(beside("-e", "a.st"), "a.st");
        assert_eq!(beside("memory:lib/a.st", "b.st"), "b.st");
    }
}
