//! Attributes of element literals. What is constant is written while compiling, the rest by the
//! kernel (`pages/attribute.lua`), by the same rules.

use crate::code::MarkupTarget;
use crate::elements::element::constant;
use crate::elements::html::{self, Attribute, MarkupContext};
use crate::generator::Generator;
use crate::lua::names::quoted;
use runnel_syntax::ast::{ExpressionKind, Pair, TextPart};
use runnel_syntax::walk::bare;
use runnel_syntax::{Diagnostic, Span};

impl Generator<'_> {
    /// Writes an attribute. Answers whether its value is known only when the program runs.
    pub(crate) fn attribute(&mut self, pair: &Pair, place: &MarkupTarget) -> bool {
        let Some(key) = constant(&pair.key) else {
            self.flush(place);
            let codes = self.expressions(&[&pair.key, &pair.value]);
            self.attribute_call(&codes[0].text, &codes[1].text, pair.key.span, place);
            return true;
        };
        let Some(name) = html::attribute_name(key) else {
            self.error(
                Diagnostic::error(pair.key.span, format!("`{key}` is no name of an attribute"), "")
                    .hint("letters, digits, `-`, `:` and `.` can stand in one"),
            );
            return false;
        };
        let kind = if place.xml { Attribute::Word } else { html::attribute(&name) };
        match &bare(&pair.value).kind {
            ExpressionKind::Text(text) | ExpressionKind::Symbol(text) => {
                self.constant_attribute(&name, text, kind, pair.value.span);
            }
            ExpressionKind::Integer(digits) if kind != Attribute::Code && digits.len() <= 15 => {
                let number = digits.parse::<i64>().unwrap_or(0);
                self.markup.push_str(&format!(" {name}=\"{number}\""));
            }
            ExpressionKind::Name(word) if word == "nil" => {}
            ExpressionKind::Name(word) if word == "false" && kind != Attribute::Word => {}
            ExpressionKind::Name(word) if word == "true" && kind == Attribute::Plain => {
                self.markup.push(' ');
                self.markup.push_str(&name);
            }
            ExpressionKind::Interpolated(parts) if is_settled(parts, kind) => {
                self.markup.push_str(&format!(" {name}=\""));
                let text = MarkupTarget { context: MarkupContext::Text, ..place.clone() };
                self.interpolated_into(parts, pair.value.span, &text);
                self.markup.push('"');
            }
            _ => {
                self.flush(place);
                let value = self.expression(&pair.value);
                self.attribute_call(&quoted(&name), &value.text, pair.key.span, place);
                return true;
            }
        }
        false
    }

    fn attribute_call(&mut self, name: &str, value: &str, span: Span, place: &MarkupTarget) {
        let buffer = self.buffer(place);
        self.helper("K");
        let mark = self.mark(span);
        let function = if place.xml { "K.xmlAttribute" } else { "K.attribute" };
        self.emit(format_args!("{mark}{function}({buffer},{name},{value}) "));
    }

    fn constant_attribute(&mut self, name: &str, text: &str, kind: Attribute, span: Span) {
        let refusal = match kind {
            Attribute::Code => Some(format!("`{name}` would run a text as code")),
            Attribute::Address if html::is_dangerous(text) => {
                Some(format!("`{name}` must not be an address that runs code"))
            }
            Attribute::Animated if text.split(';').any(html::is_dangerous) => {
                Some(format!("`{name}` must not be an address that runs code"))
            }
            _ => None,
        };
        if let Some(title) = refusal {
            self.error(
                Diagnostic::error(span, title, "not marked as safe")
                    .hint("write `#Raw[ '…' ]` where that is meant"),
            );
        }
        self.markup.push_str(&format!(" {name}=\""));
        runnel_text::escape::html_into(text, &mut self.markup);
        self.markup.push('"');
    }
}

/// Whether an interpolated attribute may be written piece by piece: an address only when the program's
/// own text says what scheme it has, or that it has none.
fn is_settled(parts: &[TextPart], kind: Attribute) -> bool {
    match (kind, parts.first()) {
        (Attribute::Plain | Attribute::Word, _) => true,
        (Attribute::Address, Some(TextPart::Text(text))) => {
            text.contains([':', '/', '?', '#']) && !html::is_dangerous(text)
        }
        _ => false,
    }
}
