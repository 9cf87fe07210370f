//! The request of a search: page, order, filter, besides the query.

use crate::answer::document_order::DocumentOrder;
use crate::collection::id::Id;
use crate::query::filter::SearchFilter;
use std::cmp::Ordering;

/// How two documents compare.
pub type Compare<'a> = &'a dyn Fn(&Id, &Id) -> Ordering;

/// What is asked of a search besides the query.
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
    /// Whether documents are in another order than that of their index.
    pub(crate) fn is_sorted(&self) -> bool {
        self.sort.is_some() || self.order.is_some()
    }

    /// The first 20 documents.
    pub fn new() -> Request<'a> {
        Request::default()
    }

    /// At most this many documents. None with 0 or less: then the answer has counts only.
    pub fn ids(mut self, ids: i64) -> Request<'a> {
        self.ids = ids;
        self
    }

    /// Leaves out this many documents before the first. A negative number counts from the end of
    /// an interpretation.
    pub fn offset(mut self, offset: i64) -> Request<'a> {
        self.offset = offset;
        self
    }

    /// Shows each document once only, in the best of its interpretations.
    pub fn unique(mut self, unique: bool) -> Request<'a> {
        self.unique = unique;
        self
    }

    /// Takes documents of different indexes for different ones even if their identifiers are the
    /// same, where each is shown once. Otherwise an identifier means the same in all indexes.
    pub fn separate(mut self, separate: bool) -> Request<'a> {
        self.separate = separate;
        self
    }

    /// Sorts documents within each interpretation, instead of keeping the order of the index.
    pub fn sort_by(mut self, compare: Compare<'a>) -> Request<'a> {
        self.sort = Some(compare);
        self
    }

    /// Finds only documents that pass a filter, which comes from [`Search::filter`](crate::Search::filter). Counts and
    /// totals are those of what is left. A query without words then finds all that pass.
    pub fn filter(mut self, filter: &'a SearchFilter) -> Request<'a> {
        self.filter = Some(filter);
        self
    }

    /// Sorts documents by attributes, in an order that comes from [`Search::order`](crate::Search::order): within each
    /// interpretation, or over all of them with [`flat`](Self::flat).
    pub fn order(mut self, order: &'a DocumentOrder) -> Request<'a> {
        self.order = Some(order);
        self
    }

    /// Returns one list of the documents of all interpretations, each of them once, instead of one
    /// list for each interpretation: see [`SearchAnswer::flat`](crate::SearchAnswer::flat). Without an order,
    /// the documents of the best interpretation come first.
    pub fn flat(mut self, flat: bool) -> Request<'a> {
        self.flat = flat;
        self
    }
}
