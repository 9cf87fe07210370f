//! A handler whose literal answer, or whose status code, is not what it declares behind `→`.
//!
//! Only what is certain is found: literals as the last statement or behind `^`, and their fields and elements.

use runnel_syntax::Diagnostic;
use runnel_syntax::ast::{
    Class, DeclaredKind, DeclaredType, Expression, ExpressionKind, MemberKind, Pair, PathHandler,
    Program, SentMessage, Statement, StatementKind,
};
use runnel_syntax::walk::walk_deep;
use std::collections::BTreeMap;

/// Status codes that the server answers by itself; a document has them without a declaration.
const AUTOMATIC: [&str; 11] =
    ["304", "400", "401", "403", "404", "406", "412", "413", "415", "422", "503"];
/// Literals inside each other that are looked at.
const DEEPEST: usize = 8;

/// The classes that a program defines, by name.
#[derive(Default)]
pub(super) struct Classes<'a>(BTreeMap<&'a str, &'a Class>);

impl<'a> Classes<'a> {
    pub(super) fn of(program: &'a Program) -> Classes<'a> {
        let classes = program.statements.iter().filter_map(|statement| match &statement.kind {
            StatementKind::Class(class) => Some((class.name.text.as_str(), class)),
            _ => None,
        });
        Classes(classes.collect())
    }

    /// The fields of a class with their types, also those that it inherits; nothing where a class is not
    /// in the program.
    fn fields(&self, name: &str) -> Option<Vec<(&'a str, &'a DeclaredType)>> {
        let mut fields = Vec::new();
        for class in self.line(name) {
            let class = class?;
            for member in &class.members {
                let MemberKind::Variables(variables) = &member.kind else { continue };
                let Some(kind) = &variables.kind else { continue };
                fields.extend(variables.names.iter().map(|name| (name.text.as_str(), kind)));
            }
        }
        Some(fields)
    }

    /// A class and its superclasses; `None` at the end for a class that is not in the program.
    fn line(&self, name: &str) -> Vec<Option<&'a Class>> {
        let mut line = Vec::new();
        let mut next = Some(name);
        while let Some(name) = next.filter(|_| line.len() < DEEPEST) {
            let class = self.0.get(name).copied();
            line.push(class);
            next = class.and_then(|class| Some(class.superclass.as_ref()?.text.as_str()));
        }
        line
    }

    /// Whether objects of one class are certainly none of another one.
    fn differ(&self, made: &str, wanted: &str) -> bool {
        let line = self.line(made);
        self.0.contains_key(wanted)
            && line.iter().all(|class| class.is_some_and(|class| class.name.text != wanted))
    }
}

/// What is wrong with the answers of a handler.
pub(super) fn warnings(handler: &PathHandler, classes: &Classes<'_>, found: &mut Vec<Diagnostic>) {
    if handler.answers.is_empty() || handler.is_page() {
        return;
    }
    found.extend(undeclared_status(handler));
    let untyped =
        |status: &str| !matches!(status, "204" | "205") && !status.starts_with(['3', '4', '5']);
    let any = handler.answers.iter().any(|answer| {
        answer.kind.is_none() && answer.status.as_ref().is_none_or(|status| untyped(&status.text))
    });
    let kinds: Vec<&DeclaredType> =
        handler.answers.iter().filter_map(|answer| answer.kind.as_ref()).collect();
    if any || kinds.is_empty() || super::markup::sets_type(&handler.body) {
        return;
    }
    for literal in answered(&handler.body.statements) {
        let faults = kinds.iter().map(|kind| fault(literal, kind, classes, 0));
        // Fits one of the answers, or is not known.
        let Some(faults) = faults.collect::<Option<Vec<Fault<'_>>>>() else { continue };
        if let Some(fault) = faults.into_iter().next() {
            let title = match fault.field {
                Some(name) => format!("`{name}` of this answer is not what the handler declares"),
                None => "this answer is not what the handler declares".to_string(),
            };
            let diagnostic = Diagnostic::warning(fault.place.span, title, fault.words);
            found.push(
                diagnostic
                    .also(kinds[0].span, "declared here")
                    .hint("change the type behind `→`, or what the handler answers"),
            );
        }
    }
}

/// Why a literal does not fit a type.
struct Fault<'a> {
    place: &'a Expression,
    field: Option<String>,
    words: String,
}

impl<'a> Fault<'a> {
    fn new(place: &'a Expression, wanted: &DeclaredType, is: &str) -> Fault<'a> {
        Fault { place, field: None, words: format!("{is}, not <{wanted}>") }
    }

    fn within(self, name: &str) -> Fault<'a> {
        Fault { field: self.field.or_else(|| Some(name.to_string())), ..self }
    }
}

/// A status code that a handler sets without declaring it.
fn undeclared_status(handler: &PathHandler) -> Vec<Diagnostic> {
    let declared: Vec<&str> = handler
        .answers
        .iter()
        .map(|answer| answer.status.as_ref().map_or("200", |status| status.text.as_str()))
        .collect();
    let mut found = Vec::new();
    walk_deep(&handler.body.statements, &mut |expression| {
        let ExpressionKind::Assign { target, value, .. } = &expression.kind else { return };
        let ExpressionKind::Reference(path) = &target.kind else { return };
        let ExpressionKind::Integer(status) = &value.kind else { return };
        let sets = path.scheme.as_ref().is_some_and(|word| word.text == "response")
            && path.literal().is_some_and(|name| name == "status");
        if sets && !declared.contains(&status.as_str()) && !AUTOMATIC.contains(&status.as_str()) {
            let title = format!("this handler does not declare the status code {status}");
            let label = format!("declared: {}", declared.join(", "));
            let hint = format!("add it behind the others: `| {status}`");
            found.push(Diagnostic::warning(value.span, title, label).hint(hint));
        }
    });
    found
}

/// The expressions that a body answers: the last one and those behind `^`, with both branches of a choice.
fn answered(statements: &[Statement]) -> Vec<&Expression> {
    let last = statements.len().checked_sub(1);
    let mut all = Vec::new();
    for (at, statement) in statements.iter().enumerate() {
        match &statement.kind {
            StatementKind::Return(value) => all.extend(branches(value, 0)),
            StatementKind::Expression(value) if Some(at) == last => all.extend(branches(value, 0)),
            _ => {}
        }
    }
    all
}

fn branches(value: &Expression, depth: usize) -> Vec<&Expression> {
    match &value.kind {
        _ if depth > DEEPEST => Vec::new(),
        ExpressionKind::Parenthesized(inner) => branches(inner, depth + 1),
        ExpressionKind::Send { message: SentMessage::Keyword(parts), .. }
            if parts.len() == 2
                && parts
                    .iter()
                    .all(|(word, _)| matches!(word.text.as_str(), "ifTrue" | "ifFalse")) =>
        {
            let blocks = parts.iter().filter_map(|(_, argument)| match &argument.kind {
                ExpressionKind::Block(block) => block.statements.last(),
                _ => None,
            });
            let values = blocks.filter_map(|statement| match &statement.kind {
                StatementKind::Expression(value) => Some(value),
                _ => None,
            });
            values.flat_map(|value| branches(value, depth + 1)).collect()
        }
        _ => vec![value],
    }
}

/// What a literal is in words; nothing for what is no literal.
fn words_of(value: &Expression) -> Option<&'static str> {
    Some(match &value.kind {
        ExpressionKind::Text(_) | ExpressionKind::Interpolated(_) | ExpressionKind::Symbol(_) => {
            "text"
        }
        ExpressionKind::Integer(_) => "an integer",
        ExpressionKind::Float(_) => "a number",
        ExpressionKind::Name(name) if matches!(name.as_str(), "true" | "false") => "true or false",
        ExpressionKind::Array { class: None, .. } => "an array",
        ExpressionKind::Dictionary(_) => "a dictionary",
        _ => return None,
    })
}

/// What is known to be wrong with a value for a type; nothing for a value that may fit.
fn fault<'a>(
    value: &'a Expression,
    wanted: &DeclaredType,
    classes: &Classes<'_>,
    depth: usize,
) -> Option<Fault<'a>> {
    if depth > DEEPEST {
        return None;
    }
    if let ExpressionKind::Parenthesized(inner) = &value.kind {
        return fault(inner, wanted, classes, depth + 1);
    }
    match &wanted.kind {
        DeclaredKind::Enumeration(texts) => match &value.kind {
            ExpressionKind::Text(text) if texts.iter().any(|known| known.text == *text) => None,
            ExpressionKind::Text(text) => Some(Fault::new(value, wanted, &format!("'{text}'"))),
            ExpressionKind::Interpolated(_) | ExpressionKind::Symbol(_) => None,
            _ => Some(Fault::new(value, wanted, words_of(value)?)),
        },
        DeclaredKind::List { element, .. } => match &value.kind {
            ExpressionKind::Array { class: None, elements } => {
                elements.iter().find_map(|one| fault(one, element, classes, depth + 1))
            }
            _ => Some(Fault::new(value, wanted, words_of(value)?)),
        },
        DeclaredKind::OneOf(options) => {
            let faults = options.iter().map(|one| fault(value, one, classes, depth + 1));
            faults.collect::<Option<Vec<_>>>()?;
            Some(Fault::new(value, wanted, words_of(value).unwrap_or("another object")))
        }
        DeclaredKind::Named { name, .. } => named_fault(value, wanted, &name.text, classes, depth),
    }
}

fn named_fault<'a>(
    value: &'a Expression,
    wanted: &DeclaredType,
    name: &str,
    classes: &Classes<'_>,
    depth: usize,
) -> Option<Fault<'a>> {
    if classes.0.contains_key(name) {
        return class_fault(value, wanted, name, classes, depth);
    }
    let is = words_of(value)?;
    let fits: &[&str] = match name.to_ascii_lowercase().as_str() {
        "int" | "integer" | "long" | "nsinteger" => &["an integer"],
        "float" | "double" | "number" => &["an integer", "a number"],
        // A number with a fraction is not exact.
        "decimal" | "nsdecimalnumber" => &["an integer", "text"],
        "bool" | "boolean" => &["true or false"],
        "string" | "text" | "nsstring" | "email" | "url" | "uuid" | "time" | "date"
        | "datetime" | "nsdate" | "moment" | "bytes" | "data" | "nsdata" => &["text"],
        _ => return None,
    };
    (!fits.contains(&is)).then(|| Fault::new(value, wanted, is))
}

fn class_fault<'a>(
    value: &'a Expression,
    wanted: &DeclaredType,
    name: &str,
    classes: &Classes<'_>,
    depth: usize,
) -> Option<Fault<'a>> {
    match &value.kind {
        ExpressionKind::Object { class, .. } if classes.differ(&class.text, name) => {
            Some(Fault::new(value, wanted, &format!("an object of {}", class.text)))
        }
        ExpressionKind::Object { .. } => None,
        ExpressionKind::Dictionary(pairs) => {
            record_fault(value, pairs, wanted, &classes.fields(name)?, classes, depth)
        }
        _ => Some(Fault::new(value, wanted, words_of(value)?)),
    }
}

/// A dictionary for an object: a field of another type, or a missing field.
fn record_fault<'a>(
    value: &'a Expression,
    pairs: &'a [Pair],
    wanted: &DeclaredType,
    fields: &[(&str, &DeclaredType)],
    classes: &Classes<'_>,
    depth: usize,
) -> Option<Fault<'a>> {
    let key = |pair: &'a Pair| match &pair.key.kind {
        ExpressionKind::Symbol(name) | ExpressionKind::Text(name) => Some(name.as_str()),
        _ => None,
    };
    let given: Vec<(&str, &Expression)> =
        pairs.iter().map(|pair| Some((key(pair)?, &pair.value))).collect::<Option<_>>()?;
    for (name, value) in &given {
        let declared = fields.iter().find(|(field, _)| field == name);
        let found = declared.and_then(|(_, kind)| fault(value, kind, classes, depth + 1));
        if let Some(found) = found {
            return Some(found.within(name));
        }
    }
    let missing = fields
        .iter()
        .find(|(field, kind)| !kind.optional && !given.iter().any(|(name, _)| name == field));
    missing.map(|(field, _)| Fault {
        words: format!("without `{field}`"),
        ..Fault::new(value, wanted, "")
    })
}
