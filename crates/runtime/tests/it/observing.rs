//! Observers and constraints: what 10,000 of them leave behind, and who gets an error.
#![allow(clippy::unwrap_used)]

use crate::support::Lab;

/// What may be left: tables of the engine that have grown once.
const KEPT: usize = 64 * 1024;

const BEFORE: &str = "
class Cell { var n. var m.
   -sum { link := (this:m |= this:n + 1). link disconnect. }
   -seen { seen := ref:this:n onChange: { :v | v }. seen stop. } }
n := 1. m := 2. memory:a := 3.
cell := #Cell{ n: 1 }.
prices := #{ 'tea': 1 }.
list := [ 1, 2 ].
";

/// Each line observes or constrains something and ends it.
const OBSERVERS: [&str; 14] = [
    "seen := ref:n onChange: { :v | v }. seen stop.",
    "seen := ref:var:cell/n onChange: { :v | v }. seen stop.",
    "seen := ref:var:prices/tea onChange: { :v | v }. seen stop.",
    "seen := ref:prices onChange: { :v | v }. seen stop.",
    "seen := ref:list onChange: { :v | v }. list add: 3. list removeLast. seen stop.",
    "seen := ref:memory:a onChange: { :v | v }. memory:a := 4. seen stop.",
    "seen := ref:memory: onChange: { :v | v }. seen stop.",
    "cell seen.",
    "{ x := 1. seen := ref:x onChange: { :v | v }. x := 2. seen stop. } value.",
    "link := (n |= m). m := m + 1. link disconnect.",
    "link := (n |= m * 2 + 1). m := m + 1. link disconnect.",
    "link := (n =|= m). link disconnect.",
    "link := (memory:b |= memory:a). link disconnect.",
    "cell sum.",
];

fn used(lab: &Lab) -> usize {
    lab.isolate.run_lua("collectgarbage() collectgarbage() collectgarbage()", "collect").unwrap();
    runnel_runtime::load().memory
}

/// Whether memory stays in one of five runs, and the sizes. Tables of the engine grow once, and again on a busy machine
/// where more fibers wait at once; what leaks grows each time.
fn stays(lab: &Lab, program: &str) -> (bool, Vec<usize>) {
    let mut sizes = vec![used(lab)];
    let stays = (0..5).any(|_| {
        let before = sizes[sizes.len() - 1];
        lab.run(program).unwrap();
        sizes.push(used(lab));
        sizes[sizes.len() - 1] < before + KEPT
    });
    (stays, sizes)
}

#[test]
fn observers_leave_no_memory() {
    let lab = Lab::new();
    lab.run(BEFORE).unwrap();
    for observer in OBSERVERS {
        // The fibers that waited for changes of a store end at the pauses.
        let pause =
            if observer.contains("memory:") { "runLoop runFor: 10 milliseconds." } else { "" };
        let many = format!("100 repeat: {{ 100 repeat: {{ {observer} }}. {pause} }}. nil");
        // As many before: what is made first stays.
        lab.run(&many).unwrap_or_else(|_| panic!("{observer}"));
        let (stays, sizes) = stays(&lab, &many);
        assert!(stays, "{observer} {sizes:?}");
    }
}

#[test]
fn observed_objects_are_collected() {
    let lab = Lab::new();
    lab.run(BEFORE).unwrap();
    // Never stopped: the observers go with the object that they observe.
    let many = "10000 repeat: { one := #Cell{ n: 1 }. ref:var:one/n onChange: { :v | v }. one setN: 2. }. nil";
    let source = format!("watch := {{ {many} }}. watch value.");
    lab.run(&source).unwrap();
    let (stays, sizes) = stays(&lab, &source);
    assert!(stays, "{sizes:?}");
}

#[test]
fn variables_are_as_before_when_nothing_observes_them() {
    let lab = Lab::new();
    lab.run("x := 1. seen := ref:x onChange: { :v | v }. x := 2. seen stop. x := 3.").unwrap();
    let look = "local K = ... \
        assert(getmetatable(K.variables) == nil and rawget(K.variables, 'x') == 3) \
        assert(next(K.observedFields) == nil and next(K.observedStores) == nil)";
    lab.isolate.run_lua(look, "look").unwrap();
}

#[test]
fn a_write_succeeds_when_its_observer_fails() {
    let lab = Lab::new();
    lab.run("x := 1. y := 0. ref:x onChange: { :v | v noSuchMessage }. ref:x onChange: { :v | y := v }.")
        .unwrap();
    assert_eq!(lab.value("x := 2. [ x, y ]"), "[2,2]");
}

#[test]
fn a_change_that_never_ends_is_stopped() {
    let lab = Lab::new();
    lab.run("x := 1. ref:x onChange: { :v | x := v + 1 }.").unwrap();
    assert_eq!(lab.value("x := 2. x < 100"), "true");
}

#[test]
fn constraints_in_rings_end() {
    let lab = Lab::new();
    lab.run("a := 1. b := 2. c := 3. a |= b. b |= c. c |= a.").unwrap();
    assert_eq!(lab.value("a := 7. [ a, b, c ]"), "[7,7,7]");
    lab.run("x := 1. y := 1. x |= y + 1. y |= x + 1.").unwrap();
    assert_eq!(lab.value("x := 10. [ x, y ]"), "[10,11]");
}

#[test]
fn stores_tell_within_the_write_and_once() {
    let lab = Lab::new();
    lab.run("scheme:m := DictStore store. n := 0. ref:m:a onChange: { :v | n := n + 1 }.").unwrap();
    assert_eq!(lab.value("m:a := 1. m:a := 1. m:a := 2. n"), "2");
    assert_eq!(lab.value("runLoop runFor: 30 milliseconds. n"), "2");
}

#[test]
fn a_block_tells_which_references_it_reads() {
    let lab = Lab::new();
    lab.run("scheme:m := DictStore store. m:a := 1. m:b := 2.").unwrap();
    lab.run("class Reader { -read { m:a + m:b + m:a } }. r := Reader new. t |= r read.").unwrap();
    assert_eq!(lab.value("m:b := 10. t"), "12");
}
