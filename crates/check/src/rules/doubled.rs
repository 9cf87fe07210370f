//! What is declared, defined or given twice.

use crate::checker::Checker;
use crate::world::selector_of;
use runnel_syntax::ast::{Class, ExpressionKind, MemberKind, Pair, Selector, Word};
use runnel_syntax::{Diagnostic, Span};
use std::collections::HashMap;

impl<'a> Checker<'a> {
    fn twice(&mut self, code: &'static str, title: String, again: Span, first: Span, hint: &str) {
        let found = Diagnostic::warning(again, title, "again").also(first, "the first one");
        self.report(found.hint(hint).code(code));
    }

    /// The names of one declaration.
    pub(crate) fn doubled_names(&mut self, names: &'a [Word]) {
        self.doubled_words(names.iter());
    }

    fn doubled_words(&mut self, names: impl Iterator<Item = &'a Word>) {
        let mut seen: HashMap<&str, Span> = HashMap::new();
        for name in names {
            match seen.get(name.text.as_str()) {
                Some(first) => {
                    let title = format!("`{}` is declared twice", name.text);
                    self.twice("doubled", title, name.span, *first, "remove one of the two");
                }
                None => drop(seen.insert(&name.text, name.span)),
            }
        }
    }

    /// Variables and methods of one class body.
    pub(crate) fn doubled_members(&mut self, class: &'a Class) {
        if !self.reporting {
            return;
        }
        let variables = class.members.iter().filter_map(|member| match &member.kind {
            MemberKind::Variables(declaration) => Some(&declaration.names),
            _ => None,
        });
        self.doubled_words(variables.flatten());
        let mut seen: HashMap<(bool, String), Span> = HashMap::new();
        for member in &class.members {
            let MemberKind::Method(method) = &member.kind else { continue };
            let selector = selector_of(&method.selector);
            let span = match &method.selector {
                Selector::Unary(word) | Selector::Binary(word, _) => word.span,
                Selector::Keyword(parts) => parts.first().map_or(member.span, |part| part.0.span),
            };
            match seen.get(&(method.class_side, selector.clone())) {
                Some(first) => {
                    let title = format!("{} has two methods `{selector}`", class.name.text);
                    let hint = "the last one is run: remove the other";
                    self.twice("doubled", title, span, *first, hint);
                }
                None => drop(seen.insert((method.class_side, selector), span)),
            }
        }
    }

    /// Keys of a literal.
    pub(crate) fn doubled_keys(&mut self, pairs: &'a [Pair]) {
        if !self.reporting || pairs.len() < 2 {
            return;
        }
        let mut seen: HashMap<&str, Span> = HashMap::new();
        for pair in pairs {
            let (ExpressionKind::Symbol(key) | ExpressionKind::Text(key)) = &pair.key.kind else {
                continue;
            };
            match seen.get(key.as_str()) {
                Some(first) => {
                    let title = format!("`{key}` has two values in this literal");
                    let hint = "the last one counts: remove the other";
                    self.twice("doubled", title, pair.key.span, *first, hint);
                }
                None => drop(seen.insert(key, pair.key.span)),
            }
        }
    }
}
