//! Search pages of a program: `#SearchPage{ index: books, … }` and `#SearchStatistics{ page: … }`.

use bytes::Bytes;
use runnel_search::{
    Highlighter, Id, PageFile, PageOptions, PageSource, PageViews, Request, SearchAnswer,
    SearchPage, SearchStore,
};
use runnel_store::{Answer, Body, Content, Context, Error, Kind, Reference, Store, Value};
use std::path::PathBuf;
use std::rc::Rc;

/// Bytes of HTML of one page at most: 100 results of 1 MiB are far below.
const PAGE_BYTES: usize = 64 << 20;

/// The store of a kind, over the stores that are named.
pub(crate) fn make(
    kind: &str,
    options: &Value,
    sources: &[(String, Rc<dyn Store>)],
) -> Result<Rc<dyn Store>, Error> {
    let named = |name: &str| {
        let found = sources.iter().find(|(known, _)| known == name);
        found.map(|(_, store)| store.clone())
    };
    match kind {
        "searchPage" => {
            let index = Rc::new(IndexOf::of(named("index"))?);
            let options = PageOptions::read(options)?;
            let Some(views) = named("views") else {
                return Err(Error::new(Kind::Failed, "a search page has no views"));
            };
            let views = page_views(views, named("result"));
            Ok(Rc::new(SearchPage::new(index, options, views)?))
        }
        "searchStatistics" => {
            let page = named("page");
            let page = page.as_ref().and_then(|page| page.as_any()?.downcast_ref::<SearchPage>());
            let Some(page) = page else {
                let message = "the `page` of a SearchStatistics has to be a SearchPage";
                return Err(Error::new(Kind::Invalid, message));
            };
            Ok(Rc::new(page.statistics()))
        }
        _ => Err(Error::new(Kind::Invalid, format!("there is no store `{kind}`"))),
    }
}

/// The index of a program, whose store is a [`SearchStore`].
struct IndexOf(Rc<dyn Store>);

impl IndexOf {
    fn of(index: Option<Rc<dyn Store>>) -> Result<IndexOf, Error> {
        let index = index.map(IndexOf).filter(|index| index.index().is_some());
        index.ok_or_else(|| {
            let message = "the `index` of a SearchPage has to be a SearchIndex or a Search";
            Error::new(Kind::Invalid, message)
        })
    }

    fn index(&self) -> Option<&SearchStore> {
        self.0.as_any()?.downcast_ref()
    }
}

impl PageSource for IndexOf {
    fn search_into(&self, query: &str, request: &Request<'_>, answer: &mut SearchAnswer) {
        if let Some(store) = self.index() {
            store.search_into(query, request, answer);
        }
    }

    fn document(&self, index: usize, id: &Id) -> Option<Bytes> {
        self.index()?.document(index, id)
    }

    fn highlight(
        &self,
        index: usize,
        answer: &SearchAnswer,
        look: &mut dyn FnMut(&Highlighter<'_>),
    ) {
        if let Some(store) = self.index() {
            store.highlight(index, answer, look);
        }
    }

    fn store(&self) -> Option<Rc<dyn Store>> {
        Some(self.0.clone())
    }

    fn folder(&self) -> Option<PathBuf> {
        self.index()?.folder()
    }

    fn is_several(&self) -> bool {
        self.index().is_some_and(PageSource::is_several)
    }
}

/// The views of the standard program, and the block of the user's program that renders a document.
fn page_views(views: Rc<dyn Store>, result: Option<Rc<dyn Store>>) -> PageViews {
    let text = |name: &str| runnel_runtime::standard_file(name).unwrap_or_default().into_owned();
    let style = text("design.css") + &text("search/search.css");
    PageViews {
        render: Rc::new(move |view, model, context| post(&views, view, model, context)),
        result: result.map(|result| -> runnel_search::PageTemplate {
            Rc::new(move |document, context| post(&result, "", document, context))
        }),
        files: vec![
            PageFile::new("search.js", "text/javascript; charset=utf-8", text("search/search.js")),
            PageFile::new("search.css", "text/css; charset=utf-8", style),
            PageFile::new("icon.svg", "image/svg+xml", text("search/icon.svg")),
        ],
    }
}

/// The text that a store answers to a post of a value.
fn post(store: &Rc<dyn Store>, path: &str, value: Value, context: &Context) -> Answer<String> {
    let posted = store.post(&Reference::from_path(path), Content::value(value), context);
    posted.and_then(|posted| match posted.content {
        Some(content) if !matches!(content.body, Body::Empty) => Answer::later(async move {
            let bytes = content.read(PAGE_BYTES).await?;
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        }),
        _ => Answer::ok(String::new()),
    })
}
