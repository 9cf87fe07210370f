//! The options of the client, each with its default.

use crate::client::connection::forward_proxy::ForwardProxy;
use crate::network::client_tls::ClientTls;
use std::path::PathBuf;
use std::time::Duration;

/// Options of the client.
#[derive(Clone)]
pub struct ClientOptions {
    /// Connect timeout, over all addresses of the host. Default 10 s.
    pub connect_time: Duration,
    /// Timeout from the end of the request to the head of the response, connecting included; an
    /// earlier deadline of the context wins. Default 30 s.
    pub answer_time: Duration,
    /// Idle timeout between two pieces of a response body; event streams have none. Default 30 s.
    pub body_idle: Duration,
    /// The most consecutive redirects. Default 10.
    pub redirects: usize,
    /// Size up to which responses are collected, in bytes; larger ones are streams, so that no
    /// large response is held in memory unasked. Default 1 MiB.
    pub collect: u64,
    /// The most idle connections of each host. Default 1,024.
    pub idle_connections: usize,
    /// The most connections of each host in use. A connection is in use until its response is
    /// complete. Default 1,024.
    pub connections: usize,
    /// The most requests to a host that wait for a connection; more are refused. Default 4,096.
    pub waiting: usize,
    /// The longest wait for a connection, in FIFO order; an earlier deadline of the context wins.
    /// Default 5 s.
    pub wait: Duration,
    /// A Unix socket for all connections; the host of a URL then only appears in the request.
    /// Default none.
    pub socket: Option<PathBuf>,
    /// Whom the client trusts, and its own certificate. Default: the authorities that Mozilla trusts.
    pub tls: Option<ClientTls>,
    /// Whether servers with TLS may choose HTTP/2. Default true.
    pub http2: bool,
    /// Whether cookies of responses are kept, and sent to the host that set them. Default false.
    pub cookies: bool,
    /// The proxy for all connections. Default none.
    pub proxy: Option<ForwardProxy>,
    /// Whether addresses that are not public can be connected to, after each resolution of a name. Default
    /// true. False excludes a socket and a proxy, behind which no address is seen.
    pub private: bool,
    /// Headers of every request, such as `Authorization`. A redirect to another origin removes all but
    /// those of negotiation, conditions and ranges.
    pub headers: Vec<(String, String)>,
}

impl std::fmt::Debug for ClientOptions {
    /// Shows only the names of headers: their values may be secret.
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
            .field("http2", &self.http2)
            .field("cookies", &self.cookies)
            .field("proxy", &self.proxy)
            .field("private", &self.private)
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
            tls: None,
            http2: true,
            cookies: false,
            proxy: None,
            private: true,
            headers: Vec::new(),
        }
    }
}
