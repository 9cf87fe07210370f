//! `examples/leaderboards.st` beside a slow server of profiles, and a busy database: what waits, what
//! is given up, and what goes on meanwhile.

use crate::leaderboards::{Boards, Sample, changed};
use crate::support::http::{Connection, Reply, get, send};
use crate::support::{Folder, Process, eventually, free_port, runnel};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// A game with a board of a hundred users, each with a score.
const FULL: Sample = Sample([1, 1, 100, 100]);

/// Profiles may take as long as the machine needs.
const PATIENT: (&str, &str) = ("timeout: 800 milliseconds", "timeout: 1 minutes");

/// A server of profiles that holds every request until the test lets it answer.
struct HeldProfiles {
    port: u16,
    state: Arc<(Mutex<Held>, Condvar)>,
}

#[derive(Default)]
struct Held {
    arrived: usize,
    is_released: bool,
}

impl HeldProfiles {
    fn start() -> HeldProfiles {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new((Mutex::new(Held::default()), Condvar::new()));
        let shared = state.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = shared.clone();
                std::thread::spawn(move || answer_all(stream, &state));
            }
        });
        HeldProfiles { port, state }
    }

    fn arrived(&self) -> usize {
        self.state.0.lock().unwrap().arrived
    }

    fn release(&self) {
        self.state.0.lock().unwrap().is_released = true;
        self.state.1.notify_all();
    }
}

/// Answers the requests of a connection; nothing after an error, as the client may have gone.
fn answer_all(stream: TcpStream, state: &(Mutex<Held>, Condvar)) -> Option<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let mut first = String::new();
        if reader.read_line(&mut first).ok()? == 0 {
            return None;
        }
        let mut line = String::new();
        while line != "\r\n" {
            line.clear();
            reader.read_line(&mut line).ok()?;
        }
        let mut held = state.0.lock().unwrap();
        held.arrived += 1;
        while !held.is_released {
            held = state.1.wait(held).unwrap();
        }
        drop(held);
        let id: u32 = first.split(['/', ' ']).nth(3).unwrap_or_default().parse().ok()?;
        let body = json!({ "id": id, "name": "a user", "about": "" }).to_string();
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        reader.get_mut().write_all(head.as_bytes()).ok()?;
    }
}

/// `examples/profiles.st`, with other words in some places.
struct Profiles {
    _process: Process,
    port: u16,
}

impl Profiles {
    fn start(changes: &[(&str, &str)]) -> Profiles {
        let (folder, port) = (Folder::new(), free_port());
        let program = folder.write("profiles.st", changed("profiles.st", changes));
        let mut command = runnel();
        let mut process = Process::start(command.args(["--port", &port.to_string()]).arg(program));
        process.listens(port);
        Profiles { _process: process, port }
    }

    fn stats(&self, name: &str) -> u64 {
        get(self.port, "/stats").json()[name].as_u64().unwrap()
    }
}

/// Asks for the cards of users, each on a connection of its own.
fn ask_cards(boards: &Boards, users: impl Iterator<Item = u32>) -> Vec<Connection> {
    users
        .map(|user| {
            let mut connection = Connection::open(boards.port).unwrap();
            let target = format!("/leaderboards/1/users/{user}/card");
            connection.ask("GET", &target, &[], b"").unwrap();
            connection
        })
        .collect()
}

fn answers(connections: Vec<Connection>) -> Vec<Reply> {
    connections.into_iter().map(|mut one| one.answer("GET").unwrap()).collect()
}

#[test]
fn a_hundred_cards_wait_for_their_profiles_at_once() {
    let profiles = HeldProfiles::start();
    let boards = Boards::sqlite(profiles.port, &FULL, &[PATIENT]);
    let asked = ask_cards(&boards, 1..=100);
    eventually("all profiles are asked for", || profiles.arrived() == 100);
    profiles.release();
    for (user, reply) in (1..).zip(answers(asked)) {
        let card = reply.json();
        assert_eq!((reply.status, &card["profile"]["id"]), (200, &json!(user)), "{card}");
        assert_eq!(card["stale"], false);
        let standing = boards.get(&format!("/leaderboards/1/users/{user}")).json();
        assert_eq!((&card["score"], &card["rank"]), (&standing["score"], &standing["rank"]));
    }
}

#[test]
fn ten_cards_of_a_list_are_asked_for_at_once_and_their_order_stays() {
    let profiles = HeldProfiles::start();
    let boards = Boards::sqlite(profiles.port, &FULL, &[PATIENT]);
    let users: Vec<u32> = (1..=50).rev().chain([999]).collect();
    let list = |users: &[u32]| {
        let texts: Vec<String> = users.iter().map(u32::to_string).collect();
        format!("/leaderboards/1/cards?users={}", texts.join(","))
    };
    assert_eq!(boards.get(&list(&users)).status, 422);
    assert_eq!(boards.get("/leaderboards/1/cards").status, 422);
    assert_eq!(boards.get("/leaderboards/1/cards?users=1,x").status, 422);
    assert_eq!(boards.get("/leaderboards/9/cards?users=1").status, 404);
    assert_eq!(boards.get("/leaderboards/9/users/1/card").status, 404);
    assert_eq!(profiles.arrived(), 0);

    let mut connection = Connection::open(boards.port).unwrap();
    connection.ask("GET", &list(&users[1..]), &[], b"").unwrap();
    eventually("ten profiles are asked for", || profiles.arrived() == 10);
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(profiles.arrived(), 10);
    profiles.release();
    let cards = connection.answer("GET").unwrap().json();
    let cards = cards.as_array().unwrap();
    let ids: Vec<u64> = cards.iter().map(|card| card["user_id"].as_u64().unwrap()).collect();
    assert_eq!(ids, users[1..].iter().map(|user| u64::from(*user)).collect::<Vec<_>>());
    for card in &cards[..49] {
        assert_eq!(card["profile"]["id"], card["user_id"]);
    }
    let missing = json!({ "user_id": 999, "error": "user 999 has no score here" });
    assert_eq!(cards[49], missing);
}

#[test]
fn a_client_that_goes_away_cancels_what_its_cards_wait_for() {
    let profiles = Profiles::start(&[("delay_ms=300", "delay_ms=60000")]);
    let boards = Boards::sqlite(profiles.port, &FULL, &[PATIENT]);
    let mut connection = Connection::open(boards.port).unwrap();
    let users: Vec<String> = (1..=50).map(|user| user.to_string()).collect();
    let target = format!("/leaderboards/1/cards?users={}", users.join(","));
    connection.ask("GET", &target, &[], b"").unwrap();
    eventually("ten profiles are asked for", || profiles.stats("active") == 10);
    drop(connection);
    eventually("they are cancelled", || profiles.stats("cancelled") == 10);
    assert_eq!((profiles.stats("active"), profiles.stats("requests")), (0, 10));
}

#[test]
fn connections_to_profiles_are_used_again() {
    let profiles = Profiles::start(&[("delay_ms=300", "delay_ms=0")]);
    let boards = Boards::sqlite(profiles.port, &FULL, &[PATIENT]);
    for user in 1..=20 {
        let card = boards.get(&format!("/leaderboards/1/users/{user}/card")).json();
        assert_eq!(card["profile"]["name"], format!("user {user}"));
    }
    assert_eq!((profiles.stats("requests"), profiles.stats("connections")), (20, 1));
    // What the profiles themselves answer.
    let small = get(profiles.port, "/profiles/7?size=3").json();
    assert_eq!(small, json!({ "id": 7, "name": "user 7", "about": "xxx" }));
    assert_eq!(get(profiles.port, "/profiles/7?fail_pct=100").status, 503);
    assert_eq!(get(profiles.port, "/profiles/7?delay_ms=-1").status, 422);
}

#[test]
fn profiles_that_never_come_hold_nothing_up_and_are_soon_asked_for_no_more() {
    let profiles = HeldProfiles::start();
    let forever = ("maxFailures: 20", "maxFailures: 20, resetTimeout: 1 hours");
    let boards = Boards::sqlite(profiles.port, &FULL, &[forever]);
    let asked = ask_cards(&boards, 1..=30);
    eventually("profiles are asked for", || profiles.arrived() > 0);
    for target in [
        "/games/1/leaderboards",
        "/games/1/leaderboards/1",
        "/leaderboards/1/users",
        "/leaderboards/1/users/1",
    ] {
        assert_eq!(boards.get(target).status, 200, "{target}");
    }
    let score = boards.send("PUT", "/leaderboards/1/users/1/score", &json!({ "value": 7 }));
    assert_eq!(score.status, 200);
    for reply in answers(asked) {
        let card = reply.json();
        assert_eq!((reply.status, &card["profile"]), (200, &Value::Null), "{card}");
        assert_eq!(card["stale"], true);
    }
    let before = profiles.arrived();
    assert!((20..=30).contains(&before), "{before}");
    for reply in answers(ask_cards(&boards, 1..=30)) {
        assert_eq!((reply.status, &reply.json()["stale"]), (200, &json!(true)));
    }
    assert_eq!(profiles.arrived(), before);
}

/// A program that holds the table of scores until it is ended: a change of the table excludes readers.
const LOCKED: &str = "#-<void>lock:<ref>database\n\
    database transaction: {\n\
    \x20   database run: 'alter table scores alter column value set default 0'.\n\
    \x20   stdout println: 'locked'.\n\
    \x20   runLoop runFor: 60.\n\
    }.\n";

fn lock_scores(boards: &Boards) -> (Process, Folder) {
    let folder = Folder::new();
    let program = folder.write("lock.st", LOCKED);
    let process = Process::start(runnel().arg(program).arg(&boards.database));
    process.out_shows("locked");
    (process, folder)
}

#[test]
fn a_card_asks_the_database_and_the_profiles_at_the_same_time() {
    let profiles = HeldProfiles::start();
    profiles.release();
    let Some(boards) = Boards::postgres(profiles.port, &FULL, &[PATIENT]) else { return };
    let locked = lock_scores(&boards);
    let asked = ask_cards(&boards, 1..=1);
    eventually("the profile is asked for before the score is read", || profiles.arrived() == 1);
    drop(locked);
    assert_eq!(answers(asked)[0].json()["profile"]["id"], 1);
}

/// The example with a pool of connections to PostgreSQL, and an admin port.
fn pooled(pool: &str, admin: u16) -> Option<Boards> {
    // Options come before the first use of the database.
    let options = format!("database database: #{{ {pool} }}.\nclass Game {{");
    let server = format!("#HTTPServer{{ admin: {admin} }} → #OpenAPI{{");
    Boards::postgres(1, &FULL, &[("class Game {", &options), ("#OpenAPI{", &server)])
}

#[test]
fn a_thousand_ranks_share_five_connections() {
    let admin = free_port();
    let Some(boards) = pooled("maxConnections: 5, poolTimeout: 1 minutes", admin) else {
        return;
    };
    let mut connections = Vec::new();
    for number in 0..1000 {
        let mut connection = Connection::open(boards.port).unwrap();
        let target = format!("/leaderboards/1/users/{}", number % 100 + 1);
        connection.ask("GET", &target, &[], b"").unwrap();
        connections.push(connection);
    }
    for reply in answers(connections) {
        assert_eq!(reply.status, 200, "{}", reply.text());
    }
    let metrics = get(admin, "/metrics").text();
    let waits = metrics.lines().find(|line| {
        line.starts_with("runnel_pool_wait_seconds_count{") && line.contains("postgres")
    });
    let count: f64 =
        waits.unwrap_or_else(|| panic!("{metrics}")).rsplit(' ').next().unwrap().parse().unwrap();
    assert!(count > 0.0, "{metrics}");
}

#[test]
fn a_request_that_finds_no_connection_in_time_is_told_to_come_back() {
    let admin = free_port();
    let Some(boards) = pooled("maxConnections: 1, poolTimeout: 100 milliseconds", admin) else {
        return;
    };
    let locked = lock_scores(&boards);
    let mut holding = Connection::open(boards.port).unwrap();
    holding.ask("GET", "/leaderboards/1/users/1", &[], b"").unwrap();
    let mut late = None;
    eventually("another request is refused", || {
        let reply = send(boards.port, "GET", "/leaderboards/1/users/2", &[], b"").unwrap();
        late = Some(reply).filter(|reply| reply.status == 503);
        late.is_some()
    });
    assert_eq!(late.unwrap().header("retry-after"), Some("1"));
    drop(locked);
    assert_eq!(holding.answer("GET").unwrap().status, 200);
}
