//! What is wrong is said: no display, malformed frames, unknown kinds.

use crate::support::{Display, HOST, Host, SILENCE};
use serde_json::json;
use std::process::Command;

#[test]
fn without_a_display_the_reason_is_told() {
    if Display::start().is_none() {
        return;
    }
    let mut command = Command::new(HOST);
    command.env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY").env_remove("GDK_BACKEND");
    let mut host = Host::of(command);
    assert_eq!(host.next(), json!(["failed", "GTK found no display"]));
    assert_eq!(host.ended().code(), Some(68));
    assert_eq!(host.complaint(), "runnel-window: GTK found no display\n");
}

#[test]
fn without_gtk_the_reason_is_told() {
    let folder = std::env::temp_dir().join(format!("runnel-no-gtk-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("libgtk-4.so.1"), "no library").unwrap();
    let mut command = Command::new(HOST);
    command.env("LD_LIBRARY_PATH", &folder);
    let mut host = Host::of(command);
    let reason = "GTK 4 is not installed (libgtk-4.so.1)";
    assert_eq!(host.next(), json!(["failed", reason]));
    assert_eq!(host.ended().code(), Some(69));
    assert_eq!(host.complaint(), format!("runnel-window: {reason}\n"));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_descriptor_that_is_no_socket_is_refused() {
    for argument in ["zero", "77", "-1"] {
        let output = Command::new(HOST).arg(argument).output().unwrap();
        assert_eq!(output.status.code(), Some(64), "{argument}");
        assert_eq!(String::from_utf8_lossy(&output.stderr).lines().count(), 1, "{argument}");
    }
}

#[test]
fn a_malformed_frame_ends_the_host() {
    let Some(display) = Display::start() else { return };
    let frames: [&[u8]; 6] =
        [b"{", b"[\"jump\"]", b"[1,\"2.value\"]", b"[1,\"x\",2]", b"7", b"\xff"];
    for frame in frames {
        let mut host = Host::spawn(&display);
        host.send_bytes(frame);
        assert_eq!(host.ended().code(), Some(65), "{}", String::from_utf8_lossy(frame));
        assert_eq!(host.complaint().lines().count(), 1);
    }
    let mut host = Host::spawn(&display);
    host.send_raw(&u32::MAX.to_le_bytes());
    assert_eq!(host.ended().code(), Some(65));
    assert!(host.complaint().contains("16777216 bytes"));
}

#[test]
fn what_makes_no_sense_in_a_tree_harms_nothing() {
    let Some(display) = Display::start() else { return };
    let mut deep = json!({ "id": 500, "kind": "VStack" });
    for id in 501..556 {
        deep = json!({ "id": id, "kind": "VStack", "children": [deep] });
    }
    let children = json!([
        { "id": 2, "kind": "Wibble", "value": [1] },
        { "id": 3 }, { "kind": "Label" }, 7, null, { "id": -1, "kind": "Label" },
        { "id": 2, "kind": "Label", "value": "twice" },
        { "id": 4, "kind": "Slider", "value": "x", "min": 9, "max": 1 },
        { "id": 5, "kind": "PopUp", "items": 3, "value": 99 },
        { "id": 6, "kind": "Table", "columns": [7], "rows": { "count": -3 }, "cells": [0, 1] },
        { "id": 7, "kind": "Image", "data": "AAAA" },
        { "id": 8, "kind": "Canvas", "svg": "<svg><g><circle r='1e300' cx='NaN'/>" },
        { "id": 9, "kind": "Label", "value": "zero \u{0} byte <b>&amp;" },
        { "id": 10, "kind": "NumberField", "min": "a", "value": {} },
        { "id": 11, "kind": "Grid", "rows": [[{ "id": 12, "kind": "Label" }], 3] },
        deep,
    ]);
    let node = json!({ "id": 1, "kind": "Window", "title": "Odd", "width": 1e300, "height": -5, "children": children });
    let mut host = Host::spawn(&display);
    host.send(&json!(["open", node]));
    assert_eq!(host.next(), json!(["shown", 1]));
    host.change(json!([
        "2.children",
        [{}],
        "99.value",
        1,
        "1.children",
        5,
        "6.rows",
        null,
        "1.menu",
        [[]]
    ]));
    host.change(json!(["1.title", "Alive"]));
    assert!(!display.window("Alive").is_empty());
    assert!(host.next_within(SILENCE).is_null());
    assert_eq!(host.child.try_wait().unwrap(), None, "it still runs");
}

#[test]
fn the_end_of_the_channel_ends_the_host() {
    let Some(display) = Display::start() else { return };
    let node = json!({ "id": 1, "kind": "Window", "title": "S3", "children": [] });
    let mut host = Host::open(&display, &node);
    host.hang_up();
    assert_eq!(host.ended().code(), Some(0));
}
