//! A made-up catalogue of books, as unevenly worded as a real one, and queries for it. The same
//! numbers give the same books, for every engine that is measured.
#![allow(dead_code)]

use std::collections::HashSet;

/// Different words of titles; about as many as a library of a million books has in one language.
const TITLE_WORDS: usize = 60_000;
const FIRST_NAMES: usize = 3_000;
const LAST_NAMES: usize = 60_000;
const PUBLISHERS: usize = 4_000;
const SUBJECTS: usize = 8_000;

/// A source of numbers that are the same each time (splitmix64, Steele and others 2014).
pub(crate) struct Numbers(u64);

impl Numbers {
    pub(crate) fn new(seed: u64) -> Numbers {
        Numbers(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }
}

/// Words of which the one of rank n is n times rarer than the first (Zipf's law).
struct Vocabulary {
    words: Vec<String>,
    /// The sum of the shares up to each word.
    sums: Vec<f64>,
}

impl Vocabulary {
    fn new(count: usize, seed: u64) -> Vocabulary {
        let mut numbers = Numbers::new(seed);
        let mut known = HashSet::new();
        let mut words = Vec::with_capacity(count);
        while words.len() < count {
            // Frequent words are short.
            let syllables = match words.len() {
                0..40 => 1,
                40..2_000 => 1 + numbers.below(2),
                2_000..20_000 => 2 + numbers.below(2),
                _ => 2 + numbers.below(3),
            };
            let word: String = (0..syllables).map(|_| syllable(&mut numbers)).collect();
            if known.insert(word.clone()) {
                words.push(word);
            }
        }
        let shares = (1..=count).map(|rank| 1.0 / rank as f64);
        let sums = shares.scan(0.0, |sum, share| {
            *sum += share;
            Some(*sum)
        });
        Vocabulary { words, sums: sums.collect() }
    }

    fn pick(&self, numbers: &mut Numbers) -> &str {
        let all = self.sums.last().copied().unwrap_or_default();
        let at = numbers.next() as f64 / u64::MAX as f64 * all;
        let rank = self.sums.partition_point(|sum| *sum < at);
        &self.words[rank.min(self.words.len() - 1)]
    }
}

fn syllable(numbers: &mut Numbers) -> String {
    const FIRST: [&str; 28] = [
        "", "", "b", "c", "d", "f", "g", "h", "l", "m", "n", "p", "r", "s", "s", "t", "t", "v",
        "w", "st", "tr", "pr", "ch", "sh", "th", "gr", "cl", "qu",
    ];
    const MIDDLE: [&str; 12] = ["a", "e", "e", "i", "o", "u", "a", "e", "i", "o", "ea", "ou"];
    const LAST: [&str; 16] =
        ["", "", "", "", "n", "r", "s", "t", "l", "m", "d", "nd", "ng", "rt", "ss", "ck"];
    let mut pick = |from: &[&'static str]| from[numbers.below(from.len())];
    [pick(&FIRST), pick(&MIDDLE), pick(&LAST)].concat()
}

/// A book of the catalogue.
pub(crate) struct Book {
    pub(crate) id: i64,
    pub(crate) title: String,
    pub(crate) author: String,
    pub(crate) year: String,
    pub(crate) publisher: String,
    pub(crate) subjects: String,
}

impl Book {
    /// The words of all fields.
    fn words(&self) -> Vec<&str> {
        let fields = [&self.title, &self.author, &self.year, &self.publisher, &self.subjects];
        fields.into_iter().flat_map(|field| field.split(' ')).collect()
    }
}

/// What books are made of.
pub(crate) struct Catalogue {
    titles: Vocabulary,
    first_names: Vocabulary,
    last_names: Vocabulary,
    publishers: Vocabulary,
    subjects: Vocabulary,
}

impl Catalogue {
    pub(crate) fn new() -> Catalogue {
        Catalogue {
            titles: Vocabulary::new(TITLE_WORDS, 1),
            first_names: Vocabulary::new(FIRST_NAMES, 2),
            last_names: Vocabulary::new(LAST_NAMES, 3),
            publishers: Vocabulary::new(PUBLISHERS, 4),
            subjects: Vocabulary::new(SUBJECTS, 5),
        }
    }

    /// The book of a number, whatever the others are.
    pub(crate) fn book(&self, id: i64) -> Book {
        let mut numbers = Numbers::new(id.unsigned_abs().wrapping_mul(0x2545_f491_4f6c_dd1d));
        let several = |words: &Vocabulary, count: usize, numbers: &mut Numbers| {
            (0..count).map(|_| words.pick(numbers)).collect::<Vec<_>>().join(" ")
        };
        let length = 3 + numbers.below(4) + numbers.below(4);
        let title = several(&self.titles, length, &mut numbers);
        let mut author = several(&self.first_names, 1 + numbers.below(2), &mut numbers);
        author.push(' ');
        author.push_str(self.last_names.pick(&mut numbers));
        // More books are new than old.
        let age = numbers.below(130).min(numbers.below(130));
        let publisher = several(&self.publishers, 1 + numbers.below(2), &mut numbers);
        let count = 1 + numbers.below(3);
        let subjects = several(&self.subjects, count, &mut numbers);
        Book { id, title, author, year: (2025 - age).to_string(), publisher, subjects }
    }

    /// The first `count` books.
    pub(crate) fn books(&self, count: i64) -> impl Iterator<Item = Book> + '_ {
        (0..count).map(|id| self.book(id))
    }

    /// Queries of `words` words from one of `count` books each, the last word truncated, as while
    /// typing. With `named` from titles and authors only.
    pub(crate) fn queries(
        &self,
        number: usize,
        words: usize,
        count: i64,
        named: bool,
    ) -> Vec<String> {
        let mut numbers = Numbers::new(words as u64 * 1_000 + 7);
        let mut query = || {
            let book = self.book(numbers.below(count as usize) as i64);
            let mut known: Vec<&str> = if named {
                book.title.split(' ').chain(book.author.split(' ')).collect()
            } else {
                book.words()
            };
            let mut query: Vec<&str> =
                (0..words).map(|_| known.swap_remove(numbers.below(known.len()))).collect();
            if let Some(last) = query.last_mut() {
                *last = &last[..1 + numbers.below(last.len())];
            }
            query.join(" ")
        };
        (0..number).map(|_| query()).collect()
    }

    /// Queries that are much work: frequent words, and beginnings that many words share.
    pub(crate) fn frequent(&self) -> Vec<String> {
        let [a, b, c] = [0, 1, 2].map(|rank| self.titles.words[rank].as_str());
        let [first, last] = [&self.first_names, &self.last_names].map(|words| &words.words[0]);
        vec![
            "a".to_owned(),
            "a* a".to_owned(),
            "a* a* a".to_owned(),
            "s* t* e".to_owned(),
            "s* t* e* a".to_owned(),
            "s* t* e* a* i".to_owned(),
            format!("{a} {b} {c}"),
            format!("{a}* {b}* {c}"),
            format!("{first} {last} {a}"),
            format!("{a} {a} {a}"),
            "2* 2* 2".to_owned(),
            "1* 2* s".to_owned(),
        ]
    }
}
