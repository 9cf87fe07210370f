//! Methods that answer something else than they declare, and `init` that does not answer the object.

use crate::checker::Checker;
use crate::types::{Case, Type};
use crate::world::selector_of;
use runnel_syntax::Diagnostic;
use runnel_syntax::ast::{
    Block, Class, Expression, ExpressionKind, Method, PathHandler, SentMessage, Statement,
    StatementKind,
};

/// Whether a method may answer the object itself.
pub(crate) fn answers_self(method: &Method) -> bool {
    let Some(body) = &method.body else { return true };
    match body.statements.last().map(|statement| &statement.kind) {
        Some(StatementKind::Expression(value) | StatementKind::Return(value)) => may_be_self(value),
        _ => false,
    }
}

fn may_be_self(value: &Expression) -> bool {
    match &value.kind {
        ExpressionKind::Name(name) => name == "self",
        ExpressionKind::Parenthesized(inner) => may_be_self(inner),
        ExpressionKind::Send { message: SentMessage::Unary(word), .. } => {
            matches!(word.text.as_str(), "init" | "yourself")
        }
        _ => false,
    }
}

/// Whether what a method answers is certainly something else than the object.
fn answers_other(statements: &[Statement]) -> Option<&Expression> {
    match statements.last().map(|statement| &statement.kind) {
        Some(StatementKind::Expression(value)) => match &value.kind {
            ExpressionKind::Assign { value: given, .. } if !may_be_self(given) => Some(value),
            ExpressionKind::Integer(_) | ExpressionKind::Text(_) => Some(value),
            _ => None,
        },
        _ => None,
    }
}

impl<'a> Checker<'a> {
    /// Compares what a method answers with what it declares.
    pub(crate) fn method_answers(
        &mut self,
        class: &'a Class,
        method: &'a Method,
        body: &'a Block,
        last: &Type,
    ) {
        if !self.reporting {
            return;
        }
        if selector_of(&method.selector) == "init" && !method.class_side && method.result.is_none()
        {
            self.init_answer(class, body);
        }
        let Some(word) = &method.result else { return };
        let declared = self.declared_word(Some(word));
        let [Case::Object(wanted)] = declared.known()[..] else { return };
        let end = body.statements.last().map_or(body.span, |statement| statement.span);
        let returns = matches!(body.statements.last(), Some(last) if matches!(last.kind, StatementKind::Return(_)));
        let mut answers = std::mem::take(&mut self.answers);
        if !returns {
            answers.push((last.clone(), end));
        }
        for (kind, span) in answers {
            let known = kind.known();
            let differs = |case: &Case| self.differs(*case, wanted);
            if known.is_empty() || !known.iter().all(differs) {
                continue;
            }
            let what = self.world.shown(known[0]);
            let title = format!("this method declares <{}> and answers {what}", word.text);
            let found = Diagnostic::warning(span, title, what).also(word.span, "declared here");
            self.report(found.hint("change the type, or the answer").code("wrong-answer"));
        }
    }

    /// Compares what a handler answers with what it declares; literals are `compile`'s to compare.
    pub(crate) fn handler_answer(&mut self, handler: &'a PathHandler, last: &Type) {
        let Some(Statement { kind: StatementKind::Expression(value), .. }) =
            handler.body.statements.last()
        else {
            return;
        };
        let is_literal = matches!(
            value.kind,
            ExpressionKind::Text(_)
                | ExpressionKind::Interpolated(_)
                | ExpressionKind::Integer(_)
                | ExpressionKind::Float(_)
                | ExpressionKind::Symbol(_)
                | ExpressionKind::Array { .. }
                | ExpressionKind::Dictionary(_)
        );
        let (known, [answer]) = (last.known(), handler.answers.as_slice()) else { return };
        if !self.reporting || is_literal || known.is_empty() || handler.is_page() {
            return;
        }
        let Some(declared) = answer.kind.as_ref().filter(|_| answer.member.is_none()) else {
            return;
        };
        let [Case::Object(wanted)] = self.declared(Some(declared)).known()[..] else { return };
        if handler.paged.is_some() || !known.iter().all(|case| self.differs(*case, wanted)) {
            return;
        }
        let what = self.world.shown(known[0]);
        let title = format!("this handler declares <{declared}> and answers {what}");
        let found =
            Diagnostic::warning(value.span, title, what).also(declared.span, "declared here");
        self.report(found.hint("change the type behind `→`, or the answer").code("wrong-answer"));
    }

    /// Whether a value is certainly not of a plain class.
    fn differs(&self, case: Case, wanted: usize) -> bool {
        const PLAIN: [&str; 6] = ["Number", "String", "Boolean", "Array", "Dictionary", "Block"];
        let Case::Object(id) = case else { return false };
        let (given, wanted) = (self.world.classes[id].name, self.world.classes[wanted].name);
        let counts = |name: &str| matches!(name, "Number" | "Boolean");
        given != wanted && PLAIN.contains(&given) && !(counts(given) && counts(wanted))
    }

    /// `new` answers what `init` answers.
    fn init_answer(&mut self, class: &'a Class, body: &'a Block) {
        let Some(value) = answers_other(&body.statements) else { return };
        let name = &class.name.text;
        let title = format!("`{name} new` answers the value of this, and not the new object");
        let found = Diagnostic::warning(value.span, title, "what `init` answers");
        self.report(found.hint("end `init` with `self`").code("init-answer"));
    }
}
