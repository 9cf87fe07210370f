//! XML text to a tree. Declarations of documents (DTD) are refused, so that no entity expands.

use crate::isolate::Isolate;
use crate::natives::call::{Arguments, Given, Native, Reply, attempt};
use quick_xml::Reader;
use quick_xml::XmlVersion;
use quick_xml::events::{BytesStart, Event};
use runnel_store::{DATA_POOL, Error, Kind, Result, Value};

pub(crate) const NATIVES: [(&str, Native); 1] = [("parseXML", parse_xml)];

/// Elements within each other.
const DEEPEST: usize = 128;
/// Bytes of a document.
const LONGEST: usize = 64 * 1024 * 1024;
/// Bytes that are parsed at once, rather than on a thread.
const AT_ONCE: usize = 64 * 1024;

/// `(text)`: the root as a list: its name, a list of names and values of attributes in turn, and its
/// children, each a text or such a list.
fn parse_xml(_: &Isolate, arguments: Arguments) -> Reply {
    let text = arguments.text(1);
    if text.len() > LONGEST {
        return Reply::Failed(Error::new(Kind::TooLarge, "an XML document has at most 64 MiB"));
    }
    if text.len() <= AT_ONCE {
        return Reply::Now(Given::Value(attempt!(tree(&text))));
    }
    Reply::later(async move { DATA_POOL.attempt(move || tree(&text)).await.map(Given::Value) })
}

/// An element that is not closed yet.
struct Open {
    name: String,
    attributes: Vec<Value>,
    children: Vec<Value>,
}

impl Open {
    fn value(self) -> Value {
        let Open { name, attributes, mut children } = self;
        let mut list = vec![Value::Text(name), Value::List(attributes)];
        list.append(&mut children);
        Value::List(list)
    }

    fn text(&mut self, more: &str) {
        match self.children.last_mut() {
            Some(Value::Text(text)) => text.push_str(more),
            _ => self.children.push(Value::Text(more.into())),
        }
    }
}

fn fault(text: &str, at: u64, problem: &str) -> Error {
    let before = text.as_bytes().get(..at as usize).unwrap_or_default();
    let line = memchr::memchr_iter(b'\n', before).count() + 1;
    Error::new(Kind::Invalid, format!("XML, line {line}: {problem}"))
}

fn tree(text: &str) -> Result<Value> {
    let mut reader = Reader::from_str(text);
    let mut open: Vec<Open> = Vec::new();
    let mut root: Option<Value> = None;
    loop {
        let event = reader.read_event();
        let at = reader.buffer_position();
        let wrong = |problem: &str| fault(text, at, problem);
        let event = event
            .map_err(|error| fault(text, reader.error_position(), &plain(&error.to_string())))?;
        let closed = match event {
            Event::Start(start) => {
                if root.is_some() {
                    return Err(wrong("a second root element"));
                }
                if open.len() >= DEEPEST {
                    return Err(wrong("elements are nested more than 128 deep"));
                }
                open.push(begun(&start).map_err(|problem| wrong(&problem))?);
                None
            }
            Event::Empty(start) => {
                if root.is_some() {
                    return Err(wrong("a second root element"));
                }
                Some(begun(&start).map_err(|problem| wrong(&problem))?)
            }
            Event::End(_) => open.pop(),
            Event::Text(part) => {
                let part = part.decode().map_err(|_| wrong("the text is not UTF-8"))?;
                add(&mut open, &part).map_err(wrong)?;
                None
            }
            Event::CData(part) => {
                let part = part.decode().map_err(|_| wrong("the text is not UTF-8"))?;
                add(&mut open, &part).map_err(wrong)?;
                None
            }
            Event::GeneralRef(reference) => {
                let name = reference.decode().map_err(|_| wrong("the text is not UTF-8"))?;
                let character = match reference.resolve_char_ref() {
                    Ok(Some(character)) => character.to_string(),
                    _ => predefined(&name)
                        .ok_or_else(|| wrong(&format!("the entity &{name}; is not known")))?
                        .to_string(),
                };
                add(&mut open, &character).map_err(wrong)?;
                None
            }
            Event::DocType(_) => {
                return Err(wrong("a document type declaration (DTD) is not allowed"));
            }
            Event::Decl(_) | Event::PI(_) | Event::Comment(_) => None,
            Event::Eof if open.is_empty() => {
                return root.ok_or_else(|| wrong("there is no element"));
            }
            Event::Eof => {
                let name = open.pop().map(|one| one.name).unwrap_or_default();
                return Err(wrong(&format!("the element {name} is not closed")));
            }
        };
        if let Some(element) = closed {
            match open.last_mut() {
                Some(parent) => parent.children.push(element.value()),
                None => root = Some(element.value()),
            }
        }
    }
}

/// The first sentence of the parser's message, in small letters.
fn plain(message: &str) -> String {
    let message = message.strip_prefix("syntax error: ").unwrap_or(message);
    message.strip_prefix("ill-formed document: ").unwrap_or(message).to_string()
}

fn add(open: &mut [Open], text: &str) -> std::result::Result<(), &'static str> {
    match open.last_mut() {
        Some(element) => element.text(text),
        None if text.trim().is_empty() => {}
        None => return Err("text outside of the root element"),
    }
    Ok(())
}

fn predefined(name: &str) -> Option<&'static str> {
    Some(match name {
        "lt" => "<",
        "gt" => ">",
        "amp" => "&",
        "quot" => "\"",
        "apos" => "'",
        _ => return None,
    })
}

fn begun(start: &BytesStart<'_>) -> std::result::Result<Open, String> {
    let utf8 = |bytes: &[u8]| {
        std::str::from_utf8(bytes)
            .map(str::to_string)
            .map_err(|_| "a name is not UTF-8".to_string())
    };
    let mut attributes = Vec::new();
    for attribute in start.attributes() {
        let attribute = attribute.map_err(|error| error.to_string())?;
        let value = attribute
            .normalized_value(XmlVersion::Implicit1_0)
            .map_err(|error| error.to_string())?;
        attributes.push(Value::Text(utf8(attribute.key.as_ref())?));
        attributes.push(Value::Text(value.into_owned()));
    }
    Ok(Open { name: utf8(start.name().as_ref())?, attributes, children: Vec::new() })
}
