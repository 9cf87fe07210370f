//! Searches of strangers: whatever the configuration, the documents and the query are, the engine
//! answers with valid JSON whose counts add up, within its budget of work, and an index whose
//! documents were all removed is as good as empty. A filter and its negation share all documents
//! between them, an order loses none, and texts are marked without a change.
#![no_main]

use libfuzzer_sys::fuzz_target;
use runnel_search::{
    Answer, Attribute, AttributeType, Boost, Category, Collection, Definition, Document, Fidelity,
    Filter, Grid, Highlighter, Id, Index, IndexConfig, KeyFormat, Language, MAX_WORK, Markers,
    Partial, Request, Search, SearchConfig, SharedIndex, Similarity, Stemmer, Synonyms, Tokenizer,
    Weight,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, RwLock};

/// Categories of an index, by the letter that is their name.
const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];
/// Identifiers of documents; few, so that they meet again.
const IDS: u8 = 24;
/// Steps of one run; more say nothing new.
const MOST_STEPS: usize = 80;
/// What queries are made of besides letters.
const PIECES: [&str; 32] = [
    "a",
    "b",
    "ab",
    "aba",
    "1",
    "12",
    " ",
    " ",
    "*",
    "~",
    "\"",
    ":",
    "|",
    "\u{2026}",
    ",",
    "!",
    "-",
    "the ",
    "running",
    "stra\u{df}e",
    "\u{fc}ber",
    "\u{451}",
    "\u{130}",
    "\u{e9}t\u{e9}s",
    "\u{65e5}\u{672c}\u{8a9e}",
    "\u{e44}\u{e17}\u{e22}",
    "\u{ff21}",
    "e\u{301}",
    "'",
    "<",
    ".",
    "\u{1f469}\u{200d}\u{1f467}",
];
/// Attributes, each with the field of its name.
const ATTRIBUTES: [(&str, AttributeType); 6] = [
    ("n", AttributeType::Integer),
    ("f", AttributeType::Float),
    ("g", AttributeType::Float),
    ("t", AttributeType::Text),
    ("o", AttributeType::Boolean),
    ("d", AttributeType::Date),
];
/// Values of attributes.
const VALUES: [&str; 24] = [
    "1",
    "0",
    "-1",
    "12",
    "1.5",
    "-0.0",
    "1e308",
    "-1e308",
    "inf",
    "NaN",
    "9223372036854775807",
    "-9223372036854775808",
    "true",
    "false",
    "1990",
    "1990-05",
    "1990-05-17T10:30:00.5+02:00",
    "9999-12-31",
    "0001-01-01",
    "a",
    "'b c'",
    "''",
    "90",
    "180",
];
/// What filters and orders are made of besides these.
const FILTERS: [&str; 24] = [
    " and ",
    " or ",
    "not ",
    "(",
    ")",
    " in (",
    ",",
    "has ",
    "..",
    " = ",
    " != ",
    "<",
    ">=",
    ">",
    "<=",
    "distance(f, g, 47, 8) < ",
    "n",
    "f",
    "t",
    "o",
    "d",
    "'",
    "-",
    " ",
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

    fn one_of<'t>(&mut self, texts: &[&'t str]) -> &'t str {
        texts[usize::from(self.byte()) % texts.len()]
    }

    /// A value of a type, almost always.
    fn value(&mut self, kind: AttributeType) -> &'static str {
        let values = match kind {
            AttributeType::Integer => &["0", "1", "-1", "12", VALUES[10], VALUES[11]][..],
            AttributeType::Float => &["0", "1.5", "-0.0", "1e308", "-1e308", "47", "8", "90"],
            AttributeType::Boolean => &["true", "false"],
            AttributeType::Date => &VALUES[14..19],
            AttributeType::Text => &VALUES,
        };
        match self.below(32) {
            31 => self.one_of(&VALUES),
            _ => self.one_of(values),
        }
    }

    /// A condition as it is written, almost always one that can be read.
    fn filter(&mut self, depth: u8) -> String {
        let (attribute, kind) = ATTRIBUTES[usize::from(self.below(6))];
        let value = self.value(kind);
        match self.below(if depth == 0 { 7 } else { 11 }) {
            0 => format!("{attribute} = {value}"),
            1 => format!("{attribute} {} {value}", self.one_of(&["<", "<=", ">", ">=", "!="])),
            2 => format!("{attribute} in ({value}, {})", self.value(kind)),
            3 => format!("{attribute} = {value}..{}", self.value(kind)),
            4 => format!("{attribute} = {value}.."),
            5 => format!("{}{attribute}", self.one_of(&["has ", ""])),
            6 => {
                let mut number = || self.value(AttributeType::Float);
                let (latitude, longitude, far) = (number(), number(), number());
                let compared = self.one_of(&["<", "<=", ">", ">="]);
                format!("distance(f, g, {latitude}, {longitude}) {compared} {far}")
            }
            7 => format!("not {}", self.filter(depth - 1)),
            8 => format!("({}) or {}", self.filter(depth - 1), self.filter(depth - 1)),
            9 => format!("{} and ({})", self.filter(depth - 1), self.filter(depth - 1)),
            _ => {
                let length = self.below(16);
                let all = |_| match self.below(3) {
                    0 => self.one_of(&VALUES),
                    _ => self.one_of(&FILTERS),
                };
                (0..length).map(all).collect()
            }
        }
    }

    fn order(&mut self) -> String {
        let count = 1 + self.below(5);
        let all = (0..count).map(|_| {
            let attribute = ATTRIBUTES[usize::from(self.below(6))].0;
            format!("{}{attribute}", self.one_of(&["", "-", "+", " -"]))
        });
        all.collect::<Vec<_>>().join(",")
    }

    fn language(&mut self) -> Language {
        let names: Vec<&str> = Language::names().collect();
        Language::named(self.one_of(&names)).expect("its own name")
    }

    /// A text of the pieces, or of any bytes.
    fn text(&mut self) -> String {
        let length = self.below(24);
        if self.below(4) > 0 {
            return (0..length).map(|_| self.one_of(&PIECES)).collect();
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
    match bytes.below(6) {
        0 => category.from(NAMES[usize::from(bytes.below(6))]),
        1 => category.qualifiers([NAMES[usize::from(bytes.below(6))], "q"]),
        2 => category.tokenizer(Tokenizer::new().stems(Stemmer::English)),
        3 => category.tokenizer(bytes.language().indexing()),
        _ => category,
    }
}

fn index_config(bytes: &mut Bytes<'_>, name: &str) -> IndexConfig {
    let count = 1 + usize::from(bytes.below(6));
    let fidelity = if bytes.yes() { Fidelity::Original } else { Fidelity::Corrected };
    let format = if bytes.yes() { KeyFormat::Text } else { KeyFormat::Integer };
    let config =
        IndexConfig::new(name).fidelity(fidelity).key_format(format).fixed(bytes.below(4) == 0);
    let categories = NAMES.iter().take(count);
    let config = categories.fold(config, |config, name| config.category(category(bytes, name)));
    let config = config.phrases(bytes.yes());
    let config = match bytes.below(4) {
        0 => config.tokenizer(bytes.language().indexing()),
        _ => config,
    };
    let attributes = bytes.byte();
    let chosen = ATTRIBUTES.iter().enumerate().filter(|(at, _)| attributes >> at & 1 == 0);
    chosen.fold(config, |config, (_, (name, kind))| {
        let attribute = Attribute::new(*name, *kind);
        config.attribute(match bytes.below(4) {
            0 => attribute.from("a"),
            _ => attribute,
        })
    })
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
    let more = bytes.byte();
    if more & 1 == 1 {
        config = config.phrases(true);
    }
    if more & 2 == 2 {
        config = config.exclusion('-');
    }
    if more & 4 == 4 {
        let synonyms = Synonyms::new().set([bytes.text(), bytes.text(), "aba".to_owned()]);
        config = config.synonyms(synonyms.one_way("a", [bytes.text(), "b".to_owned()]));
    }
    if more & 8 == 8 {
        config = config.tokenizer(bytes.language().searching());
    }
    if more & 16 == 16 {
        config = config.fidelity(Fidelity::Original);
    }
    config.ignore_unassigned(on(7))
}

fn id(bytes: &mut Bytes<'_>) -> Id {
    let number = bytes.below(IDS + 8);
    match number.checked_sub(IDS) {
        None => Id::Integer(i64::from(number)),
        Some(number) => Id::Text(
            ["", "1", " 2", "3x", "-0", "a", "\"\u{e9}", "1e3"][usize::from(number)].into(),
        ),
    }
}

fn document(bytes: &mut Bytes<'_>) -> Document {
    let document = Document::new(id(bytes));
    let fields = bytes.byte();
    let named = NAMES.iter().enumerate().filter(|(at, _)| fields >> at & 1 == 1);
    let document = named.fold(document, |document, (_, name)| match bytes.below(8) {
        0 => document.with(*name, vec![bytes.text(), bytes.text()]),
        _ => document.with(*name, bytes.text()),
    });
    let values = bytes.byte();
    let named = ATTRIBUTES.iter().enumerate().filter(|(at, _)| values >> at & 1 == 1);
    named.fold(document, |document, (_, (name, _))| match bytes.below(8) {
        0 => document.with(*name, vec![bytes.one_of(&VALUES).into(), bytes.text()]),
        1 => document.with(*name, bytes.text()),
        _ => document.with(*name, bytes.one_of(&VALUES)),
    })
}

/// All documents that pass a filter, whatever the configuration of the search is.
fn passing(search: &Search, filter: &Filter) -> usize {
    let indexes = search.indexes().to_vec();
    let search = Search::new(indexes, SearchConfig::new()).expect("different indexes");
    let request = Request::new().ids(i64::MAX).filter(filter).flat(true).separate(true);
    let answer = search.search("", &request);
    assert_eq!(answer.flat().count(), answer.flat_count().expect("one list"));
    answer.total()
}

/// A filter and its negation share all documents.
fn negate(search: &Search, text: &str, filter: &Filter) {
    let all: usize =
        search.indexes().iter().map(|index| index.read().expect("no panic").len()).sum();
    let passed = passing(search, filter);
    if let Ok(negated) = search.filter(&format!("not ({text})")) {
        assert_eq!(passed + passing(search, &negated), all, "{text:?}");
    }
}

/// Matches are within texts, and marking them changes nothing else.
fn highlight(search: &Search, query: &str, answer: &Answer, bytes: &mut Bytes<'_>) {
    let nothing = Markers { before: String::new(), after: String::new(), html: false };
    let field = NAMES[usize::from(bytes.below(6))];
    let text = bytes.text();
    for index in search.indexes() {
        let index = index.read().expect("no panic before");
        let highlighter = Highlighter::new(&index, answer);
        let matches = highlighter.matches(field, &text);
        assert!(
            matches.iter().all(|place| text.get(place.clone()).is_some()),
            "{query:?} {text:?}"
        );
        assert!(matches.windows(2).all(|pair| pair[0].end <= pair[1].start), "{query:?} {text:?}");
        if let Some(marked) = highlighter.mark(field, &text, &nothing) {
            assert_eq!(marked, text, "{query:?}");
        }
        let words = usize::from(bytes.below(5));
        highlighter.snippet(field, &text, words, &Markers::default());
        assert!(highlighter.snippet(field, &text, usize::MAX, &nothing) == text, "{text:?}");
    }
}

fn ask(search: &Search, bytes: &mut Bytes<'_>, answer: &mut Answer) {
    let query = bytes.text();
    let (ids, offset) = (i64::from(bytes.number()), i64::from(bytes.number()));
    let asked = bytes.byte();
    let filter_text = if asked & 1 == 1 { bytes.filter(3) } else { String::new() };
    let filter = search.filter(&filter_text).ok();
    let order = if asked & 2 == 2 { search.order(&bytes.order()).ok() } else { None };
    let compare = |left: &Id, right: &Id| right.to_string().cmp(&left.to_string());
    let unique = bytes.yes();
    let mut request = Request::new().ids(ids).offset(offset).unique(unique);
    request = request.flat(asked & 12 == 12).separate(asked & 16 == 16);
    if asked & 96 == 96 {
        request = request.sort_by(&compare);
    }
    if let Some(filter) = &filter {
        request = request.filter(filter);
        negate(search, &filter_text, filter);
    }
    let unsorted = request;
    if let Some(order) = &order {
        request = request.order(order);
    }
    search.search_into(&query, &request, answer);
    assert!(answer.work() <= MAX_WORK, "{query:?}");
    let shown: usize = answer.allocations().map(|found| found.ids().len()).sum();
    let counted: usize = answer.allocations().map(|found| found.count()).sum();
    assert!(answer.allocations().all(|found| found.ids().len() <= found.count()), "{query:?}");
    assert!(shown <= ids.max(0) as usize && shown <= counted, "{query:?}");
    assert_eq!(counted, answer.total(), "{query:?}");
    if let Some(all) = answer.flat_count() {
        assert!(answer.flat().count() <= all && all <= counted, "{query:?}");
        assert!(answer.flat().count() <= ids.max(0) as usize, "{query:?}");
    }
    let json = answer.to_json();
    let value: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(value["total"], counted as u64, "{query:?} {json}");
    if offset >= 0 && (!unique || answer.flat_count().is_some()) {
        let all = search.search(&query, &request.ids(i64::MAX).offset(0));
        let page = |count: usize| {
            let start = count.min(offset as usize);
            start..count.min(start + ids.max(0) as usize)
        };
        assert_eq!(answer.ids(), &all.ids()[page(all.ids().len())], "{query:?}");
        let (shown, all): (Vec<_>, Vec<_>) = (answer.flat().collect(), all.flat().collect());
        assert_eq!(shown, all[page(all.len())], "{query:?}");
    }
    if order.is_some() && ids > 0 && offset == 0 {
        let other = search.search(&query, &unsorted);
        assert_eq!(other.flat_count(), answer.flat_count(), "{query:?}");
        assert_eq!(other.flat().count(), answer.flat().count(), "{query:?}");
    }
    highlight(search, &query, answer, bytes);
    if search.indexes().len() == 1 {
        let category = NAMES[usize::from(bytes.below(6))];
        let at_least = usize::from(bytes.below(3));
        let query = bytes.yes().then_some(&query[..]);
        let facets =
            search.facets_passing(category, query, filter.as_ref(), at_least).expect("one index");
        assert!(facets.iter().all(|(_, count)| *count >= at_least.max(1)), "{facets:?}");
        if let (None, Some(filter)) = (query, &filter) {
            let passed = passing(search, filter);
            assert!(facets.iter().all(|(_, count)| *count <= passed), "{facets:?} {passed}");
        }
    }
}

/// A document as JSON, or any bytes.
fn record(bytes: &mut Bytes<'_>) -> Vec<u8> {
    if bytes.below(8) == 0 {
        return bytes.text().into_bytes();
    }
    let document = document(bytes);
    let names = NAMES.into_iter().chain(ATTRIBUTES.iter().map(|(name, _)| *name));
    let member = |name: &str| {
        let value = match document.field(name)? {
            runnel_search::Field::Text(text) => match text.parse::<f64>() {
                Ok(number) => serde_json::json!(number),
                Err(_) => serde_json::json!(text),
            },
            runnel_search::Field::Texts(texts) | runnel_search::Field::Words(texts) => {
                serde_json::json!(texts)
            }
        };
        Some((name.to_owned(), value))
    };
    let members: serde_json::Map<_, _> = names.filter_map(member).collect();
    serde_json::to_vec(&members).expect("texts as names")
}

/// The same of documents that are kept beside their index.
fn collect(bytes: &mut Bytes<'_>) {
    let config = index_config(bytes, "one");
    let mut definition = Definition::new(config);
    definition.search = preferences(bytes);
    definition.stored = bytes.below(4) > 0;
    let stored = definition.stored;
    let collection = Collection::open(definition).expect("different names, at least one");
    let mut answer = Answer::new();
    // By what the collection calls them, which has one text for one document.
    let mut known: BTreeMap<String, (Id, Vec<u8>)> = BTreeMap::new();
    for _ in 0..MOST_STEPS {
        if bytes.is_empty() {
            break;
        }
        match bytes.below(8) {
            0..3 => {
                let (id, record) = (id(bytes), record(bytes));
                let before = collection.contains(&id);
                if collection.put(id.clone(), &record).is_ok() {
                    assert_eq!(collection.document(&id), stored.then(|| record.clone().into()));
                    assert!(collection.contains(&id));
                    let first = collection.ids(0, usize::MAX);
                    let place = if before { first.first() } else { first.last() };
                    let key = place.expect("it was put").to_string();
                    assert_eq!(known.insert(key, (id, record)).is_some(), before);
                }
            }
            3 => {
                let id = id(bytes);
                let there = collection.contains(&id);
                let (removed, pending) = collection.remove(&id).expect("in memory");
                drop(pending);
                assert_eq!(removed, there);
                assert!(!collection.contains(&id) && collection.document(&id).is_none());
                let left: BTreeSet<String> =
                    collection.ids(0, usize::MAX).iter().map(Id::to_string).collect();
                known.retain(|key, _| left.contains(key));
            }
            _ => ask(collection.searching(), bytes, &mut answer),
        }
        assert_eq!(collection.len(), known.len());
    }
    for (id, record) in known.values() {
        assert_eq!(collection.document(id), stored.then(|| record.clone().into()));
    }
    for (id, _) in known.into_values() {
        assert!(collection.remove(&id).expect("in memory").0);
    }
    assert!(collection.is_empty());
    assert_eq!(collection.search("a", &Request::new()).total(), 0);
}

fuzz_target!(|bytes: &[u8]| {
    let mut bytes = Bytes(bytes.iter());
    if bytes.below(4) == 0 {
        collect(&mut bytes);
    } else {
        search(&mut bytes);
    }
});

/// Searches over one index or two that change.
fn search(bytes: &mut Bytes<'_>) {
    let shared = |config| -> SharedIndex {
        Arc::new(RwLock::new(Index::new(config).expect("different names, at least one")))
    };
    let mut indexes = vec![shared(index_config(bytes, "one"))];
    if bytes.below(4) == 0 {
        indexes.push(shared(index_config(bytes, "two")));
    }
    let search = Search::new(indexes, preferences(bytes)).expect("different indexes");
    let mut answer = Answer::new();
    let count = search.indexes().len();
    for _ in 0..MOST_STEPS {
        if bytes.is_empty() {
            break;
        }
        let number = usize::from(bytes.byte()) % count;
        let step = bytes.below(8);
        if step > 4 {
            ask(&search, bytes, &mut answer);
            continue;
        }
        let mut index = search.indexes()[number].write().expect("no panic before");
        let before = index.len();
        if step == 4 {
            let id = id(bytes);
            let there = index.contains(id.clone());
            assert_eq!(index.remove(id.clone()), there);
            assert!(!index.contains(id));
            assert_eq!(index.len(), before - usize::from(there));
        } else {
            let document = document(bytes);
            let there = index.contains(document.id().clone());
            match step {
                0 => index.add(&document),
                1 => index.append(&document),
                2 => index.replace(&document),
                _ => index.replace_from(&document),
            }
            assert!(index.contains(document.id().clone()));
            assert_eq!(index.len(), before + usize::from(!there));
        }
    }
    for index in search.indexes() {
        let mut index = index.write().expect("no panic before");
        let known = index.ids(0, usize::MAX);
        assert_eq!(known.len(), index.len());
        known.into_iter().for_each(|id| assert!(index.remove(id)));
        assert!(index.is_empty());
        for name in NAMES {
            assert!(index.facets(name, 1).is_empty(), "{name}");
        }
    }
    for query in ["a", "a* b* 1", "a~", "a\u{2026}b", "\"a b\"", "-a", "!a"] {
        assert_eq!(search.search(query, &Request::new()).total(), 0);
    }
}
