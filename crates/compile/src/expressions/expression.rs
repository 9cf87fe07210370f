//! Expressions: each becomes a piece of Lua, perhaps after statements emitted before it.
//!
//! The order of evaluation is the program's. Where a later argument needs statements of its own
//! (an assignment, a control structure), the values before it are kept in temporaries first.

use crate::code::{Code, Tail};
use crate::generator::Generator;
use crate::lua::names::quoted;
use runnel_syntax::ast::{AssignOperator, Expression, ExpressionKind, SentMessage, TextPart, Word};
use runnel_syntax::{Diagnostic, Span, foreign_name_hint};

/// Levels of nested calls in one Lua expression before the inner value goes to a temporary. A call
/// with many arguments counts as several: each that waits takes one of the function's 250 slots.
pub(crate) const DEPTH: u16 = 24;

impl Generator<'_> {
    /// An expression whose value goes to a tail.
    pub(crate) fn expression_to(&mut self, expression: &Expression, tail: &Tail) {
        if let ExpressionKind::Parenthesized(inner) = &expression.kind {
            return self.expression_to(inner, tail);
        }
        if let Tail::Write(place) = tail {
            return self.write_expression(expression, place);
        }
        if self.page(expression, tail) {
            return;
        }
        if self.control(expression, tail) || self.jump(expression, tail) {
            return;
        }
        if let ExpressionKind::Assign { target, operator, value, .. } = &expression.kind {
            let unused = *tail == Tail::Return && self.is_unused_append(target, *operator, value);
            let wanted = *tail != Tail::Discard && !unused;
            let value = self.assign(target, *operator, value, wanted);
            if unused {
                self.finish(Code::constant("nil"), tail);
            } else if wanted {
                self.finish(value, tail);
            }
            return;
        }
        let answered = if *tail == Tail::Return { self.answered(expression) } else { None };
        let value = answered.unwrap_or_else(|| self.expression(expression));
        self.finish(value, tail);
    }

    /// An expression.
    pub(crate) fn expression(&mut self, expression: &Expression) -> Code {
        if self.is_control(expression) {
            let kept = self.temporary();
            self.control(expression, &Tail::Keep(kept.clone()));
            return Code::temporary(kept);
        }
        if let Some(code) = self.left_loop(expression) {
            return code;
        }
        let code = match &expression.kind {
            ExpressionKind::Integer(digits) => self.integer(digits),
            ExpressionKind::Float(number) => Code::constant(format!("{number:?}")),
            ExpressionKind::Text(text) | ExpressionKind::Symbol(text) => {
                Code::constant(quoted(text))
            }
            ExpressionKind::Pattern(pattern) => {
                self.helper("K");
                Code::call(format!("K.pattern({})", quoted(pattern)))
            }
            ExpressionKind::Interpolated(parts) => self.interpolated(parts),
            ExpressionKind::Name(name) => self.name(name, expression.span),
            ExpressionKind::Implicit(name) => self.name(&format!("${name}"), expression.span),
            ExpressionKind::Reference(path) => self.read(path),
            ExpressionKind::ReferenceTo(path) => self.reference(path),
            ExpressionKind::Array { class, elements } => self.array(class.as_ref(), elements),
            ExpressionKind::Dictionary(pairs) => self.dictionary(pairs),
            ExpressionKind::Object { .. } if self.is_element(expression) => {
                self.element(expression)
            }
            ExpressionKind::Object { class, pairs, children } => {
                self.object(class, pairs.as_deref(), children.as_deref())
            }
            ExpressionKind::Block(block) => self.block(block),
            ExpressionKind::Parenthesized(inner) => self.expression(inner),
            ExpressionKind::Send { .. } | ExpressionKind::Pipe { .. } => self.chain(expression),
            ExpressionKind::Cascade { receiver, messages } => self.cascade(receiver, messages),
            ExpressionKind::Subscript { receiver, index } => self.subscript(receiver, index),
            ExpressionKind::Next(inner) => {
                let inner = self.expression(inner);
                let mark = self.mark(expression.span);
                Code::call(format!("{}{mark}:nextObject()", inner.receiver())).deeper_than(&[inner])
            }
            ExpressionKind::Assign { target, operator, value, .. } => {
                self.assign(target, *operator, value, true)
            }
            ExpressionKind::Connect { left, right, mark } => self.connect(left, right, mark),
            ExpressionKind::Error => {
                self.error(Diagnostic::error(expression.span, "this could not be read", "here"));
                Code::constant("nil")
            }
        };
        if code.depth >= DEPTH { self.keep(code) } else { code }
    }

    /// The value in a temporary, unless it is constant.
    pub(crate) fn keep(&mut self, code: Code) -> Code {
        if code.simple {
            return code;
        }
        let kept = self.temporary();
        self.emit(format_args!("{kept}={} ", code.text));
        Code::temporary(kept)
    }

    /// Several expressions, evaluated in order.
    pub(crate) fn expressions(&mut self, list: &[&Expression]) -> Vec<Code> {
        let mut codes: Vec<Code> = Vec::with_capacity(list.len());
        let last_with_statements = list.iter().rposition(|one| self.needs_statements(one));
        for (number, expression) in list.iter().enumerate() {
            let code = self.expression(expression);
            let kept = last_with_statements.is_some_and(|last| number < last);
            let code = if kept { self.keep(code) } else { code };
            codes.push(code);
        }
        codes
    }

    /// Whether evaluating it takes statements of its own.
    pub(crate) fn needs_statements(&self, expression: &Expression) -> bool {
        let mut needs = false;
        let mut size = 0;
        runnel_syntax::walk::walk(expression, &mut |inner| {
            size += 1;
            needs |= matches!(
                inner.kind,
                ExpressionKind::Assign { .. } | ExpressionKind::Cascade { .. }
            ) || self.is_control(inner)
                || self.is_left_loop(inner)
                || self.is_element(inner);
        });
        // A large expression may be cut into temporaries for its depth: each of its nodes adds at
        // most one level, and half of one as an argument.
        needs || size * 3 / 2 >= DEPTH as usize
    }

    fn integer(&mut self, digits: &str) -> Code {
        match digits.parse::<i64>() {
            Ok(number) if number.unsigned_abs() < 1 << 53 => {
                let text = if number < 0 { format!("({number})") } else { number.to_string() };
                Code::constant(text)
            }
            _ => {
                self.helper("K");
                Code::call(format!("K.integerFromText({})", quoted(digits)))
            }
        }
    }

    fn interpolated(&mut self, parts: &[TextPart]) -> Code {
        let pieces = parts.iter().map(|part| match part {
            TextPart::Text(text) => TextPiece::Text(text),
            TextPart::Expression(expression) => TextPiece::Value(expression),
        });
        self.text_of(pieces.collect())
    }

    fn text_of(&mut self, pieces: Vec<TextPiece<'_>>) -> Code {
        let values: Vec<&Expression> = pieces
            .iter()
            .filter_map(|piece| match piece {
                TextPiece::Value(expression) => Some(*expression),
                TextPiece::Text(_) => None,
            })
            .collect();
        let codes = self.expressions(&values);
        let mut next = codes.iter();
        let mut texts = Vec::with_capacity(pieces.len());
        for piece in pieces {
            match piece {
                TextPiece::Text(text) => texts.push(quoted(text)),
                TextPiece::Value(_) => {
                    texts.extend(next.next().map(|code| format!("str({})", code.text)));
                }
            }
        }
        if !codes.is_empty() {
            self.helper("str");
        }
        self.joined(texts).deeper_than(&codes)
    }

    /// Text put together from pieces that are Lua strings.
    pub(crate) fn joined(&mut self, pieces: Vec<String>) -> Code {
        match pieces.len() {
            0 => Code::constant("\"\""),
            1 => Code { simple: pieces[0].starts_with('"'), ..Code::constant(pieces[0].clone()) },
            2..=8 => Code { simple: false, ..Code::constant(format!("({})", pieces.join(".."))) },
            _ => {
                self.helper("K");
                Code::call(format!("K.join({{{}}})", pieces.join(",")))
            }
        }
    }

    /// A name that is read.
    pub(crate) fn name(&mut self, name: &str, span: Span) -> Code {
        match name {
            "nil" => return Code::constant("nil"),
            "true" | "false" => return Code::constant(name),
            "self" | "super" if self.method.is_some() => {
                return Code { prefix: true, ..Code::constant("self") };
            }
            _ => {}
        }
        if let Some(variable) = self.find(name) {
            let code = self.read_variable(name, &variable);
            if variable.owner.is_none() && self.classes.contains_key(name) {
                // `todo ← todo store`: until it has a value, the name is that of the class.
                self.helper("G");
                let code = format!("({code} or G[{}])", quoted(name));
                return self.in_brackets(name, code, span);
            }
            return self.in_brackets(name, code, span);
        }
        if let Some(brackets) = &self.brackets {
            let code = format!("K.property({},{})", brackets.element, quoted(name));
            self.helper("K");
            return Code::call(code);
        }
        if self.known.is_predefined(name) {
            self.helper("P");
            return Code::prefix(format!("P[{}]", quoted(name)));
        }
        if self.is_class(name) {
            self.check_order(name, span);
            self.helper("G");
            return Code::prefix(format!("G[{}]", quoted(name)));
        }
        if self.may_be_loaded(name) {
            self.helper("K");
            return Code::call(format!("K.classNamed({})", quoted(name)));
        }
        self.unknown_name(name, span);
        Code::constant("nil")
    }

    /// Whether a source that is loaded while the program runs may define a class of that name.
    pub(crate) fn may_be_loaded(&self, name: &str) -> bool {
        self.loads
            && name.starts_with(|first: char| first.is_uppercase())
            && self.known.may_be_loaded(name)
    }

    /// Whether a class or template of that name exists or is defined by this program.
    pub(crate) fn is_class(&self, name: &str) -> bool {
        self.classes.contains_key(name)
            || self.templates.contains(name)
            || self.known.is_class(name)
    }

    fn unknown_name(&mut self, name: &str, span: Span) {
        let known = self.visible_names();
        let title = format!("nothing is called `{name}` here");
        let mut diagnostic = Diagnostic::error(span, title, "not known");
        let parts: Vec<&str> = name.split('-').collect();
        let is_known = |part: &&str| {
            part.bytes().all(|byte| byte.is_ascii_digit()) || known.iter().any(|one| one == part)
        };
        let outside =
            self.method.is_some() && self.scopes.first().is_some_and(|top| top.get(name).is_some());
        if self.is_own_variable(name) {
            diagnostic =
                diagnostic.hint(format!("the object's own variable is written `this:{name}`"));
        } else if let Some(digits) = name.strip_prefix('$') {
            diagnostic = diagnostic.hint(format!(
                "`${digits}` stands for a parameter of a block without declared parameters"
            ));
        } else if parts.len() > 1 && parts.iter().all(is_known) {
            diagnostic = diagnostic.hint(format!(
                "a minus is part of a name; to subtract write `{}`",
                parts.join(" - ")
            ));
        } else if outside {
            diagnostic = diagnostic.hint(format!(
                "methods do not see the variables of the script: hand `{name}` over as a parameter \
                 or an instance variable"
            ));
        } else if let Some(hint) = foreign_name_hint(self.source, span) {
            diagnostic = diagnostic.hint(hint);
        } else if let Some(meant) = self.meant(name) {
            diagnostic = diagnostic.hint(format!("did you mean `{meant}`?"));
        } else {
            diagnostic = diagnostic
                .hint(format!("give it a value first: `{name} ← …`, or check the spelling"));
        }
        self.error(diagnostic);
    }

    fn subscript(&mut self, receiver: &Expression, index: &Expression) -> Code {
        if let ExpressionKind::Block(block) = &index.kind {
            return self.query(receiver, block);
        }
        let codes = self.expressions(&[receiver, index]);
        self.helper("at");
        let mark = self.mark(index.span);
        Code::call(format!("{mark}at({},{})", codes[0].text, codes[1].text)).deeper_than(&codes)
    }

    fn cascade(&mut self, receiver: &Expression, messages: &[SentMessage]) -> Code {
        let target = self.expression(receiver);
        let target = self.keep(target);
        let mut last = Code::constant("nil");
        for (number, message) in messages.iter().enumerate() {
            last = self.send(target.clone(), receiver, message);
            if number + 1 < messages.len() {
                self.finish(last.clone(), &Tail::Discard);
            }
        }
        last
    }

    fn connect(&mut self, left: &Expression, right: &Expression, mark: &Word) -> Code {
        let codes = self.expressions(&[left, right]);
        self.helper("K");
        let mark = self.mark(mark.span);
        Code::call(format!("{mark}K.connect({},{})", codes[0].text, codes[1].text))
            .deeper_than(&codes)
    }

    /// Emits an assignment; answers its value where that is wanted.
    pub(crate) fn assign(
        &mut self,
        target: &Expression,
        operator: AssignOperator,
        value: &Expression,
        wanted: bool,
    ) -> Code {
        match operator {
            AssignOperator::Put => self.put(target, value, wanted),
            AssignOperator::Post => {
                let left = self.reference_of(target);
                let left = if self.needs_statements(value) { self.keep(left) } else { left };
                let value = self.expression(value);
                self.helper("K");
                self.kept_call(format!("K.post({},{})", left.text, value.text), target.span, wanted)
            }
            AssignOperator::Follow | AssignOperator::Join => {
                let call = self.constraint(target, value, operator == AssignOperator::Join);
                self.kept_call(call, target.span, wanted)
            }
        }
    }

    fn kept_call(&mut self, call: String, span: Span, wanted: bool) -> Code {
        let mark = self.mark(span);
        let code = Code::call(format!("{mark}{call}"));
        if wanted {
            return self.keep(code);
        }
        self.finish(code, &Tail::Discard);
        Code::constant("nil")
    }

    fn put(&mut self, target: &Expression, value: &Expression, wanted: bool) -> Code {
        match &target.kind {
            ExpressionKind::Name(name) => {
                let Some(variable) = self.find(name) else {
                    self.error(
                        Diagnostic::error(
                            target.span,
                            format!("`{name}` cannot be assigned"),
                            "here",
                        )
                        .hint("choose another name"),
                    );
                    return Code::constant("nil");
                };
                if let Some(code) = self.append(name, &variable, value) {
                    return code;
                }
                let code = self.variable_code(&variable);
                self.expression_to(value, &Tail::Keep(code.clone()));
                self.written(&variable);
                Code::prefix(code)
            }
            ExpressionKind::Reference(path) => self.write(path, value, wanted),
            ExpressionKind::Subscript { receiver, index } => {
                let codes = self.expressions(&[receiver, index, value]);
                let stored = if wanted { self.keep(codes[2].clone()) } else { codes[2].clone() };
                self.helper("atPut");
                let mark = self.mark(target.span);
                let call =
                    format!("{mark}atPut({},{},{})", codes[0].text, codes[1].text, stored.text);
                self.finish(Code::call(call), &Tail::Discard);
                stored
            }
            ExpressionKind::Array { class: None, .. } | ExpressionKind::Dictionary(_) => {
                let whole = self.expression(value);
                let whole = self.keep(whole);
                self.take_apart(target, &whole.text);
                whole
            }
            _ => {
                self.error(
                    Diagnostic::error(target.span, "this cannot be assigned to", "not a variable")
                        .hint(
                            "only names, references and subscripts can stand left of an assignment",
                        ),
                );
                Code::constant("nil")
            }
        }
    }
}

/// A piece of a text that is put together.
enum TextPiece<'a> {
    Text(&'a str),
    Value(&'a Expression),
}
