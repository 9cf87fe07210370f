//! Live parts of elements: references and blocks as children and attributes, events, fields that
//! write what they show. The kernel's room `live/` follows them.

use crate::code::MarkupTarget;
use crate::elements::element::{ElementLiteral, constant};
use crate::elements::html;
use crate::generator::Generator;
use crate::lua::names::quoted;
use runnel_syntax::ast::{Block, Expression, ExpressionKind, Pair};
use runnel_syntax::walk::{bare, walk_deep};
use std::collections::BTreeSet;

/// Schemes whose references say nothing that changes while a page is shown.
const SETTLED: &str = "var default this self class query header cookie form body response env";

/// Elements whose users change a value.
const FIELDS: [&str; 3] = ["input", "select", "textarea"];

impl Generator<'_> {
    /// An element of HTML, which may have live parts.
    pub(crate) fn html_element(
        &mut self,
        literal: &ElementLiteral<'_>,
        place: &MarkupTarget,
        inner: &MarkupTarget,
    ) {
        let tag = literal.tag.text.as_str();
        let mut may_live = false;
        for pair in literal.pairs {
            may_live |= self.html_attribute(literal, pair, place);
        }
        let text = self.text_slot(literal, place);
        if may_live || text.is_some() {
            let own = ["name", "form", "type", "method"].iter().any(|name| gives(literal, name));
            let plain = matches!(tag, "button" | "form") && !own;
            let tag = if plain { format!(",{}", quoted(tag)) } else { String::new() };
            self.live_call("endAttributes", &tag, place);
        }
        if is_inline_code(literal) {
            self.live_call("nonce", "", place);
        }
        self.markup.push('>');
        if html::is_void(tag) {
            return;
        }
        let is_form = tag == "form" && gives(literal, "submit");
        if is_form {
            self.live_call("beginForm", "", place);
        }
        match text {
            Some(value) => {
                self.live_call("slotText", &format!(",{value}"), place);
                self.end_tag(literal);
            }
            None => self.children_and_end(literal, inner),
        }
        if is_form {
            self.live_call("endForm", "", place);
        }
    }

    /// Answers whether the attribute may be live.
    fn html_attribute(
        &mut self,
        literal: &ElementLiteral<'_>,
        pair: &Pair,
        place: &MarkupTarget,
    ) -> bool {
        let tag = literal.tag.text.as_str();
        match constant(&pair.key) {
            Some("key") => {
                self.flush(place);
                let value = self.expression(&pair.value);
                self.live_call("itemKey", &format!(",{}", value.text), place);
                false
            }
            Some("value") if tag == "textarea" => false,
            Some(name @ ("value" | "checked"))
                if FIELDS.contains(&tag) && !is_constant(&pair.value) =>
            {
                let fixed = is_fixed(literal);
                let kind = match attribute(literal, "type") {
                    Some("number" | "range") => "number",
                    _ => "text",
                };
                let named = gives(literal, "name") || gives(literal, "form");
                self.flush(place);
                let value = self.expression(&pair.value);
                let name = quoted(name);
                let rest = format!(",{name},{},\"{kind}\",{},{named}", value.text, !fixed);
                self.live_call("field", &rest, place);
                true
            }
            _ => self.attribute(pair, place),
        }
    }

    /// The value of a title or a text area where it may be live: comments cannot stand there.
    fn text_slot(&mut self, literal: &ElementLiteral<'_>, place: &MarkupTarget) -> Option<String> {
        let tag = literal.tag.text.as_str();
        let given = literal.pairs.iter().find(|pair| constant(&pair.key) == Some("value"));
        let (value, is_field) = match (tag, given, literal.children) {
            ("textarea", Some(pair), _) => (&pair.value, true),
            ("title" | "textarea", None, [child]) => (child, false),
            _ => return None,
        };
        let is_markup = self.is_element(value) || self.is_control(value);
        if !is_field && (is_constant(value) || is_markup) {
            return None;
        }
        self.flush(place);
        let fixed = is_fixed(literal);
        let value = self.expression(value);
        let value = self.keep(value).text;
        let rest = match is_field {
            true => format!(",{value},{},{}", !fixed, gives(literal, "name")),
            false => format!(",{value}"),
        };
        self.live_call("textSlot", &rest, place);
        Some(value)
    }

    /// Calls a function of the kernel with the buffer.
    pub(crate) fn live_call(&mut self, function: &str, rest: &str, place: &MarkupTarget) {
        self.flush(place);
        let buffer = self.buffer(place);
        self.helper("K");
        self.emit(format_args!("K.live.{function}({buffer}{rest}) "));
    }

    /// What a block among the children reads, as further arguments: the script's variables, and whether
    /// it reads stores.
    pub(crate) fn reads(&mut self, block: &Block) -> String {
        let (mut names, mut stores) = (BTreeSet::new(), false);
        walk_deep(&block.statements, &mut |inner| match &inner.kind {
            ExpressionKind::Name(name) => {
                names.insert(name.clone());
            }
            ExpressionKind::Reference(path) | ExpressionKind::ReferenceTo(path) => {
                let scheme = path.scheme.as_ref().map_or("var", |word| word.text.as_str());
                stores |= !SETTLED.split(' ').any(|settled| settled == scheme);
            }
            _ => {}
        });
        let of_script = |name: &String| self.find(name).is_some_and(|one| one.owner.is_none());
        let names: Vec<String> = names.into_iter().filter(of_script).collect();
        match (names.is_empty(), stores) {
            (true, false) => String::new(),
            (true, true) => ",nil,true".into(),
            (false, _) => format!(",{},{stores}", quoted(&names.join(" "))),
        }
    }
}

fn is_constant(value: &Expression) -> bool {
    constant(value).is_some()
        || match &bare(value).kind {
            ExpressionKind::Integer(_) | ExpressionKind::Interpolated(_) => true,
            ExpressionKind::Name(word) => matches!(word.as_str(), "nil" | "true" | "false"),
            _ => false,
        }
}

fn attribute<'a>(literal: &ElementLiteral<'a>, name: &str) -> Option<&'a str> {
    let pair = literal.pairs.iter().find(|pair| constant(&pair.key) == Some(name))?;
    constant(&pair.value)
}

/// Whether an element is code in the page itself, which a content security policy only allows with the
/// nonce of the answer.
fn is_inline_code(literal: &ElementLiteral<'_>) -> bool {
    let is_inline = match literal.tag.text.as_str() {
        "style" => true,
        "script" => !gives(literal, "src"),
        _ => false,
    };
    is_inline && !gives(literal, "nonce")
}

/// Whether a field is never written. Where a value decides, the rules ask it at each event (live/rules.lua).
fn is_fixed(literal: &ElementLiteral<'_>) -> bool {
    let is_on = |pair: &&Pair| {
        matches!(constant(&pair.key), Some("readonly" | "disabled"))
            && (constant(&pair.value).is_some()
                || matches!(&bare(&pair.value).kind, ExpressionKind::Name(word) if word == "true"))
    };
    literal.pairs.iter().any(|pair| is_on(&pair))
}

fn gives(literal: &ElementLiteral<'_>, name: &str) -> bool {
    literal.pairs.iter().any(|pair| constant(&pair.key) == Some(name))
}
