//! The answer to a query: interpretations with their counts, and documents.

use crate::answer::count_cache::CountCache;
use crate::collection::id::{self, Id};
use crate::format::digits::write_unsigned;
use crate::format::json;
use crate::format::number::{Score, write_microseconds};
use crate::query::combination::{Combination, CombinationRecord};
use crate::query::interpretations::Interpretations;
use crate::query::parsed_query::ParsedQuery;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// The answer to a query.
///
/// It borrows nothing from the indexes, and [`Search::search_into`](crate::Search::search_into)
/// reuses its memory for the next query.
#[derive(Clone, Debug, Default)]
pub struct SearchAnswer {
    /// The parsed query, and other texts that records refer to.
    pub(crate) query: ParsedQuery,
    pub(crate) records: Vec<CombinationRecord>,
    pub(crate) record_json: Vec<u8>,
    pub(crate) combinations: Vec<Combination>,
    pub(crate) interpretations: Interpretations,
    pub(crate) counts: CountCache,
    pub(crate) rows: Vec<AnswerRow>,
    /// The records of all rows, concatenated.
    pub(crate) members: Vec<u32>,
    /// The documents of all rows, concatenated.
    pub(crate) ids: Vec<Id>,
    /// One list of documents with index numbers, instead of one list for each row.
    pub(crate) flat: Option<FlatList>,
    pub(crate) identifiers: Arc<[IndexIdentifier]>,
    pub(crate) offset: i64,
    pub(crate) total: usize,
    pub(crate) duration: Duration,
    pub(crate) work: u64,
    pub(crate) is_incomplete: bool,
}

/// The documents of all interpretations as one list.
#[derive(Clone, Debug, Default)]
pub(crate) struct FlatList {
    /// The number of documents on all pages.
    pub(crate) count: usize,
    /// The documents of the page.
    pub(crate) ids: Vec<(u8, Id)>,
}

/// The identifier of an index in answers.
#[derive(Clone, Debug)]
pub(crate) struct IndexIdentifier {
    pub(crate) text: String,
    /// The start of a row in JSON, with the identifier.
    pub(crate) json: Vec<u8>,
}

impl IndexIdentifier {
    pub(crate) fn new(text: &str) -> IndexIdentifier {
        let mut json = vec![b'['];
        json::write_string(text, &mut json);
        json.push(b',');
        IndexIdentifier { text: text.to_owned(), json }
    }
}

/// An evaluated interpretation.
#[derive(Clone, Debug)]
pub(crate) struct AnswerRow {
    pub(crate) index: u8,
    pub(crate) score: Score,
    pub(crate) count: usize,
    pub(crate) members: Range<u32>,
    pub(crate) ids: Range<u32>,
}

/// An interpretation of a query, with its documents.
#[derive(Clone, Copy, Debug)]
pub struct Allocation<'a> {
    answer: &'a SearchAnswer,
    row: &'a AnswerRow,
}

/// A word of an interpretation: its category, its form in the query, and the word found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InterpretedWord<'a> {
    /// The name of the category; names of alternatives are joined with bars.
    pub category: &'a str,
    /// The word of the query, with its markers.
    pub original: &'a str,
    /// The word looked up, or the similar word.
    pub text: &'a str,
}

impl<'a> Allocation<'a> {
    /// The identifier of the index.
    pub fn identifier(&self) -> &'a str {
        &self.answer.identifiers[usize::from(self.row.index)].text
    }

    /// The number of the index within the search, from 0.
    pub fn index(&self) -> usize {
        usize::from(self.row.index)
    }

    /// The sum of the weights and the boost.
    pub fn score(&self) -> Score {
        self.row.score
    }

    /// The number of documents of this interpretation, on all pages.
    pub fn count(&self) -> usize {
        self.row.count
    }

    /// The interpretation of each word, in the order of the words.
    pub fn words(&self) -> impl Iterator<Item = InterpretedWord<'a>> + use<'a> {
        let Allocation { answer, row } = *self;
        let text = &answer.query.text;
        answer.members[range(&row.members)].iter().map(move |member| {
            let record = &answer.records[*member as usize];
            InterpretedWord {
                category: record.category.slice(text),
                original: record.original.slice(text),
                text: record.text.slice(text),
            }
        })
    }

    /// The documents of the page.
    pub fn ids(&self) -> &'a [Id] {
        &self.answer.ids[range(&self.row.ids)]
    }
}

fn range(range: &Range<u32>) -> Range<usize> {
    range.start as usize..range.end as usize
}

impl SearchAnswer {
    /// An empty answer.
    pub fn new() -> SearchAnswer {
        SearchAnswer::default()
    }

    /// The interpretations that have documents, best first.
    pub fn allocations(&self) -> impl Iterator<Item = Allocation<'_>> {
        let rows = self.rows.iter().filter(|row| row.count > 0);
        rows.map(|row| Allocation { answer: self, row })
    }

    /// The number of interpretations, including those without documents and those not evaluated.
    pub fn considered(&self) -> usize {
        self.interpretations.all.len()
    }

    /// The documents of the page, of all interpretations.
    pub fn ids(&self) -> &[Id] {
        &self.ids
    }

    /// The documents of the page as one list, if requested with
    /// [`Request::flat`](crate::Request::flat): the identifier of the index, and that of the
    /// document.
    pub fn flat(&self) -> impl Iterator<Item = (&str, &Id)> {
        let ids = self.flat.iter().flat_map(|flat| &flat.ids);
        ids.map(|(index, id)| (self.identifiers[usize::from(*index)].text.as_str(), id))
    }

    /// The length of that list on all pages.
    pub fn flat_count(&self) -> Option<usize> {
        self.flat.as_ref().map(|flat| flat.count)
    }

    /// The number of documents of all evaluated interpretations. A document in several of them
    /// counts several times, unless the request shows each once.
    pub fn total(&self) -> usize {
        self.total
    }

    /// Whether documents may be missing because the query used up its budget
    /// ([`MAX_WORK`](crate::MAX_WORK)).
    pub fn is_incomplete(&self) -> bool {
        self.is_incomplete
    }

    /// The number of documents skipped before the first one shown.
    pub fn offset(&self) -> i64 {
        self.offset
    }

    /// The duration of the search, without parsing the query and writing the answer.
    pub fn duration(&self) -> Duration {
        self.duration
    }

    /// The work of the search, in the steps of [`MAX_WORK`](crate::MAX_WORK).
    pub fn work(&self) -> u64 {
        self.work
    }

    /// Overwrites the duration, to make answers comparable.
    pub fn set_duration(&mut self, duration: Duration) {
        self.duration = duration;
    }

    /// Appends the answer as JSON: an object of `allocations`, `offset`, `duration` and `total`,
    /// and `"incomplete":true` if [`is_incomplete`](Self::is_incomplete).
    ///
    /// Each allocation is `[index,score,count,[[category,original,text],…],[id,…]]`; those without
    /// documents are left out. The duration is in seconds, to the microsecond. With
    /// [`Request::flat`](crate::Request::flat) there is also `flat`, an object of `count` and
    /// `ids`, a list of `[index,id]`.
    pub fn write_json(&self, out: &mut Vec<u8>) {
        self.write_json_with(out, |_, _| {});
    }

    /// [`write_json`](Self::write_json) with further elements of each allocation: `more` appends
    /// them, with a comma before each.
    pub(crate) fn write_json_with(
        &self,
        out: &mut Vec<u8>,
        mut more: impl FnMut(Allocation<'_>, &mut Vec<u8>),
    ) {
        out.extend_from_slice(b"{\"allocations\":[");
        let mut first = true;
        for row in self.rows.iter().filter(|row| row.count > 0) {
            if !first {
                out.push(b',');
            }
            first = false;
            self.write_row(row, out);
            more(Allocation { answer: self, row }, out);
            out.push(b']');
        }
        out.extend_from_slice(b"],\"offset\":");
        out.extend_from_slice(itoa::Buffer::new().format(self.offset).as_bytes());
        out.extend_from_slice(b",\"duration\":");
        let microseconds = (self.duration.as_nanos() + 500) / 1_000;
        write_microseconds(microseconds.min(u128::from(u64::MAX)) as u64, out);
        out.extend_from_slice(b",\"total\":");
        write_unsigned(self.total as u64, out);
        if let Some(flat) = &self.flat {
            out.extend_from_slice(b",\"flat\":{\"count\":");
            write_unsigned(flat.count as u64, out);
            out.extend_from_slice(b",\"ids\":[");
            for (number, (index, id)) in flat.ids.iter().enumerate() {
                if number > 0 {
                    out.push(b',');
                }
                out.extend_from_slice(&self.identifiers[usize::from(*index)].json);
                id::write_list(std::slice::from_ref(id), out);
                out.push(b']');
            }
            out.extend_from_slice(b"]}");
        }
        if self.is_incomplete {
            out.extend_from_slice(b",\"incomplete\":true");
        }
        out.push(b'}');
    }

    /// Appends a row without its closing bracket.
    fn write_row(&self, row: &AnswerRow, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.identifiers[usize::from(row.index)].json);
        row.score.write_json(out);
        out.push(b',');
        write_unsigned(row.count as u64, out);
        out.extend_from_slice(b",[");
        for (number, member) in self.members[range(&row.members)].iter().enumerate() {
            if number > 0 {
                out.push(b',');
            }
            let json = self.records[*member as usize].json;
            out.extend_from_slice(&self.record_json[json.start as usize..json.end as usize]);
        }
        out.extend_from_slice(b"],[");
        id::write_list(&self.ids[range(&row.ids)], out);
        out.push(b']');
    }

    /// The answer as JSON text, see [`write_json`](Self::write_json).
    pub fn to_json(&self) -> String {
        let mut out = Vec::new();
        self.write_json(&mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

    /// Clears the answer and keeps its memory.
    pub(crate) fn clear(&mut self) {
        self.records.clear();
        self.record_json.clear();
        self.combinations.clear();
        self.interpretations.clear();
        self.counts.clear();
        self.rows.clear();
        self.members.clear();
        self.ids.clear();
        self.flat = None;
        self.total = 0;
        self.is_incomplete = false;
    }
}
