//! A tree as one line of text without places, to compare trees and to look at them.

use crate::ast::{
    Block, Class, DeclaredType, Expression, ExpressionKind, Member, MemberKind, Pair, Parameter,
    Path, PathClause, PathHandler, PathMemberKind, PathPart, Program, PropertyPath,
    RequestParameter, Segment, Selector, SentMessage, Signature, Statement, StatementKind,
    TextPart, VariableDeclaration, Word,
};
use crate::declared::in_brackets;

/// The tree as text. Two programs have the same outline exactly when they differ in nothing but
/// places and comments.
pub fn outline(program: &Program) -> String {
    let mut out = Outline::default();
    if let Some(signature) = &program.signature {
        out.signature(signature);
        out.text(" . ");
    }
    out.statements(&program.statements);
    out.text
}

#[derive(Default)]
struct Outline {
    text: String,
}

impl Outline {
    fn text(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn quoted(&mut self, text: &str) {
        self.text.push_str(&format!("{text:?}"));
    }

    fn list<T>(&mut self, items: &[T], between: &str, mut each: impl FnMut(&mut Self, &T)) {
        for (at, item) in items.iter().enumerate() {
            if at > 0 {
                self.text(between);
            }
            each(self, item);
        }
    }

    fn optional_type(&mut self, kind: Option<&Word>) {
        if let Some(kind) = kind {
            self.text(&format!("<{}>", kind.text));
        }
    }

    fn parameter(&mut self, parameter: &Parameter) {
        self.optional_type(parameter.kind.as_ref());
        self.text(&parameter.name.text);
    }

    fn signature(&mut self, signature: &Signature) {
        self.text("#-");
        self.optional_type(signature.result.as_ref());
        self.selector(&signature.selector);
    }

    fn selector(&mut self, selector: &Selector) {
        match selector {
            Selector::Unary(word) => self.text(&word.text),
            Selector::Binary(word, parameter) => {
                self.text(&word.text);
                self.text(" ");
                self.parameter(parameter);
            }
            Selector::Keyword(parts) => self.list(parts, " ", |out, (word, parameter)| {
                out.text(&word.text);
                out.text(": ");
                out.parameter(parameter);
            }),
        }
    }

    fn statements(&mut self, statements: &[Statement]) {
        self.list(statements, " . ", Self::statement);
    }

    fn statement(&mut self, statement: &Statement) {
        match &statement.kind {
            StatementKind::Expression(expression) => self.expression(expression),
            StatementKind::Return(expression) => {
                self.text("^ ");
                self.expression(expression);
            }
            StatementKind::Class(class) => self.class(class),
            StatementKind::Template { name, value } => {
                self.text(&format!("object {} : ", name.text));
                self.expression(value);
            }
            StatementKind::Variables(variables) => self.variables(variables),
            StatementKind::Temporaries(names) => {
                self.text("| ");
                self.list(names, " ", |out, name| out.text(&name.text));
                self.text(" |");
            }
            StatementKind::Test { name, body } => {
                self.text("test ");
                self.quoted(&name.text);
                self.text(" ");
                self.block(body);
            }
            StatementKind::Shell(command) => {
                self.text("!");
                self.quoted(command);
            }
            StatementKind::Error => self.text("error"),
        }
    }

    fn variables(&mut self, variables: &VariableDeclaration) {
        self.text("var ");
        if let Some(kind) = &variables.kind {
            self.text(&in_brackets(kind, &variables.marks));
        }
        self.list(&variables.names, ", ", |out, name| out.text(&name.text));
        if let Some((_, value)) = &variables.default {
            self.text(" := ");
            self.expression(value);
        }
    }

    fn class(&mut self, class: &Class) {
        self.text(class.keyword.word());
        self.text(" ");
        self.text(&class.name.text);
        if let Some(superclass) = &class.superclass {
            self.text(" : ");
            self.text(&superclass.text);
        }
        self.text(" { ");
        self.list(&class.members, " . ", Self::member);
        self.text(" }");
    }

    fn member(&mut self, member: &Member) {
        match &member.kind {
            MemberKind::Variables(variables) => self.variables(variables),
            MemberKind::Method(method) => {
                self.text(if method.class_side { "+" } else { "-" });
                self.optional_type(method.result.as_ref());
                self.selector(&method.selector);
                if let Some(body) = &method.body {
                    self.text(" ");
                    self.block(body);
                }
            }
            MemberKind::Rule(rule) => {
                self.text(if rule.refuses { "refuse " } else { "check " });
                self.text(rule.field.as_ref().map_or("", |field| &field.text));
                self.block(&rule.condition);
                self.text(" ");
                self.expression(&rule.message);
            }
            MemberKind::PropertyPath(path) => self.property_path(path),
            MemberKind::Clause(clause) => self.path_clause(clause),
            MemberKind::Parameter(parameter) => self.request_parameter(parameter),
            MemberKind::FilterBody(body) => {
                self.text("|");
                self.block(body);
            }
            MemberKind::Error => self.text("error"),
        }
    }

    fn property_path(&mut self, path: &PropertyPath) {
        self.text("path ");
        self.quoted(&path.pattern.text);
        self.text(" [");
        self.list(&path.segments, " ", |out, segment| match segment {
            Segment::Literal(word) => out.quoted(&word.text),
            Segment::Parameter(parameter) => {
                out.text(":");
                if let Some(kind) = &parameter.kind {
                    out.text(&format!("<{}>", kind));
                }
                out.text(&parameter.name.text);
            }
            Segment::Rest(name) => {
                out.text("*");
                out.text(name.as_ref().map_or("", |name| &name.text));
            }
        });
        self.text("]");
        path.parameters.iter().for_each(|parameter| self.request_parameter(parameter));
        for member in &path.members {
            match &member.kind {
                PathMemberKind::Handler(handler) => self.path_handler(handler),
                PathMemberKind::Clause(clause) => self.path_clause(clause),
                PathMemberKind::Parameter(parameter) => self.request_parameter(parameter),
                PathMemberKind::Path(path) => {
                    self.text(" ");
                    self.property_path(path);
                }
            }
        }
    }

    fn request_parameter(&mut self, parameter: &RequestParameter) {
        let kind = parameter.kind.as_ref().map(DeclaredType::to_string).unwrap_or_default();
        self.text(&format!(" {:?} <{kind}> {}", parameter.place, parameter.name.text));
        if let Some(default) = &parameter.default {
            self.text("=");
            self.quoted(&default.text);
        }
    }

    fn path_clause(&mut self, clause: &PathClause) {
        let name = clause.name.as_ref().map_or("", |name| &name.text);
        let closed = if clause.closed.is_some() { "closed " } else { "" };
        self.text(&format!(" {:?} {name} {closed}", clause.kind));
        self.block(&clause.body);
    }

    fn path_handler(&mut self, handler: &PathHandler) {
        self.text(&format!(" {:?} {} ", handler.verb, handler.word.text));
        for mark in &handler.marks {
            self.text(&format!("{} ", mark.text));
        }
        if let Some(paged) = &handler.paged {
            let size = paged.size.as_ref().map_or("", |size| &size.text);
            let most = paged.most.as_ref().map_or("", |most| &most.text);
            self.text(&format!("paged {size}..{most} "));
        }
        if let Some(content) = &handler.content {
            self.text(&format!("<{}> ", content));
        }
        if let Some(allowed) = &handler.allowed {
            self.text("for ");
            self.block(allowed);
            self.text(" ");
        }
        for answer in &handler.answers {
            let status = answer.status.as_ref().map_or("", |status| &status.text);
            let kind = answer.kind.as_ref().map(DeclaredType::to_string).unwrap_or_default();
            self.text(&format!("-> {status} <{kind}> "));
            for header in &answer.headers {
                self.text(&format!("{} ", header.text));
            }
        }
        self.block(&handler.body);
    }

    fn block(&mut self, block: &Block) {
        self.text("{");
        for parameter in &block.parameters {
            self.text(" :");
            self.parameter(parameter);
        }
        if !block.parameters.is_empty() {
            self.text(" |");
        }
        self.text(" ");
        self.statements(&block.statements);
        self.text(" }");
    }

    fn expression(&mut self, expression: &Expression) {
        match &expression.kind {
            ExpressionKind::Integer(digits) => self.text(digits),
            ExpressionKind::Float(value) => self.text(&format!("{value:?}")),
            ExpressionKind::Text(text) => self.quoted(text),
            ExpressionKind::Interpolated(parts) => {
                self.text("(text");
                for part in parts {
                    self.text(" ");
                    match part {
                        TextPart::Text(text) => self.quoted(text),
                        TextPart::Expression(expression) => self.braced(expression),
                    }
                }
                self.text(")");
            }
            ExpressionKind::Symbol(name) => {
                self.text("#");
                self.quoted(name);
            }
            ExpressionKind::Pattern(pattern) => {
                self.text("/");
                self.quoted(pattern);
            }
            ExpressionKind::Name(name) => self.text(name),
            ExpressionKind::Implicit(name) => self.text(&format!("${name}")),
            ExpressionKind::Reference(path) => self.path(path),
            ExpressionKind::ReferenceTo(path) => {
                self.text("&");
                self.path(path);
            }
            ExpressionKind::Error => self.text("error"),
            ExpressionKind::Array { .. }
            | ExpressionKind::Dictionary(_)
            | ExpressionKind::Object { .. }
            | ExpressionKind::Block(_)
            | ExpressionKind::Parenthesized(_) => self.bracketed(&expression.kind),
            kind => {
                self.text("(");
                self.operation(kind);
                self.text(")");
            }
        }
    }

    fn braced(&mut self, expression: &Expression) {
        self.text("{");
        self.expression(expression);
        self.text("}");
    }

    fn bracketed(&mut self, kind: &ExpressionKind) {
        match kind {
            ExpressionKind::Array { class, elements } => {
                self.text(class.as_ref().map_or("", |class| &class.text));
                self.elements(elements);
            }
            ExpressionKind::Dictionary(pairs) => {
                self.text("#");
                self.pairs(pairs);
            }
            ExpressionKind::Object { class, pairs, children } => {
                self.text("#");
                self.text(&class.text);
                if let Some(pairs) = pairs {
                    self.pairs(pairs);
                }
                if let Some(children) = children {
                    self.elements(children);
                }
            }
            ExpressionKind::Block(block) => self.block(block),
            ExpressionKind::Parenthesized(inner) => {
                self.text("((");
                self.expression(inner);
                self.text("))");
            }
            _ => {}
        }
    }

    fn elements(&mut self, elements: &[Expression]) {
        self.text("[");
        self.list(elements, ", ", Self::expression);
        self.text("]");
    }

    fn pairs(&mut self, pairs: &[Pair]) {
        self.text("{");
        self.list(pairs, ", ", |out, pair| {
            out.expression(&pair.key);
            out.text(": ");
            out.expression(&pair.value);
        });
        self.text("}");
    }

    fn path(&mut self, path: &Path) {
        self.text("<");
        self.text(path.scheme.as_ref().map_or("", |scheme| &scheme.text));
        self.text(":");
        for part in &path.parts {
            self.text(" ");
            match part {
                PathPart::Text(text) => self.quoted(text),
                PathPart::Expression(expression) => self.braced(expression),
                PathPart::Segments(expression) => {
                    self.text("*");
                    self.braced(expression);
                }
            }
        }
        self.text(">");
    }

    fn operation(&mut self, kind: &ExpressionKind) {
        match kind {
            ExpressionKind::Send { receiver, message } => {
                self.expression(receiver);
                self.text(" ");
                self.message(message);
            }
            ExpressionKind::Cascade { receiver, messages } => {
                self.expression(receiver);
                for message in messages {
                    self.text(" ; ");
                    self.message(message);
                }
            }
            ExpressionKind::Pipe { left, message } => {
                self.expression(left);
                self.text(" | ");
                self.message(message);
            }
            ExpressionKind::Subscript { receiver, index } => {
                self.text("at ");
                self.expression(receiver);
                self.text(" [");
                self.expression(index);
                self.text("]");
            }
            ExpressionKind::Next(receiver) => {
                self.text("? ");
                self.expression(receiver);
            }
            ExpressionKind::Assign { target, mark, value, .. } => {
                self.expression(target);
                self.text(&format!(" {} ", mark.text));
                self.expression(value);
            }
            ExpressionKind::Connect { left, mark, right } => {
                self.expression(left);
                self.text(&format!(" {} ", mark.text));
                self.expression(right);
            }
            _ => {}
        }
    }

    fn message(&mut self, message: &SentMessage) {
        match message {
            SentMessage::Unary(word) => self.text(&word.text),
            SentMessage::Binary(word, argument) => {
                self.text(&word.text);
                self.text(" ");
                self.expression(argument);
            }
            SentMessage::Keyword(parts) => self.list(parts, " ", |out, (word, argument)| {
                out.text(&word.text);
                out.text(": ");
                out.expression(argument);
            }),
        }
    }
}
