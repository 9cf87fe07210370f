//! Computed values of a query: `book price * book count`, `group sum: 'pages'`, as data that a store can run.
//!
//! An expression is `{ "field", name }`, `{ "value", value }`, `{ operator, left, right }` or `{ function, inner }`;
//! a dictionary of them is `{ "record", name, expression, … }`. In a group, `count` and `key` are fields here: the
//! kernel knows what the receiver is.

use crate::generator::Generator;
use crate::lua::names::quoted;
use crate::references::element::{QueryElement, parameter, single, text_function};
use runnel_syntax::ast::{Expression, ExpressionKind, SentMessage};

/// Aggregates of a group, by the messages of collections.
fn aggregate(name: &str) -> Option<&'static str> {
    Some(match name {
        "sum" => "sum",
        "average" => "average",
        "max" => "max",
        "min" => "min",
        _ => return None,
    })
}

impl Generator<'_> {
    /// The data of a value that depends on the element; nothing where no store can compute it.
    pub(crate) fn computed_data(
        &mut self,
        value: &Expression,
        element: &QueryElement<'_>,
        deferred: &mut bool,
    ) -> Option<String> {
        let mut uses = false;
        let data = self.value_data(value, element, deferred, &mut uses)?;
        uses.then_some(data)
    }

    /// The same for a block's answer, which may be a dictionary of such values.
    pub(crate) fn answer_data(
        &mut self,
        value: &Expression,
        element: &QueryElement<'_>,
        deferred: &mut bool,
    ) -> Option<String> {
        let ExpressionKind::Dictionary(pairs) = &value.kind else {
            return self.computed_data(value, element, deferred);
        };
        let mut data = String::from("{\"record\"");
        for pair in pairs {
            let (ExpressionKind::Symbol(name) | ExpressionKind::Text(name)) = &pair.key.kind else {
                return None;
            };
            let value = self.value_data(&pair.value, element, deferred, &mut false)?;
            data.push_str(&format!(",{},{value}", quoted(name)));
        }
        data.push('}');
        Some(data)
    }

    fn value_data(
        &mut self,
        value: &Expression,
        element: &QueryElement<'_>,
        deferred: &mut bool,
        uses: &mut bool,
    ) -> Option<String> {
        if let Some(name) = self.field_of(value, element) {
            *uses = true;
            return Some(format!("{{\"field\",{}}}", quoted(&name)));
        }
        match &value.kind {
            ExpressionKind::Parenthesized(inner) => {
                return self.value_data(inner, element, deferred, uses);
            }
            ExpressionKind::Send { receiver, message: SentMessage::Unary(word) } => {
                if let Some(data) = self.aggregate_of(receiver, &word.text, element, deferred) {
                    *uses = true;
                    return Some(data);
                }
                if let Some(data) = self.count_of_related(receiver, &word.text, element) {
                    *uses = true;
                    return Some(data);
                }
                if let Some(function) = text_function(&word.text) {
                    let mut depends = false;
                    let inner = self.value_data(receiver, element, deferred, &mut depends);
                    if depends {
                        *uses = true;
                        return inner.map(|inner| format!("{{{},{inner}}}", quoted(function)));
                    }
                }
            }
            ExpressionKind::Send { receiver, message: SentMessage::Keyword(parts) } => {
                if let Some(data) = self.aggregate_of_related(receiver, parts, element, deferred) {
                    *uses = true;
                    return Some(data);
                }
                if let [(word, argument)] = parts.as_slice()
                    && let Some(function) = aggregate(&word.text)
                    && !matches!(function, "max" | "min")
                    && element.is_meant_by(receiver)
                {
                    *uses = true;
                    let inner = self.of_each(argument, deferred)?;
                    return Some(format!("{{{},{inner}}}", quoted(function)));
                }
            }
            ExpressionKind::Send { receiver, message: SentMessage::Binary(word, argument) } => {
                let operator = match word.text.as_str() {
                    "+" => "+",
                    "-" => "-",
                    "*" | "×" => "*",
                    "/" | "÷" => "/",
                    _ => return self.constant_data(value, element, deferred),
                };
                let mut depends = false;
                let left = self.value_data(receiver, element, deferred, &mut depends)?;
                let right = self.value_data(argument, element, deferred, &mut depends)?;
                if depends {
                    *uses = true;
                    return Some(format!("{{\"{operator}\",{left},{right}}}"));
                }
            }
            _ => {}
        }
        self.constant_data(value, element, deferred)
    }

    fn constant_data(
        &mut self,
        value: &Expression,
        element: &QueryElement<'_>,
        deferred: &mut bool,
    ) -> Option<String> {
        Some(format!("{{\"value\",{}}}", self.outside_value(value, element, deferred)?))
    }

    /// `(group max: 'pages') pages`, `(group collect: 'pages') max`, `(group distinct: 'author') count`.
    fn aggregate_of(
        &mut self,
        receiver: &Expression,
        name: &str,
        element: &QueryElement<'_>,
        deferred: &mut bool,
    ) -> Option<String> {
        let mut inner = receiver;
        while let ExpressionKind::Parenthesized(within) = &inner.kind {
            inner = within;
        }
        let ExpressionKind::Send { receiver, message: SentMessage::Keyword(parts) } = &inner.kind
        else {
            return None;
        };
        let [(word, argument)] = parts.as_slice() else { return None };
        let path = self.field_of(receiver, element);
        if !element.is_meant_by(receiver) && path.is_none() {
            return None;
        }
        let of_each = self.of_each(argument, deferred)?;
        let function = match word.text.as_str() {
            "distinct" if matches!(name, "count" | "size") => "countDistinct",
            "collect" | "map" => aggregate(name)?,
            "max" | "min" if of_each == format!("{{\"field\",{}}}", quoted(name)) => &word.text,
            _ => return None,
        };
        let data = format!("{{\"{function}\",{of_each}}}");
        Some(match path {
            Some(path) => format!("{{\"of\",{},false,{data}}}", quoted(&path)),
            None => data,
        })
    }

    /// What is computed of each element of a group: `'pages'` or `{ :book | book pages * 2 }`.
    pub(crate) fn of_each(&mut self, argument: &Expression, deferred: &mut bool) -> Option<String> {
        match &argument.kind {
            ExpressionKind::Text(name) | ExpressionKind::Symbol(name) => {
                Some(format!("{{\"field\",{}}}", quoted(name)))
            }
            ExpressionKind::Block(block) if block.parameters.len() <= 1 => {
                let element = QueryElement::Parameter(parameter(block, 0));
                self.computed_data(single(block)?, &element, deferred)
            }
            _ => None,
        }
    }
}
