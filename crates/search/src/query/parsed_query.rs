//! The parser of queries: words with their markers.
//!
//! `word*` is partial, `"word"` or `word"` exact, `word~` similar, `title:word` and
//! `title,author:word` belong to these categories only, `one|two` is either, `1990…1995` a range.
//! The last word is partial without a marker, the others are exact. If the search allows it, `"two
//! words"` is a phrase, and `-word`, `!word` or `-"two words"` excludes.

use crate::limits::{MAX_ALTERNATIVES, MAX_QUERY_CHARS, MAX_QUERY_TOKENS};
use crate::query::query_parts::{JoinedWords, QueryPart, split_query};
use crate::text::tokenizer::Tokenizer;
use crate::text::word_list::{TextSpan, WordList, first_characters};

/// The separator of the ends of a range.
const RANGE: char = '\u{2026}';

/// One word of a query, or one of several alternatives. Its texts are spans of
/// [`ParsedQuery::text`].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct QueryToken {
    /// The written form, in lower case.
    pub(crate) original: TextSpan,
    /// The text to look up, without qualifiers and markers.
    pub(crate) text: TextSpan,
    /// The text before the colon.
    pub(crate) qualifiers: Option<TextSpan>,
    pub(crate) partial: bool,
    pub(crate) similar: bool,
    /// Whether it ends in `"`.
    pub(crate) quoted: bool,
    /// Whether to look it up without stemming.
    pub(crate) exact: bool,
    /// The ends of a range.
    pub(crate) range: Option<(TextSpan, TextSpan)>,
    /// The number of its only category, whatever its qualifiers.
    pub(crate) category: Option<u8>,
    /// The words of a phrase, as a range of [`ParsedQuery::phrase_words`].
    pub(crate) phrase: Option<(u32, u32)>,
}

/// A position of the query: one token, or several alternatives that count as one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueryPosition {
    pub(crate) first: u32,
    pub(crate) end: u32,
    /// Whether the alternatives are written with a bar. A single alternative can be.
    pub(crate) either: bool,
}

/// A parsed query. Its memory is reused for the next query.
#[derive(Clone, Debug, Default)]
pub(crate) struct ParsedQuery {
    pub(crate) text: String,
    pub(crate) tokens: Vec<QueryToken>,
    pub(crate) places: Vec<QueryPosition>,
    /// The positions whose documents are excluded.
    pub(crate) excluded: Vec<QueryPosition>,
    /// The words of all phrases, concatenated.
    pub(crate) phrase_words: Vec<TextSpan>,
    phrases: bool,
    words: WordList,
}

/// The syntax that a search allows in its queries.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QuerySyntax<'a> {
    /// Whether the last word is partial without a marker.
    pub(crate) last_partial: bool,
    /// The markers in front of excluded words.
    pub(crate) exclusions: &'a [char],
    /// Whether several words between quotes are a phrase.
    pub(crate) phrases: bool,
}

impl ParsedQuery {
    /// Parses a query.
    pub(crate) fn parse(&mut self, query: &str, tokenizer: &Tokenizer, reading: QuerySyntax<'_>) {
        self.text.clear();
        self.tokens.clear();
        self.places.clear();
        self.excluded.clear();
        self.phrase_words.clear();
        self.phrases = reading.phrases;
        let query = first_characters(query, MAX_QUERY_CHARS);
        let plain = reading.exclusions.is_empty() && !reading.phrases;
        if plain {
            return self.add_plain(query, true, reading.last_partial, tokenizer);
        }
        let phrases = reading.phrases;
        let runs = phrases && tokenizer.splits_queries();
        let all = split_query(query, reading.exclusions, phrases, runs);
        let count = all.len();
        for (number, piece) in all.into_iter().enumerate() {
            let last = reading.last_partial && number + 1 == count;
            let kept = self.places.len();
            match piece {
                QueryPart::Plain(text) => self.add_plain(text, count == 1, last, tokenizer),
                QueryPart::Joined(joined) => {
                    self.add_joined(&joined, phrases, last, tokenizer);
                    if joined.excluded {
                        self.excluded.extend(self.places.drain(kept..));
                    }
                }
            }
        }
    }

    /// Adds the words of a text; `whole` says that it is the complete query.
    fn add_plain(&mut self, text: &str, whole: bool, last_partial: bool, tokenizer: &Tokenizer) {
        let mut words = std::mem::take(&mut self.words);
        words.clear();
        tokenizer.add_words(text, whole, &mut words);
        let room = MAX_QUERY_TOKENS.saturating_sub(self.places.len() + self.excluded.len());
        let count = words.len().min(room);
        for (number, word) in words.iter().take(room).enumerate() {
            self.add_word(word, last_partial && number + 1 == count);
        }
        self.words = words;
    }

    /// Adds words that belong together: as a phrase if there are several.
    fn add_joined(
        &mut self,
        joined: &JoinedWords<'_>,
        phrases: bool,
        last: bool,
        tokenizer: &Tokenizer,
    ) {
        let mut words = std::mem::take(&mut self.words);
        words.clear();
        tokenizer.add_words(joined.words, !joined.quoted, &mut words);
        let room = MAX_QUERY_TOKENS.saturating_sub(self.places.len() + self.excluded.len());
        if phrases && words.len() > 1 && room > 0 {
            self.add_phrase(joined, &words);
        } else {
            let colon = if joined.qualifiers.is_empty() { "" } else { ":" };
            let quote = if joined.quoted { "\"" } else { "" };
            for word in words.iter().take(room) {
                let word = format!("{}{colon}{word}{quote}", joined.qualifiers);
                self.add_word(&word, last && !joined.excluded);
            }
        }
        self.words = words;
    }

    fn add_phrase(&mut self, joined: &JoinedWords<'_>, words: &WordList) {
        let start = self.phrase_words.len() as u32;
        let mut text = String::new();
        for word in words.iter().take(MAX_QUERY_TOKENS) {
            let word = self.store_plain(word);
            if word.len() > 0 {
                text.push_str(if text.is_empty() { "" } else { " " });
                text.push_str(word.slice(&self.text));
                self.phrase_words.push(word);
            }
        }
        let end = self.phrase_words.len() as u32;
        if start == end {
            return;
        }
        self.push_place(1, false);
        let qualifiers = joined.qualifiers;
        let token = QueryToken {
            original: self.store(&joined.written.to_lowercase()),
            text: self.store(&text),
            qualifiers: (!qualifiers.is_empty()).then(|| self.store(&qualifiers.to_lowercase())),
            phrase: Some((start, end)),
            ..QueryToken::default()
        };
        self.tokens.push(token);
    }

    /// Appends a word to look up exactly, in one category.
    pub(crate) fn push_exact(&mut self, word: &str, category: u8) {
        let text = self.store(word);
        self.push_place(1, false);
        let category = Some(category);
        self.tokens.push(QueryToken {
            original: text,
            text,
            quoted: true,
            exact: true,
            category,
            ..QueryToken::default()
        });
    }

    fn push_place(&mut self, alternatives: usize, either: bool) {
        let first = self.tokens.len() as u32;
        self.places.push(QueryPosition { first, end: first + alternatives as u32, either });
    }

    fn add_word(&mut self, word: &str, last: bool) {
        // Fast path: most words have no markers.
        if word.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            self.push_place(1, false);
            let text = self.store(word);
            let token = QueryToken { original: text, text, partial: last, ..QueryToken::default() };
            return self.tokens.push(token);
        }
        if !word.contains('|') {
            self.push_place(1, false);
            return self.add_token(word, word, last);
        }
        let parts = word.trim_end_matches('|').split('|');
        match parts.clone().take(2).count() {
            // Bars alone mean nothing.
            _ if word.bytes().all(|byte| byte == b'|') => {}
            1 => {
                self.push_place(1, false);
                parts.for_each(|part| self.add_token(word, part, last));
            }
            _ => {
                let parts = parts.take(MAX_ALTERNATIVES);
                self.push_place(parts.clone().count(), true);
                parts.for_each(|part| self.add_token(part, part, last));
            }
        }
    }

    fn add_token(&mut self, original: &str, word: &str, last: bool) {
        let (qualifiers, text) = match word.split_once(':') {
            Some((qualifiers, text)) => (Some(qualifiers), text),
            None => (None, word),
        };
        let similar = text.ends_with('~');
        let quoted = text.ends_with('"');
        let token = QueryToken {
            original: self.store(original),
            text: self.store_plain(text),
            qualifiers: qualifiers.map(|qualifiers| self.store(qualifiers)),
            partial: !similar && !quoted && (last || text.ends_with('*')),
            similar,
            quoted,
            // With phrases, a quoted word is a phrase of one word: whole, and stemmed like the
            // words of others.
            exact: quoted && !self.phrases,
            range: text.split_once(RANGE).map(|(from, to)| (self.store(from), self.store(to))),
            category: None,
            phrase: None,
        };
        self.tokens.push(token);
    }

    fn store(&mut self, text: &str) -> TextSpan {
        let start = self.text.len() as u32;
        self.text.push_str(text);
        TextSpan { start, end: self.text.len() as u32 }
    }

    fn store_plain(&mut self, text: &str) -> TextSpan {
        if !text.contains(['"', '~', '*']) {
            return self.store(text);
        }
        let start = self.text.len() as u32;
        self.text.extend(text.chars().filter(|character| !matches!(character, '"' | '~' | '*')));
        TextSpan { start, end: self.text.len() as u32 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> ParsedQuery {
        let mut query = ParsedQuery::default();
        let reading = QuerySyntax { last_partial: true, exclusions: &['!', '-'], phrases: true };
        query.parse(text, &Tokenizer::new(), reading);
        query
    }

    fn only(text: &str) -> (ParsedQuery, QueryToken) {
        let query = parse(text);
        assert_eq!(query.tokens.len(), 1, "{text}");
        let token = query.tokens[0];
        (query, token)
    }

    #[test]
    fn markers() {
        for (word, text, partial, similar, quoted) in [
            ("his", "his", true, false, false),
            ("his*", "his", true, false, false),
            ("his\"", "his", false, false, true),
            ("\"his", "his", true, false, false),
            ("his~", "his", false, true, false),
            ("~his", "his", true, false, false),
            ("his~*", "his", true, false, false),
            ("his*~", "his", false, true, false),
            ("his*\"", "his", false, false, true),
            ("a*b", "ab", true, false, false),
            ("*", "", true, false, false),
        ] {
            let (query, token) = only(word);
            assert_eq!(token.text.slice(&query.text), text, "{word}");
            assert_eq!(token.original.slice(&query.text), word, "{word}");
            assert_eq!((token.partial, token.similar, token.quoted), (partial, similar, quoted));
        }
        let query = parse("a b* c");
        let partial: Vec<bool> = query.tokens.iter().map(|token| token.partial).collect();
        assert_eq!(partial, [false, true, true]);
    }

    #[test]
    fn qualifiers_end_at_the_first_colon() {
        let (query, token) = only("a,b:c:d");
        assert_eq!(token.qualifiers.map(|span| span.slice(&query.text)), Some("a,b"));
        assert_eq!(token.text.slice(&query.text), "c:d");
        let (query, token) = only(":x");
        assert_eq!(token.qualifiers.map(|span| span.slice(&query.text)), Some(""));
        assert_eq!(only("x").1.qualifiers, None);
    }

    #[test]
    fn alternatives() {
        for (word, alternatives, either) in
            [("a|b", 2, true), ("a|b||", 2, true), ("|a", 2, true), ("a|", 1, false)]
        {
            let query = parse(word);
            let place = query.places[0];
            assert_eq!((place.end - place.first, place.either), (alternatives, either), "{word}");
        }
        let (query, token) = only("a||");
        assert_eq!(token.original.slice(&query.text), "a||");
        assert!(parse("|| |").places.is_empty());
        assert!(parse("a|b").tokens.iter().all(|token| token.partial));
    }

    #[test]
    fn ranges_keep_their_markers() {
        let (query, token) = only("year:a\u{2026}c\"");
        let range = token.range.map(|(from, to)| (from.slice(&query.text), to.slice(&query.text)));
        assert_eq!(range, Some(("a", "c\"")));
        assert_eq!(token.text.slice(&query.text), "a\u{2026}c");
    }

    #[test]
    fn excluded_words_are_exact_unless_marked() {
        let query = parse("a !b !c* d");
        assert_eq!((query.places.len(), query.excluded.len()), (2, 2));
        let partial: Vec<bool> = query.tokens.iter().map(|token| token.partial).collect();
        assert_eq!(partial, [false, false, true, true]);
        assert_eq!(parse("!").places.len(), 1);
        assert_eq!(parse("a-b --c - d").places.len(), 4);
    }

    #[test]
    fn several_words_between_quotes_are_one_place() {
        for (text, words, qualifiers) in [
            ("\"Alan  Turing\"", "alan turing", None),
            ("title,author:\"a b* c~\"", "a b c", Some("title,author")),
        ] {
            let (query, token) = only(text);
            assert_eq!(token.text.slice(&query.text), words, "{text}");
            assert_eq!(token.original.slice(&query.text), text.to_lowercase());
            assert_eq!(token.qualifiers.map(|span| span.slice(&query.text)), qualifiers);
            let (start, end) = token.phrase.unwrap_or_default();
            let phrase = &query.phrase_words[start as usize..end as usize];
            let phrase: Vec<&str> = phrase.iter().map(|word| word.slice(&query.text)).collect();
            assert_eq!(phrase.join(" "), words);
        }
        assert!(only("\"alan\"").1.quoted && only("\" alan \"").1.quoted);
        assert_eq!(parse("\"alan turing").tokens.len(), 2);
        let query = parse("x -\"a b\" -c|d \"e f\"");
        assert_eq!((query.places.len(), query.excluded.len()), (2, 2));
        let partial = query.tokens.iter().filter(|token| token.partial).count();
        assert_eq!(partial, 0, "nothing is partial unless it comes last");
    }

    #[test]
    fn long_queries_are_cut() {
        assert_eq!(parse(&"a ".repeat(400)).places.len(), MAX_QUERY_TOKENS);
        let (query, token) = only(&"\u{fc}".repeat(5_000));
        assert_eq!(token.text.slice(&query.text).chars().count(), MAX_QUERY_CHARS);
        assert_eq!(parse(&"a|".repeat(400)).tokens.len(), MAX_ALTERNATIVES);
    }
}
