//! Where errors of running programs point: line, column, and the name of the code around.

use crate::support::{Lab, explained};
use runnel_runtime::{Failure, TraceFrame};

/// The frames of the error that a program raises.
fn trace(source: &str) -> Vec<TraceFrame> {
    match Lab::new().run(source) {
        Err(Failure::Fault(fault)) => fault.trace,
        Err(other) => panic!("{source}: {}", explained(&other)),
        Ok(_) => Vec::new(),
    }
}

/// Programs with `‹…›` around what an error points at.
const RAISED: [&str; 34] = [
    "x := 3. x ‹foo›",
    "x := 3.\nx ‹foo›.\nx sqrt",
    "3 ‹/› 0",
    "3 ‹mod›: 0",
    "[ 1, 2 ] ‹at›: 7",
    "[ 1, 2 ] collect: { :each | each ‹foo› }",
    "4 + (3 ‹foo›) + 5",
    "[ 3 ‹foo›, 4 bar ]",
    "#{ a: 3, b: 4 ‹foo› }",
    "x := 3 ‹foo› bar baz",
    "x := 3 sqrt ‹bar› baz",
    r#""text {3 ‹foo›} and {4 bar}""#,
    "'ä €' uppercase. 'ä €' ‹foo›",
    r#""ä € {1}" uppercase, (3 ‹foo›)"#,
    "3 > 2 ifTrue: { 3 ‹foo› } ifFalse: { 4 bar }",
    "3 < 2 ifTrue: { 3 foo } ifFalse: { 4 ‹bar› }",
    "1 to: 3 do: { :i | i ‹foo› }",
    "n := 3. { n > 0 } whileTrue: { n := n - 1. n ‹foo› }",
    "[ 3 ] do: { :each |\n   x := each + 1.\n   x ‹foo›.\n   x sqrt\n}",
    "#div[ #p[ 3 ‹foo› ] ]",
    "memory:a := 3. memory:a ‹foo›",
    "memory:{3 ‹foo›}",
    "{ :n | n ‹/› 0 } value: 3",
    "3 match: [ 3 → { 4 ‹foo› } ]",
    "3 foo: 4 ‹bar› baz: 5",
    "3 ‹foo›: 4 baz: 5",
    "3\n   ‹foo›: 4\n   baz: 5",
    "[ 3, 4 ] collect: #sqrt | first | ‹foo›",
    "3 sqrt; ‹foo›",
    "fiber := { 3 ‹foo› } fork. fiber join",
    "[ { 3 ‹foo› } ] concurrently",
    "{ 3 ‹foo› } timeout: 1 second",
    "{ 3 ‹foo› } ensure: { 4 sqrt }",
    "// é\n3 ‹foo› // comment",
];

#[test]
fn errors_point_at_the_expression_that_raised_them() {
    let mut wrong = Vec::new();
    for marked in RAISED {
        let source = marked.replace(['‹', '›'], "");
        let before = marked.split('‹').next().unwrap();
        let line = before.matches('\n').count() as u32 + 1;
        let column = before.rsplit('\n').next().unwrap().chars().count() as u32 + 1;
        let width = marked.split(['‹', '›']).nth(1).unwrap().chars().count() as u32;
        let found = trace(&source).first().map(|one| (one.line, one.column, one.width));
        if found != Some((line, column, width)) {
            wrong.push(format!("{marked}: {found:?}"));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn frames_have_the_names_of_methods_handlers_and_filters() {
    let source = "class Deep {\n   -first { self second: 3 }\n   +make { ^self new first }\n   \
                  -second: n { n / 0 }\n}\nDeep make\n";
    let frames: Vec<String> = trace(source).iter().map(TraceFrame::place).collect();
    assert_eq!(
        frames,
        [
            "test:4:19 in Deep -second:",
            "test:2:18 in Deep -first",
            "test:3:22 in Deep +make",
            "test:6:6"
        ]
    );
    let served = "scheme S { /a/:id { get { nil. 3 foo } } }\nscheme:s := S store. s:a/7";
    assert_eq!(trace(served)[0].place(), "test:1:34 in GET /a/:id");
    let filter = "filter Half |{ ^object / 0 }\n#Half{ } process: 3";
    assert_eq!(trace(filter)[0].definition.as_deref(), Some("filter Half"));
}

#[test]
fn recursion_points_at_the_call() {
    let source = "class Fact { -of: n { ^n * (self of: n - 1) } }\nFact new of: 3";
    assert_eq!(trace(source)[0].place(), "test:1:34 in Fact -of:");
    let source = "rec := { :n | (rec value: n + 1) + 1 }.\nrec value: 1";
    assert_eq!(trace(source)[0].place(), "test:1:20");
}

#[test]
fn an_error_of_an_earlier_source_points_into_it() {
    let lab = Lab::new();
    lab.run("class A { -go { ^3 foo } }").map_err(|why| explained(&why)).unwrap();
    let Err(Failure::Fault(fault)) = lab.run("\n\n  A new go") else { panic!("it must fail") };
    let places: Vec<(u32, u32)> = fault.trace.iter().map(|one| (one.line, one.column)).collect();
    assert_eq!(places, [(1, 20), (3, 9)]);
}
