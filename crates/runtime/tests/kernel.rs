//! The built-in classes, asked directly in Lua.

mod support;

use support::Lab;

#[test]
fn values_answer_as_they_should() {
    let lab = Lab::new();
    let outcome = lab.isolate.run_lua(include_str!("kernel_values.lua"), "kernel_values.lua");
    assert_eq!(outcome, Ok(()));
}
