//! Messages: operators become calls of kernel functions, everything else a Lua method call.

use crate::code::Code;
use crate::elements::element::constant;
use crate::expressions::control::selector;
use crate::expressions::expression::DEPTH;
use crate::expressions::matching::is_match;
use crate::expressions::written;
use crate::generator::Generator;
use crate::lua::names;
use runnel_syntax::ast::{Expression, ExpressionKind, SentMessage, Word};

/// Operators that the kernel answers without a message for the common types.
fn operator(name: &str) -> Option<&'static str> {
    Some(match name {
        "+" => "add",
        "-" => "sub",
        "*" | "×" => "mul",
        "/" | "÷" => "div",
        "<" => "lt",
        ">" => "gt",
        "≤" | "<=" => "le",
        "≥" | ">=" => "ge",
        "=" | "==" => "eq",
        "≠" | "~=" | "!=" => "ne",
        "," => "cat",
        _ => return None,
    })
}

/// Characters of the source that the error of `required` shows.
const MOST_SHOWN: usize = 80;

/// The order comparisons as messages: between query brackets they are false with nil.
const COMPARISONS: [&str; 5] =
    ["isLessThan", "isGreaterThan", "isLessThanOrEqualTo", "isGreaterThanOrEqualTo", "between"];

/// The operator between query brackets, where comparisons with nil are false.
fn query_operator(name: &str) -> Option<&'static str> {
    Some(match name {
        "lt" => "K.queryLt",
        "gt" => "K.queryGt",
        "le" => "K.queryLe",
        "ge" => "K.queryGe",
        _ => return None,
    })
}

impl Generator<'_> {
    /// A chain of messages, from the innermost receiver outwards: long ones do not use the stack.
    pub(crate) fn chain(&mut self, expression: &Expression) -> Code {
        let mut messages = Vec::new();
        let mut receiver = expression;
        while let ExpressionKind::Send { receiver: inner, message }
        | ExpressionKind::Pipe { left: inner, message } = &receiver.kind
        {
            if !messages.is_empty() && (self.is_control(receiver) || self.is_left_loop(receiver)) {
                break;
            }
            messages.push((message, &**inner));
            receiver = inner;
        }
        let mut code = self.expression(receiver);
        for (message, receiver) in messages.into_iter().rev() {
            code = self.send(code, receiver, message);
            if code.depth >= DEPTH {
                code = self.keep(code);
            }
        }
        code
    }

    /// One message to a receiver that was evaluated; `source` is the receiver as written.
    pub(crate) fn send(
        &mut self,
        receiver: Code,
        source: &Expression,
        message: &SentMessage,
    ) -> Code {
        match message {
            SentMessage::Unary(word) => {
                if let Some(call) = self.super_call(source, &names::unary(&word.text), "") {
                    return call;
                }
                let mark = self.mark(word.span);
                if word.text == "required" {
                    return self.required(receiver, source, &mark);
                }
                let name = names::unary(&word.text);
                let text = [&*receiver.receiver(), &mark, ":", &name, "()"].concat();
                Code::call(text).deeper_than(&[receiver])
            }
            SentMessage::Binary(word, argument) => {
                let receiver = self.kept_before(receiver, &[argument]);
                let argument = self.expression(argument);
                let mark = self.mark(word.span);
                let text = match operator(&word.text) {
                    Some(name) => {
                        let lenient = query_operator(name).filter(|_| self.lenient);
                        self.helper(if lenient.is_some() { "K" } else { name });
                        let name = lenient.unwrap_or(name);
                        format!("{mark}{name}({},{})", receiver.text, argument.text)
                    }
                    None => format!(
                        "{}{mark}:{}({})",
                        receiver.receiver(),
                        names::binary(&word.text),
                        argument.text
                    ),
                };
                Code::call(text).deeper_than(&[receiver, argument])
            }
            SentMessage::Keyword(parts) if is_match(parts) => self.match_cases(receiver, parts),
            SentMessage::Keyword(parts) => self.send_keywords(receiver, source, parts),
        }
    }

    /// A keyword message, with the data of a query where it is one.
    fn send_keywords(
        &mut self,
        receiver: Code,
        source: &Expression,
        parts: &[(Word, Expression)],
    ) -> Code {
        let list: Vec<&Expression> = parts.iter().map(|(_, argument)| argument).collect();
        self.check_count(list.len(), "arguments", source.span);
        self.note_loop(&selector(parts), parts);
        let receiver = self.kept_before(receiver, &list);
        let is_super = matches!(&source.kind, ExpressionKind::Name(text) if text == "super");
        let takes_code = !is_super && written::takes_code(source, &selector(parts));
        if takes_code && let Some(call) = self.send_filled(&receiver, parts, &list) {
            return call;
        }
        let data = self.query_data_of(parts);
        let strict = self.lenient;
        self.lenient |= matches!(data, Some((_, true)));
        let arguments = self.expressions(&list);
        self.lenient = strict;
        let name = names::keyword(parts.iter().map(|(word, _)| word.text.as_str()));
        let mut texts: Vec<String> = arguments.iter().map(|code| code.text.clone()).collect();
        texts.extend(data.map(|(data, _)| data));
        if takes_code && list.first().is_some_and(|text| constant(text).is_some()) {
            self.helper("K");
            texts.push("K.written".to_owned());
        }
        let list = texts.join(",");
        if let Some(call) = self.super_call(source, &name, &list) {
            return call;
        }
        let mark = parts.first().map_or(String::new(), |(word, _)| self.mark(word.span));
        let first = parts.first().map_or("", |(word, _)| word.text.as_str());
        let text = if self.lenient && COMPARISONS.contains(&first) {
            self.helper("K");
            let name = names::quoted(&name);
            format!("{mark}K.queryCompare({},{name},{list})", receiver.text)
        } else {
            [&*receiver.receiver(), &mark, ":", &name, "(", &list, ")"].concat()
        };
        let mut inner = arguments;
        inner.push(receiver);
        Code::call(text).with_arguments(&inner)
    }

    /// `env:TOKEN required`: the value, or an error that names what was written.
    fn required(&mut self, value: Code, source: &Expression, mark: &str) -> Code {
        let span = source.span;
        let text = self.source.get(span.start as usize..span.end as usize).unwrap_or_default();
        let scheme = match &source.kind {
            ExpressionKind::Reference(path) => path.scheme.as_ref().map_or("", |word| &word.text),
            _ => "",
        };
        let text: String = text.chars().take(MOST_SHOWN).collect();
        let (text, scheme) = (names::quoted(&text), names::quoted(scheme));
        self.helper("K");
        Code::call(format!("{mark}K.required({},{text},{scheme})", value.text))
            .deeper_than(&[value])
    }

    pub(super) fn kept_before(&mut self, receiver: Code, arguments: &[&Expression]) -> Code {
        if !receiver.simple && arguments.iter().any(|argument| self.needs_statements(argument)) {
            return self.keep(receiver);
        }
        receiver
    }

    fn super_call(&mut self, source: &Expression, name: &str, arguments: &str) -> Option<Code> {
        let is_super = matches!(&source.kind, ExpressionKind::Name(text) if text == "super");
        let method = self.method.as_ref().filter(|_| is_super)?;
        let table = if method.class_side { "SM" } else { "S" };
        for function in &mut self.functions {
            function.captures.insert(table.to_string());
        }
        let separator = if arguments.is_empty() { "" } else { "," };
        Some(Code::call(format!("{table}.{name}(self{separator}{arguments})")))
    }
}
