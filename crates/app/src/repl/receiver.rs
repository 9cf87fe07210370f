//! The class of the receiver of a message, from the text and the definitions of messages: nothing is run.

use runnel_catalogue::{Kind, KindOption, Message};
use runnel_runtime::{DefinedSelector, Isolate, catalogue};
use runnel_syntax::ast::{Expression, ExpressionKind, SentMessage, StatementKind};
use runnel_syntax::{TokenKind, parse, tokens};

/// A class that a value may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PossibleClass {
    /// It and those above it.
    classes: Vec<String>,
    /// Whether the value is the class itself.
    is_class: bool,
}

/// What is known of a receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Receiver {
    Unknown,
    /// A value of one of these classes.
    Known(Vec<PossibleClass>),
}

/// A value, before the classes of variables are asked for.
#[derive(Debug, PartialEq)]
enum Origin {
    Unknown,
    /// A value of a class of the kernel.
    Instance(&'static str),
    /// A new value of a class that the text names, perhaps one of the program.
    New(String),
    Variable(String),
    Answer(Box<Origin>, String),
}

impl Receiver {
    /// The value at the end of a text, to which a unary message would go.
    pub(crate) async fn of(isolate: &Isolate, text: &str) -> Receiver {
        let origin = origin(text);
        let known = match origin.name() {
            Some(name) => isolate.classes_of(name).await,
            None => None,
        };
        origin.resolve(known.as_ref())
    }

    /// The selectors that the value understands; of an unknown one, all. Those that the kernel does not define
    /// are internal.
    pub(crate) fn selectors(&self, defined: &[DefinedSelector]) -> Vec<String> {
        let mut selectors: Vec<String> = match self {
            Receiver::Unknown => catalogue().selectors().map(String::from).collect(),
            Receiver::Known(possible) => possible
                .iter()
                .flat_map(|one| one.messages().map(|one| one.selector.clone()))
                .collect(),
        };
        let of_program = defined.iter().filter(|one| one.is_of_program && self.has(one));
        selectors.extend(of_program.map(|one| one.selector.clone()));
        selectors.retain(|one| one.starts_with(char::is_alphabetic));
        selectors
    }

    fn has(&self, defined: &DefinedSelector) -> bool {
        match self {
            Receiver::Unknown => true,
            Receiver::Known(possible) => possible.iter().any(|one| {
                one.is_class == defined.is_of_class && one.classes.contains(&defined.class)
            }),
        }
    }

    /// The signature and the first sentence of a message to the value.
    pub(crate) fn explanation(&self, selector: &str) -> Option<String> {
        let message = match self {
            Receiver::Unknown => catalogue().definitions(selector).next(),
            Receiver::Known(possible) => possible.iter().find_map(|one| one.message(selector)),
        }?;
        Some(format!("{} {message}  {}", message.class, message.summary()))
    }
}

impl PossibleClass {
    fn instance(class: &str) -> PossibleClass {
        let classes = catalogue().lineage(class).map(|class| class.name.clone()).collect();
        PossibleClass { classes, is_class: false }
    }

    /// The lineage in the catalogue: from the first class that the kernel defines.
    fn messages(&self) -> impl Iterator<Item = &'static Message> {
        let first = self.classes.iter().find(|name| catalogue().class(name).is_some());
        let lineage = first.into_iter().flat_map(|name| catalogue().lineage(name));
        let is_class = self.is_class;
        lineage.flat_map(|class| &class.messages).filter(move |one| one.is_of_class == is_class)
    }

    fn message(&self, selector: &str) -> Option<&'static Message> {
        self.messages().find(|one| one.selector == selector)
    }

    /// What the value answers to a message.
    fn answer(&self, selector: &str) -> Receiver {
        let Some(message) = self.message(selector) else { return Receiver::Unknown };
        let own = PossibleClass { classes: self.classes.clone(), is_class: false };
        possible(&message.answer, &own)
    }
}

fn possible(kind: &Kind, own: &PossibleClass) -> Receiver {
    let options: Option<Vec<PossibleClass>> = kind
        .options
        .iter()
        .map(|option| match option {
            KindOption::Class(name) if name != "Class" => Some(PossibleClass::instance(name)),
            KindOption::Block(_) => Some(PossibleClass::instance("Block")),
            KindOption::Receiver => Some(own.clone()),
            _ => None,
        })
        .collect();
    options.map_or(Receiver::Unknown, Receiver::Known)
}

impl Origin {
    /// The variable or the class at the beginning of the chain.
    fn name(&self) -> Option<&str> {
        match self {
            Origin::Variable(name) | Origin::New(name) => Some(name),
            Origin::Answer(of, _) => of.name(),
            Origin::Unknown | Origin::Instance(_) => None,
        }
    }

    /// Given the classes of the name, and whether its value is itself a class.
    fn resolve(&self, named: Option<&(Vec<String>, bool)>) -> Receiver {
        match self {
            Origin::Unknown => Receiver::Unknown,
            Origin::Instance(class) => Receiver::Known(vec![PossibleClass::instance(class)]),
            Origin::New(_) => named.map_or(Receiver::Unknown, |(classes, _)| {
                let classes = classes.clone();
                Receiver::Known(vec![PossibleClass { classes, is_class: false }])
            }),
            Origin::Variable(_) => named.map_or(Receiver::Unknown, |(classes, is_class)| {
                let (classes, is_class) = (classes.clone(), *is_class);
                Receiver::Known(vec![PossibleClass { classes, is_class }])
            }),
            Origin::Answer(of, selector) => {
                let Receiver::Known(receivers) = of.resolve(named) else {
                    return Receiver::Unknown;
                };
                let mut all = Vec::new();
                for one in &receivers {
                    let Receiver::Known(more) = one.answer(selector) else {
                        return Receiver::Unknown;
                    };
                    all.extend(more);
                }
                Receiver::Known(all)
            }
        }
    }
}

/// The value at the end of a text: of the last statement inside the innermost bracket that is open.
fn origin(text: &str) -> Origin {
    let parsed = parse(innermost(text));
    match parsed.program.statements.last().map(|statement| &statement.kind) {
        Some(StatementKind::Expression(expression) | StatementKind::Return(expression)) => {
            last_operand(expression)
        }
        _ => Origin::Unknown,
    }
}

fn innermost(text: &str) -> &str {
    let mut open = vec![0];
    for token in tokens(text) {
        match token.kind {
            TokenKind::OpenParen | TokenKind::OpenBracket | TokenKind::OpenBrace => {
                open.push(token.span.end as usize);
            }
            TokenKind::CloseParen | TokenKind::CloseBracket | TokenKind::CloseBrace => {
                open.pop();
            }
            _ => {}
        }
    }
    let inner = text.get(open.last().copied().unwrap_or(0)..).unwrap_or(text);
    // The parameters of a block, `:each |`.
    match inner.trim_start().strip_prefix(':').and_then(|rest| rest.split_once('|')) {
        Some((_, body)) => body,
        None => inner,
    }
}

/// The operand to which a further unary message would go.
fn last_operand(expression: &Expression) -> Origin {
    match &expression.kind {
        ExpressionKind::Assign { value, .. } => last_operand(value),
        ExpressionKind::Connect { right, .. } => last_operand(right),
        ExpressionKind::Send { message: SentMessage::Binary(_, argument), .. } => {
            last_operand(argument)
        }
        ExpressionKind::Send { message: SentMessage::Keyword(parts), .. } => {
            parts.last().map_or(Origin::Unknown, |(_, argument)| last_operand(argument))
        }
        _ => value(expression),
    }
}

/// The value of an expression.
fn value(expression: &Expression) -> Origin {
    let instance = Origin::Instance;
    match &expression.kind {
        ExpressionKind::Integer(_) | ExpressionKind::Float(_) => instance("Number"),
        ExpressionKind::Text(_) | ExpressionKind::Interpolated(_) | ExpressionKind::Symbol(_) => {
            instance("String")
        }
        ExpressionKind::Pattern(_) => instance("Pattern"),
        ExpressionKind::ReferenceTo(_) => instance("Reference"),
        ExpressionKind::Block(_) => instance("Block"),
        ExpressionKind::Dictionary(_) => instance("Dictionary"),
        ExpressionKind::Array { class: None, .. } => instance("Array"),
        ExpressionKind::Array { class: Some(class), .. } => Origin::New(class.text.clone()),
        ExpressionKind::Object { class, .. } if class.text.starts_with(char::is_uppercase) => {
            Origin::New(class.text.clone())
        }
        ExpressionKind::Object { .. } => instance("Element"),
        ExpressionKind::Name(name) => match name.as_str() {
            "true" | "false" => instance("Boolean"),
            "nil" => instance("Nil"),
            name => Origin::Variable(name.to_owned()),
        },
        ExpressionKind::Parenthesized(inner) => value(inner),
        ExpressionKind::Assign { value: inner, .. } => value(inner),
        ExpressionKind::Send { receiver, message }
        | ExpressionKind::Pipe { left: receiver, message } => {
            Origin::Answer(Box::new(value(receiver)), selector(message))
        }
        ExpressionKind::Cascade { receiver, messages } => match messages.last() {
            Some(message) => Origin::Answer(Box::new(value(receiver)), selector(message)),
            None => Origin::Unknown,
        },
        _ => Origin::Unknown,
    }
}

fn selector(message: &SentMessage) -> String {
    match message {
        SentMessage::Unary(name) | SentMessage::Binary(name, _) => name.text.clone(),
        SentMessage::Keyword(parts) => {
            parts.iter().map(|(word, _)| format!("{}:", word.text)).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classes(text: &str) -> Vec<String> {
        match origin(text).resolve(None) {
            Receiver::Unknown => Vec::new(),
            Receiver::Known(possible) => {
                possible.into_iter().map(|one| one.classes[0].clone()).collect()
            }
        }
    }

    #[test]
    fn the_text_says_what_the_receiver_is() {
        for (text, class) in [
            ("'abc'", "String"),
            ("12", "Number"),
            ("[ 1, 2 ]", "Array"),
            ("#{ a: 1 }", "Dictionary"),
            ("ref:file:x", "Reference"),
            ("'abc' uppercase", "String"),
            ("'abc' count", "Number"),
            ("('abc' , 'd') count", "Number"),
            ("x := 'abc' reversed", "String"),
            ("3 + 'abc'", "String"),
            ("'a' replace: 'b' with: 3", "Number"),
            ("('a' replace: 'b' with: 'c')", "String"),
            ("stdout println: (1 + 2", "Number"),
            ("[ 'a', 'b' ] do: { :each | true", "Boolean"),
        ] {
            assert_eq!(classes(text), [class], "{text}");
        }
        for text in ["file:x", "x", "x first", "[ 1 ] first", "", ")", "#Ship{ }"] {
            assert!(classes(text).is_empty(), "{text}");
        }
        assert_eq!(origin("x := #Ship{ } sail").name(), Some("Ship"));
    }

    #[test]
    fn internal_messages_are_not_proposed() {
        let selectors = origin("'abc'").resolve(None).selectors(&[]);
        assert!(selectors.iter().any(|one| one == "uppercase"));
        assert!(selectors.iter().any(|one| one == "isNil"));
        assert!(
            !selectors.iter().any(|one| one.starts_with('_') || one == "+" || one == "htmlRows")
        );
        let explained = origin("'abc'").resolve(None).explanation("count").unwrap_or_default();
        assert!(explained.starts_with("String -<Number>count  How many characters"), "{explained}");
    }
}
