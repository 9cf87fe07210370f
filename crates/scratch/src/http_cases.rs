//! Raw HTTP cases: bytes that are sent to a server, and what must come back.
//!
//! A case is a line of JSON with `id`, `title`, `needs` (the fixture it runs against), `steps` and
//! `expect`; `strict` names the statuses that are allowed in strict mode.
//! Texts of steps stand for bytes, one character each (ISO 8859-1). A step or an expectation that
//! this runner does not know is a failure.

mod connection;
mod expectation;
mod response;

use connection::RawConnection;
use response::RawResponse;
use serde_json::Value;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// How long a connection must be silent until no further response is expected.
const IDLE: Duration = Duration::from_millis(800);
/// Bytes of a response after which the runner stops reading.
const MOST_BYTES: usize = 3_000_000;
/// Cases that run at the same time.
const THREADS: usize = 8;

/// Runs the cases whose needs are among `needs` against a server.
///
/// Returns the number of cases, and a line for each failed case: its id, title and reasons.
pub fn run_http_cases(
    address: SocketAddr,
    cases: &str,
    needs: &[&str],
    is_strict: bool,
) -> (usize, Vec<String>) {
    let parsed = cases.lines().filter(|line| !line.trim().is_empty()).map(serde_json::from_str);
    let cases: Vec<Value> = match parsed.collect::<Result<_, _>>() {
        Ok(cases) => cases,
        Err(error) => return (1, vec![format!("a case is no JSON: {error}")]),
    };
    let fits = |case: &&Value| needs.iter().any(|need| case["needs"] == *need);
    let cases: Vec<&Value> = cases.iter().filter(fits).collect();
    let (queue, failures) = (Mutex::new(cases.iter()), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                loop {
                    let Some(case) = queue.lock().ok().and_then(|mut queue| queue.next()) else {
                        return;
                    };
                    let reasons = run_case(address, case, is_strict);
                    if !reasons.is_empty()
                        && let Ok(mut failures) = failures.lock()
                    {
                        let (id, title) = (&case["id"], &case["title"]);
                        failures.push(format!(
                            "{} {title}: {}",
                            id.as_str().unwrap_or("?"),
                            reasons.join("; ")
                        ));
                    }
                }
            });
        }
    });
    (cases.len(), failures.into_inner().unwrap_or_default())
}

/// What a case saw.
struct CaseOutcome {
    /// Final responses, and those with 1xx.
    responses: Vec<RawResponse>,
    interim: Vec<RawResponse>,
    closed: bool,
    received: Vec<u8>,
    /// From the start of the last request to the first final response.
    first_after: Option<Duration>,
    /// Steps that did not go as they should.
    notes: Vec<String>,
}

fn run_case(address: SocketAddr, case: &Value, is_strict: bool) -> Vec<String> {
    let expect = &case["expect"];
    match exchange(address, case, expect) {
        Ok(outcome) => {
            let strict = if is_strict { &case["strict"] } else { &Value::Null };
            expectation::failures(&outcome, strict, expect)
        }
        Err(reason) => vec![reason],
    }
}

fn exchange(address: SocketAddr, case: &Value, expect: &Value) -> Result<CaseOutcome, String> {
    let mut connection = RawConnection::open(address)?;
    let (mut variables, mut notes) = (HashMap::new(), Vec::new());
    let mut since = Instant::now();
    for step in case["steps"].as_array().into_iter().flatten() {
        if let Some(path) = step["prep"]["path"].as_str() {
            prepare(address, path, &step["prep"]["capture"], &mut variables)?;
            since = Instant::now();
        } else {
            take_step(address, &mut connection, step, &variables, &mut notes)?;
        }
    }
    let is_head = expect["head"] == true;
    let wanted = match &expect["responses"] {
        Value::Array(counts) => counts.iter().filter_map(Value::as_u64).max(),
        count => count.as_u64(),
    };
    let patience = IDLE.max(milliseconds(&expect["within_ms"]) + Duration::from_millis(200));
    let waits_for_more = wanted.is_some()
        || expect["closes"] == true
        || expect["only_one"] == true
        || expect["raw_after_contains"].is_string();
    let mut first_after = None;
    while !connection.closed && connection.pump(patience) {
        let (finals, _) = response::split(&connection.received, is_head, connection.closed);
        if !finals.is_empty() && first_after.is_none() {
            first_after = Some(since.elapsed());
        }
        let is_complete = finals.last().is_some_and(|last| last.is_complete);
        if (is_complete && !waits_for_more) || connection.received.len() > MOST_BYTES {
            break;
        }
    }
    let (responses, interim) = response::split(&connection.received, is_head, connection.closed);
    let RawConnection { received, closed, .. } = connection;
    Ok(CaseOutcome { responses, interim, closed, received, first_after, notes })
}

/// A request of its own, whose response headers later steps name as `{{header}}`.
fn prepare(
    address: SocketAddr,
    path: &str,
    names: &Value,
    variables: &mut HashMap<String, String>,
) -> Result<(), String> {
    let mut connection = RawConnection::open(address)?;
    connection
        .send(&format!("GET {path} HTTP/1.1\r\nHost: t.example\r\nConnection: close\r\n\r\n"));
    while !connection.closed && connection.pump(Duration::from_secs(2)) {}
    let (responses, _) = response::split(&connection.received, false, true);
    for name in names.as_array().into_iter().flatten().filter_map(Value::as_str) {
        let value = responses.first().and_then(|response| response.header(name));
        variables.insert(name.to_string(), value.unwrap_or_else(|| "MISSING".into()));
    }
    let tag = variables.get("etag").cloned().unwrap_or_default();
    variables.insert("etag_strong".into(), tag.trim_start_matches("W/").to_string());
    Ok(())
}

fn take_step(
    address: SocketAddr,
    connection: &mut RawConnection,
    step: &Value,
    variables: &HashMap<String, String>,
    notes: &mut Vec<String>,
) -> Result<(), String> {
    let text = |name: &str| step[name].as_str().map(|text| filled(text, variables));
    let within = milliseconds(&step["within_ms"]);
    let has_head = |received: &[u8]| response::find(received, b"\r\n\r\n").is_some();
    if let Some(bytes) = text("drip") {
        drip(connection, &bytes, step, notes);
    } else if let Some(bytes) = text("send") {
        let count = usize::try_from(step["n"].as_u64().unwrap_or(0)).unwrap_or(0);
        let repeated = step["repeat"].as_str().unwrap_or_default().repeat(count);
        let after = step["send_after"].as_str().unwrap_or_default();
        connection.send(&format!("{bytes}{repeated}{after}"));
    } else if step["sleep_ms"].is_u64() {
        std::thread::sleep(milliseconds(&step["sleep_ms"]));
    } else if !step["shutdown_write"].is_null() {
        connection.shutdown_write();
    } else if !step["new_connection"].is_null() {
        *connection = RawConnection::open(address)?;
    } else if let Some(count) = step["recv_bytes"].as_u64() {
        let wait = Duration::from_secs(2);
        while (connection.received.len() as u64) < count && connection.pump(wait) {}
    } else if !step["recv_headers"].is_null() || !step["recv_response"].is_null() {
        connection.pump_until(Duration::from_secs(2), has_head);
    } else if let Some(status) = step["expect_interim"].as_u64() {
        connection.pump_until(within, has_head);
        if !connection.received.starts_with(format!("HTTP/1.1 {status}").as_bytes()) {
            return Err(format!("no interim response {status}"));
        }
    } else if let Some(mark) = text("recv_until") {
        let seen = |received: &[u8]| response::find(received, mark.as_bytes()).is_some();
        if !connection.pump_until(within, seen) {
            notes.push(format!("`{mark}` was not received in time"));
        }
    } else if step["wait_close_ms"].is_u64() {
        let end = Instant::now() + milliseconds(&step["wait_close_ms"]);
        while !connection.closed && Instant::now() < end {
            connection.pump(end.saturating_duration_since(Instant::now()));
        }
    } else {
        return Err(format!("this runner does not know the step {step}"));
    }
    Ok(())
}

/// Sends a byte every `ms` milliseconds, until the server closes or refuses, or `max_ms` is over.
fn drip(connection: &mut RawConnection, bytes: &str, step: &Value, notes: &mut Vec<String>) {
    let start = Instant::now();
    let most = step["max_ms"].as_u64().map_or(Duration::from_secs(60), Duration::from_millis);
    for byte in bytes.chars() {
        connection.send(byte.encode_utf8(&mut [0; 4]));
        connection.pump(milliseconds(&step["ms"]));
        let is_refused = response::find(&connection.received, b"HTTP/1.1 4").is_some();
        if step["stop_on_close"] == true && (connection.closed || is_refused) {
            return;
        }
        if start.elapsed() > most {
            return notes.push("the server did not close within max_ms".into());
        }
    }
}

fn milliseconds(value: &Value) -> Duration {
    Duration::from_millis(value.as_u64().unwrap_or(0))
}

fn filled(text: &str, variables: &HashMap<String, String>) -> String {
    variables.iter().fold(text.to_string(), |text, (name, value)| {
        text.replace(&format!("{{{{{name}}}}}"), value)
    })
}
