//! Widgets: what the user does becomes events, what the program changes is shown.

use crate::support::{Display, Host, SILENCE};
use serde_json::{Value, json};

fn window(children: &Value) -> Value {
    json!({ "id": 1, "kind": "Window", "title": "S3", "width": 200, "height": 105, "children": children })
}

fn field() -> Value {
    json!([{ "id": 2, "kind": "TextField", "value": "", "x": 20, "y": 50, "width": 160, "height": 24 }])
}

#[test]
fn a_window_has_the_size_of_its_content() {
    let Some(display) = Display::start() else { return };
    let _host = Host::open(&display, &window(&field()));
    let geometry = display.hand(&["getwindowgeometry", &display.window("S3")]);
    assert!(geometry.contains("Geometry: 200x105"), "{geometry}");
}

#[test]
fn a_field_tells_each_keystroke_and_return() {
    let Some(display) = Display::start() else { return };
    let mut host = Host::open(&display, &window(&field()));
    display.hand(&["type", "--delay", "20", "hello wörld"]);
    // An input that waits makes room for the next one: on a busy machine the first may be longer.
    let first = host.event("2", "input");
    let begins = |text: &str| "hello wörld".starts_with(text) && text.len() < 11;
    assert!(first.as_str().is_some_and(begins), "{first}");
    host.typed("2", "hello wörld");
    display.hand(&["key", "Return"]);
    assert_eq!(host.event("2", "action"), "hello wörld");
    display.hand(&["key", "ctrl+a"]);
    display.hand(&["type", "again"]);
    display.hand(&["key", "Return"]);
    assert_eq!(host.event("2", "action"), "again");
}

#[test]
fn a_value_of_the_program_does_not_disturb_typing() {
    let Some(display) = Display::start() else { return };
    let mut host = Host::open(&display, &window(&field()));
    display.hand(&["type", "abc"]);
    display.hand(&["key", "Left"]);
    host.typed("2", "abc");
    host.change(json!(["2.value", "abc"]));
    display.hand(&["type", "X"]);
    host.typed("2", "abXc"); // The caret stays.
    // From here on the program says what it has handled: nothing of that yet.
    host.change(json!(["", { "ack": 1 }, "2.value", "old"]));
    display.hand(&["type", "d"]);
    host.typed("2", "abXdc"); // An older value waits and is dropped.
    host.change(json!(["2.value", "new"]));
    host.change(json!(["", { "ack": 100 }]));
    assert!(host.next_within(SILENCE).is_null(), "a value of the program is no event");
    display.hand(&["key", "End"]);
    display.hand(&["type", "!"]);
    host.typed("2", "new!");
}

#[test]
fn a_new_text_of_a_view_keeps_the_caret() {
    let Some(display) = Display::start() else { return };
    let view = json!([{ "id": 2, "kind": "TextView", "value": "one" }]);
    let mut host = Host::open(&display, &window(&view));
    display.hand(&["key", "ctrl+Home", "Right"]);
    display.hand(&["type", "x"]);
    host.typed("2", "oxne");
    host.change(json!(["2.value", "öther\ntext"]));
    display.hand(&["type", "y"]);
    host.typed("2", "ötyher\ntext");
    host.change(json!(["2.value", ""]));
    display.hand(&["type", "z"]);
    host.typed("2", "z");
}

#[test]
fn the_keyboard_reaches_every_widget_in_order() {
    let Some(display) = Display::start() else { return };
    let children = json!([
        { "id": 2, "kind": "TextField" },
        { "id": 3, "kind": "NumberField", "min": 0, "max": 10 },
        { "id": 4, "kind": "HStack", "children": [
            { "id": 5, "kind": "Button", "title": "Press" },
            { "id": 6, "kind": "Checkbox", "title": "On" },
        ] },
        { "id": 7, "kind": "Slider", "value": 50, "min": 0, "max": 100 },
        { "id": 8, "kind": "TextView" },
    ]);
    let node = json!({ "id": 1, "kind": "Window", "title": "Keys", "width": 300, "height": 400, "children": children });
    let mut host = Host::open(&display, &node);
    display.hand(&["type", "a"]);
    display.hand(&["key", "Tab"]);
    assert_eq!(host.event("2", "action"), "a", "leaving a field commits it");
    display.hand(&["type", "12"]);
    display.hand(&["key", "Tab"]);
    assert_eq!(host.event("3", "action"), 10, "a number stays in its range");
    display.hand(&["key", "space", "Tab", "space", "Tab"]);
    assert_eq!(host.event("5", "action"), Value::Null);
    assert_eq!(host.event("6", "action"), true);
    display.hand(&["key", "Right", "Right"]);
    assert_eq!(host.event("7", "action"), 52);
    display.hand(&["key", "Tab"]);
    display.hand(&["type", "x"]);
    display.hand(&["key", "Return"]);
    host.typed("8", "x\n");
}

#[test]
fn children_are_added_removed_and_kept() {
    let Some(display) = Display::start() else { return };
    let first =
        json!([{ "id": 2, "kind": "TextField" }, { "id": 3, "kind": "Label", "value": "a" }]);
    let node = json!({ "id": 1, "kind": "Window", "title": "Kids", "children": first });
    let mut host = Host::open(&display, &node);
    display.hand(&["type", "ab"]);
    host.typed("2", "ab");
    let second =
        json!([{ "id": 4, "kind": "Button", "title": "New" }, { "id": 2, "kind": "TextField" }]);
    host.change(json!(["1.children", second, "3.value", "gone", "1.title", "Other"]));
    display.window("Other");
    display.hand(&["type", "c"]);
    host.typed("2", "abc"); // A child that stays keeps focus and caret.
    display.hand(&["key", "shift+Tab", "space"]);
    assert_eq!(host.event("4", "action"), Value::Null);
}

#[test]
fn a_closed_window_is_told_and_the_others_stay() {
    let Some(display) = Display::start() else { return };
    let mut host = Host::open(&display, &window(&field()));
    host.send(&json!(["open", { "id": 10, "kind": "Window", "title": "Two", "children": [] }]));
    assert_eq!(host.next(), json!(["shown", 10]));
    display.close_window(&display.window("S3"));
    assert_eq!(host.next(), json!(["closed", 1]));
    host.send(&json!(["close", 10]));
    // The ids are free again.
    host.send(&json!(["open", window(&field())]));
    assert_eq!(host.next(), json!(["shown", 1]));
    host.send(&json!(["close"]));
    assert_eq!(host.ended().code(), Some(0));
}

#[test]
fn a_menu_item_has_a_shortcut() {
    let Some(display) = Display::start() else { return };
    let menu = json!([{ "id": 5, "kind": "Menu", "title": "File", "children": [
        { "id": 6, "kind": "MenuItem", "title": "Open", "shortcut": "Ctrl+O" },
        { "kind": "Separator" },
        { "id": 7, "kind": "MenuItem", "title": "Save", "shortcut": "Ctrl+S", "enabled": false },
    ] }]);
    let node =
        json!({ "id": 1, "kind": "Window", "title": "Menu", "menu": menu, "children": field() });
    let mut host = Host::open(&display, &node);
    display.hand(&["key", "ctrl+s", "ctrl+o"]);
    let frame = host.next();
    assert_eq!((&frame[1], &frame[2]), (&json!("6"), &json!("action")), "{frame}");
}

#[test]
fn a_canvas_tells_where_it_is_clicked() {
    let Some(display) = Display::start() else { return };
    let canvas = json!([{ "id": 2, "kind": "Canvas", "x": 0, "y": 0, "width": 200, "height": 105,
        "moves": false, "svg": "<svg><circle cx='50' cy='50' r='20'/></svg>" }]);
    let mut host = Host::open(&display, &window(&canvas));
    display.hand(&["mousemove", "--window", &display.window("S3"), "60", "70", "click", "1"]);
    assert_eq!(host.event("2", "point"), json!([60, 70, 1]));
    assert_eq!(host.event("2", "release"), json!([60, 70, 1]));
}
