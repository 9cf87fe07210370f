//! Programs before judges that others wrote: RealWorld's collection of requests, Todo-Backend's specification
//! and TechEmpower's rules, where these lie beside the project.

use crate::support::http::send;
use crate::support::{Folder, Process, free_port, run, runnel, skip};
use runnel_scratch::{Server, Service};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) fn programs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs")
}

fn program(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)
}

/// A program that a judge asks, on a fresh database.
struct Judged {
    process: Process,
    port: u16,
    folder: Folder,
}

impl Judged {
    /// An example, on a port of the command.
    fn start(name: &str) -> Judged {
        let folder = Folder::new();
        let database = format!("sqlite:{}", folder.path("judged.db").display());
        Judged::start_on(folder, name, &database)
    }

    fn start_on(folder: Folder, name: &str, database: &str) -> Judged {
        let port = free_port();
        let mut command = runnel();
        command.args(["--port", &port.to_string()]).arg(program(name)).arg(database);
        Judged::run(&mut command, folder, port)
    }

    fn run(command: &mut Command, folder: Folder, port: u16) -> Judged {
        let mut process = Process::start(command);
        process.listens(port);
        Judged { process, port, folder }
    }

    fn address(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// Status and content of the response to a request with JSON; null where it has none.
    fn asks(&self, token: &str, method: &str, path: &str, content: &Value) -> (u16, Value) {
        let authorization = format!("Token {token}");
        let headers = [("Content-Type", "application/json"), ("Authorization", &authorization)];
        let body = if content.is_null() { Vec::new() } else { content.to_string().into_bytes() };
        let reply = send(self.port, method, path, &headers, &body).unwrap();
        (reply.status, serde_json::from_slice(&reply.body).unwrap_or_default())
    }

    /// Ends the program, which reported no failed request.
    fn end(mut self) {
        self.process.signal("TERM");
        assert_eq!(self.process.end(), 0, "{}", self.process.err());
        assert!(!self.process.err().contains("ERROR"), "{}", self.process.err());
    }
}

/// A file of a judge, which lies outside of the project.
pub(crate) fn judge(name: &str) -> Option<PathBuf> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/judges").join(name);
    if !file.exists() {
        runnel_scratch::list_as_left_out(&format!("the judge {name} is not beside the project"));
        return None;
    }
    Some(file)
}

/// The folder of the packages for Node that `.ci/run` installs.
fn packages() -> Option<PathBuf> {
    let home = std::env::var_os("HOME")?;
    let folder = Path::new(&home).join(".cache/runnel/node/node_modules");
    let complete = [".bin/newman", ".bin/mocha", "chai", "chai-as-promised", "q", "underscore"];
    if let Some(missing) = complete.iter().find(|name| !folder.join(name).exists()) {
        skip(&format!("{missing} is not in {}; .ci/run installs it", folder.display()));
        return None;
    }
    Some(folder)
}

#[test]
fn realworld_passes_every_assertion_of_its_collection() {
    let judged = Judged::start("examples/conduit.st");
    assert_realworld(judged);
}

#[test]
fn realworld_passes_on_postgres() {
    let Some(server) = Server::for_test(Service::Postgres) else { return };
    let judged = Judged::start_on(Folder::new(), "examples/conduit.st", &server.url());
    assert_realworld(judged);
}

fn assert_realworld(judged: Judged) {
    let Some(script) = judge("realworld/run.sh") else { return judged.end() };
    let Some(packages) = packages() else { return judged.end() };
    let report = judged.folder.path("report.json");
    let mut command = Command::new("sh");
    command
        .arg(script)
        .args(["--reporters", "cli,json", "--reporter-json-export"])
        .arg(&report)
        .env("BASE", judged.address("/api"))
        .env("NEWMAN", packages.join(".bin/newman"));
    let outcome = run(&mut command);
    assert_eq!(outcome.status, 0, "{}{}", outcome.out, outcome.err);
    let report: Value = serde_json::from_slice(&std::fs::read(report).unwrap()).unwrap();
    let assertions = &report["run"]["stats"]["assertions"];
    assert_eq!((&assertions["total"], &assertions["failed"]), (&311.into(), &0.into()));
    assert_eq!(report["run"]["failures"], Value::Array(Vec::new()));
    judged.end();
}

#[test]
fn todo_backend_passes_its_specification() {
    let Some(script) = judge("todo-backend/run.cjs") else { return };
    let Some(packages) = packages() else { return };
    let judged = Judged::start("examples/todos.st");
    let mut command = Command::new(packages.join(".bin/mocha"));
    command
        .arg(script)
        .args(["--reporter", "json"])
        .env("BASE", judged.address("/todos"))
        .env("NODE_PATH", packages);
    let outcome = run(&mut command);
    assert_eq!(outcome.status, 0, "{}{}", outcome.out, outcome.err);
    let report: Value = serde_json::from_str(&outcome.out).unwrap();
    let stats = &report["stats"];
    assert_eq!(
        (&stats["tests"], &stats["passes"], &stats["failures"]),
        (&16.into(), &16.into(), &0.into())
    );
    judged.end();
}

#[test]
fn techempower_finds_its_rules_kept() {
    let Some(script) = judge("techempower/verify.py") else { return };
    if Command::new("python3").arg("--version").output().is_err() {
        return skip("no python3 is installed");
    }
    let (folder, port) = (Folder::new(), free_port());
    let database = format!("sqlite:{}", folder.path("judged.db").display());
    let mut command = runnel();
    command.arg(program("tests/programs/techempower.st")).arg(database).arg(port.to_string());
    let judged = Judged::run(&mut command, folder, port);
    let outcome = run(Command::new("python3").arg(script).arg(judged.address("")));
    assert_eq!(outcome.out.lines().last(), Some("53 passed, 0 failed"), "{}", outcome.out);
    assert_eq!(outcome.status, 0, "{}", outcome.err);
    judged.end();
}

#[test]
fn the_programs_are_formatted_and_without_warnings() {
    for command in [&["check"][..], &["fmt", "--check"]] {
        let names = [
            "tests/programs/api.st",
            "tests/programs/techempower.st",
            "examples/conduit.st",
            "examples/todos.st",
        ];
        let outcome = run(runnel().args(command).args(names.map(program)));
        assert_eq!((outcome.status, outcome.out, outcome.err), (0, String::new(), String::new()));
    }
}

#[test]
fn realworld_says_why_it_refuses() {
    let judged = Judged::start("examples/conduit.st");
    let user = |name: &str| json!({ "username": name, "email": format!("{name}@a.example"), "password": "x" });
    let register = |user: Value| judged.asks("", "POST", "/api/users", &json!({ "user": user }));
    let token = |reply: (u16, Value)| reply.1["user"]["token"].as_str().unwrap().to_string();
    let (ann, bob) = (token(register(user("ann"))), token(register(user("bob"))));
    let (ann, bob) = (ann.as_str(), bob.as_str());
    let article = json!({ "article": { "title": "A Title", "description": "d", "body": "b" } });
    assert_eq!(judged.asks(ann, "POST", "/api/articles", &article).0, 201);

    let nothing = Value::Null;
    let blank = json!({ "article": { "title": " ", "description": 3 } });
    let wrong = [
        ("", "GET", "/api/user", &nothing, 401, "token"),
        ("guess", "GET", "/api/user", &nothing, 401, "token"),
        ("", "POST", "/api/articles/a-title/favorite", &nothing, 401, "token"),
        (bob, "PUT", "/api/articles/a-title", &article, 403, "article"),
        (bob, "DELETE", "/api/articles/a-title", &nothing, 403, "article"),
        (bob, "DELETE", "/api/articles/another", &nothing, 404, "article"),
        (bob, "DELETE", "/api/articles/a-title/comments/7", &nothing, 404, "comment"),
        (bob, "POST", "/api/profiles/eve/follow", &nothing, 404, "profile"),
        (bob, "POST", "/api/articles", &blank, 422, "title"),
        (bob, "POST", "/api/articles", &blank, 422, "description"),
        (bob, "POST", "/api/articles", &blank, 422, "body"),
        (bob, "POST", "/api/articles", &nothing, 422, "article"),
        ("", "GET", "/api/articles?limit=all", &nothing, 422, "limit"),
    ];
    for (token, method, path, content, status, field) in wrong {
        let (was, answer) = judged.asks(token, method, path, content);
        assert_eq!(was, status, "{method} {path}: {answer}");
        assert!(answer["errors"][field].is_array(), "{method} {path}: {answer}");
    }
    for path in ["/api/articles/a-title/comments/one", "/api/another"] {
        assert_eq!(judged.asks(bob, "DELETE", path, &nothing).0, 404, "{path}");
    }
    let mut twin = user("ann");
    twin["email"] = json!("twin@a.example");
    let (status, answer) = register(twin);
    let taken = json!(["has already been taken"]);
    assert_eq!((status, &answer["errors"]["username"]), (409, &taken), "{answer}");
    judged.end();
}

#[test]
fn todo_backend_refuses_fields_of_other_types() {
    let judged = Judged::start("examples/todos.st");
    for wrong in [json!({}), json!({ "title": 3 }), json!({ "title": "a", "id": 7 }), json!([])] {
        assert_eq!(judged.asks("", "POST", "/todos", &wrong).0, 422, "{wrong}");
    }
    assert_eq!(judged.asks("", "POST", "/todos", &json!({ "title": "a" })).0, 201);
    assert_eq!(judged.asks("", "PATCH", "/todos/1", &json!({ "completed": "yes" })).0, 422);
    assert_eq!(judged.asks("", "PATCH", "/todos/2", &json!({ "completed": true })).0, 404);
    judged.end();
}
