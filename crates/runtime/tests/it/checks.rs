//! Programs with one mistake each that can be proved before they run, and what the checker says of them.
#![allow(clippy::unwrap_used)]

use crate::support::Lab;
use runnel_check::codes::{CODES, Code};
use runnel_syntax::{Diagnostic, LineIndex, corrected};

/// What a program is about, the program, and its findings: line, column, code and title.
type Seed = (&'static str, &'static str, &'static [(u32, u32, &'static str, &'static str)]);

const SEEDS: &[Seed] = &[
    (
        "misspelt unary message",
        "stdout println: 'hello' uppercaseStrng",
        &[(1, 25, "unknown-message", "a String does not understand `uppercaseStrng`")],
    ),
    (
        "swapped letters, receiver unknown",
        "#-greet:name\nstdout println: name lenght",
        &[(2, 22, "unknown-message", "nothing understands `lenght`")],
    ),
    (
        "misspelt keyword",
        "stdout println: ([ 3, 1 ] sortedBuy: 'x')",
        &[(1, 27, "unknown-message", "an Array does not understand `sortedBuy:`")],
    ),
    (
        "misspelt second keyword",
        "stdout println: ('a-b' replace: '-' wiht: '+')",
        &[(1, 24, "unknown-message", "a String does not understand `replace:wiht:`")],
    ),
    (
        "operator of another class",
        "stdout println: 'abc' * 2",
        &[(1, 23, "unknown-message", "a String does not understand `*`")],
    ),
    (
        "no class defines it",
        "#-run:job\njob performNicely: 3",
        &[(2, 5, "unknown-message", "nothing understands `performNicely:`")],
    ),
    (
        "of a class of the file",
        "class Cat { -meow { 'meow' } }\nstdout println: Cat new meoww",
        &[(2, 25, "unknown-message", "a Cat does not understand `meoww`")],
    ),
    (
        "of the class itself",
        "class Cat { +named: name { name } }\nstdout println: (Cat nmaed: 'Tom')",
        &[(2, 22, "unknown-message", "the class Cat does not understand `nmaed:`")],
    ),
    (
        "to self",
        "class Cat { -meow { 'meow' } -speak { self moew } }\nstdout println: Cat new speak",
        &[(1, 44, "unknown-message", "a Cat does not understand `moew`")],
    ),
    (
        "too few arguments",
        "class Account { -deposit: amount to: name { amount } }\nstdout println: (Account new deposit: 3)",
        &[(
            2,
            30,
            "wrong-arity",
            "an Account does not understand `deposit:`: it takes 2 arguments",
        )],
    ),
    (
        "too many arguments",
        "class Account { -deposit: amount { amount } }\nstdout println: (Account new deposit: 3 to: 'x')",
        &[(
            2,
            41,
            "run-together",
            "two messages run together: an Account does not understand `deposit:to:`",
        )],
    ),
    (
        "an argument to a message without one",
        "stdout println: ('abc' reversed: 2)",
        &[(1, 24, "wrong-arity", "a String does not understand `reversed:`: it takes no argument")],
    ),
    (
        "a missing argument",
        "stdout println: ('a b' split)",
        &[(1, 24, "wrong-arity", "a String does not understand `split`: it takes one argument")],
    ),
    (
        "messages that run together",
        "stdout println: ([ 1, 2 ] select: { :x | x > 1 } collect: { :x | x })",
        &[(
            1,
            50,
            "run-together",
            "two messages run together: an Array does not understand `select:collect:`",
        )],
    ),
    (
        "a line that continues",
        "list := [ 1 ].\nlist do: { :x | stdout println: x }\nifTrue: { 3 }",
        &[(
            3,
            1,
            "run-together",
            "two messages run together: an Array does not understand `do:ifTrue:`",
        )],
    ),
    (
        "text as a condition",
        "title := 'sow'.\ntitle ifTrue: { stdout println: title }",
        &[(2, 1, "not-boolean", "a String is neither true nor false")],
    ),
    (
        "list as a condition",
        "[ 1, 2 ] ifTrue: { 'some' } ifFalse: { 'none' }",
        &[(1, 1, "not-boolean", "an Array is neither true nor false")],
    ),
    (
        "dictionary in a condition",
        "options := #{ verbose: true }.\noptions and: { true }",
        &[(2, 1, "not-boolean", "a Dictionary is neither true nor false")],
    ),
    (
        "surplus block parameter",
        "3 timesRepeat: { :a :b | stdout println: a }",
        &[(1, 22, "block-arity", "`timesRepeat:` gives its block one argument")],
    ),
    (
        "literal property",
        "class Person { var name. }\nstdout println: #Person{ nmae: 'Ann' }",
        &[(2, 26, "unknown-property", "Person has no property `nmae`")],
    ),
    (
        "inherited literal property",
        "class A { var name. }\nclass B : A { var cars. }\n#B{ name: 'Ann', car: 3 }",
        &[(3, 18, "unknown-property", "B has no property `car`")],
    ),
    (
        "option of a server",
        "server := #HTTPServer{ prot: 8080 }",
        &[(1, 24, "unknown-property", "HTTPServer has no property `prot`")],
    ),
    (
        "option of a combinator",
        "store := #Cache{ maxEntris: 3 }",
        &[(1, 18, "unknown-property", "Cache has no property `maxEntris`")],
    ),
    (
        "typed variable in a literal",
        "class Task { var <int> id. }\nstdout println: #Task{ id: 'seven' }",
        &[(2, 28, "wrong-type", "a variable of type <int> does not take a String")],
    ),
    (
        "typed variable in a method",
        "class Task { var <bool> done. -finish { this:done := 'yes'. self } }\nstdout println: Task new finish",
        &[(1, 54, "wrong-type", "a variable of type <bool> does not take a String")],
    ),
    (
        "default of a typed variable",
        "class Task { var <int> rank ← 'high'. }\nstdout println: Task new",
        &[(1, 31, "wrong-type", "a variable of type <int> does not take a String")],
    ),
    (
        "variable of the object",
        "class Task { var title. -shout { this:tilte uppercaseString } }\nstdout println: Task new shout",
        &[(1, 34, "unknown-variable", "Task has no variable `tilte`")],
    ),
    (
        "variable of the object that is written",
        "class Task { var title. -clear { this:name := '' . self } }\nstdout println: Task new clear",
        &[(1, 34, "unknown-variable", "Task has no variable `name`")],
    ),
    (
        "a dot for a colon",
        "class Counter { var count. -increment { this.count := this.count + 1 } }",
        &[
            (
                1,
                41,
                "dotted-name",
                "`this.count` is a local variable, and not `count` of the object",
            ),
            (
                1,
                55,
                "dotted-name",
                "`this.count` is a local variable, and not `count` of the object",
            ),
        ],
    ),
    (
        "unused local",
        "class Sum { -of: list { total := 0. list sum } }\nstdout println: (Sum new of: [ 1 ])",
        &[(1, 25, "unused-variable", "nothing reads `total`")],
    ),
    (
        "unused local of a block",
        "[ 1, 2 ] do: { :x | double := x * 2. stdout println: x }",
        &[(1, 21, "unused-variable", "nothing reads `double`")],
    ),
    (
        "unused declaration",
        "class Sum { -of: list { var total. list sum } }\nstdout println: (Sum new of: [ 1 ])",
        &[(1, 29, "unused-variable", "nothing reads `total`")],
    ),
    (
        "unused parameter",
        "class Sum { -of: list start: start { list sum } }\nstdout println: (Sum new of: [ 1 ] start: 3)",
        &[(1, 30, "unused-variable", "nothing reads `start`")],
    ),
    (
        "answer of a method without a type",
        "class Task { -rank { 3 } }\nstdout println: Task new rank words",
        &[(2, 31, "unknown-message", "a Number does not understand `words`")],
    ),
    (
        "answer of a method that calls itself",
        "class Sum { -to: n { n < 1 ifTrue: { ^ 0 }. self to: n } -text { 'a' } }\nSum new text sqrt",
        &[(2, 14, "unknown-message", "a String does not understand `sqrt`")],
    ),
    (
        "answer of a handler",
        "scheme Site { /count { get → <int> { name := 'x'. name uppercase } } }",
        &[(1, 51, "wrong-answer", "this handler declares <int> and answers a String")],
    ),
    (
        "comparison for assignment",
        "count := 1.\ncount = 3.\nstdout println: count",
        &[(2, 1, "no-effect", "this comparison has no effect")],
    ),
    (
        "comparison in a loop",
        "done := false.\n[ 1 ] do: { :x | done = true }.\nstdout println: done",
        &[(2, 18, "no-effect", "this comparison has no effect")],
    ),
    (
        "calculation without use",
        "total := 1.\ntotal + 1.\nstdout println: total",
        &[(2, 1, "no-effect", "this calculation has no effect")],
    ),
    (
        "comparison in a test",
        "test 'sum' {\n   total := 1 + 1.\n   total = 3.\n   total should: 2\n}",
        &[(3, 4, "no-effect", "this comparison has no effect")],
    ),
    (
        "code behind a return",
        "class Light { -colour { ^ 'red'. stdout println: 'never' } }\nstdout println: Light new colour",
        &[(1, 34, "unreachable", "this is never run")],
    ),
    (
        "variable declared twice",
        "class Task { var title. var done. var title. }\nstdout println: Task new",
        &[(1, 39, "doubled", "`title` is declared twice")],
    ),
    (
        "method defined twice",
        "class Task { -title { 'a' } -done { true } -title { 'b' } }\nstdout println: Task new title",
        &[(1, 45, "doubled", "Task has two methods `title`")],
    ),
    (
        "key given twice",
        "stdout println: #{ name: 'Ann', age: 3, name: 'Bob' }",
        &[(1, 41, "doubled", "`name` has two values in this literal")],
    ),
    (
        "answer of another type",
        "class Task { -<string>title { 3 + 4 } }\nstdout println: Task new title",
        &[(1, 31, "wrong-answer", "this method declares <string> and answers a Number")],
    ),
    (
        "one of the answers",
        "class Task { -<int>rank: name { name isEmpty ifTrue: { ^ 'none' }. 3 } }",
        &[(1, 58, "wrong-answer", "this method declares <int> and answers a String")],
    ),
    (
        "init without self",
        "class Counter { var count. -init { this:count := 0 } }\nstdout println: Counter new",
        &[(
            1,
            36,
            "init-answer",
            "`Counter new` answers the value of this, and not the new object",
        )],
    ),
    (
        "order with nil",
        "limit := 3.\nstdout println: limit > nil",
        &[(2, 25, "wrong-type", "nil has no order: `>` with it is an error")],
    ),
    (
        "type through a branch",
        "name := true ifTrue: { 'a' } ifFalse: { 'b' }.\nstdout println: name sqrt",
        &[(2, 22, "unknown-message", "a String does not understand `sqrt`")],
    ),
    (
        "type through assignments",
        "size := 3.\nsize := size + 1.\nstdout println: size uppercase",
        &[(3, 22, "unknown-message", "a Number does not understand `uppercase`")],
    ),
    (
        "type of a parameter",
        "class Sum { -double: <int>number { number uppercaseString } }\nstdout println: (Sum new double: 3)",
        &[(1, 43, "unknown-message", "a Number does not understand `uppercaseString`")],
    ),
    (
        "type of an answer",
        "stdout println: 'a b' count uppercaseString",
        &[(1, 29, "unknown-message", "a Number does not understand `uppercaseString`")],
    ),
    (
        "type of a method of the file",
        "class Task { -<string>title { 'sow' } }\nstdout println: Task new title sqrt",
        &[(2, 32, "unknown-message", "a String does not understand `sqrt`")],
    ),
    (
        "type behind ifNil:",
        "#-run:name\nlength := nil ifNil: { 0 }.\nstdout println: length words",
        &[(3, 24, "unknown-message", "a Number does not understand `words`")],
    ),
    (
        "size without its unit",
        "stdout println: ('x' gzipped gunzippedAtMost: 100) size",
        &[(1, 47, "no-unit", "gunzippedAtMost: 100 has no unit")],
    ),
    (
        "options of a message without their units",
        "stdout println: (ref:memory:page fetch: #{ timeout: 3, maxBodySize: 5000 }) status",
        &[
            (1, 53, "no-unit", "timeout: 3 has no unit"),
            (1, 69, "no-unit", "maxBodySize: 5000 has no unit"),
        ],
    ),
    (
        "limit of a stream without its unit",
        "scheme Up { /a { put streamed { (body:stream atMost: 3) text } } }",
        &[(1, 54, "no-unit", "atMost: 3 has no unit")],
    ),
    (
        "number computed for a size",
        "stdout println: ('x' gzipped gunzippedAtMost: 2 * 3 kilobytes + 5 bytes / 2 + 7) size\n\
         stdout println: ('x' gzipped gunzippedAtMost: 'x' count) size",
        &[(2, 47, "wrong-type", "`gunzippedAtMost:` takes ByteSize or String, not a Number")],
    ),
];

fn findings(lab: &Lab, source: &str) -> Vec<Diagnostic> {
    match lab.isolate.check(source, "seed.st") {
        Ok(found) => found,
        Err(errors) => panic!("it does not compile: {source}\n{errors:?}"),
    }
}

#[test]
fn each_mistake_is_found_and_nothing_else() {
    let lab = Lab::new();
    for (about, source, expected) in SEEDS {
        let found = findings(&lab, source);
        let index = LineIndex::new(source);
        let found: Vec<_> = found
            .iter()
            .map(|one| {
                let (line, column) = index.position(source, one.label.span.start);
                (line, column, one.code.unwrap_or_default(), one.title.as_str())
            })
            .collect();
        assert_eq!(found, *expected, "{about}: {source}");
    }
    assert!(SEEDS.len() >= 25);
}

#[test]
fn each_code_has_an_example_that_shows_it() {
    let lab = Lab::new();
    for Code { name, example, right, .. } in CODES {
        let found = findings(&lab, example);
        let codes: Vec<_> = found.iter().map(|one| one.code).collect();
        assert_eq!(codes, [Some(*name)], "{example}");
        assert_eq!(findings(&lab, right), [], "{right}");
    }
}

#[test]
fn each_finding_has_a_code_of_the_table_and_a_next_step() {
    let lab = Lab::new();
    for (about, source, _) in SEEDS {
        for one in findings(&lab, source) {
            assert!(one.code.and_then(runnel_check::codes::find).is_some(), "{about}: {one:?}");
            assert!(one.hint.is_some_and(|hint| !hint.is_empty()), "{about}");
        }
    }
}

#[test]
fn corrections_remove_their_findings() {
    let lab = Lab::new();
    let mut corrections = 0;
    for (about, source, _) in SEEDS {
        let found = findings(&lab, source);
        let (text, count) = corrected(source, &found);
        let left = findings(&lab, &text).len();
        assert_eq!(left, found.len() - count, "{about}: {text}");
        corrections += count;
    }
    assert!(corrections >= 8, "{corrections}");
}

/// Examples of messages that are checked together, each in a block of its own.
const TOGETHER: usize = 50;

/// The examples in the definitions of messages are right.
#[test]
fn examples_of_the_catalogue_have_no_findings() {
    let lab = Lab::new();
    let messages = runnel_runtime::catalogue().classes().flat_map(|class| &class.messages);
    let examples = messages.flat_map(|message| &message.examples).filter(|example| {
        let fails = example.result.as_ref().is_some_and(|text| text.starts_with("error"));
        // Servers have their options from the command.
        !fails && !example.source.contains("Server{")
    });
    let blocks = examples.map(|example| {
        format!(
            "{{ {}
}}.
",
            example.source
        )
    });
    // What needs a scheme of the command does not compile here.
    let blocks: Vec<String> =
        blocks.filter(|block| lab.isolate.compiles(block, "example.st").is_ok()).collect();
    assert!(blocks.len() > 1_000, "{}", blocks.len());
    for group in blocks.chunks(TOGETHER) {
        let source = group.concat();
        let mut found = findings(&lab, &source);
        // The value of an example is its last statement, and a block may leave its variables alone.
        found.retain(|one| one.code.is_some_and(|code| code != "unused-variable"));
        let shown = |one: &Diagnostic| (one.title.clone(), one.label.span.text(&source).to_owned());
        assert!(
            found.is_empty(),
            "{:?}
{source}",
            found.iter().map(shown).collect::<Vec<_>>()
        );
    }
}

/// The manual explains each code with the words and programs of the table, in its order.
#[test]
fn the_manual_has_the_codes_of_the_table() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../spec/commands/findings.md");
    let page = std::fs::read_to_string(page).unwrap();
    let headings: Vec<&str> =
        page.lines().filter_map(|line| line.strip_prefix("## `")?.strip_suffix('`')).collect();
    let names: Vec<&str> = CODES.iter().map(|code| code.name).collect();
    assert_eq!(headings, names);
    for (number, Code { name, meaning, example, right }) in CODES.iter().enumerate() {
        let start = page.find(&format!("## `{name}`")).unwrap();
        let end =
            CODES.get(number + 1).map(|next| page.find(&format!("## `{}`", next.name)).unwrap());
        let section = &page[start..end.unwrap_or(page.len())];
        let words = section.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(meaning), "{name}: {meaning}");
        assert!(
            section.contains(&format!("```file {name}.st\n{example}\n```")),
            "{name}: {example}"
        );
        assert!(section.contains(&format!("```runnel\n{right}\n```")), "{name}: {right}");
    }
}
