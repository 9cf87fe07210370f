//! The built-in classes, asked directly in Lua.

use crate::support::Lab;

#[test]
fn values_answer_as_they_should() {
    let outcome =
        Lab::new().isolate.run_lua(include_str!("kernel/values.lua"), "kernel/values.lua");
    assert_eq!(outcome, Ok(()));
}

#[test]
fn objects_and_streams_answer_as_they_should() {
    let outcome =
        Lab::new().isolate.run_lua(include_str!("kernel/objects.lua"), "kernel/objects.lua");
    assert_eq!(outcome, Ok(()));
}

#[test]
fn large_texts_are_worked_on_in_pieces() {
    let outcome =
        Lab::new().isolate.run_lua(include_str!("kernel/pieces.lua"), "kernel/pieces.lua");
    assert_eq!(outcome, Ok(()));
}
