//! The options of the client, each with its default.

use std::path::PathBuf;
use std::time::Duration;

/// How the client behaves.
#[derive(Clone)]
pub struct ClientOptions {
    /// From the first attempt to a connection. Default 10 s.
    pub connect_time: Duration,
    /// From the whole request to the head of the answer, the connection included; a deadline of
    /// the context counts when it is earlier. Default 30 s.
    pub answer_time: Duration,
    /// Between two pieces of an answer, but for streams of events. Default 30 s.
    pub body_idle: Duration,
    /// How many redirects are followed. Default 10.
    pub redirects: usize,
    /// Answers up to this size are collected, in bytes; larger ones are streams, so that no
    /// answer is ever held in memory as a whole without the caller asking. Default 1 MiB.
    pub collect: u64,
    /// How many idle connections are kept for each host. Default 1,024.
    pub idle_connections: usize,
    /// How many connections each host gets, idle ones not counted. One is in use until all of its
    /// answer has come. Default 1,024.
    pub connections: usize,
    /// How many requests to a host wait for one of them; more are refused. Default 4,096.
    pub waiting: usize,
    /// How long each of them waits, in the order of asking; a deadline of the context counts when
    /// it is earlier. Default 5 s.
    pub wait: Duration,
    /// A Unix socket that all connections are made to; the host of an address is then only said in
    /// the request. None by default.
    pub socket: Option<PathBuf>,
    /// Headers of every request, such as `Authorization`. One that a redirect to another host
    /// must not see (`Authorization`, `Cookie`, `Proxy-Authorization`) is left out there.
    pub headers: Vec<(String, String)>,
}

impl std::fmt::Debug for ClientOptions {
    /// Of headers only the names: their values may be secret.
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        out.debug_struct("ClientOptions")
            .field("connect_time", &self.connect_time)
            .field("answer_time", &self.answer_time)
            .field("body_idle", &self.body_idle)
            .field("redirects", &self.redirects)
            .field("collect", &self.collect)
            .field("idle_connections", &self.idle_connections)
            .field("connections", &self.connections)
            .field("waiting", &self.waiting)
            .field("wait", &self.wait)
            .field("socket", &self.socket)
            .field("headers", &names)
            .finish()
    }
}

impl Default for ClientOptions {
    fn default() -> Self {
        ClientOptions {
            connect_time: Duration::from_secs(10),
            answer_time: Duration::from_secs(30),
            body_idle: Duration::from_secs(30),
            redirects: 10,
            collect: 1024 * 1024,
            idle_connections: 1024,
            connections: 1024,
            waiting: 4096,
            wait: Duration::from_secs(5),
            socket: None,
            headers: Vec::new(),
        }
    }
}
