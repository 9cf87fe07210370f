//! `examples/leaderboards.st` over both databases: what each route answers, and what followers get.

use crate::live::Client;
use crate::support::http::{Reply, send};
use crate::support::{Folder, Process, eventually, examples, free_port, run, runnel};
use runnel_scratch::{Server, Service};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Leaderboards with sample data. Games, boards and users are numbered from 1; board N belongs to game
/// N modulo the number of games, plus 1.
pub(crate) struct Boards {
    pub(crate) process: Process,
    pub(crate) port: u16,
    pub(crate) database: String,
    _folder: Folder,
    _server: Option<Server>,
}

/// How many rows of each kind there are before a test begins.
pub(crate) struct Sample(pub(crate) [u32; 4]);

/// Content and problems are JSON.
const JSON: [(&str, &str); 2] =
    [("Content-Type", "application/json"), ("Accept", "application/json")];

/// Two games of two boards, and twenty users without a score.
const EMPTY: Sample = Sample([2, 4, 20, 0]);

impl Boards {
    pub(crate) fn sqlite(upstream: u16, sample: &Sample, changes: &[(&str, &str)]) -> Boards {
        let folder = Folder::new();
        let database = format!("sqlite:{}", folder.path("boards.db").display());
        Boards::start(database, folder, None, upstream, sample, changes)
    }

    /// Nothing where the tests have no PostgreSQL.
    pub(crate) fn postgres(
        upstream: u16,
        sample: &Sample,
        changes: &[(&str, &str)],
    ) -> Option<Boards> {
        let server = Server::for_test(Service::Postgres)?;
        let (database, folder) = (server.url(), Folder::new());
        Some(Boards::start(database, folder, Some(server), upstream, sample, changes))
    }

    /// Starts the example, with other words in some places.
    fn start(
        database: String,
        folder: Folder,
        server: Option<Server>,
        upstream: u16,
        sample: &Sample,
        changes: &[(&str, &str)],
    ) -> Boards {
        let port = free_port();
        let program = changed("leaderboards.st", changes);
        let mut command = runnel();
        command.args(["--port", &port.to_string()]).arg(folder.write("boards.st", program));
        command.args([&database, &format!("http://127.0.0.1:{upstream}")]);
        let mut process = Process::start(&mut command);
        process.listens(port);
        let mut load = runnel();
        load.arg(examples().join("leaderboards-data.st")).arg(&database);
        let outcome = run(load.args(sample.0.map(|count| count.to_string())));
        assert_eq!((outcome.status, outcome.err.as_str()), (0, ""), "{outcome:?}");
        for (count, name) in sample.0.iter().zip(["games", "leaderboards", "users", "scores"]) {
            assert!(outcome.out.contains(&format!("{count} {name}, ")), "{}", outcome.out);
        }
        Boards { process, port, database, _folder: folder, _server: server }
    }

    pub(crate) fn get(&self, target: &str) -> Reply {
        send(self.port, "GET", target, &JSON[1..], b"").unwrap()
    }

    /// A request with JSON, or with nothing.
    pub(crate) fn send(&self, method: &str, target: &str, body: &Value) -> Reply {
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        send(self.port, method, target, &JSON, &body).unwrap()
    }

    /// Sets scores of a board: pairs of a user and a value.
    pub(crate) fn set(&self, board: u32, scores: &[(u32, u32)]) {
        for (user, value) in scores {
            let target = format!("/leaderboards/{board}/users/{user}/score");
            let reply = self.send("PUT", &target, &json!({ "value": value }));
            assert_eq!(reply.status, 200, "{}", reply.text());
        }
    }
}

/// The text of an example with other words in some places.
pub(crate) fn changed(name: &str, changes: &[(&str, &str)]) -> String {
    let mut text = std::fs::read_to_string(examples().join(name)).unwrap();
    for (from, to) in changes {
        assert!(text.contains(from), "{name} has no {from}");
        text = text.replace(from, to);
    }
    text
}

/// A port where nobody listens.
const NOBODY: u16 = 1;

/// Runs a test over each database.
fn over_both(test: impl Fn(&Boards)) {
    test(&Boards::sqlite(NOBODY, &EMPTY, &[]));
    if let Some(boards) = Boards::postgres(NOBODY, &EMPTY, &[]) {
        test(&boards);
    }
}

fn status(reply: &Reply) -> (u16, Value) {
    (reply.status, serde_json::from_slice(&reply.body).unwrap_or_default())
}

/// The pointers to what is wrong.
fn problems(reply: &Reply) -> Vec<String> {
    assert_eq!(reply.status, 422, "{}", reply.text());
    let body = reply.json();
    let errors = body["errors"].as_array().unwrap();
    errors.iter().map(|error| error["pointer"].as_str().unwrap().to_string()).collect()
}

#[test]
fn leaderboards_of_a_game_are_listed_made_renamed_and_removed() {
    over_both(|boards| {
        let all = boards.get("/games/1/leaderboards").json();
        let names: Vec<&str> =
            all.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["leaderboard 2", "leaderboard 4"]);
        assert!(all[0]["created_at"].as_str().unwrap().starts_with("2026-01-01T00:00:00"));
        assert_eq!(boards.get("/games/9/leaderboards").status, 404);

        let second = boards.get("/games/1/leaderboards?per_page=1&page=2");
        assert_eq!(second.json()[0]["id"], 4);
        assert_eq!(second.header("x-total-count"), Some("2"));
        assert!(second.header("link").unwrap().contains("page=1>; rel=\"prev\""));
        assert_eq!(boards.get("/games/1/leaderboards?page=2").json(), json!([]));
        for page in ["page=0", "page=-1", "page=abc", "per_page=0", "per_page=101"] {
            let reply = boards.get(&format!("/games/1/leaderboards?{page}"));
            assert_eq!(problems(&reply).len(), 1, "{page}");
        }

        let made = boards.send("POST", "/games/1/leaderboards", &json!({ "name": "weekly" }));
        assert_eq!((made.status, made.header("location")), (201, Some("/games/1/leaderboards/5")));
        let place = "/games/1/leaderboards/5";
        let shown = boards.get(place);
        assert_eq!((shown.json(), &shown.json()["name"]), (made.json(), &json!("weekly")));
        assert_eq!(boards.get("/games/2/leaderboards/5").status, 404);

        let tag = shown.header("etag").unwrap();
        let known = [("If-None-Match", tag)];
        assert_eq!(send(boards.port, "GET", place, &known, b"").unwrap().status, 304);
        let condition = [("If-Match", tag), ("Content-Type", "application/json")];
        let rename =
            || send(boards.port, "PUT", place, &condition, b"{\"name\":\"daily\"}").unwrap();
        let renamed = rename();
        assert_eq!((renamed.status, &renamed.json()["name"]), (200, &json!("daily")));
        assert_ne!(renamed.json()["updated_at"], made.json()["updated_at"]);
        assert_eq!(rename().status, 412);
        assert_eq!(boards.get(place).json(), renamed.json());
        let elsewhere = boards.send("PUT", "/games/2/leaderboards/5", &json!({ "name": "a" }));
        assert_eq!(elsewhere.status, 404);

        boards.set(5, &[(1, 3)]);
        assert_eq!(boards.send("DELETE", place, &Value::Null).status, 204);
        assert_eq!(boards.send("DELETE", place, &Value::Null).status, 404);
        assert_eq!(boards.get(place).status, 404);
    });
}

#[test]
fn what_clients_send_is_checked() {
    over_both(|boards| {
        let target = "/games/1/leaderboards";
        let long = "x".repeat(101);
        for body in
            [json!({}), json!({ "name": "" }), json!({ "name": long }), json!({ "name": 3 })]
        {
            assert_eq!(problems(&boards.send("POST", target, &body)), ["/name"], "{body}");
            let put = boards.send("PUT", "/games/1/leaderboards/2", &body);
            assert_eq!(problems(&put), ["/name"], "{body}");
        }
        let foreign = json!({ "name": "a", "game_id": 2, "shoe": 1 });
        assert_eq!(problems(&boards.send("POST", target, &foreign)).len(), 2);
        let score = "/leaderboards/1/users/1/score";
        for value in [json!(-1), json!(1_000_000_000), json!("3"), json!(null), json!(1.5)] {
            let reply = boards.send("PUT", score, &json!({ "value": value }));
            assert_eq!(problems(&reply), ["/value"], "{value}");
        }
        let form = [("Content-Type", "application/x-www-form-urlencoded")];
        let made = send(boards.port, "POST", target, &form, b"name=by+a+form").unwrap();
        assert_eq!((made.status, &made.json()["name"]), (201, &json!("by a form")));
        let text = [("Content-Type", "text/plain")];
        assert_eq!(send(boards.port, "POST", target, &text, b"name").unwrap().status, 415);
        let mut large = TcpStream::connect(("127.0.0.1", boards.port)).unwrap();
        let head = format!("POST {target} HTTP/1.1\r\nHost: a\r\nContent-Length: 17000000\r\n\r\n");
        large.write_all(head.as_bytes()).unwrap();
        let mut status = [0; 12];
        large.read_exact(&mut status).unwrap();
        assert_eq!(&status, b"HTTP/1.1 413");
    });
}

#[test]
fn scores_have_ranks() {
    over_both(|boards| {
        assert_eq!(boards.get("/leaderboards/1/users").json(), json!([]));
        boards.set(1, &[(1, 15), (2, 5), (3, 10), (4, 10)]);
        boards.set(2, &[(5, 12), (1, 1)]);
        let place = |user: u32, value: u32, rank: u32| json!({ "user_id": user, "value": value, "rank": rank });
        let all = [place(1, 15, 1), place(3, 10, 2), place(4, 10, 2), place(2, 5, 4)];
        assert_eq!(boards.get("/leaderboards/1/users").json(), json!(all));
        assert_eq!(boards.get("/leaderboards/1/users?per_page=2&page=2").json(), json!(all[2..]));
        assert_eq!(boards.get("/leaderboards/1/users?page=2").json(), json!([]));
        assert_eq!(boards.get("/leaderboards/1/users?page=0").status, 422);
        assert_eq!(boards.get("/leaderboards/9/users").status, 404);

        // By the place in the list, from one link to the next.
        let (mut target, mut read) =
            ("/leaderboards/1/users?per_page=3&after=".to_string(), vec![]);
        loop {
            let page = boards.get(&target);
            read.extend(page.json().as_array().unwrap().clone());
            let Some(link) = page.header("link") else { break };
            assert!(link.ends_with("rel=\"next\""), "{link}");
            target = link[1..].split('>').next().unwrap().to_string();
        }
        assert_eq!(json!(read), json!(all));

        let standing = |target: &str| status(&boards.get(target));
        assert_eq!(standing("/leaderboards/1/users/3"), (200, json!({ "score": 10, "rank": 2 })));
        assert_eq!(
            standing("/leaderboards/1/users/3?scope=global"),
            (200, json!({ "score": 10, "rank": 3 }))
        );
        assert_eq!(boards.get("/leaderboards/1/users/3?scope=mine").status, 422);
        assert_eq!(boards.get("/leaderboards/1/users/5").status, 404);
        assert_eq!(boards.get("/leaderboards/9/users/3").status, 404);

        let score = boards.send("PUT", "/leaderboards/1/users/2/score", &json!({ "value": 11 }));
        assert_eq!(score.json(), json!({ "score": 11, "rank": 2, "previous": 5 }));
        let first = boards.send("PUT", "/leaderboards/1/users/6/score", &json!({ "value": 0 }));
        assert_eq!(first.json(), json!({ "score": 0, "rank": 5, "previous": null }));
        for target in ["/leaderboards/1/users/99/score", "/leaderboards/9/users/1/score"] {
            assert_eq!(boards.send("PUT", target, &json!({ "value": 1 })).status, 404, "{target}");
        }
    });
}

#[test]
fn the_best_are_a_page_or_data() {
    over_both(|boards| {
        boards.set(1, &[(1, 15), (2, 25)]);
        let accepting =
            |types| send(boards.port, "GET", "/leaderboards/1", &[("Accept", types)], b"").unwrap();
        let data = accepting("application/json").json();
        assert_eq!(data["leaderboard"]["name"], "leaderboard 1");
        assert_eq!(data["places"][1], json!({ "user_id": 1, "value": 15, "rank": 2 }));
        assert_eq!(boards.get("/leaderboards/1").json(), data);
        let page = accepting("text/html,application/xhtml+xml,*/*;q=0.8");
        assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
        assert!(
            page.text().contains("<td>user 2</td><td class=\"number\">25</td>"),
            "{}",
            page.text()
        );
        assert_eq!(accepting("image/png").status, 406);
        assert_eq!(boards.get("/leaderboards/9").status, 404);

        let digest = boards.get("/cpu?n=2").json();
        let twice = "5df6e0e2761359d30a8275058e299fcc0381534545f55cf43e41983f5d4c9456";
        assert_eq!(digest, json!({ "n": 2, "sha256": twice }));
        assert_eq!(boards.get("/cpu?n=10000001").status, 422);
    });
}

/// Reads events until one has this id; answers all of them.
fn events(boards: &Boards, seen: Option<u32>, last: u32, while_read: impl FnOnce()) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", boards.port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let seen = seen.map(|id| format!("Last-Event-ID: {id}\r\n")).unwrap_or_default();
    let head = format!("GET /leaderboards/1/events HTTP/1.1\r\nHost: a\r\n{seen}\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let mut heard = Vec::new();
    let mut read = |until: &str| {
        eventually(until, || {
            let mut piece = [0; 1024];
            let count = stream.read(&mut piece).unwrap();
            heard.extend_from_slice(&piece[..count]);
            String::from_utf8_lossy(&heard).contains(until)
        });
        String::from_utf8_lossy(&heard).into_owned()
    };
    read("text/event-stream");
    while_read();
    read(&format!("id: {last}\n"))
}

#[test]
fn events_that_a_client_missed_come_when_it_reconnects() {
    over_both(|boards| {
        boards.set(1, &[(1, 10), (2, 20)]);
        boards.set(2, &[(1, 30)]);
        boards.set(1, &[(3, 40)]);
        let heard = events(boards, Some(1), 5, || boards.set(1, &[(1, 50)]));
        for (id, user, value) in [(2, 2, 20), (4, 3, 40), (5, 1, 50)] {
            let data = json!({ "id": id, "leaderboard_id": 1, "user_id": user, "value": value });
            let event =
                heard.split("event: score\n").find(|event| event.contains(&format!("id: {id}\n")));
            let line = event.unwrap().lines().find(|line| line.starts_with("data: ")).unwrap();
            assert_eq!(serde_json::from_str::<Value>(&line[6..]).unwrap(), data);
        }
        assert_eq!(heard.matches("event: score").count(), 3, "{heard}");
        let bad = [("Last-Event-ID", "x")];
        let reply = send(boards.port, "GET", "/leaderboards/1/events", &bad, b"").unwrap();
        assert_eq!(reply.status, 422);
        assert_eq!(boards.get("/leaderboards/9/events").status, 404);
    });
}

#[test]
fn a_socket_follows_a_leaderboard_and_answers() {
    over_both(|boards| {
        let mut client = Client::open(boards.port, "/leaderboards/1/ws");
        client.say(r#"{"op":"top","n":1}"#);
        client.hears("[]");
        boards.set(2, &[(1, 30)]);
        boards.set(1, &[(2, 20)]);
        let (_, update) = client.next();
        let update: Value = serde_json::from_slice(&update).unwrap();
        assert_eq!(update, json!({ "id": 2, "leaderboard_id": 1, "user_id": 2, "value": 20 }));
        client.say(r#"{"op":"top","n":1}"#);
        let (_, top) = client.next();
        let top: Value = serde_json::from_slice(&top).unwrap();
        assert_eq!(top, json!([{ "user_id": 2, "value": 20, "rank": 1 }]));
        assert_eq!(boards.get("/leaderboards/1/ws").status, 426);
    });
}

#[test]
fn sample_data_are_the_same_over_both_databases() {
    let sample = Sample([1, 10, 100, 1000]);
    let sqlite = Boards::sqlite(NOBODY, &sample, &[]);
    let top = sqlite.get("/leaderboards/3/users?per_page=100").json();
    assert_eq!(top.as_array().unwrap().len(), 100);
    assert_eq!(top[0]["rank"], 1);
    let Some(postgres) = Boards::postgres(NOBODY, &sample, &[]) else { return };
    for target in [
        "/games/1/leaderboards?per_page=3&page=2",
        "/games/1/leaderboards/7",
        "/leaderboards/3/users?per_page=100",
        "/leaderboards/3/users?per_page=7&after=",
        "/leaderboards/3/users/7?scope=global",
        "/leaderboards/3",
    ] {
        let (one, other) = (sqlite.get(target), postgres.get(target));
        assert_eq!((one.status, other.status), (200, 200), "{target}");
        assert_eq!(one.json(), other.json(), "{target}");
    }
}
