//! Connections: what 10,000 of them leave behind.
#![allow(clippy::unwrap_used)]

use crate::support::Lab;

/// What may be left: fibers in the pool, tables of the engine that have grown once, as far as the
/// machine's load lets ended watches come together. A connection takes more than 400 bytes, so
/// 10,000 of them would be 4 MB.
const KEPT: usize = 1024 * 1024;

/// Each line connects two ends; `c` is the connection.
const CONNECTIONS: [&str; 10] = [
    "c := Double → stdline.",
    "c := Double → Double → port:stdout/println:.",
    "c := shared → sink.",
    "c := ref:n → ref:m.",
    "c := ref:n → { :x | x }.",
    "c := ref:memory:a → ref:memory:b.",
    "c := text → ref:m.",
    "c := text → [ label, { :x | x } ].",
    "c := ref:n → label.",
    "c := protocol:Told → { :x | x }.",
];

const BEFORE: &str = "
filter Double |{ ^object * 2 }
protocol Told { -told. }
shared := Double new.
sink := #MutableArray[].
n := 1. m := 2. memory:a := 3.
text := #TextField{ }. label := #Label{ }.
";

fn used(lab: &Lab) -> usize {
    lab.isolate.run_lua("collectgarbage() collectgarbage() collectgarbage()", "collect").unwrap();
    runnel_runtime::load().memory
}

#[test]
fn connections_leave_no_memory() {
    let lab = Lab::new();
    lab.run(BEFORE).unwrap();
    for connection in CONNECTIONS {
        let many = |count| {
            format!("{count} repeat: {{ {connection} c disconnect. }}. runLoop runFor: 0.02. nil")
        };
        // As many before: tables of the engine grow once, and what is made first stays.
        lab.run(&many(10_000)).unwrap_or_else(|_| panic!("{connection}"));
        let before = used(&lab);
        lab.run(&many(10_000)).unwrap();
        let after = used(&lab);
        assert!(after < before + KEPT, "{connection} {before} → {after}");
    }
}

#[test]
fn a_disconnected_end_gets_nothing() {
    let lab = Lab::new();
    lab.run(BEFORE).unwrap();
    for connection in CONNECTIONS {
        let source = format!("{connection} c disconnect. c isConnected");
        assert_eq!(lab.value(&source), "false", "{connection}");
    }
    lab.run("ref:n → ref:m. n := 7.").unwrap();
    assert_eq!(lab.value("m"), "7");
    assert_eq!(lab.output(), "");
}
