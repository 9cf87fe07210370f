//! What each feature answers.

use crate::client::{Client, URI, applied};
use serde_json::{Value, json};

const TASKS: &str = "class Task {
    // The line of a list.
    var <string 1..80> title.
    var <bool> done.
    -line { ^\"{this:title}\" }
    -move:<int>from to:<int>target { from + target }
}
scheme Site {
    var tasks.
    /tasks {
        get { this:tasks }
        post <Task> { newValue line }
        /:<int>id { get html { #p[ 'x' ] } }
    }
}
tasks := ref:sqlite:t.db table: Task.
";

fn labels(list: &Value) -> Vec<&str> {
    let items = list["items"].as_array().unwrap();
    let mut items: Vec<&Value> = items.iter().collect();
    items.sort_by_key(|item| item["sortText"].as_str().unwrap());
    items.into_iter().map(|item| item["label"].as_str().unwrap()).collect()
}

/// The proposals at `¦` behind the tasks.
fn proposed(client: &mut Client, marked: &str) -> Vec<String> {
    let list = client.at("completion", &format!("{TASKS}{marked}"));
    labels(&list).into_iter().map(str::to_owned).collect()
}

#[track_caller]
fn begins(found: &[String], expected: &[&str]) {
    let start: Vec<&str> = found.iter().take(expected.len()).map(String::as_str).collect();
    assert_eq!(start, expected, "{found:?}");
}

#[test]
fn messages_are_those_of_the_receiver() {
    let mut client = Client::new();
    begins(&proposed(&mut client, "'a' upp¦"), &["uppercase", "asUppercase"]);
    begins(&proposed(&mut client, "(3 squared) ¦"), &["squared", "printString"]);
    begins(
        &proposed(&mut client, "x := 'a'.\nx ¦"),
        &["asUppercase", "replace:with:", "uppercase"],
    );
    begins(&proposed(&mut client, "tasks ¦"), &["select:"]);
    begins(
        &proposed(&mut client, "tasks select: { :task | task ¦ }"),
        &["done", "line", "move:to:", "title"],
    );
    begins(&proposed(&mut client, "[ #Task{ } ] collect: { :each | each li¦"), &["line"]);
    begins(&proposed(&mut client, "#{ a: 1 } at: 'a' ¦"), &["put:"]);
    assert!(proposed(&mut client, "unknown ¦").contains(&"replace:with:".to_owned()));
}

#[test]
fn a_message_has_its_signature_and_its_first_sentence() {
    let snippets = json!({ "textDocument": { "completion": { "completionItem": { "snippetSupport": true } } } });
    let mut client = Client::with(snippets);
    let list = client.at("completion", "'a' repl¦");
    let item = &list["items"][0];
    assert_eq!(item["detail"], "-<String>replace:<String>old with:<String>new");
    assert_eq!(item["documentation"], "The text with a part exchanged.");
    assert_eq!(item["textEdit"]["newText"], "replace: ${1:old} with: ${2:new}");
    assert_eq!(item["textEdit"]["range"]["start"]["character"], 4);
    let whole = client.ask("completionItem/resolve", item.clone());
    let text = whole["documentation"]["value"].as_str().unwrap();
    assert!(text.contains("All places count.") && text.contains("// ⇒ 'bb'"), "{text}");
    let mut plain = Client::new();
    assert_eq!(
        plain.at("completion", "'a' repl¦")["items"][0]["textEdit"]["newText"],
        "replace:  with: "
    );
}

#[test]
fn names_keys_fields_types_and_words_are_proposed_where_they_fit() {
    let mut client = Client::new();
    begins(&proposed(&mut client, "ta¦"), &["tasks", "Task"]);
    begins(&proposed(&mut client, "tasks[{ ¦ }]"), &["done", "title"]);
    begins(&proposed(&mut client, "#HTTPServer{ ¦ }"), &["idleTimeout:", "port:"]);
    begins(&proposed(&mut client, "#Task{ title: 'x', ¦ }"), &["done:", "title:"]);
    begins(&proposed(&mut client, "x := #Ta¦"), &["Task"]);
    begins(&proposed(&mut client, "class A { var <st¦"), &["string"]);
    begins(&proposed(&mut client, "scheme A {\n    /a {\n        ge¦\n    }\n}"), &["get"]);
    begins(&proposed(&mut client, "class A {\n    va¦\n}"), &["var"]);
    begins(&proposed(&mut client, "class B : Task { -x { ^this:¦ } }"), &["done", "title"]);
    begins(&proposed(&mut client, "cla¦"), &["class"]);
    begins(&proposed(&mut client, "x := fil¦"), &["file:"]);
    begins(&proposed(&mut client, "x := ref:fi¦"), &["file:"]);
    for nothing in ["'it is ¦", "3 // and ¦", "// a ¦", "12¦", "'abc'¦"] {
        assert_eq!(proposed(&mut client, nothing), Vec::<String>::new(), "{nothing}");
    }
}

#[test]
fn files_are_proposed_beside_the_program() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("notes")).unwrap();
    std::fs::write(folder.path().join("lib.rnl"), "").unwrap();
    std::fs::write(folder.path().join("notes/today.txt"), "").unwrap();
    let uri = format!("file://{}/main.rnl", folder.path().display());
    let mut client = Client::new();
    let mut complete = |text: &str| {
        let open = json!({ "uri": uri, "languageId": "runnel", "version": 1, "text": text });
        client.tell("textDocument/didOpen", json!({ "textDocument": open }));
        let position = json!({ "line": 0, "character": text.len() });
        let params = json!({ "textDocument": { "uri": uri }, "position": position });
        labels(&client.ask("textDocument/completion", params)).join(" ")
    };
    assert_eq!(complete("x := ref:file:"), "lib.rnl notes/");
    assert_eq!(complete("x := file:notes/to"), "today.txt");
    assert_eq!(complete("x := file:none/"), "");
    let text = "ref:file:lib.rnl load";
    let document = json!({ "uri": uri, "languageId": "runnel", "version": 1, "text": text });
    client.tell("textDocument/didOpen", json!({ "textDocument": document }));
    let links = client.ask("textDocument/documentLink", json!({ "textDocument": { "uri": uri } }));
    assert_eq!(links[0]["target"], format!("file://{}/lib.rnl", folder.path().display()));
    assert_eq!(links[0]["range"]["start"]["character"], 9);
}

#[test]
fn hovers_show_definitions() {
    let mut client = Client::new();
    let mut hover = |marked: &str| {
        let found = client.at("hover", &format!("{TASKS}{marked}"));
        found["contents"]["value"].as_str().unwrap_or_default().to_owned()
    };
    let text = hover("'a' upper¦case");
    assert!(text.starts_with("```runnel\nString -<String>uppercase\n```"), "{text}");
    assert!(text.contains("The same: `asUppercase`"), "{text}");
    assert!(hover("#HTTP¦Server{ }").contains("A server of HTTP."));
    assert!(hover("#HTTPServer{ po¦rt: 3 }").contains("the port; 0 takes a free one"));
    assert!(hover("#Task{ tit¦le: 'x' }").contains("var <string 1..80> title."));
    assert!(hover("tas¦ks").contains("<Table of Task> tasks"));
    assert!(hover("x := fi¦le:a").contains("files and folders"));
    assert!(hover("(#Task{ }) mo¦ve: 1 to: 2").contains("Task -move:<int>from to:<int>target"));
    assert!(hover("std¦out").contains("<ByteStream> stdout"));
    assert!(hover("std¦out").contains("Standard output, a stream."));
    assert!(hover("'a' ¦→ stdout").contains("A connection"));
    assert!(hover("cla¦ss A { }").contains("class Task"));
    assert_eq!(hover("12¦"), "");
}

#[test]
fn signatures_follow_the_argument() {
    let mut client = Client::new();
    let mut help = |marked: &str| {
        let found = client.at("signatureHelp", &format!("{TASKS}{marked}"));
        let label = found["signatures"][0]["label"].as_str().unwrap_or_default().to_owned();
        (label, found["activeParameter"].as_u64().unwrap_or(99))
    };
    let replace = "-<String>replace:<String>old with:<String>new".to_owned();
    assert_eq!(help("'a' replace: ¦"), (replace.clone(), 0));
    assert_eq!(help("'a' replace: 'b' with: ('c' ¦)"), (replace, 1));
    let own = "-move:<int>from to:<int>target".to_owned();
    assert_eq!(help("t := #Task{ }.\nt move: 1\n  to: ¦"), (own, 1));
    assert_eq!(help("#HTTPServer{ port: ¦ }").1, 99);
    assert_eq!(help("x := 3. ¦").1, 99);
}

#[test]
fn names_lead_to_their_definitions_and_uses() {
    let mut client = Client::new();
    let mut lines = |method: &str, marked: &str| {
        let more = json!({ "context": { "includeDeclaration": true } });
        let found = client.at_with(method, &format!("{TASKS}{marked}"), more);
        let all: Vec<u64> = found
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["range"]["start"]["line"].as_u64().unwrap())
            .collect();
        all
    };
    assert_eq!(lines("definition", "tas¦ks select: { :a | a }"), [15]);
    assert_eq!(lines("definition", "#Ta¦sk{ }"), [0]);
    assert_eq!(lines("definition", "(#Task{ }) li¦ne"), [4]);
    assert_eq!(lines("definition", "(#Task{ }) tit¦le"), [2]);
    assert_eq!(lines("definition", "'a' upper¦case"), [0_u64; 0]);
    assert_eq!(lines("references", "x := 1.\n{ x := 2. x¦ }.\ny := x"), [16, 17, 17, 18]);
    assert_eq!(lines("references", "{ :x | x¦ }.\n{ :x | x }"), [16, 16]);
    assert_eq!(lines("references", "#Ta¦sk{ }"), [0, 11, 15, 16]);
    assert_eq!(lines("documentHighlight", "x := 1.\nx¦ + x"), [16, 17, 17]);
}

#[test]
fn renaming_changes_every_place_and_nothing_else() {
    let mut client = Client::new();
    let mut renamed = |marked: &str, new: &str| {
        let edit = client.at_with("rename", marked, json!({ "newName": new }));
        match edit.get("error") {
            Some(error) => Err(error["message"].as_str().unwrap().to_owned()),
            None => Ok(applied(&marked.replace('¦', ""), &edit["changes"][URI])),
        }
    };
    assert_eq!(renamed("a😀 := 1", "b").unwrap_err(), "there is no name here",);
    assert_eq!(
        renamed("'😀' squared. x¦ := 1. { x := 2. { :x | x } }. var:x + x", "y").unwrap(),
        "'😀' squared. y := 1. { y := 2. { :x | x } }. var:y + y",
    );
    assert_eq!(
        renamed(
            "class A { -move:<int>a to:<int>b { a } }\n#A{ } mo¦ve: 1 to: (#A{ } move: 2 to: 3)",
            "walk:until:"
        )
        .unwrap(),
        "class A { -walk:<int>a until:<int>b { a } }\n#A{ } walk: 1 until: (#A{ } walk: 2 until: 3)",
    );
    assert_eq!(
        renamed(
            "class Tas¦k { }\nclass B : Task { var <[Task]> all. }\n#Task{ } squared. Task",
            "Job"
        )
        .unwrap(),
        "class Job { }\nclass B : Job { var <[Job]> all. }\n#Job{ } squared. Job",
    );
    assert_eq!(
        renamed("scheme:notes ← #S{ }.\nno¦tes:a ← notes:b", "texts").unwrap(),
        "scheme:texts ← #S{ }.\ntexts:a ← texts:b",
    );
    let why = renamed("class A { -move:<int>a to:<int>b { a } }\n#A{ } mo¦ve: 1 to: 2", "walk")
        .unwrap_err();
    assert!(why.contains("needs 2 keywords"), "{why}");
    let why = renamed("class A { -cou¦nt { 3 } }", "size").unwrap_err();
    assert!(why.contains("is a message of the language as well"), "{why}");
    assert!(renamed("std¦out", "out").unwrap_err().contains("a name of the language"));
    assert!(renamed("x¦ := 1", "a b").unwrap_err().contains("is not a name"));
    assert!(renamed("x¦ := 1", "nil").unwrap_err().contains("is not a name"));
    assert!(renamed("x¦ := 1. (", "y").unwrap_err().contains("line 1 has a fault"));
}

#[test]
fn outlines_folds_and_lenses_name_what_is_defined() {
    let mut client = Client::new();
    let text = format!("{TASKS}scheme:notes ← #Site{{ }}.\ntest 'adds' {{\n    3\n    4\n}}\n");
    let outline = client.about("documentSymbol", &text);
    let name = |item: &Value| item["name"].as_str().unwrap().to_owned();
    let names: Vec<String> = outline.as_array().unwrap().iter().map(name).collect();
    assert_eq!(names, ["Task", "Site", "tasks", "notes:", "test 'adds'"]);
    let members: Vec<String> =
        outline[0]["children"].as_array().unwrap().iter().map(name).collect();
    assert_eq!(members, ["title", "done", "-line", "-move:to:"]);
    let routes = &outline[1]["children"][1]["children"];
    assert_eq!(routes[0]["name"], "GET /tasks");
    assert_eq!(routes[2]["children"][0]["name"], "GET /tasks/:<int>id");
    let lenses = client.about("codeLens", &text);
    let titles: Vec<&str> = lenses
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["command"]["title"].as_str().unwrap())
        .collect();
    assert_eq!(titles, ["GET /tasks", "POST /tasks", "GET /tasks/:<int>id (html)", "run test"]);
    let folds = client.about("foldingRange", &text);
    assert_eq!(folds[0]["startLine"], 0);
    assert_eq!(folds[0]["endLine"], 5);
    let params = json!({ "query": "mvt" });
    let found = client.ask("workspace/symbol", params);
    assert_eq!(found[0]["name"], "-move:to:", "{found}");
}

#[test]
fn tokens_have_the_kinds_of_their_names() {
    let mut client = Client::new();
    let text = "class A { -at:<int>x { x + y } }\n// 😀\ny := #A{ }.\n'a\nb' uppercase";
    let data = client.about("semanticTokens/full", text)["data"].clone();
    let data: Vec<u64> = data.as_array().unwrap().iter().map(|one| one.as_u64().unwrap()).collect();
    let (mut line, mut column, mut found) = (0, 0, Vec::new());
    for token in data.chunks(5) {
        if token[0] > 0 {
            (line, column) = (line + token[0], 0);
        }
        column += token[1];
        let text: Vec<u16> = text.split('\n').nth(line as usize).unwrap().encode_utf16().collect();
        let text =
            String::from_utf16(&text[column as usize..(column + token[2]) as usize]).unwrap();
        found.push((text, token[3]));
    }
    let kind = |text: &str| found.iter().find(|(one, _)| one == text).map(|(_, kind)| *kind);
    assert_eq!(kind("class"), Some(6));
    assert_eq!(kind("A"), Some(1));
    assert_eq!(kind("x"), Some(2));
    assert_eq!(kind("y"), Some(3));
    assert_eq!(kind("// 😀"), Some(9));
    assert_eq!(kind("'a"), Some(7));
    assert_eq!(kind("b'"), Some(7), "{found:?}");
    assert_eq!(kind("uppercase"), Some(5));
}

#[test]
fn formatting_changes_only_the_lines_that_differ() {
    let mut client = Client::new();
    let text = "// one\nx   :=  3.\n// two\ny := 4.\nz:=   [1,2].\n";
    let edits = client.about("formatting", text);
    assert_eq!(edits.as_array().unwrap().len(), 2, "{edits}");
    assert_eq!(applied(text, &edits), "// one\nx := 3.\n// two\ny := 4.\nz := [ 1, 2 ].\n");
    let range =
        json!({ "start": { "line": 4, "character": 0 }, "end": { "line": 4, "character": 5 } });
    let params = json!({ "textDocument": { "uri": URI }, "range": range });
    let edits = client.ask("textDocument/rangeFormatting", params);
    assert_eq!(applied(text, &edits), "// one\nx   :=  3.\n// two\ny := 4.\nz := [ 1, 2 ].\n");
    assert_eq!(client.about("formatting", "x := ("), json!([]), "a text with a fault");
}

#[test]
fn findings_have_corrections() {
    let mut client = Client::new();
    let text = "colour := 'red'.\nstdout println: coluor";
    let found = client.about("diagnostic", text);
    assert!(found["items"][0]["message"].as_str().unwrap().contains("did you mean `colour`?"));
    let range = found["items"][0]["range"].clone();
    let params =
        json!({ "textDocument": { "uri": URI }, "range": range, "context": { "diagnostics": [] } });
    let actions = client.ask("textDocument/codeAction", params);
    assert_eq!(actions[0]["title"], "Replace `coluor` with `colour`");
    let fixed = applied(text, &actions[0]["edit"]["changes"][URI]);
    assert_eq!(fixed, "colour := 'red'.\nstdout println: colour");
}

#[test]
fn hints_show_types_that_the_text_does_not() {
    let mut client = Client::new();
    client.open(&format!(
        "{TASKS}x := 3.\ny := 'a' uppercase.\ntasks select: {{ :task | task done }}"
    ));
    let whole =
        json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 99, "character": 0 } });
    let params = json!({ "textDocument": { "uri": URI }, "range": whole });
    let hints = client.ask("textDocument/inlayHint", params);
    let shown: Vec<(u64, &str)> = hints
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["position"]["line"].as_u64().unwrap(), one["label"].as_str().unwrap()))
        .collect();
    assert_eq!(shown, [(15, "<Table of Task>"), (17, "<String>"), (18, "<Task>")]);
}
