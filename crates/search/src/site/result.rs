//! A document on the page: its heading, what stands below it, and a text.

use super::markup;
use super::options::PageOptions;
use crate::Id;
use runnel_store::{Value, json};

/// Characters of a text that are shown.
const TEXT_CHARS: usize = 300;
/// Characters of a heading, and of a field of the subtitle, that are shown.
const FIELD_CHARS: usize = 200;
/// Fields that are shown where nobody has said which.
const USUAL_FIELDS: usize = 4;

/// A document that was found.
#[derive(Clone, Debug)]
pub(crate) struct Hit {
    pub(crate) id: Id,
    /// Nothing where the index keeps no documents.
    pub(crate) document: Option<Value>,
}

/// A value as people read it; nothing for what has nothing to read.
pub(crate) fn plain(value: &Value) -> Option<String> {
    let text = match value {
        Value::Nil => return None,
        Value::Text(text) => text.clone(),
        Value::List(elements) => {
            let parts: Vec<String> = elements.iter().filter_map(plain).collect();
            parts.join(", ")
        }
        Value::Bool(_) | Value::Int(_) | Value::Big(_) | Value::Float(_) => {
            String::from_utf8_lossy(&json::text(value)).into_owned()
        }
        Value::Bytes(_) | Value::Record(_) => return None,
    };
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// An identifier as text.
pub(crate) fn id_text(id: &Id) -> String {
    match id {
        Id::Integer(number) => number.to_string(),
        Id::Text(text) => text.trim().to_owned(),
    }
}

/// The fields that are shown of a document.
struct Shown {
    heading: Option<String>,
    subtitle: Vec<String>,
    text: Option<String>,
}

impl Shown {
    fn of(document: &Value, options: &PageOptions) -> Shown {
        let field = |name: &String| document.get(name).and_then(plain);
        let named =
            options.heading.is_some() || !options.subtitle.is_empty() || options.text.is_some();
        if named {
            return Shown {
                heading: options.heading.as_ref().and_then(field),
                subtitle: options.subtitle.iter().filter_map(field).collect(),
                text: options.text.as_ref().and_then(field),
            };
        }
        let fields = document.as_record().unwrap_or_default().iter();
        let fields = fields.filter(|(name, _)| name != "id");
        let mut texts = fields.filter_map(|(_, value)| plain(value)).take(USUAL_FIELDS);
        Shown { heading: texts.next(), subtitle: texts.collect(), text: None }
    }
}

/// Appends a document as HTML.
pub(crate) fn write(hit: &Hit, options: &PageOptions, out: &mut String) {
    let id = id_text(&hit.id);
    let nothing = Value::Nil;
    let document = hit.document.as_ref().unwrap_or(&nothing);
    let shown = Shown::of(document, options);
    let heading = shown.heading.unwrap_or_else(|| id.clone());
    out.push_str("<h3>");
    let link = options.link.as_ref().and_then(|link| link.of(&id, document));
    if let Some(address) = &link {
        out.push_str("<a href=\"");
        markup::write(address, out);
        out.push_str("\">");
    }
    markup::write(&cut(&heading, FIELD_CHARS), out);
    out.push_str(if link.is_some() { "</a></h3>" } else { "</h3>" });
    if !shown.subtitle.is_empty() {
        out.push_str("<p class=\"subtitle\">");
        for (number, text) in shown.subtitle.iter().enumerate() {
            out.push_str(if number > 0 { " \u{b7} " } else { "" });
            markup::write(&cut(text, FIELD_CHARS), out);
        }
        out.push_str("</p>");
    }
    if let Some(text) = &shown.text {
        out.push_str("<p class=\"text\">");
        markup::write(&cut(text, TEXT_CHARS), out);
        out.push_str("</p>");
    }
}

/// A text of at most so many characters, cut after a word where there is one.
fn cut(text: &str, most: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(most) else { return text.to_owned() };
    let start = &text[..end];
    let words = start.rfind(char::is_whitespace).filter(|at| *at > end / 2);
    format!("{} \u{2026}", start[..words.unwrap_or(end)].trim_end())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn html(options: &[(&str, &str)], json: &str) -> String {
        let options = Value::record(options.iter().map(|(name, text)| (*name, (*text).into())));
        let hit = Hit { id: Id::Integer(7), document: json::parse(json.as_bytes()).ok() };
        let mut out = String::new();
        write(&hit, &PageOptions::read(&options).unwrap(), &mut out);
        out
    }

    #[test]
    fn fields_stand_where_the_options_say() {
        let options =
            [("heading", "title"), ("subtitle", "author"), ("text", "about"), ("link", "/b/{id}")];
        assert_eq!(
            html(&options, r#"{"title":"A <b>","author":["X","Y & Z"],"about":"Text"}"#),
            "<h3><a href=\"/b/7\">A &lt;b&gt;</a></h3>\
             <p class=\"subtitle\">X, Y &amp; Z</p><p class=\"text\">Text</p>"
        );
        assert_eq!(html(&options, "{}"), "<h3><a href=\"/b/7\">7</a></h3>");
        assert_eq!(html(&[], ""), "<h3>7</h3>");
    }

    #[test]
    fn without_options_the_first_field_is_the_heading() {
        assert_eq!(
            html(&[], r#"{"id":7,"title":"Emma","year":1815,"x":null,"deep":{}}"#),
            "<h3>Emma</h3><p class=\"subtitle\">1815</p>"
        );
    }

    #[test]
    fn long_texts_are_cut_after_a_word() {
        assert_eq!(cut("one two three", 9), "one two \u{2026}");
        assert_eq!(cut("one two", 7), "one two");
        let cut = cut(&"\u{e9}".repeat(1_000), 10);
        assert_eq!(cut.chars().count(), 12);
    }
}
