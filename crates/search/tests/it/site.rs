//! The search page: what it hands to its views, and what programs get. Its HTML is tested with the
//! command (`crates/app/tests/search_page.rs`, `spec/search/page.md`).
#![allow(clippy::unwrap_used)]

use bytes::Bytes;
use proptest::prelude::*;
use runnel_search::{
    Category, Document, Highlighter, Id, IndexConfig, KeyFormat, PageFile, PageOptions, PageSource,
    PageViews, Request, Search, SearchAnswer, SearchConfig, SearchIndex, SearchPage,
};
use runnel_store::{Content, Context, Exchange, Reference, Result, Store, Text, Value, json};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::{Arc, RwLock};

/// An index with its documents.
struct Books {
    search: Search,
    documents: HashMap<Id, Bytes>,
    several: bool,
}

impl PageSource for Books {
    fn search_into(&self, query: &str, request: &Request<'_>, answer: &mut SearchAnswer) {
        self.search.search_into(query, request, answer);
    }

    fn document(&self, _: usize, id: &Id) -> Option<Bytes> {
        self.documents.get(id).cloned()
    }

    fn is_several(&self) -> bool {
        self.several
    }

    fn highlight(
        &self,
        index: usize,
        answer: &SearchAnswer,
        look: &mut dyn FnMut(&Highlighter<'_>),
    ) {
        look(&Highlighter::new(&self.search.indexes()[index].read().unwrap(), answer));
    }
}

fn books(rows: &[(i64, String, String)]) -> Rc<Books> {
    let (index, documents) = index("books", rows);
    let config = SearchConfig::new().exclusion('-').phrases(true);
    Rc::new(Books { search: Search::over(index, config).unwrap(), documents, several: false })
}

fn index(name: &str, rows: &[(i64, String, String)]) -> (SearchIndex, HashMap<Id, Bytes>) {
    let config = IndexConfig::new(name)
        .phrases(true)
        .key_format(KeyFormat::Integer)
        .category(Category::new("title"))
        .category(Category::new("author"));
    let mut index = SearchIndex::new(config).unwrap();
    let mut documents = HashMap::new();
    for (id, title, author) in rows {
        index.append(
            &Document::new(*id).with("title", title.as_str()).with("author", author.as_str()),
        );
        let record =
            Value::record([("title", title.as_str().into()), ("author", author.as_str().into())]);
        documents.insert(Id::Integer(*id), json::text(&record).into());
    }
    (index, documents)
}

/// The rows of [`library`].
fn rows() -> Vec<(i64, String, String)> {
    (1..=45)
        .map(|number| {
            let name = if number <= 30 { "Alan" } else { "Emma" };
            let author = if number > 25 { "Alan Poe" } else { "Jane" };
            (number, format!("{name} {number}"), author.to_owned())
        })
        .collect()
}

/// 30 with Alan in the title, 20 by an Alan, 5 of which are both.
fn library() -> Rc<Books> {
    books(&rows())
}

fn page(source: Rc<Books>, name: &str, more: &[(&'static str, Value)]) -> SearchPage {
    let mut options = Value::record([
        ("title", "Books & <more>".into()),
        ("name", name.into()),
        ("heading", "title".into()),
        ("subtitle", "author".into()),
        ("link", "/book/{id}".into()),
    ]);
    for (name, value) in more {
        options.set(*name, value.clone());
    }
    SearchPage::new(source, PageOptions::read(&options).unwrap(), views()).unwrap()
}

/// Views that answer their model as JSON; results as their headings.
fn views() -> PageViews {
    let file = |name| PageFile::new(name, "text/plain", format!("the file {name}"));
    PageViews {
        render: Rc::new(|view: &str, model: Value, _: &Context| {
            let shown = match &model {
                Value::List(hits) => {
                    let heading = |hit: &Value| words(hit.get("heading").unwrap()).into();
                    Value::List(hits.iter().map(heading).collect())
                }
                model => Value::record([("view", view.into()), ("model", model.clone())]),
            };
            runnel_store::Answer::ok(String::from_utf8(json::text(&shown)).unwrap())
        }),
        result: None,
        files: vec![file("search.js"), file("search.css"), file("icon.svg")],
    }
}

/// A text with parts, the marked ones in brackets.
fn words(parts: &Value) -> String {
    let part = |part: &Value| match part {
        Value::List(marked) => format!("[{}]", marked[0].as_str().unwrap()),
        part => part.as_str().unwrap().to_owned(),
    };
    parts.as_list().unwrap().iter().map(part).collect()
}

/// The model of a page, by a path of names and numbers.
fn model(store: &dyn Store, reference: &str) -> Value {
    json::parse(get(store, reference).as_bytes()).unwrap().get("model").unwrap().clone()
}

fn list(value: &Value, name: &str) -> Vec<Value> {
    value.get(name).unwrap().as_list().unwrap().to_vec()
}

fn number(value: &Value, name: &str) -> i64 {
    value.get(name).unwrap().as_i64().unwrap()
}

/// What was found for a query.
fn found(store: &dyn Store, reference: &str) -> Value {
    model(store, reference).get("found").unwrap().clone()
}

/// The results of all interpretations.
fn results(found: &Value) -> Vec<Value> {
    list(found, "groups").iter().flat_map(|group| list(group, "results")).collect()
}

/// The query, the words and the number of each choice.
fn choices(found: &Value) -> Vec<(String, String, i64)> {
    let one = |choice: &Value| {
        let query = choice.get("query").unwrap().as_str().unwrap().to_owned();
        (query, meaning(choice), number(choice, "count"))
    };
    list(found, "choices").iter().map(one).collect()
}

/// `books: title alan, author p`
fn meaning(value: &Value) -> String {
    let text = |word: &Value, name: &str| word.get(name).unwrap().as_str().unwrap().to_owned();
    let words = list(value, "words");
    let words: Vec<_> = words
        .iter()
        .map(|word| format!("{} {}", text(word, "category"), text(word, "word")))
        .collect();
    let index = value.get("index").and_then(Value::as_str);
    index.map(|index| format!("{index}: ")).unwrap_or_default() + &words.join(", ")
}

fn ready<T: 'static>(mut answer: runnel_store::Answer<T>) -> T {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match std::pin::Pin::new(&mut answer).poll(&mut context) {
        std::task::Poll::Ready(result) => result.unwrap(),
        std::task::Poll::Pending => panic!("this does not wait"),
    }
}

fn get(store: &dyn Store, reference: &str) -> String {
    let content = ready(store.get(&Reference::parse(reference), &Context::default()));
    text(content.unwrap_or_else(|| panic!("{reference} is not there")))
}

fn text(content: Content) -> String {
    String::from_utf8(ready(content.read(1 << 20)).to_vec()).unwrap()
}

#[test]
fn a_page_has_the_query_and_what_was_found() {
    let page = page(library(), "whole", &[]);
    let empty = model(&page, "/");
    assert_eq!(empty.get("title"), Some(&"Books & <more>".into()));
    assert!(empty.get("found").unwrap().is_nil());
    assert_eq!(model(&page, "/?q=+").get("query"), Some(&"".into()));

    let first = model(&page, "/?q=alan");
    assert_eq!(first.get("query"), Some(&"alan".into()));
    let found = first.get("found").unwrap();
    assert_eq!((number(found, "total"), number(found, "pages")), (45, 3));
    let shown = results(found);
    assert_eq!(shown.len(), 20);
    assert_eq!(shown[0].get("link"), Some(&"/book/1".into()));
    assert_eq!(words(shown[0].get("heading").unwrap()), "[Alan] 1");
    assert_eq!(words(&list(&shown[0], "subtitle")[0]), "Jane");
}

#[test]
fn each_document_is_on_one_page() {
    let page = page(library(), "pages", &[("ids", Value::Int(10))]);
    let mut seen = Vec::new();
    for number_of_page in 1..=5 {
        let found = found(&page, &format!("/?q=alan&page={number_of_page}"));
        for result in results(&found) {
            let link = result.get("link").unwrap().as_str().unwrap();
            seen.push(link["/book/".len()..].parse::<i64>().unwrap());
        }
        assert_eq!(number(&list(&found, "groups")[0], "first"), number_of_page * 10 - 9);
        assert_eq!((number(&found, "page"), number(&found, "pages")), (number_of_page, 5));
    }
    seen.sort_unstable();
    assert_eq!(seen, (1..=45).collect::<Vec<i64>>());
    for odd in ["0", "-1", "x", "99999999999999999999", "6"] {
        assert_eq!(number(&found(&page, &format!("/?q=alan&page={odd}")), "total"), 45, "{odd}");
    }
}

#[test]
fn interpretations_can_be_chosen() {
    let page = page(library(), "chosen", &[("labels", Value::record([("title", "Title".into())]))]);
    assert_eq!(
        choices(&found(&page, "/?q=alan")),
        [
            ("title%3Aalan".to_owned(), "Title alan".to_owned(), 30),
            ("author%3Aalan".to_owned(), "author alan".to_owned(), 20),
        ]
    );
    let title = found(&page, "/?q=title%3Aalan&via=choice");
    assert!(number(&title, "total") == 30 && choices(&title).is_empty());
    let author = found(&page, "/?q=author%3Aalan&via=choice");
    assert_eq!(number(&author, "total"), 20);
    assert_eq!(meaning(&list(&author, "groups")[0]), "author alan");
    // Few results need no choice.
    assert!(choices(&found(&page, "/?q=alan+44")).is_empty());
    // That each is found in two ways does not make them more.
    let rows: Vec<_> = (1..=10).map(|id| (id, "Alan".to_owned(), "Alan".to_owned())).collect();
    let few = found(&self::page(books(&rows), "few", &[]), "/?q=alan");
    assert!(number(&few, "total") == 10 && choices(&few).is_empty());
}

/// Choosing means the same documents as the interpretation had, whatever the markers.
#[test]
fn what_is_chosen_has_as_many_documents_as_it_said() {
    let page = page(library(), "as many", &[]);
    for (query, expected) in [
        ("alan", 2),
        ("al*+alan", 4),
        ("alan%7Cemma+al*", 2),
        ("title:alan%7Cauthor:alan+al", 2),
        ("ala+", 2),
        ("al*+al", 4),
        ("alan+-emma", 2),
        ("-jane+alan", 2),
        ("-title:emma+ala", 2),
        ("al*+-%22alan+3%22", 2),
        ("%22alan%22+al", 4),
    ] {
        let choices = choices(&found(&page, &format!("/?q={query}")));
        assert_eq!(choices.len(), expected, "{query}: {choices:?}");
        for (chosen, meaning, count) in choices {
            let total = number(&found(&page, &format!("/?q={chosen}&via=choice")), "total");
            assert_eq!(total, count, "{query}: {meaning}");
        }
    }
}

/// Of several indexes, those that mean the same are one choice, and results say which index.
#[test]
fn several_indexes_are_one_search() {
    let (first, mut documents) = index("books", &rows());
    // Their identifiers are the same, and they are different documents.
    let (second, more) = index("films", &rows());
    documents.extend(more);
    let indexes = [first, second].map(|index| Arc::new(RwLock::new(index))).to_vec();
    let search = Search::new(indexes, SearchConfig::new()).unwrap();
    let source = Rc::new(Books { search, documents, several: true });
    let page = page(source, "several", &[("ids", Value::Int(100))]);
    let all = found(&page, "/?q=alan");
    assert_eq!(number(&all, "total"), 90);
    assert_eq!(choices(&all).iter().map(|choice| choice.2).collect::<Vec<_>>(), [60, 40]);
    let groups: Vec<_> = list(&all, "groups").iter().map(meaning).collect();
    assert!(groups.len() == 4 && groups.contains(&"films: title alan".to_owned()), "{groups:?}");
    assert_eq!(number(&found(&page, "/?q=title%3Aalan&via=choice"), "total"), 60);
}

proptest! {
    /// Whatever a document holds, its link runs nothing, and its text comes back without controls.
    #[test]
    fn the_link_of_any_document_is_safe(link: String) {
        let options = [("link", "author".into())];
        let rows = [(1, "alan".to_owned(), format!("javascript:{link}"))];
        let found = found(&page(books(&rows), "link", &options), "/?q=title:alan");
        prop_assert!(results(&found)[0].get("link").unwrap().is_nil());
    }

    /// Whatever is asked, there is a page and an answer for programs.
    #[test]
    fn any_query_has_a_page(query: String, extra in "[ -~]{0,40}") {
        let page = page(library(), "any", &[]);
        for query in [query, extra] {
            let encoded: String = query.bytes().map(|byte| format!("%{byte:02X}")).collect();
            model(&page, &format!("/?q={encoded}&page=2"));
            for address in ["live", "full"] {
                let answer = get(&page, &format!("/{address}?query={encoded}"));
                prop_assert!(json::parse(answer.as_bytes()).is_ok(), "{}", answer);
            }
            // As it comes, without escapes.
            get(&page, &format!("/?{query}&q={query}&page={query}"));
        }
    }
}

#[test]
fn matches_are_marked() {
    let long = format!("{} <b> Alan </b>\u{0} {}", "word ".repeat(100), "more ".repeat(100));
    let rows = [(1, long, "Jane & Alan".to_owned())];
    let page = page(books(&rows), "marked", &[("text", "title".into())]);
    let result = &results(&found(&page, "/?q=ala"))[0];
    let shown = words(result.get("text").unwrap());
    assert!(shown.contains("<b> [Alan] </b>\u{fffd} more"), "{shown}");
    assert!(shown.starts_with("\u{2026} word") && shown.ends_with("more \u{2026}"), "{shown}");
    assert!(shown.split(' ').count() < 50, "{shown}");
    assert_eq!(words(&list(result, "subtitle")[0]), "Jane & [Alan]");
}

#[test]
fn live_counts_and_full_has_the_results() {
    let page = page(library(), "json", &[]);
    let live: Value = json::parse(get(&page, "/live?query=alan&ids=5").as_bytes()).unwrap();
    assert_eq!(live.get("total"), Some(&Value::Int(50)));
    let rows = live.get("allocations").unwrap().as_list().unwrap();
    let first = rows[0].as_list().unwrap();
    assert_eq!((&first[2], &first[4]), (&Value::Int(30), &Value::List(Vec::new())));
    assert_eq!(first.len(), 5);
    let once = json::parse(get(&page, "/live?query=alan&unique=true").as_bytes()).unwrap();
    assert_eq!(once.get("total"), Some(&Value::Int(45)));

    let short = get(&page, "/live?query=alan&allocations=0&unique=true");
    assert!(short.starts_with(r#"{"allocations":[],"offset":0,"duration":"#), "{short}");
    let short = json::parse(short.as_bytes()).unwrap();
    assert_eq!(short.get("total"), Some(&Value::Int(45)));

    let full = json::parse(get(&page, "/full?query=alan&ids=2&offset=29").as_bytes()).unwrap();
    let rows = full.get("allocations").unwrap().as_list().unwrap();
    let last = |row: usize| rows[row].as_list().unwrap()[5].as_list().unwrap().to_vec();
    assert_eq!(rows[0].as_list().unwrap()[4], Value::List(vec![Value::Int(30)]));
    assert_eq!(last(0), [Value::from("[Alan] 30")]);
    assert_eq!((last(1).len(), full.get("offset")), (1, Some(&Value::Int(29))));
    for odd in ["ids=-1", "ids=99999999999999999999", "offset=-5", "offset=x&ids=", "ids=1000"] {
        let full = json::parse(get(&page, &format!("/full?query=alan&{odd}")).as_bytes()).unwrap();
        assert_eq!(full.get("total"), Some(&Value::Int(50)), "{odd}");
    }
    assert_eq!(
        json::parse(get(&page, "/full").as_bytes()).unwrap().get("total"),
        Some(&Value::Int(0))
    );
}

#[test]
fn a_template_makes_the_results() {
    let options = PageOptions::read(&Value::record([("name", "template".into())])).unwrap();
    let template: runnel_search::PageTemplate = Rc::new(|document: Value, _: &Context| {
        runnel_store::Answer::later(async move {
            let title = document.get("title").and_then(Value::as_str).unwrap_or("none");
            Ok(format!("<i>{title}</i>"))
        })
    });
    let views = PageViews { result: Some(template), ..views() };
    let page = SearchPage::new(library(), options, views).unwrap();
    let first = &results(&found(&page, "/?q=alan"))[0];
    assert_eq!(first.get("html"), Some(&"<i>Alan 1</i>".into()));
    assert!(get(&page, "/full?query=alan&ids=1").contains("[\"<i>Alan 1</i>\"]"));
}

/// A request.
#[derive(Default)]
struct Asked {
    target: &'static str,
    headers: RefCell<HashMap<String, String>>,
}

impl Exchange for Asked {
    fn method(&self) -> &str {
        "GET"
    }
    fn target(&self) -> &str {
        self.target
    }
    fn peer(&self) -> String {
        String::new()
    }
    fn asks_visitor(&self, _: runnel_store::VisitorQuestion<'_>) {}
    fn query(&self, _: &str) -> Option<String> {
        None
    }
    fn header(&self, _: &str) -> Option<String> {
        None
    }
    fn cookie(&self, _: &str) -> Option<String> {
        None
    }
    fn form(&self, _: &str) -> Result<Option<Value>> {
        Ok(None)
    }
    fn body(&self) -> Option<Text> {
        None
    }
    fn set_status(&self, _: u16) {}
    fn set_header(&self, name: &str, value: &str) -> Result<()> {
        self.headers.borrow_mut().insert(name.to_owned(), value.to_owned());
        Ok(())
    }
}

#[test]
fn a_page_loads_nothing_from_elsewhere_wherever_it_is_mounted() {
    let page = page(library(), "mounted", &[]);
    for (target, base) in
        [("/", ""), ("/books/?q=alan", ""), ("/books?q=a/b", "./books/"), ("/a/b\"<", "./b\"</")]
    {
        let asked = Rc::new(Asked { target, ..Asked::default() });
        let context = Context { exchange: Some(asked.clone()), ..Context::default() };
        let text = text(ready(page.get(&Reference::parse("/?q=alan"), &context)).unwrap());
        let answer = json::parse(text.as_bytes()).unwrap();
        let model = answer.get("model").unwrap();
        assert_eq!(model.get("base"), Some(&base.into()));
        let files = model.get("files").unwrap().as_record().unwrap().to_vec();
        assert_eq!(files.len(), 3);
        for (name, address) in files {
            let address = address.as_str().unwrap().strip_prefix(base).unwrap().to_owned();
            assert!(get(&page, &address).contains(&name), "{address}");
        }
        let policy = asked.headers.borrow()["Content-Security-Policy"].clone();
        assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    }
    assert!(ready(page.get(&Reference::parse("/other"), &Context::default())).is_none());
}

#[test]
fn searches_are_counted_and_written_down() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("queries.log");
    let kept = folder.path().join("statistics.json");
    let path = |path: &std::path::Path| Value::from(path.to_str().unwrap());
    let options = [("log", path(&log)), ("keep", path(&kept)), ("statistics", Value::Bool(true))];
    let page = self::page(library(), "counted", &options);
    get(&page, "/live?query=al");
    get(&page, "/?q=alan");
    get(&page, "/?q=alan&page=2");
    get(&page, "/?q=title:alan&via=choice");
    get(&page, "/full?query=nothing%0Athere");
    // The figures follow a moment later.
    let counted = loop {
        let value = json::parse(get(&page, "/statistics.json").as_bytes()).unwrap();
        if value.get("full") == Some(&Value::Int(3)) {
            break value;
        }
        std::thread::yield_now();
    };
    assert_eq!(counted.get("live"), Some(&Value::Int(1)));
    assert_eq!(counted.get("withoutResults"), Some(&Value::Int(1)));
    let row = |text: &str| Value::List(vec![text.into(), Value::Int(1), Value::Int(0)]);
    assert_eq!(counted.get("chosen"), Some(&Value::List(vec![row("title")])));
    assert_eq!(
        counted.get("queriesWithoutResults"),
        Some(&Value::List(vec![row("nothing there")]))
    );
    let shown = get(&page, "/statistics");
    for part in ["\"statistics\"", "alan", "\"withoutResults\":1", "nothing there"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    drop(page);
    let lines = std::fs::read_to_string(&log).unwrap();
    let kinds: Vec<_> = lines.lines().map(|line| &line[..1]).collect();
    assert_eq!(kinds, [".", ">", ">", ">", ">"]);
    assert!(lines.lines().nth(2).unwrap().ends_with("|      45|  20| 2|"), "{lines}");
    assert!(lines.contains(r"|nothing\u{a}there "), "{lines}");
    let page = self::page(library(), "counted", &options);
    let value = json::parse(get(&page, "/statistics.json").as_bytes()).unwrap();
    assert_eq!(value.get("full"), Some(&Value::Int(3)), "they are kept");
}

#[test]
fn statistics_are_not_public_unless_somebody_says_so() {
    let page = page(library(), "not public", &[]);
    for path in ["/statistics", "/statistics.json"] {
        assert!(ready(page.get(&Reference::parse(path), &Context::default())).is_none(), "{path}");
    }
    let statistics = page.statistics();
    for path in ["/", "/statistics"] {
        assert_eq!(model(&statistics, path).get("title"), Some(&"Books & <more>".into()));
    }
    assert!(get(&statistics, "/statistics.json").starts_with("{\"format\":1,"));
}
