//! Large and deep programs: the work is bounded, and no stack overflows.

use crate::common::{codes, findings};
use runnel_syntax::limits::MAX_NESTING;
use std::fmt::Write;

#[test]
fn long_chains_and_deep_nesting_end() {
    let depth = MAX_NESTING as usize - 10;
    for source in [
        format!("x := 'a'{}", " length".repeat(900)),
        format!("x := 1{}", " + 1".repeat(900)),
        format!("x := 1{}", " | length".repeat(900)),
        format!("x := y{}", "[1]".repeat(900)),
        format!("x := y{}", "?".repeat(900)),
        format!("x := {}1{}", "(".repeat(depth), ")".repeat(depth)),
        format!("x := {}1{}", "{ ".repeat(depth), " }".repeat(depth)),
        format!("{}1", "x := ".repeat(depth)),
        format!("{}1", "x → ".repeat(depth)),
        format!("x := 'a'{}", "; length".repeat(5_000)),
    ] {
        findings(&source);
    }
}

#[test]
fn types_that_never_settle_end() {
    // Each variable takes the type of the one before it, against the order of the passes.
    let mut source = String::new();
    for number in (1..60).rev() {
        let _ = writeln!(source, "a{} := a{number}.", number + 1);
    }
    source.push_str("a1 := 'text'. a60 sqrt. a1 sqrt");
    // Nothing is known of variables then: silence is right.
    assert!(codes(&source).len() <= 2);
}

#[test]
fn findings_are_at_most_200() {
    let source = "'a' lenght.\n".repeat(1_000);
    assert_eq!(findings(&source).len(), 200);
}

#[test]
fn ten_thousand_classes_are_checked() {
    let mut source = String::new();
    for number in 0..10_000 {
        let _ = writeln!(source, "class C{number} {{ var a. -b {{ this:a }} }}");
    }
    source.push_str("C9999 new c");
    assert_eq!(codes(&source), ["unknown-message"]);
}

#[test]
fn a_line_of_superclasses_is_checked() {
    let mut source = "class C0 { -a { 1 } }\n".to_owned();
    for number in 1..500 {
        let _ = writeln!(source, "class C{number} : C{} {{ -b {{ self a }} }}", number - 1);
    }
    source.push_str("C499 new c. C0 new c");
    findings(&source);
}
