//! Large native work does not hold up other requests, ends at its deadline, and answers what it would
//! answer in one piece.

use crate::support;

use crate::support::Server;
use crate::support::http::Connection;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

/// What a short request may wait for beside a large operation in a debug build, or half of the time
/// that the operation takes where the machine is busy. It was most of that time, several seconds.
const BOUND: Duration = Duration::from_secs(1);

/// Bytes of the body of a large request.
const LARGE: usize = 4 << 20;

const SITE: &str = "
scheme Site {
    /hi { get { 'hello' } }
    /parse { post { (newValue stringValue parseJSON collect: { :row | row at: 'id' }) sum } }
    /same { post { newValue stringValue parseJSON } }
    /print { post { newValue stringValue parseJSON printString length } }
    /hash { post { newValue sha256 hex } }
    /hex { post { (newValue hex hexDecoded) length } }
    /base64 { post { newValue base64 base64Decoded stringValue length } }
    /replace { post { (newValue stringValue replace: 'name' with: 'it') length } }
    /split { post { (newValue stringValue split: '{') count } }
    /lines { post { newValue stringValue lines count } }
    /upper { post { newValue stringValue uppercase length } }
    /reverse { post { newValue stringValue reversed reversed length } }
    /trim { post { newValue stringValue trimmed length } }
    /url { post { newValue stringValue urlEncoded urlDecoded length } }
    /join { post { ((1 to: 300000) collect: { :i | 'an element' }) join: '' } }
    /sort { post { (((1 to: 100002) collect: { :i | i * 7919 mod: 100003 }) sorted: { :a :b | a > b }) first } }
}
";

/// Records as JSON, and how many.
fn records(size: usize) -> (String, usize) {
    let (mut text, mut count) = (String::from("["), 0);
    while text.len() < size {
        let comma = if count > 0 { ",\n" } else { "" };
        let even = count % 2 == 0;
        write!(
            text,
            "{comma}{{\"id\":{count},\"name\":\"näme {count}\",\"tags\":[{even},null,1.5]}}"
        )
        .unwrap();
        count += 1;
    }
    text.push(']');
    (text, count)
}

/// Runs a request while another client asks for something small again and again; answers its text,
/// the time that it took, and the longest time that the other waited.
fn beside(server: &Server, target: &str, body: &[u8]) -> (String, Duration, Duration) {
    let start = Instant::now();
    std::thread::scope(|scope| {
        let large = scope.spawn(|| {
            let mut connection = Connection::open(server.port).unwrap();
            let reply = connection.send("POST", target, body).unwrap();
            assert_eq!(reply.status, 200, "{target}: {}", reply.text());
            reply.text()
        });
        let mut connection = Connection::open(server.port).unwrap();
        let mut slowest = Duration::ZERO;
        while !large.is_finished() {
            let began = Instant::now();
            assert_eq!(connection.send("GET", "/hi", b"").unwrap().text(), "hello");
            slowest = slowest.max(began.elapsed());
            std::thread::sleep(Duration::from_millis(2));
        }
        (large.join().unwrap(), start.elapsed(), slowest)
    })
}

#[test]
fn a_short_request_is_answered_beside_large_native_work() {
    let server = Server::of_scheme(SITE, 120.0);
    let (text, count) = records(LARGE);
    let characters = text.chars().count();
    let names = text.matches("name").count();
    let expected = [
        ("parse", (count * (count - 1) / 2).to_string()),
        ("same", text.replace('\n', "")),
        ("hex", text.len().to_string()),
        ("base64", characters.to_string()),
        ("replace", (characters - names * 2).to_string()),
        ("split", (count + 1).to_string()),
        ("lines", count.to_string()),
        ("upper", characters.to_string()),
        ("reverse", characters.to_string()),
        ("trim", characters.to_string()),
        ("url", characters.to_string()),
        ("join", "an element".repeat(300_000)),
        ("sort", "100002".to_string()),
    ];
    let mut late = String::new();
    let mut look = |name: &str, expected: Option<&str>| {
        let (answer, took, slowest) = beside(&server, &format!("/{name}"), text.as_bytes());
        assert!(expected.is_none_or(|expected| answer == expected), "{name} is wrong");
        if slowest > BOUND.max(took / 2) {
            writeln!(late, "{name}: {slowest:?} of {took:?}").unwrap();
        }
        answer
    };
    for (name, expected) in &expected {
        look(name, Some(expected));
    }
    assert_eq!(look("hash", None).len(), 64);
    let printed: usize = look("print", None).parse().unwrap();
    assert!(printed > characters / 2 && printed < characters, "{printed} of {characters}");
    assert!(late.is_empty(), "a short request waited too long beside\n{late}");
}

#[test]
fn a_converter_holds_up_nobody() {
    let server = Server::start(
        "#-<void>serve:<int>port\n\
         scheme App { /hi { get { 'hello' } } /rows { post { newValue count } } }\n\
         server ← #HTTPServer{ port: port, scheme: #JSONConverter{} → #App{}, requestTimeout: 120 seconds }.\n\
         server start.\n",
        &[],
    );
    let (text, count) = records(LARGE);
    std::thread::scope(|scope| {
        let large = scope.spawn(|| {
            let headers = [("Content-Type", "application/json")];
            support::http::send(server.port, "POST", "/rows", &headers, text.as_bytes()).unwrap()
        });
        let mut connection = Connection::open(server.port).unwrap();
        while !large.is_finished() {
            let began = Instant::now();
            assert_eq!(connection.send("GET", "/hi", b"").unwrap().text(), "\"hello\"");
            assert!(began.elapsed() < BOUND * 3, "waited for {:?}", began.elapsed());
            std::thread::sleep(Duration::from_millis(2));
        }
        assert_eq!(large.join().unwrap().text(), count.to_string());
    });
    // Its errors are those of small content.
    let headers = [("Content-Type", "application/json")];
    for text in [format!("{text},"), "[1,".to_string()] {
        let reply =
            support::http::send(server.port, "POST", "/rows", &headers, text.as_bytes()).unwrap();
        assert_eq!(reply.status, 400, "{}", reply.text());
        assert!(reply.text().contains("JSON, line "), "{}", reply.text());
    }
}

#[test]
fn a_deadline_ends_large_native_work() {
    let site = "
    class Large { var text. var rows. }
    scheme Site {
        var large.
        /hi { get { 'hello' } }
        /parse { get { (this:large text) parseJSON count } }
        /json { get { (this:large rows) asJSON length } }
        /answer { get { this:large rows } }
        /print { get { (this:large rows) printString length } }
        /url { get { (this:large text) urlEncoded length } }
        /sort { get { ((1 to: 3000000) collect: { :i | i * 7919 mod: 3000017 }) sorted last } }
    }
    rows ← (1 to: 100000) collect: { :i | #{ id: i, name: \"the name of {i}\", list: [ i, 2, nil ] } }.
    site ← #Site{ large: #Large{ rows: rows, text: rows asJSON } }.
    ";
    let program = |timeout: &str| {
        format!(
            "#-<void>serve:<int>port\n{site}\n\
             server ← #HTTPServer{{ port: port, scheme: site, requestTimeout: {timeout} seconds }}.\n\
             server start.\n"
        )
    };
    let server = Server::start(&program("0.05"), &[]);
    for name in ["parse", "json", "answer", "print", "url", "sort"] {
        let began = Instant::now();
        let reply = server.get(&format!("/{name}"));
        assert_eq!(reply.status, 504, "{name}: {}", reply.text());
        assert!(began.elapsed() < Duration::from_secs(2), "{name}: {:?}", began.elapsed());
        assert_eq!(server.get("/hi").text(), "hello");
    }
    // A client that goes away ends its work, and the next one is served.
    let server = Server::start(&program("120"), &[]);
    for name in ["parse", "json", "answer", "url"] {
        let mut connection = Connection::open(server.port).unwrap();
        connection.ask("GET", &format!("/{name}"), &[], b"").unwrap();
        std::thread::sleep(Duration::from_millis(30));
        drop(connection);
        assert_eq!(server.get("/hi").text(), "hello");
    }
    assert!(server.get("/json").text().parse::<usize>().unwrap() > 100_000 * 40);
}
