//! Formation of combinations: the categories that each word of a query can belong to.

use crate::answer::search_answer::SearchAnswer;
use crate::format::json;
use crate::format::number::Score;
use crate::index::category_index::{CategoryIndex, FoundWord};
use crate::index::posting_list::PostingList;
use crate::index::search_index::SearchIndex;
use crate::index::slot_bits::SlotBits;
use crate::limits::{MAX_COMBINATIONS, MAX_WORD_CHARS};
use crate::query::combination::{
    COMPARED_LISTS, Combination, CombinationRecord, DocumentList, FoundBy,
};
use crate::query::parsed_query::{QueryPosition, QueryToken};
use crate::query::preferences::{CategoryNameId, Preferences};
use crate::query::string_range::{RangeMembers, StringRange};
use crate::query::synonyms::Synonyms;
use crate::query::typos::nearest_words;
use crate::query::work_budget::{COMPARED, COPIED, SORTED, WorkBudget};
use crate::text::word_list::{TextSpan, first_characters};
use std::borrow::Cow;

/// Words of bit sets joined in one step of work.
const WORDS_JOINED: usize = 4;

/// Forms the combinations of one query.
pub(crate) struct Combiner<'a, 'q> {
    pub(crate) preferences: &'a Preferences,
    pub(crate) answer: &'q mut SearchAnswer,
    pub(crate) work: &'q mut WorkBudget,
    pub(crate) lists: Vec<DocumentList<'a>>,
    /// The number of typos allowed in an unknown word.
    pub(crate) typos: usize,
    pub(crate) synonyms: &'a Synonyms,
}

/// An index of the search, with the name numbers of its categories.
#[derive(Clone, Copy)]
pub(crate) struct IndexScope<'a> {
    pub(crate) index: &'a SearchIndex,
    pub(crate) names: &'a [CategoryNameId],
}

impl<'a> IndexScope<'a> {
    fn category(self, number: usize) -> CategoryScope<'a> {
        let IndexScope { index, names } = self;
        CategoryScope { index, words: &index.categories()[number], name: names[number] }
    }
}

/// A category of an index, with the number of its name.
#[derive(Clone, Copy)]
pub(crate) struct CategoryScope<'a> {
    pub(crate) index: &'a SearchIndex,
    pub(crate) words: &'a CategoryIndex,
    name: CategoryNameId,
}

/// The texts of a combination under construction.
#[derive(Clone, Copy)]
pub(crate) struct CombinationTexts {
    pub(crate) original: TextSpan,
    pub(crate) text: TextSpan,
    pub(crate) how: FoundBy,
}

impl<'a> Combiner<'a, '_> {
    /// Adds the combinations of one position of the query in one index and returns their number.
    pub(crate) fn add_position(&mut self, scope: IndexScope<'a>, place: QueryPosition) -> usize {
        let before = self.answer.combinations.len();
        for number in place.first..place.end {
            let token = self.answer.query.tokens[number as usize];
            if token.similar {
                self.add_similar(scope, &token);
            } else {
                self.add_token(scope, &token);
            }
        }
        if place.either {
            self.merge_since(before);
        }
        self.answer.combinations.truncate(before + MAX_COMBINATIONS);
        self.answer.combinations.len() - before
    }

    /// Adds the documents of an excluded position to `out`. The position gets no combinations.
    pub(crate) fn add_excluded(
        &mut self,
        scope: IndexScope<'a>,
        place: QueryPosition,
        out: &mut SlotBits,
    ) {
        let (combinations, records) = (self.answer.combinations.len(), self.answer.records.len());
        let json = self.answer.record_json.len();
        self.add_position(scope, place);
        for combination in &self.answer.combinations[combinations..] {
            let posting = self.lists[combination.list as usize].posting();
            match posting.bits() {
                Some(bits) if self.work.spend(1 + bits.size() / WORDS_JOINED) => out.add_all(bits),
                None if self.work.spend(posting.len() * COPIED) => {
                    posting.iter().for_each(|slot| {
                        out.insert(slot);
                    })
                }
                _ => {}
            }
        }
        self.answer.combinations.truncate(combinations);
        self.answer.records.truncate(records);
        self.answer.record_json.truncate(json);
    }

    fn add_token(&mut self, scope: IndexScope<'a>, token: &QueryToken) {
        let before = self.answer.combinations.len();
        let hash = scope.index.hash(self.lookup_text(token));
        let synonyms = self.synonyms_of(token);
        self.each_category(scope, token, |combiner, category| {
            let before = combiner.answer.combinations.len();
            match token.phrase {
                Some(words) => combiner.add_phrase(category, token, words),
                None => combiner.add_in_category(category, token, hash),
            }
            if !synonyms.is_empty() {
                combiner.add_synonyms(category, token, synonyms, before);
            }
        });
        let unknown = self.answer.combinations.len() == before;
        let meant = token.quoted || token.range.is_some() || token.phrase.is_some();
        if unknown && self.typos > 0 && !meant {
            self.each_category(scope, token, |combiner, category| {
                combiner.add_nearest(category, token);
            });
        }
    }

    /// Calls `each` for the categories that a word may belong to, in the order of the index.
    fn each_category(
        &mut self,
        scope: IndexScope<'a>,
        token: &QueryToken,
        mut each: impl FnMut(&mut Self, CategoryScope<'a>),
    ) {
        if let Some(category) = token.category {
            return each(self, scope.category(usize::from(category)));
        }
        let Some(qualifiers) = token.qualifiers else {
            return (0..scope.names.len()).for_each(|number| each(self, scope.category(number)));
        };
        let mut start = qualifiers.start;
        while start <= qualifiers.end {
            let rest = TextSpan { start, end: qualifiers.end }.slice(&self.answer.query.text);
            let length = rest.find(',').unwrap_or(rest.len());
            let category = scope.index.qualified(&rest[..length]);
            start += length as u32 + 1;
            if let Some(category) = category {
                each(self, scope.category(usize::from(category)));
            }
        }
    }

    /// Adds combinations with the words nearest to an unknown one.
    fn add_nearest(&mut self, scope: CategoryScope<'a>, token: &QueryToken) {
        let words = scope.words;
        if words.config().grid.is_some() {
            return;
        }
        // Compare words in the form in which the category stores them.
        let text = words.stored_form(self.lookup_text(token)).into_owned();
        let bundle = words.word_table(token.partial);
        for entry in nearest_words(bundle, &text, self.typos, self.work) {
            let text = self.store_text(entry.word());
            let list = self.add_found(Some(entry.posting()));
            let how = FoundBy::Stored { part: token.partial };
            let texts = CombinationTexts { original: token.original, text, how };
            self.push_combination(scope, entry.weight(), list, texts);
        }
    }

    fn lookup_text(&self, token: &QueryToken) -> &str {
        first_characters(token.text.slice(&self.answer.query.text), MAX_WORD_CHARS)
    }

    fn add_in_category(&mut self, scope: CategoryScope<'a>, token: &QueryToken, hash: u64) {
        let CategoryScope { index, words, .. } = scope;
        let how = FoundBy::Query { part: token.partial, exact: token.exact };
        let texts = CombinationTexts { original: token.original, text: token.text, how };
        if let Some((from, to)) = token.range {
            let how = FoundBy::Range { from, to, part: token.partial };
            let texts = CombinationTexts { how, ..texts };
            if let Some((weight, posting)) = self.range(scope, token.partial, from, to) {
                let list = self.add_list(DocumentList::Made(Box::new(posting)));
                self.push_combination(scope, weight, list, texts);
            }
            return;
        }
        let stemmer = words.stemmer().filter(|_| !token.exact);
        let text = self.lookup_text(token);
        let (text, hash) = match stemmer.map(|stemmer| stemmer.stem(text)) {
            Some(stem) => {
                let hash = index.hash(&stem);
                (Cow::Owned(stem.into_owned()), hash)
            }
            None => (Cow::Borrowed(text), hash),
        };
        let found = words.find(index.hasher(), hash, &text, token.partial);
        if token.partial && words.config().exact_first {
            let exact = words.find(index.hasher(), hash, &text, false);
            drop(text);
            return self.add_exact_first(scope, exact, found, texts);
        }
        drop(text);
        if let Some((weight, posting)) = found {
            let list = self.add_found(posting);
            self.push_combination(scope, weight, list, texts);
        }
    }

    fn add_exact_first(
        &mut self,
        scope: CategoryScope<'a>,
        exact: Option<FoundWord<'a>>,
        partial: Option<FoundWord<'a>>,
        texts: CombinationTexts,
    ) {
        let weights = exact.iter().chain(&partial).map(|(weight, _)| *weight);
        let Some(weight) = weights.max_by(|left, right| left.order(*right)) else {
            return;
        };
        let mut slots: Vec<u32> = Vec::new();
        for posting in [exact, partial].into_iter().flatten().filter_map(|(_, posting)| posting) {
            if self.work.spend(posting.len() * COPIED) {
                slots.extend(posting.iter());
            }
        }
        let list = self.add_list(DocumentList::Made(Box::new(PostingList::without_repeats(slots))));
        self.push_combination(scope, weight, list, texts);
    }

    fn add_similar(&mut self, scope: IndexScope<'a>, token: &QueryToken) {
        for scope in (0..scope.names.len()).map(|number| scope.category(number)) {
            let CategoryScope { index, words, .. } = scope;
            let similar = words.similar();
            let Some(code) = similar.strategy().encode(self.lookup_text(token)) else {
                continue;
            };
            for word in similar.of_code(&code) {
                let found = words.find(index.hasher(), index.hash(word), word, false);
                let Some((weight, posting)) = found else {
                    continue;
                };
                let text = self.store_text(word);
                let list = self.add_found(posting);
                let how = FoundBy::Stored { part: false };
                let texts = CombinationTexts { original: text, text, how };
                self.push_combination(scope, weight, list, texts);
            }
        }
    }

    /// The sum of the weights and all documents of the words of a range; `None` without words.
    fn range(
        &mut self,
        CategoryScope { index, words, .. }: CategoryScope<'a>,
        partial: bool,
        from: TextSpan,
        to: TextSpan,
    ) -> Option<(Score, PostingList)> {
        let text = &self.answer.query.text;
        let succession = StringRange::new(from.slice(text), to.slice(text));
        let mut range = RangeSum { weight: None, slots: Vec::new() };
        let members = succession.members().filter(|_| words.config().grid.is_none());
        match members {
            Some(members) => {
                let bundle = words.word_table(partial);
                if !self.work.spend(bundle.len() * COMPARED) {
                    return None;
                }
                let mut inside: Vec<_> = bundle.of_words(|word| members.contains(word)).collect();
                if !self.work.spend(inside.len() * SORTED) {
                    return None;
                }
                inside.sort_by(|left, right| {
                    RangeMembers::order(left.word()).cmp(&RangeMembers::order(right.word()))
                });
                for entry in inside {
                    range.add((entry.weight(), Some(entry.posting())), self.work);
                }
            }
            None => {
                for word in succession {
                    if !self.work.spend_range_step() {
                        break;
                    }
                    let hash = index.hash(&word);
                    if let Some(found) = words.find(index.hasher(), hash, &word, partial) {
                        range.add(found, self.work);
                    }
                }
            }
        }
        Some((range.weight?, PostingList::from_slots(range.slots)))
    }

    /// Merges the combinations added since `first` into one.
    fn merge_since(&mut self, first: usize) {
        let merged = self.answer.combinations.split_off(first);
        if merged.is_empty() {
            return;
        }
        let mut slots: Vec<u32> = Vec::new();
        for combination in &merged {
            let posting = self.lists[combination.list as usize].posting();
            if self.work.spend(posting.len() * COPIED) {
                slots.extend(posting.iter());
            }
        }
        let mut parts = [TextSpan::default(); 3];
        for (number, part) in parts.iter_mut().enumerate() {
            let start = self.answer.query.text.len();
            for (at, combination) in merged.iter().enumerate() {
                let record = self.answer.records[combination.record as usize];
                let span = [record.category, record.original, record.text][number];
                let text = &mut self.answer.query.text;
                if at > 0 {
                    text.push('|');
                }
                text.extend_from_within(span.start as usize..span.end as usize);
            }
            *part = TextSpan { start: start as u32, end: self.answer.query.text.len() as u32 };
        }
        let [category, original, text] = parts;
        let name = self.preferences.name(category.slice(&self.answer.query.text));
        let list = self.add_list(DocumentList::Made(Box::new(PostingList::without_repeats(slots))));
        self.answer.record_json.push(b'[');
        json::write_string(category.slice(&self.answer.query.text), &mut self.answer.record_json);
        let texts = CombinationTexts { original, text, how: FoundBy::Others };
        self.push_record(name, Score::float(0.0), list, category, texts);
    }

    pub(crate) fn store_text(&mut self, word: &str) -> TextSpan {
        let text = &mut self.answer.query.text;
        let start = text.len() as u32;
        text.push_str(word);
        TextSpan { start, end: text.len() as u32 }
    }

    fn add_found(&mut self, posting: Option<&'a PostingList>) -> u32 {
        let Some(posting) = posting else {
            return self.add_list(DocumentList::Made(Box::default()));
        };
        let is_known = |list: &DocumentList<'_>| match list {
            DocumentList::Stored(known) => std::ptr::eq(*known, posting),
            DocumentList::Made(_) => false,
        };
        match self.lists.iter().take(COMPARED_LISTS).position(is_known) {
            Some(number) => number as u32,
            None => self.add_list(DocumentList::Stored(posting)),
        }
    }

    pub(crate) fn add_list(&mut self, list: DocumentList<'a>) -> u32 {
        self.lists.push(list);
        self.lists.len() as u32 - 1
    }

    pub(crate) fn push_combination(
        &mut self,
        CategoryScope { words, name, .. }: CategoryScope<'_>,
        weight: Score,
        list: u32,
        texts: CombinationTexts,
    ) {
        let category = self.store_text(&words.config().name);
        self.answer.record_json.push(b'[');
        self.answer.record_json.extend_from_slice(words.name_json());
        self.push_record(name, weight, list, category, texts);
    }

    /// Adds a combination. The caller has written the start of its JSON, up to the category.
    fn push_record(
        &mut self,
        name: CategoryNameId,
        weight: Score,
        list: u32,
        category: TextSpan,
        texts: CombinationTexts,
    ) {
        let SearchAnswer { query, records, record_json, combinations, .. } = &mut *self.answer;
        let start = records.last().map_or(0, |record| record.json.end);
        for span in [texts.original, texts.text] {
            record_json.push(b',');
            json::write_string(span.slice(&query.text), record_json);
        }
        record_json.push(b']');
        combinations.push(Combination {
            weight,
            list,
            name,
            hidden: self.preferences.is_hidden(name),
            record: records.len() as u32,
        });
        let json = TextSpan { start, end: record_json.len() as u32 };
        let CombinationTexts { original, text, how } = texts;
        records.push(CombinationRecord { category, original, text, how, json });
    }

    /// Adds a match that answers do not show, for highlighting.
    pub(crate) fn push_hidden(&mut self, words: &CategoryIndex, text: TextSpan, how: FoundBy) {
        let category = self.store_text(&words.config().name);
        let records = &mut self.answer.records;
        let end = records.last().map_or(0, |record| record.json.end);
        let json = TextSpan { start: end, end };
        records.push(CombinationRecord { category, original: text, text, how, json });
    }
}

/// The weight and documents of a range under construction.
struct RangeSum {
    weight: Option<Score>,
    slots: Vec<u32>,
}

impl RangeSum {
    fn add(&mut self, (weight, posting): FoundWord<'_>, work: &mut WorkBudget) {
        // The order of additions affects the last digits of the sum.
        self.weight = Some(weight + self.weight.unwrap_or(Score::ZERO));
        if let Some(posting) = posting
            && work.spend(posting.len() * COPIED)
        {
            self.slots.extend(posting.iter());
        }
    }
}
