//! A table of 100,000 rows: texts are wanted as they become visible.

use crate::support::{Display, Host, SILENCE};
use serde_json::{Value, json};

const ROWS: u64 = 100_000;

/// Answers what the table wants until it wants nothing more: `blocks` runs at least. Answers the
/// first row of each.
fn serve(host: &mut Host, blocks: usize) -> Vec<u64> {
    let mut wanted = Vec::new();
    loop {
        let frame = if wanted.len() < blocks { host.next() } else { host.next_within(SILENCE) };
        if frame.is_null() {
            return wanted;
        }
        if frame[2] == "want" {
            let (first, count) = (frame[3][0].as_u64().unwrap(), frame[3][1].as_u64().unwrap());
            let rows: Vec<Value> = (first..first + count)
                .map(|row| json!([row.to_string(), format!("name {row}")]))
                .collect();
            host.change(json!(["2.cells", [first, rows]]));
            wanted.push(first);
        }
    }
}

fn table(display: &Display) -> Host {
    let table = json!([{ "id": 2, "kind": "Table", "columns": [{ "title": "No" }, { "title": "Name" }],
        "rows": { "count": ROWS } }]);
    let node = json!({ "id": 1, "kind": "Window", "title": "Rows", "width": 400, "height": 300, "children": table });
    let mut host = Host::spawn(display);
    host.send(&json!(["open", node]));
    host
}

#[test]
fn rows_are_wanted_in_blocks_as_they_become_visible() {
    let Some(display) = Display::start() else { return };
    let mut host = table(&display);
    assert_eq!(serve(&mut host, 1), [0]);
    let window = display.window("Rows");
    display.hand(&["windowfocus", "--sync", &window]);
    display.hand(&["mousemove", "--window", &window, "100", "100", "click", "1", "key", "End"]);
    assert_eq!(host.event("2", "action"), 1, "the second row is selected");
    assert_eq!(host.event("2", "action"), ROWS - 1);
    let wanted = serve(&mut host, 1);
    assert_eq!(wanted.len(), 1, "{wanted:?}");
    assert!((ROWS - 512..ROWS).contains(&wanted[0]), "{wanted:?}");
    display.hand(&["key", "Home"]);
    assert_eq!(host.event("2", "action"), 0);
    assert_eq!(serve(&mut host, 0), [0; 0], "rows that are known are not wanted again");
}

#[test]
fn cells_are_edited_by_mouse_and_keyboard() {
    let Some(display) = Display::start() else { return };
    let mut host = table(&display);
    host.change(json!(["2.editable", true]));
    serve(&mut host, 1);
    let window = display.window("Rows");
    display.hand(&["windowfocus", "--sync", &window]);
    display.hand(&["mousemove", "--window", &window, "300", "100"]);
    display.hand(&["click", "--repeat", "2", "--delay", "50", "1"]);
    assert_eq!(host.event("2", "action"), 1);
    // The second click opens the editor, without an event.
    assert!(host.next_within(SILENCE).is_null());
    display.hand(&["type", "new"]);
    display.hand(&["key", "Return"]);
    assert_eq!(host.event("2", "edit"), json!([1, 1, "new"]), "a double click edits a cell");
    host.change(json!(["2.cells", [1, [["1", "new"]]]]));
    display.hand(&["key", "Down"]);
    assert_eq!(host.event("2", "action"), 2, "the row has the focus again");
    display.hand(&["key", "Return"]);
    assert!(host.next_within(SILENCE).is_null());
    display.hand(&["type", "a"]);
    display.hand(&["key", "Tab"]);
    assert_eq!(host.event("2", "edit"), json!([2, 0, "a"]), "Return edits the first cell");
    display.hand(&["type", "b"]);
    display.hand(&["key", "Return"]);
    assert_eq!(host.event("2", "edit"), json!([2, 1, "b"]), "Tab continues in the next");
}

#[test]
fn a_row_is_selected_by_the_program_without_an_event() {
    let Some(display) = Display::start() else { return };
    let mut host = table(&display);
    serve(&mut host, 1);
    host.change(json!(["2.value", 3]));
    assert!(host.next_within(SILENCE).is_null());
    host.change(json!(["2.rows", { "count": 2 }]));
    assert_eq!(serve(&mut host, 1), [0], "texts of another state are wanted again");
}
