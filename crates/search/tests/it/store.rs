//! The search store: the conformance suite for JSON records, searches, writes, loads and watches.
#![allow(clippy::unwrap_used)]

use runnel_search::{SearchScheme, SearchStore};
use runnel_store::conformance::{Abilities, Keeps, Posting, check};
use runnel_store::{
    Answer, Body, COLLECT_LIMIT, Changes, Condition, Conditions, Content, Context, Entry, Form,
    Kind, Outcome, Query, Reference, Result, Store, Value, Verb, Verbs, json,
};
use std::rc::Rc;

fn value(text: &str) -> Value {
    json::parse(text.as_bytes()).unwrap()
}

fn run<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, work)
}

/// An index of books; each test has a name of its own, because a name is the same index in the
/// whole process.
fn books(name: &str, more: &str) -> SearchStore {
    let text = format!(
        r##"{{"#":"SearchIndex","name":"{name}","title":{{"partial":{{"#":"Substring"}}}},
        "author":{{}},"year":{{"partial":false}},"attributes":{{"year":"integer"}}{more}}}"##
    );
    SearchStore::open(&value(&text)).unwrap()
}

const NOVELS: &str = r#"[{"id":1,"title":"Emma","author":"Jane Austen","year":1815},
    {"id":2,"title":"Persuasion","author":"Jane Austen","year":1817},
    {"id":"  3","title":"Jane Eyre","author":"Charlotte Bronte","year":1847}]"#;

fn now() -> Context {
    Context::default()
}

async fn text(store: &dyn Store, reference: &str) -> Result<String> {
    let found = store.get(&Reference::parse(reference), &now()).await?;
    let Some(content) = found else { return Ok("nothing".into()) };
    Ok(String::from_utf8(content.encode(Form::Json).await?.to_vec()).unwrap())
}

async fn post(store: &dyn Store, media_type: &'static str, body: &str) -> Result<Outcome> {
    let content = Content::text(body).with_media_type(media_type);
    store.post(&Reference::default(), content, &now()).await
}

/// Content by path, in an index whose documents have one field for it.
struct Cells(Rc<SearchStore>);

impl Store for Cells {
    fn get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        if reference.relative_path().is_empty() {
            return Answer::ok(None);
        }
        self.0.get(reference, context).and_then(|found| {
            let Some(content) = found else { return Answer::ok(None) };
            if matches!(content.body, Body::Empty) {
                return Answer::ok(Some(content));
            }
            let entity_tag = content.entity_tag.clone();
            content.into_value(COLLECT_LIMIT).map(move |record| {
                let body = match record.get("content") {
                    Some(value) => Content::value(value.clone()),
                    None => Content::value(Value::Nil),
                };
                Some(Content { entity_tag, ..body })
            })
        })
    }

    fn put(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Outcome> {
        if matches!(content.body, Body::Value(Value::Nil)) {
            return self.0.put(reference, content, context);
        }
        let (path, context) = (reference.clone(), context.clone());
        let store = self.0.clone();
        content.read(COLLECT_LIMIT).and_then(move |bytes| {
            let record = Value::record([("content", Value::from(bytes))]);
            store.put(&path, Content::value(record), &context)
        })
    }

    fn delete(&self, reference: &Reference, context: &Context) -> Answer<Outcome> {
        self.0.delete(reference, context)
    }

    fn list(&self, reference: &Reference, context: &Context) -> Answer<Option<Vec<Entry>>> {
        self.0.list(reference, context)
    }

    fn query(&self, reference: &Reference, query: &Query, context: &Context) -> Answer<Content> {
        self.0.query(reference, query, context)
    }

    fn verbs(&self, reference: &Reference) -> Verbs {
        self.0.verbs(reference)
    }

    fn conditions(&self, reference: &Reference) -> Conditions {
        self.0.conditions(reference)
    }

    fn watch(&self, reference: &Reference, context: &Context) -> Answer<Changes> {
        self.0.watch(reference, context)
    }

    runnel_store::without!(links);

    fn describe(&self) -> String {
        self.0.describe()
    }
}

#[test]
fn documents_are_content_as_in_every_store() {
    let cells = r#"{"name":"cells","keyFormat":"text","content":{}}"#;
    let abilities = Abilities {
        keeps: Keeps::Text,
        // JSON has no bytes.
        binary: false,
        listing: false,
        posting: Posting::Other,
        attributes: false,
        relocation: false,
        merge: false,
        query: false,
        media_types: false,
        large: 1 << 18,
        ..Abilities::ALL
    };
    run(async {
        let store = SearchStore::open(&value(cells)).unwrap();
        check(Rc::new(Cells(Rc::new(store))), abilities).await;
    });
}

#[test]
fn a_query_searches() {
    run(async {
        let store = books("asked", "");
        assert_eq!(post(&store, "application/json", NOVELS).await.unwrap().reference, None);
        let answer = value(&text(&store, "?query=jane&ids=2").await.unwrap());
        assert_eq!(answer.get("total"), Some(&Value::Int(3)));
        assert_eq!(answer.as_record().unwrap().len(), 4);
        let empty = r#"{"allocations":[],"offset":0,"duration":"#;
        for reference in ["", "?", "?query=", "?ids=3", "?other=%FF", "?query=%7C%7C"] {
            let answer = text(&store, reference).await.unwrap();
            assert!(answer.starts_with(empty), "{reference}: {answer}");
        }
        let refused = |error: runnel_store::Error| (error.kind, error.message);
        let (kind, message) = refused(text(&store, "?query=%FF").await.unwrap_err());
        assert!(kind == Kind::Invalid && message.contains("UTF-8"), "{message}");
        let (kind, message) = refused(text(&store, "?filter=yaer%3D1815").await.unwrap_err());
        assert!(kind == Kind::Invalid && message.contains("`filter`"), "{message}");
        let answer = text(&store, "?query=austen&filter=year+%3D+1817").await.unwrap();
        assert!(answer.contains("[2]]"), "{answer}");
        let answer = text(&store, "?query=austen&sort=-year").await.unwrap();
        assert!(answer.contains("[2,1]]"), "{answer}");
    });
}

#[test]
fn an_answer_may_have_documents_and_facets() {
    run(async {
        let store = books("rich", "");
        let odd = r#"{"id":4,"title":"Bad ] \" [ title","author":"jane"}"#;
        post(&store, "application/json", NOVELS).await.unwrap();
        post(&store, "application/json", odd).await.unwrap();
        let answer = value(&text(&store, "?query=jane&documents=true").await.unwrap());
        let rows = answer.get("allocations").unwrap().as_list().unwrap();
        assert_eq!(rows.len(), 2);
        for row in rows {
            let row = row.as_list().unwrap();
            let (ids, documents) = (row[4].as_list().unwrap(), row[5].as_list().unwrap());
            assert_eq!(ids.len(), documents.len());
            for (id, document) in ids.iter().zip(documents) {
                let key = document.get("id").unwrap();
                assert!(key == id || key.as_str().is_some_and(|key| key.trim() == "3"));
            }
        }
        let answer = value(&text(&store, "?query=austen&ids=0&facets=year").await.unwrap());
        let years = Value::record([("1815", Value::Int(1)), ("1817", Value::Int(1))]);
        assert_eq!(answer.get("facets").unwrap().get("year"), Some(&years));
        let answer = value(&text(&store, "?facets=author&at_least=2").await.unwrap());
        let names = answer.get("facets").unwrap().get("author").unwrap().as_record().unwrap();
        assert_eq!(names.iter().map(|(name, _)| &**name).collect::<Vec<_>>(), ["jane", "austen"]);
        let nothing = text(&store, "?query=zz&documents=1").await.unwrap();
        assert!(nothing.starts_with(r#"{"allocations":[],"#), "{nothing}");
    });
}

#[test]
fn repeated_searches_are_answered_by_their_tag() {
    run(async {
        let store = books("tagged", "");
        let root = Reference::parse("?query=emma");
        let first = store.get(&root, &now()).await.unwrap().unwrap();
        let known = first.entity_tag.unwrap();
        assert!(known.weak);
        let again = Context { known: Some(known.clone()), ..now() };
        let content = store.get(&root, &again).await.unwrap().unwrap();
        assert!(again.knows(&content));
        post(&store, "application/json", NOVELS).await.unwrap();
        let content = store.get(&root, &again).await.unwrap().unwrap();
        assert!(!again.knows(&content) && content.entity_tag.is_some_and(|tag| tag != known));
    });
}

#[test]
fn documents_are_written_under_their_identifiers() {
    run(async {
        let store = books("written", "");
        let at = |path: &str| Reference::from_path(path.to_owned());
        let emma =
            Content::text(r#"{"title":"Emma","n":1.50}"#).with_media_type("application/json");
        assert!(store.put(&at("7"), emma, &now()).await.unwrap().is_created());
        // As it was put, to the last digit.
        assert_eq!(text(&store, "7").await.unwrap(), r#"{"title":"Emma","n":1.50}"#);
        let year = Content::value(Value::record([("year", Value::Int(1815))]));
        store.merge(&at("7"), year, &now()).await.unwrap();
        assert!(text(&store, "?query=year:1815").await.unwrap().contains("[7]"));
        let missing = store.merge(&at("8"), Content::text("{}"), &now()).await.unwrap_err();
        assert_eq!(missing.kind, Kind::NotFound);
        let other = Content::text(r#"{"id":8}"#);
        assert_eq!(store.put(&at("7"), other, &now()).await.unwrap_err().kind, Kind::Invalid);
        let word = store.put(&at("seven"), Content::text("{}"), &now()).await.unwrap_err();
        assert!(word.kind == Kind::Invalid && word.message.contains("keyFormat"), "{word}");
        assert_eq!(text(&store, "seven").await.unwrap(), "nothing");
        let page = Content::text("<p>").with_media_type("text/html");
        assert_eq!(store.put(&at("7"), page, &now()).await.unwrap_err().kind, Kind::Unsupported);
        let absent = Context { only_if: Some(Condition::Absent), ..now() };
        let again = store.put(&at("7"), Content::text("{}"), &absent).await.unwrap_err();
        assert_eq!(again.kind, Kind::Precondition);
        assert!(store.delete(&at("7"), &now()).await.unwrap().is_something());
        assert!(!store.delete(&at("7"), &now()).await.unwrap().is_something());
        assert!(text(&store, "?query=emma").await.unwrap().starts_with(r#"{"allocations":[],"#));
        let posted = post(&store, "application/json", r#"{"id":9,"title":"Emma"}"#).await.unwrap();
        assert_eq!(posted.reference.unwrap().path(), "9");
        let keyless = post(&store, "application/json", r#"{"title":"Emma"}"#).await.map(|_| ());
        assert!(keyless.unwrap_err().message.contains("no `id`"));
    });
}

#[test]
fn tables_are_loaded_and_faults_have_their_line() {
    run(async {
        let store = books("tables", "");
        let csv = "id,title,author\n1,Emma,Jane Austen\n2,\"Mansfield\nPark\",Jane Austen\n";
        let posted = post(&store, "text/csv", csv).await.unwrap();
        let count = posted.content.unwrap().into_value(9).await.unwrap();
        assert_eq!((count, store.len()), (Value::Int(2), 2));
        let plain = Content::text("  3,Villette\n").with_media_type("text/csv");
        let columns = Reference::parse("?columns=id,title");
        store.post(&columns, plain, &now()).await.unwrap();
        assert!(text(&store, "?query=villette").await.unwrap().contains("[3]"));
        let lines = "{\"id\":4,\"title\":\"Shirley\"}\n{\"title\":\"none\"}\n";
        let wrong = post(&store, "application/x-ndjson", lines).await.map(|_| ()).unwrap_err();
        assert!(wrong.message.starts_with("line 2: the record has no `id`"), "{wrong}");
        let wrong = post(&store, "application/json", r#"[{"id":1},{"id":"x"}]"#).await.map(|_| ());
        assert!(wrong.unwrap_err().message.starts_with("record 2: `x` is no identifier"));
        let names = store.list(&Reference::default(), &now()).await.unwrap().unwrap();
        assert_eq!(
            names.iter().map(|entry| &*entry.name).collect::<Vec<_>>()[..3],
            ["1", "2", "3"]
        );
    });
}

#[test]
fn several_indexes_are_one_search() {
    run(async {
        let scheme = SearchScheme::new();
        let define = |name: &str| {
            let text = format!(r#"{{"name":"{name}","title":{{}}}}"#);
            scheme.define(&value(&text)).unwrap()
        };
        let (novels, films) = (define("novels"), define("films"));
        post(&*novels, "application/json", NOVELS).await.unwrap();
        post(&*films, "application/json", r#"{"id":1,"title":"Emma"}"#).await.unwrap();
        let stores: Vec<Rc<dyn Store>> = vec![novels, films];
        let both = scheme.define_several(&value(r#"{"name":"both"}"#), &stores).unwrap();
        let answer = text(&*both, "?query=emma&documents=true").await.unwrap();
        for part in [r#"["novels",0.0,1,"#, r#"["films",0.0,1,"#, r#"[{"id":1,"title":"Emma"}]"#] {
            assert!(answer.contains(part), "{part} in {answer}");
        }
        assert_eq!(text(&*both, "films/1").await.unwrap(), r#"{"id":1,"title":"Emma"}"#);
        assert_eq!(text(&scheme, "both/films/1").await.unwrap(), r#"{"id":1,"title":"Emma"}"#);
        let wrong = text(&scheme, "film?query=a").await.unwrap_err();
        assert!(wrong.message.contains("did you mean films?"), "{wrong}");
        let facets = text(&*both, "?facets=title").await.unwrap_err();
        assert_eq!(facets.kind, Kind::Invalid);
        assert!(both.verbs(&Reference::default()).has(Verb::Get));
    });
}

#[test]
fn loading_the_same_again_changes_nothing() {
    run(async {
        let store = books("again", "");
        post(&store, "application/json", NOVELS).await.unwrap();
        let tag = |content: Option<Content>| content.unwrap().entity_tag;
        let root = Reference::default();
        let before = tag(store.get(&root, &now()).await.unwrap());
        let posted = post(&store, "application/json", NOVELS).await.unwrap();
        assert_eq!(posted.content.unwrap().into_value(9).await.unwrap(), Value::Int(3));
        assert_eq!(tag(store.get(&root, &now()).await.unwrap()), before);
        let changed = NOVELS.replace("Emma", "Sanditon");
        post(&store, "application/json", &changed).await.unwrap();
        assert_ne!(tag(store.get(&root, &now()).await.unwrap()), before);
    });
}

#[test]
fn one_of_several_follows_a_source() {
    let scheme = SearchScheme::new();
    let index: Rc<dyn Store> = scheme.define(&value(r#"{"name":"f","title":{}}"#)).unwrap();
    let source = value(r#"{"source":"sqlite:shop.db/books"}"#);
    let other = value(r#"{"source":"sqlite:shop.db/films"}"#);
    let stores = [index];
    let first = scheme.follow(&source, &stores).unwrap();
    let second = scheme.follow(&source, &stores).map(|_| ()).unwrap_err();
    assert_eq!(second.kind, Kind::Conflict);
    assert!(scheme.follow(&other, &stores).is_ok());
    drop(first);
    assert!(scheme.follow(&source, &stores).is_ok());
    assert_eq!(scheme.follow(&source, &[]).map(|_| ()).unwrap_err().kind, Kind::Invalid);
}

#[test]
fn the_same_definition_is_the_same_index_and_another_one_of_the_folder_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    let text =
        |more: &str| format!(r#"{{"name":"kept","path":"{}","title":{{}}{more}}}"#, path.display());
    let open = |more: &str| SearchStore::open(&value(&text(more)));
    run(async {
        let first = open("").unwrap();
        post(&first, "application/json", NOVELS).await.unwrap();
        assert_eq!(open("").unwrap().len(), 3);
        let other = open(r#","author":{}"#).map(|_| ()).unwrap_err();
        assert!(other.kind == Kind::Conflict && other.message.contains("kept"), "{other}");
        drop(first);
        // Documents are kept, so that they are indexed as the new definition says.
        let again = open(r#","author":{}"#).unwrap();
        assert_eq!(again.len(), 3);
        assert!(text_of(&again, "?query=author:austen").await.contains("[1,2]"));
        drop(again);
        let lower = open(r##","removes":"/[eE]/","searching":{"#":"Tokenizer"}"##).unwrap();
        assert!(text_of(&lower, "?query=mma").await.contains("[1]"));
    });
}

async fn text_of(store: &SearchStore, reference: &str) -> String {
    text(store, reference).await.unwrap()
}
