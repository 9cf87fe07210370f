//! Tables whose rows are documents, compared with those of a database.

use super::conformance::{CELLS, Cells};
use crate::common::conditions::*;
use crate::common::*;
use runnel_sql::{DOCUMENT_ROWS, DOCUMENT_SIZE, DocumentTable, document_table};
use runnel_store::conformance::{Abilities, check};
use runnel_store::{
    Answer, Attributes, Changes, Comparison, Conditions, Confinement, Content, Context, Disk,
    Entry, Error, Field, FieldType, Filter, Form, Index, Kind, Memory, Outcome, Query, Reference,
    Result, Shape, Sort, Store, Value, Verb, Verbs,
};
use std::cell::RefCell;
use std::rc::Rc;

fn in_memory() -> Rc<dyn Store> {
    Rc::new(Memory::dictionary())
}

fn table(source: &Rc<dyn Store>) -> DocumentTable {
    document_table(source, &reference("data/tasks"), &task_shape()).unwrap()
}

/// Numbers that look random and are the same in every run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// A class with a field of each type.
fn thing_shape() -> Shape {
    use FieldType::*;
    let fields = [
        ("id", Int),
        ("text", Text),
        ("real", Float),
        ("flag", Bool),
        ("sum", Decimal),
        ("at", Date),
        ("raw", Bytes),
        ("tree", Json),
        ("any", Any),
    ];
    let fields = fields.into_iter().map(|(name, kind)| Field::new(name, kind));
    let mut shape = Shape::new("Thing", fields.collect());
    shape.indexes.push(Index { fields: vec!["at".into(), "flag".into()], unique: true });
    shape
}

/// A value for a field: mostly one that fits.
fn some_value(chance: &mut Chance, field: &str) -> Value {
    let texts = ["", "a", "ab", "é", "B", "a\0b", "10"];
    match (field, chance.below(12)) {
        (_, 0) => Value::Nil,
        (_, 1) => "no".into(),
        (_, 2) => Value::Int(1),
        ("text", n) => texts[n as usize % texts.len()].into(),
        ("real", n) => Value::Float(n as f64 / 4.0 - 1.0),
        ("flag", n) => Value::Bool(n % 2 == 0),
        ("sum", n) => ["2", "10.0", "10", "-0.5", "9.99"][n as usize % 5].into(),
        ("at", n) => {
            ["2026-01-02T03:04:05Z", "2026-01-02T03:04:05.5+02:00", "1970-01-01T00:00:00Z"]
                [n as usize % 3]
                .into()
        }
        ("raw", n) => Value::Bytes(vec![n as u8, 0, 255].into()),
        ("tree", n) => value(["[1,{\"a\":null}]", "{}", "\"x\"", "3.5"][n as usize % 4]),
        (_, n) => [Value::Int(n as i64), Value::Float(0.5), "x".into()][n as usize % 3].clone(),
    }
}

fn some_record(chance: &mut Chance) -> Value {
    let names = ["text", "real", "flag", "sum", "at", "raw", "tree", "any"];
    let mut record = Value::Record(Vec::new());
    for _ in 0..=chance.below(4) {
        let name = names[chance.below(8) as usize];
        record.set(name, some_value(chance, name));
    }
    record
}

fn some_filter(chance: &mut Chance, depth: u64) -> Filter {
    let names = ["id", "text", "real", "flag", "sum", "at", "any"];
    let name = names[chance.below(7) as usize].to_string();
    let kinds = [
        Comparison::Equal,
        Comparison::NotEqual,
        Comparison::Less,
        Comparison::LessOrEqual,
        Comparison::Greater,
        Comparison::GreaterOrEqual,
    ];
    match chance.below(if depth > 2 { 4 } else { 7 }) {
        0 => Filter::Prefix("text".into(), "a".into()),
        1 => Filter::Contains("text".into(), "b".into()),
        2 | 3 => {
            let wanted = some_value(chance, &name);
            Filter::Compare(name, kinds[chance.below(6) as usize], wanted)
        }
        4 => Filter::Not(Box::new(some_filter(chance, depth + 1))),
        5 => Filter::All(vec![some_filter(chance, depth + 1), some_filter(chance, depth + 1)]),
        _ => Filter::Any(vec![some_filter(chance, depth + 1), some_filter(chance, depth + 1)]),
    }
}

fn some_query(chance: &mut Chance) -> Query {
    let names = ["id", "text", "real", "flag", "sum", "at"];
    let filter = (chance.below(3) > 0).then(|| some_filter(chance, 0));
    let sort = (0..chance.below(3))
        .map(|_| Sort::by_field(names[chance.below(6) as usize], chance.below(2) == 0));
    let sort = sort.collect();
    Query {
        filter,
        sort,
        limit: (chance.below(2) == 0).then(|| chance.below(5)),
        offset: if chance.below(3) == 0 { chance.below(4) } else { 0 },
        fields: if chance.below(4) == 0 { vec!["text".into(), "id".into()] } else { Vec::new() },
        count: chance.below(4) == 0,
        ..Query::default()
    }
}

async fn said(content: Result<Content>) -> std::result::Result<Value, (Kind, String)> {
    match content {
        Ok(content) => Ok(content.into_value(1 << 20).await.unwrap()),
        Err(error) => Err((error.kind, error.message)),
    }
}

/// What one step answers.
async fn step(table: &dyn Store, seed: u64) -> std::result::Result<Value, (Kind, String)> {
    let mut chance = Chance(seed);
    chance.below(2);
    let at = reference(&(chance.below(12) + 1).to_string());
    let outcome = |done: Result<Outcome>| match done {
        Ok(done) => Ok(Value::Bool(done.is_created())),
        Err(error) => Err((error.kind, error.message)),
    };
    match chance.below(8) {
        0 | 1 => {
            let posted =
                table.post(&reference(""), Content::value(some_record(&mut chance)), &now());
            said(posted.await.map(|posted| posted.content.unwrap())).await
        }
        2 => outcome(table.put(&at, Content::value(some_record(&mut chance)), &now()).await),
        3 => outcome(table.merge(&at, Content::value(some_record(&mut chance)), &now()).await),
        4 => match table.delete(&at, &now()).await {
            Ok(done) => Ok(Value::Bool(done.is_something())),
            Err(error) => Err((error.kind, error.message)),
        },
        5 => match table.get(&at, &now()).await {
            Ok(None) => Ok(Value::Nil),
            Ok(Some(content)) => said(Ok(content)).await,
            Err(error) => Err((error.kind, error.message)),
        },
        _ => said(table.query(&reference(""), &some_query(&mut chance), &now()).await).await,
    }
}

#[test]
fn it_is_the_table_of_a_database() {
    run(async {
        let (place, folder) = (Place::new(), tempfile::tempdir().unwrap());
        let database = place.open();
        let sources: [Rc<dyn Store>; 2] = [in_memory(), Rc::new(Disk::new(folder.path()).unwrap())];
        let (mut right, mut refused) = (0, 0);
        for (number, source) in (0..).zip(&sources) {
            let at = reference(&format!("things{number}"));
            let rows = database.define_table(&at, &thing_shape()).await.unwrap();
            let documents = document_table(source, &at, &thing_shape()).unwrap();
            for seed in 0..1_500 {
                let (expected, actual) = (step(&rows, seed).await, step(&documents, seed).await);
                assert_eq!(actual, expected, "step {seed}");
                if expected.is_ok() { right += 1 } else { refused += 1 }
            }
            assert_eq!(get(&documents, "").await, get(&rows, "").await);
            assert_eq!(
                documents.list(&reference(""), &now()).await.unwrap(),
                rows.list(&reference(""), &now()).await.unwrap()
            );
        }
        assert!(right > 1_500 && refused > 300, "{right} {refused}");
    });
}

#[test]
fn conditions_and_concurrent_writers() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let sources: [Rc<dyn Store>; 2] = [in_memory(), Rc::new(Disk::new(folder.path()).unwrap())];
        for source in &sources {
            merges_keep_conditions(&table(source)).await;
        }
    });
}

#[test]
fn two_add_to_the_same_table_and_nothing_is_lost() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let sources: [Rc<dyn Store>; 2] = [in_memory(), Rc::new(Disk::new(folder.path()).unwrap())];
        for source in &sources {
            let (one, other) = (table(source), table(source));
            let insert = |table: &DocumentTable| {
                table.post(&reference(""), content(r#"{"title":"x"}"#), &now())
            };
            // The second worker does not see the numbers that the first one gives out.
            let inserts = (0..20).flat_map(|_| [insert(&one), insert(&other)]);
            let done = futures_util::future::join_all(inserts.collect::<Vec<_>>()).await;
            let mut keys: Vec<i64> = done
                .into_iter()
                .map(|done| done.unwrap().reference.unwrap().path().parse().unwrap())
                .collect();
            keys.sort_unstable();
            assert_eq!(keys, (1..=40).collect::<Vec<_>>());
            two_add_and_nothing_is_lost(&one, &other).await;
        }
    });
}

/// People with unique mail addresses.
fn person_shape() -> Shape {
    let fields = [("id", FieldType::Int), ("mail", FieldType::Text)];
    let fields = fields.into_iter().map(|(name, kind)| Field::new(name, kind));
    let mut shape = Shape::new("Person", fields.collect());
    shape.indexes.push(Index { fields: vec!["mail".into()], unique: true });
    shape
}

fn people(source: &Rc<dyn Store>) -> DocumentTable {
    document_table(source, &reference("data/people"), &person_shape()).unwrap()
}

/// The paths of all entries.
async fn entries(source: &Rc<dyn Store>) -> Vec<String> {
    let place = reference("data/people/unique/mail");
    let found = source.list(&place, &now()).await.unwrap().unwrap_or_default();
    let names = found.into_iter().map(|entry| entry.name).filter(|name| name != "all");
    names.map(|name| format!("data/people/unique/mail/{name}")).collect()
}

#[test]
fn a_unique_value_has_one_row() {
    let folder = tempfile::tempdir().unwrap();
    for source in [in_memory(), Rc::new(Disk::new(folder.path()).unwrap()) as Rc<dyn Store>] {
        run(async {
            let (one, other) = (people(&source), people(&source));
            let insert = async |table: &DocumentTable, mail: &str| {
                let row = content(&format!(r#"{{"mail":"{mail}"}}"#));
                table.post(&reference(""), row, &now()).await.map(drop).map_err(|error| error.kind)
            };
            // Many at once, through two tables: each value gets one row.
            let all = (0..40).map(|n| insert([&one, &other][n % 2], ["a", "b"][n / 2 % 2]));
            let done = futures_util::future::join_all(all).await;
            assert_eq!(done.iter().filter(|one| one.is_ok()).count(), 2, "{done:?}");
            assert_eq!(done.iter().filter(|one| **one == Err(Kind::Conflict)).count(), 38);
            let first =
                reference(&one.list(&reference(""), &now()).await.unwrap().unwrap()[0].name);
            let row = one.get(&first, &now()).await.unwrap().unwrap();
            let is_a = text(row, Form::Json).await.contains("\"a\"");
            let (own, others) = if is_a { ("a", "b") } else { ("b", "a") };
            let merge = async |table: &DocumentTable, mail: &str| {
                let row = content(&format!(r#"{{"mail":"{mail}"}}"#));
                table.merge(&first, row, &now()).await.map(drop).map_err(|error| error.kind)
            };
            // A row keeps its own value, takes none of another, and a free one.
            assert_eq!(merge(&other, own).await, Ok(()));
            assert_eq!(merge(&one, others).await, Err(Kind::Conflict));
            assert_eq!(merge(&one, "c").await, Ok(()));
            // What was given up is free at once, and so is the value of a deleted row.
            assert_eq!(insert(&one, own).await, Ok(()));
            assert_eq!(insert(&one, "c").await, Err(Kind::Conflict));
            one.delete(&first, &now()).await.unwrap();
            assert_eq!(insert(&other, "c").await, Ok(()));
            // Nil is no value.
            for table in [&one, &other, &one] {
                let row = content(r#"{"mail":null}"#);
                table.post(&reference(""), row, &now()).await.unwrap();
            }
            let rows = one.list(&reference(""), &now()).await.unwrap().unwrap().len();
            assert_eq!((rows, entries(&source).await.len()), (6, 3));
        });
    }
}

#[test]
fn rows_that_are_older_than_the_rule_keep_it() {
    run(async {
        let source = in_memory();
        for (key, mail) in [("1", "a"), ("2", "b")] {
            let at = reference(&format!("data/people/{key}.json"));
            let document = content(&format!(r#"{{"mail":"{mail}"}}"#));
            source.put(&at, document, &now()).await.unwrap();
        }
        let table = people(&source);
        let row = content(r#"{"mail":"b"}"#);
        let refusal = refused(table.post(&reference(""), row, &now()).await.map(drop));
        assert_eq!(refusal, (Kind::Conflict, "another row has the same mail".into()));
        let twice = content(r#"{"mail":"a"}"#);
        source.put(&reference("data/people/3.json"), twice, &now()).await.unwrap();
        // A worker that has not looked yet trusts the mark.
        let row = content(r#"{"mail":"c"}"#);
        people(&source).post(&reference(""), row, &now()).await.unwrap();
    });
}

#[test]
fn entries_of_a_killed_writer_are_taken_over() {
    run(async {
        let source = in_memory();
        let table = people(&source);
        let insert = async |mail: &str| {
            let row = content(&format!(r#"{{"mail":"{mail}"}}"#));
            table.post(&reference(""), row, &now()).await.map(drop)
        };
        insert("a").await.unwrap();
        let at = reference(&entries(&source).await[0]);
        // Its row was never written: first the entry may be that of a writer that is at work.
        source.delete(&reference("data/people/1.json"), &now()).await.unwrap();
        assert_eq!(refused(insert("a").await).0, Kind::Conflict);
        let entry = source.get(&at, &now()).await.unwrap().unwrap();
        let mut entry = value(&text(entry, Form::Json).await);
        entry.set("since", Value::Int(1_000));
        let old = Content::bytes(runnel_store::json::text(&entry));
        source.put(&at, old, &now()).await.unwrap();
        insert("a").await.unwrap();
        assert_eq!(refused(insert("a").await).0, Kind::Conflict);
    });
}

#[test]
fn rows_are_content_as_in_every_store() {
    let cells = Shape::new(
        "Cell",
        vec![Field::new("path", FieldType::Text), Field::new("content", FieldType::Any)],
    );
    // Any content is text here: documents are JSON, which has no bytes.
    let abilities = Abilities { binary: false, large: DOCUMENT_SIZE / 2, random_lists: 5, ..CELLS };
    run(async {
        let shape = Shape { keys: vec!["path".into()], ..cells };
        let source = in_memory();
        let table = document_table(&source, &reference("cells"), &shape).unwrap();
        check(Rc::new(Cells(table.clone())), abilities).await;
        assert_eq!(get(&table, "").await.unwrap(), "[]");
    });
}

/// Counts what it is asked.
struct Counted {
    inner: Memory,
    asked: RefCell<Vec<Verb>>,
    /// Puts that fail from now on, for a store that is down.
    down_after: std::cell::Cell<usize>,
}

impl Counted {
    fn new() -> Rc<Self> {
        let (asked, down_after) = (RefCell::default(), std::cell::Cell::new(usize::MAX));
        Rc::new(Counted { inner: Memory::dictionary(), asked, down_after })
    }

    fn take(&self) -> Vec<Verb> {
        self.asked.take()
    }
}

impl Store for Counted {
    fn get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        self.asked.borrow_mut().push(Verb::Get);
        self.inner.get(reference, context)
    }

    fn put(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Outcome> {
        self.asked.borrow_mut().push(Verb::Put);
        match self.down_after.get() {
            0 => return Error::new(Kind::Unavailable, "down").into(),
            left => self.down_after.set(left - 1),
        }
        assert!(context.only_if.is_some(), "every write has a condition");
        self.inner.put(reference, content, context)
    }

    fn delete(&self, reference: &Reference, context: &Context) -> Answer<Outcome> {
        self.asked.borrow_mut().push(Verb::Delete);
        self.inner.delete(reference, context)
    }

    fn list(&self, reference: &Reference, context: &Context) -> Answer<Option<Vec<Entry>>> {
        self.asked.borrow_mut().push(Verb::List);
        self.inner.list(reference, context)
    }

    fn annotate(
        &self,
        reference: &Reference,
        attributes: Attributes,
        context: &Context,
    ) -> Answer<Outcome> {
        self.inner.annotate(reference, attributes, context)
    }

    fn watch(&self, reference: &Reference, context: &Context) -> Answer<Changes> {
        self.inner.watch(reference, context)
    }

    fn verbs(&self, _: &Reference) -> Verbs {
        [Verb::Get, Verb::Put, Verb::Delete, Verb::List].into_iter().fold(Verbs::NONE, Verbs::with)
    }

    fn conditions(&self, _: &Reference) -> Conditions {
        Conditions::Tags
    }

    fn confined(&self, _: &Reference, _: bool) -> Confinement {
        Confinement::Inherent
    }

    fn describe(&self) -> String {
        "counted".into()
    }
}

#[test]
fn what_messages_cost() {
    use Verb::{Delete, Get, List, Put};
    run(async {
        let counted = Counted::new();
        let source: Rc<dyn Store> = counted.clone();
        let table = table(&source);
        let insert = || table.post(&reference(""), content(r#"{"title":"x"}"#), &now());
        insert().await.unwrap();
        assert_eq!(counted.take(), [List, Put]);
        insert().await.unwrap();
        assert_eq!(counted.take(), [Put]);
        get(&table, "1").await.unwrap();
        assert_eq!(counted.take(), [Get]);
        table.merge(&reference("1"), content(r#"{"done":true}"#), &now()).await.unwrap();
        assert_eq!(counted.take(), [Get, Put]);
        let query = |query: Query| table.query(&reference(""), &query, &now());
        query(Query { count: true, ..Query::default() }).await.unwrap();
        assert_eq!(counted.take(), [List]);
        let page = query(Query { limit: Some(1), offset: 1, ..Query::default() }).await.unwrap();
        assert_eq!(
            text(page, runnel_store::Form::Json).await,
            r#"[{"id":2,"done":null,"title":"x"}]"#
        );
        assert_eq!(counted.take(), [List, Get]);
        get(&table, "?done=1").await.unwrap();
        assert_eq!(counted.take(), [List, Get, Get]);
        table.delete(&reference("1"), &now()).await.unwrap();
        assert_eq!(counted.take(), [Delete]);
    });
}

#[test]
fn an_insertion_that_fails_leaves_nothing() {
    run(async {
        let counted = Counted::new();
        let source: Rc<dyn Store> = counted.clone();
        let table = table(&source);
        counted.down_after.set(20);
        let many = Value::List(vec![value(r#"{"title":"x"}"#); 40]);
        let inserted = table.post(&reference(""), Content::value(many), &now()).await;
        assert_eq!(refused(inserted).0, Kind::Unavailable);
        counted.down_after.set(usize::MAX);
        assert_eq!(get(&table, "").await.unwrap(), "[]");
    });
}

#[test]
fn limits_are_errors_that_name_the_way_out() {
    run(async {
        let source = in_memory();
        let table = table(&source);
        let many = Value::List(vec![value(r#"{"title":"x"}"#); DOCUMENT_ROWS]);
        table.post(&reference(""), Content::value(many), &now()).await.unwrap();
        let sorted = || get(&table, "?sort=-id&limit=1");
        assert_eq!(sorted().await.unwrap(), r#"[{"id":10000,"done":null,"title":"x"}]"#);
        table.post(&reference(""), content(r#"{"title":"y"}"#), &now()).await.unwrap();
        let query = reference("?title=y");
        let (kind, message) = refused(table.get(&query, &now()).await);
        assert_eq!(kind, Kind::TooLarge);
        assert!(
            message.contains("more than 10000 rows") && message.contains("PostgreSQL"),
            "{message}"
        );
        // A page needs the rows of the page alone.
        assert_eq!(
            get(&table, "?offset=10000").await.unwrap(),
            r#"[{"id":10001,"done":null,"title":"y"}]"#
        );
        let long = Value::record([("title", Value::from("x".repeat(DOCUMENT_SIZE)))]);
        let posted = table.post(&reference(""), Content::value(long), &now()).await;
        assert_eq!(refused(posted).0, Kind::TooLarge);
    });
}

#[test]
fn keys_lead_nowhere_else() {
    let shape = Shape {
        keys: vec!["hall".into(), "number".into()],
        ..Shape::new(
            "Seat",
            vec![Field::new("hall", FieldType::Text), Field::new("number", FieldType::Int)],
        )
    };
    run(async {
        let source = in_memory();
        let table = document_table(&source, &reference("seats"), &shape).unwrap();
        for hall in ["..", ".", ""] {
            let seat = Value::record([("hall", Value::from(hall)), ("number", 1.into())]);
            let posted = table.post(&reference(""), Content::value(seat), &now()).await;
            assert_eq!(refused(posted).0, Kind::Invalid, "{hall}");
        }
        for path in ["../1", "./1", "/1", "a/01", "a", "a/1/2"] {
            let put = table.put(&reference(path), content("{}"), &now()).await;
            assert_eq!(refused(put).0, Kind::Invalid, "{path}");
            assert_eq!(get(&table, path).await, None, "{path}");
        }
        let seat = content(r#"{"hall":"a/../b","number":1}"#);
        let posted = table.post(&reference(""), seat, &now()).await.unwrap();
        assert_eq!(posted.reference.unwrap().path(), "a%2F..%2Fb/1");
        assert_eq!(get(&*source, "").await.unwrap(), r#"["seats/a%2F..%2Fb/1.json"]"#);
    });
}

#[test]
fn changes_are_told_by_key() {
    run(async {
        let source = in_memory();
        let table = table(&source);
        let mut changes = table.watch(&reference(""), &now()).await.unwrap();
        table.post(&reference(""), content(r#"{"title":"x"}"#), &now()).await.unwrap();
        source.put(&reference("data/tasks/readme"), Content::text("no row"), &now()).await.unwrap();
        table.delete(&reference("1"), &now()).await.unwrap();
        let mut told = Vec::new();
        for _ in 0..2 {
            let change = futures_util::StreamExt::next(&mut changes).await.unwrap().unwrap();
            told.push((change.kind.name(), change.reference.path().to_string()));
        }
        // The two of the row are one, if nobody listened in between.
        assert_eq!(told.last().unwrap(), &("deleted", "1".to_string()));
    });
}
