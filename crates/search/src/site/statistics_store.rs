//! The statistics of a search page, as a store of their own.

use super::assets::{addresses, file};
use super::headers::{self, html, json};
use super::options::PageOptions;
use super::{Journal, PageViews};
use crate::site::statistics::saved;
use crate::site::statistics::seconds;
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
    views: Rc<PageViews>,
}

/// Whether a path below a search page is one of its statistics.
pub(crate) fn is_statistics(path: &str) -> bool {
    matches!(path, "statistics" | "statistics.json")
}

impl SearchStatistics {
    pub(crate) fn new(
        journal: Arc<Journal>,
        options: &PageOptions,
        views: Rc<PageViews>,
    ) -> SearchStatistics {
        SearchStatistics { journal, title: options.title.as_str().into(), views }
    }

    /// The counts, as in `statistics.json`.
    pub fn value(&self) -> Value {
        saved::value(&self.journal.statistics())
    }
}

#[deny(clippy::missing_trait_methods)]
impl Store for SearchStatistics {
    fn get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        let path = reference.relative_path();
        if let Some(content) = file(&self.views.files, path, reference.query(), context) {
            return Answer::ok(Some(content));
        }
        let base = match path {
            "" => headers::base(context),
            // The files are beside it.
            _ => String::new(),
        };
        match path {
            "" | "statistics" => {
                headers::set(context, headers::FOR_PAGE);
                let model = Value::record([
                    ("title", (&*self.title).into()),
                    ("now", seconds(SystemTime::now()).into()),
                    ("base", base.as_str().into()),
                    ("files", addresses(&self.views.files, &base)),
                    ("counted", self.value()),
                ]);
                (self.views.render)("statistics", model, context).map(|page| Some(html(page)))
            }
            "statistics.json" => {
                headers::set(context, headers::FOR_PAGE);
                Answer::ok(Some(json(text(&self.value()))))
            }
            _ => Answer::ok(None),
        }
    }

    fn verbs(&self, _: &Reference) -> Verbs {
        Verbs::NONE.with(Verb::Get)
    }

    runnel_store::without!(
        put, post, merge, delete, list, keys, attributes, relocate, query, watch, tables,
        conditions, links, as_any, sources
    );

    fn describe(&self) -> String {
        format!("search statistics {}", self.title)
    }
}
