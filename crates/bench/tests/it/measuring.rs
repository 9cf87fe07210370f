//! Measurements against a server that does what each test needs: counts, failures, rates and times.

use runnel_bench::{
    Control, Expected, ExpectedBody, ExpectedLength, Figures, Load, LoadSpan, LoadTarget,
    MeasureError, Measurement, Pace, Rates, Request, RequestFailure, Trust, compare, latency_svg,
    run, sweep,
};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What the server does with a request.
enum Answer {
    /// Writes these bytes.
    Text(String),
    /// Writes these bytes and closes.
    Last(String),
    /// Closes without a word.
    Nothing,
    /// Leaves the connection open without an answer.
    Silence,
}

fn ok(body: &str) -> Answer {
    Answer::Text(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()))
}

struct Server {
    url: String,
    requests: Arc<AtomicU64>,
    connections: Arc<AtomicU64>,
    /// The first request as it came.
    seen: Arc<Mutex<String>>,
}

/// A server whose answers depend on the number of the request, counted from 0; 0 is the one that is
/// sent before the others.
fn server(answer: impl Fn(u64) -> Answer + Send + Sync + 'static) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = Server {
        url: format!("http://{}/x?y", listener.local_addr().unwrap()),
        requests: Arc::default(),
        connections: Arc::default(),
        seen: Arc::default(),
    };
    let (requests, connections) = (Arc::clone(&server.requests), Arc::clone(&server.connections));
    let (seen, answer) = (Arc::clone(&server.seen), Arc::new(answer));
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            connections.fetch_add(1, Ordering::SeqCst);
            let (requests, seen) = (Arc::clone(&requests), Arc::clone(&seen));
            let answer = Arc::clone(&answer);
            std::thread::spawn(move || {
                let _ = converse(stream.unwrap(), &requests, &seen, &*answer);
            });
        }
    });
    server
}

fn converse(
    mut stream: TcpStream,
    requests: &AtomicU64,
    seen: &Mutex<String>,
    answer: &dyn Fn(u64) -> Answer,
) -> std::io::Result<()> {
    let mut text = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let count = stream.read(&mut buffer)?;
        if count == 0 {
            return Ok(());
        }
        text.extend_from_slice(&buffer[..count]);
        // Bodies of these tests end with an exclamation mark.
        let whole = text.ends_with(b"\r\n\r\n") && !text.starts_with(b"P") || text.ends_with(b"!");
        if !whole {
            continue;
        }
        let closes = String::from_utf8_lossy(&text).contains("Connection: close");
        let number = requests.fetch_add(1, Ordering::SeqCst);
        if number == 0 {
            *seen.lock().unwrap() = String::from_utf8_lossy(&text).into_owned();
        }
        text.clear();
        match answer(number) {
            Answer::Text(text) => stream.write_all(text.as_bytes())?,
            Answer::Last(text) => return stream.write_all(text.as_bytes()),
            Answer::Nothing => return Ok(()),
            Answer::Silence => {}
        }
        if closes {
            return Ok(());
        }
    }
}

fn job(server: &Server, load: Load) -> Measurement {
    Measurement {
        trust: Trust::default(),
        target: LoadTarget::parse(&server.url).unwrap(),
        request: Request::new("GET", &[], Vec::new()).unwrap(),
        expected: Expected::default(),
        load,
        process: None,
    }
}

fn requests(count: u64) -> Load {
    Load {
        span: LoadSpan::Requests(count),
        warm_up: Duration::ZERO,
        connections: 4,
        ..Load::default()
    }
}

fn control() -> Control {
    Control::new(Arc::new(AtomicBool::new(false)), |_| ())
}

fn measured(job: &Measurement) -> Figures {
    run(job, "", &control()).unwrap()
}

#[test]
fn as_many_requests_are_sent_as_were_asked_for() {
    let server = server(|_| ok("hello"));
    let load = Load { threads: 3, ..requests(1000) };
    let figures = measured(&job(&server, load));
    assert_eq!((figures.requests(), figures.replies(), figures.failed()), (1000, 1000, 0));
    assert!(figures.is_good());
    // One more is sent before them, on a connection of its own.
    assert_eq!(server.requests.load(Ordering::SeqCst), 1001);
    assert_eq!(server.connections.load(Ordering::SeqCst), 5);
    assert_eq!(figures.json()["statuses"]["200"], 1000);
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    assert_eq!(figures.json()["bytes_received"], 1000 * head.len());
    assert!(figures.percentile(50.0) <= figures.slowest());
}

#[test]
fn a_connection_serves_as_many_requests_as_it_may() {
    let server = server(|_| ok("hello"));
    let load = Load { per_connection: Some(3), connections: 1, ..requests(10) };
    let figures = measured(&job(&server, load));
    assert_eq!((figures.replies(), figures.failed()), (10, 0));
    assert_eq!(server.connections.load(Ordering::SeqCst), 1 + 4);
}

#[test]
fn a_server_that_closes_after_its_answer_is_connected_to_again() {
    let close = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi";
    let server = server(move |number| match number % 2 {
        0 => Answer::Last(close.to_owned()),
        _ => Answer::Last("HTTP/1.0 200 OK\r\n\r\nhi".to_owned()),
    });
    let figures = measured(&job(&server, requests(50)));
    assert_eq!((figures.replies(), figures.failed()), (50, 0));
    assert_eq!(server.connections.load(Ordering::SeqCst), 51);
}

#[test]
fn every_kind_of_wrong_answer_is_found_and_counted() {
    let server = server(|number| match number {
        // The first one is right.
        0 => ok("hello"),
        _ if number % 2 == 0 => ok("hello"),
        1 => Answer::Text("HTTP/1.1 500 No\r\nContent-Length: 5\r\n\r\nhello".to_owned()),
        3 => ok("hell"),
        5 => ok("jello"),
        7 => Answer::Last("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel".to_owned()),
        9 => Answer::Nothing,
        11 => Answer::Text("220 mail.example\r\n".to_owned()),
        13 => Answer::Text("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello++".to_owned()),
        15 => Answer::Silence,
        _ => ok("hello"),
    });
    let load = Load { timeout: Duration::from_secs(3), ..requests(100) };
    let mut job = job(&server, load);
    job.expected.body = ExpectedBody::Same;
    let figures = measured(&job);
    let found: Vec<u64> = RequestFailure::ALL.iter().map(|kind| figures.failures(*kind)).collect();
    let count = |kind| {
        u64::from(
            [
                RequestFailure::Closed,
                RequestFailure::Short,
                RequestFailure::Timeout,
                RequestFailure::Status,
                RequestFailure::Length,
                RequestFailure::Body,
            ]
            .contains(&kind),
        ) + 2 * u64::from(kind == RequestFailure::Malformed)
    };
    let wanted: Vec<u64> = RequestFailure::ALL.iter().map(|kind| count(*kind)).collect();
    assert_eq!(found, wanted, "{figures}");
    assert_eq!((figures.requests(), figures.replies(), figures.failed()), (100, 92, 8));
    assert!(!figures.is_good());
    assert!(figures.to_string().contains("answer cut short          1\n"), "{figures}");
}

#[test]
fn other_statuses_lengths_and_bodies_may_be_expected() {
    let server = server(|number| {
        let body = "x".repeat(1 + number as usize % 3);
        Answer::Text(format!("HTTP/1.1 404 No\r\nContent-Length: {}\r\n\r\n{body}", body.len()))
    });
    let mut job = job(&server, requests(30));
    job.expected =
        Expected { status: Some(404), length: ExpectedLength::Any, body: ExpectedBody::Any };
    assert!(measured(&job).is_good());
    job.expected.body = ExpectedBody::Exactly(b"wxyz".to_vec());
    assert!(matches!(run(&job, "", &control()), Err(MeasureError::FirstAnswer(_))));
}

#[test]
fn a_request_has_its_method_headers_and_body() {
    let server = server(|_| ok("stored"));
    let mut job = job(&server, requests(5));
    let header = "X-Token: abc".to_owned();
    job.request = Request::new("POST", &[header], b"some text!".to_vec()).unwrap();
    let figures = measured(&job);
    assert_eq!(figures.failed(), 0, "{figures}");
    let seen = server.seen.lock().unwrap().clone();
    assert!(seen.starts_with("POST /x?y HTTP/1.1\r\nHost: 127.0.0.1:"), "{seen}");
    assert!(seen.contains("\r\nX-Token: abc\r\nContent-Length: 10\r\n"), "{seen}");
    assert!(seen.ends_with("\r\n\r\nsome text!"), "{seen}");
}

#[test]
fn large_chunked_bodies_are_read_to_their_end() {
    let server = server(|_| {
        let mut text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_owned();
        for size in [1, 70_000, 300_000] {
            text.push_str(&format!("{size:x}\r\n{}\r\n", "z".repeat(size)));
        }
        text.push_str("0\r\n\r\n");
        Answer::Text(text)
    });
    let mut job = job(&server, requests(40));
    job.expected.length = ExpectedLength::Exactly(370_001);
    job.expected.body = ExpectedBody::Exactly(vec![b'z'; 370_001]);
    let figures = measured(&job);
    assert_eq!((figures.replies(), figures.failed()), (40, 0), "{figures}");
}

#[test]
fn a_first_answer_that_is_wrong_ends_it() {
    let server = server(|_| Answer::Text("HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n".into()));
    let trouble = run(&job(&server, requests(10)), "", &control()).unwrap_err();
    assert!(trouble.to_string().contains("--status 404"), "{trouble}");
    assert_eq!(server.requests.load(Ordering::SeqCst), 1);
}

#[test]
fn nothing_that_listens_is_told_before_anything_is_measured() {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let server = Server {
        url: format!("http://{address}/"),
        requests: Arc::default(),
        connections: Arc::default(),
        seen: Arc::default(),
    };
    let trouble = run(&job(&server, requests(10)), "", &control()).unwrap_err();
    assert!(
        matches!(&trouble, MeasureError::Unreachable(why) if why.contains("is the server started"))
    );
}

#[test]
fn a_server_that_goes_away_is_told_by_kind() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let gone = Server {
        url: format!("http://{}/", listener.local_addr().unwrap()),
        requests: Arc::default(),
        connections: Arc::default(),
        seen: Arc::default(),
    };
    std::thread::spawn(move || {
        // The first request is answered, then nobody listens any more.
        let (stream, _) = listener.accept().unwrap();
        let _ = converse(stream, &AtomicU64::new(0), &Mutex::default(), &|_| ok("hello"));
        drop(listener);
    });
    let figures = measured(&job(&gone, requests(12)));
    let kinds = [RequestFailure::Refused, RequestFailure::Reset, RequestFailure::Closed];
    let told: u64 = kinds.iter().map(|kind| figures.failures(*kind)).sum();
    assert_eq!((figures.requests(), figures.replies(), told), (12, 0, 12), "{figures}");
    assert!(figures.failures(RequestFailure::Refused) > 0, "{figures}");
}

#[test]
fn a_rate_is_kept() {
    let server = server(|_| ok("hello"));
    let load = Load { pace: Pace::Rate(200.0), threads: 2, ..requests(100) };
    let began = Instant::now();
    let figures = measured(&job(&server, load));
    assert_eq!((figures.requests(), figures.failed()), (100, 0), "{figures}");
    // The last of a hundred is sent after 99 distances of 5 ms, on however slow a machine.
    assert!(began.elapsed() >= Duration::from_millis(495));
    assert_eq!(figures.offered_rate(), Some(200.0));
}

#[test]
fn times_count_from_when_a_request_was_to_be_sent() {
    // One connection, and a server that stalls once for 400 ms: in a closed loop, one request
    // notices; at a rate of 100/s, about 40 of them were to be sent in the meantime.
    let stall = |number: u64| {
        if number == 11 {
            std::thread::sleep(Duration::from_millis(400));
        }
        ok("hello")
    };
    let one = Load { connections: 1, ..requests(100) };
    let closed = measured(&job(&server(stall), one.clone()));
    let open = measured(&job(&server(stall), Load { pace: Pace::Rate(100.0), ..one }));
    assert!(closed.slowest() >= Duration::from_millis(400));
    assert!(open.slowest() >= Duration::from_millis(400));
    // The 80th of 100 waited for longer than 100 ms: 30 of those that came while it stalled did.
    assert!(open.percentile(80.0) >= Duration::from_millis(100), "{open}");
    let waited = |figures: &Figures| {
        (1..100).filter(|percent| figures.percentile(f64::from(*percent)).as_millis() >= 50).count()
    };
    assert!(waited(&open) >= 30, "{open}");
}

#[test]
fn requests_that_find_no_connection_in_time_are_failures() {
    let server = server(|number| match number {
        0 => ok("hello"),
        _ => Answer::Silence,
    });
    let load = Load {
        pace: Pace::Rate(100.0),
        connections: 1,
        timeout: Duration::from_millis(300),
        ..requests(60)
    };
    let figures = measured(&job(&server, load));
    let (unsent, late) =
        (figures.failures(RequestFailure::Unsent), figures.failures(RequestFailure::Timeout));
    assert_eq!((figures.requests(), unsent + late), (60, 60), "{figures}");
    assert!(unsent > 0 && late > 0, "{figures}");
}

#[test]
fn warming_up_is_not_counted() {
    let server = server(|_| ok("hello"));
    let load =
        Load { pace: Pace::Rate(100.0), warm_up: Duration::from_millis(300), ..requests(20) };
    let figures = measured(&job(&server, load));
    assert_eq!((figures.requests(), figures.failed()), (20, 0), "{figures}");
    assert_eq!(server.requests.load(Ordering::SeqCst), 1 + 30 + 20);
}

#[test]
fn who_stops_it_gets_what_was_measured_so_far() {
    let server = server(|_| ok("hello"));
    let stop = Arc::new(AtomicBool::new(false));
    let (seen, stopper) = (Arc::clone(&server.requests), Arc::clone(&stop));
    std::thread::spawn(move || {
        while seen.load(Ordering::SeqCst) < 100 {
            std::thread::yield_now();
        }
        stopper.store(true, Ordering::SeqCst);
    });
    let load = Load {
        span: LoadSpan::Time(Duration::from_secs(3600)),
        warm_up: Duration::ZERO,
        connections: 2,
        ..Load::default()
    };
    let figures = run(&job(&server, load), "", &Control::new(stop, |_| ())).unwrap();
    assert!(figures.was_interrupted());
    assert!(figures.replies() >= 90 && figures.rate() > 0.0, "{figures}");
    assert!(figures.to_string().contains("interrupted"), "{figures}");
}

#[test]
fn progress_is_told_while_it_runs() {
    let server = server(|_| ok("hello"));
    let lines = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
    let told = std::rc::Rc::clone(&lines);
    let control = Control::new(Arc::default(), move |line| told.borrow_mut().push(line.to_owned()));
    run(&job(&server, Load { pace: Pace::Rate(100.0), ..requests(50) }), "A: ", &control).unwrap();
    let lines = lines.borrow();
    assert!(lines.iter().any(|line| line.starts_with("A: ") && line.contains("requests/s")));
    assert_eq!(lines.last().map(String::as_str), Some(""));
}

#[test]
fn a_sweep_finds_a_rate_with_which_a_server_does_not_keep_up() {
    // One connection at a time, and 10 ms for each: 100 requests a second at most.
    let server = server(|_| {
        std::thread::sleep(Duration::from_millis(10));
        ok("hello")
    });
    let load = Load {
        span: LoadSpan::Time(Duration::from_millis(1000)),
        warm_up: Duration::from_millis(200),
        connections: 1,
        timeout: Duration::from_millis(400),
        per_connection: Some(1),
        ..Load::default()
    };
    let swept = sweep(&job(&server, load), &Rates::parse("20..400x20").unwrap(), &control());
    let swept = swept.unwrap();
    assert_eq!(swept.figures().len(), 2);
    let [slow, fast] = swept.figures() else { panic!("two rates") };
    assert!(slow.replies() > 0 && slow.connection_rate() > 0.0, "{swept}");
    assert!(fast.rate() < 110.0 && fast.failures(RequestFailure::Unsent) > 0, "{swept}");
    assert_ne!(swept.max_rate(), Some(400.0), "{swept}");
    assert!(swept.to_string().contains("max rate "), "{swept}");
    let svg = swept.svg();
    for part in ["at rising rates", "offered requests/s", "p99", "connections made"] {
        assert!(svg.contains(part), "{part}");
    }
    assert_eq!(swept.json()["rates"].as_array().unwrap().len(), 2);
}

#[test]
fn servers_are_measured_in_turn() {
    let order = Arc::new(Mutex::new(String::new()));
    let named = |name: char, pause: u64| {
        let order = Arc::clone(&order);
        server(move |_| {
            order.lock().unwrap().push(name);
            std::thread::sleep(Duration::from_millis(pause));
            ok("hello")
        })
    };
    let (quick, slow) = (named('A', 0), named('B', 30));
    let load = Load { connections: 1, ..requests(20) };
    let jobs = [job(&quick, load.clone()), job(&slow, load)];
    let compared = compare(&jobs, 3, &control()).unwrap();
    assert!(compared.is_good(), "{compared}");
    let mut turns = order.lock().unwrap().chars().collect::<Vec<_>>();
    turns.dedup();
    assert_eq!(turns, ['A', 'B', 'A', 'B', 'A', 'B']);
    let json = compared.json();
    let ratio = |number: usize| json["servers"][number]["figures"]["p50_ms"]["ratio"].as_f64();
    assert_eq!(ratio(0), Some(1.0));
    assert!(ratio(1) > Some(1.0), "{compared}");
    assert_eq!(json["servers"][1]["rounds"].as_array().unwrap().len(), 3);
    let lines: Vec<&Figures> = compared.runs().iter().filter_map(|runs| runs.last()).collect();
    let svg = latency_svg(&lines);
    assert!(svg.contains("99 %") || svg.contains("90 %"), "{svg}");
    assert!(svg.contains(&quick.url) && svg.contains(&slow.url), "{svg}");
}

#[test]
fn the_time_of_the_servers_process_is_measured() {
    if !cfg!(target_os = "linux") {
        return;
    }
    let server = server(|_| ok("hello"));
    let mut job = job(&server, requests(2000));
    job.process = Some(std::process::id());
    assert!(measured(&job).server_time().is_some());
    job.process = Some(u32::MAX);
    assert!(matches!(run(&job, "", &control()), Err(MeasureError::Here(_))));
}
