//! The state of one compilation, and the limits of the engine that it hides from programs.
//!
//! LuaJIT allows 200 locals and 60 captured variables in a function, and about 200 levels of
//! nesting. A function that would have more locals or captures keeps its variables in a table
//! (its frame): which ones do is found by compiling, counting, and compiling again.

use crate::chunk::Known;
use crate::code::{BracketContext, ClassFacts, Loop, MethodContext};
use crate::lua::lines;
use crate::recall::Recall;
use crate::scope::{Scope, Variable, assigned};
use runnel_syntax::ast::Statement;
use runnel_syntax::{Diagnostic, LineIndex, Span};
use runnel_text::distance;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::{self, Write};

/// Locals of one function before its variables move to a frame (LuaJIT: 200, parameters and
/// temporaries included).
const LOCALS: usize = 160;
/// Captured variables of one function before their owners get frames (LuaJIT: 60).
const CAPTURES: usize = 56;
/// Levels of blocks inside blocks (LuaJIT: about 200 levels of syntax, of which each block takes
/// two).
pub(crate) const LEVELS: usize = 64;
/// Locals that a counted loop takes: three of the engine's own, and the number.
const LOOP: usize = 4;
/// Temporaries kept in locals; further ones of the same statement go to a table.
const TEMPORARIES: usize = 40;
/// Parameters of a method or block, and arguments of a message (LuaJIT: 200 locals).
pub(crate) const PARAMETERS: usize = 100;
/// Superclasses above each other; more are a circle.
const MOST_LEVELS: usize = 100;
/// Locals of a function that has a frame: hidden ones of loops, and temporaries.
const HIDDEN: usize = 190;

/// A Lua function under construction.
#[derive(Default)]
pub(crate) struct Function {
    pub(crate) id: usize,
    /// Captured helpers and variables, by their Lua name.
    pub(crate) captures: BTreeSet<String>,
    /// Functions that own captured variables.
    owners: BTreeSet<usize>,
    locals: usize,
    most_locals: usize,
    pub(crate) temporaries: usize,
    spills: bool,
    /// The block of a loop message: its value is not used.
    pub(crate) is_repeated: bool,
}

pub(crate) struct Generator<'a> {
    pub(crate) source: &'a str,
    pub(crate) index: LineIndex,
    pub(crate) known: &'a dyn Known,
    pub(crate) diagnostics: Vec<Diagnostic>,
    pub(crate) scopes: Vec<Scope>,
    pub(crate) functions: Vec<Function>,
    pub(crate) code: String,
    /// Constant markup that was not written yet.
    pub(crate) markup: String,
    pub(crate) classes: HashMap<String, ClassFacts>,
    pub(crate) templates: BTreeSet<String>,
    pub(crate) schemes: BTreeSet<String>,
    /// Where classes and templates are defined that the script has not reached.
    pub(crate) coming: BTreeMap<String, Span>,
    /// Names of variables that references and constraints name somewhere in the program.
    pub(crate) observable: BTreeSet<String>,
    pub(crate) method: Option<MethodContext>,
    pub(crate) brackets: Option<BracketContext>,
    /// In a block that is a query: order comparisons with nil are false.
    pub(crate) lenient: bool,
    /// The class of the elements that variables of the script hold, where it is known.
    pub(crate) element_classes: BTreeMap<String, String>,
    /// Other sources are loaded while it runs: capitalised names may be classes of theirs.
    pub(crate) loads: bool,
    pub(crate) level: usize,
    /// Top-level names already assigned, in textual order.
    pub(crate) top_table: &'static str,
    /// The loops around the code being compiled, innermost last.
    pub(crate) loops: Vec<Loop>,
    /// Loops compiled so far: their labels.
    pub(crate) labels: usize,
    /// Whether the source has the word `break` or `continue`.
    pub(crate) has_jumps: bool,
    /// Variables that append to themselves: what reads them joins the pieces first.
    pub(crate) appended: BTreeSet<String>,
    /// Where blocks begin that a loop message repeats: their values are not used.
    pub(crate) repeated: BTreeSet<u32>,
    /// Which statements of the script are known to give no diagnostics; none where the code is wanted.
    pub(crate) recall: Option<Recall>,
    frames: BTreeSet<usize>,
    /// Functions whose variables need a frame: those found by this compilation.
    pub(crate) crowded: BTreeSet<usize>,
    next_function: usize,
    next_variable: usize,
    /// Something nested too deeply was found, and is said once.
    pub(crate) too_deep: bool,
}

impl<'a> Generator<'a> {
    pub(crate) fn new(source: &'a str, known: &'a dyn Known, frames: BTreeSet<usize>) -> Self {
        Generator {
            source,
            index: LineIndex::new(source),
            known,
            diagnostics: Vec::new(),
            scopes: Vec::new(),
            functions: Vec::new(),
            code: String::new(),
            markup: String::new(),
            classes: HashMap::new(),
            templates: BTreeSet::new(),
            schemes: BTreeSet::new(),
            coming: BTreeMap::new(),
            observable: BTreeSet::new(),
            method: None,
            brackets: None,
            lenient: false,
            element_classes: BTreeMap::new(),
            loads: false,
            level: 0,
            top_table: "V",
            loops: Vec::new(),
            labels: 0,
            has_jumps: source.contains("break") || source.contains("continue"),
            appended: BTreeSet::new(),
            repeated: BTreeSet::new(),
            recall: None,
            frames,
            crowded: BTreeSet::new(),
            next_function: 0,
            next_variable: 0,
            too_deep: false,
        }
    }

    // Code -------------------------------------------------------------------------------------

    /// Adds code.
    pub(crate) fn emit(&mut self, code: fmt::Arguments<'_>) {
        // Writing to a text does not fail.
        let _ = self.code.write_fmt(code);
    }

    // Functions --------------------------------------------------------------------------------

    /// The code of a function: its parameters are already in Lua's own list.
    pub(crate) fn function_body(
        &mut self,
        parameters: &[(String, Variable)],
        fill: impl FnOnce(&mut Self),
    ) -> String {
        let outer = std::mem::take(&mut self.code);
        let id = self.next_function;
        self.next_function += 1;
        self.functions.push(Function {
            id,
            locals: parameters.len() + 4 + TEMPORARIES,
            ..Function::default()
        });
        self.level += 2;
        self.check_level();
        fill(self);
        self.level -= 2;
        let Some(function) = self.functions.pop() else { return String::new() };
        let mut head = String::new();
        if self.frames.contains(&id) {
            head.push_str(&format!("local F{id}={{}} "));
            for (_, variable) in parameters {
                head.push_str(&format!(
                    "F{id}.{0}={0} ",
                    variable.code.rsplit('.').next().unwrap_or("")
                ));
            }
        }
        if function.spills {
            head.push_str("local T={} ");
        }
        if function.most_locals > LOCALS {
            self.crowded.insert(id);
        }
        if function.captures.len() > CAPTURES {
            self.crowded.extend(&function.owners);
        }
        let body = std::mem::replace(&mut self.code, outer);
        [" ", &head, &body].concat()
    }

    /// The id that the next function will have: its parameters are named before it begins.
    pub(crate) fn coming_function(&self) -> usize {
        self.next_function
    }

    fn check_level(&mut self) {
        if self.level > LEVELS * 2 && !self.too_deep {
            self.too_deep = true;
            let span = Span::new(0, 0);
            self.diagnostics.push(
                Diagnostic::error(
                    span,
                    format!("blocks are nested more than {LEVELS} deep"),
                    "in this program",
                )
                .hint("move the inner blocks into methods"),
            );
        }
    }

    /// Runs `fill` one level of control structure deeper.
    pub(crate) fn deeper(&mut self, span: Span, fill: impl FnOnce(&mut Self)) {
        self.level += 2;
        let known = self.too_deep;
        self.check_level();
        if self.too_deep
            && !known
            && let Some(last) = self.diagnostics.last_mut()
        {
            last.label.span = span;
            last.label.text = "this block is one too many".into();
        }
        fill(self);
        self.level -= 2;
    }

    // Names ------------------------------------------------------------------------------------

    /// A variable of the function with this id: a local, or a field of its frame.
    pub(crate) fn new_variable(&mut self, name: &str, function: usize) -> Variable {
        self.next_variable += 1;
        let local = crate::lua::names::variable(name, self.next_variable);
        let code =
            if self.frames.contains(&function) { format!("F{function}.{local}") } else { local };
        let hub = self.observable.contains(name).then(|| code.replacen("v_", "o_", 1));
        Variable { code, owner: Some(function), hub }
    }

    /// The Lua local for the observers of a variable, if it has one, after it was counted.
    pub(crate) fn hub_local(&mut self, variable: &Variable) -> Option<String> {
        let hub = variable.hub.as_ref().filter(|hub| !hub.contains('.'))?;
        self.count_locals(1);
        Some(hub.clone())
    }

    /// Declares the hubs of parameters.
    pub(crate) fn declare_hubs(&mut self, parameters: &[(String, Variable)]) {
        for (_, variable) in parameters {
            if let Some(hub) = self.hub_local(variable) {
                self.emit(format_args!("local {hub} "));
            }
        }
    }

    /// Declares the names of the current scope that statements assign and no scope around has.
    pub(crate) fn declare(&mut self, statements: &[Statement]) {
        let names: Vec<String> =
            assigned(statements).into_iter().filter(|name| self.find(name).is_none()).collect();
        let Some(function) = self.functions.last().map(|function| function.id) else { return };
        let mut locals = Vec::new();
        for name in names {
            self.check_shadow(&name, statements);
            let variable = self.new_variable(&name, function);
            if !variable.code.contains('.') {
                locals.push(variable.code.clone());
                locals.extend(variable.hub.clone());
            }
            if let Some(scope) = self.scopes.last_mut() {
                scope.names.push((name, variable));
            }
        }
        if !locals.is_empty() {
            self.count_locals(locals.len());
            // In groups: one `local` takes at most 200 names, and the frame comes next time.
            for group in locals.chunks(100) {
                self.emit(format_args!("local {} ", group.join(",")));
            }
        }
    }

    /// Whether the variables of the current function live in a table.
    fn has_frame(&self) -> bool {
        self.functions.last().is_some_and(|function| self.frames.contains(&function.id))
    }

    /// Counts the hidden locals of a loop while `fill` emits it.
    pub(crate) fn in_loop(&mut self, span: Span, fill: impl FnOnce(&mut Self)) {
        let locals = self.functions.last().map_or(0, |function| function.locals);
        self.count_locals(LOOP);
        let too_many = self.functions.last().is_some_and(|function| function.locals > HIDDEN);
        if too_many && self.has_frame() && !self.too_deep {
            self.too_deep = true;
            self.diagnostics.push(
                Diagnostic::error(span, "loops are nested too deeply", "this one is one too many")
                    .hint("move the inner loops into a method"),
            );
        }
        fill(self);
        if let Some(function) = self.functions.last_mut() {
            function.locals = locals;
        }
    }

    /// Refuses more parameters or arguments than the engine takes.
    pub(crate) fn check_count(&mut self, count: usize, what: &str, span: Span) {
        if count > PARAMETERS {
            self.error(
                Diagnostic::error(
                    span,
                    format!("more than {PARAMETERS} {what}"),
                    format!("{count} {what}"),
                )
                .hint("hand them over in an array or a dictionary"),
            );
        }
    }

    pub(crate) fn count_locals(&mut self, more: usize) {
        if let Some(function) = self.functions.last_mut() {
            function.locals += more;
            function.most_locals = function.most_locals.max(function.locals);
        }
    }

    /// Opens a scope; `fill` runs in it; its locals are counted out again.
    pub(crate) fn scoped(&mut self, scope: Scope, fill: impl FnOnce(&mut Self)) {
        let locals = self.functions.last().map_or(0, |function| function.locals);
        self.scopes.push(scope);
        fill(self);
        self.scopes.pop();
        if let Some(function) = self.functions.last_mut() {
            function.locals = locals;
        }
    }

    /// Looks a name up, through the scopes that can be seen from here.
    pub(crate) fn find(&self, name: &str) -> Option<Variable> {
        for scope in self.scopes.iter().rev() {
            if let Some(variable) = scope.get(name) {
                return Some(variable.clone());
            }
            if scope.opaque {
                return None;
            }
        }
        if self.known.is_variable(name) {
            let code = format!("{}[{}]", self.top_table, crate::lua::names::quoted(name));
            return Some(Variable { code, owner: None, hub: None });
        }
        None
    }

    /// After a write to a variable: tells what observes it.
    pub(crate) fn written(&mut self, variable: &Variable) {
        if let Some(hub) = &variable.hub {
            let beside = Variable { code: hub.clone(), ..variable.clone() };
            let hub = self.variable_code(&beside);
            self.emit(format_args!("if {hub} then {hub}:changed({}) end ", variable.code));
        }
    }

    /// After a write to an instance variable of `self`: tells what observes it.
    pub(crate) fn field_written(&mut self, field: &str) {
        self.helper("O");
        self.emit(format_args!("if O.{field} then O.{field}(self) end "));
    }

    /// The code of a variable, with the captures it needs counted.
    pub(crate) fn variable_code(&mut self, variable: &Variable) -> String {
        match variable.owner {
            None => self.helper(self.top_table),
            Some(owner) => {
                let base = variable.code.split('.').next().unwrap_or("").to_string();
                for function in self.functions.iter_mut().rev() {
                    if function.id == owner {
                        break;
                    }
                    function.captures.insert(base.clone());
                    function.owners.insert(owner);
                }
            }
        }
        variable.code.clone()
    }

    /// A helper of the chunk, counted as captured by every function around.
    pub(crate) fn helper(&mut self, name: &str) {
        for function in &mut self.functions {
            if !function.captures.contains(name) {
                function.captures.insert(name.to_string());
            }
        }
    }

    /// Every name that can be seen here, for suggestions.
    pub(crate) fn visible_names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.known.names();
        for scope in self.scopes.iter().rev() {
            names.extend(scope.names.iter().map(|(name, _)| name.clone()));
            if scope.opaque {
                break;
            }
        }
        names.extend(self.classes.keys().cloned());
        names
    }

    /// The name that is meant by a misspelt one, of the same kind: a class for a name with a
    /// capital, anything else for another name, unless only the case differs.
    pub(crate) fn meant(&self, name: &str) -> Option<String> {
        let known = self.visible_names();
        let known = || known.iter().map(String::as_str);
        let same = known().find(|one| *one != name && one.eq_ignore_ascii_case(name));
        same.or_else(|| distance::meant(name, known())).map(str::to_owned)
    }

    // Temporaries ------------------------------------------------------------------------------

    /// A fresh temporary of the current statement.
    pub(crate) fn temporary(&mut self) -> String {
        let Some(function) = self.functions.last_mut() else { return "_".into() };
        function.temporaries += 1;
        if function.temporaries > TEMPORARIES {
            function.spills = true;
            format!("T[{}]", function.temporaries)
        } else {
            format!("t{}", function.temporaries)
        }
    }

    /// Runs `fill`, and wraps what it emitted in a Lua block that declares its temporaries.
    pub(crate) fn with_temporaries(&mut self, fill: impl FnOnce(&mut Self)) {
        let start = self.code.len();
        let before = self.functions.last().map_or(0, |function| function.temporaries);
        fill(self);
        let Some(function) = self.functions.last_mut() else { return };
        let used = function.temporaries.min(TEMPORARIES);
        function.temporaries = before;
        if used > before {
            let names: Vec<String> =
                (before + 1..=used).map(|number| format!("t{number}")).collect();
            self.code.insert_str(start, &format!("do local {} ", names.join(",")));
            self.code.push_str(" end ");
        }
    }

    /// The mark of a place.
    pub(crate) fn mark(&self, span: Span) -> String {
        lines::mark(span)
    }

    pub(crate) fn error(&mut self, diagnostic: Diagnostic) {
        // The same fault at the same place is said once.
        if !self.diagnostics.contains(&diagnostic) {
            self.diagnostics.push(diagnostic);
        }
    }

    /// A class and its superclasses, up to the first that the program does not define.
    fn lineage<'c>(&'c self, class: &'c str) -> impl Iterator<Item = &'c str> {
        let above = |name: &&'c str| self.classes.get(*name)?.superclass.as_deref();
        std::iter::successors(Some(class), above).take(MOST_LEVELS)
    }

    /// The variables of a class and of those above it.
    pub(crate) fn inherited_variables(&self, class: &str) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        for name in self.lineage(class) {
            names.extend(self.known.instance_variables(name));
            names.extend(
                self.classes.get(name).into_iter().flat_map(|it| it.variables.iter().cloned()),
            );
        }
        names
    }

    /// Whether a class, or one above it, has a variable of that name.
    pub(crate) fn has_variable(&self, class: &str, name: &str) -> bool {
        self.lineage(class).any(|class| {
            self.classes
                .get(class)
                .is_some_and(|facts| facts.variables.iter().any(|one| one == name))
                || self.known.instance_variables(class).iter().any(|known| known == name)
        })
    }

    /// Whether a variable of a class, or of one above it, was declared with a type.
    pub(crate) fn is_typed(&self, class: &str, name: &str) -> bool {
        let mut facts = self.lineage(class).filter_map(|class| self.classes.get(class));
        facts.any(|facts| facts.typed.contains(name))
    }
}
