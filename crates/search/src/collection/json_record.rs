//! Conversion of JSON objects to documents.

use crate::collection::document::{Document, DocumentField};
use crate::collection::id::Id;
use crate::limits::MAX_RECORD_BYTES;
use runnel_store::{Error, Kind, Value, json};

/// The document of a JSON object.
///
/// Texts become fields as they are, numbers and booleans by their JSON text, lists fields with
/// several values; null and nested lists and records become no fields.
///
/// # Errors
/// [`Kind::TooLarge`] above [`MAX_RECORD_BYTES`], [`Kind::Invalid`] for anything but a JSON object.
pub(crate) fn document(id: Id, record: &[u8]) -> Result<Document, Error> {
    if record.len() > MAX_RECORD_BYTES {
        let message = format!(
            "the document has {} bytes; an index takes at most {MAX_RECORD_BYTES}, so split it",
            record.len()
        );
        return Err(Error::new(Kind::TooLarge, message));
    }
    let Value::Record(members) = json::parse(record)? else {
        let message = "a document is a JSON object such as {\"title\":\"Emma\"}; send one";
        return Err(Error::new(Kind::Invalid, message));
    };
    let mut document = Document::new(id);
    for (name, value) in members {
        let field = match value {
            Value::List(values) => {
                DocumentField::Texts(values.into_iter().filter_map(text).collect())
            }
            value => match text(value) {
                Some(text) => DocumentField::Text(text),
                None => continue,
            },
        };
        document = document.with(name, field);
    }
    Ok(document)
}

fn text(value: Value) -> Option<String> {
    match value {
        Value::Text(text) => Some(text),
        Value::Nil | Value::List(_) | Value::Record(_) | Value::Bytes(_) => None,
        number => String::from_utf8(json::text(&number)).ok(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn members_become_fields() {
        let json = br#"{"a":"x y","b":1.5,"c":true,"d":null,"e":["x",2,null,["z"]],"f":{"g":1}}"#;
        let document = document(Id::from(1), json).unwrap();
        let text = |text: &str| DocumentField::Text(text.to_owned());
        assert_eq!(document.field("a"), Some(&text("x y")));
        assert_eq!(document.field("b"), Some(&text("1.5")));
        assert_eq!(document.field("c"), Some(&text("true")));
        assert_eq!(document.field("e"), Some(&DocumentField::Texts(vec!["x".into(), "2".into()])));
        assert_eq!((document.field("d"), document.field("f")), (None, None));
    }

    #[test]
    fn what_is_no_object_is_refused() {
        for json in [&b"[1]"[..], b"", b"{", b"\xff"] {
            assert_eq!(document(Id::from(1), json).unwrap_err().kind, Kind::Invalid);
        }
        let large = vec![b' '; MAX_RECORD_BYTES + 1];
        assert_eq!(document(Id::from(1), &large).unwrap_err().kind, Kind::TooLarge);
    }
}
