//! Escaping of text for HTML and XML, in elements and in quoted attributes.

/// Text as it stands in HTML: `& < > " '` become character references (HTML Living Standard,
/// section 13.3). The result is also valid in XML.
pub fn html(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    html_into(text, &mut escaped);
    escaped
}

/// Appends text as [`html`] escapes it.
pub fn html_into(text: &str, out: &mut String) {
    let mut unescaped = 0;
    for (at, byte) in text.bytes().enumerate() {
        let reference = match byte {
            b'&' => "&amp;",
            b'<' => "&lt;",
            b'>' => "&gt;",
            b'"' => "&quot;",
            b'\'' => "&#39;",
            _ => continue,
        };
        out.push_str(&text[unescaped..at]);
        out.push_str(reference);
        unescaped = at + 1;
    }
    out.push_str(&text[unescaped..]);
}

/// Text as it stands in XML 1.0: escaped as in HTML. Control characters, which XML cannot hold, are
/// dropped; a tab and the end of a line become a space.
pub fn xml(text: &str) -> String {
    if !text.contains(|letter: char| letter.is_control() || is_noncharacter(letter)) {
        return html(text);
    }
    let held = text.chars().filter_map(|letter| match letter {
        '\t' | '\n' => Some(' '),
        letter if letter.is_control() || is_noncharacter(letter) => None,
        letter => Some(letter),
    });
    html(&held.collect::<String>())
}

fn is_noncharacter(letter: char) -> bool {
    matches!(letter, '\u{fffe}' | '\u{ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_escaped() {
        assert_eq!(
            html("<a b=\"c\" d='e'>é & f</a>"),
            "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;é &amp; f&lt;/a&gt;"
        );
        assert_eq!(html(""), "");
        let mut page = String::from("<p>");
        html_into("x<y", &mut page);
        assert_eq!(page, "<p>x&lt;y");
    }

    #[test]
    fn xml_drops_what_it_cannot_hold() {
        assert_eq!(xml("a\u{0}\u{1b}b\u{ffff}\tc\nd<"), "ab c d&lt;");
        assert_eq!(xml("Tom & Jerry"), "Tom &amp; Jerry");
    }
}
