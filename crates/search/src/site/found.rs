//! One page of results, and the model of it that the view gets.

use super::choice::{Choice, Excluded, FEW_RESULTS, Meaning, choices};
use super::options::PageOptions;
use super::result::{Hit, shown};
use super::source::PageSource;
use crate::{Highlighter, Id, Request, SearchAnswer};
use runnel_store::{Value, json};
use runnel_text::form;
use std::time::Duration;

/// Pages that can be looked at.
pub const MAX_PAGE: usize = 1_000;

/// Documents of one interpretation that are on the page.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) meaning: Meaning,
    /// The number of its first document among all results, from 1.
    pub(crate) first: usize,
    pub(crate) hits: Vec<Hit>,
}

/// One page of results.
#[derive(Clone, Debug)]
pub(crate) struct ResultPage {
    pub(crate) query: String,
    /// From 1.
    pub(crate) page: usize,
    pub(crate) pages: usize,
    /// Different documents on all pages.
    pub(crate) total: usize,
    pub(crate) groups: Vec<Group>,
    pub(crate) choices: Vec<Choice>,
    pub(crate) excluded: Excluded,
    pub(crate) interpretations: usize,
    pub(crate) duration: Duration,
}

impl ResultPage {
    /// How many documents are on the page, and on those before.
    pub(crate) fn offset(&self, options: &PageOptions) -> usize {
        (self.page - 1) * options.documents
    }

    /// What the view of the page gets. `rendered` are the results that the program renders itself.
    pub(crate) fn value(&self, options: &PageOptions, rendered: Option<Vec<String>>) -> Value {
        let mut rendered = rendered.map(Vec::into_iter);
        let mut hit = |hit: &Hit| match rendered.as_mut() {
            Some(rendered) => Value::record([("html", rendered.next().unwrap_or_default().into())]),
            None => hit.shown.clone(),
        };
        let mut groups = Vec::new();
        for group in &self.groups {
            let key = format!("{} {}", group.meaning.categories(), group.meaning.query());
            let mut fields = group.meaning.value(options);
            fields.push(("key", key.into()));
            fields.push(("first", (group.first as u64).into()));
            fields.push(("results", Value::List(group.hits.iter().map(&mut hit).collect())));
            groups.push(Value::record(fields));
        }
        let choice = |choice: &Choice| {
            let mut fields = choice.meaning.value(options);
            let query = self.excluded.around(&choice.meaning.query());
            fields.push(("query", form::encode(&query).into()));
            fields.push(("count", (choice.count as u64).into()));
            Value::record(fields)
        };
        Value::record([
            ("total", (self.total as u64).into()),
            ("query", form::encode(&self.query).into()),
            ("page", (self.page as u64).into()),
            ("pages", (self.pages as u64).into()),
            ("groups", Value::List(groups)),
            ("choices", Value::List(self.choices.iter().map(choice).collect())),
        ])
    }
}

/// Searches for one page. Each document is on one page only, in the best of its interpretations,
/// and the total is that of different documents; the choices say how many documents each
/// interpretation has for itself.
pub(crate) fn find(
    source: &dyn PageSource,
    options: &PageOptions,
    query: &str,
    page: usize,
) -> ResultPage {
    let page = page.clamp(1, MAX_PAGE);
    let offset = (page - 1) * options.documents;
    let request = Request::new()
        .ids(options.documents as i64)
        .offset(offset as i64)
        .unique(true)
        .separate(true);
    let mut answer = SearchAnswer::new();
    source.search_into(query, &request, &mut answer);
    let mut found = ResultPage {
        query: query.to_owned(),
        page,
        pages: answer.total().div_ceil(options.documents).min(MAX_PAGE),
        total: answer.total(),
        groups: groups(source, options, &answer, offset),
        choices: Vec::new(),
        excluded: Excluded::of(&answer, query),
        interpretations: answer.considered(),
        duration: answer.duration(),
    };
    if page == 1 && answer.considered() > 1 && found.total > FEW_RESULTS {
        source.search_into(query, &Request::new().ids(0), &mut answer);
        found.choices = choices(&answer, source.is_several());
    }
    found
}

fn groups(
    source: &dyn PageSource,
    options: &PageOptions,
    answer: &SearchAnswer,
    offset: usize,
) -> Vec<Group> {
    let mut first = offset + 1;
    let mut groups = Vec::new();
    for allocation in answer.allocations() {
        if allocation.ids().is_empty() {
            continue;
        }
        let meaning = Meaning::of(&allocation, source.is_several());
        let hits = hits(source, options, answer, allocation.index(), allocation.ids());
        let next = first + hits.len();
        groups.push(Group { meaning, first, hits });
        first = next;
    }
    groups
}

/// The documents of these identifiers, as they are shown.
pub(crate) fn hits(
    source: &dyn PageSource,
    options: &PageOptions,
    answer: &SearchAnswer,
    index: usize,
    ids: &[Id],
) -> Vec<Hit> {
    let hit = |id: &Id| {
        let text = source.document(index, id);
        // What was put was an object; anything else is shown as if there was nothing.
        let document = text.and_then(|text| json::parse(&text).ok());
        let document = document.filter(|value| matches!(value, Value::Record(_)));
        Hit { id: id.clone(), document, shown: Value::Nil }
    };
    let mut hits: Vec<Hit> = ids.iter().map(hit).collect();
    let mut show = |matches: Option<&Highlighter<'_>>| {
        for hit in &mut hits {
            if hit.shown.is_nil() {
                hit.shown = shown(&hit.id, hit.document.as_ref(), options, matches);
            }
        }
    };
    source.highlight(index, answer, &mut |matches| show(Some(matches)));
    show(None);
    hits
}
