//! What a search page searches.

use crate::{Answer, Collection, Id, Request};
use bytes::Bytes;
use runnel_store::{Answer as StoreAnswer, Value};
use std::rc::Rc;
use std::sync::Arc;

/// One or several indexes with the documents that were put into them.
pub trait PageSource {
    /// Searches, with the memory of an earlier answer.
    fn search_into(&self, query: &str, request: &Request<'_>, answer: &mut Answer);

    /// A document as it was put: the text of a JSON object. The index is that of the interpretation
    /// ([`crate::Allocation::index`]).
    fn document(&self, index: usize, id: &Id) -> Option<Bytes>;

    /// Whether there are several indexes, so that interpretations say which one they are of.
    fn is_several(&self) -> bool {
        false
    }
}

impl PageSource for Arc<Collection> {
    fn search_into(&self, query: &str, request: &Request<'_>, answer: &mut Answer) {
        Collection::search_into(self, query, request, answer);
    }

    fn document(&self, _: usize, id: &Id) -> Option<Bytes> {
        Collection::document(self, id)
    }
}

/// Makes markup of a document, as a block of a program does: it answers HTML, in which texts are
/// escaped.
pub type PageTemplate = Rc<dyn Fn(Value) -> StoreAnswer<String>>;
