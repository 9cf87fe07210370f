//! Expressions: the places of names in them, and what is known of their values.

use super::builder::NameBuilder;
use super::index::{KnownValue, LiteralPlace, NameKind, NameUse, ReferencePlace, SentPlace};
use runnel_syntax::Span;
use runnel_syntax::ast::{
    AssignOperator, Expression, ExpressionKind, Pair, Path, PathPart, SentMessage, TextPart, Word,
};
use runnel_syntax::walk::{bare, chain};
use std::sync::Arc;

/// The selector of a message, and the places of its words.
fn words(message: &SentMessage) -> (String, Vec<Span>) {
    match message {
        SentMessage::Unary(word) | SentMessage::Binary(word, _) => {
            (word.text.clone(), vec![word.span])
        }
        SentMessage::Keyword(parts) => (
            parts.iter().map(|(word, _)| format!("{}:", word.text)).collect(),
            parts.iter().map(|(word, _)| word.span).collect(),
        ),
    }
}

pub(super) fn arguments(message: &SentMessage) -> Vec<&Expression> {
    match message {
        SentMessage::Unary(_) => Vec::new(),
        SentMessage::Binary(_, argument) => vec![argument],
        SentMessage::Keyword(parts) => parts.iter().map(|(_, argument)| argument).collect(),
    }
}

impl NameBuilder<'_> {
    pub(super) fn expression(&mut self, expression: &Expression) -> KnownValue {
        let value = self.value_of(expression);
        if value.is_known() {
            self.index.values.push((expression.span, value.clone()));
        }
        value
    }

    fn value_of(&mut self, expression: &Expression) -> KnownValue {
        match &expression.kind {
            ExpressionKind::Integer(_) | ExpressionKind::Float(_) => KnownValue::object("Number"),
            ExpressionKind::Text(_) | ExpressionKind::Symbol(_) => KnownValue::object("String"),
            ExpressionKind::Interpolated(parts) => {
                for part in parts {
                    if let TextPart::Expression(inner) = part {
                        self.expression(inner);
                    }
                }
                KnownValue::object("String")
            }
            ExpressionKind::Pattern(_) => KnownValue::object("Pattern"),
            ExpressionKind::Name(name) => self.name(name, expression.span, NameUse::Read),
            ExpressionKind::Implicit(name) => match name.as_str() {
                "0" => self.element.clone().unwrap_or_default(),
                _ => KnownValue::default(),
            },
            ExpressionKind::Reference(path) => self.reference(path, expression.span, NameUse::Read),
            ExpressionKind::ReferenceTo(path) => {
                self.reference(path, expression.span, NameUse::Read);
                KnownValue::object("Reference")
            }
            ExpressionKind::Array { class, elements } => self.array(class.as_ref(), elements),
            ExpressionKind::Dictionary(pairs) => {
                for pair in pairs {
                    self.expression(&pair.key);
                    self.expression(&pair.value);
                }
                KnownValue::object("Dictionary")
            }
            ExpressionKind::Object { class, pairs, children } => {
                self.object(class, pairs.as_deref(), children.as_deref(), expression.span)
            }
            ExpressionKind::Block(block) => {
                self.block(block, &[]);
                KnownValue::object("Block")
            }
            ExpressionKind::Parenthesized(inner) => self.expression(inner),
            ExpressionKind::Send { .. }
            | ExpressionKind::Pipe { .. }
            | ExpressionKind::Cascade { .. } => self.sends(expression),
            ExpressionKind::Subscript { receiver, index } => self.subscript(receiver, index),
            ExpressionKind::Next(inner) => {
                self.expression(inner);
                KnownValue::default()
            }
            ExpressionKind::Assign { target, operator, value, .. } => {
                self.assignment(target, *operator, value)
            }
            ExpressionKind::Connect { left, right, .. } => {
                let left = self.expression(left);
                self.expression(right);
                left
            }
            ExpressionKind::Error => KnownValue::default(),
        }
    }

    fn name(&mut self, name: &str, span: Span, usage: NameUse) -> KnownValue {
        match name {
            "nil" => return KnownValue::default(),
            "true" | "false" => return KnownValue::object("Boolean"),
            "self" | "super" => {
                let class = self.class.as_deref().map(Arc::from);
                return KnownValue { class, is_class: self.is_class_side, element: None };
            }
            _ => {}
        }
        if let Some(number) = self.find(name) {
            self.place(number, span, usage);
            return self.index.names[number].value.clone();
        }
        if let Some(class) = self.query.as_ref().and_then(|query| query.class.clone())
            && let Some(number) = self.property(&class, name)
        {
            self.place(number, span, NameUse::Read);
            return self.index.names[number].value.clone();
        }
        if let Some(predefined) = self.knowledge.names.predefined.get(name) {
            let value = KnownValue {
                is_class: predefined.is_class,
                ..KnownValue::object(&predefined.class)
            };
            let number = self.global(NameKind::Predefined, name);
            self.index.names[number].value = value.clone();
            self.place(number, span, NameUse::Read);
            return value;
        }
        match self.class_value(name) {
            Some(class) => {
                self.class_place(name, span);
                KnownValue { is_class: true, ..KnownValue::object(&class) }
            }
            None => KnownValue::default(),
        }
    }

    fn array(&mut self, class: Option<&Word>, elements: &[Expression]) -> KnownValue {
        let values: Vec<KnownValue> =
            elements.iter().map(|element| self.expression(element)).collect();
        let first =
            values.first().filter(|first| !first.is_class).and_then(|first| first.class.clone());
        let element =
            first.filter(|first| values.iter().all(|one| one.class.as_ref() == Some(first)));
        let mut value = KnownValue { element, ..KnownValue::object("Array") };
        if let Some(word) = class {
            self.class_place(&word.text, word.span);
            value.class = self.class_value(&word.text).map(Arc::from);
        }
        value
    }

    fn object(
        &mut self,
        class: &Word,
        pairs: Option<&[Pair]>,
        children: Option<&[Expression]>,
        span: Span,
    ) -> KnownValue {
        self.class_place(&class.text, class.span);
        let plain = self.class_value(&class.text);
        let mut keys = Vec::new();
        for pair in pairs.unwrap_or_default() {
            match &pair.key.kind {
                ExpressionKind::Symbol(key) => {
                    let name =
                        Span::new(pair.key.span.start, pair.key.span.start + key.len() as u32);
                    let name = if name.text(self.source) == key { name } else { pair.key.span };
                    if let Some(number) =
                        plain.as_deref().and_then(|class| self.property(class, key))
                    {
                        self.place(number, name, NameUse::Write);
                    }
                    keys.push((name, key.clone()));
                }
                _ => drop(self.expression(&pair.key)),
            }
            self.expression(&pair.value);
        }
        children.unwrap_or_default().iter().for_each(|child| drop(self.expression(child)));
        let name = plain.clone().unwrap_or_else(|| class.text.clone());
        self.index.literals.push(LiteralPlace { class: name, span, keys });
        match plain {
            Some(class) => KnownValue::object(&class),
            None if class.text.starts_with(|first: char| first.is_ascii_lowercase()) => {
                KnownValue::object("Element")
            }
            None => KnownValue::default(),
        }
    }

    fn subscript(&mut self, receiver: &Expression, index: &Expression) -> KnownValue {
        let value = self.expression(receiver);
        let ExpressionKind::Block(block) = &index.kind else {
            self.expression(index);
            return value.element_value();
        };
        let element = value.element_value();
        self.index.queries.push((block.span, element.clone()));
        let outer = self.query.replace(element.clone());
        self.block(block, &[element]);
        self.query = outer;
        value
    }

    fn assignment(
        &mut self,
        target: &Expression,
        operator: AssignOperator,
        value: &Expression,
    ) -> KnownValue {
        let given = self.expression(value);
        let put = operator == AssignOperator::Put;
        match &target.kind {
            ExpressionKind::Name(name) => match self.find(name) {
                Some(number) => {
                    let info = &self.index.names[number];
                    let is_first = info.definition.is_some_and(|(span, _)| span == target.span);
                    let usage = if is_first { NameUse::Definition } else { NameUse::Write };
                    self.place(number, target.span, usage);
                    if put {
                        self.assign(number, &given);
                    }
                }
                None => drop(self.name(name, target.span, NameUse::Write)),
            },
            ExpressionKind::Array { class: None, elements } => {
                for element in elements {
                    if let ExpressionKind::Name(name) = &element.kind {
                        self.name(name, element.span, NameUse::Write);
                    }
                }
            }
            ExpressionKind::Reference(path) => {
                self.reference(path, target.span, NameUse::Write);
            }
            _ => drop(self.expression(target)),
        }
        given
    }

    // References ---------------------------------------------------------------------------------

    fn reference(&mut self, path: &Path, span: Span, usage: NameUse) -> KnownValue {
        for part in &path.parts {
            if let PathPart::Expression(inner) | PathPart::Segments(inner) = part {
                self.expression(inner);
            }
        }
        let scheme = path.scheme.as_ref().map_or("var", |word| word.text.as_str());
        let literal = path.literal();
        let place = ReferencePlace { scheme: scheme.to_owned(), path: literal.clone(), span };
        self.index.references.push(place);
        let first = literal.as_deref().and_then(|path| path.split('/').next()).unwrap_or_default();
        let length = first.len() as u32;
        let start = path.scheme.as_ref().map_or(span.start + 4, |word| word.span.end + 1);
        let name_span = Span::new(start, start + length);
        match scheme {
            "this" | "self" => {
                let class = self.class.clone().unwrap_or_default();
                let Some(number) = self.property(&class, first) else {
                    return KnownValue::default();
                };
                self.place(number, name_span, usage);
                self.index.names[number].value.clone()
            }
            "var" => match self.find(first) {
                Some(number) if name_span.text(self.source) == first => {
                    self.place(number, name_span, usage);
                    self.index.names[number].value.clone()
                }
                _ => KnownValue::default(),
            },
            "scheme" if usage == NameUse::Write => {
                let number = self.global(NameKind::Scheme, first);
                let info = &mut self.index.names[number];
                if info.definition.is_none() {
                    info.definition = Some((name_span, span));
                }
                self.place(number, name_span, NameUse::Definition);
                KnownValue::default()
            }
            "scheme" => {
                let number = self.global(NameKind::Scheme, first);
                self.place(number, name_span, usage);
                KnownValue::object("Store")
            }
            _ => {
                if let Some(word) = &path.scheme {
                    let number = self.global(NameKind::Scheme, scheme);
                    self.place(number, word.span, NameUse::Read);
                }
                match scheme {
                    "query" | "form" | "header" | "cookie" | "env" => KnownValue::object("String"),
                    _ => KnownValue::default(),
                }
            }
        }
    }

    // Messages -----------------------------------------------------------------------------------

    /// What a chain of messages answers.
    fn sends(&mut self, expression: &Expression) -> KnownValue {
        let links = chain(expression);
        let innermost = links.first().map_or(expression, |link| link.receiver);
        let mut value = self.expression(innermost);
        for link in links {
            let (messages, whole) = (link.messages, link.whole.span);
            let mut last = KnownValue::default();
            for message in messages {
                last = self.send(&value, message, whole);
            }
            value = last;
            if value.is_known() {
                self.index.values.push((whole, value.clone()));
            }
        }
        value
    }

    fn send(&mut self, value: &KnownValue, message: &SentMessage, span: Span) -> KnownValue {
        let (selector, words) = words(message);
        let arguments = arguments(message);
        self.message_places(value, &selector, &words);
        self.index.sends.push(SentPlace { words, receiver: value.clone(), span });
        let mut answers = Vec::with_capacity(arguments.len());
        for (number, argument) in arguments.iter().enumerate() {
            answers.push(match &bare(argument).kind {
                ExpressionKind::Block(block) => {
                    let given = self.given(value, &selector, number);
                    self.block(block, &given)
                }
                _ => self.expression(argument),
            });
        }
        self.answer(value, &selector, &answers)
    }

    /// The property that a message reads or writes, or the message.
    fn message_places(&mut self, value: &KnownValue, selector: &str, words: &[Span]) {
        let name = selector.trim_end_matches(':');
        if let (Some(class), false, [word]) = (&value.class, value.is_class, words)
            && self.index.method(class, selector, false).is_none()
            && let Some(number) = self.property(&class.clone(), name)
        {
            let usage = if selector.ends_with(':') { NameUse::Write } else { NameUse::Read };
            return self.place(number, *word, usage);
        }
        let number = self.global(NameKind::Message, selector);
        for (part, word) in words.iter().enumerate() {
            self.part(number, *word, NameUse::Read, part);
        }
    }
}
