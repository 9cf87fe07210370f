//! Frames: what the server sends to a view, as JSON text without intermediate values.
//!
//! A frame is `[seq, slot, value, slot, value, …]`. `slot` is a text address such as `"3.7.1"`. A value is
//! encoded once ([`Encoded`]) and shared by all views that show it, so a change costs one encoding and
//! one short copy for each client. The browser's client, `std/live.js`, and the native host read frames.

use std::fmt::Write as _;
use std::rc::Rc;

/// The address of a slot: numbers joined by dots, `3` or `3.7.1`; empty for control.
pub type Address = Rc<str>;

/// The id of an item in a list slot; 0 names the end of the list.
pub type ItemId = u32;

/// A value as JSON text, encoded once and shared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encoded(Rc<str>);

impl Encoded {
    /// Text: the HTML of a content slot, or the value of an attribute.
    pub fn text(text: &str) -> Encoded {
        let mut out = String::with_capacity(text.len() + 2);
        write_text(&mut out, text);
        Encoded(out.into())
    }

    /// True or false: an attribute without a value is present or absent.
    pub fn flag(flag: bool) -> Encoded {
        Encoded(if flag { "true" } else { "false" }.into())
    }

    /// Null removes an attribute.
    pub fn null() -> Encoded {
        Encoded("null".into())
    }

    /// A number. JSON has no infinity and no NaN: they become null.
    pub fn number(number: f64) -> Encoded {
        if !number.is_finite() {
            return Encoded::null();
        }
        Encoded(format!("{number}").into())
    }

    /// Valid JSON text that another writer made.
    pub fn json(json: String) -> Encoded {
        Encoded(json.into())
    }

    /// The JSON text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A step that changes a list slot. Steps are applied in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Inserts an item before another one.
    Insert {
        /// The new item.
        id: ItemId,
        /// The item that follows it; 0 = at the end.
        before: ItemId,
        /// The item's HTML, with `data-k` on its root element.
        content: Encoded,
    },
    /// Deletes an item.
    Delete {
        /// The item.
        id: ItemId,
    },
    /// Replaces the content of an item in its place.
    Replace {
        /// The item.
        id: ItemId,
        /// The item's new HTML.
        content: Encoded,
    },
    /// Moves an item before another one.
    Move {
        /// The item.
        id: ItemId,
        /// The item that follows it; 0 = at the end.
        before: ItemId,
    },
}

impl Operation {
    /// The item that it changes.
    pub fn id(&self) -> ItemId {
        match self {
            Operation::Insert { id, .. }
            | Operation::Delete { id }
            | Operation::Replace { id, .. }
            | Operation::Move { id, .. } => *id,
        }
    }

    /// The length of its text, without digits and punctuation.
    pub(crate) fn content_length(&self) -> usize {
        match self {
            Operation::Insert { content, .. } | Operation::Replace { content, .. } => {
                content.as_str().len()
            }
            Operation::Delete { .. } | Operation::Move { .. } => 0,
        }
    }

    fn write(&self, out: &mut String) {
        // Writing to a string cannot fail.
        let _ = match self {
            Operation::Insert { id, before, content } => {
                write!(out, r#"["+",{id},{before},{}]"#, content.as_str())
            }
            Operation::Delete { id } => write!(out, r#"["-",{id}]"#),
            Operation::Replace { id, content } => write!(out, r#"["~",{id},{}]"#, content.as_str()),
            Operation::Move { id, before } => write!(out, r#"[">",{id},{before}]"#),
        };
    }
}

/// What slot `""` says to the client itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ViewControl {
    /// The token of the view; the first frame of a view has it.
    pub view: Option<Encoded>,
    /// The number of the client's last event that was handled.
    pub ack: Option<u64>,
    /// The whole content of the body: replaces the view.
    pub page: Option<Encoded>,
    /// An address for the location bar.
    pub go: Option<Encoded>,
    /// An error that the client shows.
    pub error: Option<Encoded>,
    /// Loads the page again.
    pub reload: bool,
}

impl ViewControl {
    /// Whether it says nothing.
    pub fn is_empty(&self) -> bool {
        *self == ViewControl::default()
    }

    /// Adds what another one says; the later one wins.
    pub fn merge(&mut self, later: ViewControl) {
        self.view = later.view.or(self.view.take());
        self.ack = later.ack.or(self.ack);
        self.page = later.page.or(self.page.take());
        self.go = later.go.or(self.go.take());
        self.error = later.error.or(self.error.take());
        self.reload |= later.reload;
    }

    /// The length of its texts.
    pub(crate) fn content_length(&self) -> usize {
        let texts = [&self.view, &self.page, &self.go, &self.error];
        texts.into_iter().flatten().map(|text| text.as_str().len()).sum()
    }

    fn write(&self, out: &mut String) {
        let start = out.len();
        let mut member = |name: &str, value: &str| {
            out.push(if out.len() == start { '{' } else { ',' });
            out.push('"');
            out.push_str(name);
            out.push_str("\":");
            out.push_str(value);
        };
        for (name, value) in
            [("view", &self.view), ("page", &self.page), ("go", &self.go), ("error", &self.error)]
        {
            if let Some(value) = value {
                member(name, value.as_str());
            }
        }
        if let Some(ack) = self.ack {
            member("ack", &ack.to_string());
        }
        if self.reload {
            member("reload", "true");
        }
        out.push_str(if out.len() == start { "{}" } else { "}" });
    }
}

/// Writes one frame at the end of a string.
///
/// ```
/// # use runnel_view::frame::{Encoded, FrameWriter};
/// let mut out = String::new();
/// let mut frame = FrameWriter::new(&mut out, 7);
/// frame.value("3", &Encoded::text("<b>4</b>"));
/// frame.value("5", &Encoded::null());
/// frame.finish();
/// assert_eq!(out, r#"[7,"3","<b>4</b>","5",null]"#);
/// ```
pub struct FrameWriter<'a> {
    out: &'a mut String,
}

impl<'a> FrameWriter<'a> {
    /// Starts a frame.
    pub fn new(out: &'a mut String, seq: u64) -> FrameWriter<'a> {
        let _ = write!(out, "[{seq}");
        FrameWriter { out }
    }

    /// The value of a slot.
    pub fn value(&mut self, slot: &str, value: &Encoded) {
        self.slot(slot);
        self.out.push_str(value.as_str());
    }

    /// The steps of a list slot.
    pub fn operations(&mut self, slot: &str, operations: &[Operation]) {
        self.slot(slot);
        for (index, operation) in operations.iter().enumerate() {
            self.out.push(if index == 0 { '[' } else { ',' });
            operation.write(self.out);
        }
        self.out.push_str(if operations.is_empty() { "[]" } else { "]" });
    }

    /// What concerns the view itself.
    pub fn control(&mut self, control: &ViewControl) {
        self.slot("");
        control.write(self.out);
    }

    /// Ends the frame.
    pub fn finish(self) {
        self.out.push(']');
    }

    fn slot(&mut self, slot: &str) {
        self.out.push(',');
        write_text(self.out, slot);
        self.out.push(',');
    }
}

/// Appends text as a JSON string (RFC 8259, section 7).
pub fn write_text(out: &mut String, text: &str) {
    out.push('"');
    let mut unescaped = 0;
    for (at, byte) in text.bytes().enumerate() {
        let escape = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            b'\n' => "\\n",
            b'\r' => "\\r",
            b'\t' => "\\t",
            0..0x20 | 0x7f => "",
            _ => continue,
        };
        out.push_str(&text[unescaped..at]);
        if escape.is_empty() {
            let _ = write!(out, "\\u{byte:04x}");
        } else {
            out.push_str(escape);
        }
        unescaped = at + 1;
    }
    out.push_str(&text[unescaped..]);
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn frame(write: impl FnOnce(&mut FrameWriter<'_>)) -> String {
        let mut out = String::new();
        let mut frame = FrameWriter::new(&mut out, 1);
        write(&mut frame);
        frame.finish();
        out
    }

    #[test]
    fn operations_are_arrays() {
        let content = Encoded::text("<li>\"x\"</li>");
        let operations = [
            Operation::Insert { id: 7, before: 0, content: content.clone() },
            Operation::Delete { id: 3 },
            Operation::Replace { id: 4, content },
            Operation::Move { id: 5, before: 7 },
        ];
        assert_eq!(
            frame(|frame| frame.operations("2", &operations)),
            r#"[1,"2",[["+",7,0,"<li>\"x\"</li>"],["-",3],["~",4,"<li>\"x\"</li>"],[">",5,7]]]"#
        );
        assert_eq!(frame(|frame| frame.operations("2", &[])), r#"[1,"2",[]]"#);
    }

    #[test]
    fn control_says_only_what_is_set() {
        let mut control = ViewControl { ack: Some(3), ..ViewControl::default() };
        assert_eq!(frame(|frame| frame.control(&control)), r#"[1,"",{"ack":3}]"#);
        control.merge(ViewControl {
            ack: Some(4),
            view: Some(Encoded::text("t")),
            ..ViewControl::default()
        });
        control.merge(ViewControl { reload: true, ..ViewControl::default() });
        assert_eq!(
            frame(|frame| frame.control(&control)),
            r#"[1,"",{"view":"t","ack":4,"reload":true}]"#
        );
        assert_eq!(frame(|frame| frame.control(&ViewControl::default())), r#"[1,"",{}]"#);
    }

    #[test]
    fn a_small_update_is_short() {
        let update = frame(|frame| frame.value("3.7.1", &Encoded::text("42")));
        assert!(update.len() <= 20, "{update}");
    }

    #[test]
    fn numbers_are_json() {
        for (number, json) in [(1.0, "1"), (-0.5, "-0.5"), (1e300, ""), (f64::NAN, "null")] {
            let encoded = Encoded::number(number);
            let _: serde_json::Value = serde_json::from_str(encoded.as_str()).unwrap();
            assert!(json.is_empty() || encoded.as_str() == json, "{}", encoded.as_str());
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_back(text in any::<String>()) {
            let encoded = Encoded::text(&text);
            let read: String = serde_json::from_str(encoded.as_str()).unwrap();
            prop_assert_eq!(read, text);
            prop_assert!(!encoded.as_str().contains(['\n', '\r']), "one line, for server-sent events");
        }
    }
}
