//! Messages that become Lua's own control structures when their arguments are literal blocks:
//! conditions, loops, `and:`/`or:`, `ifNil:` and their like.

use crate::code::{Code, Tail};
use crate::generator::Generator;
use runnel_syntax::ast::{Block, Expression, ExpressionKind, SentMessage};

/// The control messages.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Control {
    If,
    AndOr,
    Nil,
    While,
    Count,
}

impl Control {
    fn is_loop(self) -> bool {
        matches!(self, Control::While | Control::Count)
    }
}

pub(super) fn block(expression: &Expression) -> Option<&Block> {
    match &expression.kind {
        ExpressionKind::Block(block) => Some(block),
        ExpressionKind::Parenthesized(inner) => block(inner),
        _ => None,
    }
}

/// Bytes of a block's source up to which it is inlined. LuaJIT's jumps reach 32,768 instructions;
/// the densest code takes about three for a byte. A longer block is a function of its own.
const INLINED: u32 = 10_000;

/// Whether an expression is a block literal that can stand in place: its length, its parameters.
fn plain(expression: &Expression, parameters: usize) -> bool {
    block(expression).is_some_and(|block| {
        block.parameters.len() <= parameters
            && block.span.end - block.span.start <= INLINED
            && crate::scope::implicit_parameters(block).is_empty()
    })
}

pub(crate) fn selector(parts: &[(runnel_syntax::ast::Word, Expression)]) -> String {
    let length = parts.iter().map(|(word, _)| word.text.len() + 1).sum();
    let mut selector = String::with_capacity(length);
    selector.extend(parts.iter().flat_map(|(word, _)| [word.text.as_str(), ":"]));
    selector
}

/// Receiver, message words and arguments of a keyword message.
type Parts<'a> = (&'a Expression, &'a [(runnel_syntax::ast::Word, Expression)]);

pub(super) fn keyword(expression: &Expression) -> Option<Parts<'_>> {
    match &expression.kind {
        ExpressionKind::Send { receiver, message: SentMessage::Keyword(parts) }
        | ExpressionKind::Pipe { left: receiver, message: SentMessage::Keyword(parts) } => {
            Some((receiver, parts))
        }
        _ => None,
    }
}

fn kind(expression: &Expression) -> Option<Control> {
    let (receiver, parts) = keyword(expression)?;
    let all_plain = |count| parts.iter().all(|(_, argument)| plain(argument, count));
    let last_plain = |count| parts.last().is_some_and(|(_, argument)| plain(argument, count));
    match selector(parts).as_str() {
        "ifTrue:" | "ifFalse:" | "ifTrue:ifFalse:" | "ifFalse:ifTrue:" if all_plain(0) => {
            Some(Control::If)
        }
        "and:" | "or:" if all_plain(0) => Some(Control::AndOr),
        "ifNil:" if all_plain(0) => Some(Control::Nil),
        "ifNotNil:" | "ifNil:ifNotNil:" | "ifNotNil:ifNil:" if all_plain(1) => Some(Control::Nil),
        "whileTrue:" | "whileFalse:" if all_plain(0) && plain(receiver, 0) => Some(Control::While),
        "to:do:" | "to:by:do:" if last_plain(1) && block(receiver).is_none() => {
            Some(Control::Count)
        }
        "repeat:" | "timesRepeat:" if all_plain(0) => Some(Control::Count),
        _ => None,
    }
}

/// Whether the blocks of a message that is no loop stand in place.
pub(super) fn is_branch(expression: &Expression) -> bool {
    kind(expression).is_some_and(|kind| !kind.is_loop())
}

/// A block literal that stands in place.
pub(crate) struct InPlace<'a> {
    pub(crate) block: &'a Block,
    /// It is part of a loop.
    pub(crate) repeats: bool,
}

impl InPlace<'_> {
    /// Whether an expression is this block.
    pub(crate) fn is(&self, expression: &Expression) -> bool {
        block(expression).is_some_and(|one| std::ptr::eq(one, self.block))
    }
}

impl Generator<'_> {
    /// The blocks of a control structure; none of another expression.
    pub(crate) fn blocks_in_place<'e>(&self, expression: &'e Expression) -> Vec<InPlace<'e>> {
        let (Some(kind), Some((receiver, parts))) =
            (self.control_kind(expression), keyword(expression))
        else {
            return Vec::new();
        };
        let repeats = kind.is_loop();
        let arguments = parts.iter().map(|(_, argument)| argument);
        let blocks = std::iter::once(receiver).chain(arguments).filter_map(block);
        blocks.map(|block| InPlace { block, repeats }).collect()
    }

    /// Whether an expression becomes a control structure.
    pub(crate) fn is_control(&self, expression: &Expression) -> bool {
        self.control_kind(expression).is_some()
    }

    /// A loop that a block inside its body leaves is a message: Lua's own loops cannot be unwound to.
    fn control_kind(&self, expression: &Expression) -> Option<Control> {
        kind(expression).filter(|kind| !kind.is_loop() || !self.is_left_from_within(expression))
    }

    /// Emits a control structure whose value goes to the tail; `false` when it is none.
    pub(crate) fn control(&mut self, expression: &Expression, tail: &Tail) -> bool {
        let (Some(kind), Some((receiver, parts))) =
            (self.control_kind(expression), keyword(expression))
        else {
            return false;
        };
        let selector = selector(parts);
        let blocks: Vec<&Block> =
            parts.iter().filter_map(|(_, argument)| block(argument)).collect();
        match kind {
            Control::If => self.condition(receiver, &selector, &blocks, tail),
            Control::AndOr => self.and_or(receiver, selector == "and:", blocks[0], tail),
            Control::Nil => self.nil_check(receiver, &selector, &blocks, tail),
            Control::While => self.while_loop(receiver, selector == "whileTrue:", blocks[0], tail),
            Control::Count => self.counted(receiver, parts, tail),
        }
        true
    }

    fn branch(&mut self, block: Option<&&Block>, tail: &Tail) {
        match block {
            Some(block) => self.inlined(block, None, tail),
            None if *tail == Tail::Discard => {}
            None => self.finish(Code::constant("nil"), tail),
        }
    }

    fn condition(&mut self, receiver: &Expression, selector: &str, blocks: &[&Block], tail: &Tail) {
        let (yes, no) = match selector {
            "ifTrue:" => (blocks.first(), None),
            "ifFalse:" => (None, blocks.first()),
            "ifTrue:ifFalse:" => (blocks.first(), blocks.get(1)),
            _ => (blocks.get(1), blocks.first()),
        };
        let value = self.expression(receiver);
        self.helper("truth");
        let mark = self.mark(receiver.span);
        if no.is_none() && *tail == Tail::Discard {
            self.emit(format_args!("{mark}if truth({}) then ", value.text));
            self.branch(yes, tail);
            self.code.push_str("end ");
            return;
        }
        // The value is kept as it is and asked in the condition: LuaJIT makes better traces of this
        // than of a branch on a kept boolean.
        let asked = self.temporary();
        self.emit(format_args!("{mark}{asked}={} if truth({asked}) then ", value.text));
        self.branch(yes, tail);
        self.code.push_str("else ");
        self.branch(no, tail);
        self.code.push_str("end ");
    }

    fn and_or(&mut self, receiver: &Expression, and: bool, block: &Block, tail: &Tail) {
        let result = match tail {
            Tail::Keep(variable) => variable.clone(),
            _ => self.temporary(),
        };
        let value = self.expression(receiver);
        self.helper("truth");
        let asked = self.temporary();
        self.emit(format_args!("{asked}=truth({}) ", value.text));
        let (goes_on, stays) = if and { ("true", "false") } else { ("false", "true") };
        self.emit(format_args!("if {asked}=={goes_on} then "));
        self.inlined(block, None, &Tail::Keep(result.clone()));
        self.emit(format_args!("else {result}={stays} end "));
        if !matches!(tail, Tail::Keep(_)) {
            self.finish(Code { prefix: true, ..Code::constant(result) }, tail);
        }
    }

    fn nil_check(&mut self, receiver: &Expression, selector: &str, blocks: &[&Block], tail: &Tail) {
        let value = self.expression(receiver);
        let value = self.keep(value);
        let (if_nil, otherwise) = match selector {
            "ifNil:" => (blocks.first(), None),
            "ifNotNil:" => (None, blocks.first()),
            "ifNil:ifNotNil:" => (blocks.first(), blocks.get(1)),
            _ => (blocks.get(1), blocks.first()),
        };
        self.emit(format_args!("if {}==nil then ", value.text));
        self.branch(if_nil, tail);
        self.code.push_str("else ");
        match otherwise {
            Some(block) => {
                let name = block.parameters.first().map(|parameter| parameter.name.text.clone());
                let parameter = name.as_deref().map(|name| (name, value.text.as_str()));
                self.inlined(block, parameter, tail);
            }
            // `ifNil:` of something is the thing itself.
            None if *tail != Tail::Discard => self.finish(value.clone(), tail),
            None => {}
        }
        self.code.push_str("end ");
    }

    fn while_loop(&mut self, receiver: &Expression, wanted: bool, body: &Block, tail: &Tail) {
        let Some(condition) = block(receiver) else { return };
        self.helper("truth");
        self.code.push_str("while true do ");
        let asked = self.temporary();
        self.inlined(condition, None, &Tail::Keep(asked.clone()));
        self.emit(format_args!("if truth({asked})~={wanted} then break end "));
        self.inlined_loop_body(body, |this| this.inlined(body, None, &Tail::Discard));

        if *tail != Tail::Discard {
            self.finish(Code::constant("nil"), tail);
        }
    }

    fn counted(
        &mut self,
        receiver: &Expression,
        parts: &[(runnel_syntax::ast::Word, Expression)],
        tail: &Tail,
    ) {
        let Some(body) = parts.last().and_then(|(_, argument)| block(argument)) else { return };
        let mut bounds: Vec<&Expression> = vec![receiver];
        bounds.extend(parts[..parts.len() - 1].iter().map(|(_, argument)| argument));
        let codes = self.expressions(&bounds);
        let codes: Vec<Code> = codes.into_iter().map(|code| self.keep(code)).collect();
        self.helper("K");
        let mark = self.mark(receiver.span);
        let selector = crate::lua::names::quoted(&selector(parts));
        let checked = |code: &Code| format!("K.bound({},{selector})", code.text);
        let range = match codes.as_slice() {
            [times] => format!("1,{}", checked(times)),
            [from, to] => format!("{},{}", checked(from), checked(to)),
            [from, to, step] => {
                format!("{},{},K.step({},{selector})", checked(from), checked(to), step.text)
            }
            _ => return,
        };
        self.emit(format_args!("{mark}for i={range} do "));
        let name = body.parameters.first().map(|parameter| parameter.name.text.clone());
        let parameter = name.as_deref().map(|name| (name, "i"));
        self.in_loop(body.span, |this| {
            this.inlined_loop_body(body, |this| this.inlined(body, parameter, &Tail::Discard));
        });
        if *tail != Tail::Discard {
            self.finish(Code::constant("nil"), tail);
        }
    }
}
