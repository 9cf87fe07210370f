//! The inverted index: categories with their words, posting lists and attributes of documents.
//!
//! What a query means, and which documents an answer lists, is decided in [`query`](crate::query)
//! and [`answer`](crate::answer).

pub(crate) mod attributes;
pub(crate) mod category;
pub(crate) mod category_index;
pub(crate) mod distinct_texts;
pub(crate) mod document_words;
pub(crate) mod grid;
pub(crate) mod intersection;
pub(crate) mod partial;
pub(crate) mod posting_list;
pub(crate) mod search_index;
pub(crate) mod similarity;
pub(crate) mod slot_bits;
pub(crate) mod weight;
pub(crate) mod word_table;
