//! Queries as data mean what their blocks mean: each is run by a store and by the language.

use crate::support::Lab;
use futures_util::future::join_all;
use runnel_store::{Answer, Content, Context, Form, Lazy, Memory, Query, Reference, Store, Value};
use std::any::Any;
use std::rc::Rc;
use std::time::Duration;

/// Elements with every kind of value a condition meets, in the language and in a store.
const ELEMENTS: &str = "\
class Task { var <int> id. var <bool> done. var <string> title. var rank. } \
tasks ← (1 to: 12) collect: { :i | \
   task ← #Task{ id: i, done: (i mod: 3) = 0, title: ('task ', (i mod: 5) stringValue) }. \
   (i mod: 4) = 0 ifFalse: { task setRank: 10 - i }. task }. \
memory:tasks ← tasks. \
table ← ref:memory:tasks table. \
low ← 3. few ← [ 1, 5, 99 ]. ";

#[test]
fn conditions_mean_the_same_in_a_store() {
    let lab = Lab::new();
    lab.value(&format!("{ELEMENTS} 1"));
    let conditions = [
        "t done",
        "t done not",
        "t done = false",
        "false = t done",
        "t id > low",
        "low < t id",
        "low ≥ t id",
        "t id ≤ (low + 2)",
        "t id ≠ 4 and: { t id < 9 }",
        "(t id = 1 or: { t id = 2 }) and: { t done not }",
        "t rank isNil",
        "t rank isNotNil",
        "t rank = nil",
        "t rank ≠ nil",
        "t title = 'task 1'",
        "t title hasPrefix: 'task'",
        "t title hasSuffix: '3'",
        "t title contains: 'k 4'",
        "t title isEmpty",
        "few includes: t id",
        "[ 2, 3 ] includes: t id",
        "t id > tasks count",
    ];
    for condition in conditions {
        for selector in ["select", "reject"] {
            let query = |receiver: &str| {
                format!("(({receiver} {selector}: {{ :t | {condition} }}) asArray collect: 'id')")
            };
            let same = format!("{} = {}", query("table"), query("tasks"));
            // Against nothing the language says false where SQL would say neither.
            let text = lab.value(&format!("{} , {}", query("table"), query("tasks")));
            assert_eq!(lab.value(&same), "true", "{selector}: {condition}: {text}");
        }
    }
}

#[test]
fn orders_and_columns_mean_the_same_in_a_store() {
    let lab = Lab::new();
    lab.value(&format!("{ELEMENTS} 1"));
    let questions = [
        "sorted: 'id' | collect: 'id'",
        "sorted: '-id' | collect: 'id'",
        "sorted: { :t | t title } | collect: { :t | t title }",
        "sorted: { :a :b | a id > b id } | collect: 'id'",
        "sorted: { :a :b | b id > a id } | collect: 'id'",
        "sorted: [ 'done', '-id' ] | collect: 'id'",
        "sorted: [ 'title', 'id' ] | first: 4 | collect: 'id'",
        "sorted: 'id' | sorted: 'title' | collect: 'id'",
        "sorted: 'id' | first: 3 | select: { :t | t id > 1 } | collect: 'id'",
        "sorted: 'id' | first: 9 | reject: { :t | t rank > 4 or: { t done } } | collect: 'id'",
        "sorted: 'id' | first: 9 | sorted: { :t | t title } | collect: { :t | t title }",
        "collect: { :t | t title }",
        "sum: { :t | t id }",
        "average: 'id'",
        "detect: { :t | t id > 4 } | id",
        "anySatisfy: { :t | t id > 40 }",
        "countOf: { :t | t done }",
        "first: 2 | count",
        "sorted: 'id' | first | id",
        "select: { :t | t id > 40 } | isEmpty",
        "max: { :t | t id } | id",
        "min: 'id' | id",
        "max: { :t | t id * 2 } | id",
        "select: { :t | t id > t rank } | count",
        "select: { :t | t title length = 6 } | count",
    ];
    for question in questions {
        let text = |receiver: &str| {
            // Records of the store answer their fields as instances do theirs.
            let asked = question.replace("| id", "| valueForKey: 'id'");
            lab.value(&format!("({receiver} {asked}) stringValue"))
        };
        assert_eq!(text("table"), text("tasks"), "{question}");
    }
}

#[test]
fn what_no_store_can_do_is_said() {
    let lab = Lab::new();
    lab.value(&format!("{ELEMENTS} 1"));
    let refused = [
        ("select: { :t | (t title first: 3) = 'tas' }", "`(t title first: 3) = 'tas'`"),
        ("select: { :t | t done and: { t id odd } }", "`id odd`"),
        ("reject: { :t | x ← t id. x > 3 }", "`{ :t | x ← t id. x > 3 }`"),
        ("detect: { :t | t id = t rank abs }", "`rank abs`"),
        ("sorted: { :t | t title reversed length }", "`title reversed`"),
        ("sorted: { :a :b | a id > b rank }", "`{ :a :b | a id > b rank }`"),
        ("max: { :t | t id sqrt }", "`id sqrt`"),
    ];
    for (question, part) in refused {
        let source = format!("{{ (table {question}) asArray }} onError: {{ :e | e message }}");
        let message = lab.value(&source);
        assert!(message.contains(part), "{question}: {message}");
    }
    let source = "odd ← { :t | t id odd }. \
                  { table select: odd } onError: { :e | e kind, ' ', e hint }";
    let message = lab.value(source);
    assert!(message.starts_with("notTranslated `asArray`"), "{message}");
    assert_eq!(lab.value("(table select asArray select: { :t | (t at: 'id') odd }) count"), "6");
}

#[test]
fn values_of_conditions_are_made_only_where_a_store_needs_them() {
    let lab = Lab::new();
    let text = lab.value(
        "class Counter { var n. -next { this:n ← this:n + 1. this:n } } counter ← #Counter{ n: 0 }. \
         found ← [ 1, 2, 3 ] select: { :x | x intValue = counter next }. \
         found , counter n",
    );
    assert_eq!(text, "[1,2,3,3]");
}

/// Its queries take longer than a time slice, and answer the path that was asked.
struct Slow {
    memory: Memory,
    /// Whether they have to be waited for as well.
    later: bool,
}

/// Rows that are read when they are wanted.
struct Rows(String);

impl Lazy for Rows {
    fn encode(&self, _: Form) -> Answer<bytes::Bytes> {
        Answer::ok(self.0.clone().into())
    }

    fn value(&self) -> Answer<Value> {
        Answer::ok(Value::List(vec![self.0.as_str().into()]))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Store for Slow {
    fn get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        self.memory.get(reference, context)
    }

    fn query(&self, reference: &Reference, _: &Query, _: &Context) -> Answer<Content> {
        let rows = Content::lazy(Rc::new(Rows(reference.path().to_string())));
        if self.later {
            return Answer::later(async move {
                tokio::time::sleep(Duration::from_millis(1)).await;
                Ok(rows)
            });
        }
        std::thread::sleep(Duration::from_millis(5));
        Answer::ok(rows)
    }

    runnel_store::without!(links);

    fn describe(&self) -> String {
        "slow".into()
    }
}

/// The slice of each fiber ends between the query and the end of the fiber, so that others run; or it
/// has its answer and stands in line, because something else takes long.
#[test]
fn each_request_gets_the_rows_that_it_asked_for() {
    ask(false);
    ask(true);
}

fn ask(later: bool) {
    let lab = Lab::over(Rc::new(Slow { memory: Memory::dictionary(), later }));
    let site = "scheme Site { /a { get { ref:memory:a table select } } \
                /b { get { ref:memory:b table select } } \
                /c { get { n ← 0. 1 to: 3000000 do: { :i | n ← n + (i mod: 7) }. n } } } Site new";
    let outcome = lab.wait(lab.isolate.run(site, "test")).expect("the scheme is defined");
    let site = lab.isolate.store(outcome.value);
    let asked = ["a", "b", "a", "a", "b", "b", "a", "b"];
    let computing = || async {
        let content = site.get(&Reference::parse("/c"), &Context::default()).await;
        content.expect("an answer");
    };
    let others = join_all((0..4).map(|_| computing()));
    let answers = join_all(asked.map(|path| {
        let site = site.clone();
        async move {
            let reference = Reference::parse(&format!("/{path}"));
            let content = site.get(&reference, &Context::default()).await.expect("an answer");
            content.expect("rows").into_value(1 << 10).await.expect("data")
        }
    }));
    let (answers, _) = lab.wait(async { tokio::join!(answers, others) });
    for (path, answer) in asked.iter().zip(answers) {
        assert_eq!(answer, Value::List(vec![(*path).into()]));
    }
}
