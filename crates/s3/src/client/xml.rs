//! The answers of S3: a few levels of elements that hold text, without attributes that count.
//!
//! Names of keys are asked for in URL encoding, so no text can look like an element.

/// The insides of the elements of a name, in order, where they do not hold others of that name.
pub(crate) fn elements<'a>(text: &'a str, name: &str) -> impl Iterator<Item = &'a str> {
    let (start, end) = (format!("<{name}"), format!("</{name}>"));
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            let at = rest.find(&start)?;
            let after = &rest[at + start.len()..];
            let close = after.find('>')?;
            rest = &after[close + 1..];
            let attributes = &after[..close];
            if !attributes.is_empty() && !attributes.starts_with([' ', '\n', '\r', '\t', '/']) {
                continue; // A longer name that begins like this one.
            }
            if attributes.ends_with('/') {
                return Some("");
            }
            let inside = rest.find(&end)?;
            let (found, next) = (&rest[..inside], &rest[inside + end.len()..]);
            rest = next;
            return Some(found);
        }
    })
}

/// The text of the first element of a name.
pub(crate) fn text(within: &str, name: &str) -> Option<String> {
    elements(within, name).next().map(unescape)
}

/// Replaces references to characters (XML 1.0, sections 4.1 and 4.6); an unknown one stays.
fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        plain.push_str(&rest[..at]);
        rest = &rest[at..];
        let known = rest.find(';').and_then(|end| Some((end, character(&rest[1..end])?)));
        let length = match known {
            Some((end, character)) => {
                plain.push(character);
                end + 1
            }
            None => {
                plain.push('&');
                1
            }
        };
        rest = &rest[length..];
    }
    plain.push_str(rest);
    plain
}

fn character(name: &str) -> Option<char> {
    Some(match name {
        "lt" => '<',
        "gt" => '>',
        "amp" => '&',
        "quot" => '"',
        "apos" => '\'',
        _ => {
            let digits = name.strip_prefix('#')?;
            let code = match digits.strip_prefix('x') {
                Some(hexadecimal) => u32::from_str_radix(hexadecimal, 16).ok()?,
                None => digits.parse().ok()?,
            };
            char::from_u32(code)?
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_found() {
        let xml = "<?xml?><R xmlns=\"x\"><KeyCount>2</KeyCount><C><Key>a</Key></C>\n\
                   <C><Key>b</Key></C><Key/><Empty /></R>";
        assert_eq!(elements(xml, "Key").collect::<Vec<_>>(), ["a", "b", ""]);
        assert_eq!(elements(xml, "C").count(), 2);
        assert_eq!(text(xml, "KeyCount").as_deref(), Some("2"));
        assert_eq!(text(xml, "Empty").as_deref(), Some(""));
        assert_eq!(text(xml, "None"), None);
        assert!(text(xml, "R").is_some());
    }

    #[test]
    fn characters_are_unescaped() {
        let xml = "<a>&lt;&amp;&gt; &#228;&#xfc; & &nope; &#xffffffff; &</a>";
        assert_eq!(text(xml, "a").as_deref(), Some("<&> äü & &nope; &#xffffffff; &"));
    }

    #[test]
    fn broken_text_has_no_elements() {
        for xml in ["", "<", "<a", "<a>", "<a>b</", "a>b</a>", "</a>", "<a/", "<aé>"] {
            assert_eq!(elements(xml, "a").count(), 0, "{xml}");
        }
    }
}
