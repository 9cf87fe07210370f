//! Memory that runs out at any moment: always an error of the program, never the end of the process.
#![allow(clippy::unwrap_used)]

use crate::support::{Lab, explained};
use runnel_runtime::Failure;

/// Asks for memory in many ways: in the language, in functions of the engine, in natives, and in
/// native work in slices.
const SOURCE: &str = r#"
class Item { var name. var parts. }
kept := #MutableArray[].
text := 'a text with "quotes" and ünïcode'.
1 to: 25 do: { :i |
   parts := (1 to: 50) collect: { :n | #{ n: n, text: (text repeated: n) } }.
   item := #Item{ name: (text , i stringValue), parts: parts }.
   kept addObject: item.
   memory:item ← item parts asJSON.
   again := memory:item parseJSON.
   kept addObject: (again collect: { :one | (one at: 'text') uppercaseString }).
   kept addObject: ((again asJSON componentsSeparatedByString: ',') componentsJoinedByString: ';').
   kept addObject: (text repeated: 8000) hex.
   kept addObject: (10 pow: i * 100).
   { nil unknown } onError: { :e | kept addObject: e message }.
   { kept addObject: (again sort: { :a :b | (a at: 'n') > (b at: 'n') }) } fork join.
}.
kept count
"#;

#[test]
fn memory_may_run_out_at_any_moment() {
    let plenty = Lab::new();
    let whole = plenty.value(SOURCE);
    let needed = runnel_runtime::load().memory;
    drop(plenty);
    let least = {
        let _idle = Lab::new();
        runnel_runtime::load().memory
    };
    let (mut done, mut failed) = (0, 0);
    // An odd step, so that other allocations meet the limit each time; up to what is enough.
    let (mut memory, step) = (least + 1000, (needed - least) / 200 + 4097);
    while done < 3 {
        memory += step;
        let lab = Lab::limited(memory);
        match lab.run(SOURCE) {
            Ok(count) => {
                assert_eq!(count, whole);
                done += 1;
            }
            Err(Failure::Fault(fault)) => {
                assert!(matches!(&*fault.kind, "memory" | "unavailable"), "{fault:?}");
                failed += 1;
            }
            Err(failure) => panic!("{}", explained(&failure)),
        }
        // What is left is enough for something small, once the garbage is collected.
        if memory > least + 1_000_000 {
            let small = lab.run("kept := nil. again := nil. item := nil. parts := nil. 3 + 4");
            assert!(matches!(&small, Ok(text) if text == "7"), "{memory}: {small:?}");
        }
    }
    assert!(failed > 5, "{failed} runs failed, {done} did not; {needed} bytes are enough");
    assert!(done > 0, "no run had enough");
}

#[test]
fn a_large_value_that_does_not_fit_is_refused_whole() {
    let lab = Lab::limited(16 << 20);
    let json = format!("[{}]", vec!["{}"; 400_000].join(","));
    lab.value(&format!("memory:json ← '{json}'. 1"));
    for source in ["memory:json parseJSON count", "(memory:json parseJSON) asJSON length"] {
        match lab.run(source) {
            Err(Failure::Fault(fault)) => {
                assert!(matches!(&*fault.kind, "memory" | "unavailable"), "{fault:?}");
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(lab.value("3 + 4"), "7");
    }
    let caught = "{ memory:json parseJSON. 'parsed' } onError: { :e | 'caught' }";
    assert_eq!(lab.value(caught), "caught");
}

#[test]
fn garbage_is_collected_before_an_error_is_raised() {
    let lab = Lab::limited(24 << 20);
    assert_eq!(lab.value("1 to: 400000 do: { :i | (1 to: 20) asArray }. 'done'"), "done");
    assert!(runnel_runtime::load().memory < 32 << 20);
}

#[test]
fn results_of_forked_fibers_are_collected() {
    let lab = Lab::limited(24 << 20);
    let source = "1 to: 2000 do: { :i | { 'text' repeated: 25000 } fork join }. 'done'";
    assert_eq!(lab.value(source), "done");
}
