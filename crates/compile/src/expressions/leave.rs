//! `break` and `continue`: names, unless a variable is called so, that leave the innermost loop or end
//! its current step.
//!
//! In a loop that becomes Lua's own they are jumps. In a loop that is a message, such as `do:`,
//! `continue` returns from the block and `break` unwinds to the message. Only loops in which one of
//! them stands pay for it.

use crate::code::{Code, Loop, Tail};
use crate::expressions::control::{block, is_branch, keyword, selector};
use crate::generator::Generator;
use runnel_syntax::ast::{
    Block, Expression, ExpressionKind, SentMessage, Statement, StatementKind, Word,
};
use runnel_syntax::walk::children;
use runnel_syntax::{Diagnostic, Span};

/// The messages that repeat a block.
const LOOPS: [&str; 17] = [
    "do:",
    "reverseDo:",
    "do:separatedBy:",
    "doWithIndex:",
    "withIndexDo:",
    "keysAndValuesDo:",
    "keysDo:",
    "valuesDo:",
    "associationsDo:",
    "with:do:",
    "to:do:",
    "to:by:do:",
    "repeat:",
    "timesRepeat:",
    "whileTrue:",
    "whileFalse:",
    "repeatUntil:",
];
/// The messages that repeat the block that gets them.
const OWN_LOOPS: [&str; 3] = ["repeat", "whileTrue", "whileFalse"];

/// Whether a name is one of the two.
fn is_jump(name: &str) -> bool {
    matches!(name, "break" | "continue")
}

/// The blocks that a loop message repeats; none for other expressions.
fn repeated(expression: &Expression) -> Vec<&Block> {
    if let Some((receiver, parts)) = keyword(expression) {
        let selector = selector(parts);
        if !LOOPS.contains(&selector.as_str()) {
            return Vec::new();
        }
        let own = selector.starts_with("while") || selector == "repeatUntil:";
        let blocks = parts.iter().filter_map(|(_, argument)| block(argument));
        return blocks.chain(block(receiver).filter(|_| own)).collect();
    }
    match &expression.kind {
        ExpressionKind::Send { receiver, message: SentMessage::Unary(word) }
        | ExpressionKind::Pipe { left: receiver, message: SentMessage::Unary(word) }
            if OWN_LOOPS.contains(&word.text.as_str()) =>
        {
            block(receiver).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

/// Which of the two stand in a block, not those of loops inside it.
#[derive(Default)]
struct Jumps {
    /// In the block itself or in branches that stand in place.
    direct: bool,
    /// In a block inside that is a function of its own.
    within: bool,
}

fn statements<'a>(list: &'a [Statement], inner: bool, pending: &mut Vec<(&'a Expression, bool)>) {
    for statement in list {
        if let StatementKind::Expression(value) | StatementKind::Return(value) = &statement.kind {
            pending.push((value, inner));
        }
    }
}

fn jumps(body: &Block) -> Jumps {
    let (mut found, mut pending) = (Jumps::default(), Vec::new());
    statements(&body.statements, false, &mut pending);
    while let Some((expression, inner)) = pending.pop() {
        match &expression.kind {
            ExpressionKind::Name(name) if is_jump(name) && inner => found.within = true,
            ExpressionKind::Name(name) if is_jump(name) => found.direct = true,
            ExpressionKind::Block(block) => statements(&block.statements, true, &mut pending),
            _ => {
                let own: Vec<Span> = repeated(expression).iter().map(|block| block.span).collect();
                let branch = is_branch(expression);
                let mut parts = Vec::new();
                children(expression, &mut parts);
                for part in parts {
                    match block(part) {
                        Some(block) if own.contains(&block.span) => {}
                        Some(block) if branch => statements(&block.statements, inner, &mut pending),
                        _ => pending.push((part, inner)),
                    }
                }
            }
        }
    }
    found
}

impl Generator<'_> {
    /// Whether the source has one of the two words at all: most have none, and need no search.
    fn may_jump(&self) -> bool {
        self.has_jumps
    }

    /// Whether a block inside the body of a loop leaves it.
    pub(super) fn is_left_from_within(&self, expression: &Expression) -> bool {
        self.may_jump() && repeated(expression).iter().any(|body| jumps(body).within)
    }

    /// Whether an expression is a loop message that one of the two leaves.
    pub(super) fn is_left_loop(&self, expression: &Expression) -> bool {
        self.may_jump()
            && repeated(expression).iter().any(|body| {
                let found = jumps(body);
                found.direct || found.within
            })
    }

    /// A loop message that one of the two leaves.
    pub(super) fn left_loop(&mut self, expression: &Expression) -> Option<Code> {
        if !self.is_left_loop(expression) {
            return None;
        }
        let bodies = repeated(expression).iter().map(|block| block.span).collect();
        let (ExpressionKind::Send { receiver, message }
        | ExpressionKind::Pipe { left: receiver, message }) = &expression.kind
        else {
            return None;
        };
        let own = matches!(receiver.kind, ExpressionKind::Block(_));
        // The receiver of `do:` is no part of the loop.
        let kept = if own { None } else { Some(self.expression(receiver)) };
        let kept = kept.map(|code| self.keep(code));
        self.enter_loop(bodies, false);
        let target = kept.unwrap_or_else(|| self.expression(receiver));
        let code = self.send(target, receiver, message);
        let left = self.loops.pop()?;
        if !left.breaks {
            return Some(code);
        }
        // A statement of the receiver or an argument would stand outside of the protected call.
        self.helper("home");
        let text = format!("home(function(B{}) return {} end)", left.label, code.text);
        Some(Code { text, ..code })
    }

    /// Notes the blocks of a loop message, whose values it does not use.
    pub(super) fn note_loop(&mut self, selector: &str, arguments: &[(Word, Expression)]) {
        if !self.appended.is_empty() && LOOPS.contains(&selector) {
            let blocks = arguments.iter().filter_map(|(_, argument)| block(argument));
            self.repeated.extend(blocks.map(|block| block.span.start));
        }
    }

    /// Notes that the function begun is such a block.
    pub(crate) fn note_repeated(&mut self, span: Span) {
        let is_repeated = self.repeated.contains(&span.start);
        if let Some(function) = self.functions.last_mut() {
            function.is_repeated = is_repeated;
        }
    }

    fn enter_loop(&mut self, bodies: Vec<Span>, inlined: bool) {
        self.labels += 1;
        let outer = self.functions.last().map_or(0, |function| function.id);
        let label = self.labels;
        self.loops.push(Loop { label, bodies, inlined, outer, ..Loop::default() });
    }

    /// Notes the function of a block that is the body of the innermost loop.
    pub(crate) fn begin_loop_body(&mut self, span: Span, function: usize) {
        if let Some(current) = self.loops.last_mut().filter(|one| one.bodies.contains(&span)) {
            current.body = Some(function);
        }
    }

    /// The code of such a block: with a place to unwind to, where `continue` needs one.
    pub(crate) fn loop_body(&mut self, span: Span, function: usize, code: String) -> String {
        let Some(current) = self.loops.last_mut().filter(|one| one.bodies.contains(&span)) else {
            return code;
        };
        if !std::mem::take(&mut current.unwinds) {
            return code;
        }
        self.helper("home");
        format!(" return (home(function(C{function}){code} end))")
    }

    /// Emits the body of a loop of Lua and its end, with the labels that jumps go to.
    pub(super) fn inlined_loop_body(&mut self, body: &Block, fill: impl FnOnce(&mut Self)) {
        if !self.may_jump() {
            fill(self);
            return self.code.push_str("end ");
        }
        self.enter_loop(vec![body.span], true);
        self.code.push_str("do ");
        // A level more than a loop without labels has.
        self.level += 1;
        fill(self);
        self.level -= 1;
        let label = self.loops.pop().map_or(0, |one| one.label);
        self.emit(format_args!("end ::c{label}:: end ::b{label}:: "));
    }

    /// Emits `break` or `continue`; `false` for any other expression.
    pub(super) fn jump(&mut self, expression: &Expression, tail: &Tail) -> bool {
        let ExpressionKind::Name(name) = &expression.kind else { return false };
        if !is_jump(name) || self.find(name).is_some() || self.brackets.is_some() {
            return false;
        }
        let Some(current) = self.loops.last().cloned() else {
            self.error(
                Diagnostic::error(
                    expression.span,
                    format!("`{name}` stands outside of a loop"),
                    "no loop around this",
                )
                .hint("it leaves `do:`, `to:do:`, `whileTrue:`, `repeat` and the like; a method returns with `^`"),
            );
            return true;
        };
        let here = self.functions.last().map(|function| function.id);
        let breaks = name == "break";
        if current.inlined {
            let kind = if breaks { "b" } else { "c" };
            self.emit(format_args!("do goto {kind}{} end ", current.label));
        } else if !breaks && here == current.body {
            self.code.push_str("do return end ");
        } else {
            self.unwind(&current, breaks);
        }
        if *tail != Tail::Discard {
            self.finish(Code::constant("nil"), tail);
        }
        true
    }

    fn unwind(&mut self, current: &Loop, breaks: bool) {
        let body = current.body.unwrap_or_default();
        let (token, owner) = match breaks {
            true => (format!("B{}", current.label), current.outer),
            false => (format!("C{body}"), body),
        };
        for function in self.functions.iter_mut().rev().take_while(|one| one.id != owner) {
            function.captures.insert(token.clone());
        }
        if let Some(one) = self.loops.last_mut() {
            one.breaks |= breaks;
            one.unwinds |= !breaks;
        }
        self.helper("leave");
        self.emit(format_args!("leave({token},nil); "));
    }
}
