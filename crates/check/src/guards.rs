//! Guards of the paths of a class, as its source declares them.

use runnel_syntax::ast::{
    Class, ClauseKind, MemberKind, PathClause, PathHandler, PathVerb, PropertyPath,
};

/// What is known of the reads of a class's own paths.
#[derive(Clone, Copy, Default)]
pub(crate) struct GuardFacts {
    /// The class has a guard for its paths and those of the classes around it in a line of inheritance.
    pub(crate) has_guard: bool,
    /// A path answers `get`.
    pub(crate) has_get: bool,
    /// A path answers `get` to everybody.
    pub(crate) has_open_get: bool,
}

impl GuardFacts {
    pub(crate) fn of(class: &Class) -> Self {
        let clauses = class.members.iter().filter_map(|member| match &member.kind {
            MemberKind::Clause(clause) => Some(clause),
            _ => None,
        });
        let mut facts = GuardFacts { has_guard: has_guard(clauses), ..GuardFacts::default() };
        for member in &class.members {
            if let MemberKind::PropertyPath(path) = &member.kind {
                facts.add(path, facts.has_guard);
            }
        }
        facts
    }

    fn add(&mut self, path: &PropertyPath, is_guarded: bool) {
        let is_guarded = is_guarded || has_guard(path.clauses());
        for handler in path.handlers().filter(|handler| handler.verb == PathVerb::Get) {
            self.has_get = true;
            self.has_open_get |= is_open(handler, is_guarded);
        }
        path.paths().for_each(|below| self.add(below, is_guarded));
    }
}

fn has_guard<'a>(mut clauses: impl Iterator<Item = &'a PathClause>) -> bool {
    clauses.any(|clause| clause.kind == ClauseKind::Guard)
}

fn is_open(handler: &PathHandler, is_guarded: bool) -> bool {
    let is_public = handler.marks.iter().any(|mark| mark.text == "public");
    handler.allowed.is_none() && (is_public || !is_guarded)
}
