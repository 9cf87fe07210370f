//! Several machines that share a database, a cache or a bus: what one does, the other hears of.
//! The machines are processes here; they share nothing but the server between them.

use crate::support::http::{get, send};
use crate::support::{Folder, Process, eventually, examples, free_port, runnel};
use runnel_scratch::{Server, Service};

/// A machine with a program.
struct Machine {
    process: Process,
    port: u16,
}

impl Machine {
    fn start(program: &std::path::Path, arguments: &[&str]) -> Machine {
        let port = free_port();
        let mut command = runnel();
        command.args(["--port", &port.to_string()]).arg(program).args(arguments);
        let mut process = Process::start(&mut command);
        process.listens(port);
        Machine { process, port }
    }

    fn post(&self, target: &str, body: &str) {
        let headers = [("Content-Type", "application/json")];
        let reply = send(self.port, "POST", target, &headers, body.as_bytes()).unwrap();
        assert!(matches!(reply.status, 200 | 201), "{reply:?}");
    }

    fn text(&self, target: &str) -> String {
        get(self.port, target).text().to_string()
    }
}

#[test]
fn a_task_added_through_one_machine_is_news_on_the_other() {
    let Some(server) = Server::for_test(Service::Postgres) else { return };
    let program = examples().join("shared-tasks.st");
    let (url, other) = (server.url(), server.url());
    let first = Machine::start(&program, &[&url]);
    let second = Machine::start(&program, &[&other]);
    first.post("/tasks", r#"{"title":"Clean Room","done":false}"#);
    second.post("/tasks", r#"{"title":"Check Twitter","done":true}"#);
    for machine in [&first, &second] {
        eventually("both tasks are news", || {
            let news = machine.text("/news");
            news.contains("changed 1") && news.contains("changed 2")
        });
        let tasks = machine.text("/tasks");
        assert!(tasks.contains("Clean Room") && tasks.contains("Check Twitter"), "{tasks}");
    }
    let gone = send(second.port, "DELETE", "/tasks/1", &[], b"").unwrap();
    assert_eq!(gone.status, 204);
    eventually("the deletion is news", || first.text("/news").contains("deleted 1"));
    assert_eq!(first.process.err().matches("error").count(), 0, "{}", first.process.err());
}

/// A board whose notes are at paths below a reference, and which remembers what it was told.
const BOARD: &str = "#-serve:<ref>board\n\
    scheme Board {\n\
    \x20   var notes.\n\
    \x20   var news.\n\
    \x20   /notes/:name {\n\
    \x20       get { notes:/{name} }\n\
    \x20       post { notes:/{name} ← newValue stringValue. 'kept' }\n\
    \x20       delete { ref:notes:/{name} delete }\n\
    \x20   }\n\
    \x20   /news { get { this:news } }\n\
    }\n\
    notes ← board asScheme.\n\
    scheme:notes ← notes.\n\
    news ← [].\n\
    notes changes → { :change | news add: change description. change }.\n\
    #Board{ notes: notes, news: news }\n";

fn boards_share(service: Service, below: &str) {
    let Some(server) = Server::for_test(service) else { return };
    let folder = Folder::new();
    let program = folder.write("board.st", BOARD);
    let url = format!("{}{below}", server.url());
    let (first, second) = (Machine::start(&program, &[&url]), Machine::start(&program, &[&url]));
    first.post("/notes/hello", "from the first");
    assert_eq!(second.text("/notes/hello"), "from the first");
    second.post("/notes/answer", "from the second");
    for machine in [&first, &second] {
        eventually("both notes are news", || {
            let news = machine.text("/news");
            news.contains("changed hello") && news.contains("changed answer")
        });
    }
    send(first.port, "DELETE", "/notes/answer", &[], b"").unwrap();
    eventually("the deletion is news", || second.text("/news").contains("deleted answer"));
}

#[test]
fn notes_in_redis_are_news_on_every_machine() {
    boards_share(Service::Redis, "/0/board");
}

#[test]
fn notes_in_nats_are_news_on_every_machine() {
    boards_share(Service::Nats, "/kv/board");
}
