//! Opening connections: to the host of a URL or to a Unix socket, with TLS for `https`.

use crate::client::connection::line::ClientConnection;
use crate::client::failure::RoundTripFailure;
use crate::network::multicast_dns::resolve::lookup;
use crate::network::wire::NetworkStream;
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

/// Head start of the address family that DNS lists first, before the other family is tried in
/// parallel (RFC 8305 section 5).
const HEAD_START: Duration = Duration::from_millis(250);

/// Opens connections.
pub(crate) struct Connector {
    /// The Unix socket for all connections.
    pub(crate) socket: Option<Arc<Path>>,
    /// Connect timeout, without the DNS lookup.
    pub(crate) time: Duration,
    pub(crate) tls: Result<TlsConnector, rustls::Error>,
}

impl Connector {
    pub(crate) fn new(socket: Option<&Path>, time: Duration) -> Self {
        Connector { socket: socket.map(Into::into), time, tls: trusting() }
    }

    /// Opens a connection for requests to this URL.
    pub(crate) async fn connect(
        &self,
        target: &Uri,
        counters: &Arc<Counters>,
    ) -> Result<ClientConnection, RoundTripFailure> {
        let is_secure = target.scheme_str() == Some("https");
        // IPv6 addresses stand in brackets.
        let host = target.host().unwrap_or_default();
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let stream = match &self.socket {
            Some(path) => self.socket(path).await.map_err(RoundTripFailure::Connect)?,
            None => {
                let port = target.port_u16().unwrap_or(if is_secure { 443 } else { 80 });
                let found = lookup(host, port).await.map_err(RoundTripFailure::Name)?;
                self.first_of(found).await.map_err(RoundTripFailure::Connect)?
            }
        };
        if !is_secure {
            return Ok(ClientConnection::new(NetworkStream::Left(stream), counters.clone()));
        }
        let name = ServerName::try_from(host.to_string()).map_err(|error| {
            RoundTripFailure::Name(io::Error::new(io::ErrorKind::InvalidInput, error))
        })?;
        let broken =
            |error: &rustls::Error| RoundTripFailure::Connect(io::Error::other(error.clone()));
        let tls = self.tls.as_ref().map_err(broken)?;
        let secure = tls.connect(name, stream).await.map_err(RoundTripFailure::Connect)?;
        Ok(ClientConnection::new(NetworkStream::Right(Box::new(secure.into())), counters.clone()))
    }

    async fn socket(&self, path: &Path) -> io::Result<TcpStream> {
        let connecting = tokio::time::timeout(self.time, UnixStream::connect(path));
        let stream = connecting.await.map_err(|_| io::ErrorKind::TimedOut)??;
        TcpStream::from_std(crate::network::unix_socket::connection(stream.into_std()?))
    }

    /// Connects to the first address that accepts: both address families race (Happy Eyeballs).
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

    /// Tries the addresses in turn, within the connect timeout for all of them.
    async fn one_of(&self, addresses: &[SocketAddr]) -> io::Result<TcpStream> {
        let each = self.time / u32::try_from(addresses.len()).unwrap_or(u32::MAX).max(1);
        let mut last = io::ErrorKind::AddrNotAvailable.into();
        for address in addresses {
            match tokio::time::timeout(each, TcpStream::connect(address)).await {
                Ok(Ok(stream)) => {
                    // Without TCP_NODELAY small requests are only slower.
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

/// A TLS client that verifies certificates against Mozilla's root certificates.
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
    use tokio::net::TcpListener;

    const LONG: Duration = Duration::from_secs(20);

    #[tokio::test]
    async fn the_addresses_of_both_kinds_are_tried() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let here = listener.local_addr().unwrap();
        let closed = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let nobody = closed.local_addr().unwrap();
        drop(closed);
        let other_kind: SocketAddr = format!("[::1]:{}", nobody.port()).parse().unwrap();
        let dial = Connector::new(None, LONG);
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
