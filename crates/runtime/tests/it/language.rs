//! Loops that are left, text that grows, matching, lazy sequences and formats: what the pages of the manual leave out
//! of the rare cases.
#![allow(clippy::unwrap_used)]

use crate::support::{Lab, explained};
use runnel_runtime::Failure;

/// Runs a source in the isolate of this test.
fn run(source: &str) -> Result<String, Failure> {
    thread_local! {
        static LAB: Lab = Lab::new();
    }
    LAB.with(|lab| lab.run(source))
}

/// The source runs and its value has this text.
fn gives(source: &str, expected: &str) {
    match run(source) {
        Ok(text) => assert_eq!(text, expected, "{source}"),
        Err(failure) => panic!("{source}: {}", explained(&failure)),
    }
}

/// The error that the source raises has these words.
fn fails(source: &str, words: &str) {
    match run(source) {
        Ok(text) => panic!("{source} gives {text}"),
        Err(failure) => {
            let text = explained(&failure);
            assert!(text.contains(words), "{source}: {text}");
        }
    }
}

// Loops that are left -----------------------------------------------------------------------------

#[test]
fn an_inner_loop_is_left_alone() {
    gives(
        "s := []. 1 to: 3 do: { :a | 1 to: 3 do: { :b | b = 2 ifTrue: { break }. s add: a * 10 + b } }. s",
        "[11,21,31]",
    );
    gives(
        "s := []. [1,2,3] do: { :a | [1,2,3] do: { :b | b = 2 ifTrue: { continue }. s add: a * 10 + b }. \
         a = 2 ifTrue: { break } }. s",
        "[11,13,21,23]",
    );
}

#[test]
fn a_block_inside_the_body_leaves_the_loop() {
    gives(
        "s := []. 1 to: 5 do: { :i | \
         #{ } at: 'x' ifAbsent: { i = 2 ifTrue: { continue }. i = 4 ifTrue: { break } }. s add: i }. s",
        "[1,3]",
    );
    gives("n := 0. { n < 9 } whileTrue: { n := n + 1. { n = 3 ifTrue: { break } } value }. n", "3");
    gives(
        "[1,2,3] do: { :n | [4,5] collect: { :m | n = 2 ifTrue: { break }. m } }. 'done'",
        "done",
    );
}

#[test]
fn ensure_runs_when_a_loop_is_left() {
    gives("log := []. [1,2] do: { :n | { break } ensure: { log add: 'closed' } }. log", "[closed]");
    gives("[1,2] do: { :n | { break } onError: { :e | 'caught' } }. 'left'", "left");
}

#[test]
fn a_method_returns_from_a_loop_that_may_be_left() {
    let class = "class A { -find: list { list do: { :n | n = 1 ifTrue: { continue }. n > 5 ifTrue: { ^ n }. \
                 n = 4 ifTrue: { break } }. 0 } }";
    gives(&format!("{class} [ A new find: [1,6], A new find: [1,4,6] ]"), "[6,0]");
}

#[test]
fn a_variable_hides_the_words() {
    gives("break := 3. [1] do: { :n | break + n }. break", "3");
    fails("continue", "`continue` stands outside of a loop");
    fails("class A { -x { break } } 1", "`break` stands outside of a loop");
    fails("[1] do: { :n | class B { -x { break } } }", "`break` stands outside of a loop");
}

#[test]
fn loops_in_crowded_functions_are_left() {
    let names: String = (1..=250).map(|n| format!("a{n} := {n}. ")).collect();
    let body =
        format!("{names} [1,2,3] do: {{ :n | n = 2 ifTrue: {{ break }}. a250 := a250 + n }}. a250");
    gives(&format!("class A {{ -x {{ {body} }} }} A new x"), "251");
}

#[test]
fn loops_that_are_left_nest_deeply() {
    let nested = |depth: usize| {
        let open = "1 to: 2 do: { :i | i = 2 ifTrue: { break }. ".repeat(depth);
        format!("n := 0. {open} n := n + 1 {} . n", "}".repeat(depth))
    };
    gives(&nested(30), "1");
    fails(&nested(100), "nested");
}

// Text that grows -----------------------------------------------------------------------------------

#[test]
fn a_text_that_grows_is_what_it_would_be() {
    let long = "x".repeat(300);
    let start = format!("s := '{long}'. ");
    gives(
        &format!("{start} 3 repeat: {{ s := s , 'a' , s length , ';' }}. s from: 300"),
        "a300;a305;a310;",
    );
    gives(
        &format!(
            "{start} t := s. s := s , 'a'. u := s. s := s , 'b'. [ t length, u length, s length ]"
        ),
        "[300,301,302]",
    );
    gives(
        &format!("{start} s := s , 'a'. s := s , {{ s := s , 'lost'. 'b' }} value. s from: 300"),
        "ab",
    );
    gives(
        &format!(
            "{start} s := s , 'a'. {{ s := s , 'b' , (1 / 0) }} onError: {{ nil }}. s from: 300"
        ),
        "a",
    );
    gives(&format!("{start} s := s , 'a'. s := 3. s := s , 4. s"), "34");
    gives(&format!("{start} 2 repeat: {{ s := s , s }}. s length"), "1200");
}

#[test]
fn locals_grow_too() {
    let long = "x".repeat(300);
    let class = format!(
        "class A {{ -x {{ s := '{long}'. add := {{ :t | s := s , t }}. add value: 'a'. s := s , 'b'. \
         [ 1, 2 ] do: {{ :n | s := s , n }}. s from: 300 }} -y: s {{ s := s , 'a'. s := s , 'b'. s from: 300 }} }} "
    );
    gives(&format!("{class} A new x"), "ab12");
    gives(&format!("{class} A new y: '{long}'"), "ab");
}

#[test]
fn variables_that_grow_are_seen_from_outside() {
    let start = format!("s := '{}'. ", "x".repeat(300));
    gives(
        &format!(
            "{start} 2 repeat: {{ s := s , 'a' }}. context valueOfVariableNamed: 's' | length"
        ),
        "302",
    );
    gives(
        &format!("{start} 2 repeat: {{ s := s , 'a' }}. name := 's'. var:{{name}} length"),
        "302",
    );
    gives(
        &format!("{start} 2 repeat: {{ s := s , 'a' }}. r := ref:s. s := s , 'b'. r value length"),
        "303",
    );
}

#[test]
fn lists_with_a_comma_are_copied() {
    gives("a := [1]. b := a. 2 repeat: { a := a , 2 }. [ a, b ]", "[[1,2,2],[1]]");
}

// Sequences -------------------------------------------------------------------------------------------

#[test]
fn a_sequence_computes_no_more_than_it_needs() {
    let counted = "n := 0. s := (1 to: 1e9) lazy collect: { :i | n := n + 1. i }. ";
    for (ask, computed) in [
        ("s first: 3", "3"),
        ("s detect: { :i | i = 5 }", "5"),
        ("s take: 2 | asArray", "2"),
        ("s takeWhile: { :i | i < 4 } | count", "4"),
        ("s inGroupsOf: 2 | first", "2"),
        ("s isEmpty", "1"),
        ("s allSatisfy: { :i | i < 3 }", "3"),
        ("s do: { :i | i = 7 ifTrue: { break } }", "7"),
    ] {
        gives(&format!("{counted} {ask}. n"), computed);
    }
}

#[test]
fn nil_is_an_element_of_a_sequence() {
    gives("[ 1, nil, 3 ] lazy collect: { :n | n } | asArray", "[1,nil,3]");
    gives("[ nil, 2 ] lazy windowsOf: 2 | asArray", "[[nil,2]]");
    gives("[ 1, nil ] lazy uniq count", "2");
}

// Formats ---------------------------------------------------------------------------------------------

#[test]
fn rows_of_csv_are_bounded() {
    gives("('a\\n' , ('x' repeated: 1000000)) parseCSV first at: 'a' | length", "1000000");
    fails("('a\\n' , ('x' repeated: 1100000)) parseCSV", "CSV, line 2: a row has more than 1 MiB");
    gives("(',' repeated: 4095) parseCSV: #{ header: false } | first | count", "4096");
    fails("(',' repeated: 4096) parseCSV: #{ header: false }", "a row has more than 4096 fields");
}

#[test]
fn csv_reads_what_it_writes() {
    let rows = "[ [ 'a,b', 'say \"hi\"' ], [ 'two\\nlines', '' ], [ ' x ', 'ü' ] ]";
    gives(&format!("rows := {rows}. (rows asCSV parseCSV: #{{ header: false }}) = rows"), "true");
    gives("('\\u{FEFF}a\\r\\n1\\r\\n\\r\\n2' parseCSV) asJSON", r#"[{"a":"1"},{"a":"2"}]"#);
    fails("'a\\n\\n1,2' parseCSV", "CSV, line 3: 2 fields, but 1 column");
}

#[test]
fn xml_is_bounded_and_expands_nothing() {
    gives("(('<a>' repeated: 128) , ('</a>' repeated: 128)) parseXML name", "a");
    fails("(('<a>' repeated: 129) , ('</a>' repeated: 129)) parseXML", "nested more than 128 deep");
    fails("'<!DOCTYPE a [<!ENTITY b \"c\">]><a>&b;</a>' parseXML", "(DTD) is not allowed");
    fails("'<a/><b/>' parseXML", "a second root element");
    fails("'text' parseXML", "text outside of the root element");
    fails("'' parseXML", "there is no element");
    fails("'<a>' parseXML", "the element a is not closed");
    fails("'<a x=\"1\" x=\"2\"/>' parseXML", "XML, line 1");
}

#[test]
fn a_decompressed_size_is_bounded() {
    let bomb = "('0' repeated: 70000000)";
    fails(&format!("{bomb} gzipped gunzipped"), "larger than 67108864 bytes");
    fails(&format!("{bomb} zstdCompressed zstdDecompressed"), "larger than 67108864 bytes");
    fails(
        "('hello' repeated: 100) gzipped subdataWithRange: (0 to: 19) | gunzipped",
        "not valid gzip",
    );
}

#[test]
fn toml_is_refused_in_its_own_words() {
    fails("'a = 1\\na = 2' parseTOML", "TOML, line 2");
    fails(&format!("'a = {}' parseTOML", "[".repeat(10_000)), "TOML, line 1");
    gives("('a = \"\\\\u0000d1\"' parseTOML) at: 'a' | byteCount", "3");
}

#[test]
fn a_seed_gives_the_same_numbers_everywhere() {
    gives("(Random seed: 42) next: 1000000", "625399");
    gives(
        "r := #Random{ seed: 1 }. (1 to: 10000) allSatisfy: { :i | (0 to: 5) includes: (r next: 6) }",
        "true",
    );
}

// Dictionaries that share their keys ---------------------------------------------------------------

/// Whether a dictionary has keys of its own, or shares them with others of one literal or one text of JSON, is nothing
/// that a program sees.
#[test]
fn dictionaries_with_shared_keys_are_like_others() {
    let own = "made := { d := #{ }. d at: 'a' put: 1; at: 'b' put: 2; at: 'c' put: nil. d }. \
               list := [ made value, made value, made value ].";
    let literal = "list := (1 to: 3) asArray collect: { :i | #{ a: 1, b: 2, c: nil } }.";
    let record = r#"{"a":1,"b":2,"c":null}"#;
    let parsed = format!("list := '[{record},{record},{record}]' fromJSON.");
    for change in [
        "d",
        "d at: 'a' put: 7",
        "d at: 'd' put: 4",
        "d removeKey: 'a'",
        "d removeKey: 'c'. d at: 'c' put: 9",
        "d removeKey: 'b'. d at: 'b' put: 9. d removeKey: 'a'",
        "d removeAll. d at: 'x' put: 1",
        "d addAll: #{ c: 3, d: 4 }",
        "e := d copy. e at: 'd' put: 4. e removeKey: 'a'. seen add: e",
        "d keysAndValuesDo: { :k :v | k = 'a' ifTrue: { d removeKey: 'b' }. seen add: k }",
        "d keysAndValuesDo: { :k :v | k = 'a' ifTrue: { d removeKey: 'b'. d at: 'b' put: 9 }. seen add: k }",
        "d keysAndValuesDo: { :k :v | d at: k , 'x' put: 1. seen add: k }",
        "d keysDo: { :k | k = 'a' ifTrue: { d removeKey: 'b' }. seen add: k }",
        "d do: { :v :k | d removeKey: k. seen add: k }",
        "seen add: (d collect: { :v :k | d at: k put: 0. k })",
        "seen add: (d select: { :v :k | d removeKey: 'c'. v = 2 })",
        "d keysDo: { :k | d removeAll. seen add: k }",
        "seen add: d = (#{ c: nil, b: 2, a: 1 }); add: d keys; add: d values; add: d count; add: d hash = d copy hash",
    ] {
        let run = |list: &str| {
            run(&format!("{list} seen := []. d := list at: 1. {change}. [ seen, list ] asJSON"))
                .unwrap_or_else(|failure| panic!("{change}: {}", explained(&failure)))
        };
        let expected = run(own);
        assert_eq!(run(literal), expected, "{change}");
        assert_eq!(run(&parsed), expected, "{change}");
    }
}

#[test]
fn records_of_any_keys_are_parsed_and_written_as_they_are() {
    for text in [
        r#"[{"a":1},{"a":2},{"b":3},{"b":4},{"a":5}]"#,
        r#"[{"a":1,"b":2},{"b":1,"a":2},{"a":1,"b":2,"c":3},{"a":1},{},{"a":7,"b":8}]"#,
        r#"[{"a":{"x":1},"b":{"x":2}},{"a":{"y":3},"b":[{"x":4},{"x":5}]},{"a":{"x":6},"b":null}]"#,
        r#"{"a":{"a":{"a":{"a":1}}},"b":[[{"a":1}],[{"a":2}]]}"#,
        r#"[{"a\"\n":1,"größe":2},{"a\"\n":3,"größe":4},{"a\"\n":5,"größe":6}]"#,
    ] {
        gives(&format!("'{}' fromJSON asJSON", text.replace('\\', "\\\\")), text);
    }
    gives(
        r#"'[{"a":1,"b":2},{"a":1,"a":2},{"a":3,"b":4},{"a":5}]' fromJSON asJSON"#,
        r#"[{"a":1,"b":2},{"a":2},{"a":3,"b":4},{"a":5}]"#,
    );
}
