//! Messages: what they answer.

use crate::checker::Checker;
use crate::types::{Case, Type};
use runnel_catalogue::{KindOption, Message};
use runnel_syntax::Span;
use runnel_syntax::ast::{Expression, ExpressionKind, SentMessage};
use runnel_syntax::walk::{bare, chain};
use std::borrow::Cow;

/// An argument that was evaluated.
pub(crate) struct Argument<'a> {
    pub(crate) expression: &'a Expression,
    pub(crate) kind: Type,
    /// What the block answers, where it is a literal block.
    pub(crate) answer: Option<Type>,
}

/// A message with its receiver and arguments.
pub(crate) struct Sent<'a, 'b> {
    pub(crate) receiver: &'a Expression,
    pub(crate) kind: &'b Type,
    pub(crate) message: &'a SentMessage,
    pub(crate) selector: Cow<'a, str>,
    pub(crate) arguments: &'b [Argument<'a>],
}

/// Messages that do not use what their blocks answer.
const DISCARDING: [&str; 10] = [
    "do:",
    "whileTrue:",
    "whileFalse:",
    "to:do:",
    "to:by:do:",
    "timesRepeat:",
    "repeat:",
    "reverseDo:",
    "keysAndValuesDo:",
    "doWithIndex:",
];

/// The selector of a message as written.
pub(crate) fn selector(message: &SentMessage) -> Cow<'_, str> {
    match message {
        SentMessage::Unary(word) | SentMessage::Binary(word, _) => Cow::Borrowed(&word.text),
        SentMessage::Keyword(parts) => {
            parts.iter().map(|(word, _)| format!("{}:", word.text)).collect()
        }
    }
}

/// Where the words of a message stand.
pub(crate) fn word_span(message: &SentMessage) -> Span {
    match message {
        SentMessage::Unary(word) | SentMessage::Binary(word, _) => word.span,
        SentMessage::Keyword(parts) => parts.first().map_or(Span::default(), |(word, _)| word.span),
    }
}

impl<'a> Checker<'a> {
    /// What a chain of messages answers.
    pub(crate) fn sends(&mut self, expression: &'a Expression) -> Type {
        let mut kind = Type::Any;
        for (number, link) in chain(expression).into_iter().enumerate() {
            let (receiver, messages) = (link.receiver, link.messages);
            if number == 0 {
                kind = self.receiver(receiver, messages);
            }
            let mut last = Type::Any;
            for message in messages {
                last = self.send(receiver, &kind, message);
            }
            kind = last;
        }
        kind
    }

    /// The receiver; an error of a block that does one thing, and whose errors are handled, is meant.
    fn receiver(&mut self, receiver: &'a Expression, messages: &[SentMessage]) -> Type {
        let ExpressionKind::Block(block) = &bare(receiver).kind else {
            return self.expression(receiver);
        };
        let handles =
            |message: &SentMessage| matches!(&*selector(message), "onError:" | "on:do:" | "retry:");
        let is_meant = block.statements.len() <= 1 && messages.iter().any(handles);
        self.protected += u32::from(is_meant);
        self.block(block, &[], true);
        self.protected -= u32::from(is_meant);
        self.of("Block")
    }

    fn send(&mut self, receiver: &'a Expression, kind: &Type, message: &'a SentMessage) -> Type {
        let selector = selector(message);
        let definition = self.definition(kind, &selector);
        let expressions: Vec<&'a Expression> = match message {
            SentMessage::Unary(_) => Vec::new(),
            SentMessage::Binary(_, argument) => vec![argument],
            SentMessage::Keyword(parts) => parts.iter().map(|(_, argument)| argument).collect(),
        };
        let mut arguments = Vec::with_capacity(expressions.len());
        for expression in expressions {
            arguments.push(self.argument(expression, kind, &selector));
        }
        let sent = Sent { receiver, kind, message, selector, arguments: &arguments };
        if self.reporting && !self.is_full() {
            self.message_rules(&sent, definition);
        }
        self.answer(&sent, definition)
    }

    /// What the catalogue says of a message, where all alternatives of the receiver agree.
    fn definition(&self, kind: &Type, selector: &str) -> Option<&'a Message> {
        match kind.known().as_slice() {
            [case] => self.world.documented(*case, selector),
            _ => None,
        }
    }

    fn argument(
        &mut self,
        expression: &'a Expression,
        receiver: &Type,
        selector: &str,
    ) -> Argument<'a> {
        let ExpressionKind::Block(block) = &bare(expression).kind else {
            let kind = self.expression(expression);
            return Argument { expression, kind, answer: None };
        };
        let counts = matches!(selector, "to:do:" | "to:by:do:" | "timesRepeat:" | "repeat:");
        let kinds = match selector {
            _ if counts => vec![self.of("Number")],
            "ifNotNil:" | "ifNil:ifNotNil:" | "ifNotNil:ifNil:" => {
                vec![receiver.clone().without_nil()]
            }
            _ => Vec::new(),
        };
        let is_query = kinds.is_empty() && selector.ends_with(':');
        self.queries += u32::from(is_query);
        let answer = self.block(block, &kinds, !DISCARDING.contains(&selector));
        self.queries -= u32::from(is_query);
        Argument { expression, kind: self.of("Block"), answer: Some(answer) }
    }

    fn answer(&mut self, sent: &Sent<'a, '_>, definition: Option<&'a Message>) -> Type {
        if let Some(controlled) = controlled(sent) {
            return controlled;
        }
        match &*sent.selector {
            "=" | "==" | "!=" | "~=" | "≠" => return self.of("Boolean"),
            "yourself" | "self" => return sent.kind.clone(),
            "+" | "-" | "*" | "/"
                if self.is_number(sent.kind) && self.is_number(&sent.arguments[0].kind) =>
            {
                return self.of("Number");
            }
            _ => {}
        }
        let cases = match sent.kind {
            Type::Unset => return Type::Unset,
            Type::Any => return Type::Any,
            Type::Cases(cases) => cases,
        };
        let mut all = Type::Unset;
        for case in cases {
            all = all.join(&self.answer_of(*case, sent, definition));
        }
        all
    }

    fn is_number(&self, kind: &Type) -> bool {
        kind == &self.of("Number")
    }

    fn answer_of(&self, case: Case, sent: &Sent<'a, '_>, definition: Option<&'a Message>) -> Type {
        if case == Case::Nil {
            return Type::nil();
        }
        if let Some(method) = self.world.method(case, &sent.selector) {
            return match &method.result {
                Some(word) => self.declared_word(Some(word)),
                // Classes of other files may answer something else.
                None if self.sight.is_library || self.sight.loads => Type::Any,
                None => {
                    self.answered.get(&std::ptr::from_ref(method)).cloned().unwrap_or(Type::Unset)
                }
            };
        }
        if let Some(declared) = self.world.field(case, &sent.selector) {
            return self.declared(Some(declared));
        }
        if let (Case::Class(id), "new") = (case, &*sent.selector) {
            return self.new_object(id);
        }
        match definition.or_else(|| self.world.documented(case, &sent.selector)) {
            // Arguments of one kind may give answers of another: dates, decimal numbers.
            Some(message) if message.answer.options.contains(&KindOption::Receiver) => {
                match sent.message {
                    SentMessage::Binary(..) => Type::Any,
                    _ => self.world.type_of_kind(&message.answer, case),
                }
            }
            Some(message) => self.world.type_of_kind(&message.answer, case),
            None => Type::Any,
        }
    }

    /// What `new` answers: what `init` answers.
    fn new_object(&self, id: usize) -> Type {
        let class = &self.world.classes[id];
        let of_program = class.of_program && self.world.method(Case::Class(id), "new").is_none();
        let object = Case::Object(id);
        let initialised = self.world.method(object, "init");
        let is_plain = self.world.lineage(id).all(|one| one.of_program || one.name == "Object");
        let answers_self = initialised.is_none_or(crate::rules::answers::answers_self);
        match of_program && is_plain && answers_self && !self.world.is_open(id) {
            true => Type::object(id),
            false => Type::Any,
        }
    }
}

/// What the messages answer that run one of their blocks.
fn controlled(sent: &Sent<'_, '_>) -> Option<Type> {
    let value = |number: usize| {
        let argument = &sent.arguments[number];
        argument.answer.clone().unwrap_or_else(|| argument.kind.clone())
    };
    Some(match &*sent.selector {
        "ifTrue:" | "ifFalse:" | "ifNotNil:" => value(0).join(&Type::nil()),
        "ifTrue:ifFalse:" | "ifFalse:ifTrue:" | "ifNil:ifNotNil:" | "ifNotNil:ifNil:" => {
            value(0).join(&value(1))
        }
        "ifNil:" => match sent.kind {
            Type::Any => Type::Any,
            known => known.clone().without_nil().join(&value(0)),
        },
        _ => return None,
    })
}
