//! Words that were perhaps meant: what is near a word that nobody knows, by typos.
//!
//! This is an addition to what the original does, and is off unless a search asks for it.

use crate::bundle::{Bundle, Entry};
use crate::distance;
use crate::limits::MAX_PHONETIC_CHARS;
use crate::work::Work;

/// How many words are taken for one that is not known, in each category.
const WORDS_TAKEN: usize = 3;

/// How many steps it is to compare two words of similar length.
const COMPARED: usize = 40;

/// How many typos a word of this length may have: shorter ones are too often other words.
fn allowed(length: usize, most: usize) -> usize {
    let by_length = match length {
        0..4 => 0,
        4..8 => 1,
        _ => 2,
    };
    by_length.min(most)
}

/// The words of a dictionary that are nearest to a word: only those with the fewest typos, and of
/// these the ones that most documents have.
pub(crate) fn nearest<'a>(
    bundle: &'a Bundle,
    word: &str,
    most: usize,
    work: &mut Work,
) -> Vec<Entry<'a>> {
    let letters: Vec<char> = word.chars().take(MAX_PHONETIC_CHARS + 1).collect();
    let mut limit = allowed(letters.len(), most);
    if limit == 0 || letters.len() > MAX_PHONETIC_CHARS || !work.spend(bundle.len()) {
        return Vec::new();
    }
    let mut found: Vec<Entry<'_>> = Vec::new();
    let mut other = Vec::new();
    for entry in bundle.iter() {
        // The number of bytes tells of most words that they have too many or too few characters.
        let bytes = entry.word().len();
        if bytes + limit < letters.len() || bytes > (letters.len() + limit) * 4 {
            continue;
        }
        other.clear();
        other.extend(entry.word().chars());
        if other.len().abs_diff(letters.len()) > limit {
            continue;
        }
        if !work.spend(COMPARED) {
            break;
        }
        let Some(typos) = distance::typos(&letters, &other, limit) else {
            continue;
        };
        if typos < limit {
            limit = typos;
            found.clear();
        }
        found.push(entry);
    }
    found.sort_by_key(|entry| std::cmp::Reverse(entry.posting().len()));
    found.truncate(WORDS_TAKEN);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::posting::End;
    use crate::weight::Weight;
    use hashbrown::DefaultHashBuilder;

    #[test]
    fn only_the_nearest_words_are_taken() {
        let hasher = DefaultHashBuilder::default();
        let mut bundle = Bundle::default();
        let words =
            ["histogram", "historian", "history", "mystery", "hist", "historic", "historia"];
        for (slot, word) in (0..).zip(words) {
            bundle.add(&hasher, word, slot, End::Back, &Weight::default());
        }
        bundle.add(&hasher, "historia", 90, End::Back, &Weight::default());
        let near = |word, most| {
            let found = nearest(&bundle, word, most, &mut Work::new());
            found.iter().map(|entry| entry.word()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(near("histroy", 2), "history");
        assert_eq!(near("historix", 2), "historia historic");
        assert_eq!(near("historygrm", 2), "");
        assert_eq!(near("histogrm", 1), "histogram");
        assert_eq!(near("histroy", 0), "");
        assert_eq!(near("his", 2), "");
    }
}
