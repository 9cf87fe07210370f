//! Queries: `table[{ done = false }]` and `select: { :task | task done }`.
//!
//! A query block is compiled twice: as a function of the element, and, where it only compares the
//! element's fields with values, as data that a store can run itself.

use crate::expression::Code;
use crate::generator::Generator;
use crate::names::quoted;
use crate::scope::{Scope, walk};
use crate::statement::Tail;
use runnel_syntax::ast::{Block, Expression, ExpressionKind, Message, StatementKind, Word};

/// How a query block names its element.
enum Element<'a> {
    /// Bare names are fields, unless a variable of that name is visible.
    Bare,
    /// The parameter: `task done`.
    Parameter(&'a str),
}

impl Generator<'_> {
    /// `receiver[{ … }]`
    pub(crate) fn query(&mut self, receiver: &Expression, block: &Block) -> Code {
        let receiver = self.expression(receiver);
        let receiver = self.keep(receiver);
        let data = self.query_data(block, &Element::Bare).unwrap_or_else(|| "nil".into());
        let function = self.coming_function();
        let declared = block.parameters.first().map(|parameter| parameter.name.text.clone());
        let element = self.new_variable("element", function);
        let local = element.code.rsplit('.').next().unwrap_or("").to_string();
        let mut scope = Scope::default();
        scope.names.push(("$0".into(), element.clone()));
        if let Some(name) = declared {
            scope.names.push((name, element.clone()));
        }
        let outer = self.query_element.replace(element.code.clone());
        let parameters = vec![("$0".to_string(), element)];
        let body = self.function_body(&parameters, |this| {
            this.scoped(scope, |this| {
                this.declare(&block.statements);
                this.statements(&block.statements, &Tail::Return);
            });
        });
        self.query_element = outer;
        self.helper("query");
        let mark = self.mark(block.span);
        Code::call(format!("{mark}query({},function({local}){body} end,{data})", receiver.text))
    }

    /// The data of `select: { … }`, as one more argument.
    pub(crate) fn query_data_of(&mut self, parts: &[(Word, Expression)]) -> Option<String> {
        let [(word, argument)] = parts else { return None };
        let ExpressionKind::Block(block) = &argument.kind else { return None };
        if word.text != "select" || block.parameters.len() > 1 {
            return None;
        }
        let parameter = block.parameters.first().map_or("$0", |parameter| &parameter.name.text);
        self.query_data(block, &Element::Parameter(parameter))
    }

    fn query_data(&mut self, block: &Block, element: &Element<'_>) -> Option<String> {
        let [statement] = block.statements.as_slice() else { return None };
        let StatementKind::Expression(condition) = &statement.kind else { return None };
        self.condition_data(condition, element)
    }

    fn condition_data(&mut self, condition: &Expression, element: &Element<'_>) -> Option<String> {
        if let Some(name) = self.field_of(condition, element) {
            return Some(format!("{{\"=\",{},true}}", quoted(&name)));
        }
        match &condition.kind {
            ExpressionKind::Parenthesized(inner) => self.condition_data(inner, element),
            ExpressionKind::Block(block) => {
                let [statement] = block.statements.as_slice() else { return None };
                let StatementKind::Expression(inner) = &statement.kind else { return None };
                self.condition_data(inner, element)
            }
            ExpressionKind::Send { receiver, message } => {
                self.message_data(receiver, message, element)
            }
            _ => None,
        }
    }

    fn message_data(
        &mut self,
        receiver: &Expression,
        message: &Message,
        element: &Element<'_>,
    ) -> Option<String> {
        match message {
            Message::Unary(word) if word.text == "not" => {
                let inner = self.condition_data(receiver, element)?;
                Some(format!("{{\"not\",{inner}}}"))
            }
            Message::Unary(word) if word.text == "isNil" || word.text == "isNotNil" => {
                let name = quoted(&self.field_of(receiver, element)?);
                let operator = if word.text == "isNil" { "=" } else { "≠" };
                Some(format!("{{{},{name},K.NULL}}", quoted(operator)))
            }
            Message::Binary(word, argument) => {
                let operator = match word.text.as_str() {
                    "=" | "==" => "=",
                    "≠" | "~=" | "!=" => "≠",
                    "<" => "<",
                    ">" => ">",
                    "≤" | "<=" => "≤",
                    "≥" | ">=" => "≥",
                    _ => return None,
                };
                let name = self.field_of(receiver, element)?;
                let value = self.outside_value(argument, element)?;
                Some(format!("{{{},{},{value}}}", quoted(operator), quoted(&name)))
            }
            Message::Keyword(parts) => {
                let [(word, argument)] = parts.as_slice() else { return None };
                match word.text.as_str() {
                    "and" | "or" => {
                        let left = self.condition_data(receiver, element)?;
                        let right = self.condition_data(argument, element)?;
                        Some(format!("{{{},{left},{right}}}", quoted(&word.text)))
                    }
                    "hasPrefix" | "hasSuffix" | "contains" | "containsString" => {
                        let name = self.field_of(receiver, element)?;
                        let value = self.outside_value(argument, element)?;
                        Some(format!("{{{},{},{value}}}", quoted(&word.text), quoted(&name)))
                    }
                    _ => None,
                }
            }
            Message::Unary(_) => None,
        }
    }

    fn field_of(&self, expression: &Expression, element: &Element<'_>) -> Option<String> {
        match (&expression.kind, element) {
            (ExpressionKind::Name(name), Element::Bare) => {
                let known = self.find(name).is_some()
                    || matches!(name.as_str(), "true" | "false" | "nil" | "self");
                (!known).then(|| name.clone())
            }
            (
                ExpressionKind::Send { receiver, message: Message::Unary(word) },
                Element::Parameter(parameter),
            ) => {
                let is_element = match &receiver.kind {
                    ExpressionKind::Name(name) => name == parameter,
                    ExpressionKind::Implicit(name) => parameter.strip_prefix('$') == Some(name),
                    _ => false,
                };
                // Messages of every object are questions, not fields.
                let is_question =
                    matches!(word.text.as_str(), "not" | "isNil" | "isNotNil" | "class");
                (is_element && !is_question).then(|| word.text.clone())
            }
            (ExpressionKind::Parenthesized(inner), _) => self.field_of(inner, element),
            _ => None,
        }
    }

    /// The code of a value that does not depend on the element; nil becomes the null object.
    fn outside_value(&mut self, value: &Expression, element: &Element<'_>) -> Option<String> {
        let mut depends = self.needs_statements(value);
        walk(value, &mut |inner| {
            depends |= match (&inner.kind, element) {
                (ExpressionKind::Block(_) | ExpressionKind::Implicit(_), _) => true,
                (ExpressionKind::Name(name), Element::Parameter(parameter)) => name == parameter,
                (ExpressionKind::Name(_), Element::Bare) => self.field_of(inner, element).is_some(),
                _ => false,
            };
        });
        if depends {
            return None;
        }
        let code = self.expression(value);
        self.helper("K");
        if code.simple && code.text != "nil" {
            return Some(code.text);
        }
        Some(format!("K.orNull({})", code.text))
    }
}
