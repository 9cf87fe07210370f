//! A result: the link, the heading, the subtitle and the text of a document, with its matches marked.

use super::field_text::plain;
use super::options::PageOptions;
use crate::{Highlighter, Id, Markers};
use runnel_store::Value;

/// Characters of a text that are shown.
const TEXT_CHARS: usize = 300;
/// Words of a text that are shown around matches.
const SNIPPET_WORDS: usize = 40;
/// Characters of a heading, and of a field of the subtitle, that are shown.
const FIELD_CHARS: usize = 200;
/// Most fields that are shown without options.
const USUAL_FIELDS: usize = 4;

/// A document that was found.
#[derive(Clone, Debug)]
pub(crate) struct Hit {
    pub(crate) id: Id,
    /// Nothing where the index keeps no documents.
    pub(crate) document: Option<Value>,
    /// What a page shows of it, unless the program renders it.
    pub(crate) shown: Value,
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

/// What a page shows of a document: `link`, `heading`, `subtitle` (a list) and `text`. Each text is a
/// list of parts, in which a marked part is a list of its own.
pub(crate) fn shown(
    id: &Id,
    document: Option<&Value>,
    options: &PageOptions,
    matches: Option<&Highlighter<'_>>,
) -> Value {
    let id = id_text(id);
    let document = document.unwrap_or(&Value::Nil);
    let shown = Shown::of(document, options);
    let heading = shown.heading.unwrap_or_else(|| (String::new(), id.clone()));
    let link = options.link.as_ref().and_then(|link| link.of(&id, document));
    let subtitle = shown.subtitle.iter().map(|field| field_parts(field, matches));
    let text = shown.text.map(|(name, text)| {
        let text = without_controls(&text);
        match matches {
            Some(matches) => parts(&matches.snippet(&name, &text, SNIPPET_WORDS, &markers())),
            None => parts(&cut(&text, TEXT_CHARS)),
        }
    });
    Value::record([
        ("link", link.map_or(Value::Nil, Value::Text)),
        ("heading", field_parts(&heading, matches)),
        ("subtitle", Value::List(subtitle.collect())),
        ("text", text.unwrap_or(Value::Nil)),
    ])
}

fn field_parts((name, text): &Field, matches: Option<&Highlighter<'_>>) -> Value {
    let text = cut(&without_controls(text), FIELD_CHARS);
    let marked = matches.and_then(|matches| matches.mark(name, &text, &markers()));
    parts(&marked.unwrap_or(text))
}

/// Control characters around a match: no text has them ([`without_controls`]).
const BEFORE: char = '\u{1}';
const AFTER: char = '\u{2}';

fn markers() -> Markers {
    Markers { before: BEFORE.to_string(), after: AFTER.to_string(), html: false }
}

/// A text in which U+FFFD stands for control characters that HTML does not allow.
fn without_controls(text: &str) -> String {
    let odd = |character: char| character.is_control() && !matches!(character, '\n' | '\t' | '\r');
    text.replace(odd, "\u{fffd}")
}

/// A text with markers as a list of parts.
fn parts(marked: &str) -> Value {
    let mut parts = Vec::new();
    for part in marked.split(BEFORE) {
        let (inside, plain) = part.split_once(AFTER).map_or((None, part), |(a, b)| (Some(a), b));
        parts.extend(inside.map(|text| Value::List(vec![text.into()])));
        if !plain.is_empty() {
            parts.push(plain.into());
        }
    }
    Value::List(parts)
}

/// A text of at most `most` characters, cut after a word if possible.
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
    use runnel_store::json;

    fn text(options: &[(&str, &str)], document: &str) -> String {
        let options = Value::record(options.iter().map(|(name, text)| (*name, (*text).into())));
        let document = json::parse(document.as_bytes()).ok();
        let options = PageOptions::read(&options).unwrap();
        let shown = shown(&Id::Integer(7), document.as_ref(), &options, None);
        String::from_utf8(json::text(&shown)).unwrap()
    }

    #[test]
    fn fields_stand_where_the_options_say() {
        let options =
            [("heading", "title"), ("subtitle", "author"), ("text", "about"), ("link", "/b/{id}")];
        assert_eq!(
            text(&options, r#"{"title":"A <b>","author":["X","Y & Z"],"about":"Text"}"#),
            r#"{"link":"/b/7","heading":["A <b>"],"subtitle":[["X, Y & Z"]],"text":["Text"]}"#
        );
        let alone = r#"{"link":"/b/7","heading":["7"],"subtitle":[],"text":null}"#;
        assert_eq!(text(&options, "{}"), alone);
    }

    #[test]
    fn without_options_the_first_field_is_the_heading() {
        assert_eq!(
            text(&[], r#"{"id":7,"title":"Emma","year":1815,"x":null,"deep":{}}"#),
            r#"{"link":null,"heading":["Emma"],"subtitle":[["1815"]],"text":null}"#
        );
    }

    #[test]
    fn matches_are_parts_of_their_own() {
        let value = parts("a \u{1}b\u{2}\u{1}c\u{2} d");
        assert_eq!(json::text(&value), br#"["a ",["b"],["c"]," d"]"#);
        assert_eq!(without_controls("a\u{1}\n"), "a\u{fffd}\n");
    }

    #[test]
    fn long_texts_are_cut_after_a_word() {
        assert_eq!(cut("one two three", 9), "one two \u{2026}");
        assert_eq!(cut("one two", 7), "one two");
        let cut = cut(&"\u{e9}".repeat(1_000), 10);
        assert_eq!(cut.chars().count(), 12);
    }
}
