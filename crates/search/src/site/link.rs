//! The link of a result.

use super::field_text::plain;
use runnel_store::{Error, Kind, Result, Value};
use runnel_text::form;

/// The schemes that a link may have. Others, above all `javascript:`, could run what a document
/// says.
const SCHEMES: [&str; 3] = ["https", "http", "mailto"];

/// The address of a document.
#[derive(Clone, Debug)]
pub(crate) enum Link {
    /// A field holds it.
    Field(String),
    /// Texts, and fields whose values stand between them, escaped.
    Template(Vec<Part>),
}

#[derive(Clone, Debug)]
pub(crate) enum Part {
    Text(String),
    Field(String),
}

impl Link {
    /// A name of a field, or an address: what has a slash, a colon, a `?` or braces.
    ///
    /// # Errors
    /// [`Kind::Invalid`]: a brace that is not closed, or an address that is none.
    pub(crate) fn read(text: &str) -> Result<Link> {
        if !text.contains(['/', ':', '?', '{', '}', '#']) {
            return Ok(Link::Field(text.to_owned()));
        }
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            let (field, after) = after.split_once('}').ok_or_else(|| {
                let message = format!("the link `{text}` of a search page has a brace too many");
                Error::new(Kind::Invalid, message)
            })?;
            parts.push(Part::Text(before.to_owned()));
            parts.push(Part::Field(field.to_owned()));
            rest = after;
        }
        parts.push(Part::Text(rest.to_owned()));
        // With nothing in its fields it has to be an address that is good for a page.
        let Some(Part::Text(start)) = parts.first() else { return Ok(Link::Template(parts)) };
        let begins = if start.is_empty() { "." } else { start };
        if parts.len() > 1 && start.is_empty() || !is_safe(begins) {
            let message = format!(
                "the link `{text}` of a search page leads nowhere; write an address such as \
                 '/book/{{id}}', or the name of the field that has one"
            );
            return Err(Error::new(Kind::Invalid, message));
        }
        Ok(Link::Template(parts))
    }

    /// The address for a document; `None` if it is missing or unsafe.
    pub(crate) fn of(&self, id: &str, document: &Value) -> Option<String> {
        let value = |field: &str| match document.get(field) {
            Some(value) => plain(value),
            None if field == "id" => Some(id.to_owned()),
            None => None,
        };
        match self {
            Link::Field(field) => value(field).filter(|address| is_safe(address)),
            Link::Template(parts) => {
                let mut address = String::new();
                for part in parts {
                    match part {
                        Part::Text(text) => address.push_str(text),
                        Part::Field(field) => {
                            // A space is `%20` in a path; `+` is one in forms alone.
                            address.push_str(&form::encode(&value(field)?).replace('+', "%20"));
                        }
                    }
                }
                Some(address)
            }
        }
    }
}

/// Whether an address leads to a page: of one of the schemes, or relative. Browsers leave out white
/// space and control characters in addresses, so those with any are none.
fn is_safe(address: &str) -> bool {
    let odd = |character: char| character.is_control() || character.is_whitespace();
    if address.is_empty() || address.contains(odd) {
        return false;
    }
    let end = address.find(['/', '?', '#']).unwrap_or(address.len());
    match address[..end].split_once(':') {
        None => true,
        Some((scheme, _)) => SCHEMES.iter().any(|known| scheme.eq_ignore_ascii_case(known)),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn address(link: &str, fields: &[(&str, &str)]) -> Option<String> {
        let document = Value::record(fields.iter().map(|(name, text)| (*name, (*text).into())));
        Link::read(link).unwrap().of("7", &document)
    }

    #[test]
    fn links_are_fields_or_addresses() {
        assert_eq!(address("url", &[("url", "https://a/b")]).as_deref(), Some("https://a/b"));
        assert_eq!(address("url", &[]), None);
        assert_eq!(address("/book/{id}", &[]).as_deref(), Some("/book/7"));
        let hostile = [("name", "a/../b?c=\"<d>")];
        assert_eq!(
            address("/x/{name}.html", &hostile).as_deref(),
            Some("/x/a%2F..%2Fb%3Fc%3D%22%3Cd%3E.html")
        );
        assert_eq!(address("/x/{missing}", &[]), None);
    }

    #[test]
    fn a_document_runs_nothing() {
        for hostile in [
            "javascript:alert(1)",
            "JavaScript:alert(1)",
            " javascript:alert(1)",
            "java\tscript:alert(1)",
            "\u{1}javascript:alert(1)",
            "data:text/html,x",
            "vbscript:x",
            "",
        ] {
            assert_eq!(address("url", &[("url", hostile)]), None, "{hostile}");
        }
        for good in ["/a:b", "a", "?x:y", "mailto:a@b", "HTTPS://x", "//host/x"] {
            assert_eq!(address("url", &[("url", good)]).as_deref(), Some(good));
        }
        for wrong in ["javascript:{id}", "{id}:x", "/x/{id", "{url}"] {
            assert!(Link::read(wrong).is_err(), "{wrong}");
        }
    }
}
