//! The parameters of a search: the query of its reference.

use crate::collection::id::leading_integer;
use crate::limits::MAX_SNIPPET_WORDS;
use runnel_store::{Error, Kind, Result};
use runnel_text::form;
use std::borrow::Cow;

/// Most documents of one answer; a higher `ids` is reduced to it.
pub const MAX_IDS: i64 = 100_000;

/// Most parameters of a search, and most facets.
pub const MAX_SEARCH_PARAMETERS: usize = 64;

/// The default number of words of a snippet.
const SNIPPET_WORDS: usize = 30;

/// The parameters of a search.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SearchParameters<'a> {
    pub(super) query: Cow<'a, str>,
    pub(super) ids: i64,
    pub(super) offset: i64,
    pub(super) unique: bool,
    pub(super) filter: Option<Cow<'a, str>>,
    pub(super) sort: Option<Cow<'a, str>>,
    pub(super) flat: bool,
    pub(super) documents: bool,
    pub(super) highlight: Vec<String>,
    pub(super) positions: bool,
    pub(super) snippet: Vec<String>,
    /// The approximate number of words of a snippet.
    pub(super) words: usize,
    pub(super) facets: Vec<String>,
    pub(super) at_least: usize,
}

impl<'a> SearchParameters<'a> {
    /// Parses `query=alan+p&ids=20&offset=0`. The last of repeated names counts.
    pub(super) fn read(text: &'a str) -> Result<SearchParameters<'a>> {
        let mut parameters = SearchParameters {
            query: Cow::Borrowed(""),
            ids: 20,
            offset: 0,
            unique: false,
            filter: None,
            sort: None,
            flat: false,
            documents: false,
            highlight: Vec::new(),
            positions: false,
            snippet: Vec::new(),
            words: SNIPPET_WORDS,
            facets: Vec::new(),
            at_least: 1,
        };
        for (name, value) in pairs(text)? {
            // Unknown parameters belong to others.
            let value = || decoded(name, value);
            match name {
                "query" => parameters.query = value()?,
                "ids" => parameters.ids = leading_integer(&value()?).min(MAX_IDS),
                "offset" => parameters.offset = leading_integer(&value()?),
                "unique" => parameters.unique = flag(name, &value()?)?,
                "flat" => parameters.flat = flag(name, &value()?)?,
                "documents" => parameters.documents = flag(name, &value()?)?,
                "highlight" => parameters.highlight = names(&value()?)?,
                "positions" => parameters.positions = flag(name, &value()?)?,
                "snippet" => parameters.snippet = names(&value()?)?,
                "words" => {
                    let words = leading_integer(&value()?).clamp(1, MAX_SNIPPET_WORDS as i64);
                    parameters.words = words as usize;
                }
                "filter" => parameters.filter = Some(value()?).filter(|text| !text.is_empty()),
                "sort" => parameters.sort = Some(value()?).filter(|text| !text.is_empty()),
                "facets" => parameters.facets = names(&value()?)?,
                "at_least" => {
                    let least = leading_integer(&value()?).max(1);
                    parameters.at_least = usize::try_from(least).unwrap_or(usize::MAX);
                }
                _ => {}
            }
        }
        Ok(parameters)
    }
}

/// Parses `columns=id,title,author` of a post: the columns of a table without a header.
pub(super) fn columns(text: &str) -> Result<Option<Vec<String>>> {
    let mut columns = None;
    for (name, value) in pairs(text)? {
        if name == "columns" {
            columns = Some(names(&decoded(name, value)?)?);
        }
    }
    Ok(columns)
}

fn pairs(text: &str) -> Result<impl Iterator<Item = (&str, &str)>> {
    if text.bytes().filter(|byte| *byte == b'&').count() >= MAX_SEARCH_PARAMETERS {
        let message = format!("a search has at most {MAX_SEARCH_PARAMETERS} parameters");
        return Err(Error::new(Kind::Invalid, message));
    }
    Ok(form::pairs(text))
}

/// Decodes a form value: `+` and `%20` are spaces.
fn decoded<'a>(name: &str, value: &'a str) -> Result<Cow<'a, str>> {
    form::decode(value).map_err(|_| {
        let message = format!("the parameter `{name}` is not UTF-8; escape it as UTF-8");
        Error::new(Kind::Invalid, message)
    })
}

fn flag(name: &str, text: &str) -> Result<bool> {
    match text {
        "true" | "1" | "" | "yes" | "on" => Ok(true),
        "false" | "0" | "no" | "off" => Ok(false),
        _ => {
            let message = format!("the parameter `{name}` is `true` or `false`");
            Err(Error::new(Kind::Invalid, message))
        }
    }
}

fn names(text: &str) -> Result<Vec<String>> {
    let names: Vec<String> =
        text.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect();
    if names.len() > MAX_SEARCH_PARAMETERS {
        let message = format!("at most {MAX_SEARCH_PARAMETERS} names are taken here");
        return Err(Error::new(Kind::Invalid, message));
    }
    Ok(names)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_read_as_the_original_reads_them() {
        let read = |text| SearchParameters::read(text).unwrap();
        let usual = read("");
        assert_eq!((&*usual.query, usual.ids, usual.offset), ("", 20, 0));
        let asked = read("query=alan+p%2A&ids=5abc&offset=x&other=%FF&unique=true");
        assert_eq!((&*asked.query, asked.ids, asked.offset), ("alan p*", 5, 0));
        assert!(asked.unique);
        assert_eq!(read("ids=3.9&offset=-2").ids, 3);
        assert_eq!(read("ids=3.9&offset=-2").offset, -2);
        assert_eq!(read("ids=99999999999999999999").ids, MAX_IDS);
        assert_eq!(read("query=a&query=b").query, "b");
        assert_eq!(read("query").query, "");
        assert_eq!(read("facets=year,,title&at_least=2").facets, ["year", "title"]);
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        let message = |text: &str| SearchParameters::read(text).unwrap_err().message;
        assert!(message("query=%FF").contains("UTF-8"));
        assert!(message("unique=maybe").contains("`unique`"));
        assert!(message(&"&".repeat(64)).contains("at most 64"));
    }
}
