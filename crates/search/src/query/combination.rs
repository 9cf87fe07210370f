//! A word of a query in a category: its documents, its weight, and how it found them.
//!
//! Answers keep combinations, [`combiner`](super::combiner) forms them.

use crate::format::number::Score;
use crate::index::posting_list::PostingList;
use crate::query::preferences::CategoryNameId;
use crate::text::word_list::TextSpan;

/// Lists beyond this many are not compared with others to find equal ones.
pub(crate) const COMPARED_LISTS: usize = 128;

/// Documents that a combination leads to.
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

/// A word in a category.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Combination {
    pub(crate) weight: Score,
    /// The number of its list.
    pub(crate) list: u32,
    pub(crate) name: CategoryNameId,
    pub(crate) hidden: bool,
    /// The number of what answers say about it.
    pub(crate) record: u32,
}

/// How the text of a combination leads to the words that it found.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum FoundBy {
    /// By combinations that were made one of.
    #[default]
    Others,
    /// As the category stores words, or parts of them.
    Stored { part: bool },
    /// As a query has words, or parts of them; `exact` ones are not stemmed.
    Query { part: bool, exact: bool },
    /// As words next to each other: places in the words of phrases.
    Phrase(u32, u32),
    /// As all from one to the other.
    Range { from: TextSpan, to: TextSpan, part: bool },
}

/// A combination as answers show it. Spans are parts of the answer's texts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CombinationRecord {
    pub(crate) category: TextSpan,
    pub(crate) original: TextSpan,
    pub(crate) text: TextSpan,
    pub(crate) how: FoundBy,
    /// The JSON of it.
    pub(crate) json: TextSpan,
}
