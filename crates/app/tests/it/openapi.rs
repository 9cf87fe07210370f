//! `#OpenAPI{ }`: its document over HTTP, its page in a real browser, and a generated client in Node.

use crate::openapi_judges::tools;
use crate::support::browser::Browser;
use crate::support::http::{Reply, get, send};
use crate::support::{self, Folder, Process, eventually_or, free_port, run, runnel, runnel_with};
use serde_json::{Value, json};
use std::process::Command;

/// Notes below `/api`, of which each user has others.
const PROGRAM: &str = r#"#-serve
// A note.
class Note {
   var <int readonly> id.
   // What is written.
   var <string 1..40> text.
   var <'low' 'high'> rank ← 'low'.
}
scheme Notes {
   var notes.
   guard user { header:authorization ifNotNil: { :text | text words last } }
   /notes?:<'low' 'high'?>rank {
      // Lists the notes of all users.
      get public → <[Note]> { (this:notes asArray) select: { :one | rank isNil or: { one rank = rank } } }
      // Writes a note.
      post <Note> → 201 <Note> {
         note ← newValue.
         note setText: "{user}: {note text}".
         this:notes add: note.
         note
      }
      /count { get public → <int> { this:notes count } }
      /:<int 1..>number { get public → <Note> { this:notes at: number - 1 } }
   }
   /secret { get hidden { 'not in the document' } }
}
notes ← #OpenAPI{ title: 'Notes', version: '1.2.3', about: 'All about notes.', contact: 'n@example.org' }
   → #Notes{ notes: #MutableArray[] }.
#Route{ stores: #{ api: notes } }.
"#;

/// The served program.
struct Api {
    port: u16,
    process: Process,
    folder: Folder,
}

impl Api {
    fn start() -> Api {
        let (folder, port) = (Folder::new(), free_port());
        let mut command = runnel();
        command.args(["--port", &port.to_string()]).arg(folder.write("notes.st", PROGRAM));
        let mut process = Process::start(&mut command);
        process.listens(port);
        Api { port, process, folder }
    }

    fn address(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    fn with(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> Reply {
        send(self.port, method, path, headers, b"").unwrap()
    }

    fn end(mut self) {
        self.process.signal("TERM");
        assert_eq!(self.process.end(), 0, "{}", self.process.err());
        assert!(!self.process.err().contains("ERROR"), "{}", self.process.err());
    }
}

#[test]
fn a_document_has_a_media_type_and_a_validator() {
    let api = Api::start();
    for (path, media_type) in [
        ("/api/openapi.json", "application/json"),
        ("/api/docs", "text/html; charset=utf-8"),
        ("/api/docs/docs.js", "text/javascript; charset=utf-8"),
        ("/api/docs/docs.css", "text/css; charset=utf-8"),
    ] {
        let reply = get(api.port, path);
        assert_eq!((reply.status, reply.header("content-type")), (200, Some(media_type)), "{path}");
        assert_eq!(reply.header("x-content-type-options"), Some("nosniff"), "{path}");
        let tag = reply.header("etag").unwrap_or_else(|| panic!("{path} has no ETag")).to_string();
        let again = api.with("GET", path, &[("If-None-Match", &tag)]);
        assert_eq!((again.status, again.body.len()), (304, 0), "{path}");
        assert_eq!(again.header("etag"), Some(tag.as_str()), "{path}");
        let other = api.with("GET", path, &[("If-None-Match", "\"other\"")]);
        assert_eq!(other.body, reply.body, "{path}");
        let head = api.with("HEAD", path, &[]);
        assert_eq!((head.status, head.header("etag")), (200, Some(tag.as_str())), "{path}");
        let refused = api.with("DELETE", path, &[]);
        assert_eq!(refused.status, 405, "{path}");
        assert_eq!(refused.header("allow"), Some("OPTIONS, GET, HEAD"), "{path}");
    }
    assert_eq!(get(api.port, "/api/docs/").status, 401, "the API itself answers what lies beside");
    assert_eq!(get(api.port, "/openapi.json").status, 404);
    api.end();
}

#[test]
fn a_document_says_what_its_options_and_the_program_say() {
    let api = Api::start();
    let document = get(api.port, "/api/openapi.json").json();
    assert_eq!(document["openapi"], "3.1.0");
    let info = json!({
        "title": "Notes", "version": "1.2.3", "description": "All about notes.",
        "contact": { "email": "n@example.org" },
    });
    assert_eq!(document["info"], info);
    assert_eq!(document["servers"], json!([{ "url": "." }]), "beside the document");
    let paths: Vec<&String> = document["paths"].as_object().unwrap().keys().collect();
    assert_eq!(paths, ["/notes", "/notes/count", "/notes/{number}"]);
    let (list, add) = (&document["paths"]["/notes"]["get"], &document["paths"]["/notes"]["post"]);
    assert_eq!((&list["security"], &add["security"]), (&json!([]), &json!([{ "bearerAuth": [] }])));
    assert_eq!(list["description"], "Lists the notes of all users.");
    assert_eq!(list["parameters"][0]["schema"]["enum"], json!(["low", "high"]));
    let input = &document["components"]["schemas"]["NoteInput"];
    assert_eq!(input["required"], json!(["text"]));
    assert_eq!(input["properties"]["text"]["description"], "What is written.");
    let count = &document["paths"]["/notes/count"]["get"]["responses"]["200"]["content"];
    assert_eq!(count["text/plain"]["schema"]["type"], "integer");
    let told = runnel_with(&["openapi", api.folder.path("notes.st").to_str().unwrap()]);
    let mut printed: Value = serde_json::from_str(&told.out).unwrap();
    assert_eq!(printed["servers"], json!([{ "url": "/" }]));
    let below = printed["paths"].as_object().unwrap().keys().all(|path| path.starts_with("/api/"));
    assert!(below, "{}", printed["paths"]);
    let schemas = printed["components"]["schemas"].take();
    assert_eq!(schemas, document["components"]["schemas"]);
    api.end();
}

/// Waits until a script answers this.
fn answers(browser: &Browser, script: &str, expected: Value) {
    eventually_or(
        || browser.script(script) == expected,
        || format!("{script} is {} and not {expected}", browser.script(script)),
    );
}

const STATUS: &str =
    "return document.querySelector('#try-createNote [role=status]').textContent.slice(0, 11)";
const SHOWN: &str =
    "return [...document.querySelectorAll('article.operation:not([hidden])')].map((one) => one.id)";
const FOCUS: &str = "return document.activeElement.id || document.activeElement.className";

#[test]
fn a_page_is_read_searched_and_tried_out() {
    let browser = match Browser::start() {
        Ok(browser) => browser,
        Err(reason) => return support::skip(&reason),
    };
    let api = Api::start();
    browser.open(&api.address("/api/docs"));
    assert_eq!(browser.get("/title"), "Notes");
    let text = browser.text("main");
    for words in ["Lists the notes of all users.", "text of 1 to 40 characters", "What is written."]
    {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(!text.contains("secret"), "{text}");

    browser.type_into("#find", "count");
    answers(&browser, "return document.getElementById('found').textContent", json!("1 operation"));
    assert_eq!(browser.script(SHOWN), json!(["operation-getNotesCount"]));
    browser.script(
        "const find = document.getElementById('find'); find.value = '';
        find.dispatchEvent(new Event('input'));",
    );
    answers(
        &browser,
        "return document.querySelectorAll('article.operation[hidden]').length",
        json!(0),
    );

    // Without a token the request is refused, with one it is not; a public operation gets none.
    let button = "#try-createNote button";
    browser.click("#operation-createNote .try summary");
    browser.click(button);
    answers(&browser, STATUS, json!("401 Unautho"));
    browser.type_into("#token", "ann");
    browser.script(
        "document.getElementById('try-createNote-body').value = '{ \"text\": \"<b>sow</b>\" }'",
    );
    browser.click(button);
    answers(&browser, STATUS, json!("201 Created"));
    let answer = browser.text("#try-createNote .answer");
    assert!(answer.contains("\"text\": \"ann: <b>sow</b>\""), "{answer}");
    assert!(answer.contains(&format!("curl -X POST '{}'", api.address("/api/notes"))), "{answer}");
    assert!(!answer.contains("Bearer ann"), "{answer}");
    assert_eq!(browser.all(".answer b").len(), 0, "an answer is text, never markup");
    assert_eq!(get(api.port, "/api/notes/count").text(), "1");
    assert_eq!(browser.script("return localStorage.length + document.cookie.length"), json!(0));

    // With the keyboard alone: the first key leads past the contents, and space opens a form.
    browser.script("document.activeElement.blur(); window.scrollTo(0, 0);");
    browser.open(&api.address("/api/docs"));
    browser.type_into("body", "\u{e004}");
    answers(&browser, FOCUS, json!("skip"));
    browser.type_into(".skip", "\u{e007}");
    answers(&browser, FOCUS, json!("operations"));
    browser.type_into("#operation-listNotes .try summary", " ");
    answers(
        &browser,
        "return document.querySelector('#operation-listNotes .try').open",
        json!(true),
    );
    browser.type_into("#try-listNotes button", "\u{e007}");
    let status =
        "return document.querySelector('#try-listNotes [role=status]').textContent.slice(0, 3)";
    answers(&browser, status, json!("200"));
    let refused = browser.complaints_but(&["401"]);
    assert_eq!(refused, Vec::<String>::new());
    api.end();
}

#[test]
fn a_page_asks_nobody_else() {
    let browser = match Browser::start() {
        Ok(browser) => browser,
        Err(reason) => return support::skip(&reason),
    };
    let api = Api::start();
    let policy = get(api.port, "/api/docs").header("content-security-policy").unwrap().to_string();
    assert!(
        policy.starts_with("default-src 'none'; style-src 'self'; script-src 'self'"),
        "{policy}"
    );
    browser.open(&api.address("/api/docs"));
    let own = api.address("/api/");
    let loaded =
        browser.script("return performance.getEntriesByType('resource').map(({ name }) => name)");
    let loaded: Vec<String> = serde_json::from_value(loaded).unwrap();
    assert_eq!(loaded.iter().filter(|name| name.contains("/api/docs/")).count(), 2, "{loaded:?}");
    assert!(
        loaded.iter().all(|name| name.starts_with(&own) || name.contains("favicon")),
        "{loaded:?}"
    );
    // Neither a script nor a request to another origin gets past the policy.
    let other = Api::start();
    let refused = browser.post(
        "/execute/async",
        &json!({ "args": [other.address("/api/notes/count")], "script":
        "const [address, done] = arguments;
         fetch(address, { mode: 'no-cors' }).then(() => done('sent'), () => done('refused'));" }),
    );
    assert_eq!(refused, "refused");
    let inline =
        "const script = document.createElement('script'); script.textContent = 'window.ran = true';
        document.body.append(script); return window.ran === true;";
    assert_eq!(browser.script(inline), json!(false));
    let complaints = browser.complaints();
    assert!(complaints.iter().all(|one| one.contains("Content Security Policy")), "{complaints:?}");
    other.end();
    api.end();
}

#[test]
fn everybody_can_use_a_page() {
    let browser = match Browser::start() {
        Ok(browser) => browser,
        Err(reason) => return support::skip(&reason),
    };
    let api = Api::start();
    browser.open(&api.address("/api/docs"));
    browser.script("document.querySelectorAll('details').forEach((one) => { one.open = true; })");
    let ground = "return getComputedStyle(document.body).backgroundColor";
    let mut grounds = Vec::new();
    for scheme in ["light", "dark"] {
        let feature = json!({ "name": "prefers-color-scheme", "value": scheme });
        browser.tell("Emulation.setEmulatedMedia", json!({ "features": [feature] }));
        grounds.push(browser.script(ground));
        match browser.violations("") {
            Some(found) => assert_eq!(found, json!([]), "{scheme}"),
            None => support::skip("axe-core is not installed"),
        }
    }
    assert_ne!(grounds[0], grounds[1]);
    let phone = json!({ "width": 360, "height": 740, "deviceScaleFactor": 2, "mobile": true });
    browser.tell("Emulation.setDeviceMetricsOverride", phone);
    assert_eq!(browser.script("return document.documentElement.scrollWidth"), json!(360));
    if let Some(found) = browser.violations("") {
        assert_eq!(found, json!([]), "on a phone");
    }
    api.end();
}

#[test]
fn a_page_is_read_without_javascript() {
    let browser = match Browser::without_javascript() {
        Ok(browser) => browser,
        Err(reason) => return support::skip(&reason),
    };
    let api = Api::start();
    browser.open(&api.address("/api/docs"));
    assert!(browser.text("main").contains("Writes a note."));
    for hidden in ["#search", "#settings", "#operation-createNote .try"] {
        let shown = browser.get(&format!("/element/{}/displayed", browser.one(hidden)));
        assert_eq!(shown, json!(false), "{hidden} needs JavaScript");
    }
    api.end();
}

/// What the types refuse stands behind `@ts-expect-error`: where the compiler accepts it, it complains.
const USE: &str = r#"
import { ApiError, createClient, type Note } from "./client.js";
const client = createClient({ baseUrl: process.argv[2]!, token: "ann" });
const same = (one: unknown, other: unknown) => {
  const [is, wanted] = [JSON.stringify(one), JSON.stringify(other)];
  if (is !== wanted) throw new Error(`${is} is not ${wanted}`);
};
const made: Note = await client.notes.createApiNote({ text: "sow", rank: "high" });
same(made.text, "ann: sow");
same((await client.notes.listApiNotes({ rank: "low" })).length, 0);
same((await client.notes.listApiNotes()).map((one) => one.rank), ["high"]);
const count: number = await client.notes.getApiNotesCount();
same(count, 1);
same((await client.notes.getApiNote(1)).text, "ann: sow");
// @ts-expect-error: no such rank
await client.notes.listApiNotes({ rank: "middle" }).catch((error) => same(error.status, 422));
// @ts-expect-error: the text is missing
const refused = await client.notes.createApiNote({ rank: "low" }).catch((error) => error);
if (!(refused instanceof ApiError)) throw new Error("not refused");
same([refused.status, refused.fields["/text"]], [422, "text is required"]);
console.log("all checks");
"#;

#[test]
fn a_client_is_compiled_and_understood() {
    let Some(tools) = tools() else { return };
    let api = Api::start();
    let folder = Folder::new();
    let told = runnel_with(&["client", api.folder.path("notes.st").to_str().unwrap()]);
    assert_eq!((told.status, told.err.as_str()), (0, ""));
    folder.write("client.ts", &told.out);
    folder.write("use.ts", format!("declare const process: {{ argv: string[] }};\n{USE}"));
    folder.write("package.json", r#"{ "type": "module" }"#);
    let mut compiler = Command::new(tools.join("node/node_modules/.bin/tsc"));
    compiler.current_dir(folder.path("")).args([
        "--strict",
        "--noUncheckedIndexedAccess",
        "--target",
        "es2022",
    ]);
    compiler.args(["--lib", "es2022,dom,dom.iterable", "--module", "nodenext", "use.ts"]);
    let compiled = run(&mut compiler);
    assert_eq!((compiled.status, compiled.out.as_str()), (0, ""), "{}", compiled.err);
    let mut node = Command::new("node");
    node.arg(folder.path("use.js")).arg(api.address(""));
    let used = run(&mut node);
    assert_eq!((used.status, used.out.as_str()), (0, "all checks\n"), "{}", used.err);
    api.end();
}
