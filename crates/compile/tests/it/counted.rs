//! Variables of the script that are locals because its loops count in them.
#![allow(clippy::unwrap_used)]

use crate::world::World;
use runnel_compile::{SourceRole, compile};
use runnel_syntax::parse;

/// Whether `sum` of a program lives in the table of variables.
fn is_kept(source: &str, role: SourceRole) -> bool {
    let parsed = parse(source);
    assert!(parsed.diagnostics.is_empty(), "{source}: {:?}", parsed.diagnostics);
    let chunk = compile(&parsed.program, source, &World { role });
    chunk.unwrap_or_else(|why| panic!("{source}: {why:?}")).lua.contains("V[\"sum\"]")
}

#[test]
fn what_a_loop_counts_in_is_a_local_of_a_whole_program() {
    for source in [
        "sum := 0. 1 to: 9 do: { :i | sum := sum + i }. stdout println: sum",
        "sum := 0. 9 timesRepeat: { sum := sum + 1 }. sum",
        "sum := 0. { sum < 9 } whileTrue: { sum := sum + 1 }. sum",
        "sum := 0. 1 to: 9 do: { :i | i > 3 ifTrue: { sum := sum + i } }. \"sum: {sum}\"",
        "sum := 0. 1 to: 9 do: { :i | 1 to: i do: { :k | sum := sum + k } }. sum",
        "class Pair { var sum. -twice { this:sum * 2 } } 1 + 1",
    ] {
        assert!(!is_kept(source, SourceRole::WholeProgram), "{source}");
    }
    assert!(is_kept("sum := 0. 1 to: 9 do: { :i | sum := sum + i }. sum", SourceRole::Part));
}

#[test]
fn what_something_else_may_name_is_kept() {
    let counted = "sum := 0. 1 to: 9 do: { :i | sum := sum + i }.";
    let others = "other := 1. ".repeat(40);
    for source in [
        // Nothing counts in it.
        "sum := 3. sum + 1".to_string(),
        // Blocks and classes, which run at other times.
        format!("{counted} later := {{ sum }}. later value"),
        format!("{counted} #(1 2) do: {{ :each | sum := sum + each }}. sum"),
        format!("class Pair {{ -sum {{ 3 }} }} {counted} sum"),
        format!("{counted} test 'of it' {{ sum }}"),
        // References, and what follows a variable.
        format!("{counted} ref:sum value"),
        format!("{counted} var:sum"),
        format!("{counted} name := 'sum'. var:{{name}}"),
        format!("{counted} twice := 0. twice |= sum * 2. twice"),
        // Names that are texts, and the prompt.
        format!("{counted} context valueOfVariableNamed: 'sum'"),
        format!("{counted} 'var:sum' asReference value"),
        // Statements that are another function.
        format!("{counted} {others} sum"),
        // A text that grows has its own way.
        "sum := ''. 1 to: 9 do: { :i | sum := sum , 'x' }. sum".to_string(),
    ] {
        assert!(is_kept(&source, SourceRole::WholeProgram), "{source}");
    }
}
