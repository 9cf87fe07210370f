//! Properties that a literal sets, and variables that `this:` names, which the class does not have.

use crate::checker::Checker;
use crate::types::{Case, ClassId};
use runnel_syntax::Diagnostic;
use runnel_syntax::ast::{ExpressionKind, Pair, Path, Word};
use runnel_text::distance::meant;

impl<'a> Checker<'a> {
    pub(crate) fn properties(&mut self, id: ClassId, pairs: &'a [Pair], class: &Word) {
        if !self.reporting || self.sight.loads || self.protected > 0 {
            return;
        }
        for pair in pairs {
            let ExpressionKind::Symbol(name) = &pair.key.kind else { continue };
            if self.world.takes_property(id, name) != Some(false) {
                continue;
            }
            let all = self.world.properties(id);
            let title = format!("{} has no property `{name}`", class.text);
            let mut found = Diagnostic::warning(pair.key.span, title, "not known");
            if let Some(near) = meant(name, all.iter().map(String::as_str)) {
                found = found.hint(format!("did you mean `{near}`?"));
                if pair.key.span.text(self.source) == name {
                    found = found.fix(pair.key.span, near);
                }
            } else {
                found = found.hint(listed(&all));
            }
            self.report(found.code("unknown-property"));
        }
    }

    /// `this:name` and `self:name` of a class that has neither a variable nor a message of that name.
    pub(crate) fn own_variable(&mut self, name: &str, path: &Path) {
        if !self.reporting || self.sight.loads || self.protected > 0 || name.contains('/') {
            return;
        }
        let Some(id) = self.around.class.filter(|_| !self.around.of_class) else { return };
        let is_store = self.world.is_below(id, "Store");
        // What belongs to a class in another file is not known here.
        let of_program = self.world.classes[id].of_program;
        let understands = self.world.may_understand(Case::Object(id), name);
        if is_store || !of_program || understands || name.is_empty() {
            return;
        }
        let all = self.world.properties(id);
        if all.iter().any(|one| one == name) {
            return;
        }
        let class = self.world.classes[id].name;
        let title = format!("{class} has no variable `{name}`");
        let found = Diagnostic::warning(path.span, title, "not declared");
        let hint = match meant(name, all.iter().map(String::as_str)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("declare it in the class: `var {name}.`"),
        };
        self.report(found.hint(hint).code("unknown-variable"));
    }
}

/// Properties that a hint lists.
const MOST_LISTED: usize = 6;

fn listed(names: &[String]) -> String {
    let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
    names.sort_unstable();
    names.dedup();
    match names.len() {
        0 => "it has none".into(),
        count if count <= MOST_LISTED => format!("it has {}", names.join(", ")),
        _ => format!("it has {} …", names[..MOST_LISTED].join(", ")),
    }
}
