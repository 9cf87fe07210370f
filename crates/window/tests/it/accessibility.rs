//! The accessibility tree (AT-SPI) of a window: roles, names, values.

use crate::support::{Display, Host};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Prints the nodes of the window as lines of JSON: role, name, text or value.
const TREE: &str = "
import json, sys
import pyatspi
def look(node):
    value = None
    try: value = node.queryText().getText(0, node.queryText().characterCount)
    except Exception: pass
    try: value = node.queryValue().currentValue
    except Exception: pass
    checked = node.getState().contains(pyatspi.STATE_CHECKED)
    print(json.dumps([node.getRoleName(), node.name, value, checked]))
    for child in node: look(child)
for application in pyatspi.Registry.getDesktop(0):
    if application and application.name == 'runnel-window':
        for window in application: look(window)
";

fn tree(display: &Display) -> Vec<Value> {
    let output = display.command("/usr/bin/python3").args(["-c", TREE]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

#[test]
fn roles_names_and_values_are_told() {
    let Some(display) = Display::start().and_then(Display::with_bus) else { return };
    let probe = display.command("/usr/bin/python3").args(["-c", "import pyatspi"]).output();
    if !probe.is_ok_and(|output| output.status.success()) {
        return runnel_scratch::leave_out(
            "the accessibility tree: python3-pyatspi is not installed",
        );
    }
    let children = json!([
        { "id": 2, "kind": "TextField", "label": "Name", "value": "Ada" },
        { "id": 3, "kind": "Label", "value": "a label" },
        { "id": 4, "kind": "Button", "title": "Press" },
        { "id": 5, "kind": "Checkbox", "title": "On", "value": true },
        { "id": 6, "kind": "Slider", "label": "Volume", "value": 30, "min": 0, "max": 100 },
        { "id": 7, "kind": "Canvas", "label": "A drawing", "svg": "<svg/>" },
    ]);
    let node = json!({ "id": 1, "kind": "Window", "title": "Tree", "width": 300, "height": 300, "children": children });
    let _host = Host::open(&display, &node);
    let expected = [
        json!(["frame", "Tree"]),
        json!(["text", "Name", "Ada"]),
        json!(["label", "a label"]),
        json!(["push button", "Press"]),
        json!(["check box", "On", null, true]),
        json!(["slider", "Volume", 30.0]),
        json!(["image", "A drawing"]),
    ];
    let has = |found: &[Value], wanted: &Value| {
        let wanted = wanted.as_array().unwrap();
        found.iter().any(|node| {
            wanted.iter().zip(node.as_array().unwrap()).all(|(a, b)| a == b || a.is_null())
        })
    };
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let found = tree(&display);
        let missing: Vec<_> = expected.iter().filter(|wanted| !has(&found, wanted)).collect();
        if missing.is_empty() {
            return;
        }
        assert!(Instant::now() < deadline, "{missing:?} are missing in {found:?}");
        std::thread::sleep(Duration::from_millis(100));
    }
}
