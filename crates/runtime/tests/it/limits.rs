//! Large programs: each runs, or is refused with a diagnostic of the language's own. The engine's
//! limits (200 locals, 60 captured variables, 65,536 constants, 200 levels, the reach of a jump)
//! are the compiler's problem.
#![allow(clippy::unwrap_used)]

use crate::support::{Lab, explained};
use runnel_runtime::Failure;
use std::fmt::Write;

/// `count` texts, each made from its number from 1.
fn many(count: usize, text: impl Fn(usize) -> String) -> String {
    (1..=count).map(text).collect()
}

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
        Ok(text) => assert_eq!(text, expected),
        Err(failure) => panic!("{}", explained(&failure)),
    }
}

/// The source is refused by a diagnostic that has these words, and that is not the engine's own.
fn refused(source: &str, words: &str) {
    match run(source) {
        Err(Failure::Compile(diagnostics)) => {
            let text: String = diagnostics.iter().map(crate::support::sentence).collect();
            assert!(text.contains(words), "{text}");
            assert!(diagnostics.iter().all(|one| one.hint.is_some()), "no next step: {text}");
        }
        Err(failure) => panic!("{}", explained(&failure)),
        Ok(text) => panic!("it runs and gives {text}"),
    }
}

/// As deep as it goes it runs with the expected value; deeper it is refused in the language's own
/// words; there is no depth between the two that the engine refuses.
fn nests(least: usize, source: impl Fn(usize) -> String, expected: impl Fn(usize) -> String) {
    gives(&source(least), &expected(least));
    for depth in (least..200).step_by(10) {
        match run(&source(depth)) {
            Ok(text) => assert_eq!(text, expected(depth)),
            Err(Failure::Compile(_)) => refused(&source(depth), "nested"),
            Err(failure) => panic!("{}", explained(&failure)),
        }
    }
    refused(&source(250), "nested");
}

fn method(body: &str) -> String {
    format!("class A {{\n-run {{\n{body}\n}}\n}}\n#A{{}} run.\n")
}

#[test]
fn ten_thousand_statements() {
    let source = many(10_000, |n| format!("a{n} ← {n}.\n"));
    gives(&format!("{source}a1 + a10000."), "10001");
}

#[test]
fn a_thousand_methods() {
    let methods = many(1_000, |n| format!("-m{n} {{ ^{n}. }}\n"));
    gives(&format!("class A {{\n{methods}}}\n#A{{}} m1000."), "1000");
}

#[test]
fn a_thousand_classes() {
    let classes = many(1_000, |n| format!("class C{n} {{ -m {{ ^{n}. }} }}\n"));
    gives(&format!("{classes}#C1000{{}} m."), "1000");
}

#[test]
fn three_hundred_instance_variables() {
    let variables = many(300, |n| format!("var v{n}.\n"));
    let pairs: Vec<String> = (1..=300).map(|n| format!("v{n}: {n}")).collect();
    let source = format!("class A {{\n{variables}}}\n#A{{ {} }} v300.", pairs.join(", "));
    gives(&source, "300");
}

#[test]
fn three_hundred_variables_of_a_method() {
    let body = many(300, |n| format!("a{n} ← {n}.\n"));
    gives(&method(&format!("{body}^a1 + a300.")), "301");
}

#[test]
fn three_hundred_variables_of_a_block() {
    let body = many(300, |n| format!("a{n} ← {n}.\n"));
    gives(&format!("{{ {body} a1 + a300. }} value."), "301");
}

#[test]
fn three_hundred_variables_in_an_inlined_block() {
    let body = many(300, |n| format!("a{n} ← {n}.\n"));
    gives(&method(&format!("true ifTrue: {{ {body} ^a1 + a300. }}.")), "301");
}

#[test]
fn three_hundred_captured_variables() {
    let body = many(300, |n| format!("a{n} ← {n}.\n"));
    let mut sum = String::from("0");
    (1..=300).for_each(|n| write!(sum, " + a{n}").unwrap());
    gives(&method(&format!("{body}^{{ {{ {sum}. }} value. }} value.")), "45150");
}

#[test]
fn variables_captured_from_many_blocks() {
    // Each of 100 nested scopes owns one variable; the innermost block uses all of them.
    let depth = 30;
    let mut source = String::new();
    (0..depth).for_each(|n| write!(source, "{{ a{n} ← {n}. ").unwrap());
    source.push('0');
    (0..depth).for_each(|n| write!(source, " + a{n}").unwrap());
    source.push_str(&" } value".repeat(depth));
    gives(&method(&format!("^{source}.")), "435");
}

#[test]
fn three_hundred_parameters_of_a_block() {
    let parameters = many(300, |n| format!(":p{n} "));
    refused(&format!("b ← {{ {parameters}| p1 }}. b value: 7."), "parameters");
}

#[test]
fn three_hundred_parameters_of_a_method() {
    let head = many(300, |n| format!("k{n}:p{n} "));
    let call = many(300, |n| format!("k{n}: {n} "));
    let source = format!("class A {{\n-{head} {{ ^p1 + p300. }}\n}}\n#A{{}} {call}.");
    refused(&source, "parameters");
}

#[test]
fn seventy_thousand_elements() {
    let elements: Vec<String> = (1..=70_000).map(|n| n.to_string()).collect();
    gives(&format!("[ {} ] count.", elements.join(", ")), "70000");
}

#[test]
fn seventy_thousand_different_texts() {
    let elements: Vec<String> = (1..=70_000).map(|n| format!("'t{n}'")).collect();
    gives(&format!("([ {} ] at: 69999).", elements.join(", ")), "t70000");
}

#[test]
fn seventy_thousand_pairs() {
    let pairs: Vec<String> = (1..=70_000).map(|n| format!("k{n}: {n}")).collect();
    gives(&format!("#{{ {} }} at: 'k70000'.", pairs.join(", ")), "70000");
}

#[test]
fn seventy_thousand_children() {
    let children: Vec<String> = (1..=70_000).map(|n| format!("'{n}'")).collect();
    gives(&format!("#p[ {} ] asString length > 70000.", children.join(", ")), "true");
}

#[test]
fn an_object_with_a_thousand_computed_elements() {
    let elements: Vec<String> = (1..=1_000).map(|n| format!("(a ← {n})")).collect();
    gives(&format!("[ {} ] count.", elements.join(", ")), "1000");
}

#[test]
fn a_long_text() {
    let text = "x".repeat(1 << 20);
    gives(&format!("'{text}' length."), "1048576");
}

#[test]
fn a_thousand_interpolations() {
    gives(&format!("a ← 1. \"{}\" length.", "{a}".repeat(1_000)), "1000");
}

#[test]
fn long_chains_of_messages() {
    gives(&format!("0{}.", " + 1".repeat(900)), "900");
    gives(&format!("-5{}.", " abs".repeat(900)), "5");
    gives(&format!("('a'{}) length.", " , 'b'".repeat(900)), "901");
    refused(&format!("0{}.", " + 1".repeat(2_000)), "too long");
}

#[test]
fn long_cascades() {
    let cascade = |count: usize| format!("a ← []. a{} count.", " add: 1;".repeat(count));
    gives(&cascade(900), "900");
    refused(&cascade(5_000), "too long");
}

#[test]
fn a_method_of_twenty_thousand_statements() {
    let body = "n ← n + 1.\n".repeat(20_000);
    gives(&method(&format!("n ← 0.\n{body}^n.")), "20000");
}

#[test]
fn a_loop_of_twenty_thousand_statements() {
    let body = "n ← n + 1.\n".repeat(20_000);
    gives(&method(&format!("n ← 0.\n1 to: 3 do: {{ :i |\n{body} }}.\n^n.")), "60000");
}

#[test]
fn a_branch_of_twenty_thousand_statements() {
    let body = "n ← n + 1.\n".repeat(20_000);
    let source = format!("n ← 0.\nn = 0 ifTrue: {{\n{body} }} ifFalse: {{ n ← 5. }}.\n^n.");
    gives(&method(&source), "20000");
}

#[test]
fn blocks_in_blocks() {
    let source = |depth| format!("{}7{}.", "{ ".repeat(depth), " } value".repeat(depth));
    nests(30, source, |_| "7".into());
}

#[test]
fn blocks_as_arguments_in_each_other() {
    let source = |depth| {
        format!("{}7{}.", "([1] inject: 0 into: { :a :b | ".repeat(depth), " })".repeat(depth))
    };
    nests(20, source, |_| "7".into());
}

#[test]
fn conditions_in_conditions() {
    let source = |depth| format!("{}7{}.", "true ifTrue: { ".repeat(depth), " }".repeat(depth));
    nests(50, source, |_| "7".into());
}

#[test]
fn conditions_in_operators() {
    let source =
        |depth| format!("{}0{}.", "1 + (true ifTrue: { ".repeat(depth), " })".repeat(depth));
    nests(40, source, |depth| depth.to_string());
}

#[test]
fn loops_in_loops() {
    let source = |depth| {
        let heads = many(depth, |n| format!("1 to: 1 do: {{ :i{n} | "));
        format!("n ← 0. {heads} n ← n + i1 + i{depth}.{}. n.", " }".repeat(depth))
    };
    nests(30, source, |_| "2".into());
}

#[test]
fn parentheses_in_parentheses() {
    let source = |depth| format!("{}7{}.", "(".repeat(depth), ")".repeat(depth));
    nests(90, source, |_| "7".into());
    let sums = |depth| format!("{}7{}.", "(1 + ".repeat(depth), ")".repeat(depth));
    nests(90, sums, |depth| (depth + 7).to_string());
}

#[test]
fn literals_in_literals() {
    let arrays = |depth| format!("{}7{} count.", "[".repeat(depth), "]".repeat(depth));
    nests(90, arrays, |_| "1".into());
    let pairs = |depth| format!("{}7{} count.", "#{ a: ".repeat(depth), "}".repeat(depth));
    nests(90, pairs, |_| "1".into());
    let elements = |depth| format!("{}'x'{} isNil.", "#p[ ".repeat(depth), " ]".repeat(depth));
    nests(90, elements, |_| "false".into());
    let texts = |depth| format!("{}x{}.", "\"{ ".repeat(depth), " }\"".repeat(depth));
    nests(90, |depth| format!("x ← 'y'. {}", texts(depth)), |_| "y".into());
}

#[test]
fn subscripts_in_subscripts() {
    let source = |depth| format!("a ← [0]. {}0{}.", "a[ ".repeat(depth), " ]".repeat(depth));
    nests(90, source, |_| "0".into());
}

#[test]
fn assignments_in_a_row() {
    let names = many(150, |n| format!("a{n} ← "));
    gives(&format!("{names}3. a1 + a150."), "6");
}

#[test]
fn calls_in_calls_beside_many_variables() {
    // Arguments that wait take places among the engine's 250 for a function.
    let variables = many(110, |n| format!("a{n} ← {n}.\n"));
    let source = |depth| {
        let (head, tail) = ("(self at: a1 b: a2 c: a3 d: ".repeat(depth), ")".repeat(depth));
        format!(
            "class A {{\n-at:x b:y c:z d:w {{ ^w. }}\n-run {{\n{variables}^{head}7{tail}.\n}}\n}}\n\
             #A{{}} run."
        )
    };
    nests(15, source, |_| "7".into());
}
