//! Every verb through every combinator: where it arrives, or why it does not.

use futures_util::stream;
use runnel_store::{
    Answer, BackupOrder, BulkChange, Cache, Changes, CircuitBreaker, CircuitBreakerOptions,
    Compressed, Condition, Conditions, Content, Context, ContinuousBackup, Csv, Ensure, Error,
    Extension, Fallback, Idempotent, Isolation, Json, Kind, Limit, LimitOptions, Log, Map, Memory,
    Merge, Migration, Mirror, MirrorOptions, Outcome, Polling, Query, ReadOnly, Records, Reference,
    Relative, Rename, Result, Retry, RetryOptions, Route, Sequence, Shape, Shard, ShardOptions,
    Store, Tables, TextCodec, Timeout, Transaction, Value, Verb, WriteBack, WriteBackOptions,
};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

/// Remembers the verbs that arrive, with their references.
#[derive(Default)]
struct Probe(RefCell<Vec<String>>);

impl Probe {
    fn arrived(&self, what: &str, reference: &Reference) {
        self.0.borrow_mut().push(format!("{what} {}", reference.relative_path()));
    }
}

struct Nothing;

impl Transaction for Nothing {
    fn commit(&self) -> Answer<()> {
        Answer::ok(())
    }
    fn roll_back(&self) -> Answer<()> {
        Answer::ok(())
    }
    fn outer(&self) -> Option<&Rc<dyn Transaction>> {
        None
    }
    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}

impl Store for Probe {
    fn get(&self, _: &Reference, _: &Context) -> Answer<Option<Content>> {
        Answer::ok(None)
    }
    fn put(&self, reference: &Reference, _: Content, context: &Context) -> Answer<Outcome> {
        let condition = if context.only_if.is_some() { "put if" } else { "put" };
        self.arrived(condition, reference);
        Answer::ok(Outcome::created())
    }
    fn watch(&self, on: &Reference, _: &Context) -> Answer<Changes> {
        self.arrived("watch", on);
        Answer::ok(Box::pin(stream::pending()))
    }
    fn conditions(&self, _: &Reference) -> Conditions {
        Conditions::Tags
    }
    fn tables(&self) -> Option<&dyn Tables> {
        Some(self)
    }

    runnel_store::without!(links);
    fn describe(&self) -> String {
        "probe".to_string()
    }
}

impl Tables for Probe {
    fn insert(&self, on: &Reference, _: Box<dyn Records>, _: &Context) -> Answer<u64> {
        self.arrived("insert", on);
        Answer::ok(0)
    }
    fn change_all(&self, on: &Reference, _: &Query, _: &BulkChange, _: &Context) -> Answer<Value> {
        self.arrived("change all", on);
        Answer::ok(Value::Int(0))
    }

    fn explain(&self, on: &Reference, _: &Query, _: bool, _: &Context) -> Answer<Value> {
        self.arrived("explain", on);
        Answer::ok(Value::Nil)
    }

    fn run(&self, on: &Reference, _: &str, _: Vec<Value>, _: &Context) -> Answer<Content> {
        self.arrived("run", on);
        Answer::ok(Content::value(Value::List(Vec::new())))
    }
    fn migrate(&self, on: &Reference, _: Migration, _: &Context) -> Answer<Vec<String>> {
        self.arrived("migrate", on);
        Answer::ok(Vec::new())
    }
    fn define(&self, on: &Reference, _: &Shape) -> Answer<Rc<dyn Store>> {
        self.arrived("define", on);
        Answer::ok(Rc::new(Memory::site()))
    }
    fn key_value_store(&self, on: &Reference) -> Answer<Rc<dyn Store>> {
        self.arrived("key value store", on);
        Answer::ok(Rc::new(Memory::site()))
    }
    fn snapshot(&self, on: &Reference, _: &Context) -> Answer<Content> {
        self.arrived("snapshot", on);
        Answer::ok(Content::text("[]"))
    }

    fn back_up(&self, on: &Reference, _: BackupOrder) -> Answer<Rc<dyn ContinuousBackup>> {
        self.arrived("back up", on);
        Error::new(Kind::Unsupported, "a probe has nothing to back up").into()
    }

    fn vacuum(&self, on: &Reference, _: &Context) -> Answer<()> {
        self.arrived("vacuum", on);
        Answer::ok(())
    }

    fn begin(
        &self,
        on: &Reference,
        _: Option<Isolation>,
        _: &Context,
    ) -> Answer<Rc<dyn Transaction>> {
        self.arrived("begin", on);
        Answer::ok(Rc::new(Nothing))
    }
}

struct NoRecords;

impl Records for NoRecords {
    fn fields(&self) -> Rc<[String]> {
        Rc::new([])
    }
    fn next(&mut self) -> Answer<Option<Vec<Value>>> {
        Answer::ok(None)
    }
}

fn shape() -> Shape {
    Shape::new("Task", Vec::new())
}

const VERBS: [&str; 13] = [
    "put if",
    "insert",
    "change all",
    "explain",
    "run",
    "migrate",
    "define",
    "key value store",
    "snapshot",
    "back up",
    "vacuum",
    "watch",
    "begin",
];

async fn call(store: &dyn Store, verb: &str) -> Result<()> {
    let (on, context) = (Reference::from_path("a/b"), Context::default());
    let tables = store.tables_for(Verb::Define, &on)?;
    match verb {
        "put if" => {
            let context = Context { only_if: Some(Condition::Absent), ..context };
            store.put(&on, Content::text("[]"), &context).await.map(drop)
        }
        "insert" => tables.insert(&on, Box::new(NoRecords), &context).await.map(drop),
        "run" => tables.run(&on, "SELECT 1", Vec::new(), &context).await.map(drop),
        "migrate" => tables.migrate(&on, Migration::default(), &context).await.map(drop),
        "define" => tables.define(&on, &shape()).await.map(drop),
        "key value store" => tables.key_value_store(&on).await.map(drop),
        "snapshot" => tables.snapshot(&on, &context).await.map(drop),
        "back up" => {
            let (store, to) = (Rc::new(Memory::site()), Reference::default());
            let order = BackupOrder { store, to, options: Value::Nil };
            match tables.back_up(&on, order).await {
                Err(error) if error.kind != Kind::Unsupported => Err(error),
                _ => Ok(()),
            }
        }
        "change all" => {
            let (query, change) = (Query::default(), BulkChange::Delete);
            tables.change_all(&on, &query, &change, &context).await.map(drop)
        }
        "explain" => tables.explain(&on, &Query::default(), false, &context).await.map(drop),
        "vacuum" => tables.vacuum(&on, &context).await,
        "watch" => store.watch(&on, &context).await.map(drop),
        _ => tables.begin(&on, None, &context).await.map(drop),
    }
}

/// A combinator, where `a/b` is in its source, and the verbs that it refuses with what it says.
struct Row {
    name: &'static str,
    make: fn(Rc<dyn Store>) -> Rc<dyn Store>,
    below: &'static str,
    refuses: &'static [(&'static str, &'static str)],
}

const fn row(
    name: &'static str,
    below: &'static str,
    make: fn(Rc<dyn Store>) -> Rc<dyn Store>,
) -> Row {
    Row { name, make, below, refuses: &[] }
}

const ROWS: [Row; 28] = [
    row("relative", "base/a/b", |source| {
        Rc::new(Relative::new(source, Reference::from_path("base")))
    }),
    row("route by path", "b", |source| {
        let route = Route::by_segment();
        route.mount("a", source);
        Rc::new(route)
    }),
    row("route to the others", "a/b", |source| {
        let route = Route::by_segment();
        route.otherwise(source);
        Rc::new(route)
    }),
    Row {
        refuses: &[("put if", "write under a condition")],
        ..row("sequence", "a/b", |source| {
            Rc::new(Sequence::new(vec![source, Rc::new(Memory::site())]))
        })
    },
    row("sequence of one", "a/b", |source| Rc::new(Sequence::new(vec![source]))),
    row("idempotent", "a/b", |source| Rc::new(Idempotent::new(source, Rc::new(Memory::site())))),
    row("fallback", "a/b", |source| Rc::new(Fallback::new(vec![source, Rc::new(Memory::site())]))),
    row("shard of one", "a/b", |source| {
        Rc::new(Shard::new(vec![source], ShardOptions::default()).unwrap())
    }),
    Row {
        refuses: &[
            ("insert", "not rows and statements"),
            ("change all", "not rows and statements"),
            ("run", "not rows and statements"),
            ("migrate", "not rows and statements"),
            ("define", "not rows and statements"),
            ("key value store", "not rows and statements"),
            ("vacuum", "not rows and statements"),
            ("begin", "not rows and statements"),
        ],
        ..row("mirror", "a/b", |source| {
            let stores: Vec<Rc<dyn Store>> = vec![source, Rc::new(Memory::site())];
            Rc::new(Mirror::new(stores, MirrorOptions::default()).unwrap())
        })
    },
    row("log", "a/b", |source| Rc::new(Log::new(source, |_, _| {}))),
    row("map of references", "x/a/b", |source| {
        Rc::new(Map::new(source, "x").references(
            |above| Ok(above.with_path(format!("x/{}", above.path()))),
            |below| Ok(below.with_path(below.path().trim_start_matches("x/"))),
        ))
    }),
    row("map of what is read", "a/b", |source| {
        Rc::new(Map::new(source, "same").reading(|_, content| Answer::ok(content)))
    }),
    Row {
        refuses: &[("insert", "post them one by one")],
        ..row("map of what is written", "a/b", |source| {
            Rc::new(Map::new(source, "same").writing(|_, content| Answer::ok(content)))
        })
    },
    row("names", "c/b", |source| Rc::new(Rename::prefixes(source, [("a", "c")]))),
    row("json up", "a/b", |source| Rc::new(Json::up(source))),
    row("json down", "a/b", |source| Rc::new(Json::down(source))),
    Row {
        refuses: &[("insert", "post them one by one")],
        ..row("csv", "a/b", |source| Rc::new(Csv::up(source)))
    },
    Row {
        refuses: &[("insert", "post them one by one")],
        ..row("text", "a/b", |source| Rc::new(TextCodec::down(source)))
    },
    row("cache", "a/b", |source| Rc::new(Cache::in_memory(source))),
    row("merge", "a/b", |source| Rc::new(Merge::new(source))),
    row("ensure", "a/b", |source| Rc::new(Ensure::new(source))),
    row("write back", "a/b", |source| Rc::new(WriteBack::new(source, WriteBackOptions::default()))),
    row("timeout", "a/b", |source| Rc::new(Timeout::new(source, Duration::from_secs(60)))),
    row("retry", "a/b", |source| Rc::new(Retry::new(source, RetryOptions::default()))),
    row("limit", "a/b", |source| Rc::new(Limit::new(source, LimitOptions::default()))),
    row("circuit breaker", "a/b", |source| {
        Rc::new(CircuitBreaker::new(source, CircuitBreakerOptions::default()))
    }),
    row("polling", "a/b", |source| Rc::new(Polling::new(source, Duration::from_secs(60)))),
    Row {
        refuses: &[
            ("put if", "does not put"),
            ("insert", "does not post"),
            ("change all", "does not delete"),
            ("run", "a statement may write"),
            ("migrate", "does not define"),
            ("define", "does not define"),
            ("key value store", "does not define"),
            ("vacuum", "does not define"),
            ("begin", "nothing could be committed"),
        ],
        ..row("read only", "a/b", |source| Rc::new(ReadOnly::new(source)))
    },
];

/// These are about whole collections and ask for them by their own names.
const WITHOUT_EXTENSION: [&str; 6] =
    ["define", "key value store", "snapshot", "back up", "vacuum", "begin"];

#[test]
fn every_verb_has_its_place() {
    run(async {
        for row in &ROWS {
            for verb in VERBS {
                let probe = Rc::new(Probe::default());
                let store = (row.make)(probe.clone());
                let result = call(&*store, verb).await;
                let arrived = probe.0.take();
                let what = format!("{verb} through {}", row.name);
                if let Some((_, reason)) = row.refuses.iter().find(|(refused, _)| *refused == verb)
                {
                    let error = result.expect_err(&what);
                    assert_eq!(error.kind, Kind::NotAllowed, "{what}: {error}");
                    assert!(error.message.contains(reason), "{what}: {error}");
                    assert_eq!(arrived, [""; 0], "{what}");
                    continue;
                }
                result.unwrap_or_else(|error| panic!("{what}: {error}"));
                // Looks for itself instead of asking.
                let asks = !(row.name == "polling" && verb == "watch");
                let expected = asks.then(|| format!("{verb} {}", row.below));
                assert_eq!(arrived, Vec::from_iter(expected), "{what}");
            }
        }
    });
}

#[test]
fn an_extension_is_for_content() {
    run(async {
        for verb in VERBS {
            let probe = Rc::new(Probe::default());
            let store = Extension::new(probe.clone(), "json");
            call(&store, verb).await.unwrap();
            let arrived = probe.0.take();
            let plain = WITHOUT_EXTENSION.contains(&verb) || verb == "migrate";
            let path = if plain { "a/b" } else { "a/b.json" };
            assert!(arrived.contains(&format!("{verb} {path}")), "{verb}: {arrived:?}");
        }
    });
}

#[test]
fn compressed_content_is_written_under_a_condition() {
    run(async {
        let probe = Rc::new(Probe::default());
        call(&Compressed::gzip(probe.clone()), "put if").await.unwrap();
        assert_eq!(probe.0.take(), ["put if a/b"]);
    });
}

/// A tag of the cache means nothing to its source.
#[test]
fn caches_refuse_tags() {
    run(async {
        let only_if = Some(Condition::Tag(runnel_store::EntityTag::strong("t")));
        let context = Context { only_if, ..Context::default() };
        let probe = Rc::new(Probe::default());
        let stores: [Rc<dyn Store>; 2] = [
            Rc::new(Cache::in_memory(probe.clone())),
            Rc::new(WriteBack::new(probe.clone(), WriteBackOptions::default())),
        ];
        for store in stores {
            let put = store.put(&Reference::from_path("a"), Content::text("x"), &context).await;
            let error: Error = put.unwrap_err();
            assert_eq!((error.kind, error.verb), (Kind::NotAllowed, Some(Verb::Put)));
            assert!(error.message.contains("entity tags"), "{error}");
        }
        assert_eq!(probe.0.take(), [""; 0]);
    });
}

#[test]
fn what_is_inserted_and_run_is_told() {
    run(async {
        let told = Rc::new(RefCell::new(Vec::new()));
        let heard = told.clone();
        let tell = move |verb: Verb, on: &Reference| {
            heard.borrow_mut().push(format!("{} {}", verb.name(), on.path()));
        };
        let log = Log::new(Rc::new(Probe::default()), tell);
        for verb in VERBS {
            call(&log, verb).await.unwrap();
        }
        let defined = ["define a/b"; 4];
        let expected = [&["put a/b", "post a/b", "delete a/b", "query a/b"][..], &defined].concat();
        assert_eq!(told.take(), expected);
    });
}

fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, test);
}
