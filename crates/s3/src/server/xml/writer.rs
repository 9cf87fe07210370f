//! Documents of answers.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// The namespace of all documents of S3.
const NAMESPACE: &str = "http://s3.amazonaws.com/doc/2006-03-01/";

/// What documents begin with.
pub(crate) const DECLARATION: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";

/// Writes elements that are always closed, and escapes text.
///
/// ```text
/// XmlWriter::document("Tagging", |xml| xml.element("TagSet", |xml| xml.text("Key", "a & b")))
/// ```
pub(crate) struct XmlWriter {
    text: String,
}

impl XmlWriter {
    /// A document in the namespace of S3.
    pub(crate) fn document(root: &str, content: impl FnOnce(&mut XmlWriter)) -> String {
        let mut xml = XmlWriter::declared();
        xml.text.push_str(&format!("<{root} xmlns=\"{NAMESPACE}\">"));
        content(&mut xml);
        xml.close(root);
        xml.text
    }

    /// A document without a namespace, as errors are.
    pub(crate) fn plain(root: &str, content: impl FnOnce(&mut XmlWriter)) -> String {
        let mut xml = XmlWriter::declared();
        xml.element(root, content);
        xml.text
    }

    fn declared() -> XmlWriter {
        XmlWriter { text: String::from(DECLARATION) }
    }

    /// An element that holds others.
    pub(crate) fn element(&mut self, name: &str, content: impl FnOnce(&mut XmlWriter)) {
        self.open(name, "");
        content(self);
        self.close(name);
    }

    /// An element with attributes, which are written as they are given.
    pub(crate) fn element_with(
        &mut self,
        name: &str,
        attributes: &str,
        content: impl FnOnce(&mut XmlWriter),
    ) {
        self.open(name, attributes);
        content(self);
        self.close(name);
    }

    /// An element that holds text.
    pub(crate) fn text(&mut self, name: &str, text: &str) {
        self.open(name, "");
        escape_into(text, &mut self.text);
        self.close(name);
    }

    /// Text within the element that is open.
    pub(crate) fn content(&mut self, text: &str) {
        escape_into(text, &mut self.text);
    }

    /// An element that holds text, where there is one.
    pub(crate) fn optional(&mut self, name: &str, text: Option<&str>) {
        if let Some(text) = text {
            self.text(name, text);
        }
    }

    /// An element that holds a number or a truth value.
    pub(crate) fn value(&mut self, name: &str, value: impl std::fmt::Display) {
        self.text(name, &value.to_string());
    }

    fn open(&mut self, name: &str, attributes: &str) {
        self.text.push('<');
        self.text.push_str(name);
        if !attributes.is_empty() {
            self.text.push(' ');
            self.text.push_str(attributes);
        }
        self.text.push('>');
    }

    fn close(&mut self, name: &str) {
        self.text.push_str("</");
        self.text.push_str(name);
        self.text.push('>');
    }
}

/// Escapes markup, and control characters by number, as S3 does: a reader that follows XML 1.0 refuses
/// some of them, which is why clients ask for names in URL encoding.
fn escape_into(text: &str, out: &mut String) {
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            '\u{0}'..'\u{20}' | '\u{7f}'..'\u{a0}' | '\u{fffe}' | '\u{ffff}' => {
                out.push_str(&format!("&#x{:x};", u32::from(character)));
            }
            _ => out.push(character),
        }
    }
}

/// Bytes that stay in a name of `encoding-type=url`.
const URL_KEEPS: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'*').remove(b'/');

/// A name as `encoding-type=url` sends it: a space is `+`, a slash stays.
pub(crate) fn url_encode(name: &str) -> String {
    let encoded = utf8_percent_encode(name, URL_KEEPS).to_string();
    encoded.replace("%20", "+")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_written() {
        let text = XmlWriter::document("R", |xml| {
            xml.text("Key", "a<b>&\"c'\r\u{1}ä");
            xml.optional("None", None);
            xml.element("L", |xml| xml.value("N", 7));
            xml.element_with("G", "a=\"b\"", |_| {});
        });
        let expected = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
            <R xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">\
            <Key>a&lt;b&gt;&amp;&quot;c&apos;&#xd;&#x1;ä</Key><L><N>7</N></L><G a=\"b\"></G></R>";
        assert_eq!(text, expected);
    }

    #[test]
    fn names_are_encoded() {
        assert_eq!(url_encode("a b/c+d~ä\u{1}*"), "a+b/c%2Bd%7E%C3%A4%01*");
    }
}
