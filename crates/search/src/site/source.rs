//! What a search page searches.

use super::PageFile;
use crate::{Highlighter, Id, Request, SearchAnswer};
use bytes::Bytes;
use runnel_store::{Answer as StoreAnswer, Context, Store, Value};
use std::path::PathBuf;
use std::rc::Rc;

/// One or several indexes with the documents that were put into them.
pub trait PageSource {
    /// Searches, with the memory of an earlier answer.
    fn search_into(&self, query: &str, request: &Request<'_>, answer: &mut SearchAnswer);

    /// A document as it was put: the text of a JSON object. The index is that of the interpretation
    /// ([`crate::Allocation::index`]).
    fn document(&self, index: usize, id: &Id) -> Option<Bytes>;

    /// Shows `look` what finds the matches of an answer in the documents of an index. A source that
    /// has nothing of this kind does nothing.
    fn highlight(
        &self,
        index: usize,
        answer: &SearchAnswer,
        look: &mut dyn FnMut(&Highlighter<'_>),
    ) {
        let _ = (index, answer, look);
    }

    /// The same as a store, for graphs of what a program is made of.
    fn store(&self) -> Option<Rc<dyn Store>> {
        None
    }

    /// The folder in which its documents are kept, and with them what belongs to a page.
    fn folder(&self) -> Option<PathBuf> {
        None
    }

    /// Whether there are several indexes, so that interpretations say which one they are of.
    fn is_several(&self) -> bool {
        false
    }
}

/// Makes markup of a document, as a block of a program does: it answers HTML, in which texts are
/// escaped. The context is that of the request.
pub type PageTemplate = Rc<dyn Fn(Value, &Context) -> StoreAnswer<String>>;

/// Renders the view of a name from its model. The context is that of the request.
pub type PageRender = Rc<dyn Fn(&str, Value, &Context) -> StoreAnswer<String>>;

/// What a page looks like. The engine decides what stands on a page and hands it over as a plain
/// value; the views make HTML of it.
pub struct PageViews {
    /// Renders the view of a name (`page`, `results`, `statistics`) from its model. `results`
    /// answers a JSON list with the HTML of each result.
    pub render: PageRender,
    /// Renders a document as the program says, instead of by its fields.
    pub result: Option<PageTemplate>,
    /// The files that a page loads: `search.js`, `search.css`, `icon.svg`.
    pub files: Vec<PageFile>,
}
