//! Answers: counted interpretations, pages of documents, sorting, facets and highlighting.

pub(crate) mod count_cache;
pub(crate) mod document_order;
pub(crate) mod facets;
pub(crate) mod flat_list;
pub(crate) mod highlight;
pub(crate) mod pager;
pub(crate) mod search_answer;
