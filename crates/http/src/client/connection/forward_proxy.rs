//! Forward proxies: tunnels for `https` (RFC 9110 section 9.3.6), requests in absolute form for `http` (RFC 9112
//! section 3.2.2).

use crate::client::failure::RoundTripFailure;
use hyper::Uri;
use runnel_store::{Error, Kind, Result, json};
use std::fmt;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The longest answer of a proxy to a request for a tunnel, in bytes.
const LONGEST_ANSWER: usize = 16 * 1024;
/// The port of a proxy that names none.
const PORT: u16 = 3128;

/// A proxy through which all requests of a client go.
#[derive(Clone, PartialEq, Eq)]
pub struct ForwardProxy {
    pub(crate) host: String,
    pub(crate) port: u16,
    /// The value of `Proxy-Authorization`.
    pub(crate) authorization: Option<String>,
}

impl fmt::Debug for ForwardProxy {
    /// Without the credentials.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "http://{}:{}", self.host, self.port)
    }
}

impl ForwardProxy {
    /// A proxy by its address, such as `http://user:password@proxy.example:3128`.
    ///
    /// # Errors
    /// It is no such address.
    pub fn parse(address: &str) -> Result<ForwardProxy> {
        // The address may hold a password: it is not shown.
        let wrong = || Error::new(Kind::Invalid, "a proxy is an address such as http://proxy:3128");
        let uri: Uri = address.parse().map_err(|_| wrong())?;
        let is_whole =
            uri.scheme_str() == Some("http") && uri.path() == "/" && uri.query().is_none();
        let host = uri.host().filter(|host| is_whole && !host.is_empty()).ok_or_else(wrong)?;
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let authority = uri.authority().map_or("", |authority| authority.as_str());
        let authorization = match authority.rsplit_once('@') {
            None => None,
            Some((credentials, _)) => {
                let plain = percent_encoding::percent_decode_str(credentials);
                let mut encoded = Vec::new();
                json::write_bytes(&plain.collect::<Vec<u8>>(), &mut encoded);
                let text = String::from_utf8_lossy(&encoded).into_owned();
                Some(format!("Basic {}", text.trim_matches('"')))
            }
        };
        let port = uri.port_u16().unwrap_or(PORT);
        Ok(ForwardProxy { host: host.to_string(), port, authorization })
    }

    /// Asks for a tunnel to a host on a new connection to the proxy.
    ///
    /// # Errors
    /// The proxy refuses, or speaks no HTTP.
    pub(crate) async fn tunnel(
        &self,
        stream: &mut TcpStream,
        host: &str,
        port: u16,
    ) -> std::result::Result<(), RoundTripFailure> {
        let mut request = format!("CONNECT {host}:{port} HTTP/1.1\r\nhost: {host}:{port}\r\n");
        if let Some(authorization) = &self.authorization {
            request.extend(["proxy-authorization: ", authorization, "\r\n"]);
        }
        request.push_str("\r\n");
        let broken = |_| RoundTripFailure::Proxy("closed the connection".to_string());
        stream.write_all(request.as_bytes()).await.map_err(broken)?;
        let mut answer = Vec::new();
        while !answer.ends_with(b"\r\n\r\n") {
            // One byte after the other: what follows the head belongs to the tunnel.
            let byte = stream.read_u8().await.map_err(broken)?;
            answer.push(byte);
            if answer.len() > LONGEST_ANSWER {
                return Err(RoundTripFailure::Proxy("does not speak HTTP".to_string()));
            }
        }
        let mut head = httparse::Response::new(&mut []);
        let mut fields = [const { std::mem::MaybeUninit::uninit() }; 100];
        let parsed = httparse::ParserConfig::default().parse_response_with_uninit_headers(
            &mut head,
            &answer,
            &mut fields,
        );
        match (parsed, head.code) {
            (Ok(_), Some(200..=299)) => Ok(()),
            (Ok(_), Some(status)) => Err(RoundTripFailure::Proxy(format!("answered {status}"))),
            _ => Err(RoundTripFailure::Proxy("does not speak HTTP".to_string())),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_proxies() {
        let proxy = ForwardProxy::parse("http://ada:p%40w@proxy.example").unwrap();
        assert_eq!((proxy.host.as_str(), proxy.port), ("proxy.example", PORT));
        assert_eq!(proxy.authorization.as_deref(), Some("Basic YWRhOnBAdw=="));
        assert_eq!(format!("{proxy:?}"), "http://proxy.example:3128");
        let proxy = ForwardProxy::parse("http://[::1]:80").unwrap();
        assert_eq!((proxy.host.as_str(), proxy.port), ("::1", 80));
        for wrong in ["", "proxy:3128", "https://proxy", "http://", "http://a/b", "socks5://a"] {
            let error = ForwardProxy::parse(wrong).unwrap_err();
            assert_eq!(error.kind, Kind::Invalid, "{wrong}");
        }
    }
}
