//! Answers of handlers that are not what they declare: found where a literal says so, and nowhere else.

use runnel_syntax::parse;

/// A handler of a scheme beside a few classes.
fn program(handler: &str) -> String {
    format!(
        "class Task {{ var <string 1..80> title. var <bool> done. var <string?> body. var <[int]> days ← [ ]. }}\n\
         class Old : Task {{ var <int> year. }}\n\
         class Odd : Unknown {{ var <int> year. }}\n\
         class Other {{ var <Task> task. }}\n\
         scheme S {{ /a {{ {handler} }} }}\n"
    )
}

/// The texts that the warnings of a program are about.
fn found(handler: &str) -> Vec<String> {
    let source = program(handler);
    let parsed = parse(&source);
    assert!(parsed.diagnostics.is_empty(), "{handler}: {:?}", parsed.diagnostics);
    let warnings = runnel_compile::reviewed(&parsed.program, &source);
    let text = |start: u32, end: u32| source[start as usize..end as usize].to_string();
    warnings.iter().map(|one| text(one.label.span.start, one.label.span.end)).collect()
}

#[test]
fn literals_of_another_type_are_found() {
    for (handler, place) in [
        ("get → <int> { 'three' }", "'three'"),
        ("get → <int> { 3.5 }", "3.5"),
        ("get → <int> { \"{1}\" }", "\"{1}\""),
        ("get → <decimal> { 12.3 }", "12.3"),
        ("get → <bool> { 1 }", "1"),
        ("get → <date> { true }", "true"),
        ("get → <string> { #{ a: 1 } }", "#{ a: 1 }"),
        ("get → <int?> { 'three' }", "'three'"),
        ("get → <'low' 'high'> { 'middle' }", "'middle'"),
        ("get → <[int]> { 3 }", "3"),
        ("get → <[int]> { [ 1, (2), ('three') ] }", "'three'"),
        ("get → <int | bool> { 'three' }", "'three'"),
        ("get → <Task> { 'sow' }", "'sow'"),
        ("get → <Task> { #Other{ } }", "#Other{ }"),
        ("get → <Old> { #Task{ } }", "#Task{ }"),
        ("get → <Task> { #{ title: 3, done: true, days: [ ] } }", "3"),
        ("get → <Task> { #{ title: 'a', done: true, days: [ 1, 'two' ] } }", "'two'"),
        ("get → <Task> { #{ title: 'a', days: [ ] } }", "#{ title: 'a', days: [ ] }"),
        ("get → <Old> { #{ title: 3 } }", "3"),
        ("get → <Other> { #{ task: #{ title: 'a', done: 3, days: [ ] } } }", "3"),
        ("get → <[Task]> { [ 3 ] }", "3"),
        ("get → <int> { query:a ifTrue: { 1 } ifFalse: { 'two' } }", "'two'"),
        ("get → <int> { ^ 'one'. 2 }", "'one'"),
        ("post → 201 <int> | 409 { 'three' }", "'three'"),
        ("get → <int> { response:status ← 201. 3 }", "201"),
        ("get → 202 <int> { query:a ifTrue: { response:status ← 203 }. 3 }", "203"),
    ] {
        assert_eq!(found(handler), [place], "{handler}");
    }
}

#[test]
fn what_may_be_right_is_left_alone() {
    for handler in [
        "get { 'three' }",
        "get → 200 { 'three' }",
        "get → 204 { 'gone' }",
        "get → <any> { 3 }",
        "get → <Unknown> { 3 }",
        "get → <int> { 3 }",
        "get → <float> { 3 }",
        "get → <decimal> { '12.30' }",
        "get → <date> { '2026-11-21' }",
        "get → <int?> { nil }",
        "get → <int> { 'three' count }",
        "get → <int> { a ← 'three'. 3 }",
        "get → <int | string> { 'three' }",
        "get → <int> | 404 <string> { response:status ← 404. 'three' }",
        "get → <int> | 202 { response:status ← 202. 'later' }",
        "get → <int> { response:status ← 404. nil }",
        "get → <int> { response:content-type ← 'text/html'. 'three' }",
        "get → <Task> { #Task{ } }",
        "get → <Task> { #Old{ } }",
        "get → <Task> { #Odd{ } }",
        "get → <Odd> { #{ a: 3 } }",
        "get → <Task> { #{ title: 'a', done: true, days: [ ], more: 3 } }",
        "get → <Task> { #{ title: query:a, done: query:b, days: nil } }",
        "get → <[Task]> { [ ] }",
        "get → <int> { query:a ifTrue: { 'three' } }",
    ] {
        assert_eq!(found(handler), Vec::<String>::new(), "{handler}");
    }
}
