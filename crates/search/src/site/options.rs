//! The options of a search page: `#SearchPage{ title: 'Books', heading: 'title', … }`.

use super::QueryLogFormat;
use super::link::Link;
use crate::site::query_log::journal::JournalSettings;
use runnel_store::{Error, Kind, Result, Value};

/// Documents on a page at most.
pub const MAX_PAGE_DOCUMENTS: usize = 100;
/// The languages that a page can be in, by their tags (RFC 5646).
const LANGUAGES: [&str; 2] = ["en", "de"];
/// Fields that a result shows at most.
const MAX_SHOWN_FIELDS: usize = 16;
/// The names of the options.
pub const PAGE_OPTIONS: [&str; 14] = [
    "title",
    "language",
    "heading",
    "subtitle",
    "text",
    "link",
    "labels",
    "ids",
    "log",
    "logFormat",
    "logBytes",
    "keep",
    "name",
    "statistics",
];

/// How a search page looks and what it does.
#[derive(Clone)]
pub struct PageOptions {
    pub(crate) title: String,
    pub(crate) language: String,
    pub(crate) heading: Option<String>,
    pub(crate) subtitle: Vec<String>,
    pub(crate) text: Option<String>,
    pub(crate) link: Option<Link>,
    /// What people call categories.
    pub(crate) labels: Vec<(String, String)>,
    pub(crate) documents: usize,
    pub(crate) statistics: bool,
    /// The query log, and where statistics are kept.
    pub journal: JournalSettings,
}

impl PageOptions {
    /// Reads the options of a record:
    ///
    /// - `title` of the page, and its `language` (`en`, `de`);
    /// - `heading`, `subtitle` (one or several) and `text`: the fields of a document that are shown;
    ///   without them, its first field is the heading and the others are the subtitle;
    /// - `link`: the field with the address of a document, or an address with fields in braces, such
    ///   as `/book/{id}`;
    /// - `labels`: what people call categories, a record of texts;
    /// - `ids`: how many documents a page has, 1 to [`MAX_PAGE_DOCUMENTS`];
    /// - `log`, `logFormat` (`columns`, `json`) and `logBytes`: the query log;
    /// - `keep`: the file in which statistics are kept; `name`: what tells pages without files apart;
    /// - `statistics`: whether the page itself shows them.
    ///
    /// # Errors
    /// [`Kind::Invalid`]: an option that there is not, or what one has to be.
    pub fn read(options: &Value) -> Result<PageOptions> {
        let title = text(options, "title")?.unwrap_or_else(|| "Search".to_owned());
        let documents = match options.get("ids").filter(|value| !value.is_nil()) {
            None => 20,
            Some(value) => documents(value)?,
        };
        if let Some((name, _)) = options
            .as_record()
            .unwrap_or_default()
            .iter()
            .find(|(name, _)| !PAGE_OPTIONS.contains(&name.as_str()))
        {
            let known = PAGE_OPTIONS.join(", ");
            return Err(invalid(format!("a search page has no option {name}; it has {known}")));
        }
        let name = text(options, "name")?.unwrap_or_else(|| title.clone());
        Ok(PageOptions {
            language: language(options)?,
            heading: text(options, "heading")?,
            subtitle: fields(options, "subtitle")?,
            text: text(options, "text")?,
            link: text(options, "link")?.map(|link| Link::read(&link)).transpose()?,
            labels: labels(options)?,
            documents,
            statistics: flag(options, "statistics")?,
            journal: JournalSettings {
                name,
                log: text(options, "log")?.map(Into::into),
                format: log_format(options)?,
                log_bytes: log_bytes(options)?,
                keep: text(options, "keep")?.map(Into::into),
            },
            title,
        })
    }

    /// What people call a category.
    pub(crate) fn label<'a>(&'a self, category: &'a str) -> &'a str {
        let label = self.labels.iter().find(|(name, _)| name == category);
        label.map_or(category, |(_, label)| label)
    }
}

fn invalid(message: impl Into<String>) -> Error {
    Error::new(Kind::Invalid, message)
}

fn wrong(name: &str, what: &str) -> Error {
    invalid(format!("the option {name} of a search page is {what}"))
}

fn text(options: &Value, name: &str) -> Result<Option<String>> {
    match options.get(name) {
        None | Some(Value::Nil) => Ok(None),
        Some(Value::Text(text)) if !text.is_empty() => Ok(Some(text.clone())),
        Some(_) => Err(wrong(name, "a text")),
    }
}

fn flag(options: &Value, name: &str) -> Result<bool> {
    match options.get(name) {
        None | Some(Value::Nil) => Ok(false),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(_) => Err(wrong(name, "true or false")),
    }
}

fn documents(value: &Value) -> Result<usize> {
    let number = value.as_f64().unwrap_or_default();
    if number < 1.0 || number > MAX_PAGE_DOCUMENTS as f64 || number.fract() != 0.0 {
        return Err(wrong("ids", &format!("a number from 1 to {MAX_PAGE_DOCUMENTS}")));
    }
    Ok(number as usize)
}

fn fields(options: &Value, name: &str) -> Result<Vec<String>> {
    let field = |value: &Value| {
        let text = value.as_str().filter(|text| !text.is_empty());
        text.map(str::to_owned).ok_or_else(|| wrong(name, "a field, or a list of fields"))
    };
    match options.get(name) {
        None | Some(Value::Nil) => Ok(Vec::new()),
        Some(Value::List(list)) if list.len() > MAX_SHOWN_FIELDS => {
            Err(wrong(name, &format!("a list of at most {MAX_SHOWN_FIELDS} fields")))
        }
        Some(Value::List(list)) => list.iter().map(field).collect(),
        Some(other) => Ok(vec![field(other)?]),
    }
}

fn labels(options: &Value) -> Result<Vec<(String, String)>> {
    let expected = || wrong("labels", "a record of texts, such as #{ title: 'Title' }");
    match options.get("labels") {
        None | Some(Value::Nil) => Ok(Vec::new()),
        Some(Value::Record(fields)) => fields
            .iter()
            .map(|(name, label)| {
                Ok((name.clone(), label.as_str().ok_or_else(expected)?.to_owned()))
            })
            .collect(),
        Some(_) => Err(expected()),
    }
}

fn language(options: &Value) -> Result<String> {
    let language = text(options, "language")?.unwrap_or_else(|| "en".to_owned());
    match LANGUAGES.contains(&language.as_str()) {
        true => Ok(language),
        false => Err(wrong("language", &format!("one of {}", LANGUAGES.join(", ")))),
    }
}

fn log_format(options: &Value) -> Result<QueryLogFormat> {
    match text(options, "logFormat")?.as_deref() {
        None | Some("columns") => Ok(QueryLogFormat::Columns),
        Some("json") => Ok(QueryLogFormat::Json),
        Some(_) => Err(wrong("logFormat", "'columns' or 'json'")),
    }
}

/// A log of fewer bytes would begin a new file with almost every line.
const LEAST_LOG_BYTES: f64 = 65_536.0;

fn log_bytes(options: &Value) -> Result<Option<u64>> {
    let Some(value) = options.get("logBytes").filter(|value| !value.is_nil()) else {
        return Ok(None);
    };
    let bytes = value.as_f64().filter(|bytes| (LEAST_LOG_BYTES..=1e12).contains(bytes));
    match bytes {
        Some(bytes) => Ok(Some(bytes as u64)),
        None => {
            let least = runnel_text::size::shown(LEAST_LOG_BYTES as u64);
            Err(wrong("logBytes", &format!("a size, at least {least}")))
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn record<const N: usize>(fields: [(&str, Value); N]) -> Value {
        Value::record(fields)
    }

    #[test]
    fn options_are_read() {
        let fields = Value::List(vec!["author".into(), "year".into()]);
        let options = PageOptions::read(&record([
            ("title", "Books".into()),
            ("language", "de".into()),
            ("subtitle", fields),
            ("ids", Value::Int(5)),
            ("labels", record([("title", "Titel".into())])),
            ("logFormat", "json".into()),
        ]))
        .unwrap();
        assert_eq!((options.documents, options.language.as_str()), (5, "de"));
        assert_eq!(options.subtitle, ["author", "year"]);
        assert_eq!((options.label("title"), options.label("year")), ("Titel", "year"));
        assert_eq!(options.journal.name, "Books");
        assert_eq!(options.journal.format, QueryLogFormat::Json);
        assert!(PageOptions::read(&Value::Nil).is_ok());
    }

    #[test]
    fn wrong_options_say_what_is_expected() {
        for (name, value, said) in [
            ("titel", Value::Nil, "title"),
            ("title", Value::Int(1), "text"),
            ("language", "tlh".into(), "en, de"),
            ("ids", Value::Int(0), "1 to 100"),
            ("ids", Value::Int(1_000), "1 to 100"),
            ("labels", Value::Int(1), "record"),
            ("subtitle", Value::List(vec![Value::Nil]), "list of fields"),
            ("logFormat", "xml".into(), "'columns' or 'json'"),
            ("logBytes", Value::Int(1), "64 KB"),
            ("statistics", "yes".into(), "true or false"),
            ("link", "javascript:alert(1)".into(), "link"),
        ] {
            let error = PageOptions::read(&record([(name, value)])).err().unwrap();
            assert!(error.message.contains(said), "{name}: {error}");
        }
    }
}
