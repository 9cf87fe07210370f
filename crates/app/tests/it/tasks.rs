//! The tasks backend of the examples: every verb over HTTP, kept in SQLite.

use crate::support::http::{Connection, Reply, get, send};
use crate::support::{Folder, Process, eventually, examples, free_port, run, runnel};
use serde_json::json;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

fn command(port: u16, database: &Path) -> Command {
    let mut command = runnel();
    command
        .args(["--port", &port.to_string()])
        .arg(examples().join("tasks.st"))
        .arg(format!("sqlite:{}", database.display()));
    command
}

/// The backend on a database of its own.
struct Tasks {
    process: Process,
    port: u16,
    database: PathBuf,
    _folder: Folder,
}

impl Tasks {
    fn start() -> Tasks {
        let folder = Folder::new();
        let database = folder.path("tasks.db");
        let port = free_port();
        let mut process = Process::start(&mut command(port, &database));
        process.listens(port);
        Tasks { process, port, database, _folder: folder }
    }

    fn get(&self, target: &str) -> Reply {
        get(self.port, target)
    }

    fn send(&self, method: &str, target: &str, body: &str) -> Reply {
        let headers = [("Content-Type", "application/json")];
        send(self.port, method, target, &headers, body.as_bytes()).unwrap()
    }

    fn add(&self, title: &str) -> serde_json::Value {
        let reply =
            self.send("POST", "/tasks", &json!({ "title": title, "done": false }).to_string());
        assert!(matches!(reply.status, 200 | 201), "{reply:?}");
        reply.json()
    }
}

#[test]
fn every_verb_over_a_table() {
    let tasks = Tasks::start();
    let empty = tasks.get("/tasks");
    assert_eq!((empty.status, empty.json()), (200, json!([])));
    assert_eq!(empty.header("content-type"), Some("application/json"));

    let first = json!({ "id": 1, "done": false, "title": "Clean Room" });
    let second = json!({ "id": 2, "done": false, "title": "Check Twitter" });
    assert_eq!(tasks.add("Clean Room"), first);
    assert_eq!(tasks.add("Check Twitter"), second);
    assert_eq!(tasks.get("/tasks").json(), json!([first, second]));
    assert_eq!(tasks.get("/tasks/2").json(), second);
    assert_eq!(tasks.get("/tasks").text().find("{\"id\":1,\"done\":false,"), Some(1));

    let put = tasks.send("PUT", "/tasks/1", r#"{"title":"Clean Kitchen","done":true}"#);
    assert_eq!(put.status, 200, "{put:?}");
    assert_eq!(
        tasks.get("/tasks/1").json(),
        json!({ "id": 1, "done": true, "title": "Clean Kitchen" })
    );

    let patch = tasks.send("PATCH", "/tasks/1", r#"{"done":false}"#);
    assert_eq!((patch.status, patch.body.len()), (204, 0));
    assert_eq!(
        tasks.get("/tasks/1").json(),
        json!({ "id": 1, "done": false, "title": "Clean Kitchen" })
    );

    assert_eq!(tasks.send("PATCH", "/tasks/2", r#"{"done":true}"#).status, 204);
    assert_eq!(
        tasks.get("/open").json(),
        json!([{ "id": 1, "done": false, "title": "Clean Kitchen" }])
    );

    assert_eq!(tasks.send("DELETE", "/tasks/1", "").status, 204);
    assert_eq!(tasks.send("DELETE", "/tasks/1", "").status, 404);
    assert_eq!(tasks.get("/tasks/1").status, 404);
    assert_eq!(
        tasks.get("/tasks").json(),
        json!([{ "id": 2, "done": true, "title": "Check Twitter" }])
    );

    let head = tasks.send("HEAD", "/tasks", "");
    let length = tasks.get("/tasks").body.len().to_string();
    assert_eq!((head.status, head.header("content-length")), (200, Some(length.as_str())));
}

#[test]
fn a_task_without_a_title_is_refused() {
    let tasks = Tasks::start();
    for body in ["{}", r#"{"title":null}"#, r#"{"title":3}"#, r#"{"id":7,"title":"x"}"#, "[]", ""] {
        assert_eq!(tasks.send("POST", "/tasks", body).status, 422, "{body}");
    }
    tasks.add("Clean Room");
    for body in [r#"{"title":null}"#, r#"{"id":2,"title":"x"}"#, "null", "[]"] {
        assert_eq!(tasks.send("PUT", "/tasks/1", body).status, 422, "{body}");
        assert_eq!(tasks.send("PATCH", "/tasks/1", body).status, 422, "{body}");
    }
    assert_eq!(tasks.get("/tasks").json().as_array().unwrap().len(), 1);
}

#[test]
fn text_of_every_kind_comes_back_as_it_went() {
    let tasks = Tasks::start();
    let titles = [
        "",
        "quotes \" and ' and \\",
        "'); DROP TABLE task; --",
        "Grüße, 世界 🌍",
        "line\nbreak\ttab\u{1}",
        "</script><script>alert(1)</script>",
    ];
    for title in titles {
        let id = tasks.add(title)["id"].clone();
        assert_eq!(tasks.get(&format!("/tasks/{id}")).json()["title"], title);
    }
    let long = "x".repeat(1_000_000);
    assert_eq!(tasks.add(&long)["title"], long.as_str());
    assert_eq!(tasks.get("/tasks").json().as_array().unwrap().len(), titles.len() + 1);
}

#[test]
fn wrong_requests_are_told_what_is_wrong() {
    let tasks = Tasks::start();
    tasks.add("one");
    let bad = [
        ("POST", "/tasks", r#"{"title":"#, 400, "line 1, column 10"),
        ("POST", "/tasks", "title=hello", 400, "JSON"),
        ("POST", "/tasks", r#"{"title":5}"#, 422, "/title"),
        ("POST", "/tasks", r#"{"nothing":5}"#, 422, "/nothing"),
        ("PUT", "/tasks/1", r#"{"done":"#, 400, "JSON"),
        ("PATCH", "/tasks/1", r#"{"done":"perhaps"}"#, 422, "done"),
        ("PATCH", "/tasks/77", r#"{"done":true}"#, 404, "404 Not Found"),
        ("GET", "/tasks/77", "", 404, "404 Not Found"),
        ("GET", "/tasks/one", "", 404, "404 Not Found"),
        ("GET", "/tasks/1/more", "", 404, "404 Not Found"),
        ("GET", "/nothing", "", 404, "404 Not Found"),
        ("TRACE", "/tasks", "", 405, "405 Method Not Allowed"),
    ];
    for (method, target, body, status, says) in bad {
        let reply = tasks.send(method, target, body);
        assert_eq!(reply.status, status, "{method} {target} {body}: {reply:?}");
        assert!(reply.text().contains(says), "{method} {target} {body}: {}", reply.text());
    }
    for (method, target, allow) in [
        ("DELETE", "/tasks", "OPTIONS, GET, HEAD, POST"),
        ("PATCH", "/tasks", "OPTIONS, GET, HEAD, POST"),
        ("POST", "/tasks/1", "OPTIONS, GET, HEAD, PUT, PATCH, DELETE"),
        ("PUT", "/open", "OPTIONS, GET, HEAD"),
    ] {
        let reply = tasks.send(method, target, "{}");
        assert_eq!((reply.status, reply.header("allow")), (405, Some(allow)), "{method} {target}");
    }
    let options = tasks.send("OPTIONS", "/tasks/1", "");
    let allow = Some("OPTIONS, GET, HEAD, PUT, PATCH, DELETE");
    assert_eq!((options.status, options.header("allow")), (204, allow));
    // None of it changed anything.
    assert_eq!(tasks.get("/tasks").json(), json!([{ "id": 1, "done": false, "title": "one" }]));
}

#[test]
fn posts_at_the_same_time_get_ids_of_their_own() {
    let tasks = Tasks::start();
    let port = tasks.port;
    let threads: Vec<_> = (0..8)
        .map(|thread| {
            thread::spawn(move || {
                let mut connection = Connection::open(port).unwrap();
                (0..25)
                    .map(|number| {
                        let title = format!("{thread}/{number}");
                        let body = json!({ "title": title, "done": false }).to_string();
                        let task =
                            connection.send("POST", "/tasks", body.as_bytes()).unwrap().json();
                        assert_eq!(task["title"], title.as_str());
                        task["id"].as_i64().unwrap()
                    })
                    .collect::<Vec<i64>>()
            })
        })
        .collect();
    let ids: Vec<i64> = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
    let distinct: BTreeSet<i64> = ids.iter().copied().collect();
    assert_eq!(distinct, (1..=200).collect());
    let rows = tasks.get("/tasks").json();
    let titles: BTreeSet<&str> =
        rows.as_array().unwrap().iter().map(|row| row["title"].as_str().unwrap()).collect();
    assert_eq!(titles.len(), 200);
}

#[test]
fn a_restart_keeps_the_data() {
    let mut tasks = Tasks::start();
    tasks.add("before");
    tasks.process.signal("TERM");
    assert_eq!(tasks.process.end(), 0, "{}", tasks.process.err());

    tasks.process = Process::start(&mut command(tasks.port, &tasks.database));
    tasks.process.listens(tasks.port);
    assert_eq!(tasks.get("/tasks").json(), json!([{ "id": 1, "done": false, "title": "before" }]));
    assert_eq!(tasks.add("after")["id"], 2);

    // What was answered is kept even when the process is killed.
    tasks.process.signal("KILL");
    assert_eq!(tasks.process.end(), -9);
    tasks.process = Process::start(&mut command(tasks.port, &tasks.database));
    tasks.process.listens(tasks.port);
    assert_eq!(tasks.get("/tasks").json().as_array().unwrap().len(), 2);
}

#[test]
fn the_end_lets_requests_finish() {
    let program = "#-serve\n\
        scheme Site {\n\
        \x20   /slow { get { file:started.txt ← 'yes'. runLoop runFor: 3. 'done' } }\n\
        }\n\
        #Site{}\n";
    let folder = Folder::new();
    let file = folder.write("slow.st", program);
    let port = free_port();
    let mut command = runnel();
    command.args(["--port", &port.to_string()]).arg(&file);
    let mut process = Process::start(command.current_dir(folder.path("")));
    process.listens(port);
    let mut connection = Connection::open(port).unwrap();
    connection.ask("GET", "/slow", &[], b"").unwrap();
    eventually("the handler runs", || folder.path("started.txt").exists());

    process.signal("TERM");
    eventually("no new connection is taken", || Connection::open(port).is_err());
    assert!(process.is_running());
    let reply = connection.answer("GET").unwrap();
    assert_eq!((reply.status, reply.text().as_str()), (200, "done"));
    assert_eq!(process.end(), 0, "{}", process.err());
    assert!(!process.err().contains("error"), "{}", process.err());
}

#[test]
fn an_interrupt_ends_it_with_its_own_status() {
    for _ in 0..3 {
        let mut tasks = Tasks::start();
        tasks.process.signal("INT");
        assert_eq!(tasks.process.end(), 130, "{}", tasks.process.err());
        assert!(!tasks.process.err().contains("error"), "{}", tasks.process.err());
    }
}

#[test]
fn a_port_that_is_taken_is_a_clear_error() {
    let tasks = Tasks::start();
    let folder = Folder::new();
    let other = run(&mut command(tasks.port, &folder.path("other.db")));
    assert_eq!(other.status, 70, "{other:?}");
    assert_eq!(other.out, "");
    let expected = format!("port {} is taken", tasks.port);
    assert!(other.err.starts_with("error: ") && other.err.contains(&expected), "{}", other.err);
}

#[test]
fn a_database_that_cannot_be_opened_is_a_clear_error() {
    let folder = Folder::new();
    let text =
        folder.write("notes.db", "this is a text, it is no database, whatever its name says");
    let port = free_port();
    let outcome = run(&mut command(port, &text));
    assert_eq!(outcome.status, 70, "{outcome:?}");
    assert!(outcome.err.contains("notes.db"), "{}", outcome.err);
    let outcome = run(&mut command(port, &folder.path("missing/tasks.db")));
    assert_eq!(outcome.status, 70, "{outcome:?}");
    assert!(outcome.err.contains("missing/tasks.db"), "{}", outcome.err);
}
