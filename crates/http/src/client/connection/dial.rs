//! Opening connections: to the host of a URL or to a Unix socket, with TLS for `https`.

use crate::client::connection::forward_proxy::ForwardProxy;
use crate::client::connection::line::ClientConnection;
use crate::client::failure::RoundTripFailure;
use crate::network::address_class;
use crate::network::client_tls::ClientTls;
use crate::network::multicast_dns::resolve::lookup;
use crate::network::wire::NetworkStream;
use hyper::Uri;
use runnel_store::Counters;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
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
    /// Connect timeout, without the DNS lookup; the TLS handshake has it once more.
    pub(crate) time: Duration,
    /// TLS, or why it cannot be used.
    pub(crate) tls: Result<TlsConnector, String>,
    /// The proxy for all connections.
    pub(crate) proxy: Option<Arc<ForwardProxy>>,
    /// Whether addresses that are not public are connected to.
    pub(crate) private: bool,
}

impl Connector {
    pub(crate) fn new(socket: Option<&Path>, time: Duration) -> Self {
        let tls = ClientTls::usual().map(|tls| tls.connector()).map_err(|error| error.to_string());
        Connector { socket: socket.map(Into::into), time, tls, proxy: None, private: true }
    }

    /// Offers protocols by ALPN (RFC 7301).
    pub(crate) fn offer(&mut self, protocols: &[&[u8]]) {
        if let Ok(tls) = &self.tls {
            let mut config = ClientConfig::clone(tls.config());
            config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
            self.tls = Ok(TlsConnector::from(Arc::new(config)));
        }
    }

    /// Opens a connection for requests to this URL.
    pub(crate) async fn connect(
        &self,
        target: &Uri,
        counters: &Arc<Counters>,
    ) -> Result<ClientConnection, RoundTripFailure> {
        let stream = self.stream(target, false).await?;
        let is_plain = matches!(stream, NetworkStream::Left(_));
        let mut line = ClientConnection::new(stream, counters.clone());
        line.proxy = self.proxy.clone().filter(|_| is_plain && self.socket.is_none());
        Ok(line)
    }

    /// Opens a connection to the host of a URL, with TLS for `https`; `tunnels` asks a proxy for a tunnel also
    /// without TLS.
    pub(crate) async fn stream(
        &self,
        target: &Uri,
        tunnels: bool,
    ) -> Result<NetworkStream, RoundTripFailure> {
        let is_secure = target.scheme_str() == Some("https");
        // IPv6 addresses stand in brackets.
        let host = target.host().unwrap_or_default();
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let port = target.port_u16().unwrap_or(if is_secure { 443 } else { 80 });
        let stream = match (&self.socket, &self.proxy) {
            (Some(path), _) => self.socket(path).await.map_err(RoundTripFailure::Connect)?,
            (None, Some(proxy)) => {
                let tunnel =
                    (is_secure || tunnels).then_some((target.host().unwrap_or_default(), port));
                self.through(proxy, tunnel).await?
            }
            (None, None) => {
                let found = lookup(host, port).await.map_err(RoundTripFailure::Name)?;
                let found = if self.private { found } else { public_of(found)? };
                self.first_of(found).await.map_err(RoundTripFailure::Connect)?
            }
        };
        if !is_secure {
            return Ok(NetworkStream::Left(stream));
        }
        let name = ServerName::try_from(host.to_string()).map_err(|error| {
            RoundTripFailure::Name(io::Error::new(io::ErrorKind::InvalidInput, error))
        })?;
        let broken = |why: &String| RoundTripFailure::Connect(io::Error::other(why.clone()));
        let tls = self.tls.as_ref().map_err(broken)?;
        // A server that accepts and is silent.
        let shaking = tokio::time::timeout(self.time, tls.connect(name, stream)).await;
        let late = |_| RoundTripFailure::Connect(io::ErrorKind::TimedOut.into());
        let secure = shaking.map_err(late)?.map_err(RoundTripFailure::Connect)?;
        Ok(NetworkStream::Right(Box::new(secure.into())))
    }

    /// Connects to the proxy, and through it to a host and port.
    async fn through(
        &self,
        proxy: &ForwardProxy,
        tunnel: Option<(&str, u16)>,
    ) -> Result<TcpStream, RoundTripFailure> {
        let unreached = |error: io::Error| {
            tracing::debug!(%error, "the proxy cannot be reached");
            RoundTripFailure::Proxy("cannot be reached".to_string())
        };
        let found = lookup(&proxy.host, proxy.port).await.map_err(unreached)?;
        let mut stream = self.first_of(found).await.map_err(unreached)?;
        if let Some((host, port)) = tunnel {
            let opening = proxy.tunnel(&mut stream, host, port);
            let opened = tokio::time::timeout(self.time, opening).await;
            opened.unwrap_or_else(|_| {
                Err(RoundTripFailure::Proxy("took too long to connect".to_string()))
            })?;
        }
        Ok(stream)
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

/// The public ones of the addresses of a name: these very addresses are connected to, so a name that means another
/// address a moment later leads nowhere else.
fn public_of(found: Vec<SocketAddr>) -> Result<Vec<SocketAddr>, RoundTripFailure> {
    let Some(first) = found.first().map(SocketAddr::ip) else { return Ok(found) };
    let public: Vec<_> =
        found.into_iter().filter(|one| address_class::not_public(one.ip()).is_none()).collect();
    match address_class::not_public(first) {
        Some(class) if public.is_empty() => Err(RoundTripFailure::NotPublic(class, first)),
        _ => Ok(public),
    }
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
