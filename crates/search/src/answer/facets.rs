//! Facets: the values of a category among the documents of a query, with the number of each.
//!
//! A value is counted in the documents of all interpretations together. If the configuration of the
//! search depends on the categories of an interpretation, each value is a search of its own: that
//! of the query with the value as one more word.

use crate::answer::search_answer::SearchAnswer;
use crate::error::ConfigError;
use crate::index::posting_list::SeenSlots;
use crate::index::search_index::SearchIndex;
use crate::index::word_table::WordEntry;
use crate::query::filter::SearchFilter;
use crate::query::work_budget::WorkBudget;
use crate::request::Request;
use crate::search::{Search, read_index};
use std::ops::Deref;

/// Steps of work to read one value.
const VALUE: usize = 16;

/// Steps of work to add a value to the answer.
const TAKEN: usize = 72;

/// Steps of work of a search for one value, besides those that it counts itself.
const SEARCHED: usize = 250;

/// The documents in which values are counted.
enum FacetScope {
    /// All of the index.
    All,
    Some(SeenSlots),
}

impl Search {
    /// The values of a category with their counts, among the documents of a query. Each document
    /// counts once, in however many interpretations it is. The last word of the query is not
    /// partial here. Values come in the order in which they entered the index. Values with fewer
    /// than `at_least` documents (at least 1) are left out, as are the last ones once the work
    /// budget ([`MAX_WORK`](crate::MAX_WORK)) is spent.
    ///
    /// # Errors
    /// When the search has several indexes.
    pub fn facets(
        &self,
        category: &str,
        query: Option<&str>,
        at_least: usize,
    ) -> Result<Vec<(String, usize)>, ConfigError> {
        self.facets_passing(category, query, None, at_least)
    }

    /// [`facets`](Self::facets) among the documents that also pass a filter. Without a query, among
    /// all that pass.
    ///
    /// # Errors
    /// When the search has several indexes.
    pub fn facets_passing(
        &self,
        category: &str,
        query: Option<&str>,
        filter: Option<&SearchFilter>,
        at_least: usize,
    ) -> Result<Vec<(String, usize)>, ConfigError> {
        let [index] = self.indexes() else {
            return Err(ConfigError::new(format!(
                "facets of {category} were asked of a search over {} indexes; \
                 ask a search over one",
                self.indexes().len()
            )));
        };
        let guard = [read_index(index)];
        let Some(number) = guard[0].category_number(category) else {
            return Ok(Vec::new());
        };
        let mut query_only = SearchAnswer::new();
        query_only.query.parse(
            query.unwrap_or_default(),
            &self.config.tokenizer,
            self.config.reading(false),
        );
        let mut work = WorkBudget::new();
        let request = Request { filter, ..Request::new().ids(0).flat(true) };
        let within = match query.is_none() && filter.is_none() {
            true => Some(FacetScope::All),
            false => self.facet_scope(&guard, number, &request, query_only.clone(), &mut work),
        };
        let words = &guard[0].categories()[usize::from(number)];
        let mut values = Vec::new();
        let mut answer = SearchAnswer::new();
        for entry in words.words() {
            let count = match &within {
                Some(within) => count_value(entry, within, &mut work),
                None => {
                    let request = Request { filter, ..Request::new().ids(i64::MAX).unique(true) };
                    answer.query.clone_from(&query_only.query);
                    answer.query.push_exact(entry.word(), number);
                    let enough = work.spend(SEARCHED);
                    enough.then(|| {
                        self.run_within(&guard, &request, &mut answer, &mut work);
                        answer.total()
                    })
                }
            };
            let Some(count) = count else {
                break;
            };
            if count < at_least.max(1) {
                continue;
            }
            if !work.spend(TAKEN) {
                break;
            }
            values.push((entry.word().to_owned(), count));
        }
        Ok(values)
    }

    /// The documents of a query, or `None` if each value needs a search of its own.
    fn facet_scope<I: Deref<Target = SearchIndex>>(
        &self,
        index: &[I; 1],
        category: u8,
        request: &Request<'_>,
        mut answer: SearchAnswer,
        work: &mut WorkBudget,
    ) -> Option<FacetScope> {
        let config = &self.config;
        let by_categories = !config.only.is_empty()
            || !config.ignored_lists.is_empty()
            || !config.ignored_categories.is_empty();
        let grid = index[0].categories()[usize::from(category)].config().grid.is_some();
        if by_categories || config.max_allocations.is_some() || config.ignore_unassigned || grid {
            return None;
        }
        let nothing_said = answer.query.places.is_empty() && answer.query.excluded.is_empty();
        if nothing_said && request.filter.is_none() {
            return Some(FacetScope::All);
        }
        self.run_within(index, request, &mut answer, work).pop().map(FacetScope::Some)
    }
}

/// The number of documents with a value, or `None` once the budget is spent.
fn count_value(entry: WordEntry<'_>, within: &FacetScope, work: &mut WorkBudget) -> Option<usize> {
    let posting = entry.posting();
    match within {
        FacetScope::All => work.spend(VALUE).then_some(posting.len()),
        FacetScope::Some(slots) => {
            let enough = work.spend(VALUE + posting.len());
            enough.then(|| posting.iter().filter(|slot| slots.contains(*slot)).count())
        }
    }
}
