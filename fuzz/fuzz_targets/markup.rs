//! Texts of strangers in a page: whatever they are, they stay text. What is escaped while compiling
//! and what is escaped while running agree, and both give the text back.
//!
//! To be run with `-detect_leaks=0`: the detector does not see what LuaJIT refers to.
#![no_main]

use libfuzzer_sys::fuzz_target;
use runnel_runtime::{Host, Isolate, Limits};
use std::rc::Rc;

/// Bytes of a text; what is longer says nothing new.
const LONGEST: usize = 2_000;

/// A world with nothing in it.
struct Nothing;

impl Host for Nothing {}

/// A text as the language writes it.
fn quoted(text: &str) -> String {
    let inside: String = text
        .chars()
        .map(|c| match c {
            '\'' => "''".into(),
            c if c.is_ascii_alphanumeric() || "<>&\"/ =(){}[]#;:!-".contains(c) => c.to_string(),
            c => format!("\\u{{{:x}}}", u32::from(c)),
        })
        .collect();
    format!("'{inside}'")
}

/// What escaping must give, said another way than in the compiler and in the kernel.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;")
}

fuzz_target!(|text: &str| {
    thread_local! {
        static WORLD: (Isolate, tokio::runtime::Runtime) = (
            Isolate::new(Rc::new(Nothing), Limits::default()).expect("an isolate"),
            tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a loop"),
        );
    }
    if text.len() > LONGEST {
        return;
    }
    let literal = quoted(text);
    let program = format!(
        "t := {literal}. (#div{{ title: {literal}, id: t, class: [ t ] }}[ {literal}, '|', t, '|', \
         \"{{t}}\", '|', [ t ] collect: {{ :one | one }}, #script[ 'x = ', t ], #Comment[ t ] ]) asHTML"
    );
    let outcome = WORLD.with(|(isolate, events)| {
        tokio::task::LocalSet::new().block_on(events, isolate.run(&program, "fuzz"))
    });
    let markup = match outcome {
        Ok(outcome) => outcome.text.unwrap_or_default(),
        Err(_) => panic!("a page of any text can be written: {program}"),
    };
    let safe = escaped(text);
    let class = if text.is_empty() { String::new() } else { format!(" class=\"{safe}\"") };
    let start = format!(
        "<div title=\"{safe}\" id=\"{safe}\"{class}>{safe}|{safe}|{safe}|{safe}<script>x = \""
    );
    let rest = markup.strip_prefix(&start).unwrap_or_else(|| panic!("{markup}\n{start}"));
    let (script, rest) = rest.split_once("</script><!-- ").expect("the script's own end");
    assert!(!script.contains('<') && script.ends_with('"'), "{script}");
    let comment = rest.strip_suffix(" --></div>").expect("the comment's own end");
    assert!(!comment.contains("--") && !comment.contains(['<', '>']), "{comment}");
});
