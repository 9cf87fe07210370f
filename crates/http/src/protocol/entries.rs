//! Listings for programs: the children of a collection, as one Runnel server tells another.
//!
//! A GET that accepts [`MEDIA_TYPE`] alone asks for the listing and not for the content. The answer is a JSON array
//! of names, encoded as segments; that of a collection ends in a slash: `["notes.txt","pictures/"]`.

use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use runnel_store::{Entry, Error, Kind, Result, Value, json};

/// The media type of a listing.
pub(crate) const MEDIA_TYPE: HeaderValue =
    HeaderValue::from_static("application/vnd.runnel.entries+json");

/// Marks the page of links that people get where a collection has no content: a program gets nothing then,
/// as from every store.
pub(crate) const PAGE: HeaderName = HeaderName::from_static("runnel-listing");

/// Whether a request asks for a listing.
pub(crate) fn are_wanted(headers: &HeaderMap) -> bool {
    headers.get(header::ACCEPT) == Some(&MEDIA_TYPE)
}

/// Entries as the text of a listing.
pub(crate) fn text(entries: Vec<Entry>) -> Vec<u8> {
    let name = |entry: Entry| match entry.collection {
        true => Value::Text(entry.name + "/"),
        false => Value::Text(entry.name),
    };
    json::text(&Value::List(entries.into_iter().map(name).collect()))
}

/// The entries of the text of a listing.
pub(crate) fn parse(text: &[u8]) -> Result<Vec<Entry>> {
    let wrong = || Error::new(Kind::Failed, "the server sent a listing that is none");
    let Ok(Value::List(names)) = json::parse(text) else { return Err(wrong()) };
    let entry = |name: Value| {
        let Value::Text(mut name) = name else { return Err(wrong()) };
        let collection = name.ends_with('/');
        if collection {
            name.pop();
        }
        // A name with a slash would lead elsewhere.
        if name.contains('/') { Err(wrong()) } else { Ok(Entry { name, collection }) }
    };
    names.into_iter().map(entry).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_back() {
        let entry = |name: &str, collection| Entry { name: name.into(), collection };
        let entries = vec![entry("a \"b\"", false), entry("é", true), entry("x%2Fy", false)];
        let written = text(entries.clone());
        assert_eq!(written, r#"["a \"b\"","é/","x%2Fy"]"#.as_bytes());
        assert_eq!(parse(&written).unwrap(), entries);
        for wrong in ["", "{}", "[1]", r#"["../x"]"#, r#"["a/b/"]"#, "<html>"] {
            assert_eq!(parse(wrong.as_bytes()).unwrap_err().kind, Kind::Failed, "{wrong}");
        }
    }
}
