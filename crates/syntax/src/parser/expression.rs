//! Expressions: assignment, connection, messages. From loose to tight: assignment (to the right),
//! connection (to the right), cascades and pipes, keyword messages, binary messages (left to
//! right), unary messages with subscripts and `?`.

use super::{Mode, Parser};
use crate::ast::{AssignOperator, Expression, ExpressionKind, SentMessage, Word};
use crate::lexer::Lexeme;
use crate::{Diagnostic, Span, TokenKind};

/// Tokens before an assignment among which another one is searched.
const LOOK_BACK: usize = 64;

impl Parser<'_> {
    /// A whole expression.
    pub(super) fn expression(&mut self) -> Expression {
        if !self.enter() {
            return self.failed();
        }
        let expression = self.beside(Self::assignment);
        self.leave();
        expression
    }

    fn assignment(&mut self) -> Expression {
        let target = self.connection();
        if self.recovering || !self.at(TokenKind::Assign) || !self.goes_on() {
            return target;
        }
        let operator = match self.word() {
            "+=" => AssignOperator::Post,
            "|=" => AssignOperator::Follow,
            "=|=" => AssignOperator::Join,
            _ => AssignOperator::Put,
        };
        self.check_target(&target, operator);
        let mark = self.bump();
        let mark = self.word_at(mark);
        let value = self.expression();
        self.grow();
        let span = target.span.to(value.span);
        let (target, value) = (Box::new(target), Box::new(value));
        Expression { kind: ExpressionKind::Assign { target, operator, mark, value }, span }
    }

    fn connection(&mut self) -> Expression {
        let left = self.messages();
        if self.recovering || !self.at(TokenKind::Arrow) || !self.goes_on() || !self.enter() {
            return left;
        }
        let mark = self.bump();
        let mark = self.word_at(mark);
        let right = self.beside(Self::connection);
        self.leave();
        self.grow();
        let span = left.span.to(right.span);
        let (left, right) = (Box::new(left), Box::new(right));
        Expression { kind: ExpressionKind::Connect { left, mark, right }, span }
    }

    fn check_target(&mut self, target: &Expression, operator: AssignOperator) {
        if is_target(target, operator) {
            return;
        }
        if let Some(error) = self.missing_period(target) {
            self.error(error);
            return;
        }
        let mut hint = "a name, a reference such as `file:x`, or a subscript can be assigned to";
        if matches!(&target.kind, ExpressionKind::Send { message: SentMessage::Unary(_), .. }) {
            hint = "to set a property send a message, such as `task setTitle: 'x'`";
        }
        self.error(
            Diagnostic::error(
                self.next.span,
                "the left side cannot be assigned to",
                "assigned here",
            )
            .also(target.span, "this is not a place")
            .hint(hint),
        );
    }

    /// `a := 3 b := 4`: the name before the second mark is no message, a period is missing. After a
    /// name alone, `task title := 'x'`, a property may be meant.
    fn missing_period(&self, target: &Expression) -> Option<Diagnostic> {
        let ExpressionKind::Send { receiver, message: SentMessage::Unary(word) } = &target.kind
        else {
            return None;
        };
        let assigned = self.tokens.iter().rev().take_while(|token| {
            token.span.start >= self.statement_start && token.span.end <= self.at
        });
        let is_value = assigned.take(LOOK_BACK).any(|token| token.kind == TokenKind::Assign);
        if !is_value && matches!(receiver.kind, ExpressionKind::Name(_)) {
            return None;
        }
        let title = format!("a period is missing before `{}`", word.text);
        let mark = self.word();
        Some(
            Diagnostic::error(word.span, title, "a statement begins here")
                .hint(format!("end the statement before it: `. {} {mark} …`", word.text)),
        )
    }

    /// A keyword message and what follows it: cascades and pipes.
    fn messages(&mut self) -> Expression {
        let mut left = if self.is_timer(&self.next) {
            self.timer()
        } else {
            let operand = self.unary();
            let left = self.binary_rest(operand);
            self.keyword_rest(left)
        };
        while !self.recovering && self.goes_on() {
            match self.kind() {
                TokenKind::Semicolon => left = self.cascade(left),
                TokenKind::Bar => left = self.pipe(left),
                _ => break,
            }
        }
        left
    }

    /// Whether `after: 5 seconds do: { … }`, `every: 1 minute do: { … }`, `onceEvery:` or
    /// `raw: text` begins with the token: the messages whose receiver may be left out.
    fn is_timer(&self, next: &Lexeme) -> bool {
        let after = self.peek(next.span.end);
        let argument = matches!(
            after.kind,
            TokenKind::Number | TokenKind::Name | TokenKind::Implicit | TokenKind::OpenParen
        );
        let text = matches!(after.kind, TokenKind::Text | TokenKind::Quote);
        after.spaced
            && match self.text(next.span) {
                "after:" | "every:" | "onceEvery:" => argument,
                "raw:" => argument || text,
                _ => false,
            }
    }

    /// A timer: the receiver that was left out is the program itself.
    fn timer(&mut self) -> Expression {
        let start = self.next.span.start;
        let kind = ExpressionKind::Name("context".into());
        let receiver = Expression { kind, span: Span::new(start, start) };
        let first = self.keyword_part();
        let message = self.keyword_parts(vec![first]);
        self.send(receiver, message)
    }

    /// Whether a timer at the start of a line is a statement of its own: it is not indented more
    /// than the statement before it.
    fn timer_begins_statement(&self, next: &Lexeme) -> bool {
        let column = |at: u32| {
            let line = self.source()[..at as usize].rsplit('\n').next();
            line.map_or(0, |line| line.len() - line.trim_start().len())
        };
        self.is_timer(next) && column(next.span.start) <= column(self.statement_start)
    }

    /// An operand with its unary and binary messages: the argument of a keyword message.
    fn argument(&mut self) -> Expression {
        self.beside(|parser| {
            let operand = parser.right_side();
            parser.binary_rest(operand)
        })
    }

    /// The argument of a binary message. A line that begins something new is none.
    fn right_side(&mut self) -> Expression {
        if self.begins_anew(&self.next) { self.missing_operand() } else { self.unary() }
    }

    fn unary(&mut self) -> Expression {
        let operand = self.operand();
        self.unary_rest(operand)
    }

    /// Unary messages, subscripts and `?` that follow a receiver.
    fn unary_rest(&mut self, mut receiver: Expression) -> Expression {
        while !self.recovering && self.goes_on() {
            receiver = match self.kind() {
                TokenKind::OpenBracket if self.touches() => self.subscript(receiver),
                TokenKind::Name => {
                    let word = self.message_name();
                    self.send(receiver, SentMessage::Unary(word))
                }
                TokenKind::Question => {
                    let span = receiver.span.to(self.bump());
                    self.grow();
                    Expression { kind: ExpressionKind::Next(Box::new(receiver)), span }
                }
                _ => break,
            };
        }
        receiver
    }

    fn message_name(&mut self) -> Word {
        self.check_name();
        let span = self.bump();
        self.word_at(span)
    }

    fn subscript(&mut self, receiver: Expression) -> Expression {
        self.open();
        let index = self.within(Mode::GROUP, Self::expression);
        self.close();
        self.grow();
        let span = Span::new(receiver.span.start, self.at);
        let (receiver, index) = (Box::new(receiver), Box::new(index));
        Expression { kind: ExpressionKind::Subscript { receiver, index }, span }
    }

    /// Binary messages that follow a receiver, from left to right.
    fn binary_rest(&mut self, mut receiver: Expression) -> Expression {
        while !self.recovering && self.at_binary() && self.goes_on() {
            let word = self.bump();
            let word = self.word_at(word);
            let argument = self.beside(Self::right_side);
            receiver = self.send(receiver, SentMessage::Binary(word, Box::new(argument)));
        }
        receiver
    }

    fn at_binary(&self) -> bool {
        match self.kind() {
            TokenKind::Operator => true,
            TokenKind::Comma => !self.mode.comma_separates,
            _ => false,
        }
    }

    fn keyword_rest(&mut self, receiver: Expression) -> Expression {
        match self.keyword_message() {
            Some(message) => self.send(receiver, message),
            None => receiver,
        }
    }

    fn keyword_message(&mut self) -> Option<SentMessage> {
        if self.recovering || !self.at(TokenKind::Keyword) || !self.goes_on() {
            return None;
        }
        let first = self.keyword_part();
        Some(self.keyword_parts(vec![first]))
    }

    fn keyword_parts(&mut self, mut parts: Vec<(Word, Expression)>) -> SentMessage {
        while !self.recovering && self.at(TokenKind::Keyword) && self.continues(&self.next, true) {
            parts.push(self.keyword_part());
        }
        SentMessage::Keyword(parts)
    }

    fn keyword_part(&mut self) -> (Word, Expression) {
        let span = self.bump();
        let word = self.word_at(Span::new(span.start, span.end - 1));
        (word, self.argument())
    }

    fn send(&mut self, receiver: Expression, message: SentMessage) -> Expression {
        self.grow();
        let span = Span::new(receiver.span.start, self.at);
        Expression { kind: ExpressionKind::Send { receiver: Box::new(receiver), message }, span }
    }

    /// `; message` after a message: it goes to the receiver of the one before.
    fn cascade(&mut self, left: Expression) -> Expression {
        let span = left.span;
        let (receiver, mut messages) = match left.kind {
            ExpressionKind::Send { receiver, message } => (receiver, vec![message]),
            ExpressionKind::Cascade { receiver, messages } => (receiver, messages),
            // The receiver of a piped message is all that stands left of the pipe.
            ExpressionKind::Pipe { left, message } => {
                let span = left.span;
                let grouped = ExpressionKind::Parenthesized(left);
                (Box::new(Expression { kind: grouped, span }), vec![message])
            }
            kind => {
                self.error(
                    Diagnostic::error(self.next.span, "`;` needs a message before it", "here")
                        .also(span, "this is no message")
                        .hint("write a message first, as in `list add: 1; add: 2`"),
                );
                return Expression { kind, span };
            }
        };
        self.bump();
        if let Some(message) = self.message("`;`") {
            messages.push(message);
        }
        self.grow();
        let span = Span::new(span.start, self.at);
        Expression { kind: ExpressionKind::Cascade { receiver, messages }, span }
    }

    /// `| message` and the messages to its result.
    fn pipe(&mut self, left: Expression) -> Expression {
        self.bump();
        let Some(message) = self.message("`|`") else { return left };
        self.grow();
        let span = Span::new(left.span.start, self.at);
        let keyword = matches!(message, SentMessage::Keyword(_));
        let mut piped =
            Expression { kind: ExpressionKind::Pipe { left: Box::new(left), message }, span };
        if !keyword {
            piped = self.unary_rest(piped);
            piped = self.binary_rest(piped);
            piped = self.keyword_rest(piped);
        }
        piped
    }

    /// One message without its receiver.
    fn message(&mut self, after: &str) -> Option<SentMessage> {
        match self.kind() {
            TokenKind::Name => Some(SentMessage::Unary(self.message_name())),
            // A message must follow here: not even a new line begins something else.
            TokenKind::Keyword => {
                let first = self.keyword_part();
                Some(self.keyword_parts(vec![first]))
            }
            _ if self.at_binary() => {
                let word = self.bump();
                let word = self.word_at(word);
                let argument = self.beside(Self::right_side);
                Some(SentMessage::Binary(word, Box::new(argument)))
            }
            _ => {
                self.error(
                    Diagnostic::error(
                        self.next.span,
                        format!("{after} needs a message after it"),
                        "expected a message here",
                    )
                    .hint(format!("write a message such as `count`, or remove {after}")),
                );
                None
            }
        }
    }

    // Line ends.

    /// Whether the next token belongs to the expression that was begun.
    fn goes_on(&self) -> bool {
        self.continues(&self.next, false)
    }

    /// Whether a token behind a complete expression continues it. `keyword` says whether a
    /// keyword message is under way.
    pub(super) fn continues(&self, next: &Lexeme, keyword: bool) -> bool {
        if !next.newline {
            return true;
        }
        if self.begins_anew(next) {
            return false;
        }
        if !self.mode.newline_ends {
            return true;
        }
        match next.kind {
            TokenKind::Operator => !self.is_shell_line(next),
            TokenKind::Comma
            | TokenKind::Arrow
            | TokenKind::Assign
            | TokenKind::Bar
            | TokenKind::Semicolon
            | TokenKind::Question => true,
            TokenKind::Keyword if self.timer_begins_statement(next) => false,
            TokenKind::Keyword => match self.rest(next.span.end).chars().next() {
                Some('(') => true,
                Some('{' | '[' | '\'' | '"' | '#' | '‘' | '’') => keyword,
                _ => !self.path_follows(next.span.end),
            },
            _ => false,
        }
    }
}

/// What can stand left of an assignment: a place, or an array of places to take a value apart.
fn is_target(target: &Expression, operator: AssignOperator) -> bool {
    match &target.kind {
        ExpressionKind::Name(_)
        | ExpressionKind::Implicit(_)
        | ExpressionKind::Reference(_)
        | ExpressionKind::Subscript { .. }
        | ExpressionKind::Error => true,
        ExpressionKind::ReferenceTo(_) => operator != AssignOperator::Put,
        ExpressionKind::Array { class: None, elements } => {
            operator == AssignOperator::Put
                && !elements.is_empty()
                && elements.iter().all(|element| is_target(element, operator))
        }
        ExpressionKind::Dictionary(pairs) => {
            operator == AssignOperator::Put
                && !pairs.is_empty()
                && pairs.iter().all(|pair| is_target(&pair.value, operator))
        }
        _ => false,
    }
}
