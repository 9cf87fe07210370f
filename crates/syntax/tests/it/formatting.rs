//! The canonical text of each form.
#![allow(clippy::unwrap_used)]

use runnel_syntax::format;

/// Formats the source and its canonical text.
#[track_caller]
fn check(source: &str, expected: &str) {
    assert_eq!(format(source).as_deref(), Ok(expected));
    assert_eq!(format(expected).as_deref(), Ok(expected), "the second time");
}

#[test]
fn statements_end_with_periods() {
    check("a\nb:=3 . c", "a.\nb := 3.\nc.\n");
    check("a.\n\n\n\nb.\n", "a.\n\nb.\n");
    check("", "");
    check("\n\n", "");
    check("class A {}. a", "class A {}\na.\n");
    check("^   a", "^a.\n");
    check("!ls -l  \na", "!ls -l\na.\n");
}

#[test]
fn a_period_never_becomes_part_of_a_path() {
    check("x := tasks:", "x := tasks: .\n");
    check("a b: ref:tasks: ; c: d:", "a b: ref:tasks:; c: d: .\n");
    check("doc:.", "doc:..\n");
    check("file:{x} .", "file:{x}.\n");
    check("file:x/{*rest} .", "file:x/{*rest}.\n");
}

#[test]
fn operators_keep_their_spelling() {
    check("a←b. c<-d. e:=f. g⇦h", "a ← b.\nc <- d.\ne := f.\ng ⇦ h.\n");
    check("a->b⇨c→d", "a -> b ⇨ c → d.\n");
    check("#(1,2) foo. #[3]. [4,5]", "#( 1, 2 ) foo.\n#[ 3 ].\n[ 4, 5 ].\n");
    check("0xFF + 1_000", "0xFF + 1_000.\n");
    check("#{ #a:1, 'b':2, 3:4, #'c d': 5 }", "#{ a: 1, 'b': 2, 3: 4, #'c d': 5 }.\n");
}

#[test]
fn blocks_stay_on_one_line_when_they_may() {
    check("x do:{:y|y foo.}", "x do: { :y | y foo }.\n");
    check("x do:{:y|\ny foo}", "x do: { :y |\n    y foo.\n}.\n");
    check("{a. b}", "{ a. b }.\n");
    check("{}. {:x|}", "{}.\n{ :x | }.\n");
}

#[test]
fn long_messages_break_at_their_keywords() {
    check(
        "receiver firstKeyword: 'a rather long argument' secondKeyword: 'another long one, too' \
         third: thirty-three",
        "receiver
    firstKeyword: 'a rather long argument'
    secondKeyword: 'another long one, too'
    third: thirty-three.
",
    );
}

#[test]
fn long_messages_with_blocks_break_in_the_blocks() {
    check(
        "condition ifTrue: { stdout println: 'the first of two alternatives' } \
         ifFalse: { stdout println: 'the second' }",
        "condition ifTrue: {
    stdout println: 'the first of two alternatives'.
} ifFalse: {
    stdout println: 'the second'.
}.
",
    );
}

#[test]
fn long_chains_break_at_their_operators() {
    check(
        "stdout println: 'a long text that goes on ' , name , ' and on and on ' , other , \
         ' until it is too long'",
        "stdout println: 'a long text that goes on '
    , name
    , ' and on and on '
    , other
    , ' until it is too long'.
",
    );
    check(
        "list addObject: 'the first thing to add'; addObject: 'the second thing to add'; \
         addObject: 3; yourself",
        "list addObject: 'the first thing to add';
    addObject: 'the second thing to add';
    addObject: 3;
    yourself.
",
    );
    check(
        "something select: { :each | each > 3 } | collect: { :each | each * 2 } \
         | inject: 0 into: { :a :b | a + b }",
        "something select: { :each | each > 3 }
    | collect: { :each | each * 2 }
    | inject: 0 into: { :a :b | a + b }.
",
    );
}

#[test]
fn comments_between_messages_keep_their_lines() {
    check(
        "10 to: 1\n// own line\n| // behind\ncollect: 1 | count.",
        "10 to: 1
    // own line
    // behind
    | collect: 1
    | count.
",
    );
}

#[test]
fn long_lists_have_one_element_a_line_or_fill_lines() {
    let numbers = ["1000000"; 20].join(",");
    let line = ["1000000"; 10].join(", ");
    check(&format!("x := [{numbers}]"), &format!("x := [\n    {line},\n    {line}\n].\n"));
    check(
        "x := #Thing{ first: 'a rather long value', second: 'another rather long value', \
         third: [ a b c d e ] }",
        "x := #Thing{
    first: 'a rather long value',
    second: 'another rather long value',
    third: [ a b c d e ]
}.
",
    );
    check("#ul[\n#li[ a ], #li[ b ]]", "#ul[\n    #li[ a ],\n    #li[ b ]\n].\n");
}

#[test]
fn definitions() {
    check(
        "class Task:Base{var <int> id. -at:i put:<int>v{this:x := i.\n v}\n\n+make{self new}}",
        "class Task : Base {
    var <int> id.
    -at: i put:<int>v { this:x := i. v. }

    +make { self new. }
}
",
    );
    check(
        "class A{var <string  readonly   required >a,b.}",
        "class A { var <string readonly required> a, b. }\n",
    );
    check(
        "class A{var <string  1..20  required>a. var <[ 'x'  'y'? ]  ..3>b ←  3}",
        "class A { var <string 1..20 required> a. var <['x' 'y'?] ..3> b ← 3. }\n",
    );
    check(
        "class A{refuse{ a>b }message: 'x'at: #b. check: #a{a}message: 'y'}",
        "class A {
    refuse { a > b } message: 'x' at: #b.
    check: #a { a } message: 'y'.
}
",
    );
    check("filter up|{^object uppercase}", "filter up |{ ^object uppercase. }\n");
    check(
        "scheme S{/a{get{1}put{2}}\n/b{list{[]}}}",
        "scheme S {
    /a {
        get { 1. }
        put { 2. }
    }
    /b { list { []. } }
}
",
    );
    check("#-<void>serve:<ref>dir port: p\na", "#-<void>serve:<ref>dir port: p\na.\n");
    check("test 'x' {a. b}", "test 'x' { a. b. }\n");
}

#[test]
fn comments_stay_where_they_are() {
    check(
        "#!/bin/x\n// one\na. // two\n\n   // three\nb\n// four",
        "#!/bin/x\n// one\na. // two\n\n// three\nb.\n// four\n",
    );
    check("\"a note\"\na. \"another\". b", "\"a note\"\na.\n\"another\".\nb.\n");
    check("x do: { // why\n a }", "x do: { // why\n    a.\n}.\n");
    check("x at: 1 // one\n  // own\n put: 2", "x\n    at: 1 // one\n    // own\n    put: 2.\n");
    check("[ 1, // one\n 2\n// end\n]", "[\n    1, // one\n    2\n    // end\n].\n");
    check("class A {\n# here\nvar x. // x\n}", "class A {\n# here\n    var x. // x\n}\n");
    check("a := (b // b\n + c)", "a := (b // b\n    + c).\n");
}

#[test]
fn texts_are_left_alone() {
    check("x := 'a\n   b'. y := \"{ a   +b }\"", "x := 'a\n   b'.\ny := \"{ a   +b }\".\n");
}

#[test]
fn a_text_with_faults_has_diagnostics() {
    assert_eq!(format("a := (").unwrap_err().len(), 1);
}

#[test]
fn forms_of_the_original_become_ours() {
    check("#Slide{ title: 'a'. #lines: [ 1 ]. }", "#Slide{ title: 'a', lines: [ 1 ] }.\n");
    check("#( 1 'two' 3.5 )", "#( 1, 'two', 3.5 ).\n");
    check(
        "class A { +(void)setUp { 1 } -(int)size { 2 } }",
        "class A {\n    +<void>setUp { 1. }\n    -<int>size { 2. }\n}\n",
    );
}

#[test]
fn a_statement_that_a_hash_comments_out_stays_one() {
    check(
        "server := 3\n#server := 4\n#server start: 5.\n",
        "server := 3.\n#server := 4\n#server start: 5.\n",
    );
    // A symbol stays one where nothing of its name was assigned before, or not in the first column.
    check("#server start:5\n", "#server start: 5.\n");
    check("a:=1. server:=2\n #server start:5\n", "a := 1.\nserver := 2.\n    #server start: 5.\n");
}
