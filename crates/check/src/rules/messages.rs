//! Messages that nothing understands.

use crate::checker::Checker;
use crate::kernel::canonical;
use crate::sends::{Sent, word_span};
use crate::suggest;
use crate::types::{Case, Type};
use runnel_catalogue::Message;
use runnel_syntax::Diagnostic;
use runnel_syntax::ast::{Expression, ExpressionKind, SentMessage, Word};

/// Messages without arguments whose answer sends on what it is sent.
const STANDING_IN: [&str; 10] = [
    "collect",
    "select",
    "reject",
    "do",
    "selectFirst",
    "detect",
    "reduce",
    "async",
    "each",
    "concurrently",
];
/// What decides by its receiver.
const CONDITIONS: [&str; 7] =
    ["ifTrue:", "ifFalse:", "ifTrue:ifFalse:", "ifFalse:ifTrue:", "and:", "or:", "not"];

/// Whether a message to this goes to something else.
fn stands_in(receiver: &Expression) -> bool {
    match &receiver.kind {
        ExpressionKind::Parenthesized(inner) => stands_in(inner),
        ExpressionKind::Send { message, .. } | ExpressionKind::Pipe { message, .. } => {
            match message {
                SentMessage::Unary(word) => STANDING_IN.contains(&word.text.as_str()),
                SentMessage::Keyword(parts) => {
                    parts.iter().any(|(word, _)| STANDING_IN.contains(&word.text.as_str()))
                        && parts.len() == 1
                }
                SentMessage::Binary(..) => false,
            }
        }
        _ => false,
    }
}

impl<'a> Checker<'a> {
    pub(crate) fn message_rules(&mut self, sent: &Sent<'a, '_>, definition: Option<&'a Message>) {
        if self.sight.loads || self.protected > 0 {
            return;
        }
        let known = sent.kind.known();
        let refused = known.iter().all(|case| !self.world.may_understand(*case, &sent.selector));
        let is_known = self.world.selectors.contains(canonical(&sent.selector));
        let in_sight = self.sight.words.contains(&*sent.selector);
        let sends_on = stands_in(sent.receiver);
        let nothing_known = matches!(sent.kind, Type::Any | Type::Unset);
        if nothing_known && !is_known && !in_sight && !sends_on {
            self.defined_nowhere(sent);
        } else if !known.is_empty() && refused && !sends_on && !self.is_foreign(sent) {
            self.not_understood(sent, Some(known[0]));
        } else if let Some(definition) = definition {
            self.argument_rules(sent, definition);
        }
        self.compared_with_nil(sent);
    }

    /// A message to an unknown receiver that no class defines. Where classes of other files, or rows without
    /// a class, may understand it, only a slip of a known one counts.
    fn defined_nowhere(&mut self, sent: &Sent<'a, '_>) {
        let is_unary = matches!(sent.message, SentMessage::Unary(_));
        let others = self.sight.is_library || self.world.answers_anything;
        let is_certain = !(others || is_unary && self.sight.has_rows);
        let known = || self.world.selectors.iter().map(String::as_str);
        if is_certain || suggest::slip(&sent.selector, known()).is_some() {
            self.not_understood(sent, None);
        }
    }

    /// A message to `self` that only a class in another file may understand.
    fn is_foreign(&self, sent: &Sent<'a, '_>) -> bool {
        let to_self = matches!(&sent.receiver.kind, ExpressionKind::Name(name) if name == "self");
        let class = self.around.class.map(|id| &self.world.classes[id]);
        to_self
            && (self.world.selectors.contains(canonical(&sent.selector))
                || class.is_some_and(|class| !class.of_program))
    }

    /// The next step where no known message is near.
    fn unknown_hint(&self, sent: &Sent<'a, '_>, case: Option<Case>) -> String {
        match (sent.message, case) {
            (SentMessage::Binary(..), _) => {
                "convert the receiver, or send a message in words".to_owned()
            }
            (_, Some(Case::Object(id) | Case::Class(id))) if !self.world.classes[id].of_program => {
                format!("`runnel doc {}` lists its messages", self.world.classes[id].name)
            }
            _ => "check the spelling, or define it in a class".to_owned(),
        }
    }

    fn not_understood(&mut self, sent: &Sent<'a, '_>, case: Option<Case>) {
        let span = word_span(sent.message);
        let selector = &*sent.selector;
        let who = match case {
            Some(case) => self.world.shown(case),
            None => "nothing".into(),
        };
        if case.is_some() && CONDITIONS.contains(&selector) {
            let title = format!("{who} is neither true nor false");
            let hint = "compare it, or ask it a question, as in `name isEmpty`";
            let found =
                Diagnostic::warning(sent.receiver.span, title, format!("asked by `{selector}`"));
            return self.report(found.hint(hint).code("not-boolean"));
        }
        if let Some(found) = self.run_together(sent, case, &who) {
            return self.report(found);
        }
        let suggested = match case {
            Some(case) => {
                let own = self.world.selectors_of(case);
                suggest::selector(selector, own.into_iter()).map(str::to_owned)
            }
            None => {
                let all = self.world.selectors.iter().map(String::as_str);
                suggest::selector(selector, all).map(str::to_owned)
            }
        };
        let title = format!(
            "{who} {} `{selector}`",
            if case.is_some() { "does not understand" } else { "understands" }
        );
        let found = Diagnostic::warning(span, title, "not known");
        let Some(meant) = suggested else {
            let hint = self.unknown_hint(sent, case);
            return self.report(found.hint(hint).code("unknown-message"));
        };
        let arguments = |text: &str| text.matches(':').count();
        let (given, wanted) = (arguments(selector), arguments(&meant));
        if given != wanted {
            let plural = |count: usize| match count {
                0 => "no argument".to_owned(),
                1 => "one argument".to_owned(),
                count => format!("{count} arguments"),
            };
            let title = format!(
                "{who} {} `{selector}`: it takes {}",
                if case.is_some() { "does not understand" } else { "understands" },
                plural(wanted)
            );
            let found = Diagnostic::warning(span, title, format!("{} here", plural(given)));
            return self.report(found.hint(format!("write `{meant}`")).code("wrong-arity"));
        }
        let mut found = found.hint(format!("did you mean `{meant}`?")).code("unknown-message");
        if case.is_some() {
            for (word, part) in words(sent.message).into_iter().zip(meant.split(':')) {
                if word.text != part {
                    found = found.fix(word.span, part);
                }
            }
        }
        self.report(found);
    }

    /// `list collect: { … } select: { … }`: one message of two known ones.
    fn run_together(
        &self,
        sent: &Sent<'a, '_>,
        case: Option<Case>,
        who: &str,
    ) -> Option<Diagnostic> {
        let SentMessage::Keyword(parts) = sent.message else { return None };
        let selector = |words: &[(Word, Expression)]| -> String {
            words.iter().map(|(word, _)| format!("{}:", word.text)).collect()
        };
        let is_known = |selector: &str| self.world.selectors.contains(selector);
        let begins = |selector: &str| match case {
            Some(case) => self.world.may_understand(case, selector),
            None => is_known(selector),
        };
        let at = (1..parts.len())
            .rev()
            .find(|at| begins(&selector(&parts[..*at])) && is_known(&selector(&parts[*at..])))?;
        let (first, second) = (selector(&parts[..at]), selector(&parts[at..]));
        let title = format!("two messages run together: {who} understands `{}`", sent.selector);
        let title = match case {
            Some(_) => title.replace(" understands ", " does not understand "),
            None => title,
        };
        let shown = |selector: &str| selector.replace(':', ": … ").trim_end().to_owned();
        let hint = format!(
            "write `(… {}) {}`, or `… | {}`",
            shown(&first),
            shown(&second),
            shown(&second)
        );
        let found = Diagnostic::warning(
            parts[at].0.span,
            title,
            format!("`{second}` is a message of its own"),
        );
        Some(
            found
                .also(parts[0].0.span, format!("`{first}` begins here"))
                .hint(hint)
                .code("run-together"),
        )
    }

    /// nil has no order.
    fn compared_with_nil(&mut self, sent: &Sent<'a, '_>) {
        let compares = matches!(&*sent.selector, "<" | ">" | "≤" | "≥" | "<=" | ">=");
        let is_nil =
            |one: &Expression| matches!(&one.kind, ExpressionKind::Name(name) if name == "nil");
        let argument = sent.arguments.first().map(|argument| argument.expression);
        let Some(nil) =
            [Some(sent.receiver), argument].into_iter().flatten().find(|one| is_nil(one))
        else {
            return;
        };
        if compares && self.queries == 0 {
            let title = format!("nil has no order: `{}` with it is an error", sent.selector);
            let found = Diagnostic::warning(nil.span, title, "nil");
            self.report(found.hint("ask `isNil` or `isNotNil`").code("wrong-type"));
        }
    }
}

/// The words of a message.
fn words(message: &SentMessage) -> Vec<&Word> {
    match message {
        SentMessage::Unary(word) => vec![word],
        SentMessage::Binary(..) => Vec::new(),
        SentMessage::Keyword(parts) => parts.iter().map(|(word, _)| word).collect(),
    }
}
