//! Load, request, and expected response.

use crate::load::target::LoadTarget;
use std::sync::Arc;
use std::time::Duration;

/// The most connections of one run. The limit of open files is usually lower.
pub const MOST_CONNECTIONS: usize = 100_000;
/// The most threads of one run.
pub const MOST_THREADS: usize = 256;
/// The highest rate, in requests a second.
pub const HIGHEST_RATE: f64 = 10_000_000.0;
/// The longest run, and the longest request timeout.
pub const LONGEST_TIME: Duration = Duration::from_secs(24 * 3600);
/// The largest request body, and the largest compared response body, in bytes.
pub const LARGEST_BODY: usize = 256 * 1024 * 1024;

/// The pace of requests.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pace {
    /// Closed loop: each connection sends its next request after the response.
    Closed,
    /// Open loop: this many requests a second, evenly spaced, whatever the server does. Latency
    /// counts from the due time, so a stalled server is charged for the requests that had to wait
    /// (a closed loop omits them: "coordinated omission").
    Rate(f64),
}

/// The length of a run after the warm-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadSpan {
    /// This long.
    Time(Duration),
    /// This many requests.
    Requests(u64),
}

/// Load on one server.
#[derive(Debug, Clone)]
pub struct Load {
    /// The pace of requests.
    pub pace: Pace,
    /// The length of the run.
    pub span: LoadSpan,
    /// The warm-up, which is not counted.
    pub warm_up: Duration,
    /// Connections; at a rate, the most of them.
    pub connections: usize,
    /// Threads, each with its share of the connections.
    pub threads: usize,
    /// Requests on each connection before it closes; `None`: as many as the server allows.
    pub per_connection: Option<u64>,
    /// Request timeout from the due time, connecting included.
    pub timeout: Duration,
}

impl Default for Load {
    /// 64 connections on one thread in a closed loop, for 10 s after 1 s of warm-up.
    fn default() -> Self {
        Load {
            pace: Pace::Closed,
            span: LoadSpan::Time(Duration::from_secs(10)),
            warm_up: Duration::from_secs(1),
            connections: 64,
            threads: 1,
            per_connection: None,
            timeout: Duration::from_secs(10),
        }
    }
}

impl Load {
    /// Validates the load.
    ///
    /// # Errors
    /// A sentence with the invalid value and its bounds.
    pub fn checked(self) -> Result<Load, String> {
        let second = Duration::from_secs(1);
        if !(1..=MOST_CONNECTIONS).contains(&self.connections) {
            return Err(format!("connections: from 1 to {MOST_CONNECTIONS}"));
        }
        if self.threads == 0 || self.threads > MOST_THREADS.min(self.connections) {
            return Err(format!(
                "threads: from 1 to {MOST_THREADS}, and no more than connections ({})",
                self.connections
            ));
        }
        if self.timeout < Duration::from_millis(1) || self.timeout > LONGEST_TIME {
            return Err("time limit of a request: from 0.001 s to a day".to_owned());
        }
        match self.span {
            LoadSpan::Requests(0) => return Err("requests: at least 1".to_owned()),
            LoadSpan::Time(time) if time < second / 10 || time > LONGEST_TIME => {
                return Err("seconds: from 0.1 to a day".to_owned());
            }
            _ => {}
        }
        if self.warm_up > LONGEST_TIME {
            return Err("warming up: at most a day".to_owned());
        }
        if self.per_connection == Some(0) {
            return Err("requests on a connection: at least 1".to_owned());
        }
        match self.pace {
            Pace::Rate(rate) if !(0.01..=HIGHEST_RATE).contains(&rate) => {
                Err(format!("rate: from 0.01 to {HIGHEST_RATE} requests a second"))
            }
            _ => Ok(self),
        }
    }
}

/// The request.
#[derive(Debug, Clone)]
pub struct Request {
    method: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Request {
    /// A request with a method, headers as lines (`Accept: text/html`), and a body, which may be
    /// empty. `Host` and `Content-Length` are added where they are missing.
    ///
    /// # Errors
    /// A sentence for an invalid method or header, or for a body beyond [`LARGEST_BODY`].
    pub fn new(method: &str, headers: &[String], body: Vec<u8>) -> Result<Request, String> {
        if !is_token(method) {
            return Err(format!("{method:.50} is not a method of HTTP; write GET, POST, PUT …"));
        }
        if body.len() > LARGEST_BODY {
            return Err(format!("the body has more than {LARGEST_BODY} bytes"));
        }
        let mut read = Vec::with_capacity(headers.len());
        for line in headers {
            let (name, value) = line.split_once(':').unwrap_or((line, ""));
            let value = value.trim();
            if !line.contains(':') || !is_token(name) || value.bytes().any(is_control) {
                return Err(format!("{line:.50} is not a header; write it as Name: value"));
            }
            if ["connection", "transfer-encoding", "upgrade", "expect"]
                .contains(&name.to_ascii_lowercase().as_str())
            {
                return Err(format!("the header {name} is not yours to set: leave it out"));
            }
            if name.eq_ignore_ascii_case("content-length") && value != body.len().to_string() {
                return Err(format!("the body has {} bytes: leave out Content-Length", body.len()));
            }
            read.push((name.to_owned(), value.to_owned()));
        }
        Ok(Request { method: method.to_owned(), headers: read, body })
    }

    /// Whether the response has no body.
    pub(crate) fn bodiless(&self) -> bool {
        self.method == "HEAD"
    }

    /// The bytes of the request; `last` adds `Connection: close`.
    pub(crate) fn bytes(&self, target: &LoadTarget, last: bool) -> Arc<[u8]> {
        let mut text = format!("{} {} HTTP/1.1\r\n", self.method, target.path());
        let has =
            |wanted: &str| self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(wanted));
        if !has("host") {
            text.push_str(&format!("Host: {}\r\n", target.authority()));
        }
        for (name, value) in &self.headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        let expected = matches!(self.method.as_str(), "POST" | "PUT" | "PATCH");
        if !has("content-length") && (expected || !self.body.is_empty()) {
            text.push_str(&format!("Content-Length: {}\r\n", self.body.len()));
        }
        if last {
            text.push_str("Connection: close\r\n");
        }
        text.push_str("\r\n");
        [text.as_bytes(), &self.body].concat().into()
    }
}

/// A token of RFC 9110 section 5.6.2.
fn is_token(text: &str) -> bool {
    let one = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(one)
}

fn is_control(byte: u8) -> bool {
    (byte < b' ' && byte != b'\t') || byte == 0x7f
}

/// The expected length of responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ExpectedLength {
    /// That of the first response.
    #[default]
    Same,
    /// This many bytes.
    Exactly(u64),
    /// Any.
    Any,
}

/// The expected body of responses.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ExpectedBody {
    /// Any.
    #[default]
    Any,
    /// That of the first response.
    Same,
    /// These bytes.
    Exactly(Vec<u8>),
}

/// The expected response.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Expected {
    /// The status; `None`: any from 200 to 299.
    pub status: Option<u16>,
    /// The length of the body.
    pub length: ExpectedLength,
    /// The body.
    pub body: ExpectedBody,
}

#[allow(clippy::unwrap_used)]
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_written_with_what_it_lacks() {
        let target = LoadTarget::parse("http://h:81/a?b").unwrap();
        let get = Request::new("GET", &["Accept:text/html".to_owned()], Vec::new()).unwrap();
        let text = get.bytes(&target, true);
        assert_eq!(
            String::from_utf8_lossy(&text),
            "GET /a?b HTTP/1.1\r\nHost: h:81\r\nAccept: text/html\r\nConnection: close\r\n\r\n"
        );
        let put = Request::new("PUT", &["host: x".to_owned()], b"abc".to_vec()).unwrap();
        let text = put.bytes(&target, false);
        assert_eq!(
            String::from_utf8_lossy(&text),
            "PUT /a?b HTTP/1.1\r\nhost: x\r\nContent-Length: 3\r\n\r\nabc"
        );
    }

    #[test]
    fn no_header_can_smuggle_another() {
        for line in ["A: b\r\nC: d", "no colon", "na me: x", ": x", "Connection: close"] {
            assert!(Request::new("GET", &[line.to_owned()], Vec::new()).is_err(), "{line}");
        }
        assert!(Request::new("GE T", &[], Vec::new()).is_err());
    }

    #[test]
    fn what_is_not_possible_is_refused() {
        let with = |change: fn(&mut Load)| {
            let mut load = Load::default();
            change(&mut load);
            load.checked()
        };
        assert!(with(|_| ()).is_ok());
        assert!(with(|load| load.connections = 0).is_err());
        assert!(with(|load| load.threads = 65).is_err());
        assert!(with(|load| load.pace = Pace::Rate(f64::NAN)).is_err());
        assert!(with(|load| load.pace = Pace::Rate(0.0)).is_err());
        assert!(with(|load| load.span = LoadSpan::Requests(0)).is_err());
        assert!(with(|load| load.timeout = Duration::ZERO).is_err());
    }
}
