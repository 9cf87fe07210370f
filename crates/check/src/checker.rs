//! The passes over a program: until no type changes. The findings of the last one count.

use crate::kernel::Kernel;
use crate::scopes::{Role, Scopes};
use crate::sight::Sight;
use crate::types::{ClassId, Type};
use crate::world::World;
use runnel_catalogue::Catalogue;
use runnel_syntax::ast::{Method, Program, Selector};
use runnel_syntax::{Diagnostic, LineIndex};
use rustc_hash::{FxHashMap, FxHashSet};

/// Passes that look for types. A program whose types still change then is checked without those of its
/// variables.
const MOST_PASSES: usize = 8;
/// Findings that are reported for one program.
const MOST_FINDINGS: usize = 200;

/// The method or handler around a place.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Around {
    pub(crate) class: Option<ClassId>,
    pub(crate) of_class: bool,
    /// `^` forwards an object and does not leave the method.
    pub(crate) forwards: bool,
}

/// The state of one check.
pub(crate) struct Checker<'a> {
    pub(crate) source: &'a str,
    pub(crate) world: World<'a>,
    pub(crate) sight: Sight<'a>,
    pub(crate) scopes: Scopes<'a>,
    pub(crate) around: Around,
    /// Types of the answers of the method around, by its `^` statements.
    pub(crate) answers: Vec<(Type, runnel_syntax::Span)>,
    /// What methods without a declared type answer, as known so far.
    pub(crate) answered: FxHashMap<*const Method, Type>,
    /// Blocks around whose errors the program handles.
    pub(crate) protected: u32,
    /// Blocks around that may become conditions of a query: in them comparisons with nil are false.
    pub(crate) queries: u32,
    /// Not the first pass, in which types are not known yet.
    pub(crate) reporting: bool,
    /// Lines whose value a comment shows: `3 + 4 // => 7`.
    pub(crate) shown_lines: FxHashSet<u32>,
    pub(crate) index: LineIndex,
    pub(crate) found: Vec<Diagnostic>,
}

/// What a program certainly gets wrong, in the order of its text. It was parsed without errors.
pub fn check(
    program: &Program,
    source: &str,
    catalogue: &Catalogue,
    kernel: &Kernel,
) -> Vec<Diagnostic> {
    let index = LineIndex::new(source);
    let shows = |text: &str| {
        let text = text.trim_start_matches('/').trim_start();
        text.starts_with("=>") || text.starts_with('⇒')
    };
    let shown = program.comments.iter().filter(|comment| shows(comment.span.text(source)));
    let shown_lines = shown.map(|comment| index.line(comment.span.start)).collect();
    let mut checker = Checker {
        source,
        world: World::new(program, kernel, catalogue),
        sight: Sight::of(program),
        scopes: Scopes::default(),
        around: Around::default(),
        answers: Vec::new(),
        answered: FxHashMap::default(),
        protected: 0,
        queries: 0,
        reporting: false,
        shown_lines,
        index,
        found: Vec::new(),
    };
    checker.pass(program);
    checker.reporting = true;
    for number in 0..=MOST_PASSES {
        if number == MOST_PASSES {
            checker.scopes.forget();
            checker.answered.values_mut().for_each(|kind| *kind = Type::Any);
        }
        checker.found.clear();
        checker.pass(program);
        if !checker.scopes.changed {
            break;
        }
    }
    let mut found = checker.found;
    found.sort_by_key(|one| (one.label.span.start, one.label.span.end));
    found.dedup();
    found
}

impl<'a> Checker<'a> {
    fn pass(&mut self, program: &'a Program) {
        self.scopes.begin_pass();
        self.scopes.open(true);
        if let Some(signature) = &program.signature {
            self.declare_parameters(&signature.selector, Role::Parameter);
        }
        self.scopes.declare_assigned(&program.statements);
        self.statements(&program.statements, true);
        self.close_scope();
    }

    /// Joins what a method answers to what is known of it.
    pub(crate) fn note_answer(&mut self, method: &'a Method, kind: &Type) {
        let known = self.answered.entry(method).or_insert(Type::Unset);
        let joined = known.clone().join(kind);
        self.scopes.changed |= joined != *known;
        *known = joined;
    }

    pub(crate) fn declare_parameters(&mut self, selector: &'a Selector, role: Role) {
        let parameters: Vec<_> = match selector {
            Selector::Unary(_) => Vec::new(),
            Selector::Binary(_, parameter) => vec![parameter],
            Selector::Keyword(parts) => parts.iter().map(|(_, parameter)| parameter).collect(),
        };
        for parameter in parameters {
            let kind = self.declared_word(parameter.kind.as_ref());
            let name = &parameter.name;
            self.scopes.declare(&name.text, name.span, role, kind);
        }
    }

    /// Whether there are as many findings as are reported.
    pub(crate) fn is_full(&self) -> bool {
        self.found.len() >= MOST_FINDINGS
    }

    /// Closes a scope; looks for variables that nothing reads.
    pub(crate) fn close_scope(&mut self) {
        let numbers = self.scopes.close();
        if self.reporting {
            self.unused(&numbers);
        }
    }

    pub(crate) fn report(&mut self, finding: Diagnostic) {
        if self.reporting && !self.is_full() {
            self.found.push(finding);
        }
    }
}
