//! What each form of the language becomes. The outline is the tree as one line.
#![allow(clippy::unwrap_used)]

use runnel_syntax::{outline, parse};

#[track_caller]
fn check(source: &str, expected: &str) {
    let parsed = parse(source);
    assert!(parsed.diagnostics.is_empty(), "{source}\n{:#?}", parsed.diagnostics);
    assert_eq!(outline(&parsed.program), expected, "{source}");
}

#[test]
fn messages_bind_from_tight_to_loose() {
    check("3 + 4 * 2", "((3 + 4) * 2)");
    check("a foo + b bar: c baz - 1", "(((a foo) + b) bar: ((c baz) - 1))");
    check("a at: 1 put: 2", "(a at: 1 put: 2)");
    check("x := y := a → b → c", "(x := (y := (a → (b → c))))");
    check("a foo; bar; at: 1", "(a ; foo ; bar ; at: 1)");
    check("1 to: 3 | count", "((1 to: 3) | count)");
    check("a | b c + d e: f | g", "(((((a | b) c) + d) e: f) | g)");
    check("1 to: 3 | count; size", "((((1 to: 3))) ; count ; size)");
    check("a each ? foo", "((? (a each)) foo)");
    check("a == b ~= c & d", "(((a == b) ~= c) & d)");
    check("a->b", "(a -> b)");
}

#[test]
fn minus_is_a_part_of_names_and_numbers() {
    check("4*-2", "(4 * -2)");
    check("3-4", "(3 - 4)");
    check("a -1", "(a - 1)");
    check("a-b - c", "(a-b - c)");
    check("-3 abs", "(-3 abs)");
    check("x := -0", "(x := 0)");
}

#[test]
fn numbers_have_decimal_digits() {
    check("0xff + 0b11 + 16r1F + 1_000", "(((255 + 3) + 31) + 1000)");
    check("1.5e-3 + 1e9 + 3.25", "((0.0015 + 1000000000.0) + 3.25)");
    check("123456789012345678901234567890", "123456789012345678901234567890");
    check("3.\nfoo", "3 . foo");
    check("a.b := 3. a", "(a.b := 3) . a");
}

#[test]
fn a_line_end_ends_a_statement_unless_the_next_line_goes_on() {
    check("a\nb", "a . b");
    check("a +\nb", "(a + b)");
    check("a\n  + b\n  , c", "((a + b) , c)");
    check("a foo\n  bar: 3\n  baz: 4", "((a foo) bar: 3 baz: 4)");
    check("a\n| b", "(a | b)");
    check("a x\n; b", "(a ; x ; b)");
    check("a\n→ b", "(a → b)");
    check("a :=\n 3", "(a := 3)");
    check("(a\n b)", "(((a b)))");
    check("a\n[1]", "a . [1]");
    check("a[1]", "(at a [1])");
    check("x at: 1\n  put:'y'", "(x at: 1 put: \"y\")");
    check("x foo\nvar:{b} := 3", "(x foo) . (<var: {b}> := 3)");
    check("x at: 1\ns3:a/b ← 3", "(x at: 1) . (<s3: \"a/b\"> ← 3)");
    check("!ls -l\nx\n! 3", "!\"ls -l\" . (x ! 3)");
}

#[test]
fn paths_run_to_their_end() {
    check("file:/tmp/x.txt. a", "<file: \"/tmp/x.txt\"> . a");
    check("http://h/a?b=c // note", "<http: \"//h/a?b=c\">");
    check("(d:a[1])", "(((at <d: \"a\"> [1])))");
    check("doc:. foo", "(<doc: \".\"> foo)");
    check("file:a/{*b c}/d", "<file: \"a/\" *{(b c)} \"/d\">");
    check("file:{a}/{b c}.txt", "<file: {a} \"/\" {(b c)} \".txt\">");
    check("ref:a", "&<: \"a\">");
    check("ref:https://h/", "&<https: \"//h/\">");
    check("ref:tasks: changes", "(&<tasks:> changes)");
    check("tasks:[{ x }] count", "((at <tasks:> [{ x }]) count)");
    check("x := scheme:base .", "(x := <scheme: \"base\">)");
    check("x at:this:foo put:file:y", "(x at: <this: \"foo\"> put: <file: \"y\">)");
    check("server start:nil", "(server start: nil)");
}

#[test]
fn texts_interpolate_expressions() {
    check(r#"x := "a {b + 1} c""#, r#"(x := (text "a " {(b + 1)} " c"))"#);
    check(
        r#"x := "{f at: "k"}""#,
        r#"(x := (text {(f at: "k")}))"#.replace("\"k\"", "(text \"k\")").as_str(),
    );
    check(r#"x := "\{a} \u{41}""#, r#"(x := (text "{a} A"))"#);
    check(r#"x := 'it''s {a} \n'"#, r#"(x := "it's {a} \n")"#);
    check("x := ‘a’", "(x := \"a\")");
}

#[test]
fn a_text_alone_is_a_comment_unless_it_is_the_last() {
    let parsed = parse("\"one\". a. { \"two\". b. \"three\" }. \"four\"");
    assert_eq!(outline(&parsed.program), "a . { b . (text \"three\") } . (text \"four\")");
    assert_eq!(parsed.program.comments.len(), 2);
    check("\"it's {odd\". a", "a");
    check("\"a\" , b", "((text \"a\") , b)");
}

#[test]
fn hash_at_the_start_of_a_line_is_a_comment_only_before_a_blank() {
    check("#!/bin/x\n# a\n##\n#\n#-----\na", "a");
    check("#Foo{ a: 1 }", "#Foo{#\"a\": 1}");
    check("#foo", "#\"foo\"");
    check(
        "#-<void>serve:<ref>dir port:<int>port\na",
        "#-<void>serve: <ref>dir port: <int>port . a",
    );
}

#[test]
fn literals() {
    check("#(1, #[2], [3])", "[1, [2], [3]]");
    check("#NSSet(1)", "NSSet[1]");
    check("#Set[1,]", "Set[1]");
    check(
        "#{ a: 1, #b: 2, 'c': 3, 4 : 5, (d): 6, }",
        "#{#\"a\": 1, #\"b\": 2, \"c\": 3, 4: 5, ((d)): 6}",
    );
    check("#li{ a: 1 }[ b ]", "#li{#\"a\": 1}[b]");
    check("#my-tag[]", "#my-tag[]");
    check("#Foo { }", "#Foo{}");
    check("#at:put: foo", "(#\"at:put:\" foo)");
    check("[ a, b + 1 ]", "[a, (b + 1)]");
    check("{ :a :<int>b | a }", "{ :a :<int>b | a }");
    check("{ $0 + $name }", "{ ($0 + $name) }");
}

#[test]
fn definitions() {
    check("class A: B { var <int> x, y. -m { 1 } }", "class A : B { var <int>x, y . -m { 1 } }");
    check("class A { var <int required> x }", "class A { var <int required>x }");
    check("var <int required> x", "var <int required>x");
    check("class A { var <[string  1..30] ..10> t }", "class A { var <[string 1..30] ..10>t }");
    check("class A { var <int 0..?> n ← 3 }", "class A { var <int? 0..>n := 3 }");
    check("class A { var <B|[C]?> x }", "class A { var <B | [C]?>x }");
    check("class A { var <'a' 'it''s'> x }", "class A { var <'a' 'it''s'>x }");
    check("class A { var <string /a\\/b/ unique> x }", "class A { var <string /a\\/b/ unique>x }");
    check(
        "class A { refuse { a } message: 'b' at: #c. check: #c { d } message: 'e' }",
        "class A { refuse c{ a } \"b\" . check c{ d } \"e\" }",
    );
    check("var < 3", "(var < 3)");
    check("filter f |{ ^ object }", "filter f { |{ ^ object } }");
    check("protocol P { -m1. -m2: x\n+m3 }", "protocol P { -m1 . -m2: x . +m3 }");
    check("class V { -> x { 2 } -, y { 3 } }", "class V { -> x { 2 } . -, y { 3 } }");
    check(
        "scheme S { /a/:<int>id/*:rest { |= { 1 } =| { 2 } += { 3 } } }",
        "scheme S { path \"/a/:<int>id/*:rest\" [\"a\" :<int>id *rest] \
         Get |= { 1 } Put =| { 2 } Post += { 3 } }",
    );
    check("scheme S { /. { list { 1 } } }", "scheme S { path \"/.\" [] List list { 1 } }");
    check("object T : #Foo{ a: 1 }", "object T : #Foo{#\"a\": 1}");
    check("test 'x' { a }", "test \"x\" { a }");
}

#[test]
fn words_of_definitions_are_names_elsewhere() {
    check(
        "class := 3. filter stream. object foo: 1",
        "(class := 3) . (filter stream) . (object foo: 1)",
    );
    check("class:NSString new", "(<class: \"NSString\"> new)");
    check("var := test", "(var := test)");
}

#[test]
fn timers_need_no_receiver() {
    check("after: 5 seconds do: { a }", "(context after: (5 seconds) do: { a })");
    check("x := every: n do: { a }", "(x := (context every: n do: { a }))");
    check("a b: 1\nevery: 5 do: { c }", "(a b: 1) . (context every: 5 do: { c })");
    check("a b: 1\n  every: 5 do: { c }", "(a b: 1 every: 5 do: { c })");
    check("after:foo", "<after: \"foo\">");
    check("after: .", "<after:>");
}

#[test]
fn what_can_be_assigned_to() {
    check("[ a, b[1] ] ← c", "([a, (at b [1])] ← c)");
    check(
        "a |= b. c =|= ref:d. e:f += 1. g ⇦ 2",
        "(a |= b) . (c =|= &<: \"d\">) . (<e: \"f\"> += 1) . (g ⇦ 2)",
    );
}
