//! No text and no sequence of changes ends the server, and what it answers lies in the text.

use crate::client::{Client, URI, applied};
use proptest::prelude::{Just, Strategy, any, prop, prop_oneof};
use proptest::test_runner::{Config, TestRunner};
use serde_json::json;

const PROGRAM: &str = "\
#-serve:<ref>database\n\
// The tasks.\n\
class Task {\n\
\x20   var <int> id.\n\
\x20   var <string 1..80> title.\n\
\x20   -line { ^\"{this:title} ({this:id})\" }\n\
\x20   -rename:<string>name times:<int>count { this:title ← name. count + 1 }\n\
}\n\
scheme Tasks {\n\
\x20   var tasks.\n\
\x20   /tasks?:<int>limit=20 {\n\
\x20       get paged: 20..100 → <[Task]> { this:tasks }\n\
\x20       /:<int>id { find task { this:tasks at: id } get → <Task> { task } }\n\
\x20   }\n\
}\n\
tasks := ref:sqlite:tasks.db table: Task.\n\
tasks[{ id = 3 }] count.\n\
lines := [ 'ä😀', 'b' ] collect: { :each | each uppercase }.\n\
#HTTPServer{ port: 8080 } → #Tasks{ tasks: tasks }.\n\
test 'a' { 3 + 4 }\n\
";

/// A change: where, how much is removed, what is put in.
fn change() -> impl Strategy<Value = (u32, u32, u32, String)> {
    let pieces = prop_oneof![
        Just("{".to_owned()),
        Just("}".to_owned()),
        Just("[{ ".to_owned()),
        Just("'".to_owned()),
        Just("\"{".to_owned()),
        Just("at: ".to_owned()),
        Just("#Task{ ".to_owned()),
        Just("ref:file:".to_owned()),
        Just("this:".to_owned()),
        Just("\n".to_owned()),
        Just("<".to_owned()),
        Just("/a/:<int>b {".to_owned()),
        Just("😀é".to_owned()),
        "[a-z:.{}\\[\\]()'\"#<>|^ \n-]{0,8}",
        any::<String>(),
    ];
    (0_u32..24, 0_u32..80, 0_u32..12, pieces)
}

const METHODS: [&str; 10] = [
    "completion",
    "hover",
    "signatureHelp",
    "definition",
    "references",
    "documentHighlight",
    "prepareRename",
    "documentSymbol",
    "foldingRange",
    "semanticTokens/full",
];

/// Those about ranges and whole texts.
const REST: [&str; 7] =
    ["diagnostic", "formatting", "inlayHint", "codeLens", "documentLink", "codeAction", "rename"];

#[test]
fn no_change_ends_the_server_and_ranges_lie_in_the_text() {
    let config = Config { cases: 60, failure_persistence: None, ..Config::default() };
    let changes = prop::collection::vec(change(), 1..12);
    TestRunner::new(config)
        .run(&changes, |changes| {
            let mut client = Client::new();
            client.open(PROGRAM);
            for (version, (line, column, length, text)) in changes.iter().enumerate() {
                let end = json!({ "line": line + length / 8, "character": column + length });
                let range = json!({ "start": { "line": line, "character": column }, "end": end });
                client.change(version as i64 + 2, json!([{ "range": range, "text": text }]));
                let params = json!({
                    "textDocument": { "uri": URI }, "position": { "line": line, "character": column + 1 },
                    "range": range, "context": { "diagnostics": [], "includeDeclaration": true },
                });
                for method in METHODS {
                    let answer = client.ask(&format!("textDocument/{method}"), params.clone());
                    assert_ne!(answer["error"]["code"], -32603, "{method}: {answer}");
                }
            }
            let params = json!({
                "textDocument": { "uri": URI }, "newName": "renamedByTest",
                "range": { "start": { "line": 0, "character": 0 }, "end": { "line": 99, "character": 0 } },
                "position": { "line": 15, "character": 1 }, "context": { "diagnostics": [] },
            });
            for method in REST {
                let answer = client.ask(&format!("textDocument/{method}"), params.clone());
                assert_ne!(answer["error"]["code"], -32603, "{method}: {answer}");
            }
            assert!(client.leave());
            Ok(())
        })
        .unwrap();
}

#[test]
fn changes_in_parts_give_the_text_of_the_client() {
    let config = Config { cases: 100, failure_persistence: None, ..Config::default() };
    let changes = prop::collection::vec(change(), 1..8);
    TestRunner::new(config)
        .run(&changes, |changes| {
            let mut client = Client::new();
            let mut text = "a := 3.\nb := 'ä😀'.\nc := 5".to_owned();
            client.open(&text);
            for (version, (line, column, length, new)) in changes.iter().enumerate() {
                // Columns of the text itself, so that both sides mean the same place.
                let lines: Vec<&str> = text.split('\n').collect();
                let line = *line as usize % lines.len();
                let all: Vec<char> = lines[line].trim_end_matches('\r').chars().collect();
                let start = *column as usize % (all.len() + 1);
                let end = (start + *length as usize).min(all.len());
                let units = |to: usize| all[..to].iter().map(|one| one.len_utf16()).sum::<usize>();
                let range = json!({
                    "start": { "line": line, "character": units(start) },
                    "end": { "line": line, "character": units(end) },
                });
                let new = new.replace(['\r', '\0'], "");
                let edit = json!([{ "range": range, "newText": new }]);
                text = applied(&text, &edit);
                client.change(version as i64 + 2, json!([{ "range": range, "text": new }]));
            }
            // Two texts are the same when the whole one changes nothing of what is found.
            let asked = json!({ "textDocument": { "uri": URI } });
            let tokens = client.ask("textDocument/semanticTokens/full", asked.clone());
            let found = client.ask("textDocument/diagnostic", asked);
            let mut other = Client::new();
            assert_eq!(other.about("semanticTokens/full", &text)["data"], tokens["data"]);
            let again =
                other.ask("textDocument/diagnostic", json!({ "textDocument": { "uri": URI } }));
            assert_eq!(again["items"], found["items"]);
            Ok(())
        })
        .unwrap();
}
