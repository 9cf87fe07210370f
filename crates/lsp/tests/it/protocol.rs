//! The order of messages, wrong ones, cancelled ones, and old ones.

use crate::client::{Client, URI};
use serde_json::{Value, json};

#[test]
fn a_client_that_leaves_in_order_is_told_apart() {
    assert!(Client::new().leave());
    assert!(!Client::new().vanish());
    let mut client = Client::new();
    client.tell("exit", Value::Null);
    assert!(!client.vanish());
}

#[test]
fn the_first_request_is_initialize() {
    let mut client = Client::silent();
    assert_eq!(client.ask("textDocument/hover", json!({}))["error"]["code"], -32002);
    assert!(client.ask("initialize", json!({ "capabilities": {} }))["capabilities"].is_object());
    assert_eq!(client.ask("initialize", json!({ "capabilities": {} }))["error"]["code"], -32600);
    assert!(client.leave());
}

#[test]
fn columns_are_counted_as_the_client_prefers() {
    for (offered, unit, column) in
        [(json!(["utf-8", "utf-16"]), "utf-8", 7), (json!(["utf-16"]), "utf-16", 5)]
    {
        let mut client = Client::silent();
        let general = json!({ "general": { "positionEncodings": offered } });
        let answer = client.ask("initialize", json!({ "capabilities": general }));
        assert_eq!(answer["capabilities"]["positionEncoding"], unit);
        client.open("'😀' nonsense");
        let params = json!({ "textDocument": { "uri": URI } });
        let found = client.ask("textDocument/diagnostic", params);
        assert_eq!(found["items"][0]["range"]["start"]["character"], column, "{found}");
    }
}

#[test]
fn wrong_messages_do_not_end_the_server() {
    let mut client = Client::new();
    client.send_bytes(b"Content-Length: 5\r\n\r\n{{{{{");
    assert_eq!(client.read()["error"]["code"], -32700);
    client.send(&json!([1, 2, 3]));
    assert_eq!(client.read()["error"]["code"], -32600);
    client.send_bytes(b"Nonsense\r\n\r\n");
    assert_eq!(client.read()["error"]["code"], -32700);
    client.send(&json!({ "jsonrpc": "2.0", "id": 77, "result": "an answer to nothing" }));
    assert_eq!(client.ask("textDocument/nonsense", json!({}))["error"]["code"], -32601);
    for params in [
        json!({}),
        json!({ "textDocument": {} }),
        json!({ "textDocument": { "uri": 3 } }),
        json!([]),
    ] {
        assert_eq!(client.ask("textDocument/hover", params)["error"]["code"], -32602);
    }
    client.open("3 squared");
    let params = json!({ "textDocument": { "uri": URI }, "position": { "line": "x" } });
    assert_eq!(client.ask("textDocument/hover", params)["error"]["code"], -32602);
    client.tell("textDocument/didOpen", json!({ "nothing": true }));
    client.tell("textDocument/didChange", json!(7));
    client.tell("$/unknown", json!({}));
    let start = json!({ "line": 0, "character": 0 });
    let other =
        json!({ "textDocument": { "uri": "file:///project/other.rnl" }, "position": start });
    assert_eq!(client.ask("textDocument/hover", other), Value::Null, "a text that is not open");
    assert!(client.leave());
}

#[test]
fn positions_outside_of_a_text_are_its_borders() {
    let mut client = Client::new();
    client.open("3 squared");
    for position in [
        json!({ "line": 900, "character": 900 }),
        json!({ "line": 0, "character": 4_000_000_000_u32 }),
    ] {
        let params = json!({ "textDocument": { "uri": URI }, "position": position });
        for method in ["hover", "completion", "definition", "references", "signatureHelp"] {
            let answer = client.ask(&format!("textDocument/{method}"), params.clone());
            assert!(answer.get("error").is_none(), "{method}: {answer}");
        }
    }
    let end = json!({ "line": 2, "character": 0 });
    let range = json!({ "start": { "line": 5, "character": 9 }, "end": end });
    let changes = json!([{ "range": range, "text": " squared" }]);
    client.change(2, changes);
    let found = client.ask("textDocument/diagnostic", json!({ "textDocument": { "uri": URI } }));
    assert_eq!(found["items"], json!([]), "{found}");
}

#[test]
fn diagnostics_are_those_of_the_newest_text() {
    let mut client = Client::new();
    client.open("nonsense");
    // All of this is in the pipe before the first answer is read.
    let ids: Vec<i64> = (2..40)
        .map(|version| {
            let text = if version == 39 { "3 squared" } else { "nonsense squared" };
            client.change(version, json!([{ "text": text }]));
            client.begin("textDocument/diagnostic", json!({ "textDocument": { "uri": URI } }))
        })
        .collect();
    let last = client.response(*ids.last().unwrap());
    assert_eq!(last["result"]["items"], json!([]), "{last}");
    let again =
        json!({ "textDocument": { "uri": URI }, "previousResultId": last["result"]["resultId"] });
    assert_eq!(client.ask("textDocument/diagnostic", again)["kind"], "unchanged");
    assert!(client.leave());
}

#[test]
fn requests_before_a_change_are_refused() {
    let mut client = Client::new();
    client.open("x := 3.\nx squared");
    let position =
        json!({ "textDocument": { "uri": URI }, "position": { "line": 1, "character": 0 } });
    let document = json!({ "uri": URI, "version": 2 });
    let change =
        json!({ "textDocument": document, "contentChanges": [{ "text": "y := 3.\ny squared" }] });
    let symbols = json!({ "textDocument": { "uri": URI } });
    let framed = |message: Value| {
        let body = message.to_string();
        format!("Content-Length: {}\r\n\r\n{body}", body.len())
    };
    // The server may take the request before the change arrives: one of many is overtaken.
    let mut refused = false;
    for round in 0..200 {
        let id = 1_000 + round;
        let request = framed(
            json!({ "jsonrpc": "2.0", "id": id, "method": "textDocument/hover", "params": position }),
        );
        let busy = framed(
            json!({ "jsonrpc": "2.0", "id": id + 1_000, "method": "textDocument/documentSymbol", "params": symbols }),
        );
        let change = framed(
            json!({ "jsonrpc": "2.0", "method": "textDocument/didChange", "params": change }),
        );
        client.send_bytes(format!("{busy}{request}{change}").as_bytes());
        let response = client.response(id);
        refused |= response["error"]["code"] == -32801;
        assert!(refused || response.get("result").is_some(), "{response}");
    }
    assert!(refused, "no request was overtaken");
    assert!(client.leave());
}

#[test]
fn a_cancelled_request_has_an_error() {
    let mut client = Client::new();
    let text: String = (0..2_000).map(|number| format!("v{number} := 'a' uppercase.\n")).collect();
    let mut cancelled = false;
    let framed = |message: Value| {
        let body = message.to_string();
        format!("Content-Length: {}\r\n\r\n{body}", body.len())
    };
    let about = json!({ "textDocument": { "uri": URI } });
    // The server may answer before it reads on: one of many is cancelled in time.
    for round in 1..200 {
        client.open(&format!("{text}// {round}"));
        let id = 1_000 + round;
        let busy = framed(
            json!({ "jsonrpc": "2.0", "id": 5_000 + round, "method": "textDocument/documentSymbol", "params": about }),
        );
        let asked = framed(
            json!({ "jsonrpc": "2.0", "id": id, "method": "textDocument/documentSymbol", "params": about }),
        );
        let cancel = framed(
            json!({ "jsonrpc": "2.0", "method": "$/cancelRequest", "params": { "id": id } }),
        );
        client.send_bytes(format!("{busy}{asked}{cancel}").as_bytes());
        let response = client.response(id);
        cancelled |= response["error"]["code"] == -32800;
        assert!(cancelled || response.get("result").is_some(), "{response}");
        if cancelled {
            break;
        }
    }
    assert!(cancelled);
    assert!(client.leave());
}

#[test]
fn a_client_that_does_not_ask_is_sent_diagnostics() {
    let mut client = Client::with(json!({}));
    client.open("nonsense");
    let note = client.read();
    assert_eq!(note["method"], "textDocument/publishDiagnostics");
    assert_eq!(note["params"]["version"], 1);
    assert_eq!(note["params"]["diagnostics"].as_array().unwrap().len(), 1, "{note}");
    client.change(2, json!([{ "text": "3 squared" }]));
    assert_eq!(client.read()["params"]["diagnostics"], json!([]));
    client.change(3, json!([{ "text": "'open" }]));
    assert_eq!(client.read()["params"]["diagnostics"][0]["severity"], 1);
    client.tell("textDocument/didClose", json!({ "textDocument": { "uri": URI } }));
    assert_eq!(client.read()["params"]["diagnostics"], json!([]));
    assert!(client.leave());
}

#[test]
fn texts_and_messages_have_a_greatest_length() {
    let mut client = Client::new();
    let long = "3. ".repeat(3 << 20);
    client.open(&long);
    let note = client.read();
    assert_eq!(note["method"], "window/showMessage", "{note}");
    client.open(&"3. ".repeat(3 << 19));
    let found = client.ask("textDocument/diagnostic", json!({ "textDocument": { "uri": URI } }));
    assert_eq!(found["items"][0]["severity"], 1, "longer than a program may be");
    client.send_bytes(format!("Content-Length: {}\r\n\r\n", (64 << 20) + 1).as_bytes());
    let chunk = vec![b' '; 1 << 20];
    for _ in 0..64 {
        client.send_bytes(&chunk);
    }
    client.send_bytes(b" ");
    assert_eq!(client.read()["error"]["code"], -32600);
    assert!(client.leave());
}
