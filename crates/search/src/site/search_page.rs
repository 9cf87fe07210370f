//! The addresses of a search page.

use super::assets::{addresses, file};
use super::counts::{Asked, all_hits, counted, parameter, with_results};
use super::found::{MAX_PAGE, ResultPage, find};
use super::headers::{self, html, json};
use super::options::PageOptions;
use super::result::{Hit, id_text};
use super::source::PageSource;
use super::statistics_store::{SearchStatistics, is_statistics};
use super::{Journal, PageViews};
use crate::site::query_log::event::{SearchEvent, SearchKind};
use crate::site::statistics::seconds;
use crate::{MAX_QUERY_CHARS, SearchAnswer, leading_integer};
use runnel_store::{
    Answer as StoreAnswer, Content, Context, Error, Kind as ErrorKind, Reference, Result, Store,
    Value, Verb, Verbs, json as store_json,
};
use runnel_text::form;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// A search page for people.
///
/// - at its root the page; with `?q=alan+p` and perhaps `&page=2` the page with results;
/// - `live?query=` answers the engine's JSON without documents: how many there are; with
///   `&allocations=0` the total alone;
/// - `full?query=&ids=&offset=` answers the engine's JSON, and documents as markup in a further
///   element of each interpretation;
/// - `statistics` and `statistics.json`, where the options say so;
/// - `search.js`, `search.css` and `icon.svg`, which the page needs.
///
/// It is read-only, and records searches in its [`Journal`].
pub struct SearchPage {
    inner: Rc<Inner>,
    statistics: SearchStatistics,
}

struct Inner {
    source: Rc<dyn PageSource>,
    options: PageOptions,
    views: Rc<PageViews>,
    journal: Arc<Journal>,
}

impl SearchPage {
    /// A page over a source. Its statistics are kept in the folder of the source, where it has one
    /// and the options name no other file.
    ///
    /// # Errors
    /// What is wrong with the query log ([`Journal::of`]).
    pub fn new(
        source: Rc<dyn PageSource>,
        mut options: PageOptions,
        views: PageViews,
    ) -> Result<SearchPage> {
        if options.journal.keep.is_none()
            && let Some(folder) = source.folder()
        {
            let name = form::encode(&options.journal.name);
            options.journal.keep = Some(folder.join(format!("statistics-{name}.json")));
        }
        let journal = Journal::of(&options.journal)?;
        let views = Rc::new(views);
        let statistics = SearchStatistics::new(journal.clone(), &options, views.clone());
        Ok(SearchPage { inner: Rc::new(Inner { source, options, views, journal }), statistics })
    }

    /// A store of what people search for on this page, which can be served elsewhere: on a port for
    /// those who run it.
    pub fn statistics(&self) -> SearchStatistics {
        self.statistics.clone()
    }

    fn page(&self, reference: &Reference, context: &Context) -> StoreAnswer<Option<Content>> {
        let query = reference.query();
        let asked = parameter(query, "q").unwrap_or_default();
        let asked = cut(asked.trim());
        let base = headers::base(context);
        let inner = self.inner.clone();
        if asked.is_empty() {
            return inner.page(asked, &base, Value::Nil, context);
        }
        let page = parameter(query, "page").map_or(1, |page| leading_integer(&page));
        let page = usize::try_from(page).unwrap_or(1).clamp(1, MAX_PAGE);
        let found = find(&*inner.source, &inner.options, asked, page);
        let chosen = parameter(query, "via").is_some_and(|via| via == "choice");
        inner.tell_page(&found, chosen);
        let hits = found.groups.iter().flat_map(|group| group.hits.clone()).collect();
        let Some(rendered) = inner.rendered(hits, context) else {
            return inner.page(&found.query, &base, found.value(&inner.options, None), context);
        };
        let context = context.clone();
        StoreAnswer::later(async move {
            let model = found.value(&inner.options, Some(rendered.await?));
            inner.page(&found.query, &base, model, &context).await
        })
    }

    fn live(&self, reference: &Reference) -> StoreAnswer<Option<Content>> {
        let inner = &self.inner;
        let asked = Asked::of(reference.query(), 0).counting();
        let answer = asked.search(&*inner.source);
        inner.tell(SearchKind::Live, &asked.query, &answer);
        StoreAnswer::ok(Some(json(counted(&asked, &answer))))
    }

    fn full(&self, reference: &Reference, context: &Context) -> StoreAnswer<Option<Content>> {
        let inner = &self.inner;
        let asked = Asked::of(reference.query(), inner.options.documents);
        let answer = asked.search(&*inner.source);
        inner.tell(SearchKind::Full, &asked.query, &answer);
        let hits = all_hits(&*inner.source, &inner.options, &answer);
        if let Some(rendered) = inner.rendered(hits.clone(), context) {
            return rendered.map(move |results| {
                let results = results.into_iter().map(Value::Text).collect();
                Some(json(with_results(&answer, results)))
            });
        }
        let shown = Value::List(hits.into_iter().map(|hit| hit.shown).collect());
        (inner.views.render)("results", shown, context).and_then(move |results| {
            let Ok(Value::List(results)) = store_json::parse(results.as_bytes()) else {
                return Error::new(ErrorKind::Failed, "the view of results is no list").into();
            };
            StoreAnswer::ok(Some(json(with_results(&answer, results))))
        })
    }
}

impl Inner {
    /// The page of a query; `found` is nil before a search.
    fn page(
        &self,
        query: &str,
        base: &str,
        found: Value,
        context: &Context,
    ) -> StoreAnswer<Option<Content>> {
        let model = Value::record([
            ("title", self.options.title.as_str().into()),
            ("language", self.options.language.as_str().into()),
            ("base", base.into()),
            ("files", addresses(&self.views.files, base)),
            ("query", query.into()),
            ("maxLength", (MAX_QUERY_CHARS as u64).into()),
            ("found", found),
        ]);
        (self.views.render)("page", model, context).map(|page| Some(html(page)))
    }

    /// The documents as the program renders them, where it does.
    fn rendered(&self, hits: Vec<Hit>, context: &Context) -> Option<StoreAnswer<Vec<String>>> {
        let template = self.views.result.clone()?;
        let context = context.clone();
        Some(StoreAnswer::later(async move {
            let mut results = Vec::with_capacity(hits.len());
            for hit in hits {
                let id = Value::Text(id_text(&hit.id));
                let empty = || Value::record([("id", id)]);
                results.push(template(hit.document.unwrap_or_else(empty), &context).await?);
            }
            Ok(results)
        }))
    }

    fn tell_page(&self, found: &ResultPage, chosen: bool) {
        let meaning = found.groups.first().map(|group| group.meaning.categories());
        self.journal.tell(SearchEvent {
            total: found.total,
            offset: found.offset(&self.options) as i64,
            interpretations: found.interpretations,
            chosen: meaning.filter(|_| chosen),
            ..event(SearchKind::Full, &found.query, found.duration)
        });
    }

    fn tell(&self, kind: SearchKind, query: &str, answer: &SearchAnswer) {
        self.journal.tell(SearchEvent {
            total: answer.total(),
            offset: answer.offset(),
            interpretations: answer.considered(),
            ..event(kind, query, answer.duration())
        });
    }
}

fn event(kind: SearchKind, query: &str, duration: Duration) -> SearchEvent {
    SearchEvent {
        seconds: seconds(SystemTime::now()),
        kind,
        query: cut(query).to_owned(),
        duration,
        total: 0,
        offset: 0,
        interpretations: 0,
        chosen: None,
    }
}

/// A query as long as those that are searched for.
fn cut(query: &str) -> &str {
    query.char_indices().nth(MAX_QUERY_CHARS).map_or(query, |(end, _)| &query[..end])
}

#[deny(clippy::missing_trait_methods)]
impl Store for SearchPage {
    fn get(&self, reference: &Reference, context: &Context) -> StoreAnswer<Option<Content>> {
        let path = reference.relative_path();
        if let Some(content) = file(&self.inner.views.files, path, reference.query(), context) {
            return StoreAnswer::ok(Some(content));
        }
        if self.inner.options.statistics && is_statistics(path) {
            return self.statistics.get(reference, context);
        }
        match path {
            "" => {
                headers::set(context, headers::FOR_PAGE);
                self.page(reference, context)
            }
            "live" => {
                headers::set(context, headers::FOR_PAGE);
                self.live(reference)
            }
            "full" => {
                headers::set(context, headers::FOR_PAGE);
                self.full(reference, context)
            }
            _ => StoreAnswer::ok(None),
        }
    }

    fn verbs(&self, _: &Reference) -> Verbs {
        Verbs::NONE.with(Verb::Get)
    }

    fn as_any(&self) -> Option<&dyn std::any::Any> {
        Some(self)
    }

    fn sources(&self) -> Vec<(String, Rc<dyn Store>)> {
        self.inner.source.store().map(|store| ("index".to_owned(), store)).into_iter().collect()
    }

    runnel_store::without!(
        put, post, merge, delete, list, keys, attributes, relocate, query, watch, tables,
        conditions, links
    );

    fn describe(&self) -> String {
        format!("search page {}", self.inner.options.title)
    }
}
