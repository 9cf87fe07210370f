//! The state of one compilation, and the limits of the engine that it hides from programs.
//!
//! LuaJIT allows 200 locals and 60 captured variables in a function, and about 200 levels of
//! nesting. A function that would have more locals or captures keeps its variables in a table
//! (its frame): which ones do is found by compiling, counting, and compiling again.

use crate::lua::lines;
use crate::scope::{Scope, Variable, assigned, referenced};
use runnel_syntax::ast::{Program, Statement, StatementKind};
use runnel_syntax::{Diagnostic, Level, LineIndex, Span};
use std::collections::{BTreeMap, BTreeSet, HashMap};

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
/// Locals of a function that has a frame: hidden ones of loops, and temporaries.
const HIDDEN: usize = 190;
/// Statements of the script that share one Lua function.
const GROUP: usize = 40;

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
}

/// A compiled program.
#[derive(Debug)]
pub struct Chunk {
    /// Lua source: a function body whose parameter is the kernel, and which answers the value of
    /// the last statement.
    pub lua: String,
    /// What is suspicious but runs.
    pub warnings: Vec<Diagnostic>,
    /// Whether the last statement is an assignment or a definition: the prompt does not echo it.
    pub silent: bool,
    /// The variables that the source assigns or declares itself, not in blocks.
    pub variables: Vec<String>,
}

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
}

/// What is known about a class of this program.
#[derive(Clone, Default)]
pub(crate) struct ClassFacts {
    pub(crate) variables: Vec<String>,
    /// Those that have a type.
    pub(crate) typed: BTreeSet<String>,
    pub(crate) superclass: Option<String>,
}

/// The method around the code being compiled.
#[derive(Clone, Default)]
pub(crate) struct MethodContext {
    /// The class, for `this:` and `super`.
    pub(crate) class: String,
    /// `^` forwards instead of returning.
    pub(crate) forwards: bool,
    /// The function that `^` returns from.
    pub(crate) home: usize,
    /// A block that is a function of its own returns from it.
    pub(crate) unwinds: bool,
    /// On the class itself.
    pub(crate) class_side: bool,
    /// A page that it answers may be sent while it is written: a `get` of a property path.
    pub(crate) pages: bool,
    /// The hidden last parameter of such a `get`: whether a client waits for the page.
    pub(crate) client: Option<Variable>,
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
    pub(crate) method: Option<MethodContext>,
    pub(crate) brackets: Option<crate::references::query::Brackets>,
    /// In a block that is a query: order comparisons with nil are false.
    pub(crate) lenient: bool,
    /// The class of the elements that variables of the script hold, where it is known.
    pub(crate) element_classes: BTreeMap<String, String>,
    /// Other sources are loaded while it runs: capitalised names may be classes of theirs.
    pub(crate) loads: bool,
    pub(crate) level: usize,
    /// Top-level names already assigned, in textual order.
    pub(crate) top_table: &'static str,
    frames: BTreeSet<usize>,
    crowded: BTreeSet<usize>,
    next_function: usize,
    next_variable: usize,
    too_deep: bool,
}

/// Compiles a program that was parsed without errors.
///
/// # Errors
/// The diagnostics, at least one of them an error: unknown names, classes and schemes, and limits.
pub fn compile(
    program: &Program,
    source: &str,
    known: &dyn Known,
) -> Result<Chunk, Vec<Diagnostic>> {
    let mut frames = BTreeSet::new();
    loop {
        let mut generator = Generator::new(source, known, frames.clone());
        let silent = generator.program(program);
        let new: Vec<usize> = generator.crowded.difference(&frames).copied().collect();
        if !new.is_empty() {
            frames.extend(new);
            continue;
        }
        generator.diagnostics.extend(crate::review::errors(program, source));
        if generator.diagnostics.iter().any(|one| one.level == Level::Error) {
            return Err(generator.diagnostics);
        }
        let lua = lines::place(&generator.code);
        if let Some(line) = crate::lua::nesting::too_deep(&lua) {
            let lines = source.split_inclusive('\n').take(line as usize - 1);
            let start = lines.map(str::len).sum::<usize>() as u32;
            generator.error(
                Diagnostic::error(
                    Span::new(start, start),
                    "this is nested too deeply",
                    "too many blocks and expressions in each other",
                )
                .hint("move an inner block into a method, or give an inner part a name"),
            );
            return Err(generator.diagnostics);
        }
        let variables = assigned(&program.statements).into_iter().collect();
        return Ok(Chunk { lua, warnings: generator.diagnostics, silent, variables });
    }
}

/// The kernel functions that generated code calls most; locals of the chunk.
const HELPERS: &str = "local add,sub,mul,div,lt,gt,le,ge,eq,ne,truth,str,cat,at,atPut,fetch,store,\
array,dict,home,leave,query,put,child,item=K.add,K.sub,K.mul,K.div,K.lt,K.gt,K.le,K.ge,K.eq,K.ne,K.truth,K.str,\
K.concat,K.at,K.atPut,K.fetch,K.storePut,K.array,K.literalDictionary,K.home,K.leave,K.query,\
K.put,K.child,K.item ";

impl<'a> Generator<'a> {
    fn new(source: &'a str, known: &'a dyn Known, frames: BTreeSet<usize>) -> Self {
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
            method: None,
            brackets: None,
            lenient: false,
            element_classes: BTreeMap::new(),
            loads: false,
            level: 0,
            top_table: "V",
            frames,
            crowded: BTreeSet::new(),
            next_function: 0,
            next_variable: 0,
            too_deep: false,
        }
    }

    /// The whole program; answers whether its value should not be echoed at the prompt.
    fn program(&mut self, program: &Program) -> bool {
        self.collect(&program.statements);
        self.collect_element_classes(&program.statements);
        let mut names = assigned(&program.statements);
        if let Some(signature) = &program.signature {
            names
                .extend(crate::class::parameters(&signature.selector).map(|p| p.name.text.clone()));
        }
        let bound = referenced(&program.statements);
        names.extend(
            bound
                .into_iter()
                .filter(|name| !self.known.is_predefined(name) && !self.is_class(name)),
        );
        if self.known.default_replaced() || self.schemes.contains("default") {
            self.top_table = "D";
        }
        let table = self.top_table;
        let mut top = Scope { top: true, ..Scope::default() };
        for name in names {
            let code = format!("{table}[{}]", crate::lua::names::quoted(&name));
            top.names.push((name, Variable { code, owner: None }));
        }
        self.scopes.push(top);
        self.code
            .push_str("local K=... local V,D,G,P,_=K.variables,K.default,K.classes,K.predefined ");
        self.code.push_str(HELPERS);
        let groups: Vec<&[Statement]> = program.statements.chunks(GROUP).collect();
        for (number, group) in groups.iter().enumerate() {
            let last = number + 1 == groups.len();
            let body = self.function_body(&[], |this| this.body(group, last));
            let call = if last { "return " } else { "_=" };
            self.code.push_str(&format!("{call}(function(){body} end)() "));
        }
        program.statements.last().is_none_or(|statement| match &statement.kind {
            StatementKind::Expression(expression) => {
                matches!(expression.kind, runnel_syntax::ast::ExpressionKind::Assign { .. })
            }
            _ => true,
        })
    }

    fn collect(&mut self, statements: &[Statement]) {
        for statement in statements {
            match &statement.kind {
                StatementKind::Class(class) => self.collect_class(class),
                StatementKind::Template { name, .. } => {
                    self.templates.insert(name.text.clone());
                }
                StatementKind::Test { body, .. } => self.collect(&body.statements),
                _ => {}
            }
        }
        crate::references::path::installed_schemes(statements, &mut self.schemes);
        self.loads |= crate::references::path::loads_others(statements);
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
        format!(" {head}{body}")
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
        Variable { code, owner: Some(function) }
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
            }
            if let Some(scope) = self.scopes.last_mut() {
                scope.names.push((name, variable));
            }
        }
        if !locals.is_empty() {
            self.count_locals(locals.len());
            // In groups: one `local` takes at most 200 names, and the frame comes next time.
            for group in locals.chunks(100) {
                self.code.push_str(&format!("local {} ", group.join(",")));
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
            return Some(Variable { code, owner: None });
        }
        None
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

    /// The line mark of a place.
    pub(crate) fn mark(&self, span: Span) -> String {
        lines::mark(self.index.line(span.start))
    }

    pub(crate) fn error(&mut self, diagnostic: Diagnostic) {
        // The same fault at the same place is said once.
        if !self.diagnostics.contains(&diagnostic) {
            self.diagnostics.push(diagnostic);
        }
    }

    /// All classes of the program with their own facts, for lookups along the superclasses.
    pub(crate) fn inherited_variables(&self, class: &str) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        let mut at = Some(class.to_string());
        let mut steps = 0;
        while let Some(name) = at.take() {
            steps += 1;
            if steps > 100 {
                break;
            }
            names.extend(self.known.instance_variables(&name));
            if let Some(facts) = self.classes.get(&name) {
                names.extend(facts.variables.iter().cloned());
                at = facts.superclass.clone();
            }
        }
        names
    }
}

/// Keeps maps of the crate in one order, so that the same program gives the same code.
pub(crate) type Ordered<K, V> = BTreeMap<K, V>;
