//! The request of a search: page, sorting and filter.

use crate::answer::document_order::DocumentOrder;
use crate::collection::id::Id;
use crate::query::filter::SearchFilter;
use std::cmp::Ordering;

/// A comparison of two documents.
pub type Compare<'a> = &'a dyn Fn(&Id, &Id) -> Ordering;

/// The options of one search: page, sorting and filter.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    pub(crate) ids: i64,
    pub(crate) offset: i64,
    pub(crate) unique: bool,
    pub(crate) separate: bool,
    pub(crate) sort: Option<Compare<'a>>,
    pub(crate) filter: Option<&'a SearchFilter>,
    pub(crate) order: Option<&'a DocumentOrder>,
    pub(crate) flat: bool,
}

impl Default for Request<'_> {
    fn default() -> Self {
        Request {
            ids: 20,
            offset: 0,
            unique: false,
            separate: false,
            sort: None,
            filter: None,
            order: None,
            flat: false,
        }
    }
}

impl<'a> Request<'a> {
    /// Whether the documents are sorted, instead of in the order of their index.
    pub(crate) fn is_sorted(&self) -> bool {
        self.sort.is_some() || self.order.is_some()
    }

    /// The first 20 documents.
    pub fn new() -> Request<'a> {
        Request::default()
    }

    /// Limits the documents to this many. With 0 or less the answer has counts only.
    pub fn ids(mut self, ids: i64) -> Request<'a> {
        self.ids = ids;
        self
    }

    /// Skips this many documents. A negative number counts from the end of an interpretation.
    pub fn offset(mut self, offset: i64) -> Request<'a> {
        self.offset = offset;
        self
    }

    /// Shows each document once, in its best interpretation.
    pub fn unique(mut self, unique: bool) -> Request<'a> {
        self.unique = unique;
        self
    }

    /// With [`unique`](Self::unique), treats equal identifiers of different indexes as different
    /// documents. Otherwise they are the same document.
    pub fn separate(mut self, separate: bool) -> Request<'a> {
        self.separate = separate;
        self
    }

    /// Sorts documents within each interpretation, instead of keeping the order of the index.
    pub fn sort_by(mut self, compare: Compare<'a>) -> Request<'a> {
        self.sort = Some(compare);
        self
    }

    /// Limits the search to documents that pass a filter from
    /// [`Search::filter`](crate::Search::filter); counts and totals include only these. A query
    /// without words then finds all of them.
    pub fn filter(mut self, filter: &'a SearchFilter) -> Request<'a> {
        self.filter = Some(filter);
        self
    }

    /// Sorts documents by attributes, with an order from [`Search::order`](crate::Search::order):
    /// within each interpretation, or over all of them with [`flat`](Self::flat).
    pub fn order(mut self, order: &'a DocumentOrder) -> Request<'a> {
        self.order = Some(order);
        self
    }

    /// Returns one list of the documents of all interpretations, each of them once, instead of one
    /// list for each interpretation: see [`SearchAnswer::flat`](crate::SearchAnswer::flat). Without
    /// an order, the documents of the best interpretation come first.
    pub fn flat(mut self, flat: bool) -> Request<'a> {
        self.flat = flat;
        self
    }
}
