//! Statements of a script that need not be compiled again for their diagnostics.
//!
//! An editor asks for the diagnostics of a program after each key. What a statement gives depends on its own text, on
//! what the program defines, and on which definitions stand below it. A statement that gave none, and whose
//! surroundings are the same, gives none again.

use super::order::defined;
use crate::generator::Generator;
use runnel_syntax::ast::{Program, Statement};
use std::hash::{DefaultHasher, Hash, Hasher};

impl Generator<'_> {
    /// Notes what the program defines, before its statements are compiled.
    pub(super) fn note_world(&mut self, program: &Program) {
        if let Some(mut recall) = self.recall.take() {
            recall.world = self.world(program);
            self.recall = Some(recall);
        }
    }

    /// A number for all that statements depend on and do not say themselves.
    fn world(&self, program: &Program) -> u64 {
        // In no order.
        let classes = self.classes.iter().map(number).fold(0, u64::wrapping_add);
        let names = self.scopes.iter().flat_map(|scope| scope.names.iter().map(|(name, _)| name));
        let mut hasher = DefaultHasher::new();
        classes.hash(&mut hasher);
        names.for_each(|name| name.hash(&mut hasher));
        // In their order: what is still to come at a statement follows from how much it is.
        let defined = program.statements.iter().filter_map(defined);
        defined.for_each(|name| name.text.hash(&mut hasher));
        (&self.templates, &self.schemes, &self.observable, &self.appended).hash(&mut hasher);
        (&self.element_classes, self.loads, self.has_jumps).hash(&mut hasher);
        hasher.finish()
    }

    /// Compiles a group of statements, unless it is a single one that is known to be clean.
    pub(super) fn unless_clean(
        &mut self,
        group: &[Statement],
        program: &Program,
        is_last: bool,
        compile: impl FnOnce(&mut Self),
    ) {
        let ([statement], Some(recall)) = (group, &self.recall) else { return compile(self) };
        let number = self.statement_number(statement, program, is_last);
        if recall.is_clean(number) {
            defined(statement).map(|name| self.coming.remove(&name.text));
        } else {
            let before = self.diagnostics.len();
            compile(self);
            // Too deep a statement is said of the first one only.
            if self.diagnostics.len() > before || self.too_deep {
                return;
            }
        }
        self.recall.iter_mut().for_each(|recall| recall.found.push(number));
    }

    fn statement_number(&self, statement: &Statement, program: &Program, is_last: bool) -> u64 {
        let span = statement.span;
        let mut hasher = DefaultHasher::new();
        (span.text(self.source), is_last, self.coming.len()).hash(&mut hasher);
        // Whether a line is a comment may depend on the text above.
        let first = program.comments.partition_point(|comment| comment.span.start < span.start);
        let inside = program.comments[first..].iter().take_while(|one| one.span.start < span.end);
        inside.for_each(|one| (one.span.start - span.start).hash(&mut hasher));
        hasher.finish()
    }
}

fn number(of: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}
