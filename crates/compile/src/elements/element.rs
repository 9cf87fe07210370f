//! Element literals: markup is written into a buffer while the program runs, and what is constant of
//! it is put together while compiling. A page is one list: markup, value, markup, value …
//!
//! A literal opens a buffer, writes, and closes it to a value of the class `Element`. A literal that
//! stands in another one writes into the same buffer. Conditions and `collect:` with a literal block
//! write where they stand, too. The page that a `get` of a property path answers is written where the
//! kernel can send what is already there.

use crate::code::{Code, MarkupTarget, Tail};
use crate::elements::html::MarkupContext;
use crate::generator::Generator;
use crate::lua::names::quoted;
use crate::scope::{Scope, Variable, implicit_parameters};
use runnel_syntax::ast::{
    Block, Expression, ExpressionKind, Pair, SentMessage, StatementKind, TextPart, Word,
};
use runnel_syntax::walk::{bare, walk};
use runnel_syntax::{Diagnostic, Span};

/// Bytes of a block's source up to which it stands where it is run as well as in a function.
const SHORT: u32 = 2_000;

/// An element literal in its parts.
pub(crate) struct ElementLiteral<'a> {
    pub(crate) tag: &'a Word,
    pub(crate) pairs: &'a [Pair],
    pub(crate) children: &'a [Expression],
}

/// The text of a constant.
pub(crate) fn constant(expression: &Expression) -> Option<&str> {
    match &bare(expression).kind {
        ExpressionKind::Text(text) | ExpressionKind::Symbol(text) => Some(text),
        _ => None,
    }
}

/// `receiver collect: { :one | … }` in its parts.
fn collected(expression: &Expression) -> Option<(&Expression, &Block)> {
    let (ExpressionKind::Send { receiver, message: SentMessage::Keyword(parts) }
    | ExpressionKind::Pipe { left: receiver, message: SentMessage::Keyword(parts) }) =
        &expression.kind
    else {
        return None;
    };
    let [(word, argument)] = parts.as_slice() else { return None };
    match &bare(argument).kind {
        ExpressionKind::Block(block)
            if word.text == "collect"
                && block.parameters.len() == 1
                && implicit_parameters(block).is_empty() =>
        {
            Some((receiver, block))
        }
        _ => None,
    }
}

/// Whether evaluating it may wait for something, or return from the method: both decide when a page
/// can be written.
fn nature(expression: &Expression) -> (bool, bool) {
    let (mut may_wait, mut returns) = (false, false);
    let mut blocks = Vec::new();
    let mut look = |inner: &Expression| match &inner.kind {
        ExpressionKind::Block(block) => blocks.push(block.clone()),
        ExpressionKind::Send { .. }
        | ExpressionKind::Pipe { .. }
        | ExpressionKind::Cascade { .. }
        | ExpressionKind::Reference(_)
        | ExpressionKind::Subscript { .. } => may_wait = true,
        _ => {}
    };
    walk(expression, &mut look);
    while let Some(block) = blocks.pop() {
        may_wait = true;
        for statement in &block.statements {
            match &statement.kind {
                StatementKind::Return(_) => returns = true,
                StatementKind::Expression(value) => walk(value, &mut |inner| {
                    if let ExpressionKind::Block(block) = &inner.kind {
                        blocks.push(block.clone());
                    }
                }),
                _ => {}
            }
        }
    }
    (may_wait, returns)
}

impl Generator<'_> {
    fn literal<'a>(&self, expression: &'a Expression) -> Option<ElementLiteral<'a>> {
        let ExpressionKind::Object { class: tag, pairs, children } = &bare(expression).kind else {
            return None;
        };
        let is_tag = tag.text.starts_with(|first: char| first.is_ascii_lowercase())
            && !self.is_class(&tag.text);
        is_tag.then(|| ElementLiteral {
            tag,
            pairs: pairs.as_deref().unwrap_or_default(),
            children: children.as_deref().unwrap_or_default(),
        })
    }

    /// Whether an expression is an element literal: it takes statements of its own.
    pub(crate) fn is_element(&self, expression: &Expression) -> bool {
        self.literal(expression).is_some()
    }

    /// An element literal as a value.
    pub(crate) fn element(&mut self, expression: &Expression) -> Code {
        let Some(literal) = self.literal(expression) else { return Code::constant("nil") };
        let Some(function) = self.functions.last().map(|function| function.id) else {
            return Code::constant("nil");
        };
        let media = media_type(&literal);
        let outer = std::mem::take(&mut self.markup);
        let start = self.code.len();
        let mark = self.mark(expression.span);
        let buffer = self.new_variable("markup", function);
        let place = MarkupTarget {
            buffer: buffer.code.clone(),
            owner: Some(function),
            context: MarkupContext::Text,
            xml: false,
        };
        self.helper("K");
        self.count_locals(1);
        self.element_into(&literal, &place);
        if self.code.len() == start {
            let text = quoted(&std::mem::replace(&mut self.markup, outer));
            return Code::call(format!("{mark}K.markup({text},{media})"));
        }
        self.flush(&place);
        self.markup = outer;
        let kept = self.temporary();
        let code = buffer.code;
        let local = if code.contains('.') { "" } else { "local " };
        self.code.insert_str(start, &format!("{mark}do {local}{code}=K.openMarkup() "));
        self.emit(format_args!("{kept}=K.closeMarkup({code},{media}) end "));
        Code { prefix: true, ..Code::constant(kept) }
    }

    /// The page that a `get` answers. For a client it is written at once, where the part written so far
    /// can be sent; for others it becomes a function that writes it when it is wanted. Answers whether
    /// the expression was one.
    pub(crate) fn page(&mut self, expression: &Expression, tail: &Tail) -> bool {
        let home = self.functions.last().map(|function| function.id);
        let context = self.method.as_ref().filter(|method| home == Some(method.home));
        let client = context.and_then(|method| method.client.clone());
        let Some(client) = client.filter(|_| *tail == Tail::Return) else { return false };
        let Some(literal) = self.literal(expression) else { return false };
        if nature(expression) != (true, false) {
            return false;
        }
        let media = media_type(&literal);
        let mark = self.mark(expression.span);
        self.helper("K");
        let outer = std::mem::take(&mut self.markup);
        self.page_at_once(&literal, &client, &media, &mark);
        let writer = self.writer(None, MarkupContext::Text, false, |this, place| {
            this.element_into(&literal, place);
            this.flush(place);
        });
        self.markup = outer;
        self.finish(Code::call(format!("{mark}K.page({writer},{media})")), tail);
        true
    }

    /// The page for a client: it needs no function of its own, so that LuaJIT compiles it together
    /// with what is around it.
    fn page_at_once(
        &mut self,
        literal: &ElementLiteral<'_>,
        client: &Variable,
        media: &str,
        mark: &str,
    ) {
        let client = self.variable_code(client);
        let owner = self.functions.last().map(|function| function.id);
        let buffer = self.new_variable("markup", owner.unwrap_or_default());
        let code = buffer.code.clone();
        let local = if code.contains('.') { "" } else { "local " };
        let place =
            MarkupTarget { buffer: buffer.code, owner, context: MarkupContext::Text, xml: false };
        self.emit(format_args!("if {client} then {local}{code}={mark}K.beginPage({media}) "));
        self.scoped(Scope::default(), |this| {
            this.count_locals(1);
            this.with_temporaries(|this| {
                this.element_into(literal, &place);
                this.flush(&place);
            });
        });
        self.emit(format_args!("do return (K.endPage({code},{media})) end end "));
    }

    /// A Lua function that gets a buffer and perhaps one value, and writes.
    fn writer(
        &mut self,
        parameter: Option<&str>,
        context: MarkupContext,
        xml: bool,
        fill: impl FnOnce(&mut Self, &MarkupTarget),
    ) -> String {
        let function = self.coming_function();
        let buffer = self.new_variable("markup", function);
        let place =
            MarkupTarget { buffer: buffer.code.clone(), owner: Some(function), context, xml };
        let mut scope = Scope::default();
        let mut parameters = vec![("markup".to_string(), buffer)];
        if let Some(name) = parameter {
            let variable = self.new_variable(name, function);
            scope.names.push((name.to_string(), variable.clone()));
            parameters.push((name.to_string(), variable));
        }
        let list: Vec<&str> = parameters
            .iter()
            .map(|(_, variable)| variable.code.rsplit('.').next().unwrap_or(""))
            .collect();
        let list = list.join(",");
        let body = self.function_body(&parameters, |this| {
            this.scoped(scope, |this| this.with_temporaries(|this| fill(this, &place)));
        });
        format!("function({list}){body} end")
    }

    /// A block that writes: what its last statement answers is written.
    fn writing_block(&mut self, block: &Block, place: &MarkupTarget) -> String {
        let parameter = block.parameters.first().map(|parameter| parameter.name.text.as_str());
        let outer = std::mem::take(&mut self.markup);
        let writer = self.writer(parameter, place.context, place.xml, |this, place| {
            this.declare(&block.statements);
            this.statements(&block.statements, &Tail::Write(Box::new(place.clone())));
        });
        self.markup = outer;
        writer
    }

    /// Writes the constant markup that has come together.
    pub(crate) fn flush(&mut self, place: &MarkupTarget) {
        if self.markup.is_empty() {
            return;
        }
        let text = quoted(&std::mem::take(&mut self.markup));
        let buffer = self.buffer(place);
        self.helper("put");
        self.emit(format_args!("put({buffer},{text}) "));
    }

    pub(crate) fn buffer(&mut self, place: &MarkupTarget) -> String {
        self.variable_code(&Variable { code: place.buffer.clone(), owner: place.owner, hub: None })
    }

    /// An expression whose value is written.
    pub(crate) fn write_expression(&mut self, expression: &Expression, place: &MarkupTarget) {
        self.child(expression, place);
        self.flush(place);
    }

    /// A value is written according to where it stands.
    pub(crate) fn write_value(&mut self, value: &Code, place: &MarkupTarget) {
        if value.text == "nil" && place.context == MarkupContext::Text {
            return;
        }
        self.flush(place);
        let buffer = self.buffer(place);
        let function = match (place.context, place.xml) {
            (MarkupContext::Text, _) => "child",
            (MarkupContext::Script, _) => "K.scriptData",
            (MarkupContext::Style, _) => "K.styleWord",
        };
        self.helper(function.split('.').next().unwrap_or("K"));
        self.emit(format_args!("{function}({buffer},{}) ", value.text));
    }

    fn element_into(&mut self, literal: &ElementLiteral<'_>, place: &MarkupTarget) {
        let tag = literal.tag.text.as_str();
        let mut inner = MarkupTarget { context: MarkupContext::Text, ..place.clone() };
        if tag == "fragment" || tag == "xml" {
            inner.xml |= tag == "xml";
            self.refuse_attributes(literal);
            return literal.children.iter().for_each(|child| self.child(child, &inner));
        }
        if !place.xml {
            self.check_element(literal);
            inner.context = match tag {
                "script" => MarkupContext::Script,
                "style" => MarkupContext::Style,
                _ => MarkupContext::Text,
            };
            if tag == "html" {
                self.markup.push_str("<!DOCTYPE html>");
            }
        }
        self.markup.push('<');
        self.markup.push_str(tag);
        if !place.xml {
            return self.html_element(literal, place, &inner);
        }
        for pair in literal.pairs {
            self.attribute(pair, place);
        }
        if literal.children.is_empty() {
            return self.markup.push_str("/>");
        }
        self.markup.push('>');
        self.children_and_end(literal, &inner);
    }

    /// The children of an element and its end tag.
    pub(crate) fn children_and_end(&mut self, literal: &ElementLiteral<'_>, inner: &MarkupTarget) {
        literal.children.iter().for_each(|child| self.child(child, inner));
        if literal.tag.text == "body" && !inner.xml {
            self.live_call("endBody", "", inner);
        }
        self.end_tag(literal);
    }

    pub(crate) fn end_tag(&mut self, literal: &ElementLiteral<'_>) {
        self.markup.push_str("</");
        self.markup.push_str(&literal.tag.text);
        self.markup.push('>');
    }

    fn child(&mut self, expression: &Expression, place: &MarkupTarget) {
        let expression = bare(expression);
        if let Some(literal) = self.literal(expression) {
            if place.context != MarkupContext::Text {
                self.error(
                    Diagnostic::error(expression.span, "an element cannot stand here", "only text")
                        .hint("write the code of a script or a style as text"),
                );
            }
            return self.element_into(&literal, place);
        }
        if let Some((receiver, block)) =
            collected(expression).filter(|_| !self.is_control(expression))
        {
            return self.each(receiver, block, place);
        }
        match &expression.kind {
            ExpressionKind::Text(text) | ExpressionKind::Symbol(text) => {
                self.constant_text(text, expression.span, place);
            }
            ExpressionKind::Integer(digits)
                if digits.len() <= 15 && place.context == MarkupContext::Text =>
            {
                let number = digits.parse::<i64>().unwrap_or(0);
                self.markup.push_str(&number.to_string());
            }
            ExpressionKind::Interpolated(parts) => {
                self.interpolated_into(parts, expression.span, place)
            }
            ExpressionKind::Array { class: None, elements }
                if place.context == MarkupContext::Text =>
            {
                elements.iter().for_each(|element| self.child(element, place));
            }
            ExpressionKind::Array { class: Some(class), elements }
                if class.text == "Raw"
                    && place.context == MarkupContext::Text
                    && !self.classes.contains_key("Raw")
                    && elements.iter().all(|element| constant(element).is_some()) =>
            {
                self.markup.extend(elements.iter().filter_map(constant));
            }
            ExpressionKind::Block(block)
                if block.parameters.is_empty() && implicit_parameters(block).is_empty() =>
            {
                self.flush(place);
                let writer = self.writing_block(block, place);
                let buffer = self.buffer(place);
                self.helper("K");
                let is_slot = place.context == MarkupContext::Text && !place.xml;
                let function = if is_slot { "K.live.block" } else { "K.laterMarkup" };
                let reads = if is_slot { self.reads(block) } else { String::new() };
                self.emit(format_args!("{function}({buffer},{writer}{reads}) "));
            }
            _ => {
                self.flush(place);
                if self.is_control(expression) {
                    self.control(expression, &Tail::Write(Box::new(place.clone())));
                    return;
                }
                let mark = self.mark(expression.span);
                self.code.push_str(&mark);
                let value = self.expression(expression);
                self.write_value(&value, place);
            }
        }
    }

    fn constant_text(&mut self, text: &str, span: Span, place: &MarkupTarget) {
        let closes = match place.context {
            MarkupContext::Text => return runnel_text::escape::html_into(text, &mut self.markup),
            MarkupContext::Script => "</script",
            MarkupContext::Style => "</style",
        };
        let folded = text.to_ascii_lowercase();
        let comment = place.context == MarkupContext::Script && folded.contains("<!--");
        if folded.contains(closes) || comment {
            let found = if comment { "<!--" } else { closes };
            self.error(
                Diagnostic::error(span, format!("`{found}` would end this text early"), "here")
                    .hint("write it in two pieces: `'<' , '/script'` in the code itself"),
            );
        }
        self.markup.push_str(text);
    }

    pub(crate) fn interpolated_into(
        &mut self,
        parts: &[TextPart],
        span: Span,
        place: &MarkupTarget,
    ) {
        for part in parts {
            match part {
                TextPart::Text(text) => self.constant_text(text, span, place),
                TextPart::Expression(inner) => {
                    self.flush(place);
                    let code = self.expression(inner);
                    let text = match place.context {
                        MarkupContext::Text => {
                            self.helper("str");
                            Code::call(format!("str({})", code.text))
                        }
                        _ => code,
                    };
                    self.write_value(&text, place);
                }
            }
        }
    }

    /// `list collect: { … }` as a child: each element is written where it stands.
    fn each(&mut self, receiver: &Expression, block: &Block, place: &MarkupTarget) {
        self.flush(place);
        let list = self.expression(receiver);
        let list = self.keep(list);
        let writer = self.writing_block(block, place);
        let (items, count) = (self.temporary(), self.temporary());
        let buffer = self.buffer(place);
        self.helper("K");
        self.helper("item");
        let mark = self.mark(receiver.span);
        let list = list.text;
        self.emit(format_args!("{mark}{items},{count}=K.markupItems({list}) "));
        if !self.is_leaf(block) {
            let writes = self.temporary();
            self.emit(format_args!(
                "{writes}={writer} if {items} then for i=1,{count} do \
                 {writes}({buffer},item({items},i)) end \
                 else K.collectMarkup({buffer},{list},{writes}) end "
            ));
            return;
        }
        // Without a closure: LuaJIT then compiles the loop together with what is around it.
        self.emit(format_args!("if {items} then for i=1,{count} do "));
        let one = format!("item({items},i)");
        let name = block.parameters.first().map(|parameter| parameter.name.text.as_str());
        let tail = Tail::Write(Box::new(place.clone()));
        self.in_loop(block.span, |this| {
            this.inlined(block, name.map(|name| (name, one.as_str())), &tail);
        });
        self.emit(format_args!("end else K.collectMarkup({buffer},{list},{writer}) end "));
    }

    /// Whether a block may stand twice in the code: it is short, and none of its children is a loop.
    fn is_leaf(&self, block: &Block) -> bool {
        let mut nested = false;
        runnel_syntax::walk::walk_statements(&block.statements, &mut |inner| {
            nested |= collected(inner).is_some();
        });
        !nested && block.span.end - block.span.start <= SHORT
    }
}

/// The media type of a document of XML, as Lua: `nil` for HTML.
fn media_type(literal: &ElementLiteral<'_>) -> String {
    if literal.tag.text != "xml" {
        return "nil".into();
    }
    let root = literal.children.iter().find_map(|child| match &bare(child).kind {
        ExpressionKind::Object { class, .. } => Some(class.text.as_str()),
        _ => None,
    });
    quoted(match root {
        Some("feed" | "entry") => "application/atom+xml",
        Some("rss") => "application/rss+xml",
        Some("svg") => "image/svg+xml",
        _ => "application/xml",
    })
}
