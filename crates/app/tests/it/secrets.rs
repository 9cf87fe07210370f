//! Secrets in real processes: passwords are hashed beside the event loop, random numbers differ.

use crate::support::program;

#[test]
fn passwords_are_hashed_beside_the_event_loop_and_the_queue_is_bounded() {
    let outcome = program(
        "turns ← 0.\n\
         hash ← { 'secret' passwordHash } fork.\n\
         { hash isDone } whileFalse: { runLoop runFor: 0.001. turns ← turns + 1 }.\n\
         stdout println: turns > 3.\n\
         refused ← 0.\n\
         fibers ← (1 to: 300) collect: { :i |\n\
         \x20   { { 'secret' passwordHash } on: 'unavailable' do: { refused ← refused + 1 } } fork\n\
         }.\n\
         runLoop runFor: 0.01.\n\
         fibers do: { :fiber | fiber cancel }.\n\
         stdout println: (refused > 30 and: { refused < 45 }).\n\
         runLoop runFor: 0.05.\n\
         stdout println: ('secret' matchesPasswordHash: hash value).\n",
    );
    assert_eq!((outcome.status, outcome.out.as_str()), (0, "true\ntrue\ntrue\n"), "{outcome:?}");
}

#[test]
fn each_process_draws_other_random_numbers() {
    let drawn = || program("stdout println: (1 to: 50) asArray shuffled.\n").out;
    assert_ne!(drawn(), drawn());
}

#[test]
fn large_input_is_hashed_beside_the_event_loop() {
    let outcome = program(
        "text ← 'x'. 24 repeat: { text ← text , text }.\n\
         turns ← 0.\n\
         hash ← { text sha256 hex } fork.\n\
         { hash isDone } whileFalse: { runLoop runFor: 0.001. turns ← turns + 1 }.\n\
         stdout println: turns > 1.\n\
         stdout println: hash value.\n",
    );
    let expected = "true\n\
        a06c26cbac8b80704f420222dae5658b88ff2da96702d12ef7a4223e9361f7c1\n";
    assert_eq!((outcome.status, outcome.out.as_str()), (0, expected), "{outcome:?}");
}
