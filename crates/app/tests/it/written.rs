//! Text that becomes code: each message takes a literal and `"… {x} …"`, and refuses computed text.

use crate::support::program;

/// What begins each program.
const BEFORE: &str = "db ← ref:sqlite::memory: database. old ← #StreamQLite{ path: ':memory:' }.\n\
                      class Row { var <string> s. }\n";

/// A value that ends quotes, a tag and a command, as it stands in the program.
const EVIL: &str = "x ← \"o'k<i>; echo out\".\n";

/// The message with `TEXT` in place of its text, a literal, an interpolation (nil: it has none), and what
/// the two give.
type Row = (&'static str, &'static str, &'static str, Option<&'static str>, &'static str);

const TABLE: [Row; 10] = [
    (
        "(db run: TEXT) first at: 's'",
        "'select 1 as s'",
        "1",
        Some("\"select {x} as s\""),
        "o'k<i>; echo out",
    ),
    (
        "(db run: TEXT as: Row) first s",
        "\"select 'a' as s\"",
        "a",
        Some("\"select {x} as s\""),
        "o'k<i>; echo out",
    ),
    ("(db run: TEXT with: [ 2 ]) first at: 's'", "'select ? as s'", "2", None, ""),
    ("(db run: TEXT with: [ 'b' ] as: Row) first s", "'select ? as s'", "b", None, ""),
    (
        "(old query: TEXT) first at: 's'",
        "'select 3 as s'",
        "3",
        Some("\"select {x} as s\""),
        "o'k<i>; echo out",
    ),
    (
        "(old exec: TEXT) first at: 's'",
        "'select 4 as s'",
        "4",
        Some("\"select {x} as s\""),
        "o'k<i>; echo out",
    ),
    (
        "shell run: TEXT",
        "'echo a'",
        "a\n",
        Some("\"echo {x} '{x}' \\\"{x}\\\" a{x}\""),
        "o'k<i>; echo out o'k<i>; echo out o'k<i>; echo out ao'k<i>; echo out\n",
    ),
    (
        "(Raw text: TEXT) stringValue",
        "'<b>'",
        "<b>",
        Some("\"<b>{x}\""),
        "<b>o&#39;k&lt;i&gt;; echo out",
    ),
    (
        "#Raw[ TEXT ] stringValue",
        "'<b>'",
        "<b>",
        Some("\"<b>{x}\""),
        "<b>o&#39;k&lt;i&gt;; echo out",
    ),
    ("context evaluateScriptString: TEXT", "'3 + 4'", "7", None, ""),
];

fn shown(message: &str, text: &str) -> String {
    let message = message.replace("TEXT", text);
    program(&format!("{BEFORE}{EVIL}stdout print: ({message}).")).out
}

#[test]
fn written_text_becomes_code_and_its_values_do_not() {
    for (message, literal, gives, filled, gives_filled) in TABLE {
        assert_eq!(shown(message, literal), gives, "{message} {literal}");
        if let Some(filled) = filled {
            assert_eq!(shown(message, filled), gives_filled, "{message} {filled}");
        }
    }
}

#[test]
fn computed_text_is_refused_wherever_it_comes_from() {
    for (message, literal, ..) in TABLE {
        for text in ["t", "(t , ' ')", "(t asString)"] {
            let message = message.replace("TEXT", text);
            let outcome = program(&format!("{BEFORE}t ← {literal}.\nstdout print: ({message})."));
            assert_eq!(outcome.out, "", "{message}");
            assert!(outcome.err.contains(" written here; its "), "{message}: {}", outcome.err);
            assert!(outcome.err.contains("computed: text"), "{message}: {}", outcome.err);
        }
    }
}

#[test]
fn receivers_known_only_at_run_time_refuse_computed_text() {
    for text in [
        "{ :any | any run: sql } value: db.",
        "{ :any | any perform: 'run:' with: sql } value: db.",
        "{ :any | any perform: 'run:with:' with: sql with: [] } value: db.",
        "{ :any | any fromArray: [ sql ] } value: Raw.",
        "{ :any | any text: sql } value: Raw.",
        "{ :any | any run: sql } value: shell.",
    ] {
        let outcome = program(&format!("{BEFORE}sql ← 'select 1'.\n{text}"));
        assert!(outcome.err.contains("takes text written here"), "{text}: {}", outcome.err);
    }
}

#[test]
fn other_receivers_of_the_messages_get_text() {
    let text = "class Own { -run: text { text } -run: text with: more { \"{text} {more}\" } }\n\
                own ← Own new. n ← 2. t ← 'c'.\n\
                stdout print: \"{own run: 'a'} {own run: \"b{n}\"} {own run: t} {own run: \"d{n}\" with: n}\".";
    assert_eq!(program(text).out, "a b2 c d2 2");
}

#[test]
fn values_stand_only_where_they_can_be_quoted() {
    for (text, error) in [
        ("db run: \"select '{x}'\"", "leave out the quotes"),
        ("db run: \"select {x}\" with: [ 1 ]", "parameters in two places"),
        ("shell run: \"echo `echo {x}`\"", "cannot be quoted"),
        ("shell run: \"echo \\\"$(echo {x})\\\"\"", "cannot be quoted"),
        ("shell run: \"cat <<END\\n{x}\\nEND\"", "cannot be quoted"),
        ("shell run: \"echo $(( {x} ))\"", "cannot be quoted"),
        ("shell run: \"echo ${x}\"", "cannot be quoted"),
        ("shell run: \"echo a # {x}\"", "cannot be quoted"),
        ("#Raw[ \"<b title={x}>\" ]", "within a tag"),
        ("#Raw[ \"<script>a({x})</script>\" ]", "within #script"),
        ("#Raw[ \"<!-- {x} -->\" ]", "within a comment"),
        ("#button{ onclick: #Raw[ \"go({x})\" ] }[ 'x' ]", "is markup, not"),
        ("#script[ #Raw[ \"go({x})\" ] ]", "is markup, not"),
        ("#style[ #Raw[ \"p {x}\" ] ]", "is markup, not"),
    ] {
        let outcome = program(&format!("{BEFORE}x ← 'a'.\n{text}"));
        assert!(outcome.err.contains(error), "{text}: {}", outcome.err);
    }
}

#[test]
fn a_value_of_a_request_chooses_no_reference_and_no_message() {
    for (text, error) in [
        ("query:a asReference", "cannot become a reference"),
        ("p asReference", "cannot become a reference"),
        ("(form:a trim) asReference", "cannot become a reference"),
        ("\"file:{header:a}\" asReference", "cannot become a reference"),
        ("(newValue , '') asReference", "cannot become a reference"),
        ("v ← cookie:a. v asReference", "cannot become a reference"),
        ("context bindingForString: body:a", "cannot become a reference"),
        ("3 perform: query:a", "cannot choose a message"),
        ("3 perform: p with: 4", "cannot choose a message"),
        ("3 performSelector: form:a", "cannot choose a message"),
    ] {
        let outcome = program(&format!("scheme Site {{ /:p {{ put {{ {text} }} }} }}"));
        assert!(outcome.err.contains(error), "{text}: {}", outcome.err);
    }
    // What a dictionary of the program has for the value is the program's own.
    let fine = "places ← #{ a: 'file:x' }.\nscheme Site { var places. \
                /:p { get { (this:places at: p) asReference path } } }\n\
                scheme:site ← #Site{ places: places }.\nstdout print: site:a.";
    assert_eq!(program(fine).out, "x");
}

#[test]
fn an_animation_sets_no_address_that_runs_code() {
    for attribute in ["values", "to", "from", "by"] {
        for tag in ["animate", "set"] {
            for value in ["'/a;javascript:x'", "bad", "\"/a;{bad}\""] {
                let text = format!(
                    "bad ← ' JavaScript:x'.\nstdout print: #{tag}{{ attributeName: 'href', {attribute}: {value} }}."
                );
                let outcome = program(&text);
                assert_eq!(outcome.out, "", "{text}");
                assert!(
                    outcome.err.contains("an address that runs code"),
                    "{text}: {}",
                    outcome.err
                );
            }
        }
    }
    let fine = "stdout print: #animate{ attributeName: 'r', values: '0;5;0', to: 7 }.";
    assert!(program(fine).out.contains("values=\"0;5;0\" to=\"7\""));
}
