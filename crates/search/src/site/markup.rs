//! Text in HTML.

use std::borrow::Cow;

/// A text in which U+FFFD stands for control characters that HTML does not allow.
pub(crate) fn without_controls(text: &str) -> Cow<'_, str> {
    let odd = |character: char| character.is_control() && !matches!(character, '\n' | '\t' | '\r');
    match text.contains(odd) {
        true => text.replace(odd, "\u{fffd}").into(),
        false => text.into(),
    }
}

/// Appends text so that it is text in an element and in an attribute with double quotes. Control
/// characters that HTML does not allow become U+FFFD.
pub(crate) fn write(text: &str, out: &mut String) {
    for character in without_controls(text).chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            _ => out.push(character),
        }
    }
}

/// The text, escaped.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    write(text, &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn nothing_becomes_markup() {
        assert_eq!(
            escaped("<b a=\"x\" c='y'>&\u{0}\u{1b}\n\u{e9}"),
            "&lt;b a=&quot;x&quot; c=&#39;y&#39;&gt;&amp;\u{fffd}\u{fffd}\n\u{e9}"
        );
    }
}
