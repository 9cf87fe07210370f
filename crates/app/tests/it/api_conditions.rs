//! Conditional requests to handlers that declare what they answer.

use crate::support::http::{self, Reply};
use crate::support::{Folder, Process, free_port, runnel};

const PROGRAM: &str = r"
class Task { var <int> id. var <string 1..> title. }
scheme Tasks {
   var tasks.
   guard user { header:x-user }
   /tasks/:<int>id {
      find task { runLoop runFor: 0.02. this:tasks at: id }
      get for: { user = 'ada' } → <Task> { task }
      put <Task> → <Task> { this:tasks at: id merge: #{ title: newValue title }. this:tasks at: id }
      delete → 204 { this:tasks remove: task }
   }
}
tasks ← ref:sqlite:FILE table: Task.
(tasks count = 0) ifTrue: { tasks insert: #Task{ title: 'sow' } }.
#HTTPServer{} → #Tasks{ tasks: tasks }
";

fn start(workers: &str) -> (Folder, Process, u16) {
    let folder = Folder::new();
    let file = folder.path("tasks.db").display().to_string();
    folder.write("tasks.st", PROGRAM.replace("FILE", &file));
    let port = free_port();
    let mut command = runnel();
    command.args(["--port", &port.to_string(), "--workers", workers]).arg(folder.path("tasks.st"));
    let mut process = Process::start(&mut command);
    process.listens(port);
    (folder, process, port)
}

fn ask(port: u16, method: &str, condition: (&str, &str), body: &str) -> Reply {
    ask_as(port, "ada", method, condition, body)
}

fn ask_as(port: u16, user: &str, method: &str, condition: (&str, &str), body: &str) -> Reply {
    let headers = [("X-User", user), ("Content-Type", "application/json"), condition];
    http::send(port, method, "/tasks/1", &headers, body.as_bytes()).unwrap()
}

fn tag(port: u16) -> String {
    ask(port, "GET", ("X", "x"), "").header("etag").unwrap().to_string()
}

#[test]
fn one_of_many_conditional_writes_succeeds() {
    let (_folder, _process, port) = start("2");
    let tag = tag(port);
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..16)
            .map(|number| {
                let tag = tag.clone();
                scope.spawn(move || {
                    let body = format!(r#"{{"title":"task {number}"}}"#);
                    ask(port, "PUT", ("If-Match", &tag), &body).status
                })
            })
            .collect();
        writers.into_iter().map(|writer| writer.join().unwrap()).collect()
    });
    let count = |status| statuses.iter().filter(|one| **one == status).count();
    assert_eq!((count(200), count(412)), (1, 15), "{statuses:?}");
}

#[test]
fn a_guard_holds_for_conditions() {
    let (_folder, _process, port) = start("1");
    let tag = tag(port);
    let sent = r#"{"title":"reap"}"#;
    for condition in [("If-Match", tag.as_str()), ("If-Match", "\"other\"")] {
        assert_eq!(ask_as(port, "bob", "PUT", condition, sent).status, 403);
        assert_eq!(ask_as(port, "bob", "DELETE", condition, "").status, 403);
    }
    assert_eq!(ask(port, "PUT", ("If-Match", "\"other\""), sent).status, 412);
    assert_eq!(ask(port, "PUT", ("If-Match", "*"), sent).status, 200);
    assert_eq!(ask(port, "DELETE", ("If-Match", &tag), "").status, 412);
    assert_eq!(ask(port, "DELETE", ("If-Match", &self::tag(port)), "").status, 204);
    assert_eq!(ask(port, "PUT", ("If-Match", "*"), sent).status, 412);
}
