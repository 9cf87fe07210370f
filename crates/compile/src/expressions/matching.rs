//! Pattern matching: `value match: [ pattern → { … }, … ] otherwise: { … }`. The patterns are values;
//! the kernel compares them in order (`core/match.lua`) and calls the block of the first that fits.

use crate::code::Code;
use crate::expressions::control::{block, selector};
use crate::generator::Generator;
use runnel_syntax::ast::{Expression, ExpressionKind, Word};

/// The cases of a `match:`: pattern and block in turn; `None` where the argument is no list of cases.
fn cases(expression: &Expression) -> Option<Vec<&Expression>> {
    let elements = match &expression.kind {
        ExpressionKind::Parenthesized(inner) => return cases(inner),
        ExpressionKind::Array { class: None, elements } => elements,
        _ => return None,
    };
    let mut list = Vec::with_capacity(elements.len() * 2);
    for element in elements {
        let ExpressionKind::Connect { left, right, .. } = &element.kind else { return None };
        block(right)?;
        list.extend([&**left, &**right]);
    }
    Some(list)
}

/// Whether a message is a `match:` with its cases written out.
pub(super) fn is_match(parts: &[(Word, Expression)]) -> bool {
    matches!(selector(parts).as_str(), "match:" | "match:otherwise:")
        && parts.first().is_some_and(|(_, list)| cases(list).is_some())
}

impl Generator<'_> {
    /// The call for a `match:`. A nil is matched too, so this is no message to the value.
    pub(super) fn match_cases(&mut self, value: Code, parts: &[(Word, Expression)]) -> Code {
        let mut list = parts.first().and_then(|(_, list)| cases(list)).unwrap_or_default();
        let count = list.len();
        list.extend(parts.get(1).map(|(_, otherwise)| otherwise));
        let value = self.kept_before(value, &list);
        let codes = self.expressions(&list);
        let mark = parts.first().map_or(String::new(), |(word, _)| self.mark(word.span));
        self.helper("K");
        let texts: Vec<&str> = codes.iter().map(|code| code.text.as_str()).collect();
        let (cases, otherwise) = texts.split_at(count);
        let otherwise = otherwise.first().map_or(String::new(), |code| format!(",{code}"));
        let call =
            format!("{mark}K.match({},{{{}}},{count}{otherwise})", value.text, cases.join(","));
        let mut inner = codes;
        inner.push(value);
        Code::call(call).with_arguments(&inner)
    }
}
