//! Variables that nothing reads, and names with a dot that were meant as variables of the object.

use crate::checker::Checker;
use crate::scopes::Role;
use runnel_syntax::{Diagnostic, Span};

impl<'a> Checker<'a> {
    /// Looks for variables of a scope that nothing reads.
    pub(crate) fn unused(&mut self, numbers: &[usize]) {
        if self.sight.names_variables {
            return;
        }
        for number in numbers {
            let variable = &self.scopes.variables[*number];
            let silent = variable.name.starts_with('_')
                // `self ← super initWith: …` of the original.
                || variable.name == "self"
                || self.sight.referenced.contains(variable.name)
                || variable.reads > 0;
            let (name, span, role) = (variable.name, variable.span, variable.role);
            let what = match role {
                Role::Local | Role::Declared => "a local variable",
                // Another file may have a method of that name.
                Role::MethodParameter if !self.sight.is_library && !self.sight.loads => {
                    "a parameter"
                }
                _ => continue,
            };
            if silent {
                continue;
            }
            let title = format!("nothing reads `{name}`");
            let found = Diagnostic::warning(span, title, what);
            let hint = format!("remove it, or call it `_{name}` where it is meant");
            self.report(found.hint(hint).code("unused-variable"));
        }
    }

    /// `this.count`: a name of its own, and no variable of the object.
    pub(crate) fn dotted(&mut self, name: &str, span: Span) {
        let Some((owner @ ("this" | "self"), rest)) = name.split_once('.') else { return };
        if !self.reporting || rest.is_empty() || self.around.class.is_none() {
            return;
        }
        let title = format!("`{name}` is a local variable, and not `{rest}` of the object");
        let found = Diagnostic::warning(span, title, "a name may have dots");
        let hint = format!("write `{owner}:{rest}`");
        let declared = self.around.class.is_some_and(|id| {
            self.world.lineage(id).any(|class| class.variables.contains_key(rest))
        });
        let found = found.hint(hint).code("dotted-name");
        let found = match declared && span.text(self.source) == name {
            true => found.fix(span, format!("this:{rest}")),
            false => found,
        };
        self.report(found);
    }
}
