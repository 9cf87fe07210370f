//! The search page as a browser without JavaScript and a program see it.
#![allow(clippy::unwrap_used)]

use bytes::Bytes;
use proptest::prelude::*;
use runnel_search::{
    Answer, Category, Document, Highlighter, Id, Index, IndexConfig, KeyFormat, PageOptions,
    PageSource, Request, Search, SearchConfig, SearchPage,
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
    fn search_into(&self, query: &str, request: &Request<'_>, answer: &mut Answer) {
        self.search.search_into(query, request, answer);
    }

    fn document(&self, _: usize, id: &Id) -> Option<Bytes> {
        self.documents.get(id).cloned()
    }

    fn is_several(&self) -> bool {
        self.several
    }

    fn highlight(&self, index: usize, answer: &Answer, look: &mut dyn FnMut(&Highlighter<'_>)) {
        look(&Highlighter::new(&self.search.indexes()[index].read().unwrap(), answer));
    }
}

fn books(rows: &[(i64, String, String)]) -> Rc<Books> {
    let (index, documents) = index("books", rows);
    let config = SearchConfig::new().exclusion('-').phrases(true);
    Rc::new(Books { search: Search::over(index, config).unwrap(), documents, several: false })
}

fn index(name: &str, rows: &[(i64, String, String)]) -> (Index, HashMap<Id, Bytes>) {
    let config = IndexConfig::new(name)
        .phrases(true)
        .key_format(KeyFormat::Integer)
        .category(Category::new("title"))
        .category(Category::new("author"));
    let mut index = Index::new(config).unwrap();
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
    SearchPage::new(source, PageOptions::read(&options).unwrap()).unwrap()
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

/// The contents of what stands between two texts, each time.
fn between<'a>(page: &'a str, start: &str, end: &str) -> Vec<&'a str> {
    page.split(start).skip(1).map(|after| after.split(end).next().unwrap()).collect()
}

#[test]
fn a_page_is_whole_without_javascript() {
    let page = page(library(), "whole", &[]);
    let empty = get(&page, "/");
    assert!(empty.contains("<title>Books &amp; &lt;more&gt;</title>"), "{empty}");
    assert!(empty.contains("autofocus") && !empty.contains("<section"), "{empty}");
    assert_eq!(get(&page, "/?q=+"), empty);

    let first = get(&page, "/?q=alan");
    assert!(first.contains("<title>alan \u{2013} Books"), "{first}");
    assert!(first.contains("45 results</p>"), "{first}");
    assert!(first.contains("value=\"alan\""), "{first}");
    assert_eq!(between(&first, "<a href=\"/book/", "\"").len(), 20);
    assert_eq!(between(&first, "<h3>", "</h3>")[0], "<a href=\"/book/1\"><mark>Alan</mark> 1</a>");
    assert_eq!(between(&first, "<p class=\"subtitle\">", "</p>")[0], "Jane");
    assert!(first.contains("<span>Page 1 of 3</span>"), "{first}");
    assert_eq!(between(&first, "rel=\"next\" href=\"", "\""), ["?q=alan&amp;page=2"]);
    assert_eq!(between(&first, "rel=\"prev\"", ">").len(), 0);
}

#[test]
fn each_document_is_on_one_page() {
    let page = page(library(), "pages", &[("ids", Value::Int(10))]);
    let mut seen = Vec::new();
    for number in 1..=5 {
        let text = get(&page, &format!("/?q=alan&page={number}"));
        seen.extend(between(&text, "<a href=\"/book/", "\"").into_iter().map(str::to_owned));
        let first: usize = between(&text, "<ol start=\"", "\"")[0].parse().unwrap();
        assert_eq!(first, number * 10 - 9);
        let links =
            (between(&text, "rel=\"prev\"", ">").len(), between(&text, "rel=\"next\"", ">").len());
        assert_eq!(links, (usize::from(number > 1), usize::from(number < 5)), "{number}");
    }
    seen.sort_by_key(|id| id.parse::<u32>().unwrap());
    let expected: Vec<String> = (1..=45).map(|id| id.to_string()).collect();
    assert_eq!(seen, expected);
    for odd in ["0", "-1", "x", "99999999999999999999", "6"] {
        let text = get(&page, &format!("/?q=alan&page={odd}"));
        assert!(text.contains("45 results"), "{odd}: {text}");
    }
}

#[test]
fn interpretations_can_be_chosen() {
    let page = page(library(), "chosen", &[("labels", Value::record([("title", "Title".into())]))]);
    let first = get(&page, "/?q=alan");
    let choices = between(&first, "<li><a href=\"", "</a>");
    assert_eq!(
        choices,
        [
            "?q=title%3Aalan&amp;via=choice\"><b>Title</b> alan <span class=\"number\">30</span>",
            "?q=author%3Aalan&amp;via=choice\"><b>author</b> alan <span class=\"number\">20</span>",
        ]
    );
    let title = get(&page, "/?q=title%3Aalan&via=choice");
    assert!(title.contains("30 results") && !title.contains("id=\"choices\""), "{title}");
    let author = get(&page, "/?q=author%3Aalan&via=choice");
    assert!(author.contains("20 results") && author.contains("<b>author</b> alan"), "{author}");
    // Few results need no choice.
    let few = get(&page, "/?q=alan+44");
    assert!(!few.contains("id=\"choices\""), "{few}");
    // That each is found in two ways does not make them more.
    let rows: Vec<_> = (1..=10).map(|id| (id, "Alan".to_owned(), "Alan".to_owned())).collect();
    let few = get(&self::page(books(&rows), "few", &[]), "/?q=alan");
    assert!(few.contains("10 results") && !few.contains("id=\"choices\""), "{few}");
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
        let text = get(&page, &format!("/?q={query}"));
        let choices = between(&text, "<li><a href=\"", "</span></a>");
        assert_eq!(choices.len(), expected, "{query}: {choices:?}");
        for choice in choices {
            let (address, label) = choice.split_once("\">").unwrap();
            let count = label.rsplit_once('>').unwrap().1;
            let chosen = get(&page, &format!("/{}", address.replace("&amp;", "&")));
            let said = between(&chosen, "role=\"status\" tabindex=\"-1\">", " result")[0];
            assert_eq!(said, count, "{query}: {choice}");
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
    let text = get(&page, "/?q=alan");
    assert!(text.contains("90 results"), "{text}");
    let choices = between(&text, "<span class=\"number\">", "<");
    assert_eq!(choices, ["60", "40"]);
    let groups = between(&text, "<section", "</h2>").len();
    assert!(groups == 4 && text.contains("<h2>films: <b>title</b> alan</h2>"), "{text}");
    let chosen = get(&page, "/?q=title%3Aalan&via=choice");
    assert!(chosen.contains("60 results"), "{chosen}");
}

/// The tags of a text that are not among these.
fn other_tags<'a>(text: &'a str, known: &[&str]) -> Vec<&'a str> {
    let tags = text
        .split('<')
        .skip(1)
        .map(|after| after.trim_start_matches('/').split([' ', '>']).next().unwrap_or_default());
    tags.filter(|tag| !known.contains(tag)).collect()
}

proptest! {
    /// Whatever a document holds, it is text on the page, and its link runs nothing.
    #[test]
    fn any_document_is_text(title in "(alan|[<>&\"'a-z \\PC]){1,8}", author: String, link: String) {
        let rows = [(1, format!("alan {title}"), format!("alan {author}"))];
        let options = [("text", "title".into()), ("link", "author".into())];
        let text = get(&page(books(&rows), "text only", &options), "/?q=alan");
        let section = text.split("<section").nth(1).unwrap().split("</section>").next().unwrap();
        let known = ["h2", "b", "ol", "li", "h3", "a", "p", "mark"];
        prop_assert_eq!(other_tags(section, &known), Vec::<&str>::new());
        prop_assert_eq!(text.matches("<section").count(), text.matches("</section").count());
        let scripts = |text: &str| text.to_lowercase().matches("javascript:").count();
        let rows = [(1, "alan".to_owned(), format!("javascript:{link}"))];
        let text = get(&page(books(&rows), "text only", &options), "/?q=title:alan");
        let section = text.split("<section").nth(1).unwrap();
        prop_assert_eq!(between(section, "href=\"", "\"").into_iter().map(scripts).sum::<usize>(), 0);
    }

    /// Whatever is asked, there is a page, and the query is only text on it.
    #[test]
    fn any_query_has_a_page(query: String, extra in "[ -~]{0,40}") {
        let page = page(library(), "any", &[]);
        for query in [query, extra] {
            let encoded: String = query.bytes().map(|byte| format!("%{byte:02X}")).collect();
            let text = get(&page, &format!("/?q={encoded}&page=2"));
            prop_assert_eq!(text.matches("<script").count(), 1);
            prop_assert_eq!(text.matches("<input").count(), 1);
            prop_assert!(text.ends_with("</html>\n"));
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
fn a_page_speaks_its_language() {
    let options = [("language", "de".into()), ("ids", Value::Int(10))];
    let text = get(&page(library(), "german", &options), "/?q=alan");
    for part in ["<html lang=\"de\">", "45 Treffer", "Was ist gemeint?", "Seite 1 von 5"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("results") && !text.contains(">Search<"), "{text}");
}

#[test]
fn many_interpretations_unfold() {
    let rows: Vec<_> = (1..=20).map(|id| (id, "a b c".to_owned(), "a b c".to_owned())).collect();
    let page = page(books(&rows), "unfold", &[]);
    let text = get(&page, "/?q=a+b+c");
    let (visible, hidden) = text.split_once("<details>").unwrap();
    assert_eq!(visible.matches("via=choice").count(), 3);
    assert_eq!(hidden.matches("via=choice").count(), 5);
    assert!(hidden.contains("<summary>5 more</summary>"), "{hidden}");
}

#[test]
fn whatever_is_in_a_document_or_a_query_stays_text() {
    let hostile = "<script>alert(1)</script>\"'&\u{0} alan".to_owned();
    let page = page(books(&[(1, hostile.clone(), hostile)]), "text", &[]);
    let text = get(&page, "/?q=alan");
    assert_eq!(text.matches("<script").count(), 1, "{text}");
    assert!(
        text.contains("&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;\u{fffd}"),
        "{text}"
    );
    let query = "%22%3E%3Cscript%3Ealert(1)%3C/script%3E%00";
    let text = get(&page, &format!("/?q={query}"));
    assert_eq!(text.matches("<script").count(), 1, "{text}");
    assert!(text.contains("No results"), "{text}");
}

#[test]
fn matches_are_marked() {
    let long = format!("{} <b> Alan </b>\u{0} {}", "word ".repeat(100), "more ".repeat(100));
    let rows = [(1, long, "Jane & Alan".to_owned())];
    let page = page(books(&rows), "marked", &[("text", "title".into())]);
    let text = get(&page, "/?q=ala");
    let shown = between(&text, "<p class=\"text\">", "</p>")[0];
    assert!(shown.contains("&lt;b&gt; <mark>Alan</mark> &lt;/b&gt;\u{fffd} more"), "{shown}");
    assert!(shown.starts_with("\u{2026} word") && shown.ends_with("more \u{2026}"), "{shown}");
    assert!(shown.split(' ').count() < 50, "{shown}");
    assert!(text.contains("Jane &amp; <mark>Alan</mark>"), "{text}");
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
    let html = "<h3><a href=\"/book/30\"><mark>Alan</mark> 30</a></h3>\
                <p class=\"subtitle\"><mark>Alan</mark> Poe</p>";
    assert_eq!(last(0), [Value::from(html)]);
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
    let options = options.template(Rc::new(|document: Value, _: &Context| {
        runnel_store::Answer::later(async move {
            let title = document.get("title").and_then(Value::as_str).unwrap_or("none");
            Ok(format!("<i>{title}</i>"))
        })
    }));
    let page = SearchPage::new(library(), options).unwrap();
    assert!(get(&page, "/?q=alan").contains("<li tabindex=\"-1\"><i>Alan 1</i></li>"));
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
    for (target, base) in [
        ("/", ""),
        ("/books/?q=alan", ""),
        ("/books?q=a/b", "./books/"),
        ("/a/b\"<", "./b&quot;&lt;/"),
    ] {
        let asked = Rc::new(Asked { target, ..Asked::default() });
        let context = Context { exchange: Some(asked.clone()), ..Context::default() };
        let text = text(ready(page.get(&Reference::parse("/?q=alan"), &context)).unwrap());
        let mut loaded = between(&text, "src=\"", "\"");
        loaded.extend(
            between(&text, "<link ", ">").iter().map(|link| between(link, "href=\"", "\"")[0]),
        );
        assert_eq!(loaded.len(), 3);
        for address in loaded {
            let (path, version) = address.strip_prefix(base).unwrap().split_once('?').unwrap();
            assert!(!get(&page, &format!("{path}?{version}")).is_empty());
        }
        assert!(text.contains(&format!("data-live=\"{base}live\"")), "{text}");
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
    for part in ["<svg", "alan", "33.3 %", "Most chosen", "nothing there"] {
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
        assert!(get(&statistics, path).contains("Statistics of Books &amp; &lt;more&gt;"));
    }
    assert!(get(&statistics, "/statistics.json").starts_with("{\"format\":1,"));
}
