//! Options of a server: its address, and every limit with its default.

use crate::network::certificates::client::ClientAuthority;
use crate::network::server_tls::Certificate;
use crate::network::unix_socket::UnixAddress;
use crate::protocol::encoding::ContentEncoding;
use crate::server::observer::Observer;
use crate::server::request::forwarded::TrustedProxy;
use std::net::{Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::time::Duration;

/// Options of a server.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// The listening address; port 0 takes a free one. Default `127.0.0.1:51001`.
    pub address: SocketAddr,
    /// A Unix socket to listen on instead. Default none.
    pub socket: Option<UnixAddress>,
    /// The name by which the server is announced on the local network, such as `defiant` for
    /// `defiant.local`. Default none. Who serves announces it, by [`crate::announce`].
    pub advertise: Option<String>,
    /// The certificate for TLS. Default none: plain HTTP.
    pub certificate: Option<Certificate>,
    /// The certificates of clients (mutual TLS), which need a certificate of the server. Default
    /// none.
    pub client_authority: Option<ClientAuthority>,
    /// Speak HTTP/2 with clients that choose it. Default on.
    pub http2: bool,
    /// Busy polling: how long the event loop polls for the next request before it sleeps. Saves the
    /// wake-up latency, and keeps a core busy meanwhile. Default zero: off.
    pub spin: Duration,
    /// The limits of clients.
    pub limits: Limits,
    /// The observer of connections and requests. Default none.
    pub observer: Option<Rc<dyn Observer>>,
}

impl Default for ServerOptions {
    fn default() -> Self {
        ServerOptions {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, DEFAULT_PORT)),
            socket: None,
            advertise: None,
            certificate: None,
            client_authority: None,
            http2: true,
            limits: Limits::default(),
            observer: None,
            spin: Duration::ZERO,
        }
    }
}

/// The default port: that of Objective-S.
pub const DEFAULT_PORT: u16 = 51001;

/// The limits of a server. A client that exceeds one gets the status named here; the connection
/// closes where the rest of the request is untrusted or unwanted.
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
    /// Header timeout: from the first byte of a request (on a new connection: from its start) to
    /// the end of its header section; slower is 408. Default 10 s.
    pub header_time: Duration,
    /// Idle timeout between two pieces of a request body; slower is 408. Default 30 s.
    pub body_idle: Duration,
    /// The minimum rate of a request body, in bytes a second: beyond the first `body_idle`, waiting
    /// for the client may not take longer than its bytes take at this rate; slower is 408. Time in
    /// which the server itself does not read does not count. Default 240, as in Kestrel.
    pub body_rate: u32,
    /// Keep-alive timeout: how long a connection may stay open without a request. Default 75 s.
    pub keep_alive: Duration,
    /// The keep-alive timeout while the server drains. Default 1 s.
    pub drain_time: Duration,
    /// The drain timeout: how long a stopping server waits for active requests before it closes
    /// their connections. Default 10 s.
    pub stop_time: Duration,
    /// Request timeout: from the complete request to the head of its response; slower is 504. While
    /// the store still reads the body, the time has not started; each 32 MiB of it add a second.
    /// Default 30 s.
    pub request_time: Duration,
    /// Write timeout: how long a client may accept no output before the connection closes. Default
    /// 60 s.
    pub write_idle: Duration,
    /// The most requests of one connection; the last response closes it. Default 1,000,000.
    pub requests: u32,
    /// The most concurrent requests of one HTTP/2 connection; the client queues others. Default
    /// 100.
    pub streams: u32,
    /// The smallest response that is compressed, in bytes, for compressible types and clients that
    /// accept an encoding; [`u64::MAX`] for never. Default 1 KiB.
    pub min_compress_size: u64,
    /// The encodings of compressed responses, the preferred one first; none: never compress.
    /// Default all.
    pub encodings: Vec<ContentEncoding>,
    /// Send early hints (103) to browsers over HTTP/1.1. Default off.
    pub early_hints: bool,
    /// The largest WebSocket message, in bytes; more closes it with 1009. Default 1 MiB.
    pub message: usize,
    /// Compress WebSocket messages for clients that offer `permessage-deflate` (RFC 7692). Default
    /// off.
    pub compress_messages: bool,
    /// Send text and numbers without a media type as `text/html` instead of `text/plain`: for
    /// programs that write HTML as text and escape it themselves. Default off.
    pub html_text: bool,
    /// Access control: hosts, origins and proxies.
    pub access: AccessPolicy,
    /// The most open connections. Beyond that an idle one of the client with the most connections
    /// is closed for a new one; without an idle one, new ones wait in the system's queue. Default
    /// 10,000.
    pub connections: usize,
    /// The most open connections of one client address (IPv6: of one /64 network); others close
    /// unread. Behind a trusted proxy the client is that of the first request, which is 429.
    /// Default none.
    pub client_connections: Option<usize>,
}

/// Access control of a server: its hosts, allowed origins and trusted proxies.
#[derive(Clone, Debug, Default)]
pub struct AccessPolicy {
    /// The hosts that are served, without ports: names, addresses, `*.a.example` for all below a
    /// name, `*` for any; others are 421. Default none: on a loopback address without TLS, `advertise`
    /// and trusted proxies the names of this machine and addresses, elsewhere any.
    pub allowed_hosts: Vec<String>,
    /// The origins whose pages may read responses (`https://a.example`), or `*` for any. Default
    /// none.
    pub allowed_origins: Vec<String>,
    /// Pages of named origins, not of those that only `*` covers, may send cookies. Default off.
    pub allow_credentials: bool,
    /// The trusted proxies: their `X-Forwarded-For` and the like count. When any are named, these
    /// fields of all other clients are removed. Default none.
    pub trusted_proxies: Vec<TrustedProxy>,
    /// Clients may list any store, and not only handlers and files that say so. Default off.
    pub listing: bool,
    /// Every connection is of a trusted proxy, and begins with a header of the PROXY protocol;
    /// others are closed. Default off.
    pub proxy_protocol: bool,
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
            early_hints: false,
            message: 1024 * 1024,
            compress_messages: false,
            access: AccessPolicy::default(),
            min_compress_size: 1024,
            encodings: ContentEncoding::ALL.into(),
            html_text: false,
            connections: 10_000,
            client_connections: None,
        }
    }
}

/// The number of header fields that are parsed without an allocation.
pub(crate) const DEFAULT_HEADER_FIELDS: usize = 100;
