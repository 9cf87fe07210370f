//! Queries: `table[{ done = false }]` and `select: { :task | task done }`.
//!
//! A query block is compiled twice: as a function of the element, and, where it only compares the
//! element's fields with values, as data that a store can run itself. Where it cannot become data,
//! the part that no query expresses replaces the data, for the error message.

use crate::code::{BracketContext, Code, Tail};
use crate::generator::Generator;
use crate::lua::names::quoted;
use crate::references::element::{QueryElement, is_function, parameter, single};
use crate::scope::Scope;
use runnel_syntax::ast::{Block, Expression, ExpressionKind, SentMessage, Word};
use runnel_syntax::walk::walk;
use runnel_syntax::{Diagnostic, Span};
use std::collections::BTreeSet;

/// Messages whose block says which elements are meant.
const CONDITIONS: [&str; 10] = [
    "select",
    "where",
    "filter",
    "reject",
    "detect",
    "anySatisfy",
    "allSatisfy",
    "noneSatisfy",
    "countOf",
    "count",
];

/// Messages whose block says in which order, and those that ask for a value of each element. The
/// latter can always be done with the elements themselves.
const ORDERS: [&str; 5] = ["sorted", "sortedBy", "sortBy", "max", "min"];
const VALUES: [&str; 4] = ["collect", "map", "sum", "average"];

/// Messages whose block says what is computed of each element, for which a store is asked.
const COMPUTED: [&str; 5] = ["groupBy", "groupedBy", "distinct", "updateAll", "updateEveryRow"];

/// The longest part of a source that a message shows.
const LONGEST_PART: usize = 60;

impl Generator<'_> {
    /// `receiver[{ … }]`
    pub(crate) fn query(&mut self, receiver: &Expression, block: &Block) -> Code {
        let class = self.elements_of(receiver);
        let receiver = self.expression(receiver);
        let receiver = self.keep(receiver);
        let declared = block.parameters.first().map(|parameter| parameter.name.text.clone());
        let data = match self.query_data(block, &QueryElement::Brackets(parameter(block, 0))) {
            Ok(data) => data,
            Err(part) => self.reason(part),
        };
        let function = self.coming_function();
        let bare = declared.is_none();
        let element = self.new_variable("element", function);
        let local = element.code.rsplit('.').next().unwrap_or("").to_string();
        let mut scope = Scope::default();
        scope.names.push(("$0".into(), element.clone()));
        if let Some(name) = declared {
            scope.names.push((name, element.clone()));
        }
        let outer = self.brackets.replace(BracketContext {
            element: element.code.clone(),
            bare,
            depth: self.scopes.len(),
            class,
            outside: BTreeSet::new(),
        });
        let strict = std::mem::replace(&mut self.lenient, true);
        let parameters = vec![("$0".to_string(), element)];
        let body = self.function_body(&parameters, |this| {
            this.scoped(scope, |this| {
                this.declare(&block.statements);
                this.statements(&block.statements, &Tail::Return);
            });
        });
        self.lenient = strict;
        let outside = std::mem::replace(&mut self.brackets, outer).map(|inner| inner.outside);
        let names: Vec<String> =
            outside.iter().flatten().map(|name| crate::lua::names::quoted(name)).collect();
        let names =
            if names.is_empty() { String::new() } else { format!(",{{{}}}", names.join(",")) };
        self.helper("query");
        let mark = self.mark(block.span);
        let call = format!("query({},function({local}){body} end,{data}{names})", receiver.text);
        Code::call(format!("{mark}{call}"))
    }

    /// The code of a variable that is read by its bare name: between query brackets it must not be
    /// a field of the element too.
    pub(crate) fn in_brackets(&mut self, name: &str, code: String, span: Span) -> Code {
        let inside = |brackets: &BracketContext| {
            self.scopes[brackets.depth..].iter().any(|scope| scope.get(name).is_some())
        };
        let (element, class) = match &self.brackets {
            Some(brackets) if brackets.bare && !name.starts_with('$') && !inside(brackets) => {
                (brackets.element.clone(), brackets.class.clone())
            }
            _ => return Code::prefix(code),
        };
        if let Some(class) = class
            && self.has_variable(&class, name)
        {
            let article = if class.starts_with(['A', 'E', 'I', 'O', 'U']) { "an" } else { "a" };
            let title = format!("`{name}` is a variable and a field of {article} {class}");
            self.error(Diagnostic::error(span, title, "which one is meant?").hint(format!(
                "write `{{ :each | each {name} … }}` for the field, `var:{name}` for the variable"
            )));
        }
        if let Some(brackets) = &mut self.brackets {
            brackets.outside.insert(name.to_string());
        }
        self.helper("K");
        let mark = self.mark(span);
        Code::call(format!("{mark}K.outside({element},{},{code})", quoted(name)))
    }

    /// What a store may need of `select: { … }`, `sorted: { … }` and their like, as one more
    /// argument: the data of the block, or why there is none; and whether it is data.
    pub(crate) fn query_data_of(&mut self, parts: &[(Word, Expression)]) -> Option<(String, bool)> {
        let (word, argument) = parts.first()?;
        let name = word.text.as_str();
        let second = parts.get(1).map(|(word, _)| word.text.as_str());
        let has_data = matches!(
            (name, second),
            (_, None)
                | ("detect", Some("ifNone"))
                | ("updateAll" | "updateEveryRow", Some("returning"))
        );
        if !has_data || parts.len() > 2 {
            return None;
        }
        let ExpressionKind::Block(block) = &argument.kind else { return None };
        if CONDITIONS.contains(&name) && block.parameters.len() <= 1 {
            let data = self.query_data(block, &QueryElement::Parameter(parameter(block, 0)));
            return Some(match data {
                Ok(data) => (data, true),
                Err(part) => (self.reason(part), false),
            });
        }
        let (orders, computed) = (ORDERS.contains(&name), COMPUTED.contains(&name));
        if !orders && !computed && !VALUES.contains(&name) {
            return None;
        }
        let column = match block.parameters.len() {
            0 | 1 => self.column(block),
            2 if orders => self.comparison(block),
            _ => None,
        };
        if let Some(column) = column {
            return Some((quoted(&column), true));
        }
        match self.block_data(block) {
            Some(data) => Some((data, false)),
            None if orders || computed => Some((self.reason(block.span), false)),
            None => None,
        }
    }

    /// The data of what a block with one parameter computes.
    fn block_data(&mut self, block: &Block) -> Option<String> {
        if block.parameters.len() > 1 {
            return None;
        }
        let (answer, mut deferred) = (single(block)?, false);
        let element = QueryElement::Parameter(parameter(block, 0));
        let data = self.answer_data(answer, &element, &mut deferred)?;
        Some(if deferred { format!("function() return {data} end") } else { data })
    }

    /// The part of the source that cannot become data, marked as a reason.
    fn reason(&self, part: Span) -> String {
        let text = self.source.get(part.start as usize..part.end as usize).unwrap_or_default();
        let mut words: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if let Some((cut, _)) = words.char_indices().nth(LONGEST_PART) {
            words.truncate(cut);
            words.push('…');
        }
        quoted(&format!("?`{words}` is nothing that a database can do"))
    }

    /// `{ :task | task title }`: the name of the field.
    fn column(&self, block: &Block) -> Option<String> {
        self.field_of(single(block)?, &QueryElement::Parameter(parameter(block, 0)))
    }

    /// `{ :a :b | a rank > b rank }`: the name of the field, with `-` for the largest first.
    fn comparison(&self, block: &Block) -> Option<String> {
        let ExpressionKind::Send { receiver, message: SentMessage::Binary(word, argument) } =
            &single(block)?.kind
        else {
            return None;
        };
        let of = |at| QueryElement::Parameter(parameter(block, at));
        let descending = match word.text.as_str() {
            "<" | "≤" | "<=" => false,
            ">" | "≥" | ">=" => true,
            _ => return None,
        };
        let pair = |left, right| {
            let (left, right) = (self.field_of(receiver, left)?, self.field_of(argument, right)?);
            (left == right).then_some(left)
        };
        let (name, descending) = match pair(&of(0), &of(1)) {
            Some(name) => (name, descending),
            None => (pair(&of(1), &of(0))?, !descending),
        };
        Some(if descending { format!("-{name}") } else { name })
    }

    fn query_data(&mut self, block: &Block, element: &QueryElement<'_>) -> Result<String, Span> {
        let condition = single(block).ok_or(block.span)?;
        let mut deferred = false;
        let data = self.condition_data(condition, element, &mut deferred)?;
        // What may have effects is only done where the data is needed.
        Ok(if deferred { format!("function() return {data} end") } else { data })
    }

    pub(crate) fn condition_data(
        &mut self,
        condition: &Expression,
        element: &QueryElement<'_>,
        deferred: &mut bool,
    ) -> Result<String, Span> {
        if let Some(name) = self.field_of(condition, element) {
            return Ok(format!("{{\"=\",{},true}}", quoted(&name)));
        }
        match &condition.kind {
            ExpressionKind::Parenthesized(inner) => self.condition_data(inner, element, deferred),
            ExpressionKind::Block(block) => {
                let inner = single(block).ok_or(block.span)?;
                self.condition_data(inner, element, deferred)
            }
            ExpressionKind::Send { receiver, message } => match message {
                SentMessage::Unary(word) => {
                    self.unary_data(receiver, &word.text, element, deferred)
                }
                SentMessage::Binary(word, argument) => {
                    self.binary_data(receiver, &word.text, argument, element, deferred)
                }
                SentMessage::Keyword(parts) => match parts.as_slice() {
                    [(word, argument)] => {
                        self.keyword_data(receiver, &word.text, argument, element, deferred)
                    }
                    _ => None,
                },
            }
            .unwrap_or(Err(condition.span)),
            _ => Err(condition.span),
        }
    }

    /// Nothing where it is no condition; an error where a part of it is none.
    fn unary_data(
        &mut self,
        receiver: &Expression,
        name: &str,
        element: &QueryElement<'_>,
        deferred: &mut bool,
    ) -> Option<Result<String, Span>> {
        if name == "not" {
            let inner = self.condition_data(receiver, element, deferred);
            return Some(inner.map(|inner| format!("{{\"not\",{inner}}}")));
        }
        let (operator, value) = match name {
            "isNil" => ("=", "K.NULL"),
            "isNotNil" | "notNil" => ("≠", "K.NULL"),
            // A text or related rows; nil is empty too.
            "isEmpty" | "notEmpty" | "isNotEmpty" => {
                let field = quoted(&self.field_of(receiver, element)?);
                let empty = format!("{{\"empty\",{field}}}");
                let is_empty = name == "isEmpty";
                return Some(Ok(if is_empty { empty } else { format!("{{\"not\",{empty}}}") }));
            }
            _ => return None,
        };
        let field = quoted(&self.field_of(receiver, element)?);
        self.helper("K");
        Some(Ok(format!("{{{},{field},{value}}}", quoted(operator))))
    }

    /// `done = false`, `4 < age`.
    fn binary_data(
        &mut self,
        left: &Expression,
        operator: &str,
        right: &Expression,
        element: &QueryElement<'_>,
        deferred: &mut bool,
    ) -> Option<Result<String, Span>> {
        let operators = ["=", "≠", "<", ">", "≤", "≥"];
        let operator = match operator {
            "==" => "=",
            "~=" | "!=" => "≠",
            "<=" => "≤",
            ">=" => "≥",
            other => *operators.iter().find(|known| **known == other)?,
        };
        let turned = match operator {
            "<" => ">",
            ">" => "<",
            "≤" => "≥",
            "≥" => "≤",
            same => same,
        };
        let plain = match (self.field_of(left, element), self.field_of(right, element)) {
            (Some(field), None) => Some((field, operator, right)),
            (None, Some(field)) => Some((field, turned, left)),
            _ => None,
        };
        if let Some((field, operator, value)) = plain
            && let Some(value) = self.outside_value(value, element, deferred)
        {
            return Some(Ok(format!("{{{},{},{value}}}", quoted(operator), quoted(&field))));
        }
        let (left, right) = match self.computed_data(left, element, deferred) {
            Some(left) => (left, self.computed_or_value(right, element, deferred)?),
            None => {
                let left = self.computed_or_value(left, element, deferred)?;
                (left, self.computed_data(right, element, deferred)?)
            }
        };
        Some(Ok(format!("{{\"test\",{},{left},{right}}}", quoted(operator))))
    }

    fn computed_or_value(
        &mut self,
        value: &Expression,
        element: &QueryElement<'_>,
        deferred: &mut bool,
    ) -> Option<String> {
        if let Some(data) = self.computed_data(value, element, deferred) {
            return Some(data);
        }
        Some(format!("{{\"value\",{}}}", self.outside_value(value, element, deferred)?))
    }

    fn keyword_data(
        &mut self,
        receiver: &Expression,
        name: &str,
        argument: &Expression,
        element: &QueryElement<'_>,
        deferred: &mut bool,
    ) -> Option<Result<String, Span>> {
        if let Some(data) = self.quantified(receiver, name, argument, element, deferred) {
            return Some(data);
        }
        match name {
            "and" | "or" => {
                let left = match self.condition_data(receiver, element, deferred) {
                    Ok(left) => left,
                    error => return Some(error),
                };
                let right = self.condition_data(argument, element, deferred);
                Some(right.map(|right| format!("{{{},{left},{right}}}", quoted(name))))
            }
            "hasPrefix" | "hasSuffix" | "contains" | "containsString" => {
                let value = self.outside_value(argument, element, deferred)?;
                if let Some(field) = self.field_of(receiver, element) {
                    return Some(Ok(format!("{{{},{},{value}}}", quoted(name), quoted(&field))));
                }
                let text = self.computed_data(receiver, element, deferred)?;
                let part = format!("{{\"value\",{value}}}");
                Some(Ok(format!("{{\"match\",{},{text},{part}}}", quoted(name))))
            }
            "includes" | "containsObject" => {
                let field = self.field_of(argument, element)?;
                let values = self.outside_value(receiver, element, deferred)?;
                Some(Ok(format!("{{\"in\",{},{values}}}", quoted(&field))))
            }
            _ => None,
        }
    }

    /// The field that an expression reads; `author.name` for `book author name`, the field of a related element.
    pub(crate) fn field_of(
        &self,
        expression: &Expression,
        element: &QueryElement<'_>,
    ) -> Option<String> {
        match (&expression.kind, element) {
            (ExpressionKind::Name(name), QueryElement::Brackets(parameter)) => {
                let known = name == parameter
                    || self.find(name).is_some()
                    || matches!(name.as_str(), "true" | "false" | "nil" | "self");
                (!known).then(|| name.clone())
            }
            (ExpressionKind::Send { receiver, message: SentMessage::Unary(word) }, _) => {
                // Messages of every object are questions, not fields.
                let is_question =
                    matches!(word.text.as_str(), "not" | "isNil" | "isNotNil" | "class");
                if is_question {
                    return None;
                }
                if element.is_meant_by(receiver) {
                    return Some(word.text.clone());
                }
                if is_function(&word.text) {
                    return None;
                }
                let path = self.field_of(receiver, element)?;
                Some(format!("{path}.{}", word.text))
            }
            (ExpressionKind::Parenthesized(inner), _) => self.field_of(inner, element),
            _ => None,
        }
    }

    /// The code of a value that does not depend on the element; nil becomes the null object.
    pub(crate) fn outside_value(
        &mut self,
        value: &Expression,
        element: &QueryElement<'_>,
        deferred: &mut bool,
    ) -> Option<String> {
        let mut depends = self.needs_statements(value);
        walk(value, &mut |inner| {
            depends |= match (&inner.kind, element) {
                (ExpressionKind::Block(_) | ExpressionKind::Implicit(_), _) => true,
                (ExpressionKind::Name(name), QueryElement::Parameter(parameter)) => {
                    name == parameter
                }
                (ExpressionKind::Name(name), QueryElement::Brackets(parameter)) => {
                    name == parameter || self.field_of(inner, element).is_some()
                }
                _ => false,
            };
            *deferred |= matches!(
                inner.kind,
                ExpressionKind::Send { .. }
                    | ExpressionKind::Pipe { .. }
                    | ExpressionKind::Cascade { .. }
                    | ExpressionKind::Subscript { .. }
                    | ExpressionKind::Reference(_)
                    | ExpressionKind::Next(_)
            );
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
