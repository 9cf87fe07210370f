//! Fibers: slices, deadlines, cancellation, concurrency, errors that pass through them.

use crate::support::Lab;
use runnel_runtime::Failure;
use runnel_store::{Context, Kind, Reference, Value};
use std::rc::Rc;
use std::time::{Duration, Instant};

fn call(deadline: Duration) -> Context {
    Context { deadline: Some(Instant::now() + deadline), ..Context::default() }
}

/// A scheme of the program as a store of this side.
fn store(lab: &Lab, source: &str) -> Rc<dyn runnel_store::Store> {
    let outcome = lab.wait(lab.isolate.run(source, "test")).expect("the scheme is defined");
    lab.isolate.store(outcome.value)
}

#[test]
fn a_loop_ends_at_its_deadline_with_its_line() {
    let lab = Lab::new();
    let site = store(
        &lab,
        "scheme Site {\n  /loop { get {\n    { true } whileTrue: { 3 }.\n  } }\n}\nSite new",
    );
    let start = Instant::now();
    let answer = lab.wait(site.get(&Reference::parse("/loop"), &call(Duration::from_millis(50))));
    let error = answer.err().expect("the deadline passes");
    assert_eq!(error.kind, Kind::Timeout);
    assert!(start.elapsed() >= Duration::from_millis(50));
    assert!(error.detail.is_some_and(|detail| detail.contains("test:3")));
}

#[test]
fn no_handler_swallows_a_deadline() {
    let lab = Lab::new();
    let site = store(
        &lab,
        "scheme Site { /loop { get { \
         { true } whileTrue: { { { true } whileTrue: { 3 } } onError: { 4 } } \
         } } } Site new",
    );
    let answer = lab.wait(site.get(&Reference::parse("/loop"), &call(Duration::from_millis(30))));
    assert_eq!(answer.err().map(|error| error.kind), Some(Kind::Timeout));
}

#[test]
fn every_kind_of_computing_can_be_interrupted() {
    let lab = Lab::new();
    let bodies = [
        "n ← 0. { n < 1 } whileTrue: { n ← n * 1 }",
        "1 to: 1000000000000 do: { :i | i }",
        "(1 to: 1000000000) do: { :i | i }",
        "self again: 3",
        "[1,2,3] do: { :x | { true } whileTrue: { x + 1 } }",
        "[3,1,2] sorted: { :a :b | { true } whileTrue: { 1 } }",
        "#{ a: 1 } keysAndValuesDo: { :k :v | { true } whileTrue: { v } }",
        "{ { true } whileTrue: { 1 } } ensure: { 2 }",
    ];
    for body in bodies {
        let source = format!(
            "class Again {{ -again: n {{ {{ true }} whileTrue: {{ self once: n }} }} \
             -once: n {{ n }} }} \
             scheme Site : Scheme {{ -again: n {{ Again new again: n }} \
             /loop {{ get {{ {body} }} }} }} Site new"
        );
        let site = store(&lab, &source);
        let answer =
            lab.wait(site.get(&Reference::parse("/loop"), &call(Duration::from_millis(20))));
        assert_eq!(answer.err().map(|error| error.kind), Some(Kind::Timeout), "{body}");
    }
}

#[test]
fn others_run_while_one_computes() {
    let lab = Lab::new();
    let text = lab.value(
        "seen ← #MutableArray[]. \
         long ← { n ← 0. 1 to: 30000000 do: { :i | n ← n + 1. }. seen addObject: 'long' } fork. \
         short ← { seen addObject: 'short' } fork. \
         short value. long value. seen",
    );
    assert_eq!(text, "[short,long]");
}

#[test]
fn a_dropped_request_is_cancelled_and_cleans_up() {
    let lab = Lab::new();
    let site = store(
        &lab,
        "log ← #MutableArray[]. scheme Site { var log. \
         /wait { get { { runLoop runFor: 30. 'late' } \
           ensure: { this:log addObject: 'cleaned' } } } \
         /loop { get { { { true } whileTrue: { 1 } } \
           ensure: { this:log addObject: 'stopped' } } } } \
         #Site{ log: log }",
    );
    for path in ["/wait", "/loop"] {
        let outcome = lab.wait(async {
            let answer = site.get(&Reference::parse(path), &Context::default());
            tokio::time::timeout(Duration::from_millis(30), answer).await
        });
        assert!(outcome.is_err(), "the request is still running when it is dropped");
    }
    assert_eq!(lab.value("log"), "[cleaned,stopped]");
    assert_eq!(lab.value("3 + 4"), "7", "the isolate goes on");
}

#[test]
fn many_fibers_wait_at_once() {
    let lab = Lab::new();
    let start = Instant::now();
    let text = lab.value(
        "fibers ← (1 to: 2000) collect: { :i | { runLoop runFor: 0.2. i } fork }. \
         (fibers collect: { :fiber | fiber value }) inject: 0 into: { :a :b | a + b }",
    );
    assert_eq!(text, "2001000");
    // One after the other they would take 400 seconds.
    assert!(start.elapsed() < Duration::from_secs(60));
}

#[test]
fn a_bound_on_concurrency_is_kept() {
    let lab = Lab::new();
    let text = lab.value(
        "running ← 0. most ← 0. \
         ((1 to: 20) asArray concurrently: 4) collect: { :i | \
           running ← running + 1. most ← most max: running. runLoop runFor: 0.005. \
           running ← running - 1. i }. most",
    );
    assert_eq!(text, "4");
}

#[test]
fn the_first_error_ends_the_others() {
    let lab = Lab::new();
    let text = lab.value(
        "{ [ { runLoop runFor: 20. 'late' }, { Error signal: 'broken' } ] concurrently } \
         onError: { :e | e message }",
    );
    assert_eq!(text, "broken");
}

#[test]
fn an_error_without_handler_has_the_lines_it_came_through() {
    let lab = Lab::new();
    let source =
        "class A {\n  -go {\n    [1] do: { :x |\n      x frobnicate.\n    }.\n  }\n}\nA new go.\n";
    let Err(Failure::Fault(fault)) = lab.run(source) else { panic!("it must fail") };
    let lines: Vec<u32> = fault.trace.iter().map(|place| place.line).collect();
    assert_eq!(lines, [4, 3, 8]);
    assert_eq!(fault.kind, "doesNotUnderstand");
}

#[test]
fn deep_recursion_and_too_much_memory_are_errors() {
    let lab = Lab::new();
    let deep = lab.run("class A { -down: n { (self down: n + 1) + 1 } } A new down: 1");
    assert!(matches!(deep, Err(Failure::Fault(fault)) if fault.kind == "recursion"));
    let large = lab.run("s ← 'xxxxxxxxxxxxxxxx'. 40 repeat: { s ← s , s }. s length");
    assert!(matches!(large, Err(Failure::Fault(fault)) if fault.kind == "memory"));
    assert_eq!(lab.value("'still ' , 'here'"), "still here");
}

#[test]
fn garbage_does_not_pile_up() {
    let lab = Lab::new();
    let site = store(
        &lab,
        "scheme Site { var kept. /waste { get { 1 to: 2000 do: { :i | 'some text ' , i asString }. 'ok' } } \
         /keep { get { this:kept := #(). 1 to: 300000 do: { :i | this:kept add: 'text ' , i asString }. \
         'ok' } } } Site new",
    );
    let mut most = 0;
    let mut ask = |path: &str, times: usize| {
        for _ in 0..times {
            lab.wait(site.get(&Reference::parse(path), &Context::default())).expect("an answer");
            most = most.max(runnel_runtime::load().memory);
        }
        most
    };
    // A small heap: some hundred megabytes of garbage, of which never more than a little is there.
    let small = ask("/waste", 1500);
    assert!(small < 48 << 20, "{small}");
    // A large one may become twice as large as what is alive, and some more while it is collected.
    let alive = ask("/keep", 1);
    let large = ask("/waste", 1500);
    assert!(large < 3 * alive + (48 << 20), "{large} beside {alive}");
}

#[test]
fn plain_data_passes_through_a_scheme_of_the_program() {
    let lab = Lab::new();
    let site = store(
        &lab,
        "scheme Echo { var held. /x { get { this:held } put { this:held ← newValue } } } Echo new",
    );
    let record = Value::Record(vec![
        ("big".into(), Value::Big("123456789012345678901234567890".into())),
        ("list".into(), Value::List(vec![Value::Nil, Value::Bool(true), Value::Float(1.5)])),
        ("exact".into(), Value::Int(i64::MAX)),
    ]);
    let reference = Reference::parse("/x");
    let content = runnel_store::Content::value(record.clone());
    lab.wait(site.put(&reference, content, &Context::default())).expect("it is put");
    let content = lab.wait(site.get(&reference, &Context::default())).expect("it is read");
    let value = lab.wait(content.expect("it is there").into_value(1 << 20)).expect("it is data");
    assert_eq!(value, record);
}
