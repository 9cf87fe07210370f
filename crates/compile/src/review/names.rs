//! What the names around an expression hold.

use runnel_syntax::ast::{
    AssignOperator, Block, Expression, ExpressionKind, Method, PropertyPath, Segment, SentMessage,
    Statement, TextPart,
};
use runnel_syntax::walk::{walk, walk_deep};
use std::collections::BTreeMap;

/// The schemes that read a request.
const REQUEST: [&str; 5] = ["query", "form", "header", "cookie", "body"];

/// What is known of a name.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct NameFacts {
    /// A part of a request: a parameter of a path, `newValue`, `theRef`.
    request: bool,
    /// A parameter such as `*:rest`.
    rest: bool,
    /// A variable that was assigned from a request.
    tainted: bool,
    /// A variable that was assigned text of a request, not merely something that was found by it.
    sent: bool,
    /// A variable that was assigned a text with a slash in it.
    slash: bool,
    /// A variable that was assigned a database, and nothing else.
    database: Option<bool>,
}

/// The names that can be seen at a place. Those of the places around it are not copied: a script may have
/// thousands of variables.
#[derive(Default)]
pub(super) struct Names<'a> {
    around: Option<&'a Names<'a>>,
    /// Names of this place, and names around it of which more is known here.
    own: BTreeMap<String, NameFacts>,
}

impl<'a> Names<'a> {
    /// What each handler sees.
    pub(super) fn of_request() -> Self {
        let mut names = Names::default();
        names.add_request("newValue");
        names.add_request("theRef");
        names
    }

    fn inside(around: &'a Names<'a>) -> Self {
        Names { around: Some(around), own: BTreeMap::new() }
    }

    fn facts(&self, name: &str) -> Option<NameFacts> {
        let mut names = self;
        loop {
            if let Some(facts) = names.own.get(name) {
                return Some(*facts);
            }
            names = names.around?;
        }
    }

    fn add_request(&mut self, name: &str) {
        let facts = NameFacts { request: true, ..self.facts(name).unwrap_or_default() };
        self.own.insert(name.to_owned(), facts);
    }

    /// These names below a path.
    pub(super) fn with_path(&'a self, path: &PropertyPath) -> Names<'a> {
        let mut names = Names::inside(self);
        for segment in &path.segments {
            match segment {
                Segment::Parameter(parameter) => names.add_request(&parameter.name.text),
                Segment::Rest(Some(word)) => {
                    names.add_request(&word.text);
                    if let Some(facts) = names.own.get_mut(&word.text) {
                        facts.rest = true;
                    }
                }
                Segment::Literal(_) | Segment::Rest(None) => {}
            }
        }
        for parameter in path.parameters.iter().chain(path.declared_parameters()) {
            names.add_request(&parameter.name.text);
        }
        names
    }

    pub(super) fn of_method(method: &Method) -> Self {
        let parameters = runnel_syntax::walk::parameters(&method.selector);
        let own = parameters.map(|one| (one.name.text.clone(), NameFacts::default())).collect();
        Names { around: None, own }
    }

    /// These names inside a block: its parameters hold something else.
    pub(super) fn with_parameters(&'a self, block: &Block) -> Names<'a> {
        let mut names = Names::inside(self);
        for parameter in &block.parameters {
            names.own.insert(parameter.name.text.clone(), NameFacts::default());
        }
        names
    }

    /// These names and those that statements assign, blocks inside them included.
    pub(super) fn with_assigned(&'a self, statements: &[Statement]) -> Names<'a> {
        let mut names = Names::inside(self);
        // What is assigned from a variable that was assigned further down is found the second time.
        for _ in 0..2 {
            walk_deep(statements, &mut |expression| {
                let ExpressionKind::Assign { target, operator: AssignOperator::Put, value, .. } =
                    &expression.kind
                else {
                    return;
                };
                let ExpressionKind::Name(name) = &target.kind else { return };
                let known = names.facts(name);
                let mut facts = known.unwrap_or_default();
                facts.tainted |= names.is_request(value) || names.is_tainted(value);
                facts.sent |= names.carries_request(value);
                facts.slash |= has_slash(value);
                facts.database = Some(facts.database != Some(false) && names.is_database(value));
                if known != Some(facts) {
                    names.own.insert(name.clone(), facts);
                }
            });
            if names.own.values().all(|facts| !facts.tainted) {
                break;
            }
        }
        names
    }

    /// Whether an expression reads a request.
    pub(super) fn is_request(&self, expression: &Expression) -> bool {
        any(expression, &|inner| match &inner.kind {
            ExpressionKind::Name(name) => self.is(name, |facts| facts.request),
            ExpressionKind::Reference(path) => {
                path.scheme.as_ref().is_some_and(|word| REQUEST.contains(&word.text.as_str()))
            }
            _ => false,
        })
    }

    /// Whether the value is text of a request, changed or joined to other text. What a dictionary has for it is not.
    pub(super) fn carries_request(&self, expression: &Expression) -> bool {
        match &expression.kind {
            ExpressionKind::Name(name) => self.is(name, |facts| facts.request || facts.sent),
            ExpressionKind::Reference(path) => {
                path.scheme.as_ref().is_some_and(|word| REQUEST.contains(&word.text.as_str()))
            }
            ExpressionKind::Parenthesized(inner) => self.carries_request(inner),
            ExpressionKind::Interpolated(parts) => parts.iter().any(
                |part| matches!(part, TextPart::Expression(inner) if self.carries_request(inner)),
            ),
            ExpressionKind::Send { receiver, message }
            | ExpressionKind::Pipe { left: receiver, message } => {
                self.carries_request(receiver)
                    || matches!(message, SentMessage::Binary(_, argument) if self.carries_request(argument))
            }
            ExpressionKind::Subscript { receiver, .. } => self.carries_request(receiver),
            _ => false,
        }
    }

    /// Whether an expression is certainly a database.
    pub(super) fn is_database(&self, expression: &Expression) -> bool {
        match &expression.kind {
            ExpressionKind::Parenthesized(inner) => self.is_database(inner),
            ExpressionKind::ReferenceTo(_) => true,
            ExpressionKind::Name(name) => self.is(name, |facts| facts.database == Some(true)),
            ExpressionKind::Send { message: SentMessage::Unary(word), .. } => {
                word.text == "database"
            }
            ExpressionKind::Send { message: SentMessage::Keyword(parts), .. } => {
                parts.len() == 1 && parts[0].0.text == "database"
            }
            _ => false,
        }
    }

    /// Whether an expression reads a variable that holds a part of a request.
    pub(super) fn is_tainted(&self, expression: &Expression) -> bool {
        any(
            expression,
            &|inner| matches!(&inner.kind, ExpressionKind::Name(name) if self.is(name, |facts| facts.tainted)),
        )
    }

    /// Whether an expression is a parameter such as `*:rest`.
    pub(super) fn is_rest(&self, expression: &Expression) -> bool {
        matches!(&expression.kind, ExpressionKind::Name(name) if self.is(name, |facts| facts.rest))
    }

    /// Whether the text of an expression has a slash in it.
    pub(super) fn has_slash(&self, expression: &Expression) -> bool {
        has_slash(expression)
            || matches!(&expression.kind, ExpressionKind::Name(name) if self.is(name, |facts| facts.slash))
    }

    pub(super) fn is_variable(&self, name: &str) -> bool {
        self.facts(name).is_some()
    }

    fn is(&self, name: &str, has: impl Fn(NameFacts) -> bool) -> bool {
        self.facts(name).is_some_and(has)
    }
}

fn has_slash(expression: &Expression) -> bool {
    match &expression.kind {
        ExpressionKind::Text(text) => text.contains('/'),
        ExpressionKind::Interpolated(parts) => {
            parts.iter().any(|part| matches!(part, TextPart::Text(text) if text.contains('/')))
        }
        ExpressionKind::Parenthesized(inner) => has_slash(inner),
        _ => false,
    }
}

fn any(expression: &Expression, is: &dyn Fn(&Expression) -> bool) -> bool {
    let mut found = false;
    walk(expression, &mut |inner| found |= is(inner));
    found
}

/// Whether an expression reads a scheme of requests that a client fills by name.
pub(super) fn reads_request(expression: &Expression) -> bool {
    match &expression.kind {
        ExpressionKind::Reference(path) => path
            .scheme
            .as_ref()
            .is_some_and(|word| word.text != "body" && REQUEST.contains(&word.text.as_str())),
        ExpressionKind::Parenthesized(inner) => reads_request(inner),
        _ => false,
    }
}
