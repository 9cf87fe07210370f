//! Requests with an `Idempotency-Key`, repeated: at once by many, and after a kill.

use crate::support::http::{self, Reply};
use crate::support::{Folder, Process, free_port, runnel};
use runnel_scratch::{Server, Service};
use serde_json::json;
use std::path::Path;
use std::thread;

const PROGRAM: &str = "\
#-serve:<ref>database
class Order { var <int> id. var <string required> item. }
scheme Shop {
   var orders.
   /orders {
      post { response:x-made ← 'yes'. this:orders insert: newValue }
      get { this:orders select }
   }
   /slow { post { response:status ← 202. runLoop runFor: 0.1. this:orders insert: newValue. 'done' } }
   /large { post { this:orders insert: newValue. ('x' repeated: 1200000) } }
   /fails { post { this:orders insert: newValue. (Error kind: 'unavailable' message: 'no') signal } }
}
#Idempotent{ database: database } → #JSONConverter{ class: Order } → #Shop{ orders: (database table: Order) }.
";

fn start(folder: &Path, port: u16, database: &str) -> Process {
    let mut command = runnel();
    command.args(["--workers", "2", "--port", &port.to_string(), "shop.st", database]);
    let mut process = Process::start(command.current_dir(folder));
    process.listens(port);
    process
}

fn post(port: u16, path: &str, key: &str, user: &str, body: &str) -> Reply {
    let headers =
        [("Idempotency-Key", key), ("Authorization", user), ("Content-Type", "application/json")];
    http::send(port, "POST", path, &headers, body.as_bytes()).unwrap()
}

fn rows(port: u16) -> usize {
    http::get(port, "/orders").json().as_array().unwrap().len()
}

fn check(folder: &Folder, database: &str) {
    let port = free_port();
    let process = start(&folder.path(""), port, database);
    let rope = r#"{"item":"rope"}"#;
    let first = post(port, "/orders", "k1", "ann", rope);
    assert_eq!((first.status, first.json()), (201, json!({ "id": 1, "item": "rope" })));
    let again = post(port, "/orders", "k1", "ann", rope);
    for name in ["content-type", "location", "x-made"] {
        assert_eq!(again.header(name), first.header(name), "{name}");
    }
    assert_eq!((again.status, again.text()), (201, first.text()));
    // Another request with the key, and the same of another user.
    assert_eq!(post(port, "/orders", "k1", "ann", r#"{"item":"axe"}"#).status, 422);
    assert_eq!(post(port, "/slow", "k1", "ann", rope).status, 422);
    assert_eq!(post(port, "/orders", "k1", "eve", rope).json()["id"], 2);
    assert_eq!(rows(port), 2);

    // Many at once, on two workers: one of them does it, all get its answer.
    let replies: Vec<Reply> = thread::scope(|scope| {
        let all: Vec<_> =
            (0..8).map(|_| scope.spawn(move || post(port, "/slow", "k2", "ann", rope))).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    for reply in &replies {
        assert_eq!((reply.status, reply.text()), (202, "\"done\"".into()));
    }
    assert_eq!(rows(port), 3);

    // What failed left nothing, and may be tried again.
    for _ in 0..2 {
        assert_eq!(post(port, "/fails", "k3", "ann", rope).status, 503);
    }
    assert_eq!(post(port, "/orders", "k4", "ann", "{}").status, 422);
    assert_eq!(post(port, "/orders", "k4", "ann", rope).status, 201);
    assert_eq!(post(port, "/orders", &"k".repeat(256), "ann", rope).status, 400);
    assert_eq!(post(port, "/large", "k5", "ann", rope).status, 413);
    assert_eq!(rows(port), 4);

    // Answers outlive the process.
    drop(process);
    let _process = start(&folder.path(""), port, database);
    assert_eq!(post(port, "/orders", "k1", "ann", rope).text(), first.text());
    assert_eq!(rows(port), 4);
}

#[test]
fn a_repeated_request_is_done_once() {
    let folder = Folder::new();
    folder.write("shop.st", PROGRAM);
    check(&folder, "sqlite:shop.db");
    if let Some(server) = Server::for_test(Service::Postgres) {
        check(&folder, &server.url());
    }
}
