//! Values above, bytes below, or the other way round: CSV and plain text.

use crate::Map;
use crate::combine::definition::{Combinator, ConverterOptions, NO_SETTINGS, UP};
use crate::value::csv;
use crate::{
    AT_ONCE, Answer, Body, COLLECT_LIMIT, Content, DATA_POOL, Form, SettingTable, Store, Value,
};
use std::rc::Rc;

const CSV_SETTINGS: SettingTable<ConverterOptions> = SettingTable(&[UP]);

pub(super) const CSV: Combinator = Combinator {
    class: "CSVConverter",
    aliases: &[],
    help: "converts records to CSV and back",
    settings: &CSV_SETTINGS,
    make: |parts| {
        let source = parts.source()?;
        let converter = match parts.read("a CSVConverter", &CSV_SETTINGS)?.up {
            true => Csv::up(source),
            false => Csv::down(source),
        };
        Ok(converter.into())
    },
};

pub(super) const TEXT: Combinator = Combinator {
    class: "TextConverter",
    aliases: &[],
    help: "converts bytes to text and back",
    settings: &NO_SETTINGS,
    make: |parts| Ok(TextCodec::down(parts.source()?).into()),
};

/// Tables of records as CSV, RFC 4180, and back. Content of more than [`COLLECT_LIMIT`] bytes is
/// not parsed.
pub struct Csv;

impl Csv {
    /// CSV for the users of a store of values: reads return a table with a header, writes are
    /// parsed. Content with the media type of CSV passes unchanged on reads.
    pub fn up(source: Rc<dyn Store>) -> Map {
        let map = Map::new(source, "csv up");
        map.reading(|_, content| to_csv(content)).writing(|_, content| from_csv(content))
    }

    /// Values for the users of a store of CSV text: lists of records whose fields are text, or nil
    /// where a cell is empty.
    ///
    /// Texts round-trip exactly, and so do decimals and dates, which are text. CSV does not
    /// distinguish a number, a boolean, a list or a record from its JSON text, nor bytes from their
    /// base64 text. Empty bytes, NaN and infinities become nil, and so does a missing field. In a
    /// table with one column, so does empty text. A byte order mark at the start of the first name
    /// is lost.
    pub fn down(source: Rc<dyn Store>) -> Map {
        let map = Map::new(source, "csv down");
        map.reading(|_, content| from_csv(content)).writing(|_, content| to_csv(content))
    }
}

/// Values in their readable form ([`Form::Text`]), and text on reads.
pub struct TextCodec;

impl TextCodec {
    /// Text for the users of a store of bytes. Reads return text, or [`crate::Kind::Invalid`] if it
    /// is not UTF-8; writes store plain text. Lists and records are JSON.
    pub fn down(source: Rc<dyn Store>) -> Map {
        let map = Map::new(source, "text down");
        map.reading(|_, content| to_text(content)).writing(|_, content| {
            match &content.body {
                // Nil is what deletes.
                Body::Value(Value::Nil) => Answer::ok(content),
                _ => encoded(content, Form::Text),
            }
        })
    }
}

fn encoded(content: Content, form: Form) -> Answer<Content> {
    let media_type = Some(content.media_type_in(form));
    let Content { body, media_type: own, .. } = content;
    let rest = Content { body: Body::Empty, media_type, ..content };
    let plain = Content { body, media_type: own, ..Content::default() };
    plain.encode(form).map(move |bytes| Content { body: Body::Bytes(bytes), ..rest })
}

fn to_csv(content: Content) -> Answer<Content> {
    let is_csv = content.media_type.as_deref().is_some_and(|own| Form::Csv.is_media_type(own));
    match &content.body {
        Body::Value(Value::Nil) => Answer::ok(content),
        Body::Stream(..) if is_csv => Answer::ok(content),
        _ => encoded(content, Form::Csv),
    }
}

fn from_csv(content: Content) -> Answer<Content> {
    let body = content.body;
    let rest = Content { body: Body::Empty, media_type: None, ..content };
    let whole = move |body| Content { body, ..rest };
    if matches!(body, Body::Value(_) | Body::Lazy(_)) {
        return Answer::ok(whole(body));
    }
    let text = Content { body, ..Content::default() }.read(COLLECT_LIMIT);
    let value = text.and_then(|bytes| match bytes.len() {
        0..=AT_ONCE => csv::parse(&bytes).into(),
        _ => Answer::later(DATA_POOL.attempt(move || csv::parse(&bytes))),
    });
    value.map(move |value| whole(Body::Value(value)))
}

fn to_text(content: Content) -> Answer<Content> {
    let body = content.body;
    let rest = Content { body: Body::Empty, ..content };
    let whole = move |body| Content { body, ..rest };
    if matches!(body, Body::Text(_)) {
        return Answer::ok(whole(body));
    }
    let bytes = Content { body, ..Content::default() }.read(COLLECT_LIMIT);
    let text = bytes.and_then(|bytes| match crate::Text::from_utf8(bytes) {
        Ok(text) => Answer::ok(text),
        Err(_) => {
            crate::Error::new(crate::Kind::Invalid, "this is no text: it is not UTF-8").into()
        }
    });
    text.map(move |text| whole(Body::Text(text)))
}
