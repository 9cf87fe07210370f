//! What can be said about an element literal while compiling: errors, and names that are nearly known.

use crate::elements::element::{ElementLiteral, constant};
use crate::elements::html::{self, Attribute};
use crate::generator::Generator;
use runnel_syntax::{Diagnostic, Span};
use runnel_text::distance::nearest;

impl Generator<'_> {
    /// Those that write only their children have no attributes.
    pub(crate) fn refuse_attributes(&mut self, literal: &ElementLiteral<'_>) {
        if let Some(pair) = literal.pairs.first() {
            let title = format!("`#{}` has no attributes", literal.tag.text);
            self.error(
                Diagnostic::error(pair.key.span, title, "it writes only its children")
                    .hint("give them to an element inside"),
            );
        }
    }

    /// Errors and warnings about one element of HTML.
    pub(crate) fn check_element(&mut self, literal: &ElementLiteral<'_>) {
        let tag = &literal.tag.text;
        if let (true, Some(child)) = (html::is_void(tag), literal.children.first()) {
            self.error(
                Diagnostic::error(child.span, format!("`#{tag}` has no content"), "a child")
                    .hint("leave the brackets empty"),
            );
        }
        let mut seen: Vec<&str> = Vec::new();
        for pair in literal.pairs {
            let Some(key) = constant(&pair.key) else { continue };
            if seen.contains(&key) {
                self.error(
                    Diagnostic::error(pair.key.span, format!("`{key}` is given twice"), "again")
                        .hint("keep one of the two"),
                );
            }
            seen.push(key);
        }
        if !html::elements().any(|known| known == tag) {
            // Names of SVG and MathML are not known here: only what is nearly a name of HTML.
            let near = nearest(tag, html::elements()).filter(|near| {
                near.len() > 2 && runnel_text::distance::edit_distance(near, tag) == 1
            });
            if let Some(near) = near.filter(|_| !tag.contains('-') && !html::is_foreign(tag)) {
                let title = format!("there is no element `{tag}`");
                self.warn(literal.tag.span, title, near);
            }
            return;
        }
        for key in seen {
            let name = key.replace('_', "-");
            if name.contains(['-', ':', '.', '@']) || html::attributes().any(|one| one == name) {
                continue;
            }
            let near = nearest(&name, html::attributes()).filter(|near| {
                runnel_text::distance::edit_distance(near, &name) <= 2 && near.len() > 2
            });
            let span = literal.pairs.iter().find(|pair| constant(&pair.key) == Some(key));
            if let (Some(near), Some(pair)) = (near, span)
                && html::attribute(&name) == Attribute::Plain
            {
                self.warn(pair.key.span, format!("`{tag}` has no attribute `{key}`"), near);
            }
        }
    }

    fn warn(&mut self, span: Span, title: String, near: &str) {
        let warning = Diagnostic::warning(span, title, "not known");
        self.error(warning.hint(format!("did you mean `{near}`?")));
    }
}
