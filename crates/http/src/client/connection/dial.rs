//! Making connections: to the host of an address, or to a Unix socket whatever the host; with TLS
//! where the address says so.

use crate::client::connection::line::Line;
use crate::client::failure::Failure;
use crate::network::wire::Wire;
use hyper::Uri;
use runnel_store::Counters;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::TlsConnector;

/// How long the addresses of the kind that was named first (IPv6, or IPv4) are tried alone, before
/// those of the other kind are tried beside them (RFC 8305 section 5).
const HEAD_START: Duration = Duration::from_millis(250);

/// Makes connections.
pub(crate) struct Dial {
    /// The one socket that all lead to.
    socket: Option<Arc<Path>>,
    /// How long connecting may take, without looking the name up.
    time: Duration,
    tls: Result<TlsConnector, rustls::Error>,
}

impl Dial {
    pub(crate) fn new(socket: Option<&Path>, time: Duration) -> Self {
        Dial { socket: socket.map(Into::into), time, tls: trusting() }
    }

    /// A new connection for requests to this address.
    pub(crate) async fn connect(
        &self,
        target: &Uri,
        counters: &Arc<Counters>,
    ) -> Result<Line, Failure> {
        let is_secure = target.scheme_str() == Some("https");
        // Brackets stand around addresses of IPv6.
        let host = target.host().unwrap_or_default();
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let stream = match &self.socket {
            Some(path) => self.socket(path).await.map_err(Failure::Connect)?,
            None => {
                let port = target.port_u16().unwrap_or(if is_secure { 443 } else { 80 });
                let found = tokio::net::lookup_host((host, port)).await.map_err(Failure::Name)?;
                self.first_of(found.collect()).await.map_err(Failure::Connect)?
            }
        };
        if !is_secure {
            return Ok(Line::new(Wire::Plain(stream), counters.clone()));
        }
        let name = ServerName::try_from(host.to_string())
            .map_err(|error| Failure::Name(io::Error::new(io::ErrorKind::InvalidInput, error)))?;
        let broken = |error: &rustls::Error| Failure::Connect(io::Error::other(error.clone()));
        let tls = self.tls.as_ref().map_err(broken)?;
        let secure = tls.connect(name, stream).await.map_err(Failure::Connect)?;
        Ok(Line::new(Wire::Secure(Box::new(secure.into())), counters.clone()))
    }

    async fn socket(&self, path: &Path) -> io::Result<TcpStream> {
        let connecting = tokio::time::timeout(self.time, UnixStream::connect(path));
        let stream = connecting.await.map_err(|_| io::ErrorKind::TimedOut)??;
        TcpStream::from_std(crate::network::unix_socket::connection(stream.into_std()?))
    }

    /// A connection to the first address that takes one.
    async fn first_of(&self, addresses: Vec<SocketAddr>) -> io::Result<TcpStream> {
        let is_v6 = addresses.first().is_some_and(SocketAddr::is_ipv6);
        let (first, second): (Vec<_>, Vec<_>) =
            addresses.into_iter().partition(|address| address.is_ipv6() == is_v6);
        if second.is_empty() {
            return self.one_of(&first).await;
        }
        let mut preferred = pin!(self.one_of(&first));
        if let Ok(done) = tokio::time::timeout(HEAD_START, preferred.as_mut()).await {
            return match done {
                Ok(stream) => Ok(stream),
                Err(_) => self.one_of(&second).await,
            };
        }
        let mut other = pin!(self.one_of(&second));
        tokio::select! {
            done = preferred.as_mut() => match done {
                Ok(stream) => Ok(stream),
                Err(_) => other.await,
            },
            done = other.as_mut() => match done {
                Ok(stream) => Ok(stream),
                Err(_) => preferred.await,
            },
        }
    }

    /// Tries one after the other. All together take no longer than connecting may.
    async fn one_of(&self, addresses: &[SocketAddr]) -> io::Result<TcpStream> {
        let each = self.time / u32::try_from(addresses.len()).unwrap_or(u32::MAX).max(1);
        let mut last = io::ErrorKind::AddrNotAvailable.into();
        for address in addresses {
            match tokio::time::timeout(each, TcpStream::connect(address)).await {
                Ok(Ok(stream)) => {
                    // Without it small requests are only slower.
                    let _ = stream.set_nodelay(true);
                    return Ok(stream);
                }
                Ok(Err(error)) => last = error,
                Err(_) => last = io::ErrorKind::TimedOut.into(),
            }
        }
        Err(last)
    }
}

/// TLS that verifies certificates, against the roots that Mozilla trusts.
fn trusting() -> Result<TlsConnector, rustls::Error> {
    let roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::client::connection::request_head::RequestHead;
    use crate::client::hosts::Hosts;
    use http_body_util::Full;
    use hyper::body::Bytes;
    use hyper::{HeaderMap, Method};
    use runnel_store::{Level, SlotLimits};
    use rustls::pki_types::PrivateKeyDer;
    use std::future::poll_fn;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    const LONG: Duration = Duration::from_secs(20);

    /// A server that answers so many requests of each connection and then ends it in order, and
    /// what trusts it.
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
                // The other side says in order that it is over, too.
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
        let dial = Dial { tls: Ok(tls), ..Dial::new(None, LONG) };
        let limits = SlotLimits { slots: 1, waiting: 0, wait: LONG };
        let hosts = Hosts::new(limits, 1, None);
        let target: Uri = format!("https://localhost:{}/x", address.port()).parse().unwrap();
        let host = hosts.of(&target).unwrap();
        let headers = HeaderMap::new();
        for count in 0..6 {
            let (method, media_type) = (&Method::PUT, None);
            let head = RequestHead { method, target: &target, headers: &headers, media_type };
            let sent = host.send(&dial, head, Full::new(Bytes::from_static(b"abc")));
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
        assert_eq!(host.counters.count(runnel_store::Count::Opened), 2);
    }

    #[tokio::test]
    async fn the_addresses_of_both_kinds_are_tried() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let here = listener.local_addr().unwrap();
        let closed = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let nobody = closed.local_addr().unwrap();
        drop(closed);
        let other_kind: SocketAddr = format!("[::1]:{}", nobody.port()).parse().unwrap();
        let dial = Dial::new(None, LONG);
        for addresses in [
            vec![nobody, here],
            vec![other_kind, here],
            vec![here, other_kind],
            vec![nobody, other_kind, here],
        ] {
            dial.first_of(addresses).await.unwrap();
        }
        assert!(dial.first_of(vec![nobody, other_kind]).await.is_err());
        assert!(dial.first_of(Vec::new()).await.is_err());
    }
}
