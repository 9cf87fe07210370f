//! An interpretation as something that people can choose: what it says, and the query that means it
//! alone.

use super::options::PageOptions;
use crate::{Allocation, SearchAnswer};
use runnel_store::Value;

/// Most results of a page without choices.
pub(crate) const FEW_RESULTS: usize = 10;
/// Interpretations to choose from at most.
pub(crate) const MAX_CHOICES: usize = 24;

/// A word of an interpretation.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Word {
    category: String,
    /// With its markers, without qualifiers.
    word: String,
}

/// What an interpretation is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Meaning {
    /// The index, where there are several.
    index: Option<String>,
    words: Vec<Word>,
}

impl Meaning {
    pub(crate) fn of(allocation: &Allocation<'_>, several: bool) -> Meaning {
        let mut words = Vec::new();
        for chosen in allocation.words() {
            // Alternatives are one word with bars; each has a category of its own.
            let categories: Vec<&str> = chosen.category.split('|').collect();
            let originals: Vec<&str> = chosen.original.split('|').collect();
            if categories.len() == originals.len() {
                let pairs = categories.into_iter().zip(originals);
                let parts = pairs.map(|(category, original)| Word::of(category, original));
                words.push(Word::joined(parts));
            } else {
                words.push(Word::of(chosen.category, chosen.original));
            }
        }
        Meaning { index: several.then(|| allocation.identifier().to_owned()), words }
    }

    /// The query that means nothing else: `title:alan* author:p`.
    pub(crate) fn query(&self) -> String {
        let mut query = String::new();
        for word in &self.words {
            if !query.is_empty() {
                query.push(' ');
            }
            let pairs = word.category.split('|').zip(word.word.split('|'));
            for (number, (category, word)) in pairs.enumerate() {
                if number > 0 {
                    query.push('|');
                }
                query.push_str(category);
                query.push(':');
                query.push_str(word);
            }
        }
        query
    }

    /// The categories as statistics count them: `title, author`.
    pub(crate) fn categories(&self) -> String {
        let mut categories = self.index.as_ref().map(|index| format!("{index}: "));
        let text = categories.get_or_insert_default();
        for (number, word) in self.words.iter().enumerate() {
            if number > 0 {
                text.push_str(", ");
            }
            text.push_str(&word.category);
        }
        categories.unwrap_or_default()
    }

    /// What a page shows: the `index`, where there are several, and `words` with their `category`
    /// and `word`.
    pub(crate) fn value(&self, options: &PageOptions) -> Vec<(&'static str, Value)> {
        let word = |word: &Word| {
            let labels: Vec<&str> =
                word.category.split('|').map(|name| options.label(name)).collect();
            Value::record([
                ("category", labels.join(" / ").into()),
                ("word", word.word.replace('|', " / ").into()),
            ])
        };
        let index = self.index.as_deref().map_or(Value::Nil, Value::from);
        vec![("index", index), ("words", Value::List(self.words.iter().map(word).collect()))]
    }
}

impl Word {
    fn of(category: &str, original: &str) -> Word {
        // A colon between quotes belongs to a phrase.
        let word = match original.split_once(':') {
            Some((qualifiers, word)) if !qualifiers.contains('"') => word,
            _ => original,
        };
        Word { category: category.to_owned(), word: word.to_owned() }
    }

    fn joined(parts: impl Iterator<Item = Word>) -> Word {
        let mut joined = Word { category: String::new(), word: String::new() };
        for (number, part) in parts.enumerate() {
            if number > 0 {
                joined.category.push('|');
                joined.word.push('|');
            }
            joined.category.push_str(&part.category);
            joined.word.push_str(&part.word);
        }
        joined
    }
}

/// What a query leaves out, as it was written: it belongs to every interpretation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Excluded {
    /// Before the other words. The last word of a query is special, so it has to stay the last.
    before: String,
    after: String,
}

impl Excluded {
    pub(crate) fn of(answer: &SearchAnswer, query: &str) -> Excluded {
        let mut excluded = Excluded::default();
        let typed = query.trim().to_lowercase();
        for place in &answer.query.excluded {
            let token = answer.query.tokens.get(place.first as usize);
            let Some(token) = token else { continue };
            let original = token.original.slice(&answer.query.text);
            let word = original.trim_matches('"');
            // The marker is what stands before it.
            let found = typed.match_indices(word).find_map(|(at, _)| {
                let before = typed[..at].trim_end_matches('"');
                let marker = before.chars().next_back().filter(|last| !last.is_whitespace())?;
                Some((marker, typed[at..].trim_end_matches('"') == word))
            });
            let (marker, last) = found.unwrap_or(('-', false));
            if last {
                excluded.after = format!("{} {marker}{original}", excluded.after);
            } else {
                excluded.before = format!("{}{marker}{original} ", excluded.before);
            }
        }
        excluded
    }

    /// A query with what is left out.
    pub(crate) fn around(&self, query: &str) -> String {
        format!("{}{query}{}", self.before, self.after)
    }
}

/// An interpretation with the number of its documents.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    pub(crate) meaning: Meaning,
    pub(crate) count: usize,
}

/// What there is to choose, best first; nothing where there is one interpretation.
pub(crate) fn choices(answer: &SearchAnswer, several: bool) -> Vec<Choice> {
    let mut choices: Vec<Choice> = Vec::new();
    for allocation in answer.allocations() {
        // A query says nothing about indexes: what means the same in several is one choice.
        let meaning = Meaning::of(&allocation, false);
        let known = choices.iter().position(|known| known.meaning == meaning);
        match known {
            Some(known) if several => choices[known].count += allocation.count(),
            Some(_) => {}
            None if choices.len() < MAX_CHOICES => {
                choices.push(Choice { meaning, count: allocation.count() });
            }
            None => {}
        }
    }
    if choices.len() < 2 {
        choices.clear();
    }
    choices
}
