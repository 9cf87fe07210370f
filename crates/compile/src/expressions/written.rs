//! Text that becomes code at its receiver: SQL, a command, markup. Only the compiler knows that a text was
//! written in the program, so it marks that in an argument after those of the message: `K.written` for a
//! literal, the pieces and values of `"… {x} …"`. A receiver that makes code of the text refuses it without;
//! every other receiver gets the joined text and ignores the rest. No program can name either.

use crate::code::Code;
use crate::generator::Generator;
use crate::lua::names::{self, quoted};
use runnel_syntax::Diagnostic;
use runnel_syntax::ast::{Expression, ExpressionKind, TextPart, Word};
use runnel_syntax::walk::bare;

/// Messages whose first argument a class of the kernel makes code of (`text/written.lua`).
pub(crate) const SELECTORS: [&str; 8] = [
    "run:",
    "run:with:",
    "run:as:",
    "run:with:as:",
    "query:",
    "exec:",
    "raw:",
    "evaluateScriptString:",
];

/// Whether a message may make code of its first argument.
pub(crate) fn takes_code(receiver: &Expression, selector: &str) -> bool {
    SELECTORS.contains(&selector)
        || selector == "text:"
            && matches!(&bare(receiver).kind, ExpressionKind::Name(name) if is_raw(name))
}

pub(crate) fn is_raw(name: &str) -> bool {
    matches!(name, "Raw" | "RawText")
}

/// One piece of a text with values, in the order of evaluation.
enum WrittenPiece<'a> {
    Text(&'a str),
    /// A text of the command itself, or a number that the program has written.
    Trusted(&'a Expression),
    Value(&'a Expression),
}

fn pieces_of<'a>(expression: &'a Expression, pieces: &mut Vec<WrittenPiece<'a>>) -> bool {
    let expression = bare(expression);
    match &expression.kind {
        ExpressionKind::Text(text) | ExpressionKind::Symbol(text) => {
            pieces.push(WrittenPiece::Text(text))
        }
        ExpressionKind::Interpolated(parts) => pieces.extend(parts.iter().map(|part| match part {
            TextPart::Text(text) => WrittenPiece::Text(text),
            TextPart::Expression(inner) => WrittenPiece::Value(inner),
        })),
        ExpressionKind::Integer(_) => pieces.push(WrittenPiece::Trusted(expression)),
        ExpressionKind::Reference(path)
            if path.scheme.as_ref().is_some_and(|scheme| scheme.text == "std") =>
        {
            pieces.push(WrittenPiece::Trusted(expression));
        }
        _ => return false,
    }
    true
}

impl Generator<'_> {
    /// The call of a message whose first argument is `"… {x} …"`; nil where it is not.
    pub(super) fn send_filled(
        &mut self,
        receiver: &Code,
        parts: &[(Word, Expression)],
        arguments: &[&Expression],
    ) -> Option<Code> {
        let (first, rest) = arguments.split_first()?;
        let ExpressionKind::Interpolated(_) = &bare(first).kind else { return None };
        let mut pieces = Vec::new();
        pieces_of(first, &mut pieces);
        let (filled, rest, mut codes) = self.filled(&pieces, rest);
        let rest: String = rest.iter().map(|code| format!(",{code}")).collect();
        let count = arguments.len() - 1;
        let mark = parts.first().map_or(String::new(), |(word, _)| self.mark(word.span));
        let name = names::keyword(parts.iter().map(|(word, _)| word.text.as_str()));
        let text = format!(
            "{mark}K.sendFilled({},{},{filled},{count}{rest})",
            receiver.text,
            quoted(&name)
        );
        codes.push(receiver.clone());
        Some(Code::call(text).with_arguments(&codes))
    }

    /// `#Raw[ … ]`: what is written is markup, what stands in `{…}` is escaped.
    pub(super) fn raw(&mut self, class: &Word, elements: &[Expression]) -> Code {
        let mut pieces = Vec::new();
        for element in elements {
            if !pieces_of(element, &mut pieces) {
                self.error(
                    Diagnostic::error(
                        element.span,
                        "`#Raw[ ]` takes markup written here; its `{x}` are escaped",
                        "computed",
                    )
                    .hint(
                        "write the element as a literal, or `#Raw{ computed: text }` where the program made the markup",
                    ),
                );
            }
        }
        let mark = self.mark(class.span);
        let (filled, _, codes) = self.filled(&pieces, &[]);
        Code::call(format!("{mark}K.rawOf({filled})")).with_arguments(&codes)
    }

    /// `K.filled(n, text, value, text …)`, and the values behind it.
    fn filled(
        &mut self,
        pieces: &[WrittenPiece<'_>],
        rest: &[&Expression],
    ) -> (String, Vec<String>, Vec<Code>) {
        let list: Vec<&Expression> = pieces
            .iter()
            .filter_map(|piece| match piece {
                WrittenPiece::Text(_) => None,
                WrittenPiece::Trusted(expression) | WrittenPiece::Value(expression) => {
                    Some(*expression)
                }
            })
            .chain(rest.iter().copied())
            .collect();
        let codes = self.expressions(&list);
        let mut values = codes.iter().map(|code| code.text.clone());
        let mut parts = Vec::new();
        let mut text: Vec<String> = Vec::new();
        for piece in pieces {
            match piece {
                WrittenPiece::Text(written) => text.push(quoted(written)),
                WrittenPiece::Trusted(_) => {
                    text.extend(values.next().map(|value| format!("K.str({value})")));
                }
                WrittenPiece::Value(_) => {
                    parts.push(together(&mut text));
                    parts.extend(values.next());
                }
            }
        }
        parts.push(together(&mut text));
        self.helper("K");
        let filled = format!("K.filled({},{})", parts.len(), parts.join(","));
        (filled, values.collect(), codes)
    }
}

fn together(text: &mut Vec<String>) -> String {
    if text.is_empty() { "\"\"".to_owned() } else { std::mem::take(text).join("..") }
}
