//! A watched program as those who run it see it.

use crate::support::PATIENCE;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A program that says its ports on its first two lines.
struct Program {
    child: Child,
    port: u16,
    admin: u16,
    output: BufReader<std::process::ChildStdout>,
}

const SAY: &str = "server start. stdout println: server port. stdout println: server adminPort. ";

fn start(source: &str, more: &str) -> Program {
    start_with(source, more, &[])
}

fn start_with(source: &str, more: &str, variables: &[(&str, &str)]) -> Program {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("site.st");
    std::fs::write(&file, format!("{source}\n{SAY}\n{more}\n")).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_runnel"));
    command.arg(&file).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.envs(variables.iter().copied()).spawn().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut number = || {
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        line.trim().parse().unwrap_or(0)
    };
    let (port, admin) = (number(), number());
    assert!(port > 0, "the program did not start");
    Program { child, port, admin, output }
}

impl Program {
    /// Tells it to stop, and answers what it wrote after its ports, and on standard error.
    fn stop(mut self) -> (String, String) {
        let killed = Command::new("kill").arg(self.child.id().to_string()).status().unwrap();
        assert!(killed.success());
        let (mut out, mut err) = (String::new(), String::new());
        self.output.read_to_string(&mut out).unwrap();
        self.child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        assert!(self.child.wait().unwrap().success(), "{err}");
        (out, err)
    }
}

fn ask(port: u16, target: &str, header: &str) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let request =
        format!("GET {target} HTTP/1.1\r\nHost: 127.0.0.1\r\n{header}Connection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    Some(answer)
}

fn body(answer: Option<String>) -> String {
    answer.unwrap().split_once("\r\n\r\n").unwrap().1.to_string()
}

fn metric(text: &str, name: &str) -> Option<f64> {
    let mut pairs = text.lines().filter_map(|line| line.rsplit_once(' '));
    pairs.find(|(key, _)| *key == name).and_then(|(_, value)| value.parse().ok())
}

const SITE: &str = "
scheme Site {
   /hi { get { 'hi' } }
   /item/:id { get { request:id ifNil: { 'no name' } } }
   /busy { get { 1 to: 40000000 do: { :i | i * 2. }. 'done' } }
   /wait { get { runLoop runFor: 1. 'waited' } }
   /fail { get { 3 frobnicate } }
}
";

#[test]
fn a_program_is_counted_by_its_patterns() {
    let options = "server ← #HTTPServer{ port: 0, admin: 0 } → #Site{}.";
    let program = start(&format!("{SITE}{options}"), "");
    for target in ["/hi", "/item/1", "/item/2", "/busy"] {
        let answer = ask(program.port, target, "").unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{target}: {answer}");
    }
    let text = body(ask(program.admin, "/metrics", ""));
    let requests = "runnel_http_requests_total{method=\"GET\",route=\"/item/:id\",status=\"2xx\"}";
    assert_eq!(metric(&text, requests), Some(2.0));
    // A handler that computes is interrupted, and named all the same.
    let of = |name: &str, route: &str| {
        metric(&text, &format!("runnel_http_{name}{{method=\"GET\",route=\"{route}\"}}")).unwrap()
    };
    assert!(of("busy_seconds_total", "/busy") > 2.0 * of("busy_seconds_total", "/hi"));
    assert!(of("held_seconds_max", "/busy") < of("busy_seconds_total", "/busy"));
    program.stop();
}

#[test]
fn fibers_that_wait_are_counted() {
    let options = "server ← #HTTPServer{ port: 0, admin: 0 } → #Site{}.";
    let program = start(&format!("{SITE}{options}"), "");
    let port = program.port;
    let waiting = std::thread::spawn(move || ask(port, "/wait", "").unwrap());
    let until = Instant::now() + PATIENCE;
    loop {
        let text = body(ask(program.admin, "/metrics", ""));
        if metric(&text, "runnel_fibers{state=\"waiting\"}").unwrap() >= 1.0 {
            assert!(metric(&text, "runnel_heap_bytes").unwrap() > 100_000.0);
            break;
        }
        assert!(Instant::now() < until, "{text}");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(waiting.join().unwrap().ends_with("waited"));
    program.stop();
}

#[test]
fn the_log_goes_to_standard_output_and_names_the_request() {
    let options = "server ← #HTTPServer{ port: 0, admin: 0, accessLog: 'json' } → #Site{}.";
    let program = start(&format!("{SITE}{options}"), "");
    let answer = ask(program.port, "/item/1?token=hunter2", "X-Request-Id: abc-1\r\n").unwrap();
    assert!(
        answer.contains("\r\nx-request-id: abc-1\r\n") && answer.ends_with("abc-1"),
        "{answer}"
    );
    ask(program.port, "/fail", "X-Request-Id: abc-2\r\nCookie: session=hunter2\r\n");
    ask(program.admin, "/healthz", "");
    let (out, err) = program.stop();
    assert_eq!(out.lines().count(), 2, "{out}");
    assert!(out.contains("\"id\":\"abc-1\"") && out.contains("\"route\":\"/item/:id\""), "{out}");
    assert!(err.contains("abc-2"), "the error has the name of its request: {err}");
    assert!(!out.contains("hunter2") && !err.contains("hunter2"), "{out}{err}");
}

#[test]
fn a_program_says_when_it_is_ready_and_is_not_while_it_stops() {
    let source = format!(
        "{SITE}
        scheme:flag ← DictStore store.
        server ← #HTTPServer{{ port: 0, admin: 0 }} → #Site{{}}.
        server ready: 'flag' when: {{ flag:up }}."
    );
    let more = "fork ← { runLoop runFor: 0.5. flag:up ← true } fork.";
    let program = start(&source, more);
    let ready = |admin| ask(admin, "/readyz", "").unwrap();
    let first = ready(program.admin);
    let until = Instant::now() + PATIENCE;
    if first.starts_with("HTTP/1.1 503") {
        assert!(first.contains("flag is not ready"), "{first}");
    }
    while !ready(program.admin).starts_with("HTTP/1.1 200") {
        assert!(Instant::now() < until);
        std::thread::sleep(Duration::from_millis(20));
    }
    // A request under way keeps it from ending at once.
    let (port, admin) = (program.port, program.admin);
    let waiting = std::thread::spawn(move || ask(port, "/wait", "").unwrap());
    std::thread::sleep(Duration::from_millis(200));
    let stopping = std::thread::spawn(move || program.stop());
    let mut drained = false;
    while let Some(answer) = ask(admin, "/readyz", "") {
        drained |= answer.starts_with("HTTP/1.1 503") && answer.contains("\"draining\":true");
        assert!(Instant::now() < until);
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(drained);
    assert!(waiting.join().unwrap().ends_with("waited"));
    stopping.join().unwrap();
}

#[test]
fn what_is_wrong_with_an_option_is_said() {
    for (options, what) in [
        ("admin: 'x'", "a port from 0 to 65535"),
        ("admin: '0.0.0.0:0'", "others can reach 0.0.0.0, so name an adminToken"),
        ("adminToken: 'short'", "a secret of 16 to 256 visible ASCII characters"),
        ("accessLog: 'xml'", "'json' or 'combined'"),
        ("requestIds: 3", "true or false"),
    ] {
        let source = format!("#HTTPServer{{ port: 0, {options} }} start");
        let run =
            Command::new(env!("CARGO_BIN_EXE_runnel")).args(["-e", &source]).output().unwrap();
        let said = String::from_utf8_lossy(&run.stderr).into_owned();
        assert!(!run.status.success() && said.contains(what), "{options}: {said}");
    }
}

/// A server in front of one that does one thing at a time, and slowly.
const NARROW: &str = "
scheme Slow { /wait { get { runLoop runFor: 2. 'done' } } }
slow ← #HTTPServer{ port: 0 } → #Slow{}.
slow start.
scheme:narrow ← #HTTPStore{ base: \"http://127.0.0.1:{slow port}\", maxConnections: 1,
   poolTimeout: 500 milliseconds }.
scheme Front { /x { get { narrow:wait } } }
server ← #HTTPServer{ port: 0, admin: 0 } → #Front{}.
";

#[test]
fn who_waits_for_a_connection_is_seen_and_told_to_come_back() {
    let program = start(NARROW, "");
    let (port, admin) = (program.port, program.admin);
    let first = std::thread::spawn(move || ask(port, "/x", "").unwrap());
    // One has the connection, and the other one waits for it.
    let of_pool = |metrics: &str, name: &str| {
        let start = format!("runnel_pool_{name}{{host=\"127.0.0.1:");
        let line = metrics.lines().find(|line| line.starts_with(&start));
        line.and_then(|line| line.rsplit_once(' ')).and_then(|(_, value)| value.parse::<f64>().ok())
    };
    let until = |name: &str| {
        let start = Instant::now();
        while of_pool(&body(ask(admin, "/metrics", "")), name) != Some(1.0) {
            assert!(start.elapsed() < PATIENCE, "nothing is {name}");
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    until("in_use");
    let second = std::thread::spawn(move || ask(port, "/x", "").unwrap());
    until("waiting");
    let second = second.join().unwrap();
    assert!(second.starts_with("HTTP/1.1 503 "), "{second}");
    assert!(second.to_lowercase().contains("\r\nretry-after: 1\r\n"), "{second}");
    let first = first.join().unwrap();
    assert!(first.starts_with("HTTP/1.1 200 ") && first.ends_with("done"), "{first}");
    let metrics = body(ask(admin, "/metrics", ""));
    let seen = ["size", "in_use", "waiting", "open", "late_total", "opened_total"];
    let seen = seen.map(|name| of_pool(&metrics, name).unwrap_or(-1.0));
    assert_eq!(seen, [1.0, 0.0, 0.0, 1.0, 1.0, 1.0]);
    assert_eq!(of_pool(&metrics, "wait_seconds_count"), Some(1.0));
    let page = body(ask(admin, "/metrics.json", ""));
    assert!(page.contains("\"kind\":\"http\""), "{page}");
    program.stop();
}

#[test]
fn the_dashboard_loads_nothing() {
    let options = "server ← #HTTPServer{ port: 0, admin: 0 } → #Site{}.";
    let program = start(&format!("{SITE}{options}"), "");
    let page = body(ask(program.admin, "/", ""));
    assert!(
        page.contains("<title>Runnel server</title>") && page.contains("metrics.json"),
        "{page}"
    );
    for outside in ["http:", "https:", "src=", "<link", "@import", "url("] {
        let known = page.replace("http://www.w3.org/2000/svg", "");
        assert!(!known.contains(outside), "{outside}");
    }
    program.stop();
}
