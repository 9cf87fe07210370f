//! Search over one or more indexes.

use crate::answer::document_order::DocumentOrder;
use crate::answer::highlight::Markers;
use crate::answer::pager::{PagePosition, Pager};
use crate::answer::search_answer::{IndexIdentifier, SearchAnswer};
use crate::error::{ConfigError, RequestError};
use crate::index::posting_list::SeenSlots;
use crate::index::search_index::{Fidelity, SearchIndex};
use crate::index::slot_bits::SlotBits;
use crate::limits::MAX_INDEXES;
use crate::query::combiner::{Combiner, IndexScope};
use crate::query::filter::SearchFilter;
use crate::query::parsed_query::QuerySyntax;
use crate::query::preferences::{Boost, CategoryNameId, Preferences};
use crate::query::restriction::{self, Restriction};
use crate::query::synonyms::Synonyms;
use crate::query::work_budget::WorkBudget;
use crate::request::Request;
use crate::text::tokenizer::Tokenizer;
use std::ops::Deref;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};
use std::time::Instant;

/// Initial capacity: the lists of a short query over a few categories.
const LISTS_EXPECTED: usize = 8;

/// An index that searches read while others change it.
pub type SharedIndex = Arc<RwLock<SearchIndex>>;

/// The configuration of a search.
#[derive(Clone, Debug, Default)]
pub struct SearchConfig {
    pub(crate) tokenizer: Tokenizer,
    boosts: Vec<Boost>,
    pub(crate) max_allocations: Option<usize>,
    terminate_early: Option<usize>,
    pub(crate) ignored_categories: Vec<String>,
    pub(crate) ignored_lists: Vec<Vec<String>>,
    pub(crate) only: Vec<Vec<String>>,
    pub(crate) ignore_unassigned: bool,
    typos: usize,
    exclusions: Vec<char>,
    phrases: bool,
    synonyms: Synonyms,
    markers: Markers,
    fidelity: Fidelity,
}

impl SearchConfig {
    /// A search that splits queries at white space, without boosts.
    pub fn new() -> SearchConfig {
        SearchConfig::default()
    }

    /// Sets the tokenizer of queries.
    pub fn tokenizer(mut self, tokenizer: Tokenizer) -> SearchConfig {
        self.tokenizer = tokenizer;
        self
    }

    /// Adds a boost; it replaces an earlier one of the same categories.
    pub fn boost(mut self, boost: Boost) -> SearchConfig {
        self.boosts.push(boost);
        self
    }

    /// Evaluates only this many interpretations, the best ones.
    pub fn max_allocations(mut self, most: usize) -> SearchConfig {
        self.max_allocations = Some(most);
        self
    }

    /// Stops evaluation this many interpretations after the page is full. The total leaves out the
    /// interpretations not evaluated.
    pub fn terminate_early(mut self, extra: usize) -> SearchConfig {
        self.terminate_early = Some(extra);
        self
    }

    /// Removes words in this category from interpretations after sorting; the other words and the
    /// score stay.
    pub fn ignore(mut self, category: impl Into<String>) -> SearchConfig {
        self.ignored_categories.push(category.into());
        self
    }

    /// Leaves out interpretations with exactly these categories in this order; words next to each
    /// other in the same category count as one.
    pub fn ignore_list<C: Into<String>>(
        mut self,
        categories: impl IntoIterator<Item = C>,
    ) -> SearchConfig {
        self.ignored_lists.push(categories.into_iter().map(Into::into).collect());
        self
    }

    /// Leaves out interpretations with categories other than these and those of further calls.
    pub fn only<C: Into<String>>(
        mut self,
        categories: impl IntoIterator<Item = C>,
    ) -> SearchConfig {
        self.only.push(categories.into_iter().map(Into::into).collect());
        self
    }

    /// Skips words that no category has, instead of finding nothing.
    pub fn ignore_unassigned(mut self, ignore: bool) -> SearchConfig {
        self.ignore_unassigned = ignore;
        self
    }

    /// For a word that none of its categories has, takes the nearest words that they have, with at
    /// most this many typos: missing, extra, wrong or swapped letters. Words of four to seven
    /// letters may have one typo, longer ones two, shorter ones none. Answers show the word of the
    /// query and the word found. An addition to the original.
    pub fn typos(mut self, most: usize) -> SearchConfig {
        self.typos = most;
        self
    }

    /// Excludes the documents of words with this character in front, as `!` in `history !women`,
    /// even if the tokenizer would remove it. Such words are exact unless marked as partial. A
    /// query of excluded words alone finds all other documents. Call it again for a second
    /// character. An addition to the original.
    pub fn exclusion(mut self, marker: char) -> SearchConfig {
        self.exclusions.push(marker);
        self
    }

    /// Makes several words between quotes, as in `"alan turing"` and `title:"alan turing"`, a
    /// phrase: they must be next to each other in one category. Only indexed words count, so a stop
    /// word between them makes no difference. An index without the order of words
    /// ([`IndexConfig::phrases`](crate::IndexConfig::phrases)) requires the same category only. One
    /// word between quotes is exact with or without this, but in categories with stems it also
    /// finds the other forms, as the words of phrases do. An addition to the original, which treats
    /// all but the last of the words as if they had no quotes.
    pub fn phrases(mut self, phrases: bool) -> SearchConfig {
        self.phrases = phrases;
        self
    }

    /// Sets the synonyms. An addition to the original.
    pub fn synonyms(mut self, synonyms: Synonyms) -> SearchConfig {
        self.synonyms = synonyms;
        self
    }

    /// Sets the markers around matches in texts.
    pub fn mark_with(mut self, markers: Markers) -> SearchConfig {
        self.markers = markers;
        self
    }

    /// The markers around matches.
    pub fn markers(&self) -> &Markers {
        &self.markers
    }

    pub(crate) fn reading(&self, last_partial: bool) -> QuerySyntax<'_> {
        QuerySyntax { last_partial, exclusions: &self.exclusions, phrases: self.phrases }
    }

    /// Chooses between corrected behaviour and the faults of the original.
    pub fn fidelity(mut self, fidelity: Fidelity) -> SearchConfig {
        self.fidelity = fidelity;
        self
    }
}

/// A search over indexes.
#[derive(Debug)]
pub struct Search {
    indexes: Vec<SharedIndex>,
    pub(crate) config: SearchConfig,
    preferences: Preferences,
    synonyms: Synonyms,
    /// The name numbers of the categories of each index.
    names: Vec<Vec<CategoryNameId>>,
    identifiers: Arc<[IndexIdentifier]>,
}

impl Search {
    /// A search over these indexes, in this order.
    ///
    /// # Errors
    /// No index, more than [`MAX_INDEXES`], or the same index twice.
    pub fn new(indexes: Vec<SharedIndex>, config: SearchConfig) -> Result<Search, ConfigError> {
        if indexes.is_empty() || indexes.len() > MAX_INDEXES {
            return Err(ConfigError::new(format!(
                "a search needs 1 to {MAX_INDEXES} indexes (got {})",
                indexes.len()
            )));
        }
        for (number, index) in indexes.iter().enumerate() {
            if indexes[..number].iter().any(|other| Arc::ptr_eq(other, index)) {
                return Err(ConfigError::new(format!(
                    "the search has the index {} twice; pass each index once",
                    read_index(index).name()
                )));
            }
        }
        let guards: Vec<_> = indexes.iter().map(read_index).collect();
        let categories = guards.iter().flat_map(|index| index.category_names());
        let preferences = Preferences::new(
            categories,
            &config.boosts,
            &config.only,
            &config.ignored_lists,
            &config.ignored_categories,
        );
        let names = guards
            .iter()
            .map(|index| index.category_names().map(|name| preferences.name(name)).collect())
            .collect();
        let identifiers =
            guards.iter().map(|index| IndexIdentifier::new(index.identifier())).collect();
        drop(guards);
        let synonyms = config.synonyms.prepared(&config.tokenizer)?;
        Ok(Search { indexes, config, preferences, synonyms, names, identifiers })
    }

    /// A search over one index that it owns.
    ///
    /// # Errors
    /// None at present; see [`new`](Self::new).
    pub fn over(index: SearchIndex, config: SearchConfig) -> Result<Search, ConfigError> {
        Search::new(vec![Arc::new(RwLock::new(index))], config)
    }

    /// The indexes.
    pub fn indexes(&self) -> &[SharedIndex] {
        &self.indexes
    }

    /// Parses a filter and checks it against the attributes of the indexes.
    ///
    /// # Errors
    /// Those of [`SearchFilter::parse`], an attribute that no index has, and a value of another
    /// type than its attribute.
    pub fn filter(&self, text: &str) -> Result<SearchFilter, RequestError> {
        let filter = SearchFilter::parse(text)?;
        let guards: Vec<_> = self.indexes.iter().map(read_index).collect();
        let columns: Vec<_> = guards.iter().map(|index| index.columns()).collect();
        restriction::check_filter(&filter, &columns)?;
        Ok(filter)
    }

    /// Parses an order and checks it against the attributes of the indexes.
    ///
    /// # Errors
    /// Those of [`DocumentOrder::parse`], and an attribute that no index has.
    pub fn order(&self, text: &str) -> Result<DocumentOrder, RequestError> {
        let order = DocumentOrder::parse(text)?;
        let guards: Vec<_> = self.indexes.iter().map(read_index).collect();
        let columns: Vec<_> = guards.iter().map(|index| index.columns()).collect();
        order.check(&columns)?;
        Ok(order)
    }

    /// Runs a query.
    pub fn search(&self, query: &str, request: &Request<'_>) -> SearchAnswer {
        let mut answer = SearchAnswer::new();
        self.search_into(query, request, &mut answer);
        answer
    }

    /// Runs a query and reuses the memory of an earlier answer.
    pub fn search_into(&self, query: &str, request: &Request<'_>, answer: &mut SearchAnswer) {
        answer.query.parse(query, &self.config.tokenizer, self.config.reading(true));
        // One index is the common case: it needs no vector of guards.
        if let [index] = &self.indexes[..] {
            self.run(&[read_index(index)], request, answer);
        } else {
            let guards: Vec<_> = self.indexes.iter().map(read_index).collect();
            self.run(&guards, request, answer);
        }
    }

    /// Runs the query parsed into `answer`.
    fn run<I: Deref<Target = SearchIndex>>(
        &self,
        indexes: &[I],
        request: &Request<'_>,
        answer: &mut SearchAnswer,
    ) {
        let mut work = WorkBudget::new();
        self.run_within(indexes, request, answer, &mut work);
        answer.work = work.spent();
        answer.is_incomplete = work.falls_short();
    }

    /// [`run`](Self::run) within a budget that several searches may share. Returns the documents
    /// found in each index if the request shows each document once.
    pub(crate) fn run_within<I: Deref<Target = SearchIndex>>(
        &self,
        indexes: &[I],
        request: &Request<'_>,
        answer: &mut SearchAnswer,
        work: &mut WorkBudget,
    ) -> Vec<SeenSlots> {
        answer.clear();
        answer.offset = request.offset;
        if !Arc::ptr_eq(&answer.identifiers, &self.identifiers) {
            answer.identifiers = Arc::clone(&self.identifiers);
        }
        let started = Instant::now();
        let mut combiner = Combiner {
            preferences: &self.preferences,
            answer,
            work: &mut *work,
            lists: Vec::with_capacity(LISTS_EXPECTED),
            typos: self.config.typos,
            synonyms: &self.synonyms,
        };
        // A query without words, but with a filter or excluded words, starts from all documents.
        let restricted = !combiner.answer.query.excluded.is_empty() || request.filter.is_some();
        let everything = restricted && combiner.answer.query.places.is_empty();
        let mut restrictions = Vec::new();
        for (number, index) in indexes.iter().enumerate() {
            let scope = IndexScope { index, names: &self.names[number] };
            self.interpret(&mut combiner, number, scope);
            if restricted {
                restrictions.push(self.restrict(&mut combiner, scope, request, everything));
            }
            if everything {
                combiner.answer.interpretations.add_everything(number as u8);
            }
        }
        let lists = combiner.lists;
        answer.interpretations.sort();
        if let Some(most) = self.config.max_allocations {
            answer.interpretations.all.truncate(most);
        }
        answer.duration = started.elapsed();
        let mut pager = Pager {
            indexes,
            lists: &lists,
            fidelity: self.config.fidelity,
            chosen: Vec::new(),
            restrictions: &restrictions,
            request,
            position: PagePosition::new(request, self.config.terminate_early),
        };
        pager.run(answer, work)
    }

    /// The documents of an index that the filter and the excluded words leave.
    fn restrict<'a>(
        &'a self,
        combiner: &mut Combiner<'a, '_>,
        scope: IndexScope<'a>,
        request: &Request<'_>,
        everything: bool,
    ) -> Restriction {
        let excluded = Search::exclude(combiner, scope);
        Restriction::new(scope.index.columns(), request.filter, excluded, everything, combiner.work)
    }

    /// The documents with excluded words; `None` without such words.
    fn exclude<'a>(combiner: &mut Combiner<'a, '_>, scope: IndexScope<'a>) -> Option<SlotBits> {
        if combiner.answer.query.excluded.is_empty() {
            return None;
        }
        let mut excluded = SlotBits::default();
        for place in 0..combiner.answer.query.excluded.len() {
            let place = combiner.answer.query.excluded[place];
            combiner.add_excluded(scope, place, &mut excluded);
        }
        Some(excluded)
    }

    /// Adds the interpretations of the query in one index.
    fn interpret<'a>(
        &'a self,
        combiner: &mut Combiner<'a, '_>,
        number: usize,
        scope: IndexScope<'a>,
    ) {
        combiner.answer.interpretations.places.clear();
        let mut bytes = 0;
        for place in 0..combiner.answer.query.places.len() {
            let place = combiner.answer.query.places[place];
            let start = combiner.answer.combinations.len() as u32;
            if combiner.add_position(scope, place) == 0 {
                if self.config.ignore_unassigned {
                    continue;
                }
                return;
            }
            let end = combiner.answer.combinations.len() as u32;
            combiner.answer.interpretations.places.push(start..end);
            let length = |combination: &crate::query::combination::Combination| {
                combiner.answer.records[combination.record as usize].json.len()
            };
            let new = &combiner.answer.combinations[start as usize..];
            bytes += new.iter().map(length).max().unwrap_or(0);
        }
        let answer = &mut *combiner.answer;
        let SearchAnswer { interpretations, combinations, .. } = answer;
        interpretations.add(number as u8, combinations, &self.preferences, bytes, combiner.work);
    }
}

/// Acquires a read lock. A panic never leaves an index half changed for readers, so a poisoned lock
/// is read like any other.
pub(crate) fn read_index(index: &SharedIndex) -> RwLockReadGuard<'_, SearchIndex> {
    index.read().unwrap_or_else(PoisonError::into_inner)
}
