//! Typo tolerance: the indexed words nearest to an unknown word of a query.
//!
//! An addition to the original, off by default.

use crate::index::word_table::{WordEntry, WordTable};
use crate::limits::MAX_PHONETIC_CHARS;
use crate::query::work_budget::WorkBudget;
use crate::text::edit_distance;

/// Words taken for an unknown word, in each category.
const WORDS_TAKEN: usize = 3;

/// Steps of work to reject a word by its length or letters.
const LOOKED_AT: usize = 8;

/// Steps of work to compare two words of similar length and letters.
const COMPARED: usize = 80;

/// The number of typos allowed in a word of this length: short words too easily become other words.
fn allowed(length: usize, most: usize) -> usize {
    let by_length = match length {
        0..4 => 0,
        4..8 => 1,
        _ => 2,
    };
    by_length.min(most)
}

/// The letters of a word as a bit mask. Letters may share a bit.
fn letters_of(word: &str) -> u64 {
    if word.is_ascii() {
        return word.bytes().fold(0, |bits, byte| bits | 1 << (byte % 64));
    }
    word.chars().fold(0, |bits, letter| bits | 1 << (u32::from(letter) % 64))
}

/// The words of a dictionary nearest to a word: only those with the fewest typos, and of these the
/// ones with the highest weights.
///
/// The length and the letters reject most words before the edit distance is computed: a typo
/// removes at most one letter from a word and adds at most one.
pub(crate) fn nearest_words<'a>(
    bundle: &'a WordTable,
    word: &str,
    most: usize,
    work: &mut WorkBudget,
) -> Vec<WordEntry<'a>> {
    let letters: Vec<char> = word.chars().take(MAX_PHONETIC_CHARS + 1).collect();
    let mut limit = allowed(letters.len(), most);
    if limit == 0 || letters.len() > MAX_PHONETIC_CHARS || !work.spend(bundle.len() * LOOKED_AT) {
        return Vec::new();
    }
    let bits = letters_of(word);
    let mut found: Vec<WordEntry<'_>> = Vec::new();
    let mut other = Vec::new();
    let most = limit;
    let wanted = |word: &str| {
        if word.chars().count().abs_diff(letters.len()) > most {
            return false;
        }
        let other_bits = letters_of(word);
        let [missing, more] = [bits & !other_bits, other_bits & !bits].map(u64::count_ones);
        missing.max(more) as usize <= most
    };
    for entry in bundle.of_words(wanted) {
        other.clear();
        other.extend(entry.word().chars());
        if !work.spend(COMPARED) {
            break;
        }
        let Some(typos) = edit_distance::typos(&letters, &other, limit) else {
            continue;
        };
        if typos < limit {
            limit = typos;
            found.clear();
        }
        found.push(entry);
    }
    found.sort_by(|left, right| {
        let by_weight = right.weight().order(left.weight());
        by_weight.then(right.posting().len().cmp(&left.posting().len()))
    });
    found.truncate(WORDS_TAKEN);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::posting_list::ListEnd;
    use crate::index::weight::Weight;
    use hashbrown::DefaultHashBuilder;
    use std::collections::BTreeSet;

    #[test]
    fn only_the_nearest_words_are_taken() {
        let hasher = DefaultHashBuilder::default();
        let mut bundle = WordTable::default();
        let words =
            ["histogram", "historian", "history", "mystery", "hist", "historic", "historia"];
        for (slot, word) in (0..).zip(words) {
            bundle.add(&hasher, word, slot, ListEnd::Back, &Weight::default());
        }
        bundle.add(&hasher, "historia", 90, ListEnd::Back, &Weight::default());
        let near = |word, most| {
            let found = nearest_words(&bundle, word, most, &mut WorkBudget::new());
            found.iter().map(|entry| entry.word()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(near("histroy", 2), "history");
        assert_eq!(near("historix", 2), "historia historic");
        assert_eq!(near("historygrm", 2), "");
        assert_eq!(near("histogrm", 1), "histogram");
        assert_eq!(near("histroy", 0), "");
        assert_eq!(near("his", 2), "");
    }

    proptest::proptest! {
        #[test]
        fn nothing_nearer_is_passed_over(
            words in proptest::collection::btree_set("[a-d\u{e4}\u{4eac}]{2,11}", 1..40),
            word in "[a-e\u{e4}\u{4eac}]{4,10}",
        ) {
            let hasher = DefaultHashBuilder::default();
            let mut bundle = WordTable::default();
            for (slot, word) in (0..).zip(&words) {
                bundle.add(&hasher, word, slot, ListEnd::Back, &Weight::default());
            }
            let letters = |word: &str| word.chars().collect::<Vec<_>>();
            let most = allowed(letters(&word).len(), 2);
            let typos = |other: &String| edit_distance::typos(&letters(&word), &letters(other), most);
            let fewest = words.iter().filter_map(typos).min();
            let nearest: BTreeSet<&str> = words
                .iter()
                .filter(|other| fewest.is_some() && typos(other) == fewest)
                .map(String::as_str)
                .collect();
            let found = nearest_words(&bundle, &word, 2, &mut WorkBudget::new());
            proptest::prop_assert_eq!(found.len(), nearest.len().min(WORDS_TAKEN));
            proptest::prop_assert!(found.iter().all(|entry| nearest.contains(entry.word())));
        }
    }
}
