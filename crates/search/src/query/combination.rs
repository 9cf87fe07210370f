//! A combination: a word of a query in a category, with its documents, its weight, and the way it
//! was found.
//!
//! Answers store combinations; [`combiner`](super::combiner) forms them.

use crate::format::number::Score;
use crate::index::posting_list::PostingList;
use crate::query::preferences::CategoryNameId;
use crate::text::word_list::TextSpan;

/// Only this many lists are compared with each other to find equal ones.
pub(crate) const COMPARED_LISTS: usize = 128;

/// The documents of a combination.
#[derive(Debug)]
pub(crate) enum DocumentList<'a> {
    Stored(&'a PostingList),
    Made(Box<PostingList>),
}

impl DocumentList<'_> {
    pub(crate) fn posting(&self) -> &PostingList {
        match self {
            DocumentList::Stored(posting) => posting,
            DocumentList::Made(posting) => posting,
        }
    }
}

/// A word in a category, with its weight and documents.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Combination {
    pub(crate) weight: Score,
    /// The number of its list.
    pub(crate) list: u32,
    pub(crate) name: CategoryNameId,
    pub(crate) hidden: bool,
    /// The number of its record in the answer.
    pub(crate) record: u32,
}

/// How the text of a combination matched the words of the index.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum FoundBy {
    /// By several combinations merged into one.
    #[default]
    Others,
    /// By a stored word of the category, or a part of it.
    Stored { part: bool },
    /// By a word of the query, or a part of it; an `exact` one is not stemmed.
    Query { part: bool, exact: bool },
    /// By words next to each other: a range of
    /// [`ParsedQuery::phrase_words`](super::parsed_query::ParsedQuery::phrase_words).
    Phrase(u32, u32),
    /// By a range of words.
    Range { from: TextSpan, to: TextSpan, part: bool },
}

/// A combination as answers show it. Its spans are parts of the texts of the answer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CombinationRecord {
    pub(crate) category: TextSpan,
    pub(crate) original: TextSpan,
    pub(crate) text: TextSpan,
    pub(crate) how: FoundBy,
    /// Its JSON.
    pub(crate) json: TextSpan,
}
