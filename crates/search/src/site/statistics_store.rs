//! The statistics of a search page, as a store of their own.

use super::assets::Asset;
use super::options::PageOptions;
use super::search_page::{html, json};
use super::{Journal, headers, kept, moment, statistics_page};
use runnel_store::{Answer, Content, Context, Reference, Store, Value, Verb, Verbs, json::text};
use std::rc::Rc;
use std::sync::Arc;
use std::time::SystemTime;

/// What people search for on a page: at its root, and at `statistics`, a page; at `statistics.json`
/// all of it as JSON, times in seconds since 1970 and durations by their size.
///
/// Queries say much about people; the store is not part of the search page unless its options say
/// so, and is made to be served to those who run it.
#[derive(Clone)]
pub struct SearchStatistics {
    journal: Arc<Journal>,
    title: Rc<str>,
}

/// Whether a path below a search page is one of its statistics.
pub(crate) fn is_statistics(path: &str) -> bool {
    matches!(path, "statistics" | "statistics.json")
}

impl SearchStatistics {
    pub(crate) fn new(journal: Arc<Journal>, options: &PageOptions) -> SearchStatistics {
        SearchStatistics { journal, title: options.title.as_str().into() }
    }

    /// What has been counted up to now, as in `statistics.json`.
    pub fn value(&self) -> Value {
        kept::value(&self.journal.statistics())
    }
}

#[deny(clippy::missing_trait_methods)]
impl Store for SearchStatistics {
    fn get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        let path = reference.relative_path();
        if let Some(asset) = Asset::named(path) {
            return Answer::ok(Some(asset.content(reference.query(), context)));
        }
        let base = match path {
            "" => headers::base(context),
            // The files are beside it.
            _ => String::new(),
        };
        let content = match path {
            "" | "statistics" => {
                let now = moment::seconds(SystemTime::now());
                let statistics = self.journal.statistics();
                html(statistics_page::page(&self.title, &base, now, &statistics))
            }
            "statistics.json" => json(text(&self.value())),
            _ => return Answer::ok(None),
        };
        headers::set(context, headers::FOR_PAGE);
        Answer::ok(Some(content))
    }

    fn verbs(&self, _: &Reference) -> Verbs {
        Verbs::NONE.with(Verb::Get)
    }

    runnel_store::without!(
        put, post, merge, delete, list, keys, query, watch, tables, conditions, links, as_any,
        sources
    );

    fn describe(&self) -> String {
        format!("search statistics {}", self.title)
    }
}
