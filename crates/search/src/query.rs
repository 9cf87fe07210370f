//! Queries: parsing, the categories that know each word, interpretations, filters, and the budget.
//!
//! Documents of an interpretation are collected in [`answer`](crate::answer).

pub(crate) mod combination;
pub(crate) mod combiner;
pub(crate) mod filter;
pub(crate) mod interpretations;
pub(crate) mod parsed_query;
pub(crate) mod phrase;
pub(crate) mod preferences;
pub(crate) mod query_parts;
pub(crate) mod restriction;
pub(crate) mod string_range;
pub(crate) mod synonym_lookup;
pub(crate) mod synonyms;
pub(crate) mod typos;
pub(crate) mod work_budget;
