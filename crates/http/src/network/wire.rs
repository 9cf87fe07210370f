//! The transport of a connection: a TCP socket, plain or with TLS.

use rustls::pki_types::CertificateDer;
use tokio::net::TcpStream;
use tokio_rustls::TlsStream;
use tokio_util::either::Either;

/// The bytes of one connection, with a client or with a server: plain on the left, TLS on the right.
pub(crate) type NetworkStream = Either<TcpStream, Box<TlsStream<TcpStream>>>;

/// The TCP socket below.
pub(crate) fn tcp_stream(stream: &NetworkStream) -> &TcpStream {
    match stream {
        Either::Left(plain) => plain,
        Either::Right(tls) => tls.get_ref().0,
    }
}

/// Whether ALPN chose HTTP/2 (RFC 7301).
pub(crate) fn chose_http2(stream: &NetworkStream) -> bool {
    match stream {
        Either::Left(_) => false,
        Either::Right(tls) => tls.get_ref().1.alpn_protocol() == Some(b"h2"),
    }
}

/// The verified certificate of the other side, where it sent one.
pub(crate) fn peer_certificate(stream: &NetworkStream) -> Option<&CertificateDer<'static>> {
    match stream {
        Either::Left(_) => None,
        Either::Right(tls) => tls.get_ref().1.peer_certificates()?.first(),
    }
}
