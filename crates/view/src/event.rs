//! Messages that a client sends: the start of a connection, and events of its view.
//!
//! Clients are not trusted: size, depth, addresses and types are checked here, and everything else is
//! an error that names the problem. Whether the slot exists, and whether it has such an event, the view
//! checks.

use serde_json::Value;
use std::fmt;

/// Bytes of a message.
pub const MAX_MESSAGE: usize = 64 * 1024;

/// Nested lists and objects in the value of an event.
pub const MAX_DEPTH: usize = 4;

/// Entries of all lists and objects in the value of an event.
pub const MAX_ENTRIES: usize = 2000;

/// Bytes of a slot's address.
pub const MAX_ADDRESS: usize = 64;

/// Bytes of the type of an event.
pub const MAX_TYPE: usize = 16;

/// Bytes of a view's token, and of a fingerprint.
pub const MAX_TOKEN: usize = 128;

/// The largest number that a client counts to: the integers that a double holds.
const MAX_NUMBER: u64 = (1 << 53) - 1;

/// A message of a client.
#[derive(Clone, Debug, PartialEq)]
pub enum ClientMessage {
    /// The first message of a connection.
    Hello(Hello),
    /// Something happened in the view.
    Event(ViewEvent),
    /// The window is shown (native host).
    Shown,
    /// A window was closed (native host).
    Closed(u64),
}

/// The first message of a connection: `["hello", view, seq, fingerprint]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// The token of the view that the client shows; none for a page without one.
    pub view: Option<String>,
    /// The last frame that the client has applied.
    pub seq: u64,
    /// The fingerprint of the page that the client shows.
    pub fingerprint: String,
}

/// An event of a view: `[n, slot, type, value]`.
#[derive(Clone, Debug, PartialEq)]
pub struct ViewEvent {
    /// Its number: 1, 2, 3 within a view.
    pub n: u64,
    /// The address of its slot: numbers joined by dots; empty for the view itself.
    pub slot: String,
    /// Its type: lower-case letters, such as `click`.
    pub kind: String,
    /// What it carries.
    pub value: EventValue,
}

/// The value of an event.
#[derive(Clone, Debug, PartialEq)]
pub enum EventValue {
    /// Nothing.
    Null,
    /// The state of a checkbox.
    Flag(bool),
    /// A number.
    Number(f64),
    /// The text of a field.
    Text(String),
    /// Several values, such as a point.
    List(Vec<EventValue>),
    /// The fields of a form, in order; a later field replaces one of its name.
    Fields(Vec<(String, EventValue)>),
}

/// Why a message is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventError {
    /// It is longer than [`MAX_MESSAGE`].
    TooLong(usize),
    /// It is no JSON.
    Malformed(String),
    /// It is none of the messages of a client.
    Unknown,
    /// A part is missing or has another type: which one.
    Invalid(&'static str),
    /// Its value is nested deeper than [`MAX_DEPTH`].
    TooDeep,
    /// Its value has more than [`MAX_ENTRIES`] entries.
    TooMany,
}

impl fmt::Display for EventError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EventError::TooLong(bytes) => {
                write!(out, "message: {bytes} bytes, the limit is {MAX_MESSAGE}")
            }
            EventError::Malformed(reason) => write!(out, "message: invalid JSON: {reason}"),
            EventError::Unknown => {
                out.write_str("message: expected [\"hello\", …] or [n, slot, type, value]")
            }
            EventError::Invalid(part) => write!(out, "message: {part} is missing or invalid"),
            EventError::TooDeep => {
                write!(out, "message: its value is nested deeper than {MAX_DEPTH}")
            }
            EventError::TooMany => {
                write!(out, "message: its value has more than {MAX_ENTRIES} entries")
            }
        }
    }
}

impl std::error::Error for EventError {}

impl ClientMessage {
    /// Parses a message.
    ///
    /// ```
    /// # use runnel_view::event::{ClientMessage, EventValue};
    /// let message = ClientMessage::parse(br#"[1,"3.7","input","hello"]"#).unwrap();
    /// let ClientMessage::Event(event) = message else { panic!() };
    /// assert_eq!((event.n, &*event.slot, &*event.kind), (1, "3.7", "input"));
    /// assert_eq!(event.value, EventValue::Text("hello".into()));
    /// ```
    pub fn parse(text: &[u8]) -> Result<ClientMessage, EventError> {
        if text.len() > MAX_MESSAGE {
            return Err(EventError::TooLong(text.len()));
        }
        let malformed = |error: serde_json::Error| EventError::Malformed(error.to_string());
        let parts: Vec<Value> = serde_json::from_slice(text).map_err(malformed)?;
        let mut parts = parts.into_iter();
        match parts.next() {
            Some(Value::String(kind)) => ClientMessage::named(&kind, parts),
            Some(Value::Number(n)) => {
                let n = n.as_u64().filter(|n| (1..=MAX_NUMBER).contains(n));
                let n = n.ok_or(EventError::Invalid("n"))?;
                Ok(ClientMessage::Event(ViewEvent::from_parts(n, parts)?))
            }
            _ => Err(EventError::Unknown),
        }
    }

    fn named(
        kind: &str,
        mut parts: impl Iterator<Item = Value>,
    ) -> Result<ClientMessage, EventError> {
        match kind {
            "hello" => Ok(ClientMessage::Hello(Hello {
                view: match parts.next() {
                    None | Some(Value::Null) => None,
                    Some(Value::String(view)) if is_token(&view) => Some(view),
                    Some(_) => return Err(EventError::Invalid("view")),
                },
                seq: number(parts.next()).ok_or(EventError::Invalid("seq"))?,
                fingerprint: match parts.next() {
                    None | Some(Value::Null) => String::new(),
                    Some(Value::String(text)) if is_token(&text) => text,
                    Some(_) => return Err(EventError::Invalid("fingerprint")),
                },
            })),
            "shown" => Ok(ClientMessage::Shown),
            "closed" => {
                let id = number(parts.next()).ok_or(EventError::Invalid("id"))?;
                Ok(ClientMessage::Closed(id))
            }
            _ => Err(EventError::Unknown),
        }
    }
}

impl ViewEvent {
    fn from_parts(n: u64, mut parts: impl Iterator<Item = Value>) -> Result<ViewEvent, EventError> {
        let slot = match parts.next() {
            Some(Value::String(slot)) if is_address(&slot) => slot,
            _ => return Err(EventError::Invalid("slot")),
        };
        let kind = match parts.next() {
            Some(Value::String(kind)) if is_type(&kind) => kind,
            _ => return Err(EventError::Invalid("type")),
        };
        let mut entries = MAX_ENTRIES;
        let value = value(parts.next().unwrap_or(Value::Null), 0, &mut entries)?;
        Ok(ViewEvent { n, slot, kind, value })
    }
}

fn number(part: Option<Value>) -> Option<u64> {
    part?.as_u64().filter(|number| *number <= MAX_NUMBER)
}

fn is_token(text: &str) -> bool {
    text.len() <= MAX_TOKEN && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Whether a text is the address of a slot: numbers joined by dots, or empty.
pub fn is_address(text: &str) -> bool {
    text.is_empty()
        || text.len() <= MAX_ADDRESS
            && text.split('.').all(|part| {
                (1..=10).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
            })
}

fn is_type(text: &str) -> bool {
    (1..=MAX_TYPE).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_lowercase())
}

fn value(json: Value, depth: usize, entries: &mut usize) -> Result<EventValue, EventError> {
    let mut enter = |count: usize| {
        if depth == MAX_DEPTH {
            return Err(EventError::TooDeep);
        }
        *entries = entries.checked_sub(count).ok_or(EventError::TooMany)?;
        Ok(())
    };
    Ok(match json {
        Value::Null => EventValue::Null,
        Value::Bool(flag) => EventValue::Flag(flag),
        Value::Number(number) => {
            // A number beyond the doubles is none that a browser sends.
            let number = number.as_f64().filter(|number| number.is_finite());
            EventValue::Number(number.ok_or(EventError::Invalid("value"))?)
        }
        Value::String(text) => EventValue::Text(text),
        Value::Array(list) => {
            enter(list.len())?;
            let values = list.into_iter().map(|item| value(item, depth + 1, entries));
            EventValue::List(values.collect::<Result<_, _>>()?)
        }
        Value::Object(fields) => {
            enter(fields.len())?;
            let values = fields.into_iter().map(|(name, field)| {
                let field = value(field, depth + 1, entries)?;
                Ok((name, field))
            });
            EventValue::Fields(values.collect::<Result<_, _>>()?)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(text: &str) -> Result<ClientMessage, EventError> {
        ClientMessage::parse(text.as_bytes())
    }

    fn event_value(json: &str) -> Result<EventValue, EventError> {
        match parse(&format!(r#"[1,"2","submit",{json}]"#))? {
            ClientMessage::Event(event) => Ok(event.value),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_hello_may_be_new_or_come_back() {
        let hello = |view: Option<&str>, seq| {
            let view = view.map(str::to_string);
            Ok(ClientMessage::Hello(Hello { view, seq, fingerprint: "f1".into() }))
        };
        assert_eq!(parse(r#"["hello",null,0,"f1"]"#), hello(None, 0));
        assert_eq!(parse(r#"["hello","token",64,"f1"]"#), hello(Some("token"), 64));
        assert_eq!(parse(r#"["hello",7,0,"f"]"#), Err(EventError::Invalid("view")));
        assert_eq!(parse(r#"["hello",null,-1,"f"]"#), Err(EventError::Invalid("seq")));
        assert_eq!(parse(r#"["hello",null]"#), Err(EventError::Invalid("seq")));
        assert_eq!(parse(r#"["hello","a b",1]"#), Err(EventError::Invalid("view")));
    }

    #[test]
    fn a_form_keeps_its_fields() {
        let form = event_value(r#"{"title":"Größe","done":true,"tags":["a","b"]}"#).unwrap();
        let EventValue::Fields(fields) = form else { panic!("{form:?}") };
        let names: Vec<&str> = fields.iter().map(|(name, _)| &**name).collect();
        assert_eq!(names, ["title", "done", "tags"]);
        assert_eq!(fields[0].1, EventValue::Text("Größe".into()));
        assert_eq!(fields[1].1, EventValue::Flag(true));
        assert!(matches!(&fields[2].1, EventValue::List(tags) if tags.len() == 2));
        assert_eq!(event_value("null"), Ok(EventValue::Null));
        assert_eq!(event_value("-1.5"), Ok(EventValue::Number(-1.5)));
    }

    #[test]
    fn the_host_of_windows_says_more() {
        assert_eq!(parse(r#"["shown"]"#), Ok(ClientMessage::Shown));
        assert_eq!(parse(r#"["closed",4]"#), Ok(ClientMessage::Closed(4)));
    }

    #[test]
    fn other_messages_are_refused() {
        use EventError::{Invalid, TooDeep, TooLong, TooMany, Unknown};
        for (text, error) in [
            ("[]", Unknown),
            ("[null]", Unknown),
            (r#"["bye"]"#, Unknown),
            (r#"[0,"1","click"]"#, Invalid("n")),
            (r#"[1.5,"1","click"]"#, Invalid("n")),
            (r#"[9007199254740992,"1","click"]"#, Invalid("n")),
            (r#"[1,1,"click"]"#, Invalid("slot")),
            (r#"[1,"1..2","click"]"#, Invalid("slot")),
            (r#"[1,"x","click"]"#, Invalid("slot")),
            (r#"[1,"12345678901","click"]"#, Invalid("slot")),
            (r#"[1,"1"]"#, Invalid("type")),
            (r#"[1,"1","Click"]"#, Invalid("type")),
            (r#"[1,"1","abcdefghijklmnopq"]"#, Invalid("type")),
            (r#"[1,"1","click",1e999]"#, Invalid("value")),
            (r#"[1,"1","click",[[[[[]]]]]]"#, TooDeep),
        ] {
            assert_eq!(parse(text), Err(error), "{text}");
        }
        let many = format!("[{}1]", "1,".repeat(MAX_ENTRIES));
        assert_eq!(event_value(&many), Err(TooMany));
        let long = format!(r#"[1,"1","input","{}"]"#, "x".repeat(MAX_MESSAGE));
        assert_eq!(parse(&long), Err(TooLong(long.len())));
        for text in ["", "{}", "1", "[1", "[1,\"1\",\"click\",\"\u{1}\"]", "[1]x"] {
            assert!(matches!(parse(text), Err(EventError::Malformed(_))), "{text}");
        }
        let deep = "[".repeat(MAX_MESSAGE);
        assert!(matches!(parse(&deep), Err(EventError::Malformed(_))));
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_message_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = ClientMessage::parse(&bytes);
        }

        #[test]
        fn any_text_arrives_as_it_is(text in any::<String>(), n in 1..=MAX_NUMBER) {
            let json = serde_json::json!([n, "1.2", "input", text]).to_string();
            let event = ViewEvent {
                n, slot: "1.2".into(), kind: "input".into(), value: EventValue::Text(text),
            };
            prop_assert_eq!(parse(&json), Ok(ClientMessage::Event(event)));
        }
    }
}
