//! The hosts of a client: connection pool, slots and counters of each.

use crate::client::connection::dial::Connector;
use crate::client::connection::line::ClientConnection;
use crate::client::connection::pool::IdleConnections;
use crate::client::connection::request_head::{OutgoingHead, RequestHead};
use crate::client::connection::response_head::{ReceivedHead, ResponseHead};
use crate::client::connection::round_trip::RoundTrip;
use crate::client::failure::{BoxedError, RoundTripFailure};
use bytes::Bytes;
use hyper::Uri;
use hyper::body::Body;
use hyper::http::uri::{Authority, Scheme};
use runnel_store::{Counters, SlotLimits, Slots};
use std::collections::HashMap;
use std::future::poll_fn;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;

/// The most remembered hosts. Beyond, hosts without requests are evicted; the next request starts
/// anew.
const REMEMBERED: usize = 1024;

/// The kind of these counters in metrics.
const KIND: &str = "http";

/// All hosts of a client.
pub(crate) struct Hosts {
    limits: SlotLimits,
    /// The most idle connections of each host.
    idle: usize,
    /// The Unix socket for all connections, whatever the host.
    socket: Option<Arc<Host>>,
    /// By authority: without TLS, and with TLS.
    hosts: Mutex<[HashMap<Authority, Arc<Host>>; 2]>,
}

/// One host.
pub(crate) struct Host {
    pub(crate) slots: Arc<Slots>,
    pub(crate) counters: Arc<Counters>,
    pool: Arc<IdleConnections>,
}

impl Host {
    pub(crate) fn new(limits: SlotLimits, idle: usize, place: &str) -> Arc<Self> {
        let counters = Counters::of(KIND, place);
        let slots = Slots::new(limits, counters.clone());
        Arc::new(Host { slots, counters, pool: IdleConnections::new(idle) })
    }

    /// Keeps a connection for the next request.
    pub(crate) fn keep(&self, line: ClientConnection) {
        self.pool.put(line);
    }

    /// Sends a request on an idle or new connection and waits for the head of the response. The
    /// caller drives both bodies; dropping the future or the response cancels the request.
    ///
    /// # Errors
    /// There was no response.
    pub(crate) async fn send<B>(
        &self,
        dial: &Connector,
        head: RequestHead<'_>,
        body: B,
        is_sent: &AtomicBool,
    ) -> Result<(ReceivedHead, Box<RoundTrip<B>>), RoundTripFailure>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<BoxedError>,
    {
        let line = match self.idle_line().await {
            Some(line) => line,
            None => dial.connect(head.target, &self.counters).await?,
        };
        is_sent.store(true, Ordering::Relaxed);
        let mut trip = self.round_trip(line, &head, body);
        let answer = poll_fn(|context| trip.poll_head(context)).await?;
        Ok((answer, trip))
    }
}

impl Host {
    /// An idle connection.
    pub(crate) async fn idle_line(&self) -> Option<ClientConnection> {
        poll_fn(|context| Poll::Ready(self.pool.take(context))).await
    }

    /// Starts a request on a connection, which returns to the pool at its end.
    pub(crate) fn round_trip<B, H>(
        &self,
        line: ClientConnection,
        head: &impl OutgoingHead,
        body: B,
    ) -> Box<RoundTrip<B, H>>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<BoxedError>,
        H: ResponseHead,
    {
        Box::new(RoundTrip::new(line, self.pool.clone(), head, body))
    }
}

impl Hosts {
    pub(crate) fn new(limits: SlotLimits, idle: usize, socket: Option<&Path>) -> Self {
        let socket = socket.map(|path| Host::new(limits, idle, &path.display().to_string()));
        Hosts { limits, idle, socket, hosts: Mutex::default() }
    }

    /// The host of a URL; `None` when it names none.
    pub(crate) fn of(&self, target: &Uri) -> Option<Arc<Host>> {
        if let Some(socket) = &self.socket {
            return Some(socket.clone());
        }
        let authority = target.authority()?;
        let is_secure = target.scheme() == Some(&Scheme::HTTPS);
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        let hosts = &mut hosts[usize::from(is_secure)];
        if let Some(known) = hosts.get(authority) {
            return Some(known.clone());
        }
        if hosts.len() >= REMEMBERED {
            hosts.retain(|_, host| !host.slots.is_idle());
        }
        let made = Host::new(self.limits, self.idle, &host_and_port(authority));
        hosts.insert(authority.clone(), made.clone());
        Some(made)
    }
}

/// The host and port, without credentials.
fn host_and_port(authority: &Authority) -> String {
    match authority.port() {
        Some(port) => format!("{}:{port}", authority.host()),
        None => authority.host().to_string(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use http_body_util::Full;
    use hyper::{HeaderMap, Method};
    use runnel_store::{Count, Level};
    use rustls::pki_types::PrivateKeyDer;
    use rustls::{ClientConfig, RootCertStore};
    use std::net::SocketAddr;
    use std::time::Duration;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;
    use tokio_rustls::TlsConnector;

    const LONG: Duration = Duration::from_secs(20);

    const LIMITS: SlotLimits = SlotLimits { slots: 1, waiting: 1, wait: Duration::ZERO };

    fn at(text: &str) -> Uri {
        text.parse().unwrap()
    }

    /// One test, since the hosts that the second part makes use up the places of counters.
    #[tokio::test]
    async fn each_host_has_its_own_until_it_is_forgotten() {
        each_host_has_its_own().await;
        hosts_that_nobody_talks_to_are_forgotten().await;
    }

    async fn each_host_has_its_own() {
        let hosts = Hosts::new(LIMITS, 1, None);
        let first = hosts.of(&at("http://me:secret@a.example:81/x")).unwrap();
        assert_eq!(first.counters.place, "a.example:81");
        let _held = first.slots.take(None).await.unwrap();
        assert!(hosts.of(&at("http://me:secret@a.example:81/y")).unwrap().slots.is_full());
        assert!(!hosts.of(&at("https://me:secret@a.example:81/y")).unwrap().slots.is_full());
        assert!(!hosts.of(&at("http://b.example")).unwrap().slots.is_full());
        let socket = Hosts::new(LIMITS, 1, Some(Path::new("/run/x.sock")));
        assert_eq!(socket.of(&at("http://b.example")).unwrap().counters.place, "/run/x.sock");
    }

    async fn hosts_that_nobody_talks_to_are_forgotten() {
        let hosts = Hosts::new(LIMITS, 1, None);
        let first = hosts.of(&at("http://first.example/")).unwrap();
        let _held = first.slots.take(None).await.unwrap();
        for number in 0..3 * REMEMBERED {
            hosts.of(&at(&format!("http://h{number}.example/"))).unwrap();
        }
        assert!(hosts.hosts.lock().unwrap()[0].len() <= REMEMBERED + 1);
        assert!(hosts.of(&at("http://first.example/")).unwrap().slots.is_full());
    }

    /// A TLS server that closes each connection cleanly after `requests` requests, and a connector
    /// that trusts it.
    async fn secure_server(requests: usize) -> (SocketAddr, TlsConnector) {
        let made = rcgen::generate_simple_self_signed(["localhost".to_string()]).unwrap();
        let certificate = made.cert.der().clone();
        let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let server = rustls::ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.clone()], key)
            .unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(certificate).unwrap();
        let client = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(server));
        tokio::task::spawn_local(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let mut stream = acceptor.accept(stream).await.unwrap();
                for _ in 0..requests {
                    assert!(stream.read(&mut [0; 4096]).await.unwrap() > 0);
                    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
                    stream.write_all(answer).await.unwrap();
                    stream.flush().await.unwrap();
                }
                stream.shutdown().await.unwrap();
                // The client sends close_notify, too.
                assert_eq!(stream.read(&mut [0; 4096]).await.unwrap(), 0);
            }
        });
        (address, TlsConnector::from(Arc::new(client)))
    }

    #[tokio::test]
    async fn secure_connections_are_used_again_and_end_in_order() {
        tokio::task::LocalSet::new().run_until(talk_securely()).await;
    }

    async fn talk_securely() {
        let (address, tls) = secure_server(3).await;
        let dial = Connector { tls: Ok(tls), ..Connector::new(None, LONG) };
        let limits = SlotLimits { slots: 1, waiting: 0, wait: LONG };
        let hosts = Hosts::new(limits, 1, None);
        let target: Uri = format!("https://localhost:{}/x", address.port()).parse().unwrap();
        let host = hosts.of(&target).unwrap();
        let headers = HeaderMap::new();
        for count in 0..6 {
            let (method, media_type) = (&Method::PUT, None);
            let head = RequestHead { method, target: &target, headers: &headers, media_type };
            let (body, is_sent) = (Full::new(Bytes::from_static(b"abc")), AtomicBool::default());
            let sent = host.send(&dial, head, body, &is_sent);
            let (head, mut trip) = tokio::time::timeout(LONG, sent).await.unwrap().unwrap();
            assert_eq!(head.status.as_u16(), 200, "{count}");
            let piece = poll_fn(|context| trip.poll_piece(context)).await;
            assert_eq!(piece.unwrap().unwrap(), "hello");
            assert!(trip.is_over());
            if count % 3 == 2 {
                while host.counters.level(Level::Open) > 0 {
                    tokio::time::sleep(Duration::from_millis(2)).await;
                }
            }
        }
        assert_eq!(host.counters.count(Count::Opened), 2);
    }
}
