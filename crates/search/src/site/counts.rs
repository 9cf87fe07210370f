//! Answers for programs: `live` and `full`.

use super::found::hits;
use super::options::{MAX_PAGE_DOCUMENTS, PageOptions};
use super::result::Hit;
use super::source::PageSource;
use crate::format::number::write_microseconds;
use crate::{Request, SearchAnswer, leading_integer};
use runnel_store::{Value, json};
use runnel_text::form;

/// Documents that are left out before the first at most.
const MAX_OFFSET: i64 = 10_000_000;

/// The value of the first parameter with this name.
pub(crate) fn parameter(query: Option<&str>, name: &str) -> Option<String> {
    Some(form::field(query?.as_bytes(), name)?.into_owned())
}

/// What is asked for: `query=alan+p&ids=20&offset=0&unique=true`.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) query: String,
    ids: i64,
    offset: i64,
    unique: bool,
    /// Whether interpretations are listed; the count during typing needs none.
    listed: bool,
}

impl Asked {
    /// Reads the query of a reference; documents are as many as said, but at most
    /// [`MAX_PAGE_DOCUMENTS`]. Numbers are read as the engine reads them: what is none is 0.
    pub(crate) fn of(query: Option<&str>, documents: usize) -> Asked {
        let number = |name| parameter(query, name).map(|text| leading_integer(&text));
        let usual = documents as i64;
        Asked {
            query: parameter(query, "query").unwrap_or_default(),
            ids: number("ids").unwrap_or(usual).clamp(0, MAX_PAGE_DOCUMENTS as i64),
            offset: number("offset").unwrap_or(0).clamp(0, MAX_OFFSET),
            unique: parameter(query, "unique").is_some_and(|text| text == "true"),
            listed: parameter(query, "allocations").is_none_or(|text| text != "0"),
        }
    }

    /// The same without documents.
    pub(crate) fn counting(self) -> Asked {
        Asked { ids: 0, ..self }
    }

    pub(crate) fn search(&self, source: &dyn PageSource) -> SearchAnswer {
        let request =
            Request::new().ids(self.ids).offset(self.offset).unique(self.unique).separate(true);
        let mut answer = SearchAnswer::new();
        source.search_into(&self.query, &request, &mut answer);
        answer
    }
}

/// The answer without documents as JSON.
pub(crate) fn counted(asked: &Asked, answer: &SearchAnswer) -> Vec<u8> {
    let mut out = Vec::new();
    if asked.listed {
        answer.write_json(&mut out);
    } else {
        let (offset, total) = (answer.offset(), answer.total());
        out.extend_from_slice(format!(r#"{{"allocations":[],"offset":{offset},"#).as_bytes());
        out.extend_from_slice(br#""duration":"#);
        let microseconds = answer.duration().as_micros();
        write_microseconds(u64::try_from(microseconds).unwrap_or(u64::MAX), &mut out);
        out.extend_from_slice(format!(r#","total":{total}}}"#).as_bytes());
    }
    out
}

/// The documents of all interpretations, in order.
pub(crate) fn all_hits(
    source: &dyn PageSource,
    options: &PageOptions,
    answer: &SearchAnswer,
) -> Vec<Hit> {
    let of = |allocation: crate::Allocation<'_>| {
        hits(source, options, answer, allocation.index(), allocation.ids())
    };
    answer.allocations().flat_map(of).collect()
}

/// The answer as JSON, in which each interpretation has a further element: its documents as HTML.
pub(crate) fn with_results(answer: &SearchAnswer, results: Vec<Value>) -> Vec<u8> {
    let mut out = Vec::new();
    let mut results = results.into_iter();
    answer.write_json_with(&mut out, |allocation, out| {
        out.push(b',');
        let mine = results.by_ref().take(allocation.ids().len()).collect();
        out.extend_from_slice(&json::text(&Value::List(mine)));
    });
    out
}
