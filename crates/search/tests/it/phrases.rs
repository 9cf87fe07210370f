//! Phrases and synonyms against a scan of all documents.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use runnel_search::{
    Attribute, AttributeType, Category, Collection, CollectionDefinition, Document, DocumentField,
    Id, IndexConfig, Language, Partial, Request, Search, SearchAnswer, SearchConfig, SearchIndex,
    Synonyms, Tokenizer,
};

/// The texts of a document: several of one category, one of the other.
type Texts = (Vec<Vec<String>>, Vec<String>);

fn documents() -> impl Strategy<Value = Vec<Texts>> {
    let text = || prop::collection::vec("[abc]", 0..7);
    prop::collection::vec((prop::collection::vec(text(), 0..3), text()), 1..50)
}

fn document(id: i64, (titles, author): &Texts) -> Document {
    let titles = titles.iter().map(|words| words.join(" ")).collect();
    Document::new(Id::Integer(id))
        .with("title", DocumentField::Texts(titles))
        .with("author", author.join(" "))
}

/// An index of documents, some of which were taken out and put in again.
fn index(documents: &[Texts], moved: &[usize], fixed: bool) -> SearchIndex {
    let config = IndexConfig::new("books")
        .category(Category::new("title").partial(Partial::substring(1, -1)))
        .category(Category::new("author"))
        .fixed(fixed)
        .phrases(true);
    let mut index = SearchIndex::new(config).unwrap();
    index.load((0..).zip(documents).map(|(id, texts)| document(id, texts)));
    for place in moved.iter().map(|place| place % documents.len()) {
        index.remove(place as i64);
        index.append(&document(place as i64, &documents[place]));
        // The same once more changes nothing.
        index.append(&document(place as i64, &documents[place]));
    }
    index
}

fn has(text: &[String], phrase: &[String]) -> bool {
    text.windows(phrase.len()).any(|window| window == phrase)
}

/// The documents that a phrase finds in each category.
fn having(documents: &[Texts], phrase: &[String]) -> [Vec<i64>; 2] {
    let all = || (0..).zip(documents);
    let titles = all().filter(|(_, (titles, _))| titles.iter().any(|title| has(title, phrase)));
    let authors = all().filter(|(_, (_, author))| has(author, phrase));
    [titles.map(|(id, _)| id).collect(), authors.map(|(id, _)| id).collect()]
}

fn numbers(ids: &[Id]) -> Vec<i64> {
    let number = |id: &Id| if let Id::Integer(number) = id { *number } else { -1 };
    let mut numbers: Vec<i64> = ids.iter().map(number).collect();
    numbers.sort_unstable();
    numbers
}

fn rows(answer: &SearchAnswer) -> Vec<(String, Vec<i64>)> {
    let categories = |found: &runnel_search::Allocation<'_>| {
        found.words().map(|word| word.category.to_owned()).collect::<Vec<_>>().join(" ")
    };
    let mut rows: Vec<(String, Vec<i64>)> =
        answer.allocations().map(|found| (categories(&found), numbers(found.ids()))).collect();
    rows.sort();
    rows
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn words_next_to_each_other_are_found(
        documents in documents(),
        moved in prop::collection::vec(0usize..50, 0..5),
        fixed: bool,
        phrase in prop::collection::vec("[abc]", 2..5),
        word in "[abc]",
    ) {
        let config = SearchConfig::new().phrases(true).exclusion('-');
        let search = Search::over(index(&documents, &moved, fixed), config).unwrap();
        let ask = |query: &str| search.search(query, &Request::new().ids(1_000));
        let [titles, authors] = having(&documents, &phrase);
        let phrase = format!("\"{}\"", phrase.join(" "));
        let mut expected = vec![("author".to_owned(), authors.clone()), ("title".to_owned(), titles.clone())];
        expected.retain(|(_, ids)| !ids.is_empty());
        let answer = ask(&phrase);
        prop_assert_eq!(rows(&answer), expected);
        prop_assert_eq!(answer.total(), titles.len() + authors.len());
        prop_assert_eq!(numbers(ask(&format!("title:{phrase}")).ids()), titles.clone());
        // With another word, and left out.
        let [in_titles, in_authors] = having(&documents, std::slice::from_ref(&word));
        let both: Vec<i64> =
            titles.iter().copied().filter(|id| in_authors.contains(id)).collect();
        let answer = ask(&format!("title:{phrase} author:{word}\""));
        prop_assert_eq!(numbers(answer.ids()), both);
        let left: Vec<i64> = in_titles
            .iter()
            .copied()
            .filter(|id| !titles.contains(id) && !authors.contains(id))
            .collect();
        let answer = ask(&format!("title:{word}\" -{phrase}"));
        prop_assert_eq!(numbers(answer.ids()), left.clone());
        prop_assert_eq!(answer.total(), left.len());
    }

    #[test]
    fn synonyms_are_one_combination(
        documents in documents(),
        unique: bool,
    ) {
        let synonyms = Synonyms::new().set(["a", "b"]).one_way("c", ["a a", "b"]);
        let config = SearchConfig::new().phrases(true).synonyms(synonyms);
        let search = Search::over(index(&documents, &[], false), config).unwrap();
        for (word, means) in [("a", &["a", "b"][..]), ("b", &["a", "b"]), ("c", &["c", "a a", "b"])] {
            let request = Request::new().ids(1_000);
            let answer = search.search(&format!("{word} {word}"), &request.unique(unique));
            let mut expected = [Vec::new(), Vec::new()];
            for text in means {
                let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
                let found = having(&documents, &words);
                expected.iter_mut().zip(found).for_each(|(all, found)| all.extend(found));
            }
            for ids in &mut expected {
                ids.sort_unstable();
                ids.dedup();
            }
            if !unique {
                let plain = search.search(&format!("title:{word}"), &request);
                prop_assert_eq!(numbers(plain.ids()), expected[0].clone());
                prop_assert!(plain.allocations().count() <= 1);
            }
            let mut all = expected.concat();
            all.sort_unstable();
            all.dedup();
            let mut found = numbers(answer.ids());
            found.dedup();
            prop_assert_eq!(found, all);
        }
    }
}

fn books(config: SearchConfig, index: IndexConfig) -> Search {
    let mut index =
        SearchIndex::new(index.category(Category::new("title")).category(Category::new("author")))
            .unwrap();
    for (id, title, author) in [
        (1, "Alan Turing: the enigma", "Andrew Hodges"),
        (2, "Turing, Alan and others", "Alan Turing"),
        (3, "The history of New York", "Somebody"),
        (4, "NYC on television", "York New"),
        (5, "\u{6771}\u{4eac}\u{90fd}\u{306e}\u{6b74}\u{53f2}", "\u{6771}\u{90fd}"),
    ] {
        index.append(&Document::new(id).with("title", title).with("author", author));
    }
    Search::over(index, config).unwrap()
}

fn found(search: &Search, query: &str) -> Vec<String> {
    let answer = search.search(query, &Request::new());
    let row = |found: runnel_search::Allocation<'_>| {
        let words: Vec<String> = found
            .words()
            .map(|word| format!("{}/{}/{}", word.category, word.original, word.text))
            .collect();
        format!("{} {:?}", words.join(" "), numbers(found.ids()))
    };
    answer.allocations().map(row).collect()
}

fn english() -> (SearchConfig, IndexConfig) {
    let config = SearchConfig::new().tokenizer(Language::English.searching()).phrases(true);
    (config, IndexConfig::new("books").tokenizer(Language::English.indexing()).phrases(true))
}

#[test]
fn phrases_are_shown_as_they_were_written() {
    let (config, index) = english();
    let search = books(config, index);
    assert_eq!(
        found(&search, "\"Alan Turing\""),
        ["title/\"alan turing\"/alan turing [1]", "author/\"alan turing\"/alan turing [2]"]
    );
    assert_eq!(found(&search, "\"histories of york\""), Vec::<String>::new());
    assert_eq!(
        found(&search, "title:\"histories of new york\""),
        ["title/title:\"histories of new york\"/histories new york [3]"]
    );
    // One word between quotes is a phrase of one word.
    assert_eq!(found(&search, "\"histories\""), ["title/\"histories\"/histories [3]"]);
    assert_eq!(found(&search, "history\""), ["title/history\"/history [3]"]);
    assert_eq!(found(&search, "\"turing\"").len(), 2);
    assert_eq!(found(&search, "\"turin\"").len(), 0);
    assert_eq!(found(&search, "\"alan\"").len(), 2);
}

#[test]
fn without_them_quotes_are_markers() {
    let (config, index) = english();
    let plain = books(config.clone().phrases(false), index.clone());
    assert_eq!(found(&plain, "\"alan enigma").len(), 1);
    assert_eq!(found(&plain, "\"alan turing\"").len(), 0, "turing is stemmed in the index");
    // An index that does not keep the order finds the words in one category.
    let unordered = books(config, index.phrases(false));
    let rows = found(&unordered, "\"alan turing\"");
    assert_eq!(rows[0], "title/\"alan turing\"/alan turing [1, 2]");
}

#[test]
fn synonyms_of_several_words() {
    let (config, index) = english();
    let synonyms = Synonyms::new()
        .set(["TV", "television"])
        .one_way("nyc", ["New York"])
        .set(["big apple", "new york"]);
    let search = books(config.synonyms(synonyms), index);
    assert_eq!(found(&search, "tv"), ["title/tv/tv [4]"]);
    assert_eq!(found(&search, "nyc"), ["title/nyc/nyc [3, 4]"]);
    assert_eq!(found(&search, "york").len(), 2);
    assert_eq!(found(&search, "\"big apple\""), ["title/\"big apple\"/big apple [3]"]);
    assert!(found(&search, "\"tv\"").is_empty(), "what is quoted is meant as it is");
}

#[test]
fn scripts_without_spaces_are_found_in_parts() {
    let config = SearchConfig::new().tokenizer(Language::Japanese.searching()).phrases(true);
    let index = IndexConfig::new("books").tokenizer(Language::Japanese.indexing()).phrases(true);
    let search = books(config, index);
    assert_eq!(found(&search, "\u{6771}\u{4eac}").len(), 1);
    assert_eq!(found(&search, "\u{4eac}\u{90fd}").len(), 1);
    assert_eq!(found(&search, "\u{6771}\u{4eac}\u{90fd}").len(), 1);
    assert_eq!(found(&search, "title:\u{90fd}\u{306e}\u{6b74}\u{53f2}").len(), 1);
    assert!(found(&search, "\u{6771}\u{4eac}\u{306e}").is_empty());
    assert_eq!(found(&search, "author:\u{90fd}").len(), 1, "the last letter is a word");
}

#[test]
fn too_many_synonyms_are_refused() {
    let words: Vec<String> = (0..200).map(|number| format!("w{number}")).collect();
    let config =
        SearchConfig::new().tokenizer(Tokenizer::new()).synonyms(Synonyms::new().set(words));
    let index = SearchIndex::new(IndexConfig::new("x").category(Category::new("a"))).unwrap();
    let error = Search::over(index, config).unwrap_err();
    assert!(error.message().contains("at most 20000 synonyms"), "{error}");
}

#[test]
fn the_order_of_words_and_attributes_are_kept_in_a_folder() {
    let folder = std::env::temp_dir().join(format!("runnel-phrases-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    let open = || {
        let index = IndexConfig::new("books")
            .category(Category::new("title"))
            .attribute(Attribute::new("year", AttributeType::Integer))
            .attribute(Attribute::new("by", AttributeType::Text))
            .phrases(true);
        let search = SearchConfig::new().phrases(true);
        let folder = Some(folder.clone());
        Collection::open(CollectionDefinition {
            search,
            folder,
            ..CollectionDefinition::new(index)
        })
        .unwrap()
    };
    let ask = |books: &Collection, query: &str, filter: &str| {
        let filter = books.searching().filter(filter).unwrap();
        numbers(books.search(query, &Request::new().filter(&filter)).ids())
    };
    let check = |books: &Collection| {
        assert_eq!(ask(books, "\"alan turing\"", "year < 2000"), [1]);
        assert_eq!(ask(books, "\"turing alan\"", "not (by = 'm' or year > 2000)"), [2]);
        assert_eq!(ask(books, "", "by in ('m', 'n')"), [1, 2, 3]);
    };
    let books = open();
    for (id, record) in [
        (1, r#"{"title":"alan turing","year":1990,"by":"m"}"#),
        (2, r#"{"title":"turing alan","by":["n","o"]}"#),
        (3, r#"{"title":"alan turing","year":2001,"by":"m"}"#),
    ] {
        drop(books.put(Id::Integer(id), record.as_bytes()).unwrap());
    }
    check(&books);
    drop(books);
    let books = open();
    check(&books);
    books.snapshot().unwrap();
    drop(books);
    check(&open());
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn words_added_after_an_empty_text_go_with_their_document() {
    let config = IndexConfig::new("books").category(Category::new("title")).phrases(true);
    let mut index = SearchIndex::new(config).unwrap();
    index
        .append(&Document::new(1).with("title", DocumentField::Texts(vec!["a".into(), "".into()])));
    index.append(&Document::new(1).with("title", "b"));
    index.append(&Document::new(1).with("title", "c a"));
    index.append(&Document::new(2).with("title", "a"));
    let search = Search::over(index, SearchConfig::new().phrases(true)).unwrap();
    assert_eq!(search.search("\"c a\"", &Request::new()).total(), 1);
    search.indexes()[0].write().unwrap().remove(1);
    let facets = search.indexes()[0].read().unwrap().facets("title", 1);
    assert_eq!(facets, [("a".to_owned(), 1)]);
}
