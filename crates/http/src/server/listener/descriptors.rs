//! Accepting without a free file descriptor (EMFILE, ENFILE).
//!
//! A listener that only waits leaves clients without a response, and a ready socket keeps its
//! thread busy. One descriptor is held in reserve: it is released to accept a connection, which
//! gets 503, and taken back.

use futures_util::FutureExt;
use rustix::io::Errno;
use socket2::SockRef;
use std::fs::File;
use std::future::Future;
use std::io;
use std::net::Shutdown;
use std::time::Duration;
use tokio::net::TcpStream;

/// How long to wait for the request of a refused connection: an earlier response would be lost with
/// the reset that follows.
const REQUEST: Duration = Duration::from_millis(20);
const REFUSAL: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\nretry-after: 1\r\n\
content-type: text/plain; charset=utf-8\r\nx-content-type-options: nosniff\r\n\
content-length: 59\r\n\r\n503 Service Unavailable: no file descriptor is left for it\n";

/// Whether an error means that no descriptor is free.
pub fn is_out_of_descriptors(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::MFILE | Errno::NFILE))
}

/// That error.
pub(crate) fn out_of_descriptors() -> io::Error {
    Errno::MFILE.into()
}

/// A reserved descriptor.
#[derive(Debug)]
pub struct Reserve(Option<File>);

impl Default for Reserve {
    fn default() -> Self {
        Reserve(File::open("/dev/null").ok())
    }
}

impl Reserve {
    /// Uses the descriptor to refuse a waiting connection. Returns whether one waited.
    pub async fn refuse(&mut self, accept: impl Future<Output = io::Result<TcpStream>>) -> bool {
        self.0 = None;
        let accepted = accept.now_or_never();
        let is_refused = matches!(accepted, Some(Ok(_)));
        if let Some(Ok(stream)) = accepted {
            refuse(stream).await;
        }
        *self = Reserve::default();
        is_refused
    }
}

/// Responds with 503. A TLS client does not understand it, and sees the close.
async fn refuse(stream: TcpStream) {
    if tokio::time::timeout(REQUEST, stream.readable()).await.is_ok() {
        // The outcome does not matter: the connection closes anyway.
        let _ = stream.try_read(&mut [0; 8 * 1024]);
        let _ = stream.try_write(REFUSAL);
        let _ = SockRef::from(&stream).shutdown(Shutdown::Write);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    #[tokio::test]
    async fn a_connection_is_refused_with_a_whole_answer() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        client.write_all(b"GET / HTTP/1.1\r\nHost: t\r\n\r\n").await.unwrap();
        let mut reserve = Reserve::default();
        let accept = async || listener.accept().await.map(|(stream, _)| stream);
        while !reserve.refuse(accept()).await {
            tokio::task::yield_now().await;
        }
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 503 "), "{head}");
        assert!(head.contains(&format!("content-length: {}", body.len())), "{answer}");
        assert!(reserve.0.is_some() && !reserve.refuse(accept()).await);
    }

    #[test]
    fn the_error_is_recognised() {
        assert!(is_out_of_descriptors(&out_of_descriptors()));
        assert!(!is_out_of_descriptors(&io::ErrorKind::NotFound.into()));
    }
}
