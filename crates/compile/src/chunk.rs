//! What the compiler takes and gives: the names that exist already, and the compiled program.

use runnel_syntax::{Definition, Diagnostic, Span};

/// What a source is of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SourceRole {
    /// What is typed at the prompt, and sources that run later see its variables.
    #[default]
    Part,
    /// A file that a program loads: its variables are its own.
    LoadedFile,
    /// Nothing is added to it: no prompt, and no source that runs later.
    WholeProgram,
}

/// What exists before the program is compiled: built-in classes, predefined names, schemes, and
/// at the prompt the variables of the session.
pub trait Known {
    /// Whether a class of that name exists.
    fn is_class(&self, name: &str) -> bool;
    /// Whether a name is predefined, such as `stdout`.
    fn is_predefined(&self, name: &str) -> bool;
    /// Whether a variable of the running script has that name.
    fn is_variable(&self, name: &str) -> bool;
    /// Whether a scheme of that name is installed.
    fn is_scheme(&self, name: &str) -> bool;
    /// The instance variables of a class that exists.
    fn instance_variables(&self, class: &str) -> Vec<String>;
    /// Names that could be meant by a misspelt one.
    fn names(&self) -> Vec<String>;
    /// Schemes that could be meant by a misspelt one.
    fn schemes(&self) -> Vec<String>;
    /// Whether variables without a scheme live in a store that replaced the default one.
    fn default_replaced(&self) -> bool {
        false
    }
    /// What the source is of a program.
    fn role(&self) -> SourceRole {
        SourceRole::Part
    }
    /// Whether the files that the source loads may define a class of that name.
    fn may_be_loaded(&self, _name: &str) -> bool {
        true
    }
}

/// A compiled program.
#[derive(Debug)]
pub struct Chunk {
    /// Lua source: a function body whose parameter is the kernel, and which answers the value of
    /// the last statement.
    pub lua: String,
    /// The place in the source of each line of `lua`; the first has none.
    pub places: Vec<Span>,
    /// What the source names, for the frames of traces.
    pub definitions: Vec<Definition>,
    /// What is suspicious but runs.
    pub warnings: Vec<Diagnostic>,
    /// What is probably not meant: for those who check the program.
    pub doubts: Vec<Diagnostic>,
    /// Whether the last statement is an assignment or a definition: the prompt does not echo it.
    pub silent: bool,
    /// The variables that the source assigns or declares itself, not in blocks.
    pub variables: Vec<String>,
}
