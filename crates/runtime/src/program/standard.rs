//! The standard programs: the pages of the command itself, written in the language.
//!
//! The folder `std/` at the root is embedded here. A program of it ends with a dictionary of blocks,
//! its views: each gets a model and answers elements. A program is compiled in an isolate when the
//! first of its views is needed, and sees none of the user's variables.

use super::known::KernelNames;
use crate::engine::stack::{Slot, Type};
use crate::isolate::Isolate;
use runnel_compile::{Known, compile};
use runnel_store::{Error, Kind, Result, Store};
use std::borrow::Cow;
use std::rc::Rc;

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../../../std/", $name)))),*]
    };
}

/// The files of `std/`.
const FILES: [(&str, &str); 17] = files![
    "design/base.css",
    "design/parts.css",
    "jobs.st",
    "pages.st",
    "admin.js",
    "live/live.min.js",
    "live/live-more.min.js",
    "live/live-drop.min.js",
    "live/live-upload.min.js",
    "upload.js",
    "watch.js",
    "widgets.st",
    "widgets.css",
    "search/search.st",
    "search/search.js",
    "search/search.css",
    "search/icon.svg",
];

/// The stylesheet that programs use: the parts of `std/design` in one.
const DESIGN: &str = "design.css";

/// The names of the files.
pub fn standard_names() -> impl Iterator<Item = &'static str> {
    FILES.iter().map(|(name, _)| *name).chain([DESIGN])
}

/// The text of an embedded file. A debug build reads it from the folder that `RUNNEL_STD` names, so
/// that a change of a page can be tried without a build.
pub fn standard_file(name: &str) -> Option<Cow<'static, str>> {
    if name == DESIGN {
        let base = standard_file("design/base.css")?.into_owned();
        return Some((base + &standard_file("design/parts.css")?).into());
    }
    let embedded = FILES.iter().find(|(known, _)| *known == name)?.1;
    #[cfg(debug_assertions)]
    if let Some(folder) = std::env::var_os("RUNNEL_STD")
        && let Ok(text) = std::fs::read_to_string(std::path::Path::new(&folder).join(name))
    {
        return Some(text.into());
    }
    Some(embedded.into())
}

/// The views of a standard program as a store: a post of a model to the name of a view answers its
/// HTML.
///
/// # Errors
/// No isolate runs on this thread, or the program does not compile.
pub fn standard_views(program: &str) -> Result<Rc<dyn Store>> {
    let failed = |message: &str| Error::new(Kind::Failed, message.to_owned());
    let isolate = Isolate::current().ok_or_else(|| failed("no program runs here"))?;
    let stack = isolate.stack();
    stack.reserve(8);
    let top = stack.top();
    stack.push_kept(isolate.slots().kernel);
    stack.field(-1, "standard");
    stack.push_bytes(program.as_bytes());
    if !stack.protected_call(1, 1) {
        let message = match stack.kind(-1) {
            Type::Table => crate::values::errors::read_fault(&isolate, stack, -1).to_string(),
            _ => stack.text(-1),
        };
        stack.set_top(top);
        return Err(failed(&message));
    }
    let views = stack.keep();
    stack.set_top(top);
    let store = isolate.store(views);
    isolate.stack().release(views);
    Ok(store)
}

impl Isolate {
    /// Compiles a standard program; answers the function that takes the kernel.
    pub(crate) fn compile_standard(&self, name: &str) -> std::result::Result<Slot, String> {
        let source = standard_file(name).ok_or_else(|| format!("there is no program `{name}`"))?;
        // As the body of a block, its variables are its own.
        let source = format!("{{ {source}\n}} value");
        let parsed = runnel_syntax::parse(&source);
        let wrong = |found: Vec<runnel_syntax::Diagnostic>| {
            let index = runnel_syntax::LineIndex::new(&source);
            let line = |one: &runnel_syntax::Diagnostic| {
                let (line, column) = index.position(&source, one.label.span.start);
                format!("std/{name}:{line}:{column}: {}", one.title)
            };
            found.iter().map(line).collect::<Vec<_>>().join("\n")
        };
        if parsed.diagnostics.iter().any(|one| one.level == runnel_syntax::Severity::Error) {
            return Err(wrong(parsed.diagnostics));
        }
        let mut chunk = compile(&parsed.program, &source, &WithoutVariables(KernelNames(self)))
            .map_err(wrong)?;
        let chunk_name = self.remember(&format!("std/{name}"), &source, &mut chunk);
        self.load_chunk(&chunk.lua, &chunk_name)
    }
}

/// The kernel without the variables of the user's program.
struct WithoutVariables<'a>(KernelNames<'a>);

impl Known for WithoutVariables<'_> {
    fn is_class(&self, name: &str) -> bool {
        self.0.is_class(name)
    }

    fn is_predefined(&self, name: &str) -> bool {
        self.0.is_predefined(name)
    }

    fn is_variable(&self, _: &str) -> bool {
        false
    }

    fn is_scheme(&self, name: &str) -> bool {
        self.0.is_scheme(name)
    }

    fn instance_variables(&self, class: &str) -> Vec<String> {
        self.0.instance_variables(class)
    }

    fn names(&self) -> Vec<String> {
        self.0.names()
    }

    fn schemes(&self) -> Vec<String> {
        self.0.schemes()
    }

    fn default_replaced(&self) -> bool {
        false
    }
}
