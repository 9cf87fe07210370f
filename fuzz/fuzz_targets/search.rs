//! Searches of strangers: whatever the configuration, the documents and the query are, the engine
//! answers with valid JSON whose counts add up, within its budget of work, and an index whose
//! documents were all removed is as good as empty.
#![no_main]

use libfuzzer_sys::fuzz_target;
use runnel_search::{
    Answer, Boost, Category, Document, Fidelity, Grid, Id, Index, IndexConfig, KeyFormat, MAX_WORK,
    Partial, Request, Search, SearchConfig, SharedIndex, Similarity, Stemmer, Tokenizer, Weight,
};
use std::collections::BTreeSet;
use std::sync::{Arc, RwLock};

/// Categories of an index, by the letter that is their name.
const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];
/// Identifiers of documents; few, so that they meet again.
const IDS: u8 = 24;
/// Steps of one run; more say nothing new.
const MOST_STEPS: usize = 80;
/// What queries are made of besides letters.
const PIECES: [&str; 16] = [
    "a", "b", "ab", "aba", "1", "12", " ", " ", "*", "~", "\"", ":", "|", "\u{2026}", ",", "!",
];

/// The bytes of an input, one after the other; zeros once there are none.
struct Bytes<'a>(std::slice::Iter<'a, u8>);

impl Bytes<'_> {
    fn byte(&mut self) -> u8 {
        self.0.next().copied().unwrap_or_default()
    }

    fn below(&mut self, end: u8) -> u8 {
        self.byte() % end
    }

    fn yes(&mut self) -> bool {
        self.byte() & 1 == 1
    }

    fn is_empty(&self) -> bool {
        self.0.len() == 0
    }

    /// A short signed number.
    fn number(&mut self) -> i32 {
        i32::from(self.below(15)) - 7
    }

    /// A text of the pieces, or of any bytes.
    fn text(&mut self) -> String {
        let length = self.below(24);
        if self.below(4) > 0 {
            return (0..length).map(|_| PIECES[usize::from(self.below(16))]).collect();
        }
        let bytes: Vec<u8> = (0..length).map(|_| self.byte()).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

fn partial(bytes: &mut Bytes<'_>) -> Partial {
    match bytes.below(5) {
        0 => Partial::None,
        1 => Partial::default(),
        2 => Partial::Infix { min: bytes.number(), max: bytes.number() },
        3 => Partial::substring(1, -1),
        _ => Partial::substring(bytes.number(), bytes.number()),
    }
}

fn category(bytes: &mut Bytes<'_>, name: &str) -> Category {
    if bytes.below(8) == 7 {
        let grid = Grid::new(f64::from(bytes.number()), u32::from(bytes.below(5)), 0.0);
        return Category::near(name, grid);
    }
    let similarity = match bytes.below(5) {
        0 => Similarity::DoubleMetaphone(usize::from(bytes.below(4))),
        1 => Similarity::Metaphone(usize::from(bytes.below(4))),
        2 => Similarity::Soundex(usize::from(bytes.below(4))),
        _ => Similarity::None,
    };
    let weight = match bytes.below(4) {
        0 => Weight::Constant(bytes.number().into()),
        1 => Weight::Logarithmic(f64::from(bytes.number()).into()),
        _ => Weight::default(),
    };
    let category = Category::new(name)
        .partial(partial(bytes))
        .similarity(similarity)
        .weight(weight)
        .exact_first(bytes.below(4) == 0);
    match bytes.below(4) {
        0 => category.from(NAMES[usize::from(bytes.below(6))]),
        1 => category.qualifiers([NAMES[usize::from(bytes.below(6))], "q"]),
        2 => category.tokenizer(Tokenizer::new().stems(Stemmer::English)),
        _ => category,
    }
}

fn index(bytes: &mut Bytes<'_>, name: &str) -> Index {
    let count = 1 + usize::from(bytes.below(6));
    let fidelity = if bytes.yes() { Fidelity::Original } else { Fidelity::Corrected };
    let format = if bytes.yes() { KeyFormat::Text } else { KeyFormat::Integer };
    let config =
        IndexConfig::new(name).fidelity(fidelity).key_format(format).fixed(bytes.below(4) == 0);
    let categories = NAMES.iter().take(count);
    let config = categories.fold(config, |config, name| config.category(category(bytes, name)));
    Index::new(config).expect("different names, at least one")
}

fn preferences(bytes: &mut Bytes<'_>) -> SearchConfig {
    let flags = bytes.byte();
    let on = |bit: u8| flags >> bit & 1 == 1;
    let mut config = SearchConfig::new();
    if on(0) {
        config = config.max_allocations(usize::from(bytes.below(5)));
    }
    if on(1) {
        config = config.terminate_early(usize::from(bytes.below(3)));
    }
    if on(2) {
        config = config.ignore("a");
    }
    if on(3) {
        config = config.ignore_list(["a", "b"]).boost(Boost::new(["b", "a"], bytes.number()));
    }
    if on(4) {
        config = config.only(["a"]).only(["a", "b"]);
    }
    if on(5) {
        config = config.typos(2);
    }
    if on(6) {
        config = config.exclusion('!');
    }
    config.ignore_unassigned(on(7))
}

fn id(bytes: &mut Bytes<'_>) -> Id {
    Id::Integer(i64::from(bytes.below(IDS)))
}

fn document(bytes: &mut Bytes<'_>) -> Document {
    let document = Document::new(id(bytes));
    let fields = bytes.byte();
    let named = NAMES.iter().enumerate().filter(|(at, _)| fields >> at & 1 == 1);
    named.fold(document, |document, (_, name)| match bytes.below(8) {
        0 => document.with(*name, vec![bytes.text(), bytes.text()]),
        _ => document.with(*name, bytes.text()),
    })
}

fn ask(search: &Search, bytes: &mut Bytes<'_>, answer: &mut Answer) {
    let query = bytes.text();
    let (ids, offset) = (i64::from(bytes.number()), i64::from(bytes.number()));
    let request = Request::new().ids(ids).offset(offset).unique(bytes.yes());
    search.search_into(&query, &request, answer);
    assert!(answer.work() <= MAX_WORK, "{query:?}");
    let shown: usize = answer.allocations().map(|found| found.ids().len()).sum();
    let counted: usize = answer.allocations().map(|found| found.count()).sum();
    assert!(answer.allocations().all(|found| found.ids().len() <= found.count()), "{query:?}");
    assert!(shown <= ids.max(0) as usize && shown <= counted, "{query:?}");
    assert_eq!(counted, answer.total(), "{query:?}");
    let json = answer.to_json();
    let value: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(value["total"], counted as u64, "{query:?} {json}");
    if search.indexes().len() == 1 {
        let category = NAMES[usize::from(bytes.below(6))];
        let at_least = usize::from(bytes.below(3));
        let facets = search.facets(category, Some(&query), at_least).expect("one index");
        assert!(facets.iter().all(|(_, count)| *count >= at_least.max(1)), "{facets:?}");
    }
}

fuzz_target!(|bytes: &[u8]| {
    let mut bytes = Bytes(bytes.iter());
    let shared = |index| -> SharedIndex { Arc::new(RwLock::new(index)) };
    let mut indexes = vec![shared(index(&mut bytes, "one"))];
    if bytes.below(4) == 0 {
        indexes.push(shared(index(&mut bytes, "two")));
    }
    let search = Search::new(indexes, preferences(&mut bytes)).expect("different indexes");
    let mut answer = Answer::new();
    let mut known = vec![BTreeSet::new(); search.indexes().len()];
    for _ in 0..MOST_STEPS {
        if bytes.is_empty() {
            break;
        }
        let number = usize::from(bytes.byte()) % search.indexes().len();
        let mut index = search.indexes()[number].write().expect("no panic before");
        let step = bytes.below(8);
        if step > 4 {
            drop(index);
            ask(&search, &mut bytes, &mut answer);
            continue;
        }
        if step == 4 {
            let id = id(&mut bytes);
            assert_eq!(index.remove(id.clone()), known[number].remove(&id));
        } else {
            let document = document(&mut bytes);
            known[number].insert(document.id().clone());
            match step {
                0 => index.add(&document),
                1 => index.append(&document),
                2 => index.replace(&document),
                _ => index.replace_from(&document),
            }
        }
        assert_eq!(index.len(), known[number].len());
    }
    for (index, known) in search.indexes().iter().zip(known) {
        let mut index = index.write().expect("no panic before");
        known.into_iter().for_each(|id| assert!(index.remove(id)));
        assert!(index.is_empty());
        for name in NAMES {
            assert!(index.facets(name, 1).is_empty(), "{name}");
        }
    }
    for query in ["a", "a* b* 1", "a~", "a\u{2026}b"] {
        assert_eq!(search.search(query, &Request::new()).total(), 0);
    }
});
