//! What a window costs while nothing happens.

use crate::support::{Display, Host};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fs;
use std::time::Duration;

/// The most memory that a window may take.
const MEMORY_KIB: u64 = 100 * 1024;

/// Spans of 2 s, one of which passes without a wake-up.
const ATTEMPTS: usize = 10;

/// How often each thread of a process gave up the processor to wait.
fn waits(process: u32) -> HashMap<String, u64> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).unwrap();
    let counted = threads.flatten().map(|thread| {
        let status = fs::read_to_string(thread.path().join("status")).unwrap_or_default();
        (
            thread.file_name().to_string_lossy().into_owned(),
            number(&status, "voluntary_ctxt_switches:"),
        )
    });
    counted.collect()
}

fn number(status: &str, name: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|text| text.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

#[test]
fn an_unfocused_window_sleeps_and_is_small() {
    let Some(display) = Display::start() else { return };
    // Out of the window: without a window manager the focus follows the pointer.
    display.hand(&["mousemove", "1270", "790"]);
    let children: Value = json!([
        { "id": 2, "kind": "TextField", "value": "a" },
        { "id": 3, "kind": "Button", "title": "OK" },
        { "id": 4, "kind": "Table", "columns": [{ "title": "No" }], "rows": { "count": 1000 } },
    ]);
    let mut host = Host::spawn(&display);
    let node = json!({ "id": 1, "kind": "Window", "title": "Idle", "width": 300, "height": 300, "children": children });
    host.send(&json!(["open", node]));
    while !host.next_within(Duration::from_secs(2)).is_null() {}
    let process = host.child.id();
    // Scrollbars fade and threads of the start end first.
    let sleeps = (0..ATTEMPTS).any(|_| {
        let before = waits(process);
        std::thread::sleep(Duration::from_secs(2));
        waits(process) == before
    });
    assert!(sleeps, "the host wakes up although nothing happens");
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let memory = number(&status, "VmRSS:");
    assert!((1..MEMORY_KIB).contains(&memory), "{memory} KiB");
}
