//! Highlighting: the words of a field that a query matched, and the text with these words marked.
//!
//! The text passes the tokenizer of the index again, piece by piece, so that a word is recognised
//! by its indexed form: by its stem, without its accents, as a synonym, in spite of a typo. The
//! whole word is marked, even if the query has a part of it.

use crate::answer::search_answer::SearchAnswer;
use crate::index::category_index::CategoryIndex;
use crate::index::search_index::SearchIndex;
use crate::limits::{MAX_HIGHLIGHTED_BYTES, MAX_WORD_CHARS};
use crate::query::combination::FoundBy;
use crate::query::parsed_query::ParsedQuery;
use crate::query::string_range::StringRange;
use crate::text::scripts;
use crate::text::tokenizer::Tokenizer;
use crate::text::word_list::{TextSpan, WordList};
use hashbrown::HashSet;
use runnel_text::escape::html_into;
use std::cell::Cell;
use std::ops::Range;

/// Most words of a range that has to be enumerated.
const MAX_RANGE_WORDS: usize = 1_000;

/// The markers around matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Markers {
    /// Before a match.
    pub before: String,
    /// After it.
    pub after: String,
    /// Whether everything else is escaped for HTML.
    pub html: bool,
}

impl Default for Markers {
    /// `<em>` and `</em>` in HTML.
    fn default() -> Markers {
        Markers { before: "<em>".to_owned(), after: "</em>".to_owned(), html: true }
    }
}

/// A word of the query in one category.
struct Term {
    category: u8,
    matcher: Matcher,
}

enum Matcher {
    Word(String),
    Part(String),
    Phrase(Vec<String>),
    /// Words in a range, or words with a part in it.
    Range {
        range: Range<String>,
        part: bool,
    },
    OneOf(HashSet<String>),
}

impl Matcher {
    fn matches_word(&self, words: &CategoryIndex, word: &str) -> bool {
        match self {
            Matcher::Word(known) => known == word,
            Matcher::Part(part) => {
                let mut found = false;
                words.config().partial.each(word, &mut |known| found |= known == part);
                found
            }
            Matcher::Phrase(_) => false,
            Matcher::Range { range, part } => {
                let succession = StringRange::new(&range.start, &range.end);
                let Some(members) = succession.members() else { return false };
                let mut found = members.contains(word);
                if *part {
                    words.config().partial.each(word, &mut |part| found |= members.contains(part));
                }
                found
            }
            Matcher::OneOf(all) => all.contains(word),
        }
    }
}

/// Finds the matches of an answer in the texts of documents.
///
/// It examines [`MAX_HIGHLIGHTED_BYTES`] of text in total and marks nothing after that.
pub struct Highlighter<'a> {
    index: &'a SearchIndex,
    terms: Vec<Term>,
    left: Cell<usize>,
}

/// A word of a text: its place, and its indexed form unless it was not indexed.
struct SourceWord {
    place: Range<usize>,
    stored: Option<String>,
}

impl<'a> Highlighter<'a> {
    /// The matches of an answer of this index, or of a search that includes it.
    pub fn new(index: &'a SearchIndex, answer: &SearchAnswer) -> Highlighter<'a> {
        let query = &answer.query;
        let mut terms = Vec::new();
        for record in &answer.records {
            let Some(category) = index.category_number(record.category.slice(&query.text)) else {
                continue;
            };
            let words = &index.categories()[usize::from(category)];
            let text = record.text.slice(&query.text);
            if let Some(matcher) = matcher(words, query, text, record.how) {
                terms.push(Term { category, matcher });
            }
        }
        Highlighter { index, terms, left: Cell::new(MAX_HIGHLIGHTED_BYTES) }
    }

    /// The byte ranges of the matches in a field, in order. All categories that index the field
    /// count.
    pub fn matches(&self, field: &str, text: &str) -> Vec<Range<usize>> {
        self.find_words(field, text).1
    }

    /// The text of a field with its matches marked, or `None` without matches.
    pub fn mark(&self, field: &str, text: &str, markers: &Markers) -> Option<String> {
        let matches = self.matches(field, text);
        (!matches.is_empty()).then(|| write_marked(text, 0..text.len(), &matches, markers))
    }

    /// The excerpt of about this many words with the most matches, marked; an ellipsis stands for
    /// omitted text. Without matches it is the start of the text.
    pub fn snippet(&self, field: &str, text: &str, words: usize, markers: &Markers) -> String {
        let (places, matches) = self.find_words(field, text);
        let words = words.max(1);
        if places.len() <= words {
            return write_marked(text, 0..text.len(), &matches, markers);
        }
        let first = densest(&places, &matches, words);
        let place = places[first].start..places[first + words - 1].end;
        let mut out = String::new();
        if first > 0 {
            out.push_str("\u{2026} ");
        }
        // Punctuation before the first word belongs to the text.
        let start = if first == 0 { 0 } else { place.start };
        let end = if first + words == places.len() { text.len() } else { place.end };
        out.push_str(&write_marked(text, start..end, &matches, markers));
        if end < text.len() {
            out.push_str(" \u{2026}");
        }
        out
    }

    /// The places of all words of a text, and those of the matches.
    fn find_words(&self, field: &str, text: &str) -> (Vec<Range<usize>>, Vec<Range<usize>>) {
        let allowed = self.left.get().min(text.len());
        let looked_at = &text[..text.floor_char_boundary(allowed)];
        self.left.set(self.left.get() - looked_at.len());
        let mut all: Vec<Range<usize>> = Vec::new();
        let mut matches = Vec::new();
        for (number, words) in self.index.categories().iter().enumerate() {
            if words.config().field() != field || words.config().grid.is_some() {
                continue;
            }
            let terms = self.terms.iter().filter(|term| usize::from(term.category) == number);
            let matchers: Vec<&Matcher> = terms.map(|term| &term.matcher).collect();
            let found = source_words(words, looked_at);
            if !matchers.is_empty() {
                add_matches(words, &matchers, &found, &mut matches);
            }
            if all.is_empty() {
                all = found.into_iter().map(|word| word.place).collect();
            }
        }
        if all.is_empty() {
            // A field of no category is shown without matches.
            scripts::each_chunk(looked_at, |place| all.push(place));
        }
        (all, merge_ranges(matches))
    }
}

fn matcher(
    words: &CategoryIndex,
    query: &ParsedQuery,
    text: &str,
    how: FoundBy,
) -> Option<Matcher> {
    let word = |part: bool, text: String| match part && !words.config().partial.is_none() {
        true => Matcher::Part(text),
        false => Matcher::Word(text),
    };
    Some(match how {
        FoundBy::Others => return None,
        FoundBy::Stored { part } => word(part, text.to_owned()),
        FoundBy::Query { part, exact: true } => word(part, text.to_owned()),
        FoundBy::Query { part, exact: false } => word(part, words.stored_form(text).into_owned()),
        FoundBy::Phrase(start, end) => {
            let spans = query.phrase_words.get(start as usize..end as usize)?;
            let stored = |span: &TextSpan| words.stored_form(span.slice(&query.text)).into_owned();
            Matcher::Phrase(spans.iter().map(stored).collect())
        }
        FoundBy::Range { from, to, part } => {
            let (from, to) = (from.slice(&query.text), to.slice(&query.text));
            let succession = StringRange::new(from, to);
            match succession.members() {
                Some(_) => Matcher::Range { range: from.to_owned()..to.to_owned(), part },
                None => Matcher::OneOf(succession.take(MAX_RANGE_WORDS).collect()),
            }
        }
    })
}

/// The words of a text with their places.
fn source_words(words: &CategoryIndex, text: &str) -> Vec<SourceWord> {
    let tokenizer = words.tokenizer();
    let mut out = Vec::new();
    let mut made = WordList::default();
    let mut chunks = Vec::new();
    scripts::each_chunk(text, |place| chunks.push(place));
    // A text of stop words alone was indexed with them.
    let dropped = |chunk: &Range<usize>| {
        split(tokenizer, &text[chunk.clone()], false, &mut WordList::default()) == 0
    };
    let whole = chunks.len() == 1 || chunks.iter().all(dropped);
    // A field that is not tokenized is one word, spaces included.
    if !whole
        && text.len() <= MAX_WORD_CHARS
        && split(tokenizer, text, true, &mut made) == 1
        && made.iter().next().is_some_and(|word| word.contains(char::is_whitespace))
    {
        let word = made.iter().next().map(|word| words.stored_form(word).into_owned());
        return vec![SourceWord { place: 0..text.len(), stored: word }];
    }
    for chunk in chunks {
        let count = split(tokenizer, &text[chunk.clone()], whole, &mut made);
        let first = made.iter().next().map(|word| words.stored_form(word).into_owned());
        if count <= 1 {
            let place = scripts::without_punctuation(text, chunk);
            let place = only_word(words, text, place, first.as_deref());
            out.push(SourceWord { place, stored: first });
            continue;
        }
        scripts::each_piece(text, chunk, |place| {
            split(tokenizer, &text[place.clone()], whole, &mut made);
            let word = made.iter().next().map(|word| words.stored_form(word).into_owned());
            out.push(SourceWord { place, stored: word });
        });
    }
    out
}

/// The place of the only word of a chunk: in `women's` possibly the first five letters.
fn only_word(
    words: &CategoryIndex,
    text: &str,
    place: Range<usize>,
    stored_as: Option<&str>,
) -> Range<usize> {
    let mut found = None;
    if text[place.clone()].contains(|letter| !scripts::is_in_word(letter)) {
        let mut made = WordList::default();
        scripts::each_piece(text, place.clone(), |piece| {
            split(words.tokenizer(), &text[piece.clone()], false, &mut made);
            let word = made.iter().next().map(|word| words.stored_form(word).into_owned());
            if found.is_none() && word.is_some() && word.as_deref() == stored_as {
                found = Some(piece);
            }
        });
    }
    found.unwrap_or(place)
}

fn split(tokenizer: &Tokenizer, text: &str, whole: bool, made: &mut WordList) -> usize {
    made.clear();
    tokenizer.add_words(text, whole, made);
    made.len()
}

/// Adds the places of words that match.
fn add_matches(
    words: &CategoryIndex,
    matchers: &[&Matcher],
    found: &[SourceWord],
    matches: &mut Vec<Range<usize>>,
) {
    // Words that were not indexed do not separate the words of a phrase.
    let indexed: Vec<(&SourceWord, &str)> =
        found.iter().filter_map(|word| Some((word, word.stored.as_deref()?))).collect();
    for (word, stored) in &indexed {
        if matchers.iter().any(|matcher| matcher.matches_word(words, stored)) {
            matches.push(word.place.clone());
        }
    }
    for matcher in matchers {
        let Matcher::Phrase(phrase) = matcher else { continue };
        if phrase.is_empty() {
            continue;
        }
        for window in indexed.windows(phrase.len()) {
            if window.iter().zip(phrase).all(|((_, stored), word)| stored == word) {
                matches.extend(window.iter().map(|(word, _)| word.place.clone()));
            }
        }
    }
}

/// Sorted places, overlapping ones merged.
fn merge_ranges(mut places: Vec<Range<usize>>) -> Vec<Range<usize>> {
    places.sort_by_key(|place| (place.start, place.end));
    let mut out: Vec<Range<usize>> = Vec::new();
    for place in places {
        match out.last_mut() {
            Some(last) if place.start < last.end || *last == place => {
                last.end = last.end.max(place.end);
            }
            _ => out.push(place),
        }
    }
    out
}

/// The first word of the excerpt of this many words that has the most matches, with the matches
/// near its middle.
fn densest(places: &[Range<usize>], matches: &[Range<usize>], words: usize) -> usize {
    let is_match = |place: &Range<usize>| {
        let at = matches.partition_point(|found| found.end <= place.start);
        matches.get(at).is_some_and(|found| found.start < place.end)
    };
    let flags: Vec<bool> = places.iter().map(is_match).collect();
    let mut inside = flags[..words].iter().filter(|flag| **flag).count();
    let (mut best, mut most) = (0, inside);
    for first in 1..=places.len() - words {
        inside += usize::from(flags[first + words - 1]);
        inside -= usize::from(flags[first - 1]);
        if inside > most {
            (best, most) = (first, inside);
        }
    }
    // Shift the excerpt so that the words before and after its matches are about equally many.
    let room = flags[best..best + words].iter().rev().take_while(|flag| !**flag).count();
    let before = flags[best..best + words].iter().take_while(|flag| !**flag).count();
    if most == 0 {
        return 0;
    }
    let shift = (before + room).div_ceil(2);
    if shift > before {
        best.saturating_sub(shift - before)
    } else {
        (best + before - shift).min(places.len() - words)
    }
}

/// A part of a text with its matches marked.
fn write_marked(
    text: &str,
    part: Range<usize>,
    matches: &[Range<usize>],
    markers: &Markers,
) -> String {
    let mut out = String::with_capacity(part.len() + 16);
    let mut at = part.start;
    for found in matches {
        let (start, end) = (found.start.max(part.start), found.end.min(part.end));
        if start >= end {
            continue;
        }
        push_escaped(&text[at..start], markers.html, &mut out);
        out.push_str(&markers.before);
        push_escaped(&text[start..end], markers.html, &mut out);
        out.push_str(&markers.after);
        at = end;
    }
    push_escaped(&text[at..part.end], markers.html, &mut out);
    out
}

fn push_escaped(text: &str, html: bool, out: &mut String) {
    match html {
        true => html_into(text, out),
        false => out.push_str(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_densest_part_has_its_matches_in_the_middle() {
        let places: Vec<Range<usize>> = (0..20).map(|at| at * 2..at * 2 + 1).collect();
        let at =
            |words: &[usize]| words.iter().map(|word| places[*word].clone()).collect::<Vec<_>>();
        for (matches, words, expected) in [
            (&[][..], 5, 0),
            (&[0], 5, 0),
            (&[10], 5, 8),
            (&[19], 5, 15),
            (&[2, 10, 11], 5, 8),
            (&[3, 4, 12], 4, 2),
        ] {
            assert_eq!(densest(&places, &at(matches), words), expected, "{matches:?}");
        }
    }

    #[test]
    fn what_is_not_a_match_is_escaped() {
        let markers = Markers::default();
        let text = "a<b> & \"c\" 'd'";
        let found = std::slice::from_ref(&(2..3));
        let marked = write_marked(text, 0..text.len(), found, &markers);
        assert_eq!(marked, "a&lt;<em>b</em>&gt; &amp; &quot;c&quot; &#39;d&#39;");
        let plain = Markers { before: "[".into(), after: "]".into(), html: false };
        assert_eq!(write_marked(text, 0..4, found, &plain), "a<[b]>");
    }
}
