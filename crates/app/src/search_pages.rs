//! Search pages of a program: `#SearchPage{ index: books, … }` and `#SearchStatistics{ page: … }`.

use bytes::Bytes;
use runnel_search::{
    Highlighter, Id, PageOptions, PageSource, PageTemplate, Request, SearchAnswer, SearchPage,
    SearchStore,
};
use runnel_store::{Answer, Body, Context, Error, Kind, Reference, Store, Value};
use std::path::PathBuf;
use std::rc::Rc;

/// Bytes of markup that a program makes of one document at most.
const RESULT_BYTES: usize = 1 << 20;

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
            let mut options = PageOptions::read(options)?;
            if let Some(result) = named("result") {
                options = options.template(template(result));
            }
            Ok(Rc::new(SearchPage::new(index, options)?))
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

/// The block of a program that shows a document, as a store that answers what is posted.
fn template(result: Rc<dyn Store>) -> PageTemplate {
    Rc::new(move |document: Value, context: &Context| {
        let content = runnel_store::Content::value(document);
        let posted = result.post(&Reference::from_path(""), content, context);
        posted.and_then(|posted| match posted.content {
            Some(content) if !matches!(content.body, Body::Empty) => Answer::later(async move {
                let bytes = content.read(RESULT_BYTES).await?;
                Ok(String::from_utf8_lossy(&bytes).into_owned())
            }),
            _ => Answer::ok(String::new()),
        })
    })
}
