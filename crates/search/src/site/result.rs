//! A document on the page: its heading, what stands below it, and a text.

use super::markup;
use super::options::PageOptions;
use crate::{Highlighter, Id, Markers};
use runnel_store::{Value, json};

/// Characters of a text that are shown.
const TEXT_CHARS: usize = 300;
/// Words of a text that are shown around matches.
const SNIPPET_WORDS: usize = 40;
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
    /// How it is shown, unless the program shows it.
    pub(crate) html: String,
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

/// A field that is shown: its name and its text.
type Field = (String, String);

/// The fields that are shown of a document.
struct Shown {
    heading: Option<Field>,
    subtitle: Vec<Field>,
    text: Option<Field>,
}

impl Shown {
    fn of(document: &Value, options: &PageOptions) -> Shown {
        let field = |name: &String| Some((name.clone(), document.get(name).and_then(plain)?));
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
        let texts = fields.filter_map(|(name, value)| Some((name.clone(), plain(value)?)));
        let mut texts = texts.take(USUAL_FIELDS);
        Shown { heading: texts.next(), subtitle: texts.collect(), text: None }
    }
}

/// Appends a document as HTML, with its matches marked where somebody can find them.
pub(crate) fn write(
    id: &Id,
    document: Option<&Value>,
    options: &PageOptions,
    matches: Option<&Highlighter<'_>>,
    out: &mut String,
) {
    let id = id_text(id);
    let document = document.unwrap_or(&Value::Nil);
    let shown = Shown::of(document, options);
    let heading = shown.heading.unwrap_or_else(|| (String::new(), id.clone()));
    out.push_str("<h3>");
    let link = options.link.as_ref().and_then(|link| link.of(&id, document));
    if let Some(address) = &link {
        out.push_str("<a href=\"");
        markup::write(address, out);
        out.push_str("\">");
    }
    write_field(&heading, matches, out);
    out.push_str(if link.is_some() { "</a></h3>" } else { "</h3>" });
    if !shown.subtitle.is_empty() {
        out.push_str("<p class=\"subtitle\">");
        for (number, field) in shown.subtitle.iter().enumerate() {
            out.push_str(if number > 0 { " \u{b7} " } else { "" });
            write_field(field, matches, out);
        }
        out.push_str("</p>");
    }
    if let Some((name, text)) = &shown.text {
        out.push_str("<p class=\"text\">");
        match matches {
            Some(matches) => {
                let text = markup::without_controls(text);
                out.push_str(&matches.snippet(name, &text, SNIPPET_WORDS, &markers()));
            }
            None => markup::write(&cut(text, TEXT_CHARS), out),
        }
        out.push_str("</p>");
    }
}

fn write_field((name, text): &Field, matches: Option<&Highlighter<'_>>, out: &mut String) {
    let text = markup::without_controls(text);
    let text = cut(&text, FIELD_CHARS);
    let marked = matches.and_then(|matches| matches.mark(name, &text, &markers()));
    match marked {
        Some(marked) => out.push_str(&marked),
        None => markup::write(&text, out),
    }
}

fn markers() -> Markers {
    Markers { before: "<mark>".to_owned(), after: "</mark>".to_owned(), html: true }
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
        let document = json::parse(json.as_bytes()).ok();
        let options = PageOptions::read(&options).unwrap();
        let mut out = String::new();
        write(&Id::Integer(7), document.as_ref(), &options, None, &mut out);
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
