//! A store that remembers which methods were called.

use crate::{
    Answer, Attributes, BackupOrder, BulkChange, Changes, Condition, Conditions, Confinement,
    Content, Context, ContinuousBackup, Entry, Error, FetchAnswer, FetchRequest, GroupMember,
    GroupOptions, Isolation, KeyPage, KeyRange, Kind, Memory, Migration, Outcome, Query, QueueEnd,
    Queues, Records, Reference, Result, Shape, Store, Tables, Transaction, Value, Verb, Verbs,
};
use futures_util::stream;
use std::any::Any;
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

/// What the source says when it is asked to confine itself.
#[derive(Clone, Copy)]
pub(super) enum Answers {
    Confined,
    Missing,
    Impossible,
}

/// The methods that are called through a wrapper.
pub(super) const METHODS: [&str; 33] = [
    "get",
    "put",
    "put if absent",
    "post",
    "merge",
    "readmit",
    "delete",
    "list",
    "keys",
    "appends",
    "keeps metadata",
    "annotate",
    "presign",
    "fetch",
    "relocate",
    "query",
    "watch",
    "verbs",
    "conditions",
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
    "begin",
    "take",
    "join",
    "disband",
];

/// Remembers calls. The store that confines it writes in the same book.
pub(super) struct Spy {
    answers: Answers,
    is_confined: bool,
    book: Rc<Book>,
}

#[derive(Default)]
struct Book {
    open: RefCell<Vec<String>>,
    confined: RefCell<Vec<String>>,
    confinements: RefCell<Vec<bool>>,
}

impl Spy {
    pub(super) fn new(answers: Answers) -> Rc<Self> {
        Rc::new(Spy { answers, is_confined: false, book: Rc::default() })
    }

    pub(super) fn forget(&self) {
        self.book.open.take();
        self.book.confined.take();
        self.book.confinements.take();
    }

    /// All calls, open and confined.
    pub(super) fn seen(&self) -> Vec<String> {
        [self.book.open.borrow().clone(), self.book.confined.borrow().clone()].concat()
    }

    pub(super) fn has_seen(&self, method: &str) -> bool {
        self.seen().iter().any(|seen| seen == method)
    }

    pub(super) fn seen_open(&self) -> Vec<String> {
        self.book.open.borrow().clone()
    }

    pub(super) fn has_seen_confined(&self, method: &str) -> bool {
        self.book.confined.borrow().iter().any(|seen| seen == method)
    }

    /// Each time that it was asked to confine itself: whether links may be followed.
    pub(super) fn confinements(&self) -> Vec<bool> {
        self.book.confinements.borrow().clone()
    }

    fn called(&self, method: &str) {
        let calls = if self.is_confined { &self.book.confined } else { &self.book.open };
        calls.borrow_mut().push(method.to_string());
    }
}

#[deny(clippy::missing_trait_methods)]
impl Store for Spy {
    fn get(&self, _: &Reference, _: &Context) -> Answer<Option<Content>> {
        self.called("get");
        Answer::ok(Some(Content::text("[]")))
    }

    fn put(&self, _: &Reference, _: Content, context: &Context) -> Answer<Outcome> {
        self.called(if context.only_if.is_some() { "put if absent" } else { "put" });
        Answer::ok(Outcome::created())
    }

    fn post(&self, _: &Reference, _: Content, _: &Context) -> Answer<Outcome> {
        self.called("post");
        Answer::ok(Outcome::created())
    }

    fn merge(&self, _: &Reference, _: Content, _: &Context) -> Answer<Outcome> {
        self.called("merge");
        Answer::ok(Outcome::changed())
    }

    fn readmit(&self, _: Verb, _: &Reference, _: Content, _: u32, _: &Context) -> Answer<()> {
        self.called("readmit");
        Answer::ok(())
    }

    fn delete(&self, _: &Reference, _: &Context) -> Answer<Outcome> {
        self.called("delete");
        Answer::ok(Outcome::deleted(true))
    }

    fn list(&self, _: &Reference, _: &Context) -> Answer<Option<Vec<Entry>>> {
        self.called("list");
        Answer::ok(Some(Vec::new()))
    }

    fn keys(&self, _: &Reference, _: &KeyRange, _: &Context) -> Answer<Option<KeyPage>> {
        self.called("keys");
        Answer::ok(Some(KeyPage::default()))
    }

    fn appends(&self, _: &Reference) -> bool {
        self.called("appends");
        false
    }

    fn keeps_metadata(&self, _: &Reference) -> bool {
        self.called("keeps metadata");
        true
    }

    fn annotate(&self, _: &Reference, _: Attributes, _: &Context) -> Answer<Outcome> {
        self.called("annotate");
        Answer::ok(Outcome::changed())
    }

    fn presign(&self, _: &Reference, _: Verb, _: Duration, _: &Context) -> Answer<String> {
        self.called("presign");
        Answer::ok(String::new())
    }

    fn fetch(&self, _: &Reference, _: FetchRequest, _: &Context) -> Answer<FetchAnswer> {
        self.called("fetch");
        let (headers, content, address) = Default::default();
        Answer::ok(FetchAnswer { status: 200, headers, content, address })
    }

    fn relocate(&self, _: &Reference, _: &Reference, _: &Context) -> Answer<bool> {
        self.called("relocate");
        Answer::ok(true)
    }

    fn query(&self, _: &Reference, _: &Query, _: &Context) -> Answer<Content> {
        self.called("query");
        Answer::ok(Content::text("[]"))
    }

    fn watch(&self, _: &Reference, _: &Context) -> Answer<Changes> {
        self.called("watch");
        Answer::ok(Box::pin(stream::pending()))
    }

    fn tables(&self) -> Option<&dyn Tables> {
        Some(self)
    }

    fn queues(&self) -> Option<&dyn Queues> {
        Some(self)
    }

    fn verbs(&self, _: &Reference) -> Verbs {
        self.called("verbs");
        Verbs::ALL
    }

    fn conditions(&self, _: &Reference) -> Conditions {
        self.called("conditions");
        Conditions::Tags
    }

    fn confined(&self, _: &Reference, links: bool) -> Confinement {
        self.book.confinements.borrow_mut().push(links);
        match self.answers {
            Answers::Confined => Confinement::By(Rc::new(Spy {
                answers: self.answers,
                is_confined: true,
                book: self.book.clone(),
            })),
            Answers::Missing => Confinement::Missing,
            Answers::Impossible => Confinement::Impossible,
        }
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }

    fn describe(&self) -> String {
        if self.is_confined { "confined spy" } else { "spy" }.to_string()
    }

    fn sources(&self) -> Vec<(String, Rc<dyn Store>)> {
        Vec::new()
    }
}

impl Tables for Spy {
    fn insert(&self, _: &Reference, _: Box<dyn Records>, _: &Context) -> Answer<u64> {
        self.called("insert");
        Answer::ok(0)
    }

    fn change_all(&self, _: &Reference, _: &Query, _: &BulkChange, _: &Context) -> Answer<Value> {
        self.called("change all");
        Answer::ok(Value::Int(0))
    }

    fn explain(&self, _: &Reference, _: &Query, _: bool, _: &Context) -> Answer<Value> {
        self.called("explain");
        Answer::ok(Value::Nil)
    }

    fn run(&self, _: &Reference, _: &str, _: Vec<Value>, _: &Context) -> Answer<Content> {
        self.called("run");
        Answer::ok(Content::text("[]"))
    }

    fn migrate(&self, _: &Reference, _: Migration, _: &Context) -> Answer<Vec<String>> {
        self.called("migrate");
        Answer::ok(Vec::new())
    }

    fn define(&self, _: &Reference, _: &Shape) -> Answer<Rc<dyn Store>> {
        self.called("define");
        let (answers, is_confined, book) = (self.answers, self.is_confined, self.book.clone());
        Answer::ok(Rc::new(Spy { answers, is_confined, book }))
    }

    fn key_value_store(&self, _: &Reference) -> Answer<Rc<dyn Store>> {
        self.called("key value store");
        let (answers, is_confined, book) = (self.answers, self.is_confined, self.book.clone());
        Answer::ok(Rc::new(Spy { answers, is_confined, book }))
    }

    fn snapshot(&self, _: &Reference, _: &Context) -> Answer<Content> {
        self.called("snapshot");
        Answer::ok(Content::text("[]"))
    }

    fn back_up(&self, _: &Reference, _: BackupOrder) -> Answer<Rc<dyn ContinuousBackup>> {
        self.called("back up");
        Error::new(Kind::Unsupported, "a spy has nothing to back up").into()
    }

    fn vacuum(&self, _: &Reference, _: &Context) -> Answer<()> {
        self.called("vacuum");
        Answer::ok(())
    }

    fn begin(
        &self,
        _: &Reference,
        _: Option<Isolation>,
        _: &Context,
    ) -> Answer<Rc<dyn Transaction>> {
        self.called("begin");
        Answer::ok(Rc::new(Begun))
    }
}

impl Queues for Spy {
    fn take(
        &self,
        _: &Reference,
        _: QueueEnd,
        _: Duration,
        _: &Context,
    ) -> Answer<Option<Content>> {
        self.called("take");
        Answer::ok(None)
    }

    fn join(&self, _: &Reference, _: &GroupOptions, _: &Context) -> Answer<Rc<dyn GroupMember>> {
        self.called("join");
        Error::new(Kind::Unsupported, "a spy has no messages").into()
    }

    fn disband(&self, _: &Reference, _: &str, _: &Context) -> Answer<bool> {
        self.called("disband");
        Answer::ok(true)
    }
}

/// A transaction in which nothing happens.
struct Begun;

impl Transaction for Begun {
    fn commit(&self) -> Answer<()> {
        Answer::ok(())
    }

    fn roll_back(&self) -> Answer<()> {
        Answer::ok(())
    }

    fn outer(&self) -> Option<&Rc<dyn Transaction>> {
        None
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// A backup into a store of its own.
fn order() -> BackupOrder {
    let to = Reference::from_path("copies/");
    BackupOrder { store: Rc::new(Memory::site()), to, options: Value::Nil }
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

/// Calls a method at a path.
pub(super) async fn call(store: &dyn Store, method: &str, path: &str) -> Result<()> {
    let (on, context) = (Reference::from_path(path.to_string()), Context::default());
    let content = Content::text("[]");
    match method {
        "get" => store.get(&on, &context).await.map(drop),
        "put" => store.put(&on, content, &context).await.map(drop),
        "put if absent" => {
            let context = Context { only_if: Some(Condition::Absent), ..context };
            store.put(&on, content, &context).await.map(drop)
        }
        "post" => store.post(&on, content, &context).await.map(drop),
        "merge" => store.merge(&on, content, &context).await.map(drop),
        "readmit" => store.readmit(Verb::Post, &on, content, 0, &context).await,
        "delete" => store.delete(&on, &context).await.map(drop),
        "list" => store.list(&on, &context).await.map(drop),
        "keys" => store.keys(&on, &KeyRange::default(), &context).await.map(drop),
        "appends" => {
            store.appends(&on);
            Ok(())
        }
        "keeps metadata" => {
            store.keeps_metadata(&on);
            Ok(())
        }
        "annotate" => store.annotate(&on, Attributes::default(), &context).await.map(drop),
        "presign" => {
            let minute = Duration::from_secs(60);
            store.presign(&on, Verb::Get, minute, &context).await.map(drop)
        }
        "fetch" => store.fetch(&on, FetchRequest::default(), &context).await.map(drop),
        "relocate" => {
            let to = Reference::from_path(format!("{path}-moved"));
            store.relocate(&on, &to, &context).await.map(drop)
        }
        "query" => store.query(&on, &Query::default(), &context).await.map(drop),
        "watch" => store.watch(&on, &context).await.map(drop),
        "verbs" => {
            store.verbs(&on);
            Ok(())
        }
        "conditions" => {
            store.conditions(&on);
            Ok(())
        }
        "take" | "join" | "disband" => call_queues(store, method, &on, &context).await,
        tables => call_tables(store, tables, &on, &context).await,
    }
}

async fn call_queues(
    store: &dyn Store,
    method: &str,
    on: &Reference,
    context: &Context,
) -> Result<()> {
    let group = GroupOptions { name: "readers".into(), lease: Duration::from_secs(30) };
    let called = match method {
        "take" => {
            let take =
                |queues: &dyn Queues| queues.take(on, QueueEnd::First, Duration::ZERO, context);
            store.with_queues(Verb::Delete, on, take).await.map(drop)
        }
        "join" => store
            .with_queues(Verb::Watch, on, |queues| queues.join(on, &group, context))
            .await
            .map(drop),
        _ => {
            let disband = |queues: &dyn Queues| queues.disband(on, &group.name, context);
            store.with_queues(Verb::Delete, on, disband).await.map(drop)
        }
    };
    match called {
        Err(error) if error.kind != Kind::Unsupported => Err(error),
        _ => Ok(()),
    }
}

async fn call_tables(
    store: &dyn Store,
    method: &str,
    on: &Reference,
    context: &Context,
) -> Result<()> {
    let tables = store.tables_for(Verb::Define, on)?;
    match method {
        "insert" => tables.insert(on, Box::new(NoRecords), context).await.map(drop),
        "run" => tables.run(on, "SELECT 1", Vec::new(), context).await.map(drop),
        "migrate" => tables.migrate(on, Migration::default(), context).await.map(drop),
        "define" => tables.define(on, &Shape::new("Task", Vec::new())).await.map(drop),
        "key value store" => tables.key_value_store(on).await.map(drop),
        "snapshot" => tables.snapshot(on, context).await.map(drop),
        "back up" => match tables.back_up(on, order()).await {
            Err(error) if error.kind != Kind::Unsupported => Err(error),
            _ => Ok(()),
        },
        "change all" => {
            let (query, change) = (Query::default(), BulkChange::Delete);
            tables.change_all(on, &query, &change, context).await.map(drop)
        }
        "explain" => tables.explain(on, &Query::default(), false, context).await.map(drop),
        "vacuum" => tables.vacuum(on, context).await,
        _ => tables.begin(on, None, context).await.map(drop),
    }
}
