//! Searches of strangers: whatever the configuration, the documents and the query are, the engine
//! answers with valid JSON whose counts add up, within its budget of work, and an index whose
//! documents were all removed is as good as empty. A filter and its negation share all documents
//! between them, an order loses none, and texts are marked without a change.
#![no_main]

#[path = "search/made.rs"]
mod made;

use libfuzzer_sys::fuzz_target;
use made::*;
use runnel_search::{
    Collection, CollectionDefinition, Highlighter, Id, MAX_WORK, Markers, Request, Search,
    SearchAnswer, SearchConfig, SearchFilter, SearchIndex, SharedIndex,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, RwLock};

/// All documents that pass a filter, whatever the configuration of the search is.
fn passing(search: &Search, filter: &SearchFilter) -> usize {
    let indexes = search.indexes().to_vec();
    let search = Search::new(indexes, SearchConfig::new()).expect("different indexes");
    let request = Request::new().ids(i64::MAX).filter(filter).flat(true).separate(true);
    let answer = search.search("", &request);
    assert_eq!(answer.flat().count(), answer.flat_count().expect("one list"));
    answer.total()
}

/// A filter and its negation share all documents.
fn negate(search: &Search, text: &str, filter: &SearchFilter) {
    let all: usize =
        search.indexes().iter().map(|index| index.read().expect("no panic").len()).sum();
    let passed = passing(search, filter);
    if let Ok(negated) = search.filter(&format!("not ({text})")) {
        assert_eq!(passed + passing(search, &negated), all, "{text:?}");
    }
}

/// Matches are within texts, and marking them changes nothing else.
fn highlight(search: &Search, query: &str, answer: &SearchAnswer, bytes: &mut Bytes<'_>) {
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

fn ask(search: &Search, bytes: &mut Bytes<'_>, answer: &mut SearchAnswer) {
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
            runnel_search::DocumentField::Text(text) => match text.parse::<f64>() {
                Ok(number) => serde_json::json!(number),
                Err(_) => serde_json::json!(text),
            },
            runnel_search::DocumentField::Texts(texts)
            | runnel_search::DocumentField::Words(texts) => {
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
    let mut definition = CollectionDefinition::new(config);
    definition.search = preferences(bytes);
    definition.stored = bytes.below(4) > 0;
    let stored = definition.stored;
    let collection = Collection::open(definition).expect("different names, at least one");
    let mut answer = SearchAnswer::new();
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
        Arc::new(RwLock::new(SearchIndex::new(config).expect("different names, at least one")))
    };
    let mut indexes = vec![shared(index_config(bytes, "one"))];
    if bytes.below(4) == 0 {
        indexes.push(shared(index_config(bytes, "two")));
    }
    let search = Search::new(indexes, preferences(bytes)).expect("different indexes");
    let mut answer = SearchAnswer::new();
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
