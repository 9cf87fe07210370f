//! What a server can be told: where it listens, and every limit with its default.

use crate::network::server_tls::Certificate;
use crate::network::unix_socket::UnixAddress;
use crate::server::observer::Observer;
use crate::server::request::forwarded::TrustedProxy;
use std::net::{Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::time::Duration;

/// How a server listens and what it allows.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// Where to listen; port 0 takes any free one. Default `127.0.0.1:51001`.
    pub address: SocketAddr,
    /// A Unix socket to listen on instead. Default none.
    pub socket: Option<UnixAddress>,
    /// The certificate for TLS. Default none: the server speaks HTTP without it.
    pub certificate: Option<Certificate>,
    /// Speak HTTP/2 with clients that ask for it. Default on.
    pub http2: bool,
    /// How long to look for the next request before sleeping. Saves the wake-up of a sleeping
    /// thread where requests follow each other closely, and keeps a core busy meanwhile. Default
    /// zero: never.
    pub spin: Duration,
    /// What a client may do.
    pub limits: Limits,
    /// Who is told of connections and requests. Default nobody.
    pub observer: Option<Rc<dyn Observer>>,
}

impl Default for ServerOptions {
    fn default() -> Self {
        ServerOptions {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, DEFAULT_PORT)),
            socket: None,
            certificate: None,
            http2: true,
            limits: Limits::default(),
            observer: None,
            spin: Duration::ZERO,
        }
    }
}

/// The port that a server listens on when it is not told one: that of Objective-S.
pub const DEFAULT_PORT: u16 = 51001;

/// The limits of a server. A client that exceeds one gets the status named here and, where the
/// rest of its request cannot be trusted or is not wanted, a closed connection.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The request target, in bytes; longer is 414. Default 8 KiB.
    pub target: usize,
    /// All header fields together, in bytes; more is 431. Default 32 KiB.
    pub header_section: usize,
    /// How many header fields; more is 431. Default 100. Another number than the default costs
    /// an allocation for each request.
    pub header_fields: usize,
    /// The body of a request, in bytes; more is 413. Default 16 MiB.
    pub body: u64,
    /// From the first byte of a request (on a new connection: from its start) to the end of its
    /// header section; slower is 408. Default 10 s.
    pub header_time: Duration,
    /// Between two pieces of a request's body; slower is 408. Default 30 s.
    pub body_idle: Duration,
    /// The slowest rate of a body, in bytes a second: beyond the first `body_idle`, waiting for
    /// the client may not take longer than its bytes take at this rate; slower is 408. Time in
    /// which the server itself does not read does not count. Default 240, as in Kestrel.
    pub body_rate: u32,
    /// How long a connection may stay open without a request. Default 75 s.
    pub keep_alive: Duration,
    /// While the server drains: how long a connection may stay open without a request. Default 1 s.
    pub drain_time: Duration,
    /// How long a program waits for requests under way when it stops the server; then they are cut.
    /// Default 10 s.
    pub stop_time: Duration,
    /// From the whole request to the head of its answer; slower is 504. While a body is still
    /// being read by the store, this time has not begun. Default 30 s.
    pub request_time: Duration,
    /// How long a client may refuse to take the bytes that are ready for it before the
    /// connection is cut. Default 60 s.
    pub write_idle: Duration,
    /// RequestService on one connection; the last answer says that it is closed. Default 1,000,000.
    pub requests: u32,
    /// RequestService at a time on one connection of HTTP/2; the client waits with others. Default 100.
    pub streams: u32,
    /// Answers of a type that gets smaller by it are packed for clients that take gzip, from so
    /// many bytes on; [`u64::MAX`] for never. Default 1 KiB.
    pub pack_from: u64,
    /// The largest message of a WebSocket, in bytes; more closes it with 1009. Default 1 MiB.
    pub message: usize,
    /// Messages of a WebSocket are compressed for clients that offer `permessage-deflate` (RFC
    /// 7692). Default off.
    pub compress_messages: bool,
    /// Text and numbers without a media type are sent as `text/html` instead of `text/plain`: for
    /// programs that write their pages as text and escape by themselves. Default off.
    pub html_text: bool,
    /// The hosts that are answered, without ports: names, addresses, `*.a.example` for all below
    /// a name; others are 421. Default none, which means any.
    pub hosts: Vec<String>,
    /// The origins whose pages may read answers (`https://a.example`), or `*` for any. Default none.
    pub origins: Vec<String>,
    /// Pages of the origins that are named, and not only meant by `*`, may send cookies. Default
    /// off.
    pub credentials: bool,
    /// The proxies that are believed what they say of their clients, in `X-Forwarded-For` and the
    /// like. Where some are named, these fields of all others are taken away. Default none.
    pub proxies: Vec<TrustedProxy>,
    /// Connections at a time. Beyond that an idle one of the address that holds the most is closed for
    /// a new one; without any, new ones wait in the system's queue. Default 10,000.
    pub connections: usize,
    /// Connections at a time of one address (of IPv6: of one /64 network); others are closed unread.
    /// Behind a trusted proxy the address is that of the client in the first request, which is 429.
    /// Default none.
    pub client_connections: Option<usize>,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            target: 8 * 1024,
            header_section: 32 * 1024,
            header_fields: DEFAULT_HEADER_FIELDS,
            body: 16 * 1024 * 1024,
            header_time: Duration::from_secs(10),
            body_idle: Duration::from_secs(30),
            body_rate: 240,
            keep_alive: Duration::from_secs(75),
            drain_time: Duration::from_secs(1),
            stop_time: Duration::from_secs(10),
            request_time: Duration::from_secs(30),
            write_idle: Duration::from_secs(60),
            requests: 1_000_000,
            streams: 100,
            message: 1024 * 1024,
            compress_messages: false,
            hosts: Vec::new(),
            origins: Vec::new(),
            credentials: false,
            proxies: Vec::new(),
            pack_from: 1024,
            html_text: false,
            connections: 10_000,
            client_connections: None,
        }
    }
}

/// The number of header fields that are parsed without an allocation.
pub(crate) const DEFAULT_HEADER_FIELDS: usize = 100;
