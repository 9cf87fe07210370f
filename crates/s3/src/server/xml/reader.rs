//! Bytes to a tree of elements, within limits.
//!
//! A document type is refused, so there are no entities but the five of XML and characters by number.

use super::element::Element;
use crate::server::fault::{FaultCode, S3Fault, S3Result};
use quick_xml::Reader;
use quick_xml::XmlVersion::Implicit1_0 as VERSION;
use quick_xml::events::{BytesRef, BytesStart, Event};

/// The longest document that the service reads, in bytes: a list of 10,000 parts with checksums has
/// 2.5 MB.
const DOCUMENT_SIZE: usize = 4 << 20;

/// The text of all elements and attributes together, in bytes: 1,000 keys of 1,024 bytes to delete,
/// with their versions.
const TEXT_SIZE: usize = 2 << 20;

/// A list of 10,000 parts has 90,000 elements where each has a checksum of every kind.
const ELEMENTS: usize = 100_000;

/// The deepest document of S3 has 6 levels.
const DEPTH: usize = 16;

/// Attributes of one element.
const ATTRIBUTES: usize = 16;

/// The root element of a document in UTF-8.
pub(crate) fn read(document: &[u8]) -> S3Result<Element> {
    read_tree(document).ok_or_else(|| S3Fault::new(FaultCode::MalformedXML))
}

fn read_tree(document: &[u8]) -> Option<Element> {
    if document.len() > DOCUMENT_SIZE {
        return None;
    }
    // No text can hold it, not even escaped: what is kept could not be read again.
    if document.contains(&0) {
        return None;
    }
    let text = std::str::from_utf8(document).ok()?;
    let mut reader = Reader::from_str(text);
    reader.config_mut().enable_all_checks(true);
    let mut tree = TreeBuilder::default();
    loop {
        match reader.read_event().ok()? {
            Event::Start(start) => tree.open(&start)?,
            Event::Empty(start) => {
                tree.open(&start)?;
                tree.close()?;
            }
            Event::End(_) => tree.close()?,
            Event::Text(text) => tree.push_text(&text.xml10_content().ok()?)?,
            Event::CData(text) => tree.push_text(&text.xml10_content().ok()?)?,
            Event::GeneralRef(reference) => tree.push_character(&reference)?,
            Event::Decl(_) | Event::Comment(_) | Event::PI(_) => {}
            Event::DocType(_) => return None,
            Event::Eof => return tree.finish(),
        }
    }
}

/// The elements that are open, and what the document used of the limits.
#[derive(Default)]
struct TreeBuilder {
    open: Vec<Element>,
    root: Option<Element>,
    elements: usize,
    text: usize,
}

impl TreeBuilder {
    fn open(&mut self, start: &BytesStart<'_>) -> Option<()> {
        self.elements += 1;
        if self.elements > ELEMENTS || self.open.len() >= DEPTH || self.root.is_some() {
            return None;
        }
        let name: Box<str> = std::str::from_utf8(start.local_name().into_inner()).ok()?.into();
        self.count_text(name.len())?;
        let mut element = Element { name, ..Element::default() };
        for attribute in start.attributes() {
            let attribute = attribute.ok()?;
            if attribute.key.as_namespace_binding().is_some() {
                continue;
            }
            let name = std::str::from_utf8(attribute.key.local_name().into_inner()).ok()?;
            let value = attribute.normalized_value(VERSION).ok()?;
            self.count_text(name.len() + value.len())?;
            if element.attributes.len() == ATTRIBUTES {
                return None;
            }
            element.attributes.push((name.into(), value.into()));
        }
        self.open.push(element);
        Some(())
    }

    fn close(&mut self) -> Option<()> {
        let mut element = self.open.pop()?;
        if !element.children.is_empty() && element.text.trim().is_empty() {
            element.text = String::new();
        }
        element.text.shrink_to_fit();
        match self.open.last_mut() {
            Some(parent) => parent.children.push(element),
            None => self.root = Some(element),
        }
        Some(())
    }

    fn push_text(&mut self, text: &str) -> Option<()> {
        self.count_text(text.len())?;
        match self.open.last_mut() {
            Some(element) => element.text.push_str(text),
            // Around the root there is white space only, and the mark of the byte order.
            None if text.trim_matches(['\u{feff}', ' ', '\n', '\r', '\t']).is_empty() => {}
            None => return None,
        }
        Some(())
    }

    fn push_character(&mut self, reference: &BytesRef<'_>) -> Option<()> {
        let character = match reference.resolve_char_ref().ok()? {
            Some(character) => character,
            None => match &**reference {
                b"lt" => '<',
                b"gt" => '>',
                b"amp" => '&',
                b"quot" => '"',
                b"apos" => '\'',
                _ => return None,
            },
        };
        self.count_text(character.len_utf8())?;
        self.open.last_mut()?.text.push(character);
        Some(())
    }

    fn count_text(&mut self, bytes: usize) -> Option<()> {
        self.text += bytes;
        (self.text <= TEXT_SIZE).then_some(())
    }

    fn finish(self) -> Option<Element> {
        if self.open.is_empty() { self.root } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::xml::XmlWriter;

    #[test]
    fn a_tree_is_read() {
        let root = read(
            b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<a:T xmlns:a=\"x\" xmlns=\"y\">\n \
              <Key>a&amp;b&#x41;&#66;<![CDATA[<c>]]></Key><Empty/>\n<G xsi:type='U&lt;'>1</G></a:T>\n",
        )
        .unwrap();
        assert_eq!(&*root.name, "T");
        assert_eq!(root.text, "");
        assert_eq!(root.text_of("Key"), Some("a&bAB<c>"));
        assert_eq!(root.text_of("Empty"), Some(""));
        assert_eq!(root.child("G").and_then(|g| g.attribute("type")), Some("U<"));
        assert_eq!(root.all("Key").count(), 1);
        assert!(root.attributes.is_empty());
    }

    #[test]
    fn every_text_that_is_written_is_read() {
        let all: String = (1..=0xffff).filter_map(char::from_u32).collect();
        let text = XmlWriter::plain("a", |xml| xml.text("b", &all));
        assert_eq!(read(text.as_bytes()).unwrap().text_of("b"), Some(all.as_str()));
    }

    #[test]
    fn a_malformed_document_is_refused() {
        for document in [
            "",
            " ",
            "<",
            "<a>",
            "<a></b>",
            "a",
            "<a/>x",
            "x<a/>",
            "<a/><b/>",
            "<a>&nope;</a>",
            "<!DOCTYPE a><a/>",
            "<a b></a>",
            "<a>&#x0;</a>",
            "<a>&#xffffffffff;</a>",
            "<a>&</a>",
            "<a b='1' b='2'/>",
        ] {
            assert_eq!(
                read(document.as_bytes()).unwrap_err().code,
                FaultCode::MalformedXML,
                "{document}"
            );
        }
        assert!(read(b"<a>\xff</a>").is_err());
        assert!(read(b"<a>\0</a>").is_err());
    }

    #[test]
    fn a_document_beyond_its_limits_is_refused() {
        let deep = |depth: usize| "<a>".repeat(depth) + &"</a>".repeat(depth);
        assert!(read(deep(DEPTH).as_bytes()).is_ok());
        assert!(read(deep(DEPTH + 1).as_bytes()).is_err());
        let many = |count: usize| format!("<a>{}</a>", "<b/>".repeat(count));
        assert!(read(many(ELEMENTS - 1).as_bytes()).is_ok());
        assert!(read(many(ELEMENTS).as_bytes()).is_err());
        assert!(read(format!("<a>{}</a>", "x".repeat(DOCUMENT_SIZE)).as_bytes()).is_err());
    }
}
